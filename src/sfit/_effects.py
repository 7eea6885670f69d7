"""Mean losses, moved rows, better and worse rows: what every test reports besides its p-value."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

import numpy as np

from sfit._array import Array
from sfit._contrast import Effects, Losses
from sfit._select import total

DIGITS = 10
"""Significant digits of a mean loss: the last ones depend on the order of summation."""


class EffectTally(NamedTuple):
    """Counts and sums of some rows."""

    n_rows: int
    n_moved: int
    n_better: int
    n_worse: int
    sums: Array
    """Losses of the base and the full side, one pair of sums per tile."""


def describe(losses: Losses) -> EffectTally:
    """The counts and sums of one tile."""
    base, full, counts, moved = losses
    n_rows = len(base) if counts is None else int(counts.sum())
    if full is base:
        sums = np.array([[base.sum()] * 2])
        return EffectTally(n_rows, 0 if moved is not None else n_rows, 0, 0, sums)
    n_better = total(full < base, counts)
    totals = [side.sum() if counts is None else side @ counts for side in (base, full)]
    return EffectTally(
        n_rows=n_rows,
        n_moved=n_rows if moved is None else total(moved, counts),
        n_better=n_better,
        n_worse=total(full > base, counts),
        sums=np.array([totals]),
    )


def merge(tallies: Sequence[EffectTally]) -> EffectTally:
    """The counts and sums of several tiles."""
    return EffectTally(
        n_rows=sum(tally.n_rows for tally in tallies),
        n_moved=sum(tally.n_moved for tally in tallies),
        n_better=sum(tally.n_better for tally in tallies),
        n_worse=sum(tally.n_worse for tally in tallies),
        sums=np.concatenate([tally.sums for tally in tallies]),
    )


def conclude(tally: EffectTally) -> Effects:
    """The figures of all rows."""
    n = tally.n_rows
    # fsum rounds once, so the order in which tiles arrive does not matter.
    base, full = (fsum(column) / n if n else np.nan for column in tally.sums.T.tolist())
    return Effects(
        loss_base=rounded(base),
        loss_full=rounded(full),
        share_moved=tally.n_moved / n if n else 0.0,
        n_better=tally.n_better,
        n_worse=tally.n_worse,
    )


def rounded(value: float) -> float:
    """A number without the digits that depend on the order of summation."""
    return float(f"{value:.{DIGITS}g}")
