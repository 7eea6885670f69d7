"""The simulated settings of the study of power and size: shapes, outcomes, models.

A row has one feature under test and another one. The column of the feature holds the *shape* of its
effect (a line, a step, a hinge, a dummy), so the model is linear in its columns behind a link, and
its restricted function is known exactly. With the columns frozen at their means, the base is the
mean prediction, or for a link the prediction at the mean.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from sfit._array import Array

Rng = np.random.Generator
Shape = Callable[[Rng, int], Array]
Outcome = Callable[[Rng, Array, Array], Array]
"""(rng, linear predictor, shape) -> y."""

OTHER = 0.7
"""Coefficient of the other feature, which is standard normal."""


# --- shapes -----------------------------------------------------------------------------


def line(rng: Rng, n: int) -> Array:
    """A standard normal feature."""
    return rng.normal(size=n)


def dummy(share: float) -> Shape:
    """1 in this share of the rows."""
    return lambda rng, n: (rng.random(n) < share).astype(float)


def hinge(share: float) -> Shape:
    """How far a uniform feature lies above its (1 - share) quantile, from 0 to 1."""
    return lambda rng, n: np.maximum(rng.random(n) - (1 - share), 0) / share


def square(rng: Rng, n: int) -> Array:
    """A centred chi-squared feature."""
    return rng.normal(size=n) ** 2 - 1


def skewed(rng: Rng, n: int) -> Array:
    """A centred exponential feature."""
    return rng.exponential(size=n) - 1


def three_values(rng: Rng, n: int) -> Array:
    """-1, 0 or 1."""
    return rng.integers(-1, 2, size=n).astype(float)


def cauchy(rng: Rng, n: int) -> Array:
    """A feature without a mean."""
    return rng.standard_cauchy(n)


def shifted(rng: Rng, n: int) -> Array:
    """A normal feature with mean 1."""
    return rng.normal(1.0, size=n)


# --- outcomes ---------------------------------------------------------------------------


def normal(rng: Rng, eta: Array, shape: Array) -> Array:
    """Standard normal noise."""
    return eta + rng.normal(size=eta.shape)


def cauchy_noise(rng: Rng, eta: Array, shape: Array) -> Array:
    """Noise without a mean."""
    return eta + rng.standard_cauchy(eta.shape)


def laplace(rng: Rng, eta: Array, shape: Array) -> Array:
    """Double exponential noise with variance 1."""
    return eta + rng.laplace(scale=np.sqrt(0.5), size=eta.shape)


def student(rng: Rng, eta: Array, shape: Array) -> Array:
    """Noise of Student's t with 3 degrees of freedom, variance 1."""
    return eta + rng.standard_t(3, size=eta.shape) / np.sqrt(3)


def skewed_noise(rng: Rng, eta: Array, shape: Array) -> Array:
    """Exponential noise with mean 0."""
    return eta + rng.exponential(size=eta.shape) - 1


def outliers(rng: Rng, eta: Array, shape: Array) -> Array:
    """Normal noise; in 2 % of the rows its standard deviation is 20."""
    sd = np.where(rng.random(eta.shape) < 0.02, 20.0, 1.0)
    return eta + sd * rng.normal(size=eta.shape)


def heteroscedastic(rng: Rng, eta: Array, shape: Array) -> Array:
    """The standard deviation of the noise grows with the feature."""
    return eta + np.exp(0.5 * shape) * rng.normal(size=eta.shape)


def uneven(rng: Rng, eta: Array, shape: Array) -> Array:
    """The standard deviation of the noise grows with the linear predictor."""
    return eta + np.exp(0.7 * eta) * rng.normal(size=eta.shape)


def lognormal(rng: Rng, eta: Array, shape: Array) -> Array:
    """A positive outcome with a heavy right tail."""
    return np.exp(eta + rng.normal(size=eta.shape))


def rounded(rng: Rng, eta: Array, shape: Array) -> Array:
    """Whole numbers: many ties."""
    return np.round(normal(rng, eta, shape))


def counts(rng: Rng, eta: Array, shape: Array) -> Array:
    """Poisson counts around exp(eta)."""
    return rng.poisson(np.exp(eta)).astype(float)


def zero_inflated(rng: Rng, eta: Array, shape: Array) -> Array:
    """Zero in 60 % of the rows, otherwise a gamma amount with mean exp(eta): the effect is on the amount."""
    amount = rng.gamma(2.0, np.exp(eta) / 2.0)
    return np.where(rng.random(eta.shape) < 0.6, 0.0, amount)


def bounded(rng: Rng, eta: Array, shape: Array) -> Array:
    """A share between 0 and 1."""
    return expit(eta + rng.normal(size=eta.shape))


def positives(share: float) -> Outcome:
    """0 or 1; 1 in about this share of the rows."""
    centre = np.log(share / (1 - share))

    def drawn(rng: Rng, eta: Array, shape: Array) -> Array:
        return (rng.random(eta.shape) < expit(eta + centre)).astype(int)

    return drawn


