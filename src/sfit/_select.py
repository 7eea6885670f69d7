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


@dataclass(frozen=True)
class Counted:
    """What some values say about a window: how many lie below it, and which inside."""

    window: Window
    below: int
    values: Array
    """The values inside, in any order."""
    counts: Array | None = None
    """How often each of them occurs; None: once."""


@dataclass(frozen=True)
class Merged(Counted):
    """What `merge` gives: values are sorted and distinct, and can be read by rank."""


NOTHING = Counted(EVERYTHING, 0, np.empty(0))
NOWHERE = Window(np.inf, -np.inf)
"""Where nothing is looked for."""
NOT_LOOKED_FOR = Counted(NOWHERE, 0, np.empty(0))


def count(values: Array, window: Window, weights: Array | None = None) -> Counted:
    """Count and keep, for one run of values (each of them once, or as often as `weights` say)."""
    if window == EVERYTHING:
        return _ties_counted(Counted(window, 0, values, weights), len(values))
    if window.low > window.high:
        # A slice would keep all of the values alive.
        return Counted(window, 0, np.empty(0))
    inside = values >= window.low
    below = total(inside, weights)
    below = (len(values) if weights is None else int(weights.sum())) - below
    inside &= values <= window.high
    kept = None if weights is None else weights.compress(inside)
    return _ties_counted(Counted(window, below, values.compress(inside), kept), len(values))


def merge(parts: Sequence[Counted]) -> Merged:
    """What all runs say together about what their windows have in common.

    Values come out sorted and distinct; the order of the runs does not matter.
    """
    common = Window(max(part.window.low for part in parts), min(part.window.high for part in parts))
    merged = Merged(EVERYTHING, sum(part.below for part in parts), *_distinct(parts))
    if all(part.window == common for part in parts):
        return replace(merged, window=common)
    return narrow(merged, common)


def _distinct(parts: Sequence[Counted]) -> tuple[Array, Array | None]:
    """The values of all parts, sorted, each with its number (None: no two are equal)."""
    values = np.concatenate([part.values for part in parts])
    if all(part.counts is None for part in parts):
        values.sort()
        last = np.ones(len(values), dtype=bool)
        np.not_equal(values[1:], values[:-1], out=last[:-1])
        if last.all():
            return values, None
        return values[last], np.diff(np.flatnonzero(last), prepend=-1)
    weights = [np.ones(len(p.values)) if p.counts is None else p.counts for p in parts]
    distinct, inverse = np.unique(values, return_inverse=True)
    # Counts stay far below 2^53, where sums of doubles are exact.
    counts = np.bincount(inverse, weights=np.concatenate(weights), minlength=len(distinct))
    return distinct, None if (counts == 1).all() else counts.astype(np.int64)


def narrow(merged: Merged, window: Window) -> Merged:
    """Keep only what lies inside a window, too."""
    low, high = max(merged.window.low, window.low), min(merged.window.high, window.high)
    first = int(np.searchsorted(merged.values, low, "left"))
    last = max(first, int(np.searchsorted(merged.values, high, "right")))
    counts = merged.counts
    return Merged(
        Window(low, high),
        merged.below + (first if counts is None else int(counts[:first].sum())),
        merged.values[first:last],
        None if counts is None else counts[first:last],
    )


def order_statistics(merged: Counted, ranks: Sequence[int]) -> list[float | None]:
    """The values of 1-based ranks; None for one outside the window."""
    if not isinstance(merged, Merged):
        raise TypeError("order statistics are read from what merge gives")
    places = [rank - merged.below - 1 for rank in ranks]
    kept = len(merged.values)
    if merged.counts is not None and kept:
        upto = np.cumsum(merged.counts)
        found = np.searchsorted(upto, places, "right").tolist()
        places = [place if place < 0 else at for place, at in zip(places, found, strict=True)]
    return [float(merged.values[place]) if 0 <= place < kept else None for place in places]


def bracket(merged: Merged, m: int, ranks: Sequence[int], n: int, room: float) -> Window:
    """Where the order statistics of some ranks among n lie, judging by m values.

    `room` is in standard errors of a sample quantile.
    """
    if not ranks or m == 0:
        return merged.window
    low, high = order_statistics(merged, _around(m, ranks, n, room))
    return Window(
        merged.window.low if low is None else low, merged.window.high if high is None else high
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


def _ties_counted(counted: Counted, n: int) -> Counted:
    """Ties are counted, not repeated, where much would be kept: a loss may take few values."""
    if counted.counts is not None or len(counted.values) <= max(KEPT_VALUES, n // KEPT_SHARE):
        return counted
    return Counted(counted.window, counted.below, *np.unique(counted.values, return_counts=True))


def total(where: Array, weights: Array | None) -> int:
    """How many values a mask holds, each of them once, or as often as `weights` say."""
    return int(np.count_nonzero(where) if weights is None else weights[where].sum())
