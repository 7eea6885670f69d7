"""Losses: one number per row. To add one, write its function and add it to `LOSSES`.

Regression losses take y and predictions of shape (m,) or (m, outputs); outputs are averaged.
Classification losses take class indices and probabilities of shape (m, classes).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from sfit._array import Array
from sfit.exceptions import ArgumentError, DataError
from sfit.rows import plain_array


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


def poisson(y: Array, prediction: Array) -> Array:
    """Poisson deviance; unlike the negative log-likelihood, it is never negative."""
    y, prediction = np.asarray(y, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviance = 2 * (xlogy(y, y / prediction) - y + prediction)
    # Near its minimum of 0, rounding can make the deviance negative.
    return _mean_over_outputs(np.where(prediction > 0, np.maximum(deviance, 0.0), np.nan))


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


def _gap(y: Array, prediction: Array) -> Array:
    """The target minus its prediction, in doubles.

    Two single-precision predictions may differ by less than the rounding error of a large y in
    single precision; their losses must still differ.
    """
    return np.subtract(y, prediction, dtype=np.float64)


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


@dataclass(frozen=True)
class Loss:
    """A loss per row, and its task (None: a user's callable, for either task)."""

    name: str
    task: str | None
    per_row: Callable[[Array, Array], Array]
    of_counts: bool = False
    """Whether the loss requires y >= 0."""

    def __call__(
        self, y: Array, prediction: Array, number: Callable[[int], int], signed: bool
    ) -> Array:
        """Losses of some rows; raise an error that names the row if a loss is unusable.

        `number` maps a position to the user's row number. `signed` admits negative losses, which
        are allowed at beta = 0.
        """
        if self.task is None:
            # A user's function may write to its arguments, which sfit uses again: pass copies.
            y, prediction = y.copy(), prediction.copy()
        try:
            losses = plain_array(self.per_row(y, prediction))
        except Exception as error:
            raise DataError(
                f"loss {self.name!r} failed on {len(y)} rows starting at row {number(0)}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if losses.dtype == object:
            with suppress(TypeError, ValueError):
                losses = np.asarray(losses, dtype=np.float64)
        if losses.shape != (len(y),) or losses.dtype.kind not in "biuf":
            raise DataError(
                f"loss {self.name!r} must return one number per row: expected shape ({len(y)},), "
                f"got {losses.shape} of dtype {losses.dtype}."
            )
        # Always doubles: beta is a double, and a comparison in lower precision would round it.
        losses = np.asarray(losses, dtype=np.float64)
        least, largest = losses.min(initial=0.0), losses.max(initial=0.0)
        # NaN propagates to both the minimum and the maximum.
        if not (np.isfinite(least) and np.isfinite(largest)):
            raise DataError(self._complaint("not finite", ~np.isfinite(losses), losses, number))
        if not signed and least < 0:
            raise DataError(
                self._complaint("below zero", losses < 0, losses, number)
                + " With beta > 0 the test compares with (1 - beta) times the base loss, which "
                "must not exceed it: use a loss that is never negative, or beta=0."
            )
        return losses

    def _complaint(
        self, what: str, where: Array, losses: Array, number: Callable[[int], int]
    ) -> str:
        first = int(np.flatnonzero(where)[0])
        return (
            f"loss {self.name!r} is {what} at {int(where.sum())} row(s); the first is row "
            f"{number(first)}, where it is {float(losses[first])!r}."
        )


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("absolute_error", "regression", absolute_error),
        Loss("squared_error", "regression", squared_error),
        Loss("poisson", "regression", poisson, of_counts=True),
        Loss("log_loss", "classification", log_loss),
        Loss("brier", "classification", brier),
        Loss("zero_one", "classification", zero_one),
    )
}

DEFAULTS = {"regression": "absolute_error", "classification": "log_loss"}


def check_loss(loss: Any) -> None:
    """Refuse a loss that is neither a known name nor a callable."""
    if not (callable(loss) or (isinstance(loss, str) and (loss == "auto" or loss in LOSSES))):
        allowed = ", ".join(map(repr, ("auto", *LOSSES)))
        raise ArgumentError(
            f"loss must be one of {allowed}, or a callable (y, prediction) -> one loss per row; "
            f"got {loss!r}."
        )


def choose_loss(loss: str | Callable[[Array, Array], Array], task: str) -> Loss:
    """Turn the user's `loss` into a `Loss` that fits the model's task."""
    if callable(loss):
        return Loss(getattr(loss, "__name__", type(loss).__name__), None, loss)
    chosen = LOSSES[DEFAULTS[task] if loss == "auto" else loss]
    if chosen.task != task:
        fitting = ", ".join(repr(name) for name, other in LOSSES.items() if other.task == task)
        raise ArgumentError(
            f"loss={loss!r} is for {chosen.task}, but the model is for {task}: use {fitting}, or "
            "declare the model's task with sfit.models.function_model(f, task=...)."
        )
    return chosen
