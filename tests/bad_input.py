"""A good call, ways to spoil it, and the check that it is refused; shared by `test_bad_*.py`.

Each case works, or raises one SFITError that names the argument and the remedy. Arguments and data are
checked before the model predicts anything, which `Recorder` and `Silent` show.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import sfit
from sfit.exceptions import SFITError

RNG = np.random.default_rng(0)

N = 120
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=N)
CLASS = (Y > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])


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
    """A model that uses its first column and records the number of rows of each call."""

    def __init__(self, answer=None):
        self.calls = []
        self.answer = answer or (lambda rows: np.asarray(rows)[:, 0].astype(float))

    def __call__(self, rows):
        self.calls.append(len(rows))
        return self.answer(rows)


class Silent(RegressorMixin, BaseEstimator):
    """A regressor that counts its predictions."""

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.calls_ = 0
        return self

    def predict(self, X):
        self.calls_ += 1
        return np.asarray(X)[:, 0]


def case(name, error, *words, **changes):
    """Changes to a good call, and the error that they cause, with words of its message."""
    return pytest.param(error, words, changes, id=name)


def assert_refused(call, error, words):
    """The call raises an error of exactly this class, whose message contains the words."""
    with pytest.raises(SFITError) as caught:
        call()
    assert type(caught.value) is error, repr(caught.value)
    for word in words:
        assert word in str(caught.value), f"{word!r} is not in {caught.value!r}"


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


OF_THE_TEST = ("interval", "validation", "validation_fraction", "random_model")


def call_with_test(model, arguments):
    """The call, with the options of the sign test on its object."""
    options = {name: arguments.pop(name) for name in OF_THE_TEST if name in arguments}
    test = {"test": sfit.SignTest(**options)} if options else {}
    return sfit.feature_significance(model, **arguments, **test)
