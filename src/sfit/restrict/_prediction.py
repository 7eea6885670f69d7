"""Predictions of a side for the rows of a tile, stored compactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from sfit._array import Array
from sfit._contrast import Side
from sfit.rows import Tile

Arithmetic = Literal["model", "polyline", "update"]


class Computed(NamedTuple):
    """A side in the arithmetic that computes it: the model's, or that of a route.

    A route may recompute the model in different steps. Both sides of a contrast share the
    arithmetic, so they cannot differ by rounding alone.
    """

    side: Side
    arithmetic: Arithmetic = "model"


@dataclass(frozen=True)
class Prediction:
    """Distinct predictions, and the index of each row's prediction among them.

    Without `codes` there is one value per row, or one value for all rows.
    """

    values: Array
    codes: Array | None
    n_rows: int

    @property
    def is_constant(self) -> bool:
        """Whether all rows are equal and share one prediction."""
        return self.codes is None and len(self.values) == 1

    def by_row(self) -> Array:
        """One prediction per row."""
        if self.codes is not None:
            return self.values.take(self.codes, axis=0)
        if self.is_constant:
            return np.broadcast_to(self.values[0], (self.n_rows, *self.values.shape[1:]))
        return self.values


@dataclass(frozen=True)
class Constant:
    """A side that reveals nothing: all rows are equal and share one prediction."""

    values: Array

    def __call__(self, tile: Tile) -> Prediction:
        """The same prediction for every row of a tile."""
        return Prediction(self.values, None, len(tile))


class RunningMean:
    """The mean of predictions, one array for each background row, in the order of these rows.

    Every route averages here, so equal predictions have equal means, to the last bit. The lost
    digits of each addition are summed as well (Knuth's TwoSum), so the mean is correct to about one
    rounding unit, however many rows there are. The mean of predictions that are all equal is that
    prediction, to the bit. A single array is returned as it is.
    """

    def __init__(self) -> None:
        self.n = 0

    def add(self, one: Array) -> None:
        """Add the predictions for one more background row."""
        self.n += 1
        if self.n == 1:
            self._first = one
            return
        if self.n == 2:
            self._total = self._first.astype(np.result_type(self._first, np.float64))
            self._lost = np.zeros_like(self._total)
            self._equal = np.ones(self._first.shape, dtype=bool)
        with np.errstate(over="ignore", invalid="ignore"):  # callers check that the mean is finite
            before = self._total
            self._total = before + one
            moved = self._total - before
            self._lost += (before - (self._total - moved)) + (one - moved)
        self._equal &= one == self._first

    @property
    def value(self) -> Array:
        """The mean so far."""
        if self.n == 1:
            return self._first
        with np.errstate(over="ignore", invalid="ignore"):
            mean = ((self._total + self._lost) / self.n).astype(self._first.dtype)
        mean = np.where(self._equal, self._first, mean)
        mean.flags.writeable = False
        return mean


def averaged(predictions: Iterable[Array]) -> Array:
    """The mean of predictions, one array for each background row."""
    mean = RunningMean()
    for one in predictions:
        mean.add(one)
    return mean.value


Restricted = Callable[[Tile], Prediction]
"""A side as a function of a tile; self-contained, so it can be sent to a worker."""
