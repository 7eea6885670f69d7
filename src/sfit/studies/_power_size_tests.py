"""The tests that the study of power and size compares, each a function from a task to decisions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

import sfit
from sfit._array import Array
from sfit._for_studies import adjust
from sfit.exceptions import BetaError

ALPHA = 0.05
N_SHUFFLES = 50
"""Permutations of each feature under permutation importance: hidimstat's default."""
N_IMPORTANCE = 1_000
"""Rows of one data set that permutation importance uses at most: it predicts each 50 times per feature."""


@dataclass(frozen=True)
class Task:
    """A fitted model, held-out rows, and how to test."""

    model: Any
    X: Array
    y: Array
    loss: str
    reference: Any
    seed: int
    repetition: Array | None = None
    """Of each row, where several data sets are stacked."""
    train: tuple[Array, Array] | None = None
    correction: str | None = None
    n_permutations: int | str = "auto"


Test = Callable[[Task], Array]
"""Whether each feature of each repetition is significant."""


def _significant(task: Task, **options: Any) -> Array:
    """The decisions of `feature_significance`, (repetitions, features)."""
    arguments = {
        "loss": task.loss,
        "reference": task.reference,
        "correction": task.correction,
        "alpha": ALPHA,
        # A known function is cheap: it predicts every row, and is not tabulated.
        "fast": not callable(task.model),
    }
    with warnings.catch_warnings():
        # Hopeless sign tests warn; here their rates say it.
        warnings.simplefilter("ignore")
        result = sfit.feature_significance(
            task.model, task.X, task.y, by=task.repetition, **(arguments | options)
        )
    return result.table["significant"].to_numpy(bool).reshape(-1, task.X.shape[1])


def sign(beta: float) -> Test:
    """The sign test of the paper."""
    return lambda task: _significant(task, beta=beta)


def sign_auto(task: Task) -> Array:
    """The sign test at the beta that random copies of the model ask for on the training rows.

    Random copies know nothing about these rows, so no test row is spent. Where no beta up to 0.1 is
    enough, nothing is significant.
    """
    try:
        test = sfit.SignTest(validation=task.train)
        return _significant(task, test=test, beta="auto", random_state=task.seed)
    except BetaError:
        return np.zeros((1, task.X.shape[1]), dtype=bool)


def permutation(statistic: str) -> Test:
    """The permutation test."""

    def decide(task: Task) -> Array:
        test = sfit.PermutationTest(statistic=statistic, n_permutations=task.n_permutations)
        return _significant(task, test=test, random_state=task.seed)

    return decide


def averaged(task: Task) -> Array:
    """The permutation test with hidden features averaged over 100 training rows."""
    assert task.train is not None  # noqa: S101 - fitted models only
    reference = sfit.Average(task.train[0], n_rows=100)
    return _significant(task, test="permutation", reference=reference, random_state=task.seed)


def masking(task: Task) -> Array:
    """As AICO does: the sign test of loss(feature hidden) - loss(nothing hidden), in the full model."""
    return _significant(task, beta=0.0, given="rest")


def importance(task: Task) -> Array:
    """Permutation importance with hidimstat's t-test over the permutations."""
    if task.repetition is None:
        return _importance(task, slice(N_IMPORTANCE))[None]
    parts = [task.repetition == one for one in np.unique(task.repetition)]
    return np.stack([_importance(task, rows) for rows in parts])


def _importance(task: Task, rows: Any) -> Array:
    from hidimstat import PFI

    known = callable(task.model)
    measure = PFI(
        estimator=_Known(task.model, task.X.shape[1]) if known else task.model,
        method="predict_proba" if task.loss == "log_loss" else "predict",
        loss=MEAN_LOSSES[task.loss],
        n_permutations=N_SHUFFLES,
        random_state=task.seed,
    )
    X, y = task.X[rows], task.y[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        measure.fit(X, y)
        measure.importance(X, y)
    p_values = np.nan_to_num(measure.pvalues_, nan=1.0)
    return np.asarray(adjust(p_values, task.correction)) < ALPHA


MEAN_LOSSES: dict[str, Callable[[Array, Array], float]] = {
    "absolute_error": lambda y, g: float(np.mean(np.abs(y - g))),
    "squared_error": lambda y, g: float(np.mean((y - g) ** 2)),
    # But for a term of y alone.
    "poisson": lambda y, g: float(np.mean(2 * (g - y * np.log(g)))),
    "log_loss": lambda y, g: float(-np.mean(np.log(np.maximum(g[np.arange(len(y)), y], 1e-15)))),
}
"""scikit-learn's take ten times as long."""


class _Known(BaseEstimator):  # type: ignore[misc]
    """A known function as hidimstat wants it: an estimator that says it is fitted."""

    def __init__(self, function: Any, n_features_in_: int) -> None:
        self.function = function
        self.n_features_in_ = n_features_in_

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Array, y: Array) -> _Known:
        """Do nothing: the function is known."""
        return self

    def predict(self, X: Array) -> Array:
        """What the function predicts."""
        return np.asarray(self.function(X))

    predict_proba = predict


SIMULATED: dict[str, Test] = {
    "sign, beta 0": sign(0.0),
    "sign, beta .01": sign(0.01),
    "permutation": permutation("auto"),
    "permutation, loss": permutation("loss"),
    "masking": masking,
    "permutation importance": importance,
}
"""A known function has no parameters to randomise: beta "auto" is left to fitted models."""

FITTED: dict[str, Test] = {
    "sign, beta 0": sign(0.0),
    "sign, beta .01": sign(0.01),
    "sign, beta auto": sign_auto,
    "permutation": permutation("auto"),
    "permutation, averaged": averaged,
    "masking": masking,
    "permutation importance": importance,
}


def available(tests: dict[str, Test]) -> dict[str, Test]:
    """Those whose library is installed."""
    missing = set() if find_spec("hidimstat") else {"permutation importance"}
    return {name: test for name, test in tests.items() if name not in missing}
