"""The sign test as a statistic: counts, and order statistics of the differences where they matter.

A tally describes a run of rows; tallies of tiles merge into the tally of all rows, and everything
that is ever reported about a contrast follows from it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from sfit._arguments import check_callable, check_choice, check_level, check_validation
from sfit._contrast import Evidence, Losses, Question, delta, relative_improvement
from sfit._packed import pack, unpack
from sfit._select import (
    EVERYTHING,
    NOT_LOOKED_FOR,
    NOTHING,
    NOWHERE,
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
from sfit._sign_test import INTERVALS, Ranks, median_ranks, p_value, ranks, too_few_rows
from sfit._tally import Tally
from sfit.exceptions import ArgumentError

_ABOVE_ZERO = float(np.nextafter(0.0, 1.0))

FIRST_MARGIN, MARGIN_GROWTH = 4.0, 4.0
"""Brackets leave this many standard errors on either side, and more each time one has missed."""


class Focus(NamedTuple):
    """Where to look for the wanted order statistics of delta and of rho."""

    delta: Window
    rho: Window
    n_se: float
    """Standard errors that a bracket leaves on either side."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SignTest:
    r"""The sign test of the paper, with its options: pass it as ``test=``.

    Parameters
    ----------
    interval : {"exact", "asymptotic"}, default="exact"
        Interval of the median: with guaranteed coverage, or as printed in the paper.
    validation : tuple (X, y), optional
        Rows on which ``beta="auto"`` chooses beta; refused with any other beta.
    validation_fraction : float, default=0.5
        The share of the rows set aside for that choice, where there is no `validation`.
    random_model : callable, optional
        ``rng -> model``: draws the random models for ``beta="auto"``. By default copies of the
        model with random parameters. Refused with any other beta.

    Notes
    -----
    The null hypothesis is :math:`\mathrm{median}(\Delta) \le 0`. The number of positive differences
    is then at most binomial with probability 1/2, whatever the data: section 2.2 of the paper.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> printed = sfit.SignTest(interval="asymptotic")
    >>> sfit.feature_significance(sfit.simulate.interactions_mean, X, y, test=printed).selected
    ('X1', 'X3')
    """

    interval: str = "exact"
    validation: tuple[Any, Any] | None = None
    validation_fraction: float = 0.5
    random_model: Callable[[np.random.Generator], Any] | None = None

    def __post_init__(self) -> None:
        check_choice(self.interval, "interval", INTERVALS)
        fraction = check_level(self.validation_fraction, "validation_fraction")
        object.__setattr__(self, "validation_fraction", fraction)
        check_callable(self.random_model, "random_model")
        if self.validation is not None:
            check_validation(self.validation)

    def identity(self) -> dict[str, Any]:
        """The options that a checkpoint must know; validation rows are known by their values."""
        names = ("interval", "validation_fraction", "random_model")
        return {name: getattr(self, name) for name in names}

    def at(self, alpha: float) -> SignStatistic:
        """The statistic at a level."""
        return SignStatistic(alpha, self.interval)


def as_test(test: Any) -> SignTest:
    """The test that a name stands for, or the user's own."""
    if isinstance(test, SignTest):
        return test
    if isinstance(test, str) and test == "sign":
        return SignTest()
    raise ArgumentError(f"test must be 'sign' or a test such as sfit.SignTest(...); got {test!r}.")