# --- models -----------------------------------------------------------------------------


@dataclass(frozen=True)
class LinearModel:
    """A known function of the columns: linear, behind a link."""

    coefficients: tuple[float, ...]
    intercept: float = 0.0
    link: str = "identity"
    """Or `"log"`, or `"logit"`: then it predicts the probabilities of both classes."""

    def __call__(self, X: Array) -> Array:
        """Predict."""
        eta = np.asarray(X) @ np.asarray(self.coefficients) + self.intercept
        if self.link == "logit":
            return np.column_stack([expit(-eta), expit(eta)])
        return np.exp(eta) if self.link == "log" else eta


@dataclass(frozen=True)
class Sample:
    """Repetitions of one setting, stacked: rows, a known model, and which columns are tested."""

    model: LinearModel
    X: Array
    y: Array
    repetition: Array
    """Of each row."""
    loss: str
    reference: tuple[float, ...]
    n_tested: int
    """The first so many columns; the others only add to the outcome."""


# --- power ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """One feature that matters, another one, and an outcome."""

    shape: Shape
    outcome: Outcome
    strength: float
    """Effect of the shape at 400 rows; it shrinks with the square root of the rows."""
    loss: str = "absolute_error"
    link: str = "identity"
    intercept: float = 0.0
    """Of the model: where the outcome's own centre lies, on the scale of the link."""
    mean: float = 0.0
    """Of the shape."""

    def draw(self, n: int, repetitions: int, rng: Rng) -> Sample:
        """Repetitions of `n` rows each."""
        rows = n * repetitions
        strength = self.strength * float(np.sqrt(400 / n))
        shape, other = self.shape(rng, rows), rng.normal(size=rows)
        eta = strength * shape + OTHER * other
        model = LinearModel((strength, OTHER), self.intercept, self.link)
        return Sample(
            model,
            np.column_stack([shape, other]),
            self.outcome(rng, eta, shape),
            np.repeat(np.arange(repetitions), n),
            self.loss,
            (self.mean, 0.0),
            n_tested=1,
        )


def _rare(share: float, strength: float) -> Setting:
    """A classifier of outcomes of which this share is positive."""
    centre = float(np.log(share / (1 - share)))
    return Setting(line, positives(share), strength, "log_loss", "logit", centre)


POWER: dict[str, Setting] = {
    "linear .15": Setting(line, normal, 0.15),
    "linear .3": Setting(line, normal, 0.3),
    "linear .2, squared loss": Setting(line, normal, 0.2, "squared_error"),
    "step on 5 % of the rows": Setting(dummy(0.05), normal, 0.9, mean=0.05),
    "step on 20 % of the rows": Setting(dummy(0.2), normal, 0.5, mean=0.2),
    "hinge on 10 %": Setting(hinge(0.1), normal, 1.3, mean=0.05),
    "dummy 2 %": Setting(dummy(0.02), normal, 1.5, mean=0.02),
    "dummy 10 %": Setting(dummy(0.1), normal, 0.75, mean=0.1),
    "y positive in 3 %, log loss": _rare(0.03, 0.75),
    "y positive in 10 %, log loss": _rare(0.1, 0.55),
    "Cauchy noise": Setting(line, cauchy_noise, 0.4),
    "lognormal y": Setting(line, lognormal, 0.3, link="log"),
    "heteroscedastic": Setting(line, heteroscedastic, 0.3),
    "whole numbers (ties)": Setting(line, rounded, 0.25),
    "Poisson counts, Poisson loss": Setting(line, counts, 0.2, "poisson", "log"),
    "zero-inflated": Setting(line, zero_inflated, 0.5, link="log", intercept=float(np.log(0.4))),
}
"""The first thirteen are named in STATISTICS.md, without formulas; three are ours."""


# --- statistics for regression ----------------------------------------------------------


@dataclass(frozen=True)
class Regression:
    """One feature, and an outcome whose regression on it is fitted."""

    shape: Shape
    outcome: Outcome
    strength: float

    def draw(self, n: int, rng: Rng) -> tuple[Array, Array]:
        """The feature and the outcome of `n` rows."""
        shape = self.shape(rng, n)
        eta = self.strength * shape + OTHER * rng.normal(size=n)
        return shape, self.outcome(rng, eta, shape)


REGRESSIONS: dict[str, Regression] = {
    "double exponential noise": Regression(line, laplace, 0.17),
    "Student's t noise, 3 degrees of freedom": Regression(line, student, 0.17),
    "exponential noise": Regression(line, skewed_noise, 0.17),
    "2 % outliers of 20 sd": Regression(line, outliers, 0.2),
    "variance grows with the mean": Regression(line, uneven, 0.2),
    "exponential feature": Regression(skewed, normal, 0.17),
    "chi-squared feature": Regression(square, normal, 0.12),
    "step on 30 %, Student's t noise": Regression(dummy(0.3), student, 0.37),
    "dummy 5 %, exponential noise": Regression(dummy(0.05), skewed_noise, 0.8),
    "zero-inflated y, effect on the amount": Regression(line, zero_inflated, 0.42),
    "counts": Regression(line, counts, 0.17),
    "a share between 0 and 1": Regression(line, bounded, 0.2),
}


