"""Columns of any type, with rows missing anywhere: from disk and in frames as in memory."""

import datetime
import decimal
import json
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tiles import set_tiles

import sfit
from sfit.exceptions import DataError, SFITError
from sfit.models import function_model
from sfit.sample import prepare

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

N, TILE = 200, 64
WORDS = ["u", "v", "w"]
DAY = datetime.datetime(2020, 1, 1)

TYPES = {
    "int8": (lambda k: k, pa.int8()),
    "uint64": (lambda k: k, pa.uint64()),
    "float16": (lambda k: np.float16(k / 7), pa.float16()),
    "float32": (lambda k: k / 7, pa.float32()),
    "float64": (lambda k: k / 7, pa.float64()),
    "truth": (lambda k: k > 1, pa.bool_()),
    "text": (lambda k: WORDS[k % 3], pa.string()),
    "long text": (lambda k: WORDS[k % 3], pa.large_string()),
    "dictionary": (lambda k: WORDS[k % 3], pa.dictionary(pa.int8(), pa.string())),
    "dictionary of numbers": (lambda k: k, pa.dictionary(pa.int16(), pa.int64())),
    "decimal": (decimal.Decimal, pa.decimal128(10, 2)),
    "date": (lambda k: (DAY + datetime.timedelta(k)).date(), pa.date32()),
    "moment": (lambda k: DAY + datetime.timedelta(k), pa.timestamp("us")),
    "moment of a zone": (lambda k: DAY + datetime.timedelta(k), pa.timestamp("us", tz="UTC")),
    "duration": (datetime.timedelta, pa.duration("us")),
    "time": (lambda k: datetime.time(k), pa.time32("s")),
    "bytes": (lambda k: b"a" * k, pa.binary()),
    "lists": (lambda k: [k], pa.list_(pa.int64())),
    "nothing": (lambda k: None, pa.null()),
    "constant": (lambda k: 3, pa.int64()),
    "Int64": (lambda k: k, "Int64"),
    "boolean": (lambda k: k > 1, "boolean"),
    "Float32": (lambda k: k / 7, "Float32"),
    "string": (lambda k: WORDS[k % 3], "string"),
    "category": (lambda k: WORDS[k % 3], "category"),
    "category of numbers": (lambda k: k, "category"),
}
MISSING = {
    "never": lambda row: row < 0,
    "here and there": lambda row: row * 7919 % 5 == 0,
    "at first": lambda row: row < 110,
    "in the middle": lambda row: (row >= TILE) & (row < 3 * TILE),
    "at last": lambda row: row >= 100,
    "everywhere": lambda row: row >= 0,
}
LAYOUTS = [[(0, N, N)], [(0, N, 30)], [(0, 90, 40), (90, 91, 1), (91, N, 70)]]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Four tiles instead of one."""
    set_tiles(monkeypatch, TILE)


def column(kind, missing, rng):
    """A column of some type, as pyarrow or pandas makes it."""
    make, type_ = TYPES[kind]
    absent = MISSING[missing](np.arange(N))
    values = [
        None if gone else make(int(k))
        for k, gone in zip(rng.integers(0, 5, N), absent, strict=True)
    ]
    if isinstance(type_, str):
        return pa.Array.from_pandas(pd.Series(values).astype(type_)), type_
    return pa.array(values, type=type_), None


def picky(rows):
    """A model that sees every difference of value and type: it goes by how values are written."""
    frame = pd.DataFrame(rows)
    total = np.zeros(len(frame))
    for number, name in enumerate(frame.columns):
        values = frame[name]
        if isinstance(values.dtype, pd.CategoricalDtype):
            total += np.asarray(values.cat.codes) * (number + 1) % 7
        total += [crc32(f"{number} {value!r}".encode()) % 11 for value in values.astype(object)]
    return total


def outcome(rows, names, options):
    """The result to the byte, or what is wrong."""
    try:
        result = sfit.feature_significance(picky, rows, "y", features=names, **options)
    except SFITError as error:
        return type(error)
    return json.dumps(json.loads(result.to_json())["result"])


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    kinds=st.lists(
        st.tuples(st.sampled_from(list(TYPES)), st.sampled_from(list(MISSING))),
        min_size=1,
        max_size=2,
    ),
    layout=st.sampled_from(LAYOUTS),
    reference=st.sampled_from(["mean", "median", "mode"]),
    seed=st.integers(0, 99),
)
@example([("int8", "everywhere")], LAYOUTS[1], "mode", 0)
@example([("truth", "at first")], LAYOUTS[2], "mean", 0)
@example([("moment of a zone", "at first"), ("string", "here and there")], LAYOUTS[2], "mean", 0)
@pytest.mark.filterwarnings("ignore")
def test_any_types_in_any_layout(tmp_path_factory, kinds, layout, reference, seed):
    """The bytes of the result in memory, or an error of the same kind."""
    rng = np.random.default_rng(seed)
    data, pandas_types = {}, {}
    for number, (kind, missing) in enumerate(kinds):
        data[f"x{number}"], of_pandas = column(kind, missing, rng)
        if of_pandas:
            pandas_types[f"x{number}"] = of_pandas
    data |= {"a": pa.array(rng.normal(size=N)), "y": pa.array(rng.normal(size=N))}
    frame = pa.table(data).to_pandas().astype(pandas_types)
    # pandas leaves a note of its own types in the file.
    table = pa.Table.from_pandas(frame, preserve_index=False) if pandas_types else pa.table(data)
    folder = tmp_path_factory.mktemp("rows")
    for number, (start, stop, size) in enumerate(layout):
        path = folder / f"{number}.parquet"
        pq.write_table(table.slice(start, stop - start), path, row_group_size=size)
    whole = pd.read_parquet(folder)
    names, options = [name for name in data if name != "y"], {"reference": reference}
    expected = outcome(whole, names, options)
    assert outcome(folder, names, options) == expected
    pieces = [whole[start:stop] for start, stop, _ in layout]
    assert outcome(pieces, names, options) == expected


def observed(rows, role):
    """Targets and parts by tile, where a column of any type is one of them; or what is wrong."""
    y, by = ("y", "x") if role == "by" else ("x", None)
    task = "classification" if role == "class" else "regression"
    try:
        sample = prepare(function_model(picky, task=task), rows, y, features=["a"], by=by)
    except SFITError as error:
        return type(error)
    tiles = [t for s in sample.rows.tile_runs for t in s.tiles(sample.rows.shared)]
    parts = [None if tile.part is None else tile.part.tolist() for tile in tiles]
    known = sample.rows.parts, sample.rows.sizes(), sample.view.classes
    return repr((known, [(tile.y.dtype, tile.y.tolist()) for tile in tiles], parts))


@pytest.mark.parametrize("role", ["y", "class", "by"])
@pytest.mark.parametrize("missing", ["never", "at last"])
def test_targets_and_parts_of_any_type(tmp_path, role, missing):
    """As in memory, to the type; an error is an error of the same kind."""
    rng = np.random.default_rng(0)
    for kind in TYPES:
        values, _ = column(kind, missing, rng)
        data = {"x": values, "a": pa.array(rng.normal(size=N)), "y": pa.array(rng.normal(size=N))}
        pq.write_table(pa.table(data), tmp_path / "rows.parquet", row_group_size=50)
        whole = pd.read_parquet(tmp_path / "rows.parquet")
        assert observed(tmp_path, role) == observed(whole, role), kind


def test_a_label_that_is_missing_is_named_by_its_row(tmp_path):
    """Though the classes are only known once all rows were read."""
    rows = pd.DataFrame({"a": np.arange(N) / 7, "y": np.repeat(["no", "yes"], N // 2)})
    rows.assign(y=rows.y.where(rows.index != 150)).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="y is missing at row 150"):
        sfit.feature_significance(function_model(picky, task="classification"), tmp_path, "y")


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_categories_are_numbered_alike_in_all_frames(library):
    """Each frame has categories of its own; together they are in order of appearance."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"s": np.repeat(["w", "v", "u"], [90, 60, 50]), "a": rng.normal(size=N)})
    rows["y"] = rng.normal(size=N)
    cuts = [(0, 70), (70, 120), (120, N)]
    pieces = [rows[a:b].astype({"s": "category"}) for a, b in cuts]
    # The same categories in another order are equal to pandas, and numbered otherwise.
    pieces.append(rows[120:].astype({"s": pd.CategoricalDtype(["u", "w", "v"])}))
    pieces.append(rows[:70].astype({"s": pd.CategoricalDtype(["w", "u", "v"])}))
    rows = pd.concat([rows, rows[120:], rows[:70]], ignore_index=True)
    if library == "pyarrow":
        pieces = [pa.Table.from_pandas(piece, preserve_index=False) for piece in pieces]

    def codes(table):
        frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
        return np.asarray(frame["s"].cat.codes, dtype=float)

    whole = rows.assign(s=pd.Categorical(rows.s, categories=["w", "v", "u"]))
    expected = sfit.feature_significance(codes, whole, "y", features=["s", "a"])
    found = sfit.feature_significance(codes, pieces, "y", features=["s", "a"])
    assert found.to_json().split('"run"')[0] == expected.to_json().split('"run"')[0]


