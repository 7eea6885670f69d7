"""Formulas of losses: from outcomes and predictions to one double per row.

Regression losses take y and predictions of shape (m,) or (m, outputs); outputs are averaged.
Classification losses take class indices and probabilities, or scores, of shape (m, classes).
Losses of distributions take y of shape (m,) and predictions of shape (m, members or levels).

No loss is negative, and each increases with the error down to the last digits: at beta = 0 the
last bit decides. So sums whose terms cancel near the minimum are replaced there by series.
"""

from __future__ import annotations

import numpy as np
from scipy.special import huber as scipy_huber
from scipy.special import xlogy

from sfit._array import Array

NEAR = 0.25
"""Relative errors below this are near the minimum of a deviance."""


def absolute_error(y: Array, prediction: Array) -> Array:
    """Absolute error, section 2.1's choice for regression."""
    gap = _gap(y, prediction)
    np.abs(gap, out=gap)
    return _mean_over_outputs(gap)


def squared_error(y: Array, prediction: Array) -> Array:
    """Squared error."""
    gap = _gap(y, prediction)
    np.square(gap, out=gap)
    return _mean_over_outputs(gap)


def pinball(quantile: float, y: Array, prediction: Array) -> Array:
    """Quantile loss: `quantile` per unit below the outcome, 1 - `quantile` per unit above it."""
    return _mean_over_outputs(_pinball(_gap(y, prediction), quantile))


def huber(delta: float, y: Array, prediction: Array) -> Array:
    """Half the squared error up to `delta`, and linear beyond."""
    return _mean_over_outputs(scipy_huber(delta, _gap(y, prediction)))


def poisson(y: Array, prediction: Array) -> Array:
    """Poisson deviance; unlike the negative log-likelihood, it is never negative."""
    y, prediction, error = _positive(y, prediction)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        far = xlogy(y, y / prediction) - y + prediction
        near = y * _minus_log1p((prediction - y) / y)
    deviance = 2 * np.where(error < NEAR, near, np.maximum(far, 0.0))
    return _mean_over_outputs(np.where(prediction > 0, deviance, np.nan))


def gamma(y: Array, prediction: Array) -> Array:
    """Gamma deviance: it depends on the ratio of outcome and prediction only."""
    y, prediction, error = _positive(y, prediction)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = y / prediction
        far = ratio - 1 - np.log(ratio)
        near = _minus_log1p((y - prediction) / prediction)
    deviance = 2 * np.where(error < NEAR, near, far)
    return _mean_over_outputs(np.where(prediction > 0, deviance, np.nan))


def tweedie(power: float, y: Array, prediction: Array) -> Array:
    """Tweedie deviance of a power between 1 and 2: zeros, and a continuous positive part."""
    y, prediction, error = _positive(y, prediction)
    a = 2 - power
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d = (y - prediction) / prediction
        curved = np.where(error < NEAR, _power_series(d, a), (1 + d) ** a - 1 - a * d)
        deviance = -2 / ((power - 1) * a) * curved * prediction**a
    return _mean_over_outputs(np.where(prediction > 0, np.maximum(deviance, 0.0), np.nan))


def crps(y: Array, prediction: Array) -> Array:
    """Continuous ranked probability score of an ensemble, whose members are equally likely.

    It is the area between two distribution functions, squared: the ensemble's, a staircase, and
    the step at y. Between two neighbouring members that area has one piece on either side of y. No
    piece is negative, so nothing cancels, unlike in E|X - y| - E|X - X'| / 2.
    """
    members = np.sort(np.asarray(_as_columns(prediction), dtype=np.float64), axis=1)
    y = np.asarray(y, dtype=np.float64)[:, None]
    n = members.shape[1]
    below = np.arange(1, n) / n
    lower, upper = members[:, :-1], members[:, 1:]
    middle = np.clip(y, lower, upper)
    outside = np.maximum(members[:, :1] - y, 0.0) + np.maximum(y - members[:, -1:], 0.0)
    pieces = (middle - lower) * np.square(below), (upper - middle) * np.square(1 - below)
    return _sum(np.concatenate([outside, *pieces], axis=1))


def crps_of_quantiles(levels: Array, y: Array, prediction: Array) -> Array:
    """Continuous ranked probability score from quantiles: twice their mean pinball loss."""
    gap = _gap(np.asarray(y)[:, None], _as_columns(prediction))
    return 2 * _mean_over_outputs(_pinball(gap, levels))


