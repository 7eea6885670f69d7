"""Locating many values among few sorted edges: binary search, where hardly any is searched for.

Edges and values are put into equal bins by the same monotone map. A bin that holds no edge lies
between the same two edges as all of its values, so its number of edges below is the answer. Bins
are many and edges few: hardly any value shares a bin with an edge, and only those are searched for.
The answer is exact, whatever the rounding of the map.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FEW_EDGES = 4
"""So many edges are compared with one by one."""
BINS_PER_EDGE = 64
"""Measured: half as many take a fifth longer at a million rows, and save little at ten thousand."""
LEAST_BINS, MOST_BINS = 1 << 10, 1 << 16
"""More bins leave fewer values to search for, but take time to make, and fall out of the cache."""
ALL_BINS = 1 << 24
"""Bins of all searches that are held together: 32 MB, or 64 MB where there are many edges."""

_SEARCH = -1
_LARGEST = np.float32(2**30)
"""More than any number of bins, and still a whole number wherever NumPy runs."""


@dataclass(frozen=True)
class Lookup:
    """Number of edges below a value (``strict``: below or equal to it); missing comes last."""

    edges: Array
    strict: bool
    missing: bool
    """Whether values can be missing; looking for them takes time."""
    cells: Array | None = None
    """For each bin the number of edges below it, or that an edge lies in it; None: no bins."""
    low: Any = 0
    scale: Any = 0

    def __call__(self, values: Array) -> Array:
        """Number of the cell of each value."""
        # A column of rows lies scattered in memory; it is walked over several times.
        with np.errstate(over="ignore"):  # what overflows is infinite to the trees as well
            values = np.ascontiguousarray(values, dtype=self.edges.dtype)
        cells = self._find(values)
        if self.missing:
            cells[np.isnan(values)] = len(self.edges) + 1
        return cells

    def _find(self, values: Array) -> Array:
        if len(self.edges) <= FEW_EDGES:
            passed = np.zeros(len(values), dtype=np.int8)
            for edge in self.edges:
                passed += values >= edge if self.strict else values > edge
            return passed.astype(np.intp)
        if self.cells is None:
            return self._search(values)
        # What lies beyond the ends is taken from the bin there.
        cells = self.cells.take(_bins(values, self.low, self.scale), mode="clip")
        open_ = np.flatnonzero(cells == _SEARCH)
        cells[open_] = self._search(values[open_])
        return cells.astype(np.intp)

    def _search(self, values: Array) -> Array:
        return np.searchsorted(self.edges, values, "right" if self.strict else "left")


def make_lookup(edges: Array, *, strict: bool, missing: bool = False, together: int = 1) -> Lookup:
    """Prepare the search among sorted, distinct edges; `together` are held with it, and share."""
    dtype = edges.dtype.type
    # A split of what is missing from all else has its threshold at infinity, which no value passes
    # where it must be larger.
    inner = edges if strict else edges[edges < np.inf]
    m = len(inner)
    n_bins = min(max(BINS_PER_EDGE * m, LEAST_BINS), MOST_BINS, ALL_BINS // together)
    if m <= FEW_EDGES or n_bins < LEAST_BINS:
        return Lookup(edges, strict, missing)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        # One bin more on either side, so that values beyond the edges share none with an edge.
        width = (inner[-1] - inner[0]) / dtype(n_bins - 3)
        low, scale = inner[0] - width, 1 / width
    if not (np.isfinite(low) and np.isfinite(scale)):
        return Lookup(edges, strict, missing)
    own = np.minimum(_bins(inner, low, scale), n_bins - 1)
    reach = np.empty(m + 1, dtype=np.intp)
    reach[0], reach[1:-1], reach[-1] = own[0], own[1:] - own[:-1], n_bins - own[-1]
    # Small numbers keep the table in the nearest cache; signed, for _SEARCH, they reach to m.
    cells = np.repeat(np.arange(m + 1, dtype=np.min_scalar_type(-m - 1)), reach)
    cells[own] = _SEARCH
    return Lookup(edges, strict, missing, cells, low, scale)


def _bins(values: Array, low: Any, scale: Any) -> Array:
    """The bin of each value; below the first they are negative, behind the last they go on."""
    with np.errstate(over="ignore", invalid="ignore"):
        position = values - low
        position *= scale
        # Where whole numbers end, conversion may give the least of them: right below, wrong above.
        if not position.max(initial=0) < _LARGEST:
            np.minimum(position, _LARGEST, out=position)
        return position.astype(np.intp)
