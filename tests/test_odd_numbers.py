"""Odd numbers in every argument, and odd columns: each works, or is refused by one clear error."""

import inspect
from contextlib import suppress
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import sfit
from sfit.exceptions import DataError, SFITError

RNG = np.random.default_rng(0)
N = 60
X = pd.DataFrame(RNG.normal(size=(N, 3)), columns=list("abc"))
Y = X["a"] + 0.1 * RNG.normal(size=N)
LINE = LinearRegression().fit(X, Y)
BARE = LinearRegression().fit(X.to_numpy(), Y)


def first(rows):
    return np.asarray(rows)[:, 0]


def run(**arguments):
    return sfit.feature_significance(LINE, X, Y, **arguments)


def choose(**arguments):
    return sfit.choose_beta(
        LINE, X, Y, random_model=lambda rng: first, max_beta=1.0, **{"random_state": 0, **arguments}
    )


ODD = {
    "401 digits": 10**400,
    "minus 401 digits": -(10**400),
    "5001 digits": 10**5000,
    "longdouble": np.longdouble("0.05"),
    "large longdouble": np.longdouble("1e4000"),
    "half": np.float16(0.05),
    "decimal": Decimal("0.05"),
    "fraction": Fraction(1, 20),
    "array": np.array(0.05),
    "whole array": np.array(2),
    "one in an array": np.array([0.05]),
    "bool": True,
    "numpy bool": np.True_,
    "nan": float("nan"),
    "infinity": float("inf"),
    "complex": 0.05 + 0j,
    "numpy complex": np.complex128(0.05),
    "text": "0.05",
    "bytes": b"0.05",
    "byte": np.int8(2),
    "unsigned": np.uint64(2**63),
    "seconds": np.timedelta64(1, "s"),
    "day": np.datetime64("2020-01-01"),
    "nothing": None,
}

CALLS = {
    **{
        argument: lambda value, argument=argument: run(**{argument: value})
        for argument in (
            "alpha",
            "beta",
            "max_order",
            "reference",
            "n_partners",
            "n_jobs",
            "random_state",
            "features",
            "always_on",
            "given",
        )
    },
    **{
        f"{argument} of a comparison": lambda value, argument=argument: sfit.compare_features(
            LINE, X, Y, **{"random_state": 0, argument: value}
        )
        for argument in ("alpha", "n_jobs", "random_state", "given", "reference")
    },
    **{
        f"{argument} of models": lambda value, argument=argument: sfit.compare_models(
            {"one": LINE, "two": first}, X, Y, **{"random_state": 0, argument: value}
        )
        for argument in ("alpha", "n_jobs", "random_state", "given", "reference")
    },
    "validation_fraction": lambda value: run(test=sfit.SignTest(validation_fraction=value)),
    "second beta": lambda value: run(beta=(0.01, value), max_order=2),
    "interaction": lambda value: run(interaction=value, max_order=2),
    "alpha_by_order": lambda value: run(alpha_by_order=[value]),
    "reference of a column": lambda value: run(reference={"a": value}),
    "reference in a row": lambda value: run(reference=[value, 0, 0]),
    "reference of an array": lambda value: sfit.feature_significance(
        BARE, X.to_numpy(), Y, reference={"x0": value}
    ),
    "reference of whole numbers": lambda value: sfit.feature_significance(
        LINE, X.round().astype(int), Y, reference={"a": value}
    ),
    "choose alpha": lambda value: choose(alpha=value),
    "choose n_models": lambda value: choose(n_models=value),
    "choose grid": lambda value: choose(grid=value),
    "choose random_state": lambda value: choose(random_state=value),
    "loco alpha": lambda value: sfit.loco_significance(LINE, X, Y, X, Y, alpha=value),
    **{
        f"parts {argument}": lambda value, argument=argument: sfit.compare_parts(
            LINE, X, Y, **{"by": np.arange(N) % 3, "random_state": 0, argument: value}
        )
        for argument in ("alpha", "by", "trend", "given", "clusters", "random_state")
    },
    "power n": lambda value: sfit.power(value, 0.6),
    "power probability": lambda value: sfit.power(100, value),
    "power alpha": lambda value: sfit.power(100, 0.6, value),
    "power correlation": lambda value: sfit.power(100, correlation=value),
    "power cluster_size": lambda value: sfit.power(100, 0.6, cluster_size=value),
    "power icc": lambda value: sfit.power(100, 0.6, icc=value),
    "rows probability": lambda value: sfit.rows_needed(value),
    "rows alpha": lambda value: sfit.rows_needed(0.6, value),
    "rows power": lambda value: sfit.rows_needed(0.6, power=value),
    "simulate n": lambda value: sfit.simulate.interactions(value),
    "simulate noise": lambda value: sfit.simulate.interactions(10, noise=value),
    "simulate correlation": lambda value: sfit.simulate.correlated(10, correlation=value),
    "simulate variance": lambda value: sfit.simulate.correlated(10, noise_variance=value),
    "simulate random_state": lambda value: sfit.simulate.correlated(10, random_state=value),
    "test_size": lambda value: sfit.SFITSelector(LinearRegression(), test_size=value).fit(X, Y),
    "alpha of a result": lambda value: run().at(alpha=value),
}


