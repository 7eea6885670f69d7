"""Rows of every kind give one table; names, missing values and the user's own frames are kept."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPRegressor

import sfit
from sfit.exceptions import ArgumentError, DataError
from sfit.rows import HeldRows, as_table, distinct_rows, reveal, select_columns

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAMES = ["age", "income", "rooms", "owner"]


@pytest.fixture(scope="module")
def data():
    """Whole numbers that every type can hold, a truth value, and an outcome."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(-8, 9, size=(400, 3)), rng.integers(0, 2, size=400)]).astype(
        float
    )
    y = X[:, 0] + X[:, 1] * X[:, 2] / 8 + 2 * X[:, 3] + rng.normal(size=400)
    return X, y


def frame(X, dtype="float64"):
    return pd.DataFrame(X, columns=NAMES).astype(dtype)


KINDS = {
    "lists": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "big-endian": lambda X: X.astype(">f8"),
    "int64": lambda X: X.astype(np.int64),
    "int8": lambda X: X.astype(np.int8),
    "object": lambda X: X.astype(object),
    "pandas": frame,
    "pandas int": lambda X: frame(X, "int64"),
    "pandas Int64": lambda X: frame(X, "Int64"),
    "pandas Float64": lambda X: frame(X, "Float64"),
    "pandas bool": lambda X: frame(X).astype({"owner": bool}),
    "pandas boolean": lambda X: frame(X).astype({"owner": "boolean", "age": "Int32"}),
    "pandas object": lambda X: frame(X, object),
    "pandas arrow": lambda X: frame(X, "int64[pyarrow]"),
    "pandas shuffled index": lambda X: frame(X).set_index(np.arange(len(X))[::-1] // 2),
    "polars": lambda X: pl.DataFrame(frame(X)),
    "polars int": lambda X: pl.DataFrame(frame(X, "int64")),
    "polars bool": lambda X: pl.DataFrame(frame(X).astype({"owner": bool})),
    "pyarrow": lambda X: pa.Table.from_pandas(frame(X)),
    "pyarrow int": lambda X: pa.Table.from_pandas(frame(X, "int64")),
    "csr": sp.csr_array,
    "csc": sp.csc_matrix,
    "coo": sp.coo_array,
    "csr int": lambda X: sp.csr_array(X.astype(np.int64)),
}


def as_array(rows):
    """What a user's function does with rows of any kind."""
    if isinstance(rows, pa.Table):
        rows = rows.to_pandas()
    return np.asarray(rows, dtype=float)


def model(rows):
    x = as_array(rows)
    return x[:, 0] + x[:, 1] * x[:, 2] / 8 + 2 * x[:, 3]


def same_numbers(one, other, exact=True):
    """Equal but for the names; counts always, statistics to the last bit where `exact`."""
    assert one.table["n_positive"].tolist() == other.table["n_positive"].tolist()
    drop = ["term", "set", "base"]
    one, other = one.table.drop(columns=drop), other.table.drop(columns=drop)
    how = {"check_exact": True} if exact else {"rtol": 1e-9, "atol": 1e-12}
    pd.testing.assert_frame_equal(one, other, **how)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reference", ["mean", "median", "mode", 0.5])
def test_a_function_sees_the_same_rows_of_any_kind(data, kind, reference):
    """Every kind of rows gives, to the last bit, the table of the plain array."""
    X, y = data
    if kind == "float32" and reference == "mean":
        reference = X.mean(axis=0).astype(np.float32).astype(float)
    options = {"max_order": 2, "reference": reference, "beta": 0.01}
    plain = sfit.feature_significance(model, X, y, **options)
    same_numbers(sfit.feature_significance(model, KINDS[kind](X), y, **options), plain)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "float32"])
def test_a_fitted_estimator_sees_the_same_rows_of_any_kind(data, kind):
    """The same for a scikit-learn model, which is handed an array (objects: by another route)."""
    X, y = data
    fitted = LinearRegression().fit(X, y)
    plain = sfit.feature_significance(fitted, X, y, max_order=2)
    got = sfit.feature_significance(fitted, KINDS[kind](X), y, max_order=2)
    same_numbers(got, plain, exact=kind != "object")