@pytest.mark.parametrize("other", ["float", "Int64", "bool"])
def test_pandas_frames_of_unlike_types_are_as_if_put_together(other):
    """What `pd.concat` makes of them."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"s": rng.choice(WORDS, N), "k": rng.integers(0, 2, N)})
    rows["y"] = rng.normal(size=N)
    pieces = [rows[:90], rows[90:].astype({"k": other})]
    expected = outcome(pd.concat(pieces, ignore_index=True), ["s", "k"], {})
    assert outcome(pieces, ["s", "k"], {}) == expected
    assert isinstance(expected, str)


def test_frames_that_cannot_be_put_together_are_refused():
    """Other types in pyarrow, two libraries, numbers and words: each with what to do."""
    rows = pd.DataFrame({"k": np.arange(N), "y": np.arange(N) / 7})
    arrow = pa.Table.from_pandas(rows, preserve_index=False)
    for pieces, words in (
        (
            [arrow, arrow.cast(pa.schema({"k": pa.float32(), "y": pa.float64()}))],
            "same type in all",
        ),
        ([rows, arrow], "one library"),
        ([rows, rows.astype({"k": str})], "one type"),
    ):
        with pytest.raises(DataError, match=words):
            sfit.feature_significance(lambda x: np.zeros(len(x)), pieces, "y", features=["k"])


def test_as_many_words_as_in_memory(tmp_path, monkeypatch):
    """A column of words that are all different, more of them than ten thousand."""
    n = 12_000
    set_tiles(monkeypatch, 4_096)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"s": [f"word {k}" for k in rng.permutation(n)], "a": rng.normal(size=n)})
    rows["y"] = rng.normal(size=n)
    rows.to_parquet(tmp_path / "rows.parquet", row_group_size=5_000)

    def model(table):
        return np.asarray(table["a"]) + np.asarray(table["s"].str.len())

    expected = sfit.feature_significance(model, rows, "y", features=["s", "a"])
    found = sfit.feature_significance(model, tmp_path, "y", features=["s", "a"])
    assert found.to_json().split('"run"')[0] == expected.to_json().split('"run"')[0]
