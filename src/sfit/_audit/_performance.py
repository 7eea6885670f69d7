"""The usual metrics on held-out rows, each with an interval.

All intervals come from one method, the delete-a-group jackknife: units are dealt at random into
groups, and each metric is computed without each group in turn. It needs no formula per metric, and
a unit may be a cluster of rows. Kott (2001), Journal of Official Statistics 17, 521-526.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t
from sklearn.metrics import (
    average_precision_score,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from sfit import _row_losses as row_losses
from sfit._array import Array
from sfit._audit._jackknife import deal, standard_error
from sfit._audit._records import Metric
from sfit._text import listed

SHARE = 0.0, 1.0
NOT_NEGATIVE = 0.0, math.inf


class UndefinedError(Exception):
    """The metric has no value on these rows; the message is a sentence for the reader."""


@dataclass(frozen=True)
class _Measure:
    name: str
    of: Callable[[Array, Array], float]
    """From targets and predictions to the metric; may raise `UndefinedError`."""
    range: tuple[float, float]
    higher_is_better: bool = True


def performance(
    side: str,
    task: str,
    y: Array,
    predictions: Array,
    classes: Sequence[Any] = (),
    units: Array | None = None,
    alpha: float = 0.05,
    seed: int = 0,
    loss: str | None = None,
) -> tuple[Metric, ...]:
    """The usual metrics of a model on held-out rows, with intervals at the level 1 - alpha.

    For classification, `y` holds class codes from 0, `predictions` probabilities (n, classes), or
    (n,) of the second of two classes, and `classes` the labels. For regression, both have shape
    (n,) or (n, outputs), and outputs are averaged. `units` holds a label per row: rows of one unit
    stay together. `loss` is the name of the audit's loss; "poisson" adds the Poisson deviance.

    A metric without a value is NaN, and so is an interval that cannot be computed: `reason` says
    why.
    """
    y, predictions = np.asarray(y), np.asarray(predictions)
    if task == "classification":
        if predictions.ndim == 1:
            predictions = np.column_stack([1 - predictions, predictions])
        measures = _of_classification(predictions, classes, loss)
    else:
        if predictions.ndim == 2 and y.ndim == 1:
            predictions = predictions[:, 0]
        measures = _of_regression(loss)
    groups = deal(len(y), units, seed)
    if task == "classification":
        # AUC and average precision sort the rows for every group, which is faster once sorted.
        order = np.argsort(predictions[:, -1], kind="stable")
        y, predictions, groups = y[order], predictions[order], groups[order]
    # Squares of huge numbers overflow; the tests then refuse these outcomes with the remedy.
    with np.errstate(over="ignore", invalid="ignore"):
        return tuple(_metric(side, one, y, predictions, groups, alpha) for one in measures)


def _metric(
    side: str, measure: _Measure, y: Array, predictions: Array, groups: Array, alpha: float
) -> Metric:
    def result(value: float, low: float, high: float, reason: str = "") -> Metric:
        better = measure.higher_is_better
        return Metric(side, measure.name, value, low, high, len(y), better, reason)

    if not len(y):
        return result(math.nan, math.nan, math.nan, "There are no rows.")
    try:
        value = measure.of(y, predictions)
    except UndefinedError as error:
        return result(math.nan, math.nan, math.nan, str(error))
    n_groups = int(groups.max()) + 1
    if n_groups < 2:
        return result(value, math.nan, math.nan, "One independent unit gives no interval.")
    kept = (groups != group for group in range(n_groups))
    try:
        values = np.array([measure.of(y[rows], predictions[rows]) for rows in kept])
    except UndefinedError as error:
        reason = f"There is no interval, because the metric is undefined without some rows: {error}"
        return result(value, math.nan, math.nan, reason)
    spread = standard_error(values)
    if value in measure.range and not spread:
        reason = "There is no interval: every group of rows gives the best or worst possible value."
        return result(value, math.nan, math.nan, reason)
    margin = float(t.isf(alpha / 2, n_groups - 1)) * spread
    low, high = np.clip([value - margin, value + margin], *measure.range).tolist()
    return result(value, low, high)


def _of_classification(
    predictions: Array, classes: Sequence[Any], loss: str | None
) -> tuple[_Measure, ...]:
    n_classes = predictions.shape[1]
    labels = list(classes) or list(range(n_classes))
    # A model without probabilities says 0 or 1; its log loss is only the clipping constant.
    certain = loss not in (None, "log_loss") and bool(np.isin(predictions, (0, 1)).all())

    def area(y: Array, p: Array) -> float:
        _check_present(y, labels)
        if n_classes == 2:
            return float(roc_auc_score(y, p[:, 1]))
        # One class against the others; the mean over classes is scikit-learn's macro average.
        return math.fsum(roc_auc_score(y == k, p[:, k]) for k in range(n_classes)) / n_classes

    def precision(y: Array, p: Array) -> float:
        _check_present(y, labels)
        return float(average_precision_score(y, p[:, 1]))

    def log_loss(y: Array, p: Array) -> float:
        if certain:
            raise UndefinedError("Every prediction is 0 or 1: the model gives no probabilities.")
        return float(row_losses.log_loss(y, p).mean())

    def brier(y: Array, p: Array) -> float:
        return float(row_losses.brier(y, p).mean())

    def accuracy(y: Array, p: Array) -> float:
        return 1 - float(row_losses.zero_one(y, p).mean())

    area_measure = _Measure("AUC", area, SHARE)
    precision_measure = _Measure("average_precision", precision, SHARE)
    # Over several classes the squares of a row sum to at most 2.
    brier_range = SHARE if n_classes == 2 else (0.0, 2.0)
    return (
        area_measure,
        *((precision_measure,) if n_classes == 2 else ()),
        _Measure("log_loss", log_loss, NOT_NEGATIVE, higher_is_better=False),
        _Measure("brier", brier, brier_range, higher_is_better=False),
        _Measure("accuracy", accuracy, SHARE),
    )


def _of_regression(loss: str | None) -> tuple[_Measure, ...]:
    def r_squared(y: Array, p: Array) -> float:
        if len(y) < 2:
            raise UndefinedError("R2 needs at least two rows.")
        if (np.ptp(y, axis=0) == 0).any():
            raise UndefinedError("The target is constant, so there is no variance to explain.")
        return float(r2_score(y, p))

    def absolute(y: Array, p: Array) -> float:
        return float(mean_absolute_error(y, p))

    def root_square(y: Array, p: Array) -> float:
        return float(root_mean_squared_error(y, p))

    def deviance(y: Array, p: Array) -> float:
        if (p <= 0).any():
            raise UndefinedError("The Poisson deviance needs predictions above zero.")
        return float(row_losses.poisson(y, p).mean())

    counts = _Measure("poisson_deviance", deviance, NOT_NEGATIVE, higher_is_better=False)
    return (
        _Measure("R2", r_squared, (-math.inf, 1.0)),
        _Measure("MAE", absolute, NOT_NEGATIVE, higher_is_better=False),
        _Measure("RMSE", root_square, NOT_NEGATIVE, higher_is_better=False),
        *((counts,) if loss == "poisson" else ()),
    )


def _check_present(y: Array, labels: Sequence[Any]) -> None:
    """Refuse rows that lack a class: no row of it can be ranked against the others."""
    present = np.bincount(y, minlength=len(labels)) > 0
    if not present.all():
        absent = [
            str(label) for label, is_present in zip(labels, present, strict=True) if not is_present
        ]
        raise UndefinedError(f"No row has the class {listed(absent)}.")