@pytest.mark.filterwarnings("ignore::sfit.exceptions.SFITWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("odd", ODD)
def test_numbers(call, odd):
    """No error of another library, or of Python, comes through."""
    with suppress(SFITError):
        CALLS[call](ODD[odd])


@pytest.mark.parametrize("call", [name for name in CALLS if "alpha" in name or "beta" in name])
def test_more_digits_than_a_double_are_a_number(call):
    """A longdouble counts as the double next to it."""
    told = CALLS[call](np.longdouble("0.05"))
    plain = CALLS[call](float(np.longdouble("0.05")))
    if hasattr(told, "table"):
        assert told.table.equals(plain.table)
        assert type(told.settings.alpha) is float
    else:
        assert told == plain


@pytest.mark.parametrize("odd", ["401 digits", "numpy complex", "seconds"])
def test_no_reference(odd):
    """These were accepted in part, or broke in NumPy."""
    for call in ("reference of a column", "reference in a row", "reference of an array"):
        with pytest.raises(SFITError, match=r"reference for column .* must be a number; got"):
            CALLS[call](ODD[odd])


# --- columns ----------------------------------------------------------------------------------

NUMBER = np.arange(N) % 5


def polars_columns():
    pl = pytest.importorskip("polars")
    return pl.DataFrame, {
        "Int128": pl.Series(NUMBER, dtype=pl.Int128),
        "Decimal": pl.Series([Decimal(int(i)) for i in NUMBER]),
        "Duration": pl.Series([timedelta(int(i)) for i in NUMBER]),
        "Date": pl.Series([date(2020, 1, 1 + int(i)) for i in NUMBER]),
        "List": pl.Series([[1, 2]] * N),
        "Struct": pl.Series([{"u": 1}] * N),
        "Object": pl.Series([object()] * N, dtype=pl.Object),
        "Binary": pl.Series([b"a"] * N),
        "Null": pl.Series([None] * N),
        **({"UInt128": pl.Series(NUMBER).cast(pl.UInt128)} if hasattr(pl, "UInt128") else {}),
    }


def pandas_columns():
    return pd.DataFrame, {
        "complex": pd.Series(NUMBER + 1j),
        "clongdouble": pd.Series(NUMBER.astype(np.clongdouble)),
        "longdouble": pd.Series(NUMBER.astype(np.longdouble)),
        "Period": pd.Series(pd.period_range("2020", periods=N, freq="D")),
        "Interval": pd.Series(pd.interval_range(0, N, periods=N)),
        "timedelta": pd.Series(pd.to_timedelta(NUMBER, unit="s")),
        "time zone": pd.Series(pd.date_range("2020", periods=N, tz="UTC")),
        "decimal": pd.Series([Decimal(int(i)) for i in NUMBER]),
        "401 digits": pd.Series([10**400] * N),
        "lists": pd.Series([[1]] * N),
    }


def pyarrow_columns():
    pa = pytest.importorskip("pyarrow")
    return pa.table, {
        "decimal128": pa.array([Decimal(int(i)) for i in NUMBER]),
        "decimal256": pa.array([Decimal(int(i)) for i in NUMBER], pa.decimal256(40, 2)),
        "float16": pa.array(NUMBER.astype(np.float16)),
        "list": pa.array([[1]] * N),
        "struct": pa.array([{"u": 1}] * N),
        "null": pa.nulls(N),
        "duration": pa.array(NUMBER, pa.duration("s")),
        "string view": pa.array(["a"] * N, pa.string_view()),
        "run-end encoded": pa.RunEndEncodedArray.from_arrays([N], [1.0]),
    }


def other_columns():
    torch = pytest.importorskip("torch")

    def stacked(columns):
        a, odd = columns.values()
        if isinstance(odd, torch.Tensor):
            return torch.stack([torch.tensor(a), odd], dim=1)
        return np.ma.column_stack([a.astype(np.asarray(odd).dtype), odd])

    return stacked, {
        "longdouble": NUMBER.astype(np.longdouble),
        "401 digits": np.array([10**400] * N, dtype=object),
        "torch": torch.tensor(Y.to_numpy()),
        "torch with grad": torch.tensor(Y.to_numpy(), requires_grad=True),
        "masked": np.ma.masked_array(Y.to_numpy(), NUMBER == 0),
    }


COLUMNS = [polars_columns, pandas_columns, pyarrow_columns, other_columns]


def of_columns(make):
    """Every way in which an odd column can come in."""
    owner, columns = make()
    plain, two = X[["a", "b"]].to_numpy(), LinearRegression().fit(X[["a", "b"]].to_numpy(), Y)
    classes = sfit.models.function_model(lambda Z: np.full(len(Z), 0.5), task="classification")
    for name, column in columns.items():
        odd = owner({"a": X["a"].to_numpy(), "odd": column})
        yield (
            name,
            "X",
            lambda odd=odd: sfit.feature_significance(lambda Z: np.zeros(len(Z)), odd, Y),
        )
        yield name, "X of a model", lambda odd=odd: sfit.feature_significance(two, odd, Y)
        yield (
            name,
            "reference",
            lambda odd=odd: sfit.feature_significance(two, odd, Y, reference=odd),
        )
        for argument in ("y", "by"):
            given = {"y": Y, argument: column}
            yield name, argument, lambda given=given: sfit.feature_significance(two, plain, **given)
        yield (
            name,
            "classes",
            lambda column=column: sfit.feature_significance(classes, plain, column),
        )
        yield (
            name,
            "row",
            lambda column=column: sfit.feature_significance(two, plain, Y, reference=column[:2]),
        )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", COLUMNS, ids=lambda make: make.__name__)
def test_columns(make):
    """Columns of every type of every library."""
    foreign = []
    for name, place, call in of_columns(make):
        try:
            call()
        except SFITError:
            pass
        except Exception as error:
            foreign.append(f"{name} as {place}: {type(error).__name__}: {error}")
    assert foreign == []


def test_the_remedy_of_a_tensor_is_told():
    """torch itself says what to do."""
    torch = pytest.importorskip("torch")
    y = torch.tensor(Y.to_numpy(), requires_grad=True)
    with pytest.raises(DataError, match=r"y cannot be converted to a NumPy array: .*detach\(\)"):
        sfit.feature_significance(LINE, X, y)
    assert sfit.feature_significance(LINE, X, y.detach()).selected == ("a",)


def test_128_bits():
    """Polars has whole numbers that NumPy has not: the error names the column and the remedy."""
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": X["a"].to_numpy(), "big": pl.Series(NUMBER, dtype=pl.Int128)})
    with pytest.raises(DataError, match=r"column 'big' of type Int128, .*at most 64 bits"):
        sfit.feature_significance(first, frame, Y)


@pytest.mark.parametrize("masked", [False, True])
def test_masks(masked):
    """A mask that hides nothing is none; one that hides something is refused wherever it is."""
    mask = NUMBER == 0 if masked else np.zeros(N, dtype=bool)
    rows = np.ma.masked_array(X.to_numpy(), np.column_stack([mask] * 3))
    y, row = (
        np.ma.masked_array(Y, mask),
        np.ma.masked_array([0.0, 0.0, 0.0], [masked, False, False]),
    )
    plain = sfit.feature_significance(BARE, X.to_numpy(), Y, reference=[0.0, 0.0, 0.0])
    for given in ({"X": rows}, {"y": y}, {"reference": row}):
        asked = {"X": X.to_numpy(), "y": Y, "reference": [0.0, 0.0, 0.0], **given}
        if masked:
            with pytest.raises(DataError, match=f"{next(iter(given))} is masked"):
                sfit.feature_significance(BARE, **asked)
        else:
            assert sfit.feature_significance(BARE, **asked).table.equals(plain.table)


def test_every_numeric_argument_is_among_them():
    """A new one has to be added above."""
    numeric = {
        name
        for name, parameter in inspect.signature(sfit.feature_significance).parameters.items()
        if "float" in str(parameter.annotation) or "int" in str(parameter.annotation).split(" ")
    }
    assert numeric <= set(CALLS)
