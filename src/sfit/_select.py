"""Exact order statistics over many tiles, without storing all values.

A sample brackets the order statistics of the wanted ranks, with a margin on either side. Every tile
counts its values below the bracket and keeps those inside; the more rows have been seen, the
narrower the bracket for the next tile. If a wanted rank falls outside after all, the caller repeats
the pass with a wider margin. The result is exact in either case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, sqrt
from typing import NamedTuple

import numpy as np

from sfit._array import Array


class Window(NamedTuple):
    """A closed range of values; values outside are only counted. Empty if low > high."""

    low: float
    high: float


EVERYTHING = Window(-np.inf, np.inf)

KEPT_VALUES, KEPT_SHARE = 2_048, 8
"""A window keeps up to 2,048 values, or one in eight of all, before their ties are counted."""
SAMPLED = 8
"""More than 2,048 values are bracketed by a sample: every eighth of them."""
SORTED_VALUES = 64
"""Up to this many values are sorted, which takes less time than to select some of them."""
MERGED_VALUES = 1 << 14
"""Merging at least this many values counts ties, which requires sorting."""


@dataclass(frozen=True)
class Counted:
    """Values relative to a window: how many lie below it, and which lie inside."""

    window: Window
    below: int
    """Number of values below the window; not counted if the window is empty."""
    values: Array
    """The values inside, in any order."""
    counts: Array | None = None
    """Multiplicity of each value; None: each occurs once."""


NO_RANKS = Counted(EVERYTHING, 0, np.empty(0))
"""The count for a statistic without wanted ranks."""
EMPTY_WINDOW = Window(np.inf, -np.inf)
SKIPPED = Counted(EMPTY_WINDOW, 0, np.empty(0))
"""The count of a tile that was not searched."""


def count(values: Array, window: Window, weights: Array | None = None) -> Counted:
    """Count the values below a window and keep those inside; `weights` are multiplicities."""
    counted = _inside(values, window, weights)
    # Of many kept values, store each distinct one with its count: a loss may take few values.
    if weights is None and len(counted.values) > max(KEPT_VALUES, len(values) // KEPT_SHARE):
        return Counted(window, counted.below, *_without_ties(counted.values))
    return counted


def _inside(values: Array, window: Window, weights: Array | None) -> Counted:
    if window == EVERYTHING:
        return Counted(window, 0, values, weights)
    if window.low > window.high:
        # A slice would keep the whole array alive.
        return Counted(window, 0, np.empty(0))
    inside = values >= window.low
    below = total(inside, weights)
    below = (len(values) if weights is None else int(weights.sum())) - below
    inside &= values <= window.high
    counts = None if weights is None else weights.compress(inside)
    return Counted(window, below, values.compress(inside), counts)


def _without_ties(values: Array) -> tuple[Array, Array | None]:
    """The distinct values and their counts (None: no two are equal)."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, None if len(distinct) == len(values) else counts


def merge(parts: Sequence[Counted]) -> Counted:
    """Merge counts over the intersection of their windows."""
    low, high = max(part.window.low for part in parts), min(part.window.high for part in parts)
    parts = [narrow(part, Window(low, high)) for part in parts]
    return Counted(Window(low, high), sum(part.below for part in parts), *_together(parts))


def _together(parts: Sequence[Counted]) -> tuple[Array, Array | None]:
    """The values of all parts; if many or already counted, the distinct ones with counts."""
    values = np.concatenate([part.values for part in parts])
    if all(part.counts is None for part in parts):
        return (values, None) if len(values) < MERGED_VALUES else _without_ties(values)
    weights = [np.ones(len(p.values)) if p.counts is None else p.counts for p in parts]
    distinct, inverse = np.unique(values, return_inverse=True)
    # Counts stay far below 2^53, so sums of doubles are exact.
    counts = np.bincount(inverse, weights=np.concatenate(weights), minlength=len(distinct))
    return distinct, None if (counts == 1).all() else counts.astype(np.int64)