def test_bool_and_float32_arrays():
    """Truth values count as 0 and 1; single precision stays what it is."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(200, 3)) < 0.4
    y = X[:, 0] + rng.normal(size=200)
    same_numbers(
        sfit.feature_significance(lambda z: z[:, 0] + z[:, 1], X, y),
        sfit.feature_significance(lambda z: z[:, 0] + z[:, 1], X.astype(float), y),
    )
    seen = set()

    def remember(z):
        seen.add(z.dtype)
        return z[:, 0]

    sfit.feature_significance(remember, rng.normal(size=(50, 2)).astype(np.float32), y[:50])
    assert seen == {np.dtype(np.float32)}


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda X: X, np.ndarray),
        (frame, pd.DataFrame),
        (lambda X: pl.DataFrame(frame(X)), pl.DataFrame),
        (lambda X: pa.Table.from_pandas(frame(X)), pa.Table),
    ],
)
def test_a_function_receives_the_users_own_kind_of_rows(data, make, expected):
    """Frames stay frames of their library, with all columns under their names, in order."""
    X, y = data
    kinds, names = set(), set()

    def remember(rows):
        kinds.add(type(rows))
        if expected is not np.ndarray:
            names.add(tuple(rows.column_names if expected is pa.Table else rows.columns))
        return model(rows)

    sfit.feature_significance(remember, make(X), y)
    assert kinds == {expected}
    assert names in ({tuple(NAMES)}, set())


def test_column_types_are_the_same_in_every_call(data):
    """Hidden or revealed, a column of a frame reaches the function with one dtype."""
    X, y = data
    rows = frame(X).astype({"age": "Int64", "income": "Float64", "owner": bool})
    rows["city"] = pd.Categorical(np.where(X[:, 0] > 2, "oslo", "rome"))
    seen = set()

    def remember(z):
        seen.add(tuple(map(str, z.dtypes)))
        return z["rooms"].to_numpy() + (z["city"] == "oslo").to_numpy()

    sfit.feature_significance(remember, rows, y, max_order=2)
    assert len(seen) == 1
    assert seen.pop()[-1] == "category"


def test_names_are_the_users():
    """From the frame, from the model, or x0, x1, ...; any label is shown as text."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(100, 2))
    y = X[:, 0]
    labelled = pd.DataFrame(X, columns=["a", "b"])
    fitted = LinearRegression().fit(labelled, y)
    assert sfit.feature_significance(lambda z: z[:, 0], X, y).feature_names == ("x0", "x1")
    assert sfit.feature_significance(fitted, X, y).feature_names == ("a", "b")
    assert sfit.feature_significance(fitted, labelled, y).feature_names == ("a", "b")
    numbered = pd.DataFrame(X)
    result = sfit.feature_significance(lambda z: z[0].to_numpy(), numbered, y, max_order=2)
    assert result.feature_names == ("0", "1")
    same_numbers(result, sfit.feature_significance(lambda z: z[:, 0], X, y, max_order=2))


