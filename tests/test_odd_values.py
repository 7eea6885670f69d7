"""Every argument of every public callable meets every odd value.

What belongs where is tested in `test_bad_*.py`, case by case. Here nothing is known of an
argument but its name, which is read from the signature: an argument that is added is tried as well.
Either the call works, or it raises one error of sfit that names the argument.
"""

import inspect
import warnings
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression

import sfit
from sfit.exceptions import BetaError, SFITError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=40)
MODEL = LinearRegression().fit(X, Y)


def odd_values():
    """What nobody should pass, made anew: a generator is used up by the first call."""
    return {
        "none": None,
        "true": True,
        "minus-one": -1,
        "huge": 10**400,
        "nan": float("nan"),
        "infinite": float("inf"),
        "complex": 1j,
        "text": "nonsense",
        "empty-text": "",
        "null-byte": "a\0b",
        "surrogate": "\ud800",
        "bytes": b"nonsense",
        "object": object(),
        "class": int,
        "function": len,
        "ellipsis": ...,
        "empty-list": [],
        "nested": [[[]]],
        "list-of-none": [None, None],
        "dict": {"a": 1},
        "set": {1, 2},
        "range": range(3),
        "generator": (value for value in [1, 2]),
        "zero-d": np.array(1.0),
        "empty-array": np.array([]),
        "array": np.zeros((2, 2)),
        "dates": np.zeros(40, "M8[s]"),
        "series": pd.Series([1.0, 2.0]),
        "frame": pd.DataFrame({"z": [1.0]}),
        "empty-frame": pd.DataFrame(),
        "sparse": sp.csr_array((2, 2)),
        "not-a-time": pd.NaT,
        "missing": pd.NA,
    }


RESULT = sfit.feature_significance(MODEL, X, Y)
PARTS = sfit.feature_significance(MODEL, X, Y, by=np.arange(40) % 2)
TWO = sfit.compare_models({"one": MODEL, "two": lambda rows: rows[:, 1]}, X, Y)
RANKS = sfit.compare_features(MODEL, X, Y)
COMPARED = sfit.compare_parts(MODEL, X, Y, by=np.arange(40) % 2, random_state=0)
CHOICE = sfit.BetaChoice(0.0, 0.05, ((0.0,),), ("x0",), 40, None, 0)


def selected(**arguments):
    """The selector's arguments are checked when it is fitted."""
    rows = {name: arguments.pop(name) for name in ("X", "y")}
    return sfit.SFITSelector(**arguments).fit(**rows)


# A good call of each, of which one argument is then replaced.
CALLS = {
    "feature_significance": (sfit.feature_significance, {"model": MODEL, "X": X, "y": Y}),
    "feature_significance, auto": (
        sfit.feature_significance,
        {"model": MODEL, "X": X, "y": Y, "beta": "auto", "max_order": 2},
    ),
    "feature_significance, additive": (
        sfit.feature_significance,
        {"model": MODEL, "X": X, "y": Y, "interaction": "additive", "max_order": 2},
    ),
    "compare_models": (
        sfit.compare_models,
        {"models": {"one": MODEL, "two": lambda rows: rows[:, 1]}, "X": X, "y": Y},
    ),
    "compare_features": (sfit.compare_features, {"model": MODEL, "X": X, "y": Y}),
    "compare_parts": (
        sfit.compare_parts,
        {"model": MODEL, "X": X, "y": Y, "by": np.arange(40) % 2},
    ),
    "choose_beta": (sfit.choose_beta, {"model": MODEL, "X": X, "y": Y, "n_models": 2}),
    "loco_significance": (
        sfit.loco_significance,
        {"estimator": LinearRegression(), "X_train": X, "y_train": Y, "X_test": X, "y_test": Y},
    ),
    "SFITSelector": (selected, {"estimator": LinearRegression(), "X": X, "y": Y}),
    "power": (sfit.power, {"n": 10, "probability": 0.6}),
    "rows_needed": (sfit.rows_needed, {"probability": 0.6}),
    "function_model": (sfit.models.function_model, {"f": len}),
    "interactions": (sfit.simulate.interactions, {"n": 5}),
    "correlated": (sfit.simulate.correlated, {"n": 5}),
    "interactions_mean": (sfit.simulate.interactions_mean, {"X": np.zeros((2, 7))}),
    "SFITResult.at": (RESULT.at, {}),
    "PartitionedResult.at": (PARTS.at, {}),
    "SFITResult.from_json": (sfit.SFITResult.from_json, {"source": RESULT.to_json()}),
    "PartitionedResult.from_json": (sfit.PartitionedResult.from_json, {"source": PARTS.to_json()}),
    "ModelComparison.from_json": (sfit.ModelComparison.from_json, {"source": TWO.to_json()}),
    "FeatureComparison.from_json": (sfit.FeatureComparison.from_json, {"source": RANKS.to_json()}),
    "ModelComparison.to_json": (TWO.to_json, {}),
    "BetaChoice.rate": (CHOICE.rate, {"beta": 0.1}),
    "SFITResult.to_json": (RESULT.to_json, {}),
    "PartitionedResult.to_json": (PARTS.to_json, {}),
    "PartComparison.from_json": (sfit.PartComparison.from_json, {"source": COMPARED.to_json()}),
    "PartComparison.to_json": (COMPARED.to_json, {}),
}
if find_spec("torch"):
    import torch

    CALLS["torch_model"] = (sfit.models.torch_model, {"module": torch.nn.Linear(3, 1)})
if find_spec("matplotlib"):
    CALLS["SFITResult.plot"] = (RESULT.plot, {})
    CALLS["PartitionedResult.plot"] = (PARTS.plot, {})
    CALLS["ModelComparison.plot"] = (TWO.plot, {})
    CALLS["FeatureComparison.plot"] = (RANKS.plot, {})
    CALLS["PartComparison.plot"] = (COMPARED.plot, {})
    CALLS["BetaChoice.plot"] = (CHOICE.plot, {})


def arguments_of(call):
    """The names that a call takes."""
    if call is selected:
        own = inspect.signature(sfit.SFITSelector).parameters
        return [*own, "X", "y"]
    return list(inspect.signature(call).parameters)


# How an argument is called in a message, where not by its name.
WORDS = {
    "X": ("X", "rows"),
    "X_train": ("X",),
    "X_test": ("X",),
    "y_train": ("y",),
    "y_test": ("y",),
    "estimator": ("estimator", "model"),
    "prefit": ("prefit", "fitted"),
    "source": ("JSON", "expected a"),
}

PAIRS = [
    pytest.param(call, good, argument, id=f"{name}-{argument}")
    for name, (call, good) in CALLS.items()
    for argument in arguments_of(call)
]


@pytest.mark.parametrize(("call", "good", "argument"), PAIRS)
def test_odd_values(call, good, argument, tmp_path, monkeypatch):
    """Each odd value works, or is refused by an error of sfit that names the argument."""
    monkeypatch.chdir(tmp_path)  # a text may be the name of a checkpoint
    faults = []
    for name, value in odd_values().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                call(**{**good, argument: value})
            except BetaError:
                pass  # the value works, and random models find too much
            except SFITError as error:
                if not any(word in str(error) for word in WORDS.get(argument, (argument,))):
                    faults.append(f"{argument}={name} is not named: {error}")
            except Exception as error:
                faults.append(f"{argument}={name}: {type(error).__name__}: {error}")
    assert faults == []
