"""Bad input: each case works, or raises one SFITError that names the argument and the remedy.

Arguments and data are checked before the model predicts anything, which `Recorder` shows.
"""

import datetime
import json
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import sfit
from sfit._document import sealed
from sfit.exceptions import (
    ArgumentError,
    BetaError,
    CheckpointError,
    DataError,
    ModelError,
    SFITError,
    SFITWarning,
)

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

RNG = np.random.default_rng(0)
N = 120
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=N)
CLASS = (Y > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
ONES = np.ones(N)


def at(row, value, values=Y):
    """The values as objects, with one of them replaced."""
    changed = np.asarray(values).astype(object)
    changed[row] = value
    return changed


def holding(column, row, value):
    """X with one value replaced."""
    changed = X.copy()
    changed[row, column] = value
    return changed


class Recorder:
    """A model that uses its first column and records how often it was asked."""

    def __init__(self, answer=None):
        self.calls = []
        self.answer = answer or (lambda rows: np.asarray(rows)[:, 0].astype(float))

    def __call__(self, rows):
        self.calls.append(len(rows))
        return self.answer(rows)


def case(name, error, *words, **changes):
    """What is changed in a good call, and the error whose message has these words."""
    return pytest.param(error, words, changes, id=name)


def assert_refused(call, error, words):
    """One exception of the tree, of the right class, with the words in its message."""
    with pytest.raises(SFITError) as caught:
        call()
    assert type(caught.value) is error, repr(caught.value)
    for word in words:
        assert word in str(caught.value)


# --- arguments of feature_significance ---------------------------------------------------

BAD_LEVELS = {
    "zero": 0,
    "one": 1,
    "negative": -0.1,
    "nan": np.nan,
    "infinite": np.inf,
    "text": "0.05",
    "none": None,
    "true": True,
    "list": [0.05],
    "complex": 0.05j,
    "decimal": Decimal("0.05"),
    "fraction": Fraction(1, 20),
    "array": np.array(0.05),
}
BAD_COUNTS = {
    "zero": 0,
    "negative": -1,
    "broken": 1.5,
    "float": 2.0,
    "text": "2",
    "true": True,
    "nan": np.nan,
    "list": [1],
}
BAD_FLAGS = {"text": "no", "none": None, "two": 2, "array": np.array([1, 2])}
BAD_JOBS = {"zero": 0, "text": "2", "broken": 1.5, "nan": np.nan, "true": True}
BAD_SEEDS = {"negative": -1, "text": "a", "broken": 1.5, "true": True, "list": [1]}


def each(argument, values, error, *words, **others):
    """One case per bad value of an argument."""
    return [
        case(f"{argument}-{name}", error, argument, *words, **{argument: value}, **others)
        for name, value in values.items()
    ]


ARGUMENTS = [
    *each("alpha", BAD_LEVELS, ArgumentError, "between 0 and 1", "got"),
    *each("validation_fraction", BAD_LEVELS, ArgumentError, "between 0 and 1", "got"),
    *each("max_order", {**BAD_COUNTS, "none": None}, ArgumentError, "whole number", "got"),
    *each("n_partners", BAD_COUNTS, ArgumentError, "whole number", "None", "got"),
    *each("exhaustive", BAD_FLAGS, ArgumentError, "True or False", "got"),
    *each("strict", BAD_FLAGS, ArgumentError, "True or False", "got"),
    *each("progress", BAD_FLAGS, ArgumentError, "True or False", "got"),
    *each("n_jobs", BAD_JOBS, ArgumentError, "whole number other than 0", "got"),
    *each("random_state", BAD_SEEDS, ArgumentError, "got"),
    *each("random_state", BAD_SEEDS, ArgumentError, "got", beta="auto"),
    *each(
        "beta",
        {
            "negative": -0.1,
            "above-one": 1.1,
            "nan": np.nan,
            "true": True,
            "text": "0.01",
            "too-many": [0.01, 0.001],
            "none-at-all": [],
            "holds-text": ["a"],
            "holds-none": [None],
            "nested": [[0.1]],
            "ragged": [[0.1], [0.1, 0.2]],
            "set": {0.01},
            "mapping": {1: 0.01},
            "generator": (beta for beta in [0.01]),
            "complex": 0.1j,
        },
        ArgumentError,
        "got",
    ),
    case(
        "beta-too-few", ArgumentError, "max_order=3", "got [0.1, 0.2]", beta=[0.1, 0.2], max_order=3
    ),
    *each("correction", {"unknown": "fdr", "number": 3, "list": []}, ArgumentError, "'holm'"),
    *each("interval", {"unknown": "wald", "none": None}, ArgumentError, "'exact'", "got"),
    case("sample_weight", ArgumentError, "sample_weight", "counts rows", "by=", sample_weight=ONES),
    *each(
        "validation",
        {"number": 3, "single": (X,), "array": X, "text": "rows"},
        ArgumentError,
        "pair (X, y)",
        beta="auto",
    ),
    case("validation-short", DataError, "rows", "5", validation=(X, Y[:5]), beta="auto"),
    case("validation-nan", DataError, "missing", validation=(X, Y * np.nan), beta="auto"),
    case(
        "validation-width",
        ArgumentError,
        "validation",
        "x2",
        validation=(X[:, :2], Y),
        beta="auto",
        random_model=lambda rng: Recorder(),
    ),
    *each("validation", {"pair": (X, Y)}, ArgumentError, "beta='auto'", "0.01"),
    case("validation-betas", ArgumentError, "validation", validation=(X, Y), beta=[0.1]),
    case(
        "random_model-with-beta",
        ArgumentError,
        "random_model",
        "beta='auto'",
        random_model=lambda rng: Recorder(),
    ),
    case("random_model-number", ArgumentError, "random_model", "3", random_model=3, beta="auto"),
    case("random_model-missing", ModelError, "random_model=", beta="auto"),
    case(
        "random_model-none",
        ModelError,
        "NoneType",
        random_model=lambda rng: None,
        beta="auto",
    ),
    case(
        "random_model-raises",
        ModelError,
        "random_model",
        "ZeroDivisionError",
        random_model=lambda rng: 1 / 0,
        beta="auto",
    ),
    # --- names
    *each(
        "features",
        {
            "unknown": ["z"],
            "out-of-range": [7],
            "negative": [-1],
            "true": [True],
            "nan": [np.nan],
            "nested": [["x0"]],
        },
        ArgumentError,
        "'x0', 'x1', 'x2'",
    ),
    case("features-empty", ArgumentError, "features", "at least one", features=[]),
    case("features-twice", ArgumentError, "features", "more than once", features=["x0", "x0"]),
    case("features-twice-by-position", ArgumentError, "more than once", features=["x0", 0]),
    case("features-set", ArgumentError, "features", "sequence", "set", features={"x0", "x1"}),
    case("features-number", ArgumentError, "features", "3.5", features=3.5),
    case("features-frame-position", ArgumentError, "features", "'a'", X=FRAME, features=[0]),
    *each(
        "always_on",
        {"unknown": ["z"], "none": None, "number": 3.5, "object": object()},
        ArgumentError,
    ),
    case("always_on-all", ArgumentError, "always_on", always_on=["x0", "x1", "x2"]),
    case("always_on-twice", ArgumentError, "always_on", "more than once", always_on=[0, 0]),
    *each("given", {"unknown": ["z"], "none": None, "number": 3.5}, ArgumentError),
    case("given-all", ArgumentError, "given", "none is left", given=["x0", "x1", "x2"]),
    case(
        "given-rest-order-2",
        ArgumentError,
        "given='rest'",
        "max_order=2",
        given="rest",
        max_order=2,
    ),
    case(
        "given-rest-is-a-feature",
        ArgumentError,
        "given='rest'",
        "given=['rest']",
        X=FRAME.set_axis(["a", "b", "rest"], axis=1),
        given="rest",
    ),
    case(
        "by-class-is-a-column",
        ArgumentError,
        "by='class'",
        "column 'class'",
        X=FRAME.set_axis(["a", "b", "class"], axis=1),
        y=CLASS,
        loss="log_loss",
        by="class",
    ),
    *each("fast", BAD_FLAGS, ArgumentError, "True or False", "got"),
    *each("max_order", {"huge": 10**400, "many": 1_001}, ArgumentError, "at most 1,000"),
    *each("n_jobs", {"huge": 10**400, "many": -10_001}, ArgumentError, "at most 10,000"),
    *each("n_partners", {"huge": 10**5_000}, ArgumentError, "at most"),
    *each("reference", {"huge": 10**400}, ArgumentError, "finite", "got"),
    *each(
        "partners",
        {"zeros": np.zeros((2, 2)), "frame": FRAME, "missing": pd.NA},
        ArgumentError,
        "'auto', 'all'",
    ),
    case("features-zero-d", ArgumentError, "features", features=np.array("x0")),
    case("always_on-zero-d", ArgumentError, "always_on", always_on=np.array("x0")),
    *each("checkpoint", {"number": 3, "true": True, "list": ["a"]}, ArgumentError, "path"),
    *each(
        "checkpoint",
        {"null-byte": "a\0b", "half": "\ud800"},
        CheckpointError,
        "choose another",
        checkpoint_key="1",
    ),
    *each(
        "checkpoint_key", {"number": 3, "bytes": b"k", "object": object()}, ArgumentError, "string"
    ),
    case("checkpoint-of-a-function", ArgumentError, "checkpoint_key", checkpoint="run.sqlite"),
    case("given-always-on", ArgumentError, "given", "'x0'", given=["x0"], always_on=["x0"]),
    case("groups-list", ArgumentError, "groups", "list", groups=[["x0"]]),
    case(
        "groups-overlap",
        ArgumentError,
        "groups",
        "overlap in 'x1'",
        groups={"g": ["x0", "x1"], "h": ["x1"]},
    ),
    case("groups-unknown", ArgumentError, "groups['g']", "'z'", groups={"g": ["z"]}),
    case("groups-empty", ArgumentError, "groups['g']", "empty", groups={"g": []}),
    case("groups-none", ArgumentError, "groups['g']", "None", groups={"g": None}),
    case("groups-number", ArgumentError, "groups['g']", "3.5", groups={"g": 3.5}),
    case("groups-name-of-column", ArgumentError, "groups['x2']", groups={"x2": ["x0", "x1"]}),
    case("groups-same-name", ArgumentError, "groups", "'1'", groups={"1": ["x0"], 1: ["x1"]}),
    case(
        "groups-always-on",
        ArgumentError,
        "groups['g']",
        "always_on",
        groups={"g": ["x0", "x1"]},
        always_on=["x0"],
    ),
    *each(
        "partners",
        {"unknown": "some", "none": None, "number": 3, "list": ["x0"], "array": np.array(["a"])},
        ArgumentError,
        "'auto', 'all'",
    ),
    case("partners-key", ArgumentError, "partners", "'z'", partners={"z": ["x0"]}),
    case("partners-candidate", ArgumentError, "partners['x0']", "'z'", partners={"x0": ["z"]}),
    case("partners-map-none", ArgumentError, "partners['x0']", "None", partners={"x0": None}),
    case("partners-call-unknown", ArgumentError, "'z'", partners=lambda name: ["z"], max_order=2),
    case("partners-call-none", ArgumentError, "None", partners=lambda name: None, max_order=2),
    case(
        "partners-call-raises",
        ArgumentError,
        "partners",
        "ZeroDivisionError",
        partners=lambda name: 1 / 0,
        max_order=2,
    ),
    # --- by
    case("by-name-of-array", ArgumentError, "by='z'", "no column names", by="z"),
    case("by-unknown", ArgumentError, "by", "'z'", "'a'", X=FRAME, by="z"),
    case("by-short", DataError, "by", "2", str(N), by=["u", "v"]),
    case("by-scalar", ArgumentError, "by", "one value per row", "3", by=3),
    case("by-two-columns", ArgumentError, "by", f"({N}, 2)", by=np.zeros((N, 2))),
    case("by-none", DataError, "by", "missing at row 7", by=at(7, None)),
    case("by-nan", DataError, "by", "missing at row 7", by=holding(0, 7, np.nan)[:, 0]),
    case("by-unhashable", DataError, "by", "labels", by=pd.Series([[1]] * N)),
    case("by-class-of-regression", ArgumentError, "by='class'", "classification", by="class"),
    # --- reference
    *each("reference", {"unknown": "max", "nan": np.nan, "infinite": np.inf}, ArgumentError, "got"),
    *each(
        "reference",
        {"none": None, "true": True, "object": object(), "complex": 1j, "function": len},
        DataError,
    ),
    case("reference-short", ArgumentError, "reference", "2 values", "3 columns", reference=[1, 2]),
    case("reference-row-empty", ArgumentError, "reference", "0 values", reference=[]),
    case("reference-row-infinite", ArgumentError, "reference", "finite", reference=[0, np.inf, 0]),
    case("reference-row-text", ArgumentError, "reference", "'t'", reference=[0, "t", 0]),
    case("reference-map-unknown", ArgumentError, "reference", "'z'", reference={"z": 1}),
    case("reference-map-text", ArgumentError, "reference", "'t'", reference={"x0": "t"}),
    case("reference-map-list", ArgumentError, "reference", "[1, 2]", reference={"x0": [1, 2]}),
    case("reference-map-infinite", ArgumentError, "finite", reference={"x0": np.inf}),
    case("reference-3d", DataError, "reference", "(2, 2, 2)", reference=np.zeros((2, 2, 2))),
    case("reference-width", ArgumentError, "2 columns", reference=np.zeros((5, 2))),
    case("reference-no-rows", DataError, "reference", "(0, 3)", reference=np.zeros((0, 3))),
    case("reference-infinite-rows", ArgumentError, "finite", reference=np.full((5, 3), np.inf)),
    case(
        "reference-lacks",
        ArgumentError,
        "reference lacks the columns ['b', 'c']",
        "add them",
        X=FRAME,
        reference=FRAME[["a"]],
    ),
    case(
        "reference-lazy", DataError, "reference", "LazyFrame", reference=pl.LazyFrame({"x0": [1]})
    ),
    # --- loss
    *each("loss", {"unknown": "mse", "none": None, "number": 3}, ArgumentError, "'squared_error'"),
]


OF_THE_TEST = ("interval", "validation", "validation_fraction", "random_model")


def call_with_test(model, arguments):
    """The call, with the options of the sign test on its object."""
    options = {name: arguments.pop(name) for name in OF_THE_TEST if name in arguments}
    test = {"test": sfit.SignTest(**options)} if options else {}
    return sfit.feature_significance(model, **arguments, **test)


@pytest.mark.parametrize(("error", "words", "changes"), ARGUMENTS)
def test_argument(error, words, changes):
    """A bad argument is refused before the model predicts anything."""
    model = Recorder()
    arguments = {"X": X, "y": Y, **changes}
    assert_refused(lambda: call_with_test(model, arguments), error, words)
    assert model.calls == []


# --- rows --------------------------------------------------------------------------------

DATES = pd.date_range("2020-01-01", periods=N)
ROWS = [
    case("X-none", DataError, "X", "NoneType", X=None),
    case("X-scalar", DataError, "X", "int", X=3),
    case("X-path", ArgumentError, "X", "rows.csv", "Parquet", X="rows.csv"),
    case("X-mapping", DataError, "X", "dict", X={"a": [1]}),
    case("X-generator", ArgumentError, "X", "generator", X=(row for row in X)),
    case("X-1d", DataError, "X", "two dimensions", "reshape", X=X[:, 0]),
    case("X-3d", DataError, "X", "two dimensions", X=X[None]),
    case("X-no-rows", DataError, "X", "(0, 3)", X=X[:0], y=Y[:0]),
    case("X-no-columns", DataError, "X", f"({N}, 0)", X=X[:, :0]),
    case("X-no-rows-pandas", DataError, "X", "(0, 3)", X=FRAME[:0], y=Y[:0]),
    case("X-no-columns-pandas", DataError, "X", f"({N}, 0)", X=FRAME[[]]),
    case("X-no-rows-sparse", DataError, "X", "(0, 3)", X=sp.csr_array((0, 3)), y=Y[:0]),
    case("X-ragged", DataError, "X", X=[[1.0, 2.0], [3.0]]),
    case("X-complex", DataError, "X", "complex128", X=X.astype(complex)),
    case("X-text", DataError, "X", "frame", X=X.astype(str)),
    case("X-dates", DataError, "X", "datetime64", X=np.zeros((N, 3), "M8[D]")),
    case("X-durations", DataError, "X", "timedelta64", X=np.zeros((N, 3), "m8[D]")),
    case("X-structured", DataError, "X", X=np.zeros((N, 3), dtype=[("a", float)])),
    case("X-masked", DataError, "X", "mask", X=np.ma.array(X, mask=X > 1)),
    case("X-pandas-complex", DataError, "complex", X=FRAME.astype(complex)),
    case("X-sparse-complex", DataError, "complex", X=sp.csr_array(X.astype(complex))),
    case("X-sparse-1d", DataError, "X", "two dimensions", X=sp.coo_array(X[:, 0])),
    case("X-pandas-series", DataError, "X", "Series", X=FRAME["a"]),
    case("X-polars-series", DataError, "X", "Series", X=pl.Series(X[:, 0])),
    case("X-lazy", DataError, "X", "LazyFrame", X=pl.from_pandas(FRAME).lazy()),
    case("X-record-batch", DataError, "X", "RecordBatch", X=pa.RecordBatch.from_pandas(FRAME)),
    case(
        "X-twice-pandas",
        DataError,
        "'a'",
        X=FRAME.set_axis(["a", "a", "b"], axis=1),
    ),
    case("X-twice-as-text", DataError, "'1'", X=FRAME.set_axis([1, "1", 2], axis=1)),
    case("X-twice-pyarrow", DataError, X=pa.table([X[:, 0]] * 2, names=["a", "a"])),
    case("X-infinite", DataError, "'x1'", "row 5", "reference", X=holding(1, 5, np.inf)),
    case(
        "X-mean-overflows",
        DataError,
        "'x1'",
        "reference",
        X=np.abs(X) + np.array([0, 1.7e308, 0]),
    ),
    case(
        "X-infinite-pandas",
        DataError,
        "'b'",
        "row 5",
        X=pd.DataFrame(holding(1, 5, -np.inf), columns=list("abc")),
    ),
    case("y-none", ArgumentError, "y", "None", y=None),
    case("y-scalar", ArgumentError, "y", "3.0", y=3.0),
    case("y-mapping", ArgumentError, "y", y={"y": 1}),
    case("y-empty", DataError, "y has 0", f"X has {N}", y=[]),
    case("y-short", DataError, "y has 5", f"X has {N}", y=Y[:5]),
    case("y-long", DataError, f"y has {2 * N}", y=np.r_[Y, Y]),
    case("y-ragged", DataError, "y", y=[[1.0]] * (N - 1) + [[1.0, 2.0]]),
    case("y-name-of-array", ArgumentError, "y='z'", "no column names", y="z"),
    case("y-name-unknown", ArgumentError, "y", "'z'", X=FRAME, y="z"),
    case("y-only-column", ArgumentError, "features", X=FRAME[["a"]], y="a"),
    case("y-nan", DataError, "y", "1 row(s)", "row 9", y=at(9, np.nan).astype(float)),
    case("y-infinite", DataError, "y", "1 row(s)", "row 9", y=at(9, np.inf).astype(float)),
    case("y-nullable", DataError, "y", "row 9", y=pd.Series(at(9, None)).astype("Float64")),
    case("y-text", DataError, "y", "numbers", y=np.array(["a"] * N)),
    case("y-objects-missing", DataError, "y", "missing", "row 9", y=at(9, None)),
    case("y-objects-text", DataError, "y", "object", "astype(float)", y=at(9, "1.5")),
    case("y-decimals", DataError, "y", "object", y=[Decimal("1.5")] * N),
    case("y-complex", DataError, "y", "complex128", y=Y.astype(complex)),
    case("y-dates", DataError, "y", "datetime64", y=DATES),
    case("y-3d", DataError, "y", f"({N}, 1, 1)", y=Y[:, None, None]),
    case("y-masked", DataError, "y", "mask", y=np.ma.array(Y, mask=Y > 1)),
    case(
        "y-negative-poisson",
        DataError,
        "y is below zero",
        "1 row(s)",
        "row 9",
        "'poisson'",
        "'absolute_error'",
        y=at(9, -1, abs(Y)).astype(float),
        loss="poisson",
    ),
    case(
        "y-negative-poisson-outputs",
        DataError,
        "y is below zero",
        "row 9",
        y=np.column_stack([abs(Y), at(9, -1, abs(Y)).astype(float)]),
        loss="poisson",
    ),
    case("y-class-nan", DataError, "y", "row 9", y=at(9, np.nan, CLASS), loss="log_loss"),
    case("y-class-none", DataError, "y", "row 9", y=at(9, None, CLASS), loss="log_loss"),
    case("y-class-mixed", DataError, "y", "one type", y=at(9, "a", CLASS), loss="log_loss"),
    case("y-class-unhashable", DataError, "y", y=pd.Series([[1]] * N), loss="log_loss"),
    case("y-class-2d", DataError, "y", f"({N}, 2)", y=np.eye(2)[CLASS], loss="log_loss"),
]


@pytest.mark.parametrize(("error", "words", "changes"), ROWS)
def test_rows(error, words, changes):
    """Rows that cannot be used are refused before the model predicts anything."""
    model = Recorder()
    arguments = {"X": X, "y": Y, **changes}
    assert_refused(lambda: call_with_test(model, arguments), error, words)
    assert model.calls == []


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[{}] * 3] * N, dtype=object),
        FRAME.assign(c=[{}] * N),
        pl.DataFrame({"a": X[:, 0], "l": [[1]] * N}),
    ],
    ids=["array", "pandas", "polars"],
)
def test_unhashable_values(rows):
    """Cells that cannot be compared are refused, by us or by the model, in one clear error."""
    with pytest.raises(SFITError):
        sfit.feature_significance(Recorder(), rows, Y)