def test_numbered_columns_can_be_named_by_number():
    """A frame whose labels are numbers takes them in always_on, given, groups and reference."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(100, 4)), columns=[3, 2, 1, 0])
    y = X[3].to_numpy()

    def first(z):
        return z[3].to_numpy() + z[1].to_numpy()

    result = sfit.feature_significance(
        first, X, y, always_on=[1], groups={"both": [2, 0]}, given=[3], reference={2: 0.0}
    )
    assert result.feature_names == ("both",)
    assert result.settings.always_on == ("1",)
    assert result.settings.given == ("3",)


def test_the_model_chooses_its_columns_by_name():
    """Columns may come in any order, with others beside them."""
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    y = X["a"] - X["b"] + 0.1 * rng.normal(size=300)
    fitted = LinearRegression().fit(X[["a", "b"]], y)
    plain = sfit.feature_significance(fitted, X[["a", "b"]], y)
    assert sfit.feature_significance(fitted, X[["c", "b", "a"]], y) == plain
    with pytest.raises(DataError, match=r"lacks 1.*'b'"):
        sfit.feature_significance(fitted, X[["a", "c"]], y)


def test_features_choose_columns_for_a_function():
    """`features` names the columns that reach the model, in that order."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(100, 3)), columns=["a", "b", "c"])

    def checked(z):
        assert list(z.columns) == ["c", "a"]
        return z["c"].to_numpy()

    assert sfit.feature_significance(checked, X, X["c"], features=["c", "a"]).feature_names == (
        "c",
        "a",
    )
    by_number = sfit.feature_significance(lambda z: z[:, 0], X.to_numpy(), X["c"], features=[2, 0])
    assert by_number.feature_names == ("x2", "x0")


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        pd.Series,
        lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
        lambda y: pd.DataFrame({"y": y}),
        lambda y: y[:, None],
        pl.Series,
        lambda y: pl.DataFrame({"y": y}),
        pa.array,
        lambda y: pa.chunked_array([y[:100], y[100:]]),
        lambda y: pd.Series(y, dtype="Float64"),
        lambda y: pd.Series(y, dtype="float64[pyarrow]"),
    ],
)
def test_the_outcome_of_any_kind(data, kind):
    """Lists, series, columns and arrow arrays say what a vector says; an index says nothing."""
    X, y = data
    plain = sfit.feature_significance(model, X, y)
    assert sfit.feature_significance(model, X, kind(y)) == plain


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"]
)
def test_the_outcome_as_a_column(data, make):
    """Named, it is taken out of the features."""
    X, y = data
    columns = dict(zip(NAMES, X.T, strict=True))
    plain = sfit.feature_significance(model, make(columns), y)
    assert sfit.feature_significance(model, make({"price": y, **columns}), "price") == plain


@pytest.mark.parametrize("labels", [(0, 1), (False, True), ("no", "yes"), (1.0, 2.0)])
def test_labels_of_classes_in_a_column(data, labels):
    """Classes may be numbers, truth values or words, given as a vector or a column's name."""
    X, y = data
    target = pd.Series(np.asarray(labels)[(y > 1).astype(int)])
    fitted = LogisticRegression().fit(frame(X), target)
    plain = sfit.feature_significance(fitted, frame(X), target)
    assert sfit.feature_significance(fitted, frame(X).assign(label=target), "label") == plain
    parts = sfit.feature_significance(fitted, frame(X).assign(label=target), "label", by="class")
    assert list(parts) == list(labels)
    assert [type(part) for part in parts] == [type(label) for label in labels]


@pytest.mark.parametrize(
    "kind",
    [
        pa.array,
        lambda values: pa.chunked_array([values[:100], values[100:]]),
        lambda values: pa.array(values).dictionary_encode(),
    ],
    ids=["array", "chunks", "dictionary"],
)
@pytest.mark.parametrize("labels", [(False, True), ("no", "yes")])
def test_labels_of_pyarrow(data, labels, kind):
    """Words and truth values, which pyarrow has to copy, say what a list of them says."""
    X, y = data
    label = np.asarray(labels)[(y > 1).astype(int)].tolist()
    fitted = LogisticRegression().fit(X, label)
    plain = sfit.feature_significance(fitted, X, label, by=label)
    assert sfit.feature_significance(fitted, X, kind(label), by=kind(label)) == plain
    with pytest.raises(DataError, match="y is missing at 1 row"):
        sfit.feature_significance(fitted, X, kind([None, *label[1:]]))
    with pytest.raises(DataError, match="y is missing or infinite at 1 row"):
        sfit.feature_significance(model, X, kind([None, *y[1:].tolist()]))


def test_labels_of_parts_keep_their_type(data):
    """Parts by a column of whole numbers are whole numbers, as in the frame."""
    X, y = data
    parts = sfit.feature_significance(
        model, frame(X).assign(year=np.where(X[:, 0] > 0, 2020, 2021)), y, by="year"
    )
    assert list(map(repr, parts)) == ["2020", "2021"]