def narrow(counted: Counted, window: Window) -> Counted:
    """Restrict a count to the intersection of its window with another."""
    low, high = max(counted.window.low, window.low), min(counted.window.high, window.high)
    if counted.window == (low, high):
        return counted
    inside = _inside(counted.values, Window(low, high), counted.counts)
    return replace(inside, below=counted.below + inside.below)


def between(counted: Counted, ranks: Sequence[int]) -> Counted:
    """Of all values there are, keep those from the smallest to the largest wanted rank."""
    if counted.counts is not None or not ranks:
        return counted
    first, last = min(ranks) - counted.below - 1, max(ranks) - counted.below - 1
    if first < 0 or last >= len(counted.values):
        return counted  # the window missed a rank
    # A copy: a slice would keep all values in memory.
    values = np.partition(counted.values, (first, last))[first : last + 1].copy()
    window = Window(float(values[0]), float(values[-1]))
    return Counted(window, counted.below + first, values)


def order_statistics(counted: Counted, ranks: Sequence[int]) -> list[float | None]:
    """The values of 1-based ranks; None for a rank outside the window."""
    places = [rank - counted.below - 1 for rank in ranks]
    if counted.counts is None:
        values, n = counted.values, len(counted.values)
        inside = [place for place in places if 0 <= place < n]
        if n <= SORTED_VALUES:
            values = np.sort(values)
        elif inside:
            # The wanted ranks lie close together.
            ends = min(inside), max(inside)
            values = np.partition(values, ends)
            values[ends[0] : ends[1]].sort()
    else:
        order = np.argsort(counted.values)
        values, upto = counted.values[order], np.cumsum(counted.counts[order])
        indices = np.searchsorted(upto, places, "right").tolist()
        places = [place if place < 0 else at for place, at in zip(places, indices, strict=True)]
        n = len(values)
    # Whether -0.0 or 0.0 is selected depends on the other values; adding 0.0 turns both into 0.0.
    return [float(values[place]) + 0.0 if 0 <= place < n else None for place in places]


def bracket(counted: Counted, m: int, ranks: Sequence[int], n: int, n_se: float) -> Window:
    """Bracket the order statistics of some ranks among n values, given the counts of m of them.

    The margin is `n_se` standard errors of a sample quantile.
    """
    if not ranks or m == 0:
        return counted.window
    low, high = order_statistics(counted, _around(m, ranks, n, n_se))
    return Window(
        counted.window.low if low is None else low, counted.window.high if high is None else high
    )


def bracket_by_sample(values: Array, ranks: Sequence[int], n: int, n_se: float) -> Window:
    """The same bracket, from a sample of one tile's values; everything if they are few."""
    if len(values) <= KEPT_VALUES or not ranks:
        return EVERYTHING
    sample = values[::SAMPLED]
    m = len(sample)
    low, high = _around(m, ranks, n, n_se)
    inside = [rank - 1 for rank in (low, high) if 1 <= rank <= m]
    sample = np.partition(sample, inside) if inside else sample
    return Window(
        float(sample[low - 1]) if low >= 1 else -np.inf,
        float(sample[high - 1]) if high <= m else np.inf,
    )


def _around(m: int, ranks: Sequence[int], n: int, n_se: float) -> tuple[int, int]:
    """Ranks among m values that enclose, with a margin, the wanted ranks among n values."""
    around = margin(m, n_se) + 1
    return floor(min(ranks) / n * m - around), ceil(max(ranks) / n * m + around)


def margin(m: int, n_se: float) -> float:
    """`n_se` standard errors of the number of m values below the median."""
    return n_se * sqrt(m) / 2


def total(where: Array, weights: Array | None) -> int:
    """Number of true entries of a mask, each counted with its weight if there are weights."""
    return int(np.count_nonzero(where) if weights is None else weights[where].sum())
