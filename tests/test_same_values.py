"""What a model can tell apart is never taken for one row: values go by type and bits, not by ==."""

import datetime
import decimal
from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures

import sfit
from sfit.rows import as_table, distinct_rows, hash_table
from sfit.rows._modes import Counts

NAN = float("nan")
OTHER_NAN = np.array([0x7FF8000000000001], dtype=np.uint64).view(np.float64)[0]
DAY = datetime.datetime(2020, 1, 1)
UTC = datetime.UTC

OBJECTS = {
    "missing": [None, NAN, pd.NA, pd.NaT],
    "ones": [1, True, 1.0, np.float32(1), np.int64(1), np.True_, "1", b"1"],
    "zeros": [0, 0.0, -0.0, False],
    "words and nothing": ["a", "b", None, NAN],
    "decimals": [decimal.Decimal("1.0"), decimal.Decimal("1.00"), decimal.Decimal(1)],
    "moments": [
        DAY.replace(tzinfo=UTC),
        DAY.replace(hour=1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        pd.Timestamp(DAY, tz="UTC"),
    ],
    "tuples": [(1,), (True,), (1.0,)],
}


def objects(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def n_distinct(table, times):
    """How many rows are told apart, of a table that holds the same rows several times."""
    found = distinct_rows(as_table(table), [0])
    assert found is not None
    first, codes = found
    assert (codes.reshape(times, -1) == codes[: len(codes) // times]).all()
    return len(first)


@pytest.mark.parametrize("times", [4, 2_000])
@pytest.mark.parametrize("kind", OBJECTS)
def test_objects_are_told_apart_by_their_types(kind, times):
    """In arrays and frames, in few rows and in many."""
    values = OBJECTS[kind]
    column = objects(values * times)
    assert n_distinct(column[:, None], times) == len(values)
    assert n_distinct(pd.DataFrame({"a": pd.Series(column, dtype=object)}), times) == len(values)


@pytest.mark.parametrize("dtype", ["float64", "float32", "longdouble"])
@pytest.mark.parametrize("times", [4, 2_000])
def test_numbers_are_told_apart_by_their_bits(dtype, times):
    values = np.array([0.0, -0.0, 1.0, NAN] * times, dtype=dtype)
    assert n_distinct(values[:, None], times) == 4
    if dtype == "float64":
        values[3::4] = OTHER_NAN
        values[2::4] = NAN
        assert n_distinct(values[:, None], times) == 4


def series_of_libraries():
    import pyarrow as pa

    big = [2**53, 2**53 + 1, None]
    floats = [0.0, -0.0, NAN, None]
    made = {
        "pandas int64": (pd.DataFrame({"a": [2**53, 2**53 + 1] * 4}), 2),
        "pandas Int64": (pd.DataFrame({"a": pd.array(big * 4, dtype="Int64")}), 3),
        "pandas Float64": (
            pd.DataFrame({"a": pd.array([0.0, -0.0, None] * 4, dtype="Float64")}),
            3,
        ),
        "pandas boolean": (pd.DataFrame({"a": pd.array([True, False, None] * 4, "boolean")}), 3),
        "pandas string": (pd.DataFrame({"a": pd.array(["u", "v", None] * 4, "string")}), 3),
        "pandas category": (pd.DataFrame({"a": pd.Categorical(["u", "v", None] * 4)}), 3),
        "pandas zone": (
            pd.DataFrame({"a": pd.to_datetime([DAY, None] * 4).tz_localize("Europe/Paris")}),
            2,
        ),
        "pandas arrow": (
            pd.DataFrame({"a": pd.arrays.ArrowExtensionArray(pa.array(floats * 4))}),
            4,
        ),
        "pyarrow floats": (pa.table({"a": pa.array(floats * 4)}), 4),
        "pyarrow big": (pa.table({"a": pa.array(big * 4)}), 3),
        "pyarrow words": (pa.table({"a": pa.array(["u", "", None] * 4)}), 3),
        "pyarrow dates": (pa.table({"a": pa.array([DAY.date(), None] * 4)}), 2),
        "pyarrow chunks": (
            pa.table({"a": pa.chunked_array([pa.array(["u", None]).dictionary_encode()] * 4)}),
            2,
        ),
        "pyarrow nothing": (pa.table({"a": pa.nulls(8, pa.float64())}), 1),
    }
    pl = pytest.importorskip("polars")
    for name, values, dtype, n in (
        ("floats", floats, pl.Float64, 4),
        ("big", big, pl.Int64, 3),
        ("truth", [True, False, None], pl.Boolean, 3),
        ("words", ["u", "", None], pl.String, 3),
        ("categories", ["u", "", None], pl.Categorical, 3),
        ("moments", [DAY, None], pl.Datetime("us"), 2),
        ("decimals", [decimal.Decimal("1.5"), None], pl.Decimal(10, 2), 2),
        ("nothing", [None, None], pl.Float64, 1),
    ):
        made[f"polars {name}"] = pl.DataFrame({"a": pl.Series(values * 4, dtype=dtype)}), n
    return made


def test_columns_of_every_library():
    """Null is not NaN, and whole numbers beyond 2**53 are not rounded."""
    pytest.importorskip("pyarrow")
    made = series_of_libraries()
    found = {name: len(distinct_rows(as_table(frame), [0])[0]) for name, (frame, _) in made.items()}
    assert found == {name: n for name, (_, n) in made.items()}


# --------------------------------------------------------------------------- through the whole call


def kind_of(value):
    """A number by which a model tells types apart; of those that are equal, signs differ."""
    if isinstance(value, float):
        return -4.0 if value != value else -2.0
    return {type(None): 3.0, str: 0.0, bool: 5.0, int: -6.0}[type(value)]


def told_apart(column):
    return np.array([kind_of(value) for value in column])


MIXED = {
    "missing": ["a", "a", "a", None, NAN],
    "ones": ["a", "a", "a", 1, True, 1.0],
    "a number is the mode": [1, 1, 1, "a", True, 1.0, None],
}


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("kind", MIXED)
@pytest.mark.parametrize("frame", [True, False])
def test_objects_reach_the_model_as_they_are(kind, frame, fast):
    """Counts are those of a naive loop: equal values are not one row, and words stay words."""
    rng = np.random.default_rng(0)
    n = 2_000
    values = objects([MIXED[kind][k] for k in rng.integers(len(MIXED[kind]), size=n)])
    y = told_apart(values) + 0.1 * rng.normal(size=n)
    X = np.column_stack([values, objects([0.5] * n)])
    if frame:
        X = pd.DataFrame({"c": pd.Series(values, dtype=object), "z": 0.5})

    def model(rows):
        return told_apart(rows["c"] if frame else rows[:, 0])

    result = sfit.feature_significance(model, X, y, reference="mode", fast=fast)
    base = np.abs(y - kind_of(MIXED[kind][0]))
    full = np.abs(y - told_apart(values))
    assert result.tests[0].n_positive == np.count_nonzero(0.99 * base > full)


@pytest.mark.parametrize("fast", [True, False])
def test_none_and_nan_are_two_categories_of_an_encoder(fast):
    """The whole Pipeline runs: its encoder knows None and NaN as different words."""
    rng = np.random.default_rng(1)
    n = 4_000
    values = objects([[None, NAN, "a"][k] for k in rng.integers(3, size=n)])
    X = pd.DataFrame({"c": pd.Series(values, dtype=object), "z": rng.normal(size=n)})
    encoder = OneHotEncoder(categories=[objects(["a", None, NAN])], handle_unknown="error")

    def both(rows):
        dummies = encoder.fit_transform(pd.DataFrame({"c": rows["c"]})).toarray()
        z = rows["z"].to_numpy(dtype=float)
        return np.column_stack([dummies, z, z * dummies[:, 0]])

    y = both(X) @ [0.0, 3.0, -3.0, 0.0, 0.0] + 0.1 * rng.normal(size=n)
    pipeline = make_pipeline(FunctionTransformer(both), LinearRegression()).fit(X, y)
    result = sfit.feature_significance(pipeline, X, y, reference={"c": "a", "z": 0.0}, fast=fast)
    assert result.settings.space == "original"
    frozen = X.assign(c=pd.Series(["a"] * n, dtype=object), z=0.0)
    base = np.abs(y - pipeline.predict(frozen))
    full = np.abs(y - pipeline.predict(frozen.assign(c=X["c"])))
    assert result.tests[0].n_positive == np.count_nonzero(0.99 * base > full)


@pytest.mark.parametrize("fast", [True, False])
def test_zeros_have_signs(fast):
    """Counts do not depend on which zero comes first."""
    rng = np.random.default_rng(2)
    X = np.column_stack(
        [np.where(rng.uniform(size=1_000) < 0.3, -0.0, 0.0), rng.normal(size=1_000)]
    )
    sign = np.copysign(1.0, X[:, 0])
    y = sign + 0.1 * rng.normal(size=1_000)

    def model(rows):
        return np.copysign(1.0, rows[:, 0])

    for order in (np.arange(1_000), np.argsort(sign), np.argsort(-sign)):
        for reference, at in (([0.0, 0.0], 1.0), ([-0.0, 0.0], -1.0), ("mode", 1.0)):
            result = sfit.feature_significance(
                model, X[order], y[order], reference=reference, fast=fast
            )
            expected = np.count_nonzero(0.99 * np.abs(y - at) > np.abs(y - sign))
            assert result.tests[0].n_positive == expected
            assert not any("constant" in caveat for caveat in result.caveats)


def test_a_column_of_both_zeros_is_no_constant():
    """Always on, it is shown as it is: it is not frozen at one of the zeros."""
    rng = np.random.default_rng(3)
    zeros = np.where(rng.uniform(size=1_000) < 0.3, -0.0, 0.0)
    X = np.column_stack([zeros, rng.normal(size=1_000)])
    y = np.copysign(1.0, zeros) * X[:, 1]

    def model(rows):
        return np.copysign(1.0, rows[:, 0]) * rows[:, 1]

    for order in (np.arange(1_000), np.argsort(np.signbit(zeros)), np.argsort(~np.signbit(zeros))):
        result = sfit.feature_significance(
            model, X[order], y[order], always_on=[0], reference={"x1": 0.0}
        )
        assert result.tests[0].n_positive == 1_000


def test_polars_null_is_not_nan():
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(4)
    values = [[0.0, 1.0, None, NAN][k] for k in rng.integers(4, size=2_000)]
    X = pl.DataFrame({"c": pl.Series(values, dtype=pl.Float64), "z": rng.normal(size=2_000)})
    seen = np.array([5.0 if v is None else -5.0 if v != v else v for v in values])

    def model(rows):
        return np.array([5.0 if v is None else -5.0 if v != v else v for v in rows["c"].to_list()])

    y = seen + 0.1 * rng.normal(size=2_000)
    result = sfit.feature_significance(model, X, y, reference=0.0)
    assert result.tests[0].n_positive == np.count_nonzero(0.99 * np.abs(y) > np.abs(y - seen))


def test_none_beside_nan_is_not_called_constant():
    X = np.column_stack([objects([None, NAN] * 50), objects([1.5] * 100)])
    result = sfit.feature_significance(lambda rows: told_apart(rows[:, 0]), X, np.full(100, 9.0))
    assert not any("'x0'" in caveat for caveat in result.caveats if "constant" in caveat)


# ------------------------------------------------------------------------------ modes and digests


def mode(*pieces):
    counts = Counts()
    for piece in pieces:
        counts.add(objects(piece) if isinstance(piece, list) else piece)
    return counts.mode()


def test_modes_do_not_depend_on_the_order():
    """Counted by type and bits, over tiles; ties go to the least, missing only if nothing else."""
    for values in ([1, True, True, 1.0], [True, 1.0, 1, True], [True, True, 1, 1.0]):
        assert mode(values) is True
        assert mode(values[:2], values[2:]) is True
    for values in ([0.0, -0.0], [-0.0, 0.0]):
        assert np.signbit(mode(np.array(values)))
        assert np.signbit(mode(np.array(values[:1]), np.array(values[1:])))
        assert np.signbit(mode(values))
    assert mode(["b", "a", None, None]) == "a"
    assert mode([None, None, NAN]) is None
    assert mode([NAN, None], [NAN]) != mode([None])
    assert mode(np.array([2.0, 2.0, NAN, NAN, NAN]), ["x", "x", "x"]) == "x"


def digest(table):
    found = blake2b(digest_size=16)
    hash_table(found, as_table(table))
    return found.hexdigest()


def test_digests_of_rows_see_every_difference():
    """Those by which a checkpoint knows its rows again."""
    columns = [
        objects([first, "b"])
        for kind in ("missing", "ones", "zeros", "decimals", "moments", "tuples")
        for first in OBJECTS[kind]
    ]
    arrays = {digest(column[:, None]) for column in columns}
    frames = {digest(pd.DataFrame({"a": pd.Series(column, dtype=object)})) for column in columns}
    assert len(arrays) == len(frames) == len(columns)
    again = {digest(objects(list(column))[:, None]) for column in columns}
    assert again == arrays


def test_digests_of_categories_see_their_order():
    """Models go by the numbers of the categories."""
    frames = [
        pd.DataFrame({"a": pd.Categorical(["u", "v"], categories=names)})
        for names in (["u", "v"], ["v", "u"], ["u", "v", "w"])
    ]
    assert len({digest(frame) for frame in frames}) == 3


def test_digests_of_other_libraries():
    pl = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    columns = [[0.0, 1.0], [-0.0, 1.0], [None, 1.0], [NAN, 1.0]]
    frames = [pl.DataFrame({"a": pl.Series(column, dtype=pl.Float64)}) for column in columns]
    assert len({digest(frame) for frame in frames}) == 4
    assert len({digest(frame.to_arrow()) for frame in frames}) == 4
    assert digest(frames[0]) == digest(pl.DataFrame({"a": [0.0, 1.0]}))
    words = [pl.DataFrame({"a": column}) for column in (["u", "v"], ["v", "u"], ["u", "w"])]
    assert len({digest(frame) for frame in words}) == 3


@pytest.mark.parametrize("reference", ["mean", "median", 0.5, {"u": 2.0}])
def test_a_number_as_reference_leaves_objects_as_they_are(reference):
    """The model sees None, True and 1, not the floats that their mean was computed from."""
    rng = np.random.default_rng(5)
    values = [1, True, None, float("nan"), 2.0]
    column = pd.Series([values[k] for k in rng.integers(5, size=300)], dtype=object)
    rows = pd.DataFrame({"u": column, "v": rng.normal(size=300)})
    worth = {"int": 0.0, "bool": 1.0, "NoneType": 2.0, "float": 3.0}

    def model(frame):
        assert frame["u"].dtype == object
        kinds = [worth[type(value).__name__] for value in frame["u"]]
        return np.asarray(kinds) + np.asarray(frame["v"], dtype=float)

    y = model(rows)
    result = sfit.feature_significance(model, rows, y, reference=reference, beta=0)
    frozen = rows.assign(v=0.0)
    frozen["u"] = pd.Series([0.5] * 300, dtype=object)  # a float, whatever its value
    if reference in ("mean", "median") or isinstance(reference, dict):
        frozen["v"] = getattr(rows["v"], "median" if reference == "median" else "mean")()
    else:
        frozen["v"] = reference
    base = np.abs(y - model(frozen))
    improved = np.abs(y - model(frozen.assign(u=rows["u"]))) < base - 1e-9
    assert result.tests[0].n_positive == improved.sum()


def test_missing_values_of_two_kinds_behind_a_pipeline_that_runs_as_a_whole():
    """A mean of the column must not make NaN of None: the encoder has a category for each."""
    rng = np.random.default_rng(6)
    values = [None, float("nan"), 1.0]
    column = pd.Series([values[k] for k in rng.integers(3, size=400)], dtype=object)
    rows = pd.DataFrame({"u": column, "v": rng.normal(size=400), "w": rng.normal(size=400)})
    is_none = np.array([value is None for value in rows["u"]])
    y = 3.0 * is_none + rows["v"] * rows["w"]
    pipe = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["u"]), (PolynomialFeatures(2), ["v", "w"])),
        LinearRegression(),
    ).fit(rows, y)
    result = sfit.feature_significance(pipe, rows, y, reference={"u": 1.0, "v": 0.0, "w": 0.0})
    assert result.settings.space == "original"
    masked = rows.assign(v=0.0, w=0.0)
    base = np.abs(y - pipe.predict(masked.assign(u=pd.Series([1.0] * 400, dtype=object))))
    full = np.abs(y - pipe.predict(masked))
    assert result.tests[0].n_positive == (full < 0.99 * base).sum()
    assert result.tests[0].n_positive > 100