def test_missing_values_are_values():
    """NaN, None and NA are skipped by the mean and reach a model that takes them."""
    rng = np.random.default_rng(6)
    X = rng.integers(-5, 6, size=(500, 3)).astype(float)
    X[rng.uniform(size=X.shape) < 0.2] = np.nan
    y = np.where(np.isnan(X[:, 0]), 3.0, X[:, 0]) + rng.normal(size=500)
    names = ["a", "b", "c"]
    fitted = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    plain = sfit.feature_significance(fitted, X, y, max_order=2)
    assert plain.tests[0].significant
    by_hand = sfit.feature_significance(fitted, X, y, reference=np.nanmean(X, axis=0), max_order=2)
    same_numbers(by_hand, plain)
    for kind in (
        pd.DataFrame(X, columns=names),
        pd.DataFrame(X, columns=names).convert_dtypes(),
        pl.DataFrame(X, schema=names).with_columns(pl.all().fill_nan(None)),
        pa.table({name: pa.array(X[:, j], from_pandas=True) for j, name in enumerate(names)}),
    ):
        same_numbers(sfit.feature_significance(fitted, kind, y, max_order=2), plain)


def test_categories_labelled_by_numbers_are_no_numbers():
    """A category dtype is frozen at its most frequent label, even if labels can be averaged."""
    rng = np.random.default_rng(7)
    code = rng.choice([10, 20, 40], p=[0.2, 0.5, 0.3], size=300)
    rows = pd.DataFrame({"code": pd.Categorical(code), "size": rng.normal(size=300)})

    def coded(z):
        return z["code"].astype(float).to_numpy() / 10 + z["size"].to_numpy()

    y = coded(rows)
    result = sfit.feature_significance(coded, rows, y)
    base = np.abs(y - 2.0 - rows["size"].mean())
    full = np.abs(y - code / 10 - rows["size"].mean())
    assert result.tests[0].n_positive == np.count_nonzero(0.99 * base > full)
    zero = sfit.feature_significance(coded, rows, y, reference=0)
    base, full = np.abs(y - 2.0), np.abs(y - code / 10)
    assert zero.tests[0].n_positive == np.count_nonzero(0.99 * base > full)


def test_categories_and_words_take_their_mode():
    """A column that holds no numbers is frozen at its most frequent value, the first of several."""
    rng = np.random.default_rng(7)
    city = rng.choice(["oslo", "rome", "lima"], p=[0.2, 0.5, 0.3], size=600)
    size = rng.normal(size=600)
    effect = {"oslo": 2.0, "rome": 0.0, "lima": -2.0}
    y = np.array([effect[one] for one in city]) + size + rng.normal(size=600)

    def by_city(rows):
        if isinstance(rows, pa.Table):
            rows = rows.to_pandas()
        words = [str(word) for word in rows["city"]]
        return np.array([effect[word] for word in words]) + np.asarray(rows["size"])

    plain = pd.DataFrame({"city": city, "size": size})
    expected = sfit.feature_significance(by_city, plain, y, max_order=2)
    frozen = plain.assign(city="rome")
    base = np.abs(y - by_city(frozen.assign(size=size.mean())))
    full = np.abs(y - by_city(plain.assign(size=size.mean())))
    assert expected.tests[0].n_positive == np.count_nonzero(0.99 * base > full)
    for kind in (
        plain.astype({"city": "category"}),
        plain.astype({"city": "string"}),
        plain.astype({"city": object}),
        pl.DataFrame(plain),
        pl.DataFrame(plain).with_columns(pl.col("city").cast(pl.Categorical)),
        pa.Table.from_pandas(plain),
        pa.Table.from_pandas(plain.astype({"city": "category"})),
    ):
        assert sfit.feature_significance(by_city, kind, y, max_order=2) == expected
    given_ = sfit.feature_significance(by_city, plain, y, reference={"city": "oslo"})
    base = np.abs(y - by_city(frozen.assign(city="oslo", size=size.mean())))
    assert given_.tests[0].n_positive == np.count_nonzero(0.99 * base > full)
    with pytest.raises(DataError, match=r"'city'.*'paris'"):
        sfit.feature_significance(by_city, plain, y, reference={"city": "paris"})


REFERENCES = {
    "array": lambda T: T,
    "float32": lambda T: T.astype(np.float32),
    "int": lambda T: T.astype(int),
    "lists": lambda T: T.tolist(),
    "pandas": frame,
    "pandas, other order": lambda T: frame(T)[NAMES[::-1]],
    "pandas, more columns": lambda T: frame(T).assign(price=1.0),
    "polars": lambda T: pl.DataFrame(frame(T)),
    "pyarrow": lambda T: pa.Table.from_pandas(frame(T)),
    "sparse": sp.csr_array,
    "a row": lambda T: T.mean(axis=0),
    "a list": lambda T: T.mean(axis=0).tolist(),
    "a mapping": lambda T: dict(zip(NAMES, T.mean(axis=0), strict=True)),
    "a series": lambda T: frame(T).mean(),
    "a series, other order": lambda T: frame(T)[NAMES[::-1]].mean(),
}


