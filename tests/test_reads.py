"""How often a Parquet file is read: at most twice, and once per order and gate."""

import os

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures
from tiles import set_tiles

import sfit
from sfit.rows import _parquet
from sfit.rows._stored import LONGEST_RUN, tile_ranges

pa = pytest.importorskip("pyarrow")
ds = pytest.importorskip("pyarrow.dataset")
fs = pytest.importorskip("pyarrow.fs")
pq = pytest.importorskip("pyarrow.parquet")
local = pytest.importorskip("fsspec.implementations.local")

N, TILE, NUMBERS = 100_000, 2_500, ["a", "b", "c"]


class Counting(local.LocalFileSystem):
    """Counts the bytes that are read from the files of a folder."""

    cachable = False
    n_bytes = 0

    def open(self, path, mode="rb", **options):
        """Open a file whose `read` is counted."""
        file = super().open(path, mode=mode, **options)
        read = file.read

        def counted(size=-1):
            data = read(size)
            self.n_bytes += len(data)
            return data

        file.read = counted
        return file


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Forty tiles; buffers are as small against a tile as they are in earnest."""
    set_tiles(monkeypatch, TILE)
    monkeypatch.setattr(_parquet, "BATCH_ROWS", TILE)
    monkeypatch.setattr(_parquet, "BUFFER_BYTES", 1 << 12)


@pytest.fixture(scope="module")
def rows():
    """Numbers, words and two targets, in random order."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(N, 3)), columns=NUMBERS)
    rows["s"] = rng.choice(["u", "v", "w"], N)
    rows["y"] = rows.a + rows.b * rows.c + (rows.s == "u") + rng.normal(size=N)
    rows["k"] = np.where(rows.y > 0, "yes", "no")
    return rows


def reads(model, rows, folder, y="y", row_group=6_400, **options):
    """Bytes that a test reads over the size of the file, and the number of stages."""
    path = folder / "rows.parquet"
    table = pa.Table.from_pandas(rows)
    pages = {"data_page_size": 1 << 14, "dictionary_pagesize_limit": 1 << 14}
    pq.write_table(table, path, row_group_size=row_group, **pages)
    files = Counting()
    X = ds.dataset(str(path), filesystem=fs.PyFileSystem(fs.FSSpecHandler(files)))
    result = sfit.feature_significance(model, X, y, **options)
    result = result if options.get("by") is None else result["yes"]
    return files.n_bytes / os.path.getsize(path), len(result.run["stages"])


@pytest.mark.parametrize("row_group", [900, 2_500, 6_400, 20_000, 38_000, N])
def test_row_groups_of_any_size(row_group, rows, tmp_path):
    numbers = rows[[*NUMBERS, "y"]]
    model = LinearRegression().fit(numbers[NUMBERS], numbers.y)
    found, n_stages = reads(model, numbers, tmp_path, row_group=row_group)
    assert n_stages == 2  # order 1 and its gate
    assert 1 + n_stages <= found < 2 + n_stages


@pytest.mark.parametrize("reference", ["mean", "median", "mode", 0.0, "data"])
def test_any_reference(reference, rows, tmp_path):
    numbers = rows[[*NUMBERS, "y"]]
    model = LinearRegression().fit(numbers[NUMBERS], numbers.y)
    reference = numbers[NUMBERS][:500] if reference == "data" else reference
    found, n_stages = reads(model, numbers, tmp_path, reference=reference)
    assert found < 2 + n_stages


def test_a_bracket_that_misses_costs_one_read(rows, tmp_path):
    """The first tile of sorted rows says nothing of the median."""
    numbers = rows[[*NUMBERS, "y"]].sort_values("a")
    model = LinearRegression().fit(numbers[NUMBERS], numbers.y)
    (again, _), (found, _) = (
        reads(model, numbers, tmp_path, reference=reference) for reference in ("median", "mean")
    )
    assert found + 1.7 < again < found + 2  # the second margin misses, too
    result = sfit.feature_significance(model, tmp_path / "rows.parquet", "y", reference="median")
    assert (
        result.selected
        == sfit.feature_significance(model, numbers, "y", reference="median").selected
    )


def test_orders_and_parts(rows, tmp_path):
    def model(X):
        return X["a"] + X["b"] * X["c"] + (X["s"] == "u")

    options = {"features": [*NUMBERS, "s"], "max_order": 2, "beta": 0.001, "by": "k"}
    found, n_stages = reads(model, rows, tmp_path, **options)
    assert n_stages >= 3
    assert found < 2 + n_stages


def test_classes_that_the_model_does_not_name_cost_only_the_target(rows, tmp_path):
    fitted = LogisticRegression().fit(rows[NUMBERS], rows.k)
    model = sfit.models.function_model(
        lambda X: fitted.predict_proba(X[NUMBERS]), task="classification"
    )
    found, n_stages = reads(model, rows[[*NUMBERS, "k"]], tmp_path, "k", features=NUMBERS)
    assert found < 2 + n_stages


def test_categories_are_read_once_more(rows, tmp_path):
    """Every model must see the same codes, so all categories are collected first."""
    rows = rows.assign(s=rows.s.astype("category"))[["a", "s", "y"]]

    def model(X):
        return X["a"] + X["s"].cat.codes

    found, n_stages = reads(model, rows, tmp_path, features=["a", "s"])
    assert found < 2 + n_stages


@pytest.mark.parametrize("clear", [True, False])
def test_pipelines(clear, rows, tmp_path):
    """Whether columns can be traced shows on the first tile; it takes no second survey."""
    numbers = FunctionTransformer() if clear else PolynomialFeatures(2)
    head = make_column_transformer((numbers, NUMBERS), (OneHotEncoder(), ["s"]))
    rows = rows[[*NUMBERS, "s", "y"]]
    model = make_pipeline(head, LinearRegression()).fit(rows[[*NUMBERS, "s"]], rows.y)
    found, n_stages = reads(model, rows, tmp_path)
    assert found < 2 + n_stages


def test_a_pipeline_frozen_at_given_values_takes_another_read(rows, tmp_path):
    """That freezing before and after encoding is the same must be seen in every tile."""
    head = make_column_transformer((FunctionTransformer(), NUMBERS), (OneHotEncoder(), ["s"]))
    rows = rows[[*NUMBERS, "s", "y"]]
    model = make_pipeline(head, LinearRegression()).fit(rows[[*NUMBERS, "s"]], rows.y)
    found, n_stages = reads(model, rows, tmp_path, reference={"a": 0.5, "s": "u"})
    assert found < 1 + 2 + n_stages


@pytest.mark.parametrize("row_group", [1, 3, 10, 64, 65, 100, 163, 1_600, 7_000, 9_999])
def test_runs_of_tiles(row_group):
    """Runs cover all tiles once, cuts are cheap, and no run is endless."""
    tile, n = 100, 100_000
    begin = np.arange(0, n, tile)
    skipped = begin % row_group
    runs = list(tile_ranges(skipped, tile))
    assert [k for run in runs for k in run] == list(range(len(begin)))
    assert max(map(len, runs)) <= LONGEST_RUN
    if row_group <= LONGEST_RUN * tile:
        assert all(skipped[run.start] < tile for run in runs)
        assert skipped[[run.start for run in runs]].sum() < 0.05 * n
    assert min(map(len, runs[:-1])) >= 8


def test_what_starts_at_its_beginning_is_one_run():
    assert list(tile_ranges(np.array([0.0, np.inf, np.inf]), 100)) == [range(3)]
