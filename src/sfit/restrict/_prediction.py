"""Predictions of a side for the rows of a tile, kept as small as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit.rows import Tile

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Prediction:
    """Distinct predictions, and which of them each row has.

    Without `codes` there is one value per row, or a single one for all rows.
    """

    values: Array
    codes: Array | None
    n_rows: int

    @property
    def is_constant(self) -> bool:
        """Whether all rows have the same prediction because they are one row."""
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
    """A side that reveals nothing: all rows are one row, and one prediction serves them all."""

    values: Array

    def __call__(self, tile: Tile) -> Prediction:
        """The same for every row of a tile."""
        return Prediction(self.values, None, len(tile))


Restricted = Callable[[Tile], Prediction]
"""A side as a function of a tile; it holds all that it needs, and can be sent to a worker."""