@pytest.mark.parametrize("dtype", ["uint8", "int8", "UInt8"])
@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, lambda c: pl.DataFrame(pd.DataFrame(c)), pa.table],
    ids=["pandas", "polars", "pyarrow"],
)
@pytest.mark.parametrize("reference", [-1, 128, -129, 300, 2.0**70, {"u": -200, "x": 0}])
def test_a_reference_beyond_the_type_of_its_column(make, dtype, reference):
    """A whole number that a small type cannot hold is what it is, as in an array of integers."""
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 100, size=(500, 2))
    columns = {"u": pd.Series(rows[:, 0], dtype=dtype), "x": rows[:, 1]}

    def half(z):
        return np.asarray(z["u"], dtype=float) / 2

    given = reference if isinstance(reference, dict) else {"u": reference, "x": reference}
    plain = sfit.feature_significance(
        lambda z: z[:, 0] / 2, rows, rows[:, 0] / 2, reference=list(given.values())
    )
    got = sfit.feature_significance(half, make(columns), rows[:, 0] / 2, reference=reference)
    same_numbers(got, plain)


@pytest.mark.parametrize("kind", REFERENCES)
@pytest.mark.parametrize(
    "rows", [frame, lambda X: pl.DataFrame(frame(X))], ids=["pandas", "polars"]
)
def test_the_training_set_as_reference_of_any_kind(data, kind, rows):
    """Means of a data set of any kind, or the same means as a row, freeze the same values."""
    X, y = data
    X = X + np.random.default_rng(8).normal(size=X.shape)
    training = np.random.default_rng(9).integers(0, 4, size=(64, 4)).astype(float)
    expected = sfit.feature_significance(model, X, y, reference=training.mean(axis=0))
    got = sfit.feature_significance(model, rows(X), y, reference=REFERENCES[kind](training))
    same_numbers(got, expected)
    assert got.settings.reference_origin == "given"


@pytest.mark.parametrize("kind", ["array", "float32", "int", "lists", "sparse", "a row", "a list"])
def test_the_training_set_as_reference_of_an_array(data, kind):
    """The same for plain arrays: observed values keep all their digits."""
    X, y = data
    X = X + np.random.default_rng(8).normal(size=X.shape)
    training = np.random.default_rng(9).integers(0, 4, size=(64, 4)).astype(float)
    fitted = LinearRegression().fit(X, y)
    for target in (model, fitted):
        expected = sfit.feature_significance(target, X, y, reference=training.mean(axis=0))
        got = sfit.feature_significance(target, X, y, reference=REFERENCES[kind](training))
        same_numbers(got, expected)


def test_scikit_learn_does_not_warn(data):
    """Fitted with names or without, asked with frames or arrays: warnings are errors here."""
    X, y = data
    label = (y > 0).astype(int)
    for estimator, target in (
        (LinearRegression(), y),
        (MLPRegressor(hidden_layer_sizes=(5,), max_iter=3000, tol=1e-2), y),
        (RandomForestClassifier(n_estimators=5, max_depth=2, random_state=0), label),
        (LogisticRegression(), label),
    ):
        for fitted_on in (X, frame(X)):
            fitted = estimator.fit(fitted_on, target)
            results = [
                sfit.feature_significance(fitted, rows, target, max_order=2)
                for rows in (X, frame(X), pl.DataFrame(frame(X)), pa.Table.from_pandas(frame(X)))
            ]
            for other in results[1:]:
                same_numbers(other, results[0])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros(5), "two dimensions"),
        (np.zeros((2, 3, 4)), "two dimensions"),
        (np.array([["a", "b"]]), "numbers or objects"),
        (np.zeros((3, 2), dtype=complex), "numbers or objects"),
        (np.ma.masked_array(np.ones((3, 2)), mask=np.eye(3, 2)), "masked"),
        (sp.csr_array(np.ones((3, 2), dtype=complex)), "must hold numbers"),
        (pd.Series([1.0]), "must be"),
        (pl.LazyFrame({"a": [1.0]}), "held in memory"),
        (pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]), "duplicate column names"),
        (pd.DataFrame(np.zeros((2, 2)), columns=[1, "1"]), "duplicate column names"),
        (np.empty((0, 3)), "rows and columns"),
        (np.empty((3, 0)), "rows and columns"),
    ],
)
def test_what_is_no_table_is_refused(rows, message):
    """A DataError says what X must be."""
    with pytest.raises(DataError, match=message):
        sfit.feature_significance(lambda z: z[:, 0], rows, np.zeros(3))


