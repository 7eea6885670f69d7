"""Small data: forward chaining beside a half split and two ways of pooling K folds that fail."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import sfit
from sfit.studies._dependence_settings import SFIT
from sfit.studies._dependence_tests import ALPHA, N_PERMUTATIONS
from sfit.studies._jobs import Answer

Array = npt.NDArray[Any]
Rng = np.random.Generator

N_FOLDS = 5
POOLED = ("K folds, predictions pooled", "K folds, p-values combined")
TRUE, NULL = 0, 1
"""Columns: y depends on the first, not on the others."""


class Regressogram(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """The sum of one step function per column, with steps at its quintiles, by least squares."""

    def fit(self, X: Array, y: Array) -> Regressogram:
        """Find the steps and their heights."""
        self.edges_ = np.quantile(X, (0.2, 0.4, 0.6, 0.8), axis=0)
        self.heights_ = np.linalg.lstsq(self._steps(X), y - y.mean())[0]
        self.mean_ = y.mean()
        return self

    def _steps(self, X: Array) -> Array:
        bins = (np.asarray(X)[:, None, :] > self.edges_).sum(axis=1)
        return (bins[:, :, None] == np.arange(5)).reshape(len(bins), -1).astype(float)

    def predict(self, X: Array) -> Array:
        """The heights of the steps of each row."""
        return np.asarray(self.mean_ + self._steps(X) @ self.heights_)


ESTIMATORS: dict[str, tuple[Callable[[], Any], int, float]] = {
    "least squares, 20 columns": (LinearRegression, 20, 0.3),
    "tree": (lambda: DecisionTreeRegressor(max_depth=3, random_state=0), 2, 0.6),
    "regressogram": (Regressogram, 2, 0.45),
}
"""How to make it, its columns, and the coefficient of the true one."""
EXPECTED = {
    "least squares, 20 columns": (".049 / .61", ".048 / .65"),
    "tree": (".037 / .88", ".035 / .83"),
    "regressogram": (".053 / .80", ".041 / .70"),
}
"""At 100 rows, size and power: forward chaining, half split."""


def draw(name: str, n: int, rng: Rng) -> tuple[Array, Array]:
    """Rows and outcomes."""
    _, columns, effect = ESTIMATORS[name]
    X = rng.normal(size=(n, columns))
    return X, effect * X[:, TRUE] + rng.normal(size=n)


def _options(n_columns: int, seed: int) -> dict[str, Any]:
    """The first two columns are tested; the others are one group, which costs one test."""
    options: dict[str, Any] = {"test": sfit.PermutationTest(n_permutations=N_PERMUTATIONS)}
    if n_columns > len((TRUE, NULL)):
        options["groups"] = {"others": [f"x{column}" for column in range(2, n_columns)]}
    return options | {"loss": "squared_error", "alpha": ALPHA, "random_state": seed}


def _decisions(result: sfit.SFITResult) -> Array:
    """Whether the true column and the null column are significant."""
    significant = dict(zip(result.table["term"], result.table["significant"], strict=True))
    return np.array([bool(significant["x0",]), bool(significant["x1",])])


def chained(name: str, X: Array, y: Array, seed: int) -> Array:
    """Forward chaining: `cross_significance`."""
    result = sfit.cross_significance(
        ESTIMATORS[name][0](), X, y, n_folds=N_FOLDS, reference="mean", **_options(X.shape[1], seed)
    )
    return _decisions(result)


def half_split(name: str, X: Array, y: Array, seed: int) -> Array:
    """Fit on the first half of the rows, test on the second."""
    half = len(y) // 2
    fitted = ESTIMATORS[name][0]().fit(X[:half], y[:half])
    result = sfit.feature_significance(
        fitted,
        X[half:],
        y[half:],
        reference=X[:half].mean(axis=0),
        fast=False,
        **_options(X.shape[1], seed),
    )
    return _decisions(result)


# --- pooling K folds --------------------------------------------------------------------


def _predictions(name: str, X: Array, y: Array, fold: Array) -> Array:
    """What the model of the *other* folds predicts from each column alone, (2, rows)."""
    predictions = np.empty((2, len(y)))
    for one in range(N_FOLDS):
        test = fold == one
        fitted = ESTIMATORS[name][0]().fit(X[~test], y[~test])
        for place, column in enumerate((TRUE, NULL)):
            rows = np.tile(X[~test].mean(axis=0), (test.sum(), 1))
            rows[:, column] = X[test, column]
            predictions[place, test] = fitted.predict(rows)
    return predictions


def _draws(y: Array, g: Array, rng: Rng) -> tuple[float, Array]:
    """The sum of products, which orders permutations as the squared loss does, and its copies."""
    order = np.argsort(rng.random((N_PERMUTATIONS, len(y))), axis=1)
    outcomes, predictions = y - y.mean(), g - g.mean()
    return float(outcomes @ predictions), predictions[order] @ outcomes


def _p_value(T: float, copies: Array, rng: Rng) -> float:
    """Ties count in part, at random; p is then uniform for a fixed model."""
    tolerance = 1e-10 * (1 + np.abs(copies).max())
    above = np.sum(copies > T + tolerance)
    tied = np.sum(np.abs(copies - T) <= tolerance)
    return float((above + rng.random() * (1 + tied)) / (N_PERMUTATIONS + 1))


def pooled(name: str, X: Array, y: Array, seed: int) -> dict[str, Array]:
    """Two ways to pool K folds as if each had a fixed model that knows nothing of the others.

    One adds the statistics of the folds, and permutes within each fold. The other combines the
    p-values of the folds by Stouffer's method, as if they were independent.
    """
    rng = np.random.default_rng([seed, 2])
    fold = np.arange(len(y)) % N_FOLDS
    sums, z = [], []
    for g in _predictions(name, X, y, fold):
        parts = [_draws(y[fold == k], g[fold == k], rng) for k in range(N_FOLDS)]
        T, copies = sum(part[0] for part in parts), np.sum([part[1] for part in parts], axis=0)
        sums.append(_p_value(T, copies, rng))
        z.append(norm.isf([_p_value(*part, rng) for part in parts]).sum() / np.sqrt(N_FOLDS))
    return {POOLED[0]: np.array(sums) <= ALPHA, POOLED[1]: norm.sf(z) <= ALPHA}


def decided(name: str, n: int, seed: list[int]) -> Answer:
    """Whether each test finds the true column and the null column of one data set."""
    X, y = draw(name, n, np.random.default_rng(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        valid = {key: test(name, X, y, seed[-1]) for key, test in VALID.items()}
    answers = valid | pooled(name, X, y, seed[-1])
    return {key: decisions[None] for key, decisions in answers.items()}


def decided_pooled(name: str, n: int, seed: list[int], count: int) -> Answer:
    """Whether the pooled recipes reject the null column, in several data sets: they are cheap."""
    rng = np.random.default_rng(seed)
    answers = [pooled(name, *draw(name, n, rng), seed[-1] + one) for one in range(count)]
    return {key: np.array([[bool(one[key][NULL])] for one in answers]) for key in POOLED}


VALID = {SFIT: chained, "half split": half_split}
