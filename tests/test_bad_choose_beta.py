"""Bad arguments of `choose_beta`, and random models that cannot be used."""

import numpy as np
import pytest
from bad_input import (
    BAD_COUNTS,
    BAD_FLAGS,
    BAD_JOBS,
    BAD_LEVELS,
    BAD_SEEDS,
    CLASS,
    Recorder,
    Silent,
    X,
    Y,
    assert_refused,
    case,
    each,
)
from sklearn.linear_model import LinearRegression, LogisticRegression

import sfit
from sfit.exceptions import ArgumentError, BetaError, DataError, ModelError

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
        (lambda rng: LogisticRegression().fit(X, CLASS), DataError, ["classes"]),
        (lambda rng: lambda rows: np.full(len(rows), np.nan), ModelError, ["not finite"]),
    ],
    ids=["none", "unfitted", "raises", "arity", "other-task", "nan"],
)
def test_random_models_that_cannot_be_used(random_model, error, words):
    """A drawn model is checked as the tested model is."""
    call = lambda: sfit.choose_beta(Recorder(), X, Y, random_model=random_model)  # noqa: E731
    assert_refused(call, error, words)


def test_no_sufficient_beta_shows_the_curve():
    """The error states the rates and the smallest sufficient beta."""
    call = lambda: sfit.choose_beta(  # noqa: E731
        Recorder(), X, Y, random_model=lambda rng: lambda rows: rows[:, 0], n_models=3
    )
    assert_refused(call, BetaError, ["max_beta=0.1", "0.333 at 0", "smallest sufficient", "Raise"])


@pytest.mark.parametrize(
    ("max_beta", "curve"),
    [(0, "the share is 0.333 at 0. "), (0.0005, "0.333 at 0.0001, 0.333 at 0.0005. ")],
)
def test_the_curve_ends_at_max_beta(max_beta, curve):
    """Betas beyond max_beta are not listed."""
    call = lambda: sfit.choose_beta(  # noqa: E731
        Recorder(),
        X,
        Y,
        random_model=lambda rng: lambda rows: rows[:, 0],
        n_models=3,
        max_beta=max_beta,
    )
    assert_refused(call, BetaError, [curve])