def log_loss(y: Array, prediction: Array) -> Array:
    """Cross entropy with clipped probabilities, section 2.1's choice for classification."""
    chosen = prediction[np.arange(len(y)), y]
    # Clip at the model's precision, then compute in doubles: the last bit of a single-precision
    # logarithm may depend on the position of the number in its array.
    clipped = np.clip(chosen, np.finfo(chosen.dtype).eps, 1.0)
    return -np.log(np.asarray(clipped, dtype=np.float64))


def brier(y: Array, prediction: Array) -> Array:
    """Squared distance to the one-hot observed class; for two classes, of the second only."""
    if prediction.shape[1] == 2:
        return np.square(prediction[:, 1] - y)
    miss = np.array(prediction, dtype=np.float64)
    miss[np.arange(len(y)), y] -= 1.0
    return _sum(np.square(miss))


def zero_one(y: Array, prediction: Array) -> Array:
    """1 if the most probable class is not the observed one, else 0."""
    return np.asarray(prediction.argmax(axis=1) != y, dtype=np.float64)


def hinge(y: Array, prediction: Array) -> Array:
    """By how much the score of the observed class fails to exceed all others by 1.

    Two classes have the scores -f/2 and f/2, for a decision value f: the loss is then 1 - f or
    1 + f, and zero if that is negative. Several classes are compared as by Crammer and Singer.
    """
    return hinge_of_classes(prediction)[np.arange(len(y)), y]


def hinge_of_classes(scores: Array) -> Array:
    """The hinge loss of each row, for each class that may be observed."""
    scores = np.asarray(scores, dtype=np.float64)
    best = scores.argmax(axis=1)[:, None]
    others = np.repeat(np.take_along_axis(scores, best, axis=1), scores.shape[1], axis=1)
    without_best = np.array(scores)
    np.put_along_axis(without_best, best, -np.inf, axis=1)
    np.put_along_axis(others, best, without_best.max(axis=1, keepdims=True), axis=1)
    return np.maximum(1 - (scores - others), 0.0)


def _gap(y: Array, prediction: Array) -> Array:
    """The target minus its prediction, in doubles.

    Two single-precision predictions may differ by less than the rounding error of a large y in
    single precision; their losses must still differ.
    """
    return np.subtract(y, prediction, dtype=np.float64)


def _pinball(gap: Array, quantile: float | Array) -> Array:
    return np.where(gap >= 0, quantile * gap, (quantile - 1) * gap)


def _positive(y: Array, prediction: Array) -> tuple[Array, Array, Array]:
    """Outcomes and predictions in doubles, and the larger of their relative errors."""
    y, prediction = np.asarray(y, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = np.abs(y - prediction) / np.minimum(y, prediction)
    return y, prediction, error


def _minus_log1p(d: Array) -> Array:
    """``d - log(1 + d)`` for a small d, whose first digits would cancel.

    With t = d / (2 + d), log(1 + d) = 2 (t + t^3/3 + t^5/5 + ...) and d - 2 t = d t.
    """
    t = d / (2 + d)
    square = np.square(t)
    series = np.zeros_like(t)
    for k in range(23, 1, -2):
        series = 1 / k + square * series
    return d * t - 2 * t * square * series


def _power_series(d: Array, a: float) -> Array:
    """``(1 + d)^a - 1 - a d`` for a small d, by the binomial series."""
    coefficients, coefficient = [], a
    for k in range(2, 28):
        coefficient *= (a - k + 1) / k
        coefficients.append(coefficient)
    series = np.zeros_like(d)
    for coefficient in reversed(coefficients):
        series = coefficient + d * series
    return np.square(d) * series


def _as_columns(prediction: Array) -> Array:
    return prediction[:, None] if prediction.ndim == 1 else prediction


def _mean_over_outputs(losses: Array) -> Array:
    return losses if losses.ndim == 1 else _sum(losses) / losses.shape[1]


def _sum(columns: Array) -> Array:
    """Sums by row that do not depend on the order of the columns (Neumaier's summation).

    Predictions that are permutations of each other must have the same loss: a difference in the
    last bit would count as an improvement at beta = 0.
    """
    total, lost = np.asarray(columns[:, 0], dtype=np.float64), np.zeros(len(columns))
    for column in columns.T[1:]:
        added = total + column
        larger, smaller = np.maximum(total, column), np.minimum(total, column)
        lost += (larger - added) + smaller
        total = added
    return total + lost
