"""Results as Excel workbooks: every table, numbers as numbers, text never as a formula."""

import math
import re
import zipfile

import numpy as np
import pandas as pd
import pytest
from hostile import HOSTILE, hostile_comparisons, hostile_result
from hypothesis import given, settings
from hypothesis import strategies as st

import sfit
from sfit._export._cells import plain
from sfit._export._excel import sheet_names, write_workbook
from sfit._text import printable
from sfit.exceptions import ArgumentError

openpyxl = pytest.importorskip("openpyxl")

FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    '=HYPERLINK("http://127.0.0.1/x")',
    " =1",
]


@pytest.fixture(scope="module")
def result():
    X, y = sfit.simulate.interactions(2000, random_state=0)
    return sfit.feature_significance(sfit.simulate.interactions_mean, X, y, max_order=2)


@pytest.fixture(scope="module")
def parts():
    X, y = sfit.simulate.interactions(2000, random_state=0)
    half = np.where(X["X6"] > 0, "upper", "lower")
    return sfit.feature_significance(sfit.simulate.interactions_mean, X, y, by=half)


def written(tables, path):
    write_workbook(tables, path)
    return openpyxl.load_workbook(path)


def cells(sheet):
    return [[cell.value for cell in row] for row in sheet.iter_rows()]


def first_column(sheet):
    return next(iter(sheet.columns))


def test_every_table_is_a_sheet_and_every_number_is_kept(result, tmp_path):
    path = tmp_path / "result.xlsx"
    result.to_excel(path)
    book = openpyxl.load_workbook(path)
    tables = result.tables()
    assert book.sheetnames == list(tables) == ["tests", "features", "gates", "settings", "caveats"]
    for name, frame in tables.items():
        head, *rows = cells(book[name])
        assert head == list(frame.columns)
        assert len(rows) == len(frame)
        expected = [[plain(value) for value in row] for row in frame.itertuples(index=False)]
        for row, values in zip(rows, expected, strict=True):
            for cell, value in zip(row, values, strict=True):
                # Excel keeps 15 digits. An empty text is an empty cell.
                same = pytest.approx(value, rel=1e-14) if isinstance(value, float) else value
                assert cell == (None if value == "" else same)


def test_the_tables_hold_what_the_result_says(result):
    tables = result.tables()
    pd.testing.assert_frame_equal(tables["tests"], result.table)
    pd.testing.assert_frame_equal(tables["features"], result.features)
    assert tables["gates"]["is_open"].tolist() == [gate.is_open for gate in result.gates]
    stored = dict(tables["settings"].itertuples(index=False, name=None))
    assert (stored["n_rows"], stored["alpha"]) == (2000, 0.05)
    assert {"setting", "value"} == set(tables["settings"].columns)
    for caveat in result.caveats:
        assert any(caveat[1:] in text for text in tables["caveats"]["caveat"])


def test_the_folds_of_a_chain_are_a_table():
    from sklearn.linear_model import LinearRegression

    X, y = sfit.simulate.interactions(600, random_state=0)
    crossed = sfit.cross_significance(LinearRegression(), X, y, n_folds=3, random_state=0)
    assert len(crossed.tables()["folds"]) == len(crossed.folds) > 0


def test_parts_and_comparisons_have_their_tables(parts, tmp_path):
    tables = parts.tables()
    assert list(tables) == ["tests", "features", "gates", "settings", "caveats"]
    assert {"lower", "upper"} == set(tables["tests"]["part"]) == set(tables["gates"]["part"])
    settings_of = dict(tables["settings"].itertuples(index=False, name=None))
    assert settings_of["n_rows (lower)"] + settings_of["n_rows (upper)"] == 2000
    assert settings_of["alpha"] == 0.05
    parts.to_excel(tmp_path / "parts.xlsx")
    kinds = {
        "models": ["models", "features"],
        "features": ["features", "pairs"],
        "months": ["features", "gains", "trends"],
    }
    for name, compared in hostile_comparisons().items():
        assert [*kinds[name], "settings", "caveats"] == list(compared.tables())
        compared.to_excel(tmp_path / "compared.xlsx")
        book = openpyxl.load_workbook(tmp_path / "compared.xlsx")
        assert book.sheetnames == list(compared.tables())


def test_text_is_never_a_formula(tmp_path):
    names = [*FORMULAS, *HOSTILE]
    frame = pd.DataFrame({"=head()": names, "set": [(name, name) for name in names]})
    book = written({"=1+1": frame}, tmp_path / "names.xlsx")
    sheet = book.worksheets[0]
    for row in sheet.iter_rows():
        assert {cell.data_type for cell in row} <= {"s", "inlineStr"}
    for name, cell in zip(names, first_column(sheet)[1:], strict=True):
        assert cell.value == printable(name)
        assert bool(cell.quotePrefix) == (printable(name).lstrip()[0] in "=+-@")
    with zipfile.ZipFile(tmp_path / "names.xlsx") as archive:
        for member in archive.namelist():
            assert "<f>" not in (text := archive.read(member).decode())
            assert "<f " not in text


