"""Exact order statistics over many tiles, without keeping the values.

A sample of the first tile brackets what is wanted: the values of a given rank, and some room on
either side. Every tile then counts what lies below the window and keeps what lies inside it. When a
wanted rank falls outside after all, the caller asks again with more room; the answer is exact
either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


class Window(NamedTuple):
    """A closed range of values; outside, values are only counted."""

    low: float
    high: float


EVERYTHING = Window(-np.inf, np.inf)

SORTED_ROWS = 8_192
"""Up to so many values are sorted as they are."""
SAMPLE_ROWS = 16_384
"""Of more values, at most so many are looked at to bracket an order statistic."""


@dataclass(frozen=True)
class Counted:
    """What a run of values says about a window: how many lie below it, and which inside."""

    below: int
    values: Array
    counts: Array


def window_around(values: Array, ranks: Sequence[int], n: int, room: float) -> Window:
    """Where the order statistics of some ranks among n lie, judging by some of the values.

    `room` is in standard errors of a sample quantile.
    """
    if not ranks or len(values) == 0 or (len(values) == n and n <= SORTED_ROWS):
        return EVERYTHING
    sample = np.sort(values[:: -(-len(values) // SAMPLE_ROWS)])
    m = len(sample)
    margin = room * np.sqrt(m) / 2 + 1
    low = int(np.floor(min(ranks) / n * m - margin))
    high = int(np.ceil(max(ranks) / n * m + margin))
    return Window(
        float(sample[low]) if low >= 0 else -np.inf,
        float(sample[high]) if high < m else np.inf,
    )


def count(values: Array, window: Window, weights: Array | None = None) -> Counted:
    """Count and keep, for one run of values (each of them once, or as often as `weights` say)."""
    if weights is not None:
        distinct, inverse = np.unique(values, return_inverse=True)
        return Counted(0, distinct, _weighed(inverse, weights, len(distinct)))
    if window == EVERYTHING:
        below, inside = 0, values
    else:
        at_least = values >= window.low
        below = len(values) - int(np.count_nonzero(at_least))
        inside = values[at_least & (values <= window.high)]
    distinct, counts = np.unique(inside, return_counts=True)
    return Counted(below, distinct, counts)


def merge(parts: Sequence[Counted]) -> Counted:
    """What all runs say together; the order of the runs does not matter."""
    if len(parts) == 1:
        return parts[0]
    values, inverse = np.unique(np.concatenate([p.values for p in parts]), return_inverse=True)
    counts = _weighed(inverse, np.concatenate([p.counts for p in parts]), len(values))
    return Counted(sum(p.below for p in parts), values, counts)


def _weighed(inverse: Array, weights: Array, size: int) -> Array:
    # Counts stay far below 2^53, where sums of doubles are exact.
    return np.bincount(inverse, weights=weights, minlength=size).astype(np.int64)


def order_statistic(counted: Counted, rank: int) -> float | None:
    """The value of a 1-based rank; None when it lies outside the window."""
    upto = counted.below + np.cumsum(counted.counts)
    if rank <= counted.below or not len(upto) or rank > upto[-1]:
        return None
    return float(counted.values[np.searchsorted(upto, rank)])
