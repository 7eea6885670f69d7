"""Losses: one number per row. To add one, write its function and its line in `LOSSES`.

Regression losses take y and predictions of shape (m,) or (m, outputs); outputs are averaged.
Classification losses take class indices and probabilities of shape (m, classes).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from sfit._masked import as_array
from sfit.exceptions import ArgumentError, DataError

Array = npt.NDArray[Any]


def absolute_error(y: Array, prediction: Array) -> Array:
    """Absolute deviation, section 2.1's choice for regression."""
    gap = _gap(y, prediction)
    np.abs(gap, out=gap)
    return _mean_over_outputs(gap)


def squared_error(y: Array, prediction: Array) -> Array:
    """Squared deviation."""
    gap = _gap(y, prediction)
    np.square(gap, out=gap)
    return _mean_over_outputs(gap)


def poisson(y: Array, prediction: Array) -> Array:
    """Poisson deviance, which unlike the likelihood is never negative."""
    y, prediction = np.asarray(y, dtype=np.float64), np.asarray(prediction, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviance = 2 * (xlogy(y, y / prediction) - y + prediction)
    # The deviance is never negative; next to its minimum, rounding can make it so.
    return _mean_over_outputs(np.where(prediction > 0, np.maximum(deviance, 0.0), np.nan))


def log_loss(y: Array, prediction: Array) -> Array:
    """Cross entropy, section 2.1's choice for classification, probabilities clipped."""
    chosen = prediction[np.arange(len(y)), y]
    # Clipped at the precision of the model, then in double: the logarithm of single precision may
    # differ in its last bit with the place of a number in its array.
    clipped = np.clip(chosen, np.finfo(chosen.dtype).eps, 1.0)
    return -np.log(np.asarray(clipped, dtype=np.float64))


def brier(y: Array, prediction: Array) -> Array:
    """Squared distance to the observed class; for two classes that of the second only."""
    if prediction.shape[1] == 2:
        return np.square(prediction[:, 1] - y)
    miss = np.array(prediction, dtype=np.float64)
    miss[np.arange(len(y)), y] -= 1.0
    return _sum(np.square(miss))


def zero_one(y: Array, prediction: Array) -> Array:
    """One where the most probable class is not the observed one."""
    return np.asarray(prediction.argmax(axis=1) != y, dtype=np.float64)


def _gap(y: Array, prediction: Array) -> Array:
    """The target minus its prediction, in doubles.

    Two predictions in single precision may differ by less than the rounding of a large y of the
    same type: their losses must still differ.
    """
    return np.subtract(y, prediction, dtype=np.float64)


def _mean_over_outputs(losses: Array) -> Array:
    return losses if losses.ndim == 1 else _sum(losses) / losses.shape[1]


def _sum(columns: Array) -> Array:
    """Sums by row that do not depend on the order of the columns (Neumaier's summation).

    Two predictions that are each other's permutation have the same loss; a last bit in favour of
    one of them would count as an improvement at beta = 0.
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
    """A loss per row, and the task it belongs to (None: the user's own, for either)."""

    name: str
    task: str | None
    per_row: Callable[[Array, Array], Array]
    of_counts: bool = False
    """Whether it is defined for y from zero on only."""

    def __call__(
        self, y: Array, prediction: Array, number: Callable[[int], int], signed: bool
    ) -> Array:
        """Losses of a run of rows, refused with the row's number where they cannot be used.

        `number` gives the user's number of a row; `signed` says whether losses below zero are
        admitted (they are at beta = 0).
        """
        if self.task is None:
            # The user's own function may write to its arguments: they are ours, and used again.
            y, prediction = y.copy(), prediction.copy()
        try:
            losses = as_array(self.per_row(y, prediction))
        except Exception as error:
            raise DataError(
                f"loss {self.name!r} failed on {len(y)} rows from row {number(0)} on: "
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
        # Always doubles: beta is one, and comparing in less would round it.
        losses = np.asarray(losses, dtype=np.float64)
        least, largest = losses.min(initial=0.0), losses.max(initial=0.0)
        # What is not a number is the least and the largest.
        if not (np.isfinite(least) and np.isfinite(largest)):
            raise DataError(self._complaint("not finite", ~np.isfinite(losses), losses, number))
        if not signed and least < 0:
            raise DataError(
                self._complaint("below zero", losses < 0, losses, number)
                + " With beta > 0 the test asks for (1 - beta) times the base loss, which must "
                "shrink it: use a loss that is never negative, or beta=0."
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
    """Refuse what is neither a known name nor a callable."""
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
            f"loss={loss!r} is for {chosen.task}, but the model is one of {task}: use {fitting}, "
            "or say what the model is with sfit.models.function_model(f, task=...)."
        )
    return chosen
