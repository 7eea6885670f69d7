"""Exact order statistics over many tiles, without keeping the values.

A sample brackets what is wanted: the values of a given rank, and some room on either side. Every
tile counts what lies below the bracket and keeps what lies inside it; the more rows have been seen,
the narrower the bracket for the next ones. When a wanted rank falls outside after all, the caller
asks again with more room; the answer is exact either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Window(NamedTuple):
    """A closed range of values; outside, values are only counted. Empty where low > high."""

    low: float
    high: float


EVERYTHING = Window(-np.inf, np.inf)

KEPT_VALUES, KEPT_SHARE = 2_048, 8
"""Up to so many values, or one in so many of all, are kept as they are."""
SAMPLED = 8
"""Of more values, every eighth is looked at to bracket an order statistic."""
MERGED_VALUES = 1 << 14
"""From so many values of several runs on, ties among them are counted: that takes sorting them."""


@dataclass(frozen=True)
class Counted:
    """What some values say about a window: how many lie below it, and which inside."""

    window: Window
    below: int
    """Not counted where the window is empty."""
    values: Array
    """The values inside, in any order."""
    counts: Array | None = None
    """How often each of them occurs; None: once."""


NOTHING = Counted(EVERYTHING, 0, np.empty(0))
NOWHERE = Window(np.inf, -np.inf)
"""Where nothing is looked for."""
NOT_LOOKED_FOR = Counted(NOWHERE, 0, np.empty(0))


def count(values: Array, window: Window, weights: Array | None = None) -> Counted:
    """Count and keep, for one run of values (each of them once, or as often as `weights` say)."""
    counted = _inside(values, window, weights)
    # Where much would be kept, ties are counted, not repeated: a loss may take few values.
    if weights is None and len(counted.values) > max(KEPT_VALUES, len(values) // KEPT_SHARE):
        return Counted(window, counted.below, *_without_ties(counted.values))
    return counted


def _inside(values: Array, window: Window, weights: Array | None) -> Counted:
    if window == EVERYTHING:
        return Counted(window, 0, values, weights)
    if window.low > window.high:
        # A slice would keep all of the values alive.
        return Counted(window, 0, np.empty(0))
    inside = values >= window.low
    below = total(inside, weights)
    below = (len(values) if weights is None else int(weights.sum())) - below
    inside &= values <= window.high
    kept = None if weights is None else weights.compress(inside)
    return Counted(window, below, values.compress(inside), kept)


def _without_ties(values: Array) -> tuple[Array, Array | None]:
    """Each value once, and how often it occurs (None: no two are equal)."""
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, None if len(distinct) == len(values) else counts


def merge(parts: Sequence[Counted]) -> Counted:
    """What all runs say together about what their windows have in common."""
    low, high = max(part.window.low for part in parts), min(part.window.high for part in parts)
    parts = [narrow(part, Window(low, high)) for part in parts]
    return Counted(Window(low, high), sum(part.below for part in parts), *_together(parts))


def _together(parts: Sequence[Counted]) -> tuple[Array, Array | None]:
    """The values of all parts; where they are many or counted, each once with its number."""
    values = np.concatenate([part.values for part in parts])
    if all(part.counts is None for part in parts):
        return (values, None) if len(values) < MERGED_VALUES else _without_ties(values)
    weights = [np.ones(len(p.values)) if p.counts is None else p.counts for p in parts]
    distinct, inverse = np.unique(values, return_inverse=True)
    # Counts stay far below 2^53, where sums of doubles are exact.
    counts = np.bincount(inverse, weights=np.concatenate(weights), minlength=len(distinct))
    return distinct, None if (counts == 1).all() else counts.astype(np.int64)


def narrow(counted: Counted, window: Window) -> Counted:
    """Keep only what lies inside a window, too."""
    low, high = max(counted.window.low, window.low), min(counted.window.high, window.high)
    if counted.window == (low, high):
        return counted
    inside = _inside(counted.values, Window(low, high), counted.counts)
    return replace(inside, below=counted.below + inside.below)


def order_statistics(counted: Counted, ranks: Sequence[int]) -> list[float | None]:
    """The values of 1-based ranks; None for one outside the window."""
    places = [rank - counted.below - 1 for rank in ranks]
    if counted.counts is None:
        values, n = counted.values, len(counted.values)
        inside = [place for place in places if 0 <= place < n]
        if inside:
            # Ranks that are asked for lie close together.
            ends = min(inside), max(inside)
            values = np.partition(values, ends)
            values[ends[0] : ends[1]].sort()
    else:
        order = np.argsort(counted.values)
        values, upto = counted.values[order], np.cumsum(counted.counts[order])
        found = np.searchsorted(upto, places, "right").tolist()
        places = [place if place < 0 else at for place, at in zip(places, found, strict=True)]
        n = len(values)
    # Which of the two zeros comes first depends on the other values; adding one gives the same.
    return [float(values[place]) + 0.0 if 0 <= place < n else None for place in places]


def bracket(counted: Counted, m: int, ranks: Sequence[int], n: int, room: float) -> Window:
    """Where the order statistics of some ranks among n lie, judging by m values.

    `room` is in standard errors of a sample quantile.
    """
    if not ranks or m == 0:
        return counted.window
    low, high = order_statistics(counted, _around(m, ranks, n, room))
    return Window(
        counted.window.low if low is None else low, counted.window.high if high is None else high
    )


def bracket_by_sample(values: Array, ranks: Sequence[int], n: int, room: float) -> Window:
    """The same, judging by a sample of some values; everything where they are few."""
    if len(values) <= KEPT_VALUES or not ranks:
        return EVERYTHING
    sample = values[::SAMPLED]
    m = len(sample)
    low, high = _around(m, ranks, n, room)
    inside = [rank - 1 for rank in (low, high) if 1 <= rank <= m]
    sample = np.partition(sample, inside) if inside else sample
    return Window(
        float(sample[low - 1]) if low >= 1 else -np.inf,
        float(sample[high - 1]) if high <= m else np.inf,
    )


def _around(m: int, ranks: Sequence[int], n: int, room: float) -> tuple[int, int]:
    """Ranks among m values that the wanted ones among n correspond to, with room on either side."""
    around = margin(m, room) + 1
    return floor(min(ranks) / n * m - around), ceil(max(ranks) / n * m + around)


def margin(m: int, room: float) -> float:
    """`room` standard errors of the number of m values that lie below a median."""
    return room * sqrt(m) / 2


def total(where: Array, weights: Array | None) -> int:
    """How many values a mask holds, each of them once, or as often as `weights` say."""
    return int(np.count_nonzero(where) if weights is None else weights[where].sum())
