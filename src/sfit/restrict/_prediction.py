"""Predictions of a side for the rows of a tile, stored compactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit.rows import Tile

Array = npt.NDArray[Any]


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


def averaged(predictions: Iterable[Array]) -> Array:
    """The mean of predictions, one array for each background row, in the order of these rows.

    Every route averages here, so equal predictions have equal means, to the last bit. The lost
    digits of each addition are summed as well (Knuth's TwoSum), so the mean is correct to about one
    rounding unit, however many rows there are. The mean of predictions that are all equal is that
    prediction, to the bit. A single array is returned as it is.
    """
    predictions = iter(predictions)
    first = next(predictions)
    total = first.astype(np.result_type(first, np.float64))
    lost, n = np.zeros_like(total), 1
    equal = np.ones(first.shape, dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):  # callers check that the mean is finite
        for one in predictions:
            before = total
            total = before + one
            moved = total - before
            lost += (before - (total - moved)) + (one - moved)
            equal &= one == first
            n += 1
    if n == 1:
        return first
    mean: Array = np.where(equal, first, ((total + lost) / n).astype(first.dtype))
    mean.flags.writeable = False
    return mean


Restricted = Callable[[Tile], Prediction]
"""A side as a function of a tile; self-contained, so it can be sent to a worker."""