def test_names_of_features_are_never_formulas(tmp_path):
    hostile_result().to_excel(tmp_path / "hostile.xlsx")
    book = openpyxl.load_workbook(tmp_path / "hostile.xlsx")
    assert all(cell.data_type != "f" for sheet in book for row in sheet.iter_rows() for cell in row)
    with zipfile.ZipFile(tmp_path / "hostile.xlsx") as archive:
        assert b'quotePrefix="1"' in archive.read("xl/styles.xml")
        assert not re.search(rb"<f[ >]", archive.read("xl/worksheets/sheet1.xml"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=40), min_size=1, max_size=8))
def test_any_text_can_be_written_and_read(tmp_path_factory, texts):
    path = tmp_path_factory.getbasetemp() / "any.xlsx"
    sheet = written({"t": pd.DataFrame({"text": pd.Series(texts, dtype=object)})}, path)["t"]
    shown = [cell.value or "" for cell in first_column(sheet)[1:]]
    escape = re.compile(r"_x005F_(?=x[0-9A-Fa-f]{4}_)")
    assert [escape.sub("_", text) for text in shown] == [printable(text) for text in texts]
    assert all(cell.data_type in ("s", "n", "inlineStr") for cell in first_column(sheet))


def test_a_name_that_excel_would_decode_is_escaped(tmp_path):
    sheet = written({"t": pd.DataFrame({"a": ["_x0041_b", "x_x004_"]})}, tmp_path / "e.xlsx")["t"]
    assert [row[0] for row in cells(sheet)] == ["a", "_x005F_x0041_b", "x_x004_"]


def test_values_that_excel_has_no_number_for(tmp_path):
    values = [math.inf, -math.inf, math.nan, 1e-310, 10**18, True, None, ("a", "b"), (), 0.1]
    frame = pd.DataFrame({"value": pd.Series(values, dtype=object)})
    sheet = written({"t": frame}, tmp_path / "odd.xlsx")["t"]
    shown = [row[0] for row in cells(sheet)[1:]]
    expected = [
        "inf",
        "-inf",
        "nan",
        "1e-310",
        "1000000000000000000",
        "yes",
        None,
        "a + b",
        None,
        0.1,
    ]
    assert shown == expected
    columns = pd.DataFrame({"p_value": [1e-310, math.inf], "n": np.array([1, 2])})
    assert cells(written({"t": columns}, tmp_path / "odd.xlsx")["t"])[1:] == [
        ["1e-310", 1],
        ["inf", 2],
    ]


def test_numbers_look_as_they_should(result, tmp_path):
    result.to_excel(tmp_path / "result.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "result.xlsx")["tests"]
    formats = {cell.value: sheet.cell(2, cell.column).number_format for cell in sheet[1]}
    assert formats["p_value"] == formats["p_adjusted"] == "0.00E+00"
    assert formats["n_positive"] == "#,##0"
    assert re.fullmatch(r"#,##0\.0+", formats["statistic"])
    assert sheet.freeze_panes == "A2"
    assert all(cell.font.bold for cell in sheet[1])
    assert all(8 <= column.width <= 60 for column in sheet.column_dimensions.values())
    significant = [cell.column for cell in sheet[1] if cell.value == "significant"]
    assert sheet.cell(2, significant[0]).value == "yes"


@given(st.lists(st.text(max_size=60), min_size=1, max_size=10))
def test_names_of_sheets_are_valid_and_unique(names):
    sheets = sheet_names(names)
    assert len({sheet.casefold() for sheet in sheets}) == len(names)
    for sheet in sheets:
        assert 1 <= len(sheet) <= 31
        assert not set(sheet) & set("[]:*?/\\")
        assert sheet[0] != "'" != sheet[-1]
        assert sheet.casefold() != "history"


def test_plain_names_of_sheets_stay():
    assert sheet_names(["tests", "Tests", "a/b", "x" * 40, "x" * 40, "History", ""]) == [
        *("tests", "Tests 2", "a_b"),
        f"{'x' * 15}…{'x' * 15}",
        f"{'x' * 14}…{'x' * 14} 2",
        *("History 2", "table"),
    ]


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"a": np.zeros(1_048_576, dtype=np.int8)}), "1,048,576 rows"),
        (pd.DataFrame(np.zeros((1, 16_385), dtype=np.int8)), "16,385 columns"),
    ],
)
def test_a_table_that_is_too_large_is_refused_before_anything_is_written(frame, words, tmp_path):
    with pytest.raises(ArgumentError, match=rf"'big' has .*{words}.*to_parquet"):
        write_workbook({"big": frame}, tmp_path / "big.xlsx")
    assert not (tmp_path / "big.xlsx").exists()


def test_equal_results_are_equal_files(result, tmp_path):
    result.to_excel(tmp_path / "a.xlsx")
    sfit.SFITResult.from_json(result.to_json()).to_excel(tmp_path / "b.xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == (tmp_path / "b.xlsx").read_bytes()


@pytest.mark.parametrize("name", ["no/such/folder/a.xlsx", "a.xls", "a", ".", "a\x00.xlsx"])
def test_a_path_that_cannot_be_written_is_refused(result, name, tmp_path):
    with pytest.raises(ArgumentError, match="path"):
        result.to_excel(tmp_path / name)
