"""Rows and targets: every usable kind works, and anything else is refused with its reason."""

import datetime
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from bad_input import (
    CLASS,
    FRAME,
    N,
    Recorder,
    Silent,
    X,
    Y,
    assert_refused,
    at,
    call_with_test,
    case,
    holding,
)
from sklearn.linear_model import LinearRegression, LogisticRegression

import sfit
from sfit.exceptions import ArgumentError, DataError, SFITError, SFITWarning

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

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


def test_dates_in_python_objects_are_values_like_any_other():
    """An object array of dates takes its mode as reference."""
    rows = X.astype(object)
    rows[:, 1] = [datetime.date(2020, 1, 1 + i % 3) for i in range(N)]
    result = sfit.feature_significance(lambda block: block[:, 0].astype(float), rows, Y)
    assert result.selected == ("x0",)


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
    """Rows are matched by position; labels in another order give one warning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ORDERS[argument](pd.Series(Y, index=TURNED))
    [warning] = [w for w in caught if "index in another order" in str(w.message)]
    assert warning.category is SFITWarning
    assert str(warning.message).startswith(f"{argument.split()[0]} and ")
    assert ".loc[" in str(warning.message)
    assert warning.filename == __file__ or "SFITSelector" in argument


@pytest.mark.parametrize(
    "index",
    [FRAME.index, range(1, N + 1), [0] * N, ["a", *range(1, N)]],
    ids=["equal", "other", "same-label", "mixed"],
)
def test_an_index_of_its_own_is_no_matter(index):
    """Equal labels, other labels and labels without an order are matched by position, silently."""
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
    """Unnamed values could be in the order of X or of the model, so names are required."""
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
