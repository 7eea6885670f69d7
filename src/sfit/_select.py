"""Exact order statistics over many tiles, without keeping the values.

One tile brackets what is wanted: the values of a given rank, and some room on either side. Every tile
then counts what lies below the window and keeps what lies inside it. When a wanted rank falls outside
after all, the caller asks again with more room; the answer is exact either way.
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


@dataclass(frozen=True)
class Counted:
    """What a run of values says about a window: the number below, and the distinct values inside."""

    below: int
    values: Array
    counts: Array


def window_around(sample: Array, ranks: Sequence[int], n: int, room: float) -> Window:
    """Where the values of some ranks among n lie, judging by a sample of them.

    `room` is in standard errors of a sample quantile.
    """
    m = len(sample)
    if m == n or m == 0 or not ranks:
        return EVERYTHING
    ordered = np.sort(sample)
    margin = room * np.sqrt(m) / 2 + 1
    low = int(np.floor(min(ranks) / n * m - margin))
    high = int(np.ceil(max(ranks) / n * m + margin))
    return Window(
        float(ordered[low]) if low >= 0 else -np.inf,
        float(ordered[high]) if high < m else np.inf,
    )


def count(values: Array, window: Window) -> Counted:
    """Count and keep, for one run of values."""
    if window == EVERYTHING:
        below, inside = 0, values
    else:
        below = int(np.count_nonzero(values < window.low))
        inside = values[(values >= window.low) & (values <= window.high)]
    distinct, counts = np.unique(inside, return_counts=True)
    return Counted(below, distinct, counts)


def merge(parts: Sequence[Counted]) -> Counted:
    """What all runs say together; the order of the runs does not matter."""
    if len(parts) == 1:
        return parts[0]
    values, inverse = np.unique(np.concatenate([p.values for p in parts]), return_inverse=True)
    counts = np.bincount(
        inverse, weights=np.concatenate([p.counts for p in parts]), minlength=len(values)
    )
    return Counted(sum(p.below for p in parts), values, counts.astype(np.int64))


def order_statistic(counted: Counted, rank: int) -> float | None:
    """The value of a 1-based rank; None when it lies outside the window."""
    upto = counted.below + np.cumsum(counted.counts)
    if rank <= counted.below or not len(upto) or rank > upto[-1]:
        return None
    return float(counted.values[np.searchsorted(upto, rank)])
