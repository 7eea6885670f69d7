"""The same rows give the same result, to the bit, in memory and from files of several tiles.

Rows are made so that tiles differ: what one of them shows, the others do not.
"""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from tiles import set_tiles

import sfit
from sfit.exceptions import SFITError
from sfit.models import function_model

pytest.importorskip("pyarrow")

TILE, N = 128, 800


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    """Seven tiles instead of one."""
    set_tiles(monkeypatch, TILE)


def outcome(model, rows, **options):
    """The result to the bit, or the kind of error."""
    try:
        result = sfit.feature_significance(model, rows, "y", **options)
    except SFITError as error:
        return type(error).__name__
    return json.loads(result.to_json())["result"]


def both(model, rows, tmp_path, **options):
    """The outcome in memory, which must be that from a file and from frames."""
    path = tmp_path / "rows.parquet"
    rows.to_parquet(path, row_group_size=150)
    held = outcome(model, pd.read_parquet(path), **options)
    assert outcome(model, path, **options) == held
    pieces = [rows[start : start + 210] for start in range(0, len(rows), 210)]
    assert outcome(model, pieces, **options) == held
    return held


def numbers(seed=0, width=3, n=N):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, width)), columns=list("xabcd")[:width])
    return X, rng


# ------------------------------------------------------------------------- which space is masked


def interaction(Z):
    Z = np.asarray(Z, dtype=float)
    return np.column_stack([Z[:, 0] + 5 * Z[:, 1] * Z[:, 2], Z[:, 1], Z[:, 2]])


def meets(where):
    """Rows in which a and b are nonzero together at some places only."""

    def rows():
        X, rng = numbers()
        X[["a", "b"]] = 0.0
        X.loc[where, ["a", "b"]] = 1.0
        X["y"] = interaction(X[["x", "a", "b"]])[:, 0] + rng.normal(size=N)
        return X

    return rows


MEETINGS = {
    "in the second tile": meets(slice(TILE + 20, 2 * TILE - 20)),
    "in the last tile": meets(slice(N - 40, N - 5)),
    "in ten rows far apart": meets(list(range(151, N, 70))),
    "in all rows but the first tile": meets(slice(TILE, N)),
}


def unseen():
    """In the second tile, and in none of the rows that a sample of a few per tile shows."""
    X = meets(slice(178, 211))()
    X.loc[133, "a"] = X.loc[175, "b"] = 1.0
    X.loc[178:255, "x"] /= 10  # no extremes, which a sample would show
    return X.assign(y=interaction(X[["x", "a", "b"]])[:, 0] + X.y)


MEETINGS["where no sample looks"] = unseen


@pytest.mark.parametrize("where", MEETINGS)
def test_columns_that_meet_in_few_rows_are_found_out(where, tmp_path):
    """x + 5ab: x is encoded with a and b, wherever the rows lie that show it."""
    rows = MEETINGS[where]()
    pipeline = make_pipeline(FunctionTransformer(interaction), Ridge())
    pipeline.fit(rows[["x", "a", "b"]], rows["y"])
    assert both(pipeline, rows, tmp_path)["settings"]["space"] == "original"


def test_a_column_that_changes_from_tile_to_tile_only(tmp_path):
    """Sorted rows: no tile shows that two columns are added, all together do."""
    rows, rng = numbers(1, 2)
    rows["a"] = np.repeat(np.arange(N // TILE + 1.0), TILE)[:N]
    rows["y"] = rows.x + rng.normal(size=N)
    added = FunctionTransformer(
        lambda Z: np.column_stack([np.asarray(Z["x"]) + np.asarray(Z["a"]), np.asarray(Z["a"])])
    )
    pipeline = make_pipeline(added, Ridge()).fit(rows[["x", "a"]], rows.y)
    assert both(pipeline, rows, tmp_path)["settings"]["space"] == "original"


def test_numbers_as_categories_that_later_tiles_show(tmp_path):
    """The dummy of a number in the middle of the range, in one row of the last tile."""
    rows, rng = numbers(2, 2)
    rows["a"] = np.where(np.arange(N) % 2, 1, 9)
    rows.loc[N - 7, "a"] = 4
    rows["y"] = rows.x + (rows.a == 1) + rng.normal(size=N)
    head = make_column_transformer((OneHotEncoder(), ["a"]), (StandardScaler(), ["x"]))
    pipeline = make_pipeline(head, Ridge()).fit(rows[["x", "a"]], rows.y)
    assert both(pipeline, rows, tmp_path)["settings"]["space"] == "encoded"


def test_columns_that_meet_at_the_reference_only(tmp_path):
    """a counts only where x has the very value that the user freezes it at."""
    rows, rng = numbers(3, 2)
    rows["y"] = rows.x + rows.a + rng.normal(size=N)

    def at_seven(Z):
        Z = np.asarray(Z, dtype=float)
        return np.column_stack([Z[:, 0] + (Z[:, 0] == 7) * Z[:, 1], Z[:, 1]])

    pipeline = make_pipeline(FunctionTransformer(at_seven), Ridge()).fit(rows[["x", "a"]], rows.y)
    for reference, space in (({"x": 7.0}, "original"), ({"x": 6.0}, "encoded"), (7, "original")):
        found = both(pipeline, rows, tmp_path, reference=reference)
        assert found["settings"]["space"] == space


def test_rows_that_an_encoder_refuses_are_not_put_together(tmp_path):
    """An encoder that checks its rows: the trial fails, and the whole Pipeline runs."""
    rows, rng = numbers(4, 2)
    rows["a"] = rows.x + 1
    rows["y"] = rows.x + rng.normal(size=N)

    def strict(Z):
        Z = np.asarray(Z, dtype=float)
        if (np.abs(Z[:, 1] - Z[:, 0] - 1) > 1e-6).any():
            raise ValueError("no such row")
        return Z

    pipeline = make_pipeline(FunctionTransformer(strict), Ridge()).fit(rows[["x", "a"]], rows.y)
    assert both(pipeline, rows, tmp_path) == "ModelError"


# ----------------------------------------------------------------------------------- odd columns


def odd(rng, later):
    """Columns that look otherwise in later tiles."""
    n = len(later)
    text = rng.choice(["u", "v"], n).astype(object)
    return {
        "words that come later": np.where(later, "w", text),
        "None, then words": np.where(later, text, None),
        "words, then None": np.where(later, None, text),
        "numbers, then missing": np.where(later, np.nan, rng.normal(size=n)),
        "missing, then numbers": np.where(later, rng.normal(size=n), np.nan),
        "a constant, then another": np.where(later, 2.0, 1.0),
        "zeros of two signs": np.where(later, -0.0, 0.0),
        "both zeros and more": np.where(later, rng.choice([0.0, -0.0, 1.0], n), -0.0),
        "whole numbers": rng.integers(0, 4, n),
        "beyond 2**53": 2**53 + rng.integers(0, 3, n),
        "truth": rng.uniform(size=n) < 0.5,
        "truth and nothing": np.where(later, None, rng.uniform(size=n) < 0.5),
        "floats of one half": rng.integers(0, 4, n).astype(np.float32) / 2,
        "categories": pd.Categorical(np.where(later, "w", text), categories=["z", "w", "v", "u"]),
        "categories that are ordered": pd.Categorical(text, categories=["v", "u"], ordered=True),
        "categories and nothing": pd.Categorical(np.where(later, None, text)),
        "moments": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 3, n), unit="D"),
        "infinite": np.where(later & (np.arange(n) % 47 == 0), np.inf, rng.normal(size=n)),
    }


