"""The summary of some rows for a contrast, under the sign test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sfit import _packed
from sfit._effects import EffectTally
from sfit._select import Counted, Window


class Tally(NamedTuple):
    """Counts of some rows, and their differences within the windows of a focus."""

    n: int
    """Rows that count; with ``ties="drop"``, those whose prediction moves."""
    n_positive: int
    n_better: int
    """Rows whose loss is smaller on the full side, by any amount."""
    n_improvable: int
    delta: Counted
    rho: Counted
    effects: EffectTally


def pack(tallies: Sequence[Tally]) -> bytes:
    """Tallies as bytes."""
    integers: list[Any] = []
    floats: list[Any] = []
    for tally in tallies:
        *counts, sums = tally.effects
        integers += [tally[:4], counts, len(sums)]
        floats.append(sums)
        for counted in (tally.delta, tally.rho):
            integers.append([counted.below, len(counted.values), counted.counts is not None])
            if counted.counts is not None:
                integers.append(counted.counts)
            floats += [counted.window, counted.values]
    return _packed.pack(integers, floats)


def unpack(data: bytes, n_tallies: int) -> list[Tally]:
    """`n_tallies` tallies from bytes; raise ValueError if the bytes hold anything else."""
    integers, floats = _packed.unpack(data)
    tallies = []
    for _ in range(n_tallies):
        n, n_positive, n_better, n_improvable = integers.take(4).tolist()
        n_rows, n_moved, better, n_worse, n_sums = integers.take(5).tolist()
        sums = floats.take(2 * n_sums).reshape(-1, 2)
        effects = EffectTally(n_rows, n_moved, better, n_worse, sums)
        counted = []
        for _side in range(2):
            below, size, weighed = integers.take(3).tolist()
            counts = integers.take(size) if weighed else None
            low, high = floats.take(2).tolist()
            counted.append(Counted(Window(low, high), below, floats.take(size), counts))
        delta, rho = counted
        tallies.append(Tally(n, n_positive, n_better, n_improvable, delta, rho, effects))
    integers.finish()
    floats.finish()
    return tallies


NO_EFFECTS = EffectTally(0, 0, 0, 0, np.empty((0, 2)))
"""Of a statistic that computes beta_max only."""
