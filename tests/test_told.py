"""Every argument that a result depends on is told to the checkpoint, so that another run is refused."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import sfit
from sfit.exceptions import CheckpointError

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=list("abc"))
Y = (X["a"] + 0.5 * RNG.normal(size=60)).rename("y")
# Fitted without names, so that the order of the features is the user's.
MODEL, OTHER = (
    LinearRegression(positive=only).fit(X.to_numpy(), Y - X["b"]) for only in (False, True)
)


def random_model(rng):
    return MODEL


OF_FITTED = {
    "model": (OTHER, "the model"),
    "X": (X + 1.0, "the rows"),
    "y": (Y + 1.0, "the rows"),
    "features": (["c", "b", "a"], "the features"),
    "loss": ("squared_error", "loss"),
    "alpha": (0.1, "alpha"),
    "reference": (0.0, "the reference values"),
    "groups": ({"bc": ["b", "c"]}, "the features"),
    "always_on": (["c"], "the features"),
    "fast": (False, "fast"),
    "random_state": (1, "random_state"),
    "checkpoint_key": ("two", "checkpoint_key"),
}
"""Of each argument another value, and what the refusal says was otherwise."""

TOLD = {
    sfit.feature_significance: OF_FITTED
    | {
        "beta": (0.02, "beta"),
        "max_order": (2, "max_order"),
        "correction": ("holm", "correction"),
        "alpha_by_order": ("auto", "alpha_by_order"),
        "test": (sfit.SignTest(interval="asymptotic"), "interval"),
        "given": (["b"], "given"),
        "by": (X["a"] > 0, "by"),
        "clusters": (np.arange(len(Y)) // 2, "clusters"),
        "partners": ("all", "partners"),
        "n_partners": (1, "n_partners"),
        "exhaustive": (True, "exhaustive"),
        "strict": (True, "strict"),
    },
    sfit.choose_beta: OF_FITTED
    | {"n_models": (3, "n_models"), "random_model": (random_model, "random_model")},
    sfit.loco_significance: {
        "estimator": (LinearRegression(positive=True), "the model"),
        "X_train": (X + 1.0, "the training rows"),
        "y_train": (Y + 1.0, "the training rows"),
        "X_test": (X + 1.0, "the test rows"),
        "y_test": (Y + 1.0, "the test rows"),
        "features": (["a", "b"], "the features"),
        "groups": ({"bc": ["b", "c"]}, "the features"),
        "checkpoint_key": ("two", "checkpoint_key"),
    },
}

CALLS = {
    sfit.feature_significance: {"model": MODEL, "X": X, "y": Y, "random_state": 0},
    sfit.choose_beta: {
        "model": MODEL,
        "X": X,
        "y": Y,
        "random_state": 0,
        "n_models": 2,
        "max_beta": 1.0,
    },
    sfit.loco_significance: {
        "estimator": LinearRegression(),
        "X_train": X,
        "y_train": Y,
        "X_test": X,
        "y_test": Y,
    },
}

HARMLESS = {"n_jobs", "progress", "checkpoint"}
"""How the work is done, and where it is kept."""

APPLIED_LATER = {
    sfit.choose_beta: {"grid": [0.25, 0.9999], "max_beta": 0.9999},
    sfit.loco_significance: {
        "loss": "squared_error",
        "alpha": 0.2,
        "correction": "holm",
        "test": sfit.SignTest(interval="asymptotic"),
    },
}
"""To what is kept, which does not depend on them: one checkpoint serves them all."""

REFUSED = {sfit.feature_significance: {"sample_weight", "row_order", "interaction"}}
"""By the sign test, or at order 1; `test_dependent_rows.py` and `test_interactions.py` show that a
checkpoint knows `row_order` and `interaction`."""


def named(value):
    return value if isinstance(value, str) else value.__name__


@pytest.mark.parametrize("function", TOLD, ids=named)
def test_every_argument_is_told_or_is_harmless(function):
    """Whoever adds an argument says here which it is."""
    told, later = set(TOLD[function]), set(APPLIED_LATER.get(function, ()))
    known = told | later | HARMLESS | REFUSED.get(function, set())
    assert set(inspect.signature(function).parameters) == known


@pytest.mark.parametrize(
    ("function", "argument"),
    [(function, argument) for function, told in TOLD.items() for argument in told],
    ids=named,
)
def test_another_value_is_another_run(function, argument, tmp_path):
    """The refusal names what differs, what it was and what it is."""
    value, what = TOLD[function][argument]
    call = {"checkpoint": tmp_path / "run.sqlite", "checkpoint_key": "one", **CALLS[function]}
    if argument in ("model", "estimator"):
        # Whoever gives a key answers for the model.
        call["checkpoint_key"] = None
    function(**call)
    with pytest.raises(
        CheckpointError, match=rf"belongs to another run: (.*; )?{what} was .* and is "
    ):
        function(**(call | {argument: value}))


OF_THE_TEST = {
    "ties": ("drop", "ties"),
    "interval": ("asymptotic", "interval"),
    "validation": ((X, Y), "the validation rows"),
    "validation_fraction": (0.4, "validation_fraction"),
    "random_model": (random_model, "random_model"),
}
"""The same for the options of the sign test."""


def test_every_option_of_the_test_is_told():
    assert set(inspect.signature(sfit.SignTest).parameters) == set(OF_THE_TEST)


@pytest.mark.parametrize("option", OF_THE_TEST)
def test_another_option_of_the_test_is_another_run(option, tmp_path):
    """Most serve the choice of beta; the level is one at which some beta is small enough."""
    value, what = OF_THE_TEST[option]
    kept = {"checkpoint": tmp_path / "run.sqlite", "checkpoint_key": "one"}
    call = CALLS[sfit.feature_significance] | kept | {"beta": "auto", "alpha": 0.4}
    sfit.feature_significance(**call)
    with pytest.raises(
        CheckpointError, match=rf"belongs to another run: (.*; )?{what} was .* and is "
    ):
        sfit.feature_significance(**call, test=sfit.SignTest(**{option: value}))


@pytest.mark.parametrize(
    ("function", "argument"),
    [(function, argument) for function, later in APPLIED_LATER.items() for argument in later],
    ids=named,
)
def test_what_is_applied_later_needs_no_run_of_its_own(function, argument, tmp_path):
    """A checkpoint of the plain call answers as a run without one does."""
    kept = {"checkpoint": tmp_path / "run.sqlite"}
    changed = CALLS[function] | {argument: APPLIED_LATER[function][argument]}
    plain = function(**CALLS[function], **kept)
    found, expected = function(**changed, **kept), function(**changed)
    # Of LOCO the tests, whose settings are no part of them; they may hold NaN, which is not itself.
    assert repr(getattr(found, "tests", found)) == repr(getattr(expected, "tests", expected))
    if argument != "max_beta":
        assert found != plain