@dataclass(frozen=True)
class SignStatistic:
    """The sign test of section 2.2 at one level."""

    alpha: float
    interval: str = "exact"
    only_beta_max: bool = False
    """Compute beta_max alone, and neither the median nor its interval; beta is 0 then."""

    def ranks(self, n: int) -> Ranks:
        """Ranks of the interval ends, the one-sided bound and the critical count of n units."""
        return ranks(n, self.alpha, self.interval)

    def start(self, attempt: int) -> Focus:
        """Look everywhere; `attempt` counts the passes in which a bracket missed."""
        return Focus(EVERYTHING, EVERYTHING, FIRST_MARGIN * MARGIN_GROWTH**attempt)

    def tally(self, question: Question, losses: Losses, focus: Focus) -> Tally:
        """Count the rows of one tile.

        Where no earlier tile has bracketed the order statistics, this tile brackets its own.
        """
        base, full, counts = losses
        n = len(base) if counts is None else int(counts.sum())
        n_better = total(full < base, counts)
        n_improvable = total(base != 0, counts)
        for_delta, for_rho, n_se = focus
        for_itself = counts is None and for_rho == EVERYTHING
        if for_itself and not self._may_improve(question, n_better, n, n_se):
            for_itself, for_rho = False, NOWHERE
        if self.only_beta_max and for_rho == NOWHERE:
            # At beta = 0 the rows that count are those whose loss is smaller.
            return Tally(n, n_better, n_better, n_improvable, NOTHING, NOT_LOOKED_FOR)
        rho = relative_improvement(base, full)
        positive = rho > question.contrast.beta
        kept = NOTHING
        if not self.only_beta_max:
            differences = delta(base, full, positive, question.contrast.beta)
            if counts is None and for_delta == EVERYTHING:
                wanted = self._delta_ranks(question.n)
                for_delta = bracket_by_sample(differences, wanted, question.n, n_se)
            kept = count(differences, for_delta, counts)
        rho_ranks = self._rho_ranks(question.n)
        if for_itself:
            for_rho = _improving(bracket_by_sample(rho, rho_ranks, question.n, n_se))
        return Tally(
            n,
            total(positive, counts),
            n_better,
            n_improvable,
            kept,
            count(rho, for_rho, counts) if rho_ranks else NOTHING,
        )

    def merge(self, question: Question, tallies: Sequence[Tally], focus: Focus) -> Tally:
        """Add up the tallies of some tiles, and keep only what may hold an order statistic."""
        n = sum(one.n for one in tallies)
        for_delta = merge([one.delta for one in tallies])
        for_rho = merge([one.rho for one in tallies])
        if n < question.n:
            n_se = focus.n_se * sqrt(_overdispersion(tallies))
            window = bracket(for_delta, n, self._delta_ranks(question.n), question.n, n_se)
            for_delta = narrow(for_delta, window)
            window = bracket(for_rho, n, self._rho_ranks(question.n), question.n, n_se)
            for_rho = narrow(for_rho, _improving(window))
        return Tally(
            n,
            sum(one.n_positive for one in tallies),
            sum(one.n_better for one in tallies),
            sum(one.n_improvable for one in tallies),
            for_delta,
            for_rho,
        )

    def refocus(self, focus: Focus, seen: Tally) -> Focus:
        """Look where the tiles seen so far bracket the order statistics."""
        return Focus(seen.delta.window, seen.rho.window, focus.n_se)

    def conclude(self, question: Question, seen: Tally) -> Evidence | None:
        """What all rows say about a question; None when a bracket missed."""
        wanted, rho_ranks = self._delta_ranks(question.n), self._rho_ranks(question.n)
        values = order_statistics(seen.delta, wanted)
        if None in values:
            return None
        level = self.ranks(question.n)
        beta_max = np.nan
        if seen.n_better >= level.critical and rho_ranks:
            [threshold] = order_statistics(seen.rho, rho_ranks)
            if threshold is None:
                return None
            beta_max = threshold
        # Ranks that are not wanted have no value; rank 0 stands for an infinite end.
        found: dict[int, Any] = defaultdict(lambda: np.nan, zip(wanted, values, strict=True))
        if not self.only_beta_max:
            found[0] = -np.inf
        low, high = median_ranks(question.n)
        return Evidence(
            n=question.n,
            n_positive=seen.n_positive,
            n_improvable=seen.n_improvable,
            statistic=(found[low] + found[high]) / 2,
            ci_low=found[level.low],
            ci_high=found[level.high] if level.high else -found[0],
            ci_lower=found[level.lower],
            beta_max=beta_max,
        )

    def p_values(self, evidence: Sequence[Evidence]) -> Any:
        """The p-value of each piece of evidence (Algorithm 1)."""
        return p_value([one.n_positive for one in evidence], [one.n for one in evidence])

    def weakest(self, evidence: Sequence[Evidence]) -> int:
        """Position of the evidence with the largest p-value, the first of several."""
        return int(np.argmin([one.n_positive for one in evidence]))

    def too_few(self, n: int) -> tuple[str, ...]:
        """Caveats about a number of units that is too small for this level."""
        return too_few_rows(n, self.alpha, self.ranks(n))

    def cannot_reject(self, evidence: Sequence[Evidence], loss: str) -> tuple[str, ...]:
        """The caveat that no contrast of this base can be significant, where none can."""
        n, critical = evidence[0].n, self.ranks(evidence[0].n).critical
        n_improvable = max(one.n_improvable for one in evidence)
        if n_improvable >= critical or critical > n:
            return ()
        remedy = (
            "use a loss that grades predictions, such as 'log_loss'"
            if loss == "zero_one"
            else "choose another reference, because at this one the model predicts all other rows "
            "without error"
        )
        return (
            f"the base has a loss above zero on {n_improvable:,} rows, and at least {critical:,} "
            f"would have to improve, so nothing can be significant: {remedy}.",
        )

    def pack(self, tallies: Sequence[Tally]) -> bytes:
        """Tallies as a checkpoint stores them."""
        return pack(tallies)

    def unpack(self, data: bytes, n_tallies: int) -> list[Tally]:
        """Tallies from a checkpoint; a ValueError where the data hold anything else."""
        return unpack(data, n_tallies)

    def _delta_ranks(self, n: int) -> list[int]:
        """Ranks of delta that are reported: the interval's ends and the median."""
        if self.only_beta_max:
            return []
        level = self.ranks(n)
        wanted = (level.low, level.high, level.lower, *median_ranks(n))
        return [rank for rank in wanted if rank]

    def _rho_ranks(self, n: int) -> list[int]:
        """The rank of rho that is beta_max, the c-th largest of n; none where c > n."""
        lower = self.ranks(n).lower
        return [lower] if lower else []

    def _may_improve(self, question: Question, n_better: int, m: int, n_se: float) -> bool:
        """Whether enough of all rows may improve for a beta_max, judging by m of them."""
        critical = self.ranks(question.n).critical
        if m == question.n:
            return n_better >= critical
        return n_better + margin(m, n_se) >= critical / question.n * m


def _improving(window: Window) -> Window:
    """Only improvements matter for beta_max: where the c-th largest is none, it is not a number."""
    return Window(max(window.low, _ABOVE_ZERO), window.high)


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