FRAMES = {
    "list": X.tolist(),
    "tuples": tuple(map(tuple, X)),
    "float32": X.astype(np.float32),
    "float16": X.astype(np.float16),
    "longdouble": X.astype(np.longdouble),
    "fortran": np.asfortranarray(X),
    "objects": X.astype(object),
    "csr": sp.csr_array(X),
    "csc": sp.csc_matrix(X),
    "coo": sp.coo_array(X),
    "pandas": FRAME,
    "pandas-numbered-columns": pd.DataFrame(X),
    "pandas-two-levels": FRAME.set_axis(pd.MultiIndex.from_product([["a"], [0, 1, 2]]), axis=1),
    "pandas-odd-index": FRAME.set_index(np.repeat(7, N)),
    "pandas-nullable": FRAME.astype("Float64"),
    "pandas-arrow": FRAME.astype("float64[pyarrow]"),
    "pandas-sparse": FRAME.astype(pd.SparseDtype("float64")),
    "pandas-dates": FRAME.assign(d=DATES),
    "pandas-categories": FRAME.assign(d=pd.Categorical(["u", "v"] * (N // 2))),
    "pandas-text": FRAME.assign(d=["u", None] * (N // 2)),
    "pandas-missing": FRAME.assign(d=[1, None] * (N // 2)),
    "polars": pl.from_pandas(FRAME),
    "polars-dates": pl.from_pandas(FRAME.assign(d=DATES)),
    "pyarrow": pa.Table.from_pandas(FRAME),
}


def first_column(rows):
    """The first column of rows of any kind, as numbers."""
    if isinstance(rows, np.ndarray):
        return rows[:, 0].astype(float)
    column = rows.iloc[:, 0] if isinstance(rows, pd.DataFrame) else rows[rows.columns[0]]
    if isinstance(rows, pa.Table):
        column = rows.column(0)
    return np.asarray(column, dtype=float)


@pytest.mark.parametrize("rows", FRAMES.values(), ids=FRAMES)
def test_every_kind_of_rows_works(rows):
    """Each kind of rows gives the counts of the plain array, up to its own precision."""

    def model(block):
        if isinstance(block, pa.Table):
            return np.asarray(block.column(0), dtype=float)
        return first_column(block)

    result = sfit.feature_significance(model, rows, Y)
    expected = sfit.feature_significance(lambda block: block[:, 0], X, Y)
    found = result.table
    assert found["n_positive"][:3].tolist() == expected.table["n_positive"].tolist()
    assert found["significant"][:3].tolist() == [True, False, False]


TARGETS = {
    "list": Y.tolist(),
    "objects": Y.astype(object),
    "column": Y[:, None],
    "float32": Y.astype(np.float32),
    "pandas": pd.Series(Y, index=range(N, 0, -1)),
    "pandas-frame": pd.DataFrame({"y": Y}),
    "pandas-nullable": pd.Series(Y).astype("Float64"),
    "polars": pl.Series(Y),
    "polars-frame": pl.DataFrame({"y": Y}),
    "pyarrow": pa.array(Y),
    "pyarrow-chunks": pa.chunked_array([Y[:50], Y[50:]]),
    "pyarrow-table": pa.table({"y": Y}),
}


@pytest.mark.parametrize("y", TARGETS.values(), ids=TARGETS)
def test_every_kind_of_target_works(y):
    """Each kind of y gives what the plain array gives."""
    result = sfit.feature_significance(Recorder(), X, y)
    expected = sfit.feature_significance(Recorder(), X, Y)
    assert result.table["n_positive"].tolist() == expected.table["n_positive"].tolist()


@pytest.mark.parametrize(
    "labels",
    [
        CLASS.astype(float),
        CLASS.astype(bool),
        CLASS.astype(object),
        pd.Categorical(CLASS),
        pa.array(CLASS),
    ],
    ids=["float", "bool", "object", "category", "pyarrow"],
)
def test_labels_of_another_type_are_the_same_classes(labels):
    """0.0 and False are the class 0."""
    model = LogisticRegression().fit(X, CLASS)
    expected = sfit.feature_significance(model, X, CLASS)
    assert sfit.feature_significance(model, X, labels) == expected


def zeros(rng):
    """A random model that finds nothing."""
    return lambda rows: np.zeros(len(rows))


TURNED = FRAME.index[::-1]
ORDERS = {
    "y": lambda y: sfit.feature_significance(Recorder(), FRAME, y),
    "by": lambda by: sfit.feature_significance(Recorder(), FRAME, Y, by=by > 0),
    "validation[1]": lambda y: sfit.feature_significance(
        Recorder(),
        FRAME,
        Y,
        beta="auto",
        test=sfit.SignTest(validation=(FRAME, y), random_model=zeros),
    ),
    "y of choose_beta": lambda y: sfit.choose_beta(Recorder(), FRAME, y, random_model=zeros),
    "y of SFITSelector": lambda y: sfit.SFITSelector(LinearRegression()).fit(FRAME, y),
    "y_train": lambda y: sfit.loco_significance(LinearRegression(), FRAME, y, FRAME, Y),
    "y_test": lambda y: sfit.loco_significance(LinearRegression(), FRAME, Y, FRAME, y),
}


@pytest.mark.parametrize("argument", ORDERS)
def test_an_index_in_another_order_is_told(argument):
    """Rows are matched by position; where the labels say otherwise there is one warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ORDERS[argument](pd.Series(Y, index=TURNED))
    [told] = [w for w in caught if "index in another order" in str(w.message)]
    assert told.category is SFITWarning
    assert str(told.message).startswith(f"{argument.split()[0]} and ")
    assert ".loc[" in str(told.message)
    assert told.filename == __file__ or "SFITSelector" in argument


@pytest.mark.parametrize(
    "index",
    [FRAME.index, range(1, N + 1), [0] * N, ["a", *range(1, N)]],
    ids=["equal", "other", "same-label", "mixed"],
)
def test_an_index_of_its_own_is_no_matter(index):
    """Equal labels, others, or such that have no order: by position, without a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SFITWarning)
        result = sfit.feature_significance(Recorder(), FRAME, pd.Series(Y, index=index))
    assert result == sfit.feature_significance(Recorder(), FRAME, Y)


def test_a_named_series_as_reference_goes_by_name():
    """`train.mean()` in another order of the columns is the same reference."""
    row = FRAME.mean().add([1.0, 2.0, 3.0])
    expected = sfit.feature_significance(Recorder(), FRAME, Y, reference=row)
    shuffled = sfit.feature_significance(Recorder(), FRAME, Y, reference=row[["c", "b", "a"]])
    assert shuffled.table.equals(expected.table)


@pytest.mark.parametrize(
    "reference",
    [[0.5, -1.0, 2.0], np.array([0.5, -1.0, 2.0]), np.tile([0.5, -1.0, 2.0], (3, 1))],
    ids=["row", "array", "data-set"],
)
def test_a_reference_without_names_for_columns_in_another_order(reference):
    """In whose order are the values, that of X or that of the model? Names tell."""
    model = Silent().fit(X, Y)
    model.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    turned = FRAME[["c", "b", "a"]]
    for features in (None, ["c", "a", "b"]):
        words = ["reference", "['a', 'b', 'c']", "mapping"]
        call = lambda: sfit.feature_significance(  # noqa: E731
            model,
            turned,
            Y,
            reference=reference,
            features=features,  # noqa: B023
        )
        assert_refused(call, ArgumentError, words)
    assert model.calls_ == 0
    named = pd.Series(np.atleast_2d(reference)[0], index=["a", "b", "c"])
    expected = sfit.feature_significance(model, FRAME, Y, reference=reference)
    found = sfit.feature_significance(model, turned, Y, reference=named)
    assert found.table.equals(expected.table)


def test_features_in_another_order_reach_the_model_by_name():
    """A model with names is given its columns in its own order, whatever order the user lists."""
    model = LinearRegression().fit(FRAME, Y)
    expected = sfit.feature_significance(model, FRAME, Y)
    assert sfit.feature_significance(model, FRAME, Y, features=["c", "b", "a"]) == expected
    assert sfit.feature_significance(model, X, Y, features=["c", "b", "a"]) == expected
    renamed = FRAME.set_axis(["u", "v", "w"], axis=1)
    result = sfit.feature_significance(model, renamed, Y, features=["u", "v", "w"])
    assert result.selected == ("u",)


def test_constant_columns_are_allowed_and_flagged():
    """A constant column is never significant, and the caveats name it."""
    result = sfit.feature_significance(Recorder(), FRAME.assign(k=1.0, b=2.0), Y)
    [caveat] = [text for text in result.caveats if "constant" in text]
    assert "'b', 'k'" in caveat
    assert result.table.set_index("term").loc[[("b",), ("k",)], "p_value"].tolist() == [1.0, 1.0]


@pytest.mark.parametrize(("n", "words"), [(1, "at least 5"), (4, "at least 5"), (5, "interval")])
def test_too_few_rows_warn(n, words):
    """So few rows that nothing can be found give a warning that says how many are needed."""
    with pytest.warns(SFITWarning, match=words):
        result = sfit.feature_significance(Recorder(), X[:n], Y[:n])
    assert any(words in text for text in result.caveats)


def test_too_few_rows_in_a_part_warn():
    """The parts of `by` are counted one by one."""
    with pytest.warns(SFITWarning, match="3 rows are too few"):
        sfit.feature_significance(Recorder(), X, Y, by=np.arange(N) < 3)


def test_too_few_rows_for_choose_beta_warn():
    """Beta = 0 because nothing could ever be found is worth a warning."""
    model = LinearRegression().fit(X, Y)
    with pytest.warns(SFITWarning, match="too few"):
        sfit.choose_beta(model, X[:3], Y[:3], n_models=2, random_state=0)


# --- models ------------------------------------------------------------------------------


class Silent(RegressorMixin, BaseEstimator):
    """A regressor that counts its predictions."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.calls_ = 0
        return self

    def predict(self, X):
        self.calls_ += 1
        return np.asarray(X)[:, 0]


BOTH = np.column_stack([CLASS, 1 - CLASS])
NAMED = LinearRegression().fit(FRAME, Y)
LOGISTIC = LogisticRegression().fit(X, CLASS)
MODELS = [
    case("model-none", ModelError, "NoneType", model=None),
    case("model-number", ModelError, "int", model=3),
    case("model-list", ModelError, "list", model=[LinearRegression()]),
    case("model-class", ModelError, "class LinearRegression", "instance", model=LinearRegression),
    case("model-unfitted", ModelError, "LinearRegression", "not fitted", model=LinearRegression()),
    case(
        "model-unfitted-pipeline",
        ModelError,
        "not fitted",
        model=make_pipeline(StandardScaler(), LinearRegression()),
    ),
    case(
        "model-unfitted-search",
        ModelError,
        "not fitted",
        model=GridSearchCV(LinearRegression(), {}),
    ),
    case(
        "model-search-without-refit",
        ModelError,
        "refit=False",
        "refit=True",
        model=GridSearchCV(LinearRegression(), {}, cv=2, refit=False).fit(X, Y),
    ),
    case("model-clusterer", ModelError, "KMeans", "function", model=KMeans(2, n_init=1).fit(X)),
    case("model-transformer", ModelError, "StandardScaler", model=StandardScaler().fit(X)),
    case(
        "model-outliers",
        ModelError,
        "IsolationForest",
        model=IsolationForest(n_estimators=2).fit(X),
    ),
    case(
        "model-pipeline-clusterer",
        ModelError,
        "KMeans",
        model=make_pipeline(StandardScaler(), KMeans(2, n_init=1)).fit(X),
    ),
    case(
        "model-multilabel-forest",
        ModelError,
        "several labels",
        model=RandomForestClassifier(2).fit(X, BOTH),
        y=CLASS,
    ),
    case(
        "model-multilabel",
        ModelError,
        "several labels",
        model=MultiOutputClassifier(LogisticRegression()).fit(X, BOTH),
        y=CLASS,
    ),
    case("model-no-file", ModelError, "nofile.onnx", model="nofile.onnx"),
    case(
        "svc-auto",
        ModelError,
        "predict_proba",
        "zero_one",
        model=LinearSVC().fit(X, CLASS),
        y=CLASS,
    ),
    case(
        "svc-log-loss",
        ModelError,
        "predict_proba",
        "CalibratedClassifierCV",
        model=LinearSVC().fit(X, CLASS),
        y=CLASS,
        loss="log_loss",
    ),
    case(
        "loss-of-other-task",
        ArgumentError,
        "'log_loss'",
        "regression",
        model=NAMED,
        loss="log_loss",
    ),
    case("loss-of-regression", ArgumentError, "'brier'", model=LOGISTIC, y=CLASS, loss="poisson"),
    case(
        "class-unknown",
        DataError,
        "[7]",
        f"row {N - 1}",
        "[0, 1]",
        model=LOGISTIC,
        y=at(-1, 7, CLASS),
    ),
    case("class-text", DataError, "'1'", "[0, 1]", model=LOGISTIC, y=CLASS.astype(str)),
    case("class-numbers", DataError, "classes", model=LOGISTIC, y=Y),
    case("names-missing", DataError, "X lacks", "'c'", model=NAMED, X=FRAME[["a", "b"]]),
    case("names-other", DataError, "X lacks 3", model=NAMED, X=FRAME.set_axis(list("uvw"), axis=1)),
    case("names-width", DataError, "2 columns", "fitted on 3", model=NAMED, X=X[:, :2]),
    case(
        "names-some",
        ArgumentError,
        "features",
        "['a', 'b', 'c']",
        model=NAMED,
        X=FRAME,
        features=["a", "b"],
    ),
    case("width", DataError, "2 columns", "fitted on 3", model=Silent().fit(X, Y), X=X[:, :2]),
]


@pytest.mark.parametrize(("error", "words", "changes"), MODELS)
def test_model(error, words, changes):
    """A model that cannot be tested, or does not fit the rows, is refused before it predicts."""
    arguments = {"X": X, "y": Y, **changes}
    assert_refused(lambda: sfit.feature_significance(**arguments), error, words)
    assert getattr(changes["model"], "calls_", 0) == 0


def test_hard_classifier_takes_the_zero_one_loss():
    """LinearSVC works with the loss that needs labels only."""
    label = np.arange(N) % 3
    rows = np.column_stack([np.cos(label), np.sin(label)]) + 0.01 * X[:, :2]
    model = LinearSVC().fit(rows, label)
    result = sfit.feature_significance(model, rows, label, loss="zero_one")
    assert result.settings.loss == "zero_one"
    expected = sfit.feature_significance(
        sfit.models.function_model(
            lambda block: np.eye(3)[model.predict(block)], "classification", [0, 1, 2]
        ),
        rows,
        label,
        loss="zero_one",
    )
    assert result.table.equals(expected.table)


def tiled(probabilities):
    """A model that gives every row the same probabilities."""
    return lambda rows: np.tile(probabilities, (len(rows), 1))


OUTPUTS = [
    case("none", ModelError, "one prediction per row", answer=lambda rows: None),
    case("scalar", ModelError, "one prediction per row", answer=lambda rows: 1.0),
    case("short", ModelError, "one prediction per row", answer=lambda rows: rows[:-1, 0]),
    case(
        "transposed",
        ModelError,
        "one prediction per row",
        f"(1, {N})",
        answer=lambda rows: rows[:, :1].T,
    ),
    case("3d", ModelError, "one prediction per row", answer=lambda rows: rows[:, :, None]),
    case(
        "two-outputs",
        ModelError,
        "2 values per row, but y has 1:",
        "agree",
        answer=lambda rows: rows[:, :2],
    ),
    case("text", ModelError, "numbers", answer=lambda rows: ["a"] * len(rows)),
    case("complex", ModelError, "complex128", answer=lambda rows: rows[:, 0] * 1j),
    case("dates", ModelError, "datetime64", answer=lambda rows: np.zeros(len(rows), "M8[D]")),
    case("objects", ModelError, "object", answer=lambda rows: rows[:, 0].astype(object)),
    case(
        "nan",
        ModelError,
        "row 0",
        "not finite",
        "reference",
        answer=lambda rows: rows[:, 0] * np.nan,
    ),
    case("raises", ModelError, "ZeroDivisionError", "rows 0 to", answer=lambda rows: 1 / 0),
    case("ragged", ModelError, "inhomogeneous", answer=lambda rows: [[1], [1, 2]]),
    case(
        "negative", ModelError, "not probabilities", "row 0", "softmax", answer=tiled([-0.1, 1.1])
    ),
    case("above-one", ModelError, "not probabilities", answer=lambda rows: np.full(len(rows), 1.5)),
    case("sum", ModelError, "not probabilities", "[0.5, 0.6]", answer=tiled([0.5, 0.6])),
    case("logits", ModelError, "logits", answer=tiled([3.0, -2.0])),
    case("classes", ModelError, "2 of them", "(0, 1)", "classes=", answer=tiled([0.2, 0.3, 0.5])),
]
PROBABILITIES = {"negative", "above-one", "sum", "logits", "classes"}


@pytest.mark.parametrize(("error", "words", "changes"), OUTPUTS)
def test_output(error, words, changes, request):
    """What the model returns is checked on the probe, before the real work."""
    model = Recorder(changes["answer"])
    classify = request.node.callspec.id in PROBABILITIES
    y, loss = (CLASS, "log_loss") if classify else (Y, "auto")
    assert_refused(lambda: sfit.feature_significance(model, X, y, loss=loss), error, words)
    assert sum(model.calls) <= 1_000 + 3


MANY = RNG.normal(size=(70_000, 2))
MANY[69_000, 0] = 99.0


@pytest.mark.parametrize(
    ("answer", "loss", "words"),
    [
        (lambda rows: np.where(rows[:, 0] > 50, np.nan, 0.5), "auto", "not finite"),
        (lambda rows: np.where(rows[:, 0] > 50, 1.7, 0.5), "log_loss", "not probabilities"),
    ],
    ids=["nan", "probability"],
)
def test_a_late_fault_of_the_model_names_the_row(answer, loss, words):
    """A fault far behind the probe is told with the number of its row among all rows."""
    y = np.arange(70_000) % 2
    call = lambda: sfit.feature_significance(Recorder(answer), MANY, y, loss=loss)  # noqa: E731
    assert_refused(call, ModelError, [words, "row 69000"])


@pytest.mark.parametrize(("value", "words"), [(np.nan, "not finite"), (-1.0, "below zero")])
def test_a_late_fault_of_the_loss_names_the_row(value, words):
    """So is a loss that is not finite or negative, with the number of rows."""
    y = np.arange(70_000.0)

    def loss(y, prediction):
        return np.where(y == 69_000, value, 1.0)

    call = lambda: sfit.feature_significance(Recorder(), MANY, y, loss=loss)  # noqa: E731
    assert_refused(call, DataError, [words, "1 row(s)", "row 69000"])


LOSSES = [
    case("scalar", DataError, "one number per row", loss=lambda y, p: 0.0),
    case("short", DataError, "one number per row", "(3,)", loss=lambda y, p: np.zeros(3)),
    case("2d", DataError, "one number per row", loss=lambda y, p: np.zeros((len(y), 2))),
    case("nothing", DataError, "one number per row", loss=lambda y, p: None),
    case("nan", DataError, "row 5", "1 row(s)", loss=lambda y, p: np.where(y == Y[5], np.nan, 1.0)),
    case("infinite", DataError, "row 0", loss=lambda y, p: np.full(len(y), np.inf)),
    case("negative", DataError, "below zero", "beta=0", loss=lambda y, p: -np.ones(len(y))),
    case("complex", DataError, "complex", loss=lambda y, p: 1j * np.ones(len(y))),
    case("text", DataError, "number", loss=lambda y, p: ["a"] * len(y)),
    case("durations", DataError, "number", loss=lambda y, p: np.zeros(len(y), "m8[D]")),
    case("raises", DataError, "ZeroDivisionError", loss=lambda y, p: 1 / 0),
    case("arity", DataError, "TypeError", loss=lambda y: y),
    case("poisson-negative-mean", DataError, "'poisson'", "not finite", loss="poisson"),
]


@pytest.mark.parametrize(("error", "words", "changes"), LOSSES)
def test_loss(error, words, changes):
    """A user's loss is checked: one finite number per row, not below zero unless beta is 0."""
    y = abs(Y) if changes["loss"] == "poisson" else Y
    assert_refused(lambda: sfit.feature_significance(Recorder(), X, y, **changes), error, words)


@pytest.mark.parametrize(
    "loss",
    [
        lambda y, p: abs(y - p).tolist(),
        lambda y, p: pd.Series(abs(y - p)),
        lambda y, p: abs(y - p).astype(object),
        lambda y, p: abs(y - p)[:, None][:, 0],
    ],
    ids=["list", "series", "objects", "view"],
)
def test_any_sequence_of_losses_works(loss):
    """One number per row is enough, whatever holds the numbers."""
    result = sfit.feature_significance(Recorder(), X, Y, loss=loss)
    expected = sfit.feature_significance(Recorder(), X, Y, loss="absolute_error")
    assert result.table.equals(expected.table)


def test_a_negative_loss_works_at_beta_zero():
    """Only (1 - beta) times a negative loss would be wrong."""
    result = sfit.feature_significance(Recorder(), X, Y, loss=lambda y, p: abs(y - p) - 10, beta=0)
    expected = sfit.feature_significance(Recorder(), X, Y, beta=0)
    assert result.table["n_positive"].tolist() == expected.table["n_positive"].tolist()


def test_the_error_names_the_users_row_where_rows_were_set_aside():
    """With beta="auto" the tested rows are a part of those given; errors still name the user's."""
    rows = np.column_stack([np.arange(400.0), RNG.normal(size=400)])

    def model(block):
        return np.where(block[:, 0] == 333.0, np.nan, block[:, 1])

    call = lambda: sfit.feature_significance(  # noqa: E731
        model,
        rows,
        rows[:, 1],
        beta="auto",
        test=sfit.SignTest(random_model=lambda rng: lambda block: 0 * block[:, 1]),
        random_state=1,
    )
    assert_refused(call, ModelError, ["row 333"])


# --- choose_beta -------------------------------------------------------------------------

CHOICES = [
    *each("alpha", BAD_LEVELS, ArgumentError, "between 0 and 1"),
    *each("n_models", {**BAD_COUNTS, "none": None}, ArgumentError, "whole number"),
    *each(
        "max_beta",
        {"negative": -1, "above": 2, "text": "0.1", "none": None, "nan": np.nan},
        ArgumentError,
    ),
    *each(
        "grid",
        {"empty": [], "number": 0.1, "text": ["a"], "above": [2], "nan": [np.nan]},
        ArgumentError,
    ),
    *each("n_jobs", BAD_JOBS, ArgumentError, "whole number"),
    *each("random_state", BAD_SEEDS, ArgumentError),
    *each("progress", BAD_FLAGS, ArgumentError, "True or False"),
    *each("random_model", {"number": 3, "text": "x"}, ArgumentError, "callable"),
    *each("features", {"unknown": ["z"], "number": 3.5}, ArgumentError),
    *each("always_on", {"unknown": ["z"], "none": None}, ArgumentError),
    case("groups", ArgumentError, "groups['g']", groups={"g": ["z"]}),
    case("reference", ArgumentError, "reference", reference="max"),
    case("loss", ArgumentError, "loss", loss="mse"),
    case("X", DataError, "X", X=X[:, 0]),
    case("y", DataError, "y has 5", y=Y[:5]),
]


@pytest.mark.parametrize(("error", "words", "changes"), CHOICES)
def test_choose_beta(error, words, changes):
    """The arguments of choose_beta are checked before any prediction."""
    model = Silent().fit(X, Y)
    arguments = {"X": X, "y": Y, "random_model": lambda rng: model, **changes}
    assert_refused(lambda: sfit.choose_beta(model, **arguments), error, words)
    assert model.calls_ == 0


@pytest.mark.parametrize(
    ("random_model", "error", "words"),
    [
        (lambda rng: None, ModelError, ["NoneType"]),
        (lambda rng: LinearRegression(), ModelError, ["not fitted"]),
        (lambda rng: 1 / 0, ModelError, ["random_model", "ZeroDivisionError"]),
        (lambda: None, ModelError, ["random_model", "TypeError"]),
        (lambda rng: LOGISTIC, DataError, ["classes"]),
        (lambda rng: lambda rows: np.full(len(rows), np.nan), ModelError, ["not finite"]),
    ],
    ids=["none", "unfitted", "raises", "arity", "other-task", "nan"],
)
def test_random_models_that_cannot_be_used(random_model, error, words):
    """What random_model draws is held to the same rules as the model."""
    call = lambda: sfit.choose_beta(Recorder(), X, Y, random_model=random_model)  # noqa: E731
    assert_refused(call, error, words)


def test_no_sufficient_beta_shows_the_curve():
    """Never silent: the error has the rates and the smallest sufficient beta."""
    call = lambda: sfit.choose_beta(  # noqa: E731
        Recorder(), X, Y, random_model=lambda rng: lambda rows: rows[:, 0], n_models=3
    )
    assert_refused(call, BetaError, ["max_beta=0.1", "0.333 at 0", "smallest sufficient", "Raise"])


@pytest.mark.parametrize(
    ("max_beta", "curve"),
    [(0, "the share is 0.333 at 0. "), (0.0005, "0.333 at 0.0001, 0.333 at 0.0005. ")],
)
def test_the_curve_ends_at_max_beta(max_beta, curve):
    """What is beyond was not asked for."""
    call = lambda: sfit.choose_beta(  # noqa: E731
        Recorder(),
        X,
        Y,
        random_model=lambda rng: lambda rows: rows[:, 0],
        n_models=3,
        max_beta=max_beta,
    )
    assert_refused(call, BetaError, [curve])


# --- power, rows_needed, function_model --------------------------------------------------

NOT_NUMBERS = {"text": "0.6", "none": None, "list": [0.6], "complex": 0.6j, "nan": np.nan}


@pytest.mark.parametrize("value", [0, -1, 1.5, "10", None, True, np.nan, [10]], ids=repr)
def test_power_refuses_n(value):
    """The number of rows is a whole number of at least 1."""
    assert_refused(lambda: sfit.power(value, 0.6), ArgumentError, ["n must", repr(value)])


@pytest.mark.parametrize("value", [*NOT_NUMBERS.values(), -0.1, 1.1, True], ids=repr)
def test_power_refuses_a_probability(value):
    """A probability is a number between 0 and 1."""
    words = ["probability", repr(value)]
    assert_refused(lambda: sfit.power(10, value), ArgumentError, words)
    assert_refused(lambda: sfit.rows_needed(value), ArgumentError, words)


@pytest.mark.parametrize("value", [*NOT_NUMBERS.values(), 0, 1, True], ids=repr)
def test_power_refuses_a_level(value):
    """A level is a number strictly between 0 and 1."""
    words = ["alpha", repr(value)]
    assert_refused(lambda: sfit.power(10, 0.6, value), ArgumentError, words)
    assert_refused(lambda: sfit.rows_needed(0.6, value), ArgumentError, words)


@pytest.mark.parametrize("value", [*NOT_NUMBERS.values(), 0.01, 1, True], ids=repr)
def test_rows_needed_refuses_a_power(value):
    """The wanted power is a number between alpha and 1."""
    words = ["power", repr(value)]
    assert_refused(lambda: sfit.rows_needed(0.6, 0.05, value), ArgumentError, words)


def test_rows_needed_refuses_half():
    """At 1/2 no number of rows suffices."""
    assert_refused(lambda: sfit.rows_needed(0.5), ArgumentError, ["probability", "0.5"])


FUNCTIONS = [
    case("f", ArgumentError, "f must be callable", "3", f=3),
    case("f-estimator", ArgumentError, "f must be callable", f=LinearRegression()),
    case("f-class", ArgumentError, "class", f=LinearRegression),
    case("task", ArgumentError, "task", "'classification'", "'ranking'", task="ranking"),
    case("task-none", ArgumentError, "task", "None", task=None),
    case("task-array", ArgumentError, "task", task=np.array(["a", "b"])),
    case("classes-of-regression", ArgumentError, "classes", task="regression", classes=[0, 1]),
    case("classes-twice", ArgumentError, "classes", "distinct", classes=[0, 0]),
    case("classes-2d", ArgumentError, "classes", classes=[[0, 1]]),
    case("classes-ragged", ArgumentError, "classes", classes=[[0], [1, 2]]),
    case("classes-text", ArgumentError, "classes", "'ab'", classes="ab"),
    case("classes-number", ArgumentError, "classes", "3", classes=3),
    case("classes-set", ArgumentError, "classes", classes={0, 1}),
    case("classes-empty", ArgumentError, "classes", classes=[]),
    case("classes-missing", ArgumentError, "classes", classes=[0, np.nan]),
]


@pytest.mark.parametrize(("error", "words", "changes"), FUNCTIONS)
def test_function_model(error, words, changes):
    """function_model refuses what cannot be a model, at once."""
    arguments = {"f": len, "task": "classification", **changes}
    assert_refused(lambda: sfit.models.function_model(**arguments), error, words)


def test_classes_of_two_types_keep_their_types():
    """The labels 0 and "b" do not become "0" and "b"."""
    model = sfit.models.function_model(
        lambda rows: 0.5 + 0 * rows[:, 0], "classification", [0, "b"]
    )
    y = np.array([0, "b"] * (N // 2), dtype=object)
    assert sfit.feature_significance(model, X, y).table["n_positive"].tolist() == [0, 0, 0]


# --- results -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def result():
    return sfit.feature_significance(Recorder(), X, Y)


@pytest.mark.parametrize("value", [v for v in BAD_LEVELS.values() if v is not None], ids=repr)
def test_at_refuses_a_level(result, value):
    """`at` checks the level as the test itself does."""
    assert_refused(lambda: result.at(alpha=value), ArgumentError, ["alpha", "between 0 and 1"])


@pytest.mark.parametrize("value", ["x", 3, [], True, np.array(["holm", "x"])], ids=repr)
def test_at_refuses_a_correction(result, value):
    """`at` names the corrections there are."""
    assert_refused(lambda: result.at(correction=value), ArgumentError, ["correction", "'holm'"])


def changed(document, **changes):
    """The document with other parts, and the checksum of these: forged, not damaged."""
    return json.dumps(sealed({**document, **changes}))


def altered(document, **changes):
    """The document with other fields in its first test."""
    first, *others = document["result"]["tests"]
    return changed(
        document, result={**document["result"], "tests": [{**first, **changes}, *others]}
    )


BROKEN = {
    "not-json": lambda d: "{nonsense",
    "truncated": lambda d: json.dumps(d)[:300],
    "empty-object": lambda d: "{}",
    "list": lambda d: "[1]",
    "kind": lambda d: changed(d, kind="PartitionedResult"),
    "version": lambda d: changed(d, schema_version=99),
    "no-result": lambda d: json.dumps(sealed({k: v for k, v in d.items() if k != "result"})),
    "no-run": lambda d: json.dumps(sealed({k: v for k, v in d.items() if k != "run"})),
    "no-checksum": lambda d: json.dumps({k: v for k, v in d.items() if k != "checksum"}),
    "another-checksum": lambda d: json.dumps({**d, "checksum": "0" * 32}),
    "edited": lambda d: json.dumps({**d, "result": {**d["result"], "caveats": ["mine"]}}),
    "result-null": lambda d: changed(d, result=None),
    "tests-text": lambda d: changed(d, result={**d["result"], "tests": "abc"}),
    "tests-fields": lambda d: changed(d, result={**d["result"], "tests": [{"a": 1}]}),
    "settings-empty": lambda d: changed(d, result={**d["result"], "settings": {}}),
    "names-number": lambda d: changed(d, result={**d["result"], "feature_names": 3}),
    "tests-count-text": lambda d: altered(d, n_positive="<b>"),
    "tests-count-broken": lambda d: altered(d, n=1.5),
    "tests-term-number": lambda d: altered(d, term=[3]),
    "tests-term-text": lambda d: altered(d, term="abc"),
    "tests-p-null": lambda d: altered(d, p_value=None),
    "tests-flag-number": lambda d: altered(d, significant=1),
    "names-nested": lambda d: changed(d, result={**d["result"], "feature_names": [["a"]]}),
    "caveats-number": lambda d: changed(d, result={**d["result"], "caveats": [1]}),
    "settings-alpha": lambda d: changed(
        d, result={**d["result"], "settings": {**d["result"]["settings"], "alpha": "<b>"}}
    ),
    "nothing": lambda d: "",
    "none": lambda d: None,
    "number": lambda d: 3,
    "null-byte": lambda d: "a\0b",
    "no-file": lambda d: "no-such-file.json",
    "long-text": lambda d: "x" * 5_000,
    "deep": lambda d: '{"a":' * 100_000,
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_from_json_refuses(result, broken):
    """What was not written by to_json is refused, with a word on what was expected."""
    source = broken(json.loads(result.to_json()))
    with pytest.raises(SFITError):
        sfit.SFITResult.from_json(source)


def settled(document, **changes):
    """The document with other settings."""
    result = document["result"]
    return changed(document, result={**result, "settings": {**result["settings"], **changes}})


def named(document, *names):
    """The document with other names of features."""
    return changed(document, result={**document["result"], "feature_names": names})


HUGE = 10**400
FORGED = {
    "alpha-huge": (lambda d: settled(d, alpha=HUGE), "alpha", "1000"),
    "alpha-zero": (lambda d: settled(d, alpha=0), "alpha", "0.0"),
    "beta-empty": (lambda d: settled(d, beta=[]), "beta", "()"),
    "beta-above-one": (lambda d: settled(d, beta=[1.5]), "beta", "1.5"),
    "correction-unknown": (lambda d: settled(d, correction="x"), "correction", "'x'"),
    "max-order": (lambda d: settled(d, max_order=0), "max_order", "0"),
    "statistic-huge": (lambda d: altered(d, statistic=HUGE), "statistic", "1000"),
    "p-huge": (lambda d: altered(d, p_value=HUGE), "p_value", "1000"),
    "p-negative": (lambda d: altered(d, p_value=-0.5), "p_value", "-0.5"),
    "p-above-one": (lambda d: altered(d, p_adjusted=1.5), "p_adjusted", "1.5"),
    "p-nan": (lambda d: altered(d, p_value="nan"), "p_value", "nan"),
    "n-huge": (lambda d: altered(d, n=HUGE), "n must", "1000"),
    "n-zero": (lambda d: altered(d, n=0), "n must", "0"),
    "n-positive-negative": (lambda d: altered(d, n_positive=-5), "n_positive", "-5"),
    "n-positive-above-n": (lambda d: altered(d, n_positive=N + 1), "n_positive", str(N + 1)),
    "order-huge": (lambda d: altered(d, order=10**9), "order", "1000000000"),
    "term-empty": (lambda d: altered(d, term=[]), "term", "()"),
    "term-twice": (lambda d: altered(d, term=["x0", "x0"]), "term", "('x0', 'x0')"),
    "term-unknown": (lambda d: altered(d, term=["z"]), "term", "'z'"),
    "base-unknown": (lambda d: altered(d, base=["z"]), "base", "'z'"),
    "names-dropped": (lambda d: named(d, "x1", "x2"), "term", "'x0'"),
    "names-twice": (lambda d: named(d, "x0", "x1", "x2", "x2"), "feature_names", "'x2'"),
    "tests-empty": (lambda d: changed(d, result={**d["result"], "tests": []}), "tests", "()"),
}


@pytest.mark.parametrize(("forge", "field", "value"), FORGED.values(), ids=FORGED)
def test_from_json_refuses_what_no_test_can_find(result, forge, field, value):
    """Of the right kinds, but beyond what a result can hold: refused with the field's name."""
    source = forge(json.loads(result.to_json()))
    words = ["written by to_json", field, value]
    assert_refused(lambda: sfit.SFITResult.from_json(source), DataError, words)


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("parts",), []),
        (("parts", 0, "part"), [1]),
        (("parts", 0, "tests", 0, "n"), HUGE),
        (("by",), 3),
    ],
    ids=["no-parts", "label-list", "n-huge", "by-number"],
)
def test_from_json_refuses_parts(where, value):
    """The parts of a result are held to the same."""
    document = json.loads(sfit.feature_significance(Recorder(), X, Y, by=CLASS).to_json())
    place = document["result"]
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    words = ["written by to_json", str(where[-1]).removesuffix("s")]
    source = changed(document)
    assert_refused(lambda: sfit.PartitionedResult.from_json(source), DataError, words)


@pytest.mark.parametrize(
    "numbers",
    [
        {"statistic": 1e308, "ci_low": -1e308, "ci_high": 1e308},
        {"statistic": "nan", "ci_low": "-inf", "ci_high": "inf"},
        {"beta_max": "inf"},
        {"beta_max": 1e308},
        {"n": 10**15},
    ],
    ids=["huge", "none", "beta-infinite", "beta-huge", "many-rows"],
)
def test_extreme_numbers_are_shown(result, numbers):
    """Whatever a test can find has its summary, its plot and its report."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    document = json.loads(result.to_json())
    document["run"]["seconds"] = HUGE
    extreme = sfit.SFITResult.from_json(altered(document, **numbers))
    assert "x0" in extreme.summary()
    assert "<html" in extreme.to_html()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"[]"], ids=["binary", "empty", "list"])
def test_from_json_refuses_a_file(tmp_path, content):
    """So is a file of something else, and a folder."""
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(SFITError):
        sfit.SFITResult.from_json(tmp_path / "file")
    with pytest.raises(SFITError):
        sfit.SFITResult.from_json(tmp_path)


@pytest.mark.parametrize("write", ["to_json", "to_markdown", "to_html"])
@pytest.mark.parametrize("path", ["no-such-folder/x", 3, "a\0b", ["x"]], ids=repr)
def test_writing_refuses_a_path(result, write, path):
    """What cannot be written is told with the path, and an error of ours."""
    if write != "to_json":
        pytest.importorskip("jinja2")
        pytest.importorskip("matplotlib")
    words = ["path", repr(path), "folder that exists"]
    assert_refused(lambda: getattr(result, write)(path), ArgumentError, words)


# --- nothing of the user's is changed ----------------------------------------------------


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def test_read_only_rows_work():
    """Read-only arrays are enough for every part of the procedure."""
    result = sfit.feature_significance(
        Recorder(), frozen(X), frozen(Y), max_order=2, reference=frozen(X), by=frozen(CLASS)
    )
    assert result.table["significant"].any()


def test_a_loss_that_works_in_place_does_not_change_y():
    """The user's y stays as it is; a loss that wants to write gets its own copy."""
    y = Y.copy()

    def loss(y, prediction):
        return np.abs(np.subtract(prediction, y, out=y))

    expected = sfit.feature_significance(Recorder(), X, y, loss="absolute_error")
    result = sfit.feature_significance(Recorder(), X, y, loss=loss)
    assert result.table.equals(expected.table)
    assert (y == Y).all()


def test_dates_in_python_objects_are_values_like_any_other():
    """An object array of dates takes its mode as reference."""
    rows = X.astype(object)
    rows[:, 1] = [datetime.date(2020, 1, 1 + i % 3) for i in range(N)]
    result = sfit.feature_significance(lambda block: block[:, 0].astype(float), rows, Y)
    assert result.selected == ("x0",)