def least_squares(x: Array, y: Array) -> Callable[[Array], Array]:
    """The line fitted to these rows."""
    slope, centre = np.polyfit(x, y, 1)
    return lambda new: slope * new + centre


def bin_means(x: Array, y: Array, n_bins: int = 10) -> Callable[[Array], Array]:
    """The mean outcome in each of at most `n_bins` quantile bins of the feature."""
    edges = np.unique(np.quantile(x, np.arange(1, n_bins) / n_bins))
    bins = np.searchsorted(edges, x, side="left")
    totals = np.bincount(bins, y, minlength=len(edges) + 1)
    n = np.bincount(bins, minlength=len(edges) + 1)
    means = np.where(n > 0, totals / np.maximum(n, 1), y.mean())
    return lambda new: means[np.searchsorted(edges, new, side="left")]


def nearest_row(x: Array, y: Array) -> Callable[[Array], Array]:
    """The outcome of the nearest of these rows: as over-fitted as a function can be."""
    order = np.argsort(x)
    x, y = x[order], y[order]
    return lambda new: y[np.searchsorted((x[1:] + x[:-1]) / 2, new)]


FITS: dict[str, Callable[[Array, Array], Callable[[Array], Array]]] = {
    "line": least_squares,
    "bin means": bin_means,
}


# --- null hypotheses --------------------------------------------------------------------

N_NULL = 10
"""Columns of a null setting that are independent of the outcome."""
NULL_STRENGTH = 0.05
"""What the model makes of each: a trace, as a fitted model does."""


@dataclass(frozen=True)
class Null:
    """Ten columns that the model uses, though they are independent of the outcome."""

    shape: Shape
    outcome: Outcome
    loss: str = "absolute_error"
    link: str = "identity"
    intercept: float = 0.0
    reference: float = 0.0
    """Of the ten columns."""
    overfitted: int = 0
    """Training rows from whose nearest row each column predicts; 0: the column itself."""

    def draw(self, n: int, repetitions: int, rng: Rng) -> Sample:
        """Repetitions of `n` rows each."""
        rows = n * repetitions
        other = rng.normal(size=rows)
        # Where the spread of the outcome depends on a feature, it is one that is not tested.
        y = self.outcome(rng, OTHER * other, other)
        columns = self.shape(rng, rows * N_NULL).reshape(rows, N_NULL)
        if self.overfitted:
            columns = np.column_stack([self._memory(column, rng) for column in columns.T])
        strength = 1.0 if self.overfitted else NULL_STRENGTH
        coefficients = (*(strength,) * N_NULL, OTHER)
        return Sample(
            LinearModel(coefficients, self.intercept, self.link),
            np.column_stack([columns, other]),
            y,
            np.repeat(np.arange(repetitions), n),
            self.loss,
            (*(self.reference,) * N_NULL, 0.0),
            n_tested=N_NULL,
        )

    def _memory(self, column: Array, rng: Rng) -> Array:
        """What the outcomes of training rows, independent of the column, make of it."""
        x = self.shape(rng, self.overfitted)
        eta = OTHER * rng.normal(size=self.overfitted)
        return nearest_row(x, self.outcome(rng, eta, eta))(column)


def _rare_null(share: float, shape: Shape, reference: float) -> Null:
    centre = float(np.log(share / (1 - share)))
    return Null(shape, positives(share), "log_loss", "logit", centre, reference)


NULLS: dict[str, Null] = {
    "normal": Null(line, normal),
    # On average the model is right; at the reference it is not.
    "mean 1, frozen at 0": Null(shifted, normal, intercept=-NULL_STRENGTH * N_NULL),
    "skewed features and noise": Null(skewed, skewed_noise),
    "Cauchy features": Null(cauchy, normal),
    "Cauchy noise": Null(line, cauchy_noise),
    "ties in features and outcome": Null(three_values, rounded),
    "dummies of 1 %": Null(dummy(0.01), normal, reference=0.01),
    "3 % positives, log loss": _rare_null(0.03, line, 0.0),
    "3 % positives, dummies of 2 %": _rare_null(0.03, dummy(0.02), 0.02),
    "heteroscedastic in another feature": Null(line, heteroscedastic),
    "lognormal y": Null(skewed, lognormal, link="log"),
    "zero-inflated y": Null(line, zero_inflated, "squared_error", "log", float(np.log(0.4))),
    "over-fitted: the nearest of 100 training rows": Null(line, normal, overfitted=100),
}