def test_lengths_and_names_that_do_not_fit(data):
    """y of another length, and columns that do not exist, are errors with both numbers."""
    X, y = data
    with pytest.raises(DataError, match=r"399.*400"):
        sfit.feature_significance(model, X, y[:-1])
    with pytest.raises(ArgumentError, match="no column names"):
        sfit.feature_significance(model, X, "price")
    with pytest.raises(ArgumentError, match=r"'price'.*'age'"):
        sfit.feature_significance(model, frame(X), "price")
    with pytest.raises(DataError, match=r"y is missing or infinite at 1 row\(s\).*row 3"):
        sfit.feature_significance(model, X, np.where(np.arange(400) == 3, np.nan, y))


# ------------------------------------------------------------------------------------ small parts


@settings(max_examples=60)
@given(
    st.integers(1, 80),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_distinct_rows_rebuild_the_table(m, width, values, seed, missing):
    """The rows named, read through the codes, are the rows; missing is a value like any other."""
    rng = np.random.default_rng(seed)
    X = rng.integers(values, size=(m, width)).astype(float)
    if missing:
        X[X == 0] = np.nan
    distinct = len(pd.DataFrame(X).drop_duplicates())
    for table in (X, X.astype(object), as_table(pd.DataFrame(X)), as_table(sp.csr_array(X))):
        found = distinct_rows(table, range(width))
        if found is None:
            assert m <= 1 or 2 * distinct > m
            continue
        rows, codes = found
        np.testing.assert_array_equal(X[rows][codes], X)
        assert len(rows) == distinct


@given(st.integers(0, 2**32 - 1), st.sets(st.integers(0, 3)))
def test_reveal_shows_some_columns_and_freezes_the_others(seed, shown):
    """Arrays and frames: observed where shown, the reference row elsewhere."""
    rng = np.random.default_rng(seed)
    X, reference = rng.normal(size=(6, 4)), rng.normal(size=(1, 4))
    expected = np.where(np.isin(np.arange(4), list(shown)), X, reference)
    some = np.array([4, 0, 0])
    for table, row in (
        (X, reference),
        (sp.csc_array(X), reference),
        (
            as_table(pd.DataFrame(X, columns=NAMES)),
            as_table(pd.DataFrame(reference, columns=NAMES)),
        ),
        (as_table(pl.DataFrame(X, schema=NAMES)), as_table(pl.DataFrame(reference, schema=NAMES))),
    ):
        np.testing.assert_array_equal(as_array(reveal(row, table, sorted(shown), None)), expected)
        np.testing.assert_array_equal(
            as_array(reveal(row, table, sorted(shown), some)), expected[some]
        )


def test_tiles_are_runs_of_consecutive_rows():
    """Cut and joined again, rows and outcomes are what they were."""
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20.0)
    tiles = [t for run in HeldRows(X, y, tile_rows=7).tile_runs for t in run.tiles(None)]
    assert [len(tile) for tile in tiles] == [7, 7, 6]
    assert [tile.number(0) for tile in tiles] == [0, 7, 14]
    np.testing.assert_array_equal(np.concatenate([tile.X for tile in tiles]), X)
    np.testing.assert_array_equal(np.concatenate([tile.y for tile in tiles]), y)


def test_selecting_all_columns_copies_nothing():
    """An array in the order of the model is used as it is."""
    X = np.zeros((3, 2))
    assert select_columns(X, [0, 1]) is X
    assert as_table(X) is X
