"""Locating many values among few sorted edges: binary search, but 3 to 4 times faster.

Edges and values are put into equal bins by the same monotone map. An edge in a lower bin than a
value is then below the value, so the search starts at the first edge of the value's bin and steps
at most as often as the fullest bin holds edges. The answer is exact, whatever the rounding of the
map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

BINS_PER_EDGE = 8
MOST_BINS = 1 << 14
MOST_STEPS = 6
"""With fuller bins than this, binary search is faster."""


@dataclass(frozen=True)
class Lookup:
    """Number of edges below a value (``strict``: below or equal to it); missing comes last."""

    edges: Array
    strict: bool
    missing: bool
    """Whether values can be missing; looking for them takes time."""
    first: Array
    low: Any
    scale: Any
    steps: int

    @property
    def n_cells(self) -> int:
        """Number of cells that the edges make, without that of the missing values."""
        return len(self.edges) + 1

    def __call__(self, values: Array) -> Array:
        """Number of the cell of each value."""
        # A column of rows lies scattered in memory; it is walked over several times.
        values = np.ascontiguousarray(values, dtype=self.edges.dtype)
        if not self.missing:
            return self._find(values)
        missing = np.isnan(values)
        cells = self._find(np.where(missing, self.edges.dtype.type(0), values))
        cells[missing] = self.n_cells
        return cells

    def _find(self, values: Array) -> Array:
        if self.steps <= MOST_STEPS:
            return self._walk(values)
        if self.strict:
            return np.searchsorted(self.edges, values, "right").astype(np.int32)
        return np.searchsorted(self.edges, values, "left").astype(np.int32)

    def _walk(self, values: Array) -> Array:
        if len(self.first) == 1:
            cells = np.zeros(len(values), dtype=np.int32)
        else:
            cells = self.first[_bins(values, self.low, self.scale, len(self.first))]
        # NaN behind the last edge stops every step there: no comparison with it is true.
        edges = np.append(self.edges, self.edges.dtype.type(np.nan))
        for _ in range(self.steps):
            here = edges[cells]
            cells += here <= values if self.strict else here < values
        return cells


def make_lookup(edges: Array, *, strict: bool, missing: bool = False) -> Lookup:
    """Prepare the search among sorted, distinct edges."""
    dtype = edges.dtype.type
    m = len(edges)
    if m <= MOST_STEPS:
        return Lookup(edges, strict, missing, np.zeros(1, dtype=np.int32), dtype(0), dtype(0), m)
    n_bins = min(MOST_BINS, BINS_PER_EDGE * m)
    low = edges[0]
    with np.errstate(over="ignore", divide="ignore"):
        scale = dtype(n_bins) / (edges[-1] - low)
    if not np.isfinite(scale) or scale == 0:
        return Lookup(edges, strict, missing, np.zeros(1, dtype=np.int32), dtype(0), dtype(0), m)
    per_bin = np.bincount(_bins(edges, low, scale, n_bins), minlength=n_bins)
    first = np.concatenate([[0], np.cumsum(per_bin)[:-1]]).astype(np.int32)
    return Lookup(edges, strict, missing, first, low, scale, int(per_bin.max()))


def _bins(values: Array, low: Any, scale: Any, n_bins: int) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        position = (values - low) * scale
    np.clip(position, 0, n_bins - 1, out=position)
    return position.astype(np.int32)