KINDS = list(odd(np.random.default_rng(0), np.zeros(4, dtype=bool)))
REFERENCES = ["mean", "median", "mode", 0.0, {"x": 0.25}]
CASES = [(kind, REFERENCES[(number + k) % 5]) for number, kind in enumerate(KINDS) for k in (0, 2)]
"""Each kind with two references, each reference with many kinds."""


def with_odd(kind, seed=5):
    rows, rng = numbers(seed, 1)
    later = np.arange(N) >= 2 * TILE + 50
    rows["o"] = odd(rng, later)[kind]
    rows["y"] = rows.x + later + rng.normal(size=N)
    return rows


def by_how_it_is_written(rows):
    """A model that sees every difference of value and type, and of the numbers of categories."""
    frame = pd.DataFrame(rows)
    column = frame["o"]
    told = np.array([sum(map(ord, repr(value))) % 7 for value in column.astype(object)], float)
    if isinstance(column.dtype, pd.CategoricalDtype):
        told += np.asarray(column.cat.codes) % 5
    return told + np.asarray(frame["x"], dtype=float)


@pytest.mark.parametrize(("kind", "reference"), CASES)
@pytest.mark.filterwarnings("ignore")
def test_functions_of_odd_columns(kind, reference, tmp_path):
    both(by_how_it_is_written, with_odd(kind), tmp_path, features=["x", "o"], reference=reference)


def encoder(kind):
    words = KINDS.index(kind) < 3 or "categor" in kind or "truth" in kind
    if words or kind == "moments":
        return OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())


@pytest.mark.parametrize(("kind", "reference"), CASES[:-2:2])
@pytest.mark.filterwarnings("ignore")
def test_pipelines_on_odd_columns(kind, reference, tmp_path):
    rows = with_odd(kind)
    head = make_column_transformer((encoder(kind), ["o"]), ("passthrough", ["x"]))
    pipeline = make_pipeline(head, Ridge()).fit(rows[["o", "x"]], rows.y)
    held = both(pipeline, rows, tmp_path, reference=reference)
    assert isinstance(held, str) or held["settings"]["space"] == "encoded"


@pytest.mark.parametrize("output", ["pandas", "polars"])
@pytest.mark.filterwarnings("ignore")
def test_frames_behind_the_encoder(output, tmp_path):
    pytest.importorskip(output)
    rows = with_odd("words that come later")
    head = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["o"]), (StandardScaler(), ["x"])
    ).set_output(transform=output)
    pipeline = make_pipeline(head, HistGradientBoostingRegressor(max_iter=10))
    pipeline.fit(rows[["o", "x"]], rows.y)
    assert both(pipeline, rows, tmp_path)["settings"]["space"] == "encoded"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("labels", [["no", "yes"], [0, 1], [False, True]])
def test_classes_that_come_later(labels, tmp_path):
    """One class only in the first tiles; the classes of a function are those of all rows."""
    rows, rng = numbers(6, 2)
    later = np.arange(N) >= 2 * TILE + 50
    rows["y"] = pd.Series([labels[k] for k in (later & (rows.x + rng.normal(size=N) > 0))])
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(rows[["x", "a"]], rows.y)
    assert both(model, rows, tmp_path)["settings"]["space"] == "encoded"
    both(model, rows, tmp_path, by="class", loss="brier")
    asked = function_model(
        lambda Z: 1 / (1 + np.exp(-np.asarray(Z["x"], dtype=float))), task="classification"
    )
    both(asked, rows, tmp_path, features=["x", "a"])
