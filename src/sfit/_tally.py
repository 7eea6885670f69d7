"""What a run of rows says about a question: counts, and order statistics where they must lie.

Tallies of tiles merge into that of all rows, and everything that is ever reported follows from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from sfit._contrast import Contrast, Evidence, Losses, delta, relative_improvement
from sfit._select import (
    EVERYTHING,
    NOT_LOOKED_FOR,
    NOTHING,
    NOWHERE,
    Counted,
    Window,
    bracket,
    bracket_by_sample,
    count,
    margin,
    merge,
    narrow,
    order_statistics,
    total,
)
from sfit._sign_test import Ranks, median_ranks

_ABOVE_ZERO = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True)
class Question:
    """A contrast, asked of one part of the rows."""

    contrast: Contrast
    part: int
    n: int
    ranks: Ranks
    only_beta_max: bool = False
    """Whether beta_max alone is wanted, and not by how much the loss falls; beta is 0 then."""

    @property
    def delta_ranks(self) -> list[int]:
        """Ranks of delta that are reported: the interval's ends and the median."""
        if self.only_beta_max:
            return []
        wanted = (self.ranks.low, self.ranks.high, self.ranks.lower, *median_ranks(self.n))
        return [rank for rank in wanted if rank]

    @property
    def rho_ranks(self) -> list[int]:
        """The rank of rho that is beta_max, the c-th largest of n; none where c > n."""
        return [self.ranks.lower] if self.ranks.lower else []


Windows = tuple[Window, Window]
"""Where to look for the wanted order statistics of delta and of rho."""


class Tally(NamedTuple):
    """What some rows say about a question."""

    n: int
    n_positive: int
    n_better: int
    """Rows whose loss is smaller on the full side, by however little."""
    n_improvable: int
    delta: Counted
    rho: Counted


def tally(question: Question, losses: Losses, windows: Windows, room: float) -> Tally:
    """Everything that is ever reported comes from these counts and order statistics.

    Where no tile has bracketed them yet, this one does it for itself.
    """
    base, full, counts = losses
    n = len(base) if counts is None else int(counts.sum())
    n_better = total(full < base, counts)
    n_improvable = total(base != 0, counts)
    for_delta, for_rho = windows
    for_itself = counts is None and for_rho == EVERYTHING
    if for_itself and not _may_improve(question, n_better, n, room):
        for_itself, for_rho = False, NOWHERE
    if question.only_beta_max and for_rho == NOWHERE:
        # At beta = 0 the rows that count are those whose loss is smaller.
        return Tally(n, n_better, n_better, n_improvable, NOTHING, NOT_LOOKED_FOR)
    rho = relative_improvement(base, full)
    positive = rho > question.contrast.beta
    kept = NOTHING
    if not question.only_beta_max:
        differences = delta(base, full, positive, question.contrast.beta)
        if counts is None and for_delta == EVERYTHING:
            for_delta = bracket_by_sample(differences, question.delta_ranks, question.n, room)
        kept = count(differences, for_delta, counts)
    if for_itself:
        for_rho = bracket_by_sample(rho, question.rho_ranks, question.n, room)
        for_rho = _improving(for_rho)
    return Tally(
        n,
        total(positive, counts),
        n_better,
        n_improvable,
        kept,
        count(rho, for_rho, counts) if question.rho_ranks else NOTHING,
    )


def _may_improve(question: Question, n_better: int, m: int, room: float) -> bool:
    """Whether enough of all rows may improve for a beta_max, judging by m of them."""
    if m == question.n:
        return n_better >= question.ranks.critical
    return n_better + margin(m, room) >= question.ranks.critical / question.n * m


def _improving(window: Window) -> Window:
    """Only improvements matter for beta_max: where the c-th largest is none, it is not a number."""
    return Window(max(window.low, _ABOVE_ZERO), window.high)


def merged(question: Question, tallies: Sequence[Tally], room: float) -> Tally:
    """What some tiles say together, kept only where the wanted order statistics must lie."""
    n = sum(one.n for one in tallies)
    for_delta = merge([one.delta for one in tallies])
    for_rho = merge([one.rho for one in tallies])
    if n < question.n:
        room *= sqrt(_overdispersion(tallies))
        window = bracket(for_delta, n, question.delta_ranks, question.n, room)
        for_delta = narrow(for_delta, window)
        window = bracket(for_rho, n, question.rho_ranks, question.n, room)
        for_rho = narrow(for_rho, _improving(window))
    return Tally(
        n,
        sum(one.n_positive for one in tallies),
        sum(one.n_better for one in tallies),
        sum(one.n_improvable for one in tallies),
        for_delta,
        for_rho,
    )


def _overdispersion(tallies: Sequence[Tally]) -> float:
    """How much more the tiles differ than random rows would; rows may come in some order."""
    shares = [(s.n_positive, s.n) for s in tallies if s.n]
    n, share = sum(m for _, m in shares), 0.0
    if n:
        share = sum(k for k, _ in shares) / n
    if len(shares) < 2 or share in (0, 1):
        return 1.0
    spread = sum((k - m * share) ** 2 / m for k, m in shares) / (len(shares) - 1)
    return max(1.0, spread / (share * (1 - share)))


def conclude(question: Question, seen: Tally) -> Evidence | None:
    """What is reported of a question; None when a bracket missed."""
    wanted = question.delta_ranks
    values = order_statistics(seen.delta, wanted)
    if None in values:
        return None
    beta_max = np.nan
    if seen.n_better >= question.ranks.critical and question.rho_ranks:
        [threshold] = order_statistics(seen.rho, question.rho_ranks)
        if threshold is None:
            return None
        beta_max = threshold
    # Ranks that are not wanted have no value; rank 0 is an end that is nowhere.
    found: dict[int, Any] = defaultdict(lambda: np.nan, zip(wanted, values, strict=True))
    if not question.only_beta_max:
        found[0] = -np.inf
    low, high = median_ranks(question.n)
    ranks = question.ranks
    return Evidence(
        n=question.n,
        n_positive=seen.n_positive,
        n_improvable=seen.n_improvable,
        statistic=(found[low] + found[high]) / 2,
        ci_low=found[ranks.low],
        ci_high=found[ranks.high] if ranks.high else -found[0],
        ci_lower=found[ranks.lower],
        beta_max=beta_max,
    )
