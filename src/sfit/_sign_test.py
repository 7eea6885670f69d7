"""The sign test as a statistic of tiles: counts, and the order statistics that are reported.

A tally summarises some rows. The tallies of all tiles merge into one, which determines everything
that is reported about a contrast.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfit._arguments import check_callable, check_choice, check_level, check_validation
from sfit._array import Array
from sfit._binomial import INTERVALS, Ranks, median_ranks, p_value, ranks, too_few_units
from sfit._contrast import Contrast, Evidence, Losses, Question, delta, relative_improvement
from sfit._diagnostics import diagnose
from sfit._effects import conclude, describe
from sfit._effects import merge as merge_effects
from sfit._options import Asked
from sfit._select import (
    EMPTY_WINDOW,
    EVERYTHING,
    NO_RANKS,
    SKIPPED,
    Window,
    between,
    bracket,
    bracket_by_sample,
    count,
    margin,
    merge,
    narrow,
    order_statistics,
    total,
)
from sfit._set_tests import AnySetTest, GateTest, SetTest
from sfit._statistic import Scored
from sfit._tally import NO_EFFECTS, Tally, pack, unpack
from sfit.exceptions import ArgumentError

TIES = ("keep", "drop")

DEFAULT_BETA = 0.01
"""The smallest relative improvement that counts, by default."""

_ABOVE_ZERO = float(np.nextafter(0.0, 1.0))

FIRST_MARGIN, MARGIN_GROWTH = 4.0, 4.0
"""Margin of a bracket in standard errors, and its growth each time a bracket has missed."""


class Focus(NamedTuple):
    """The windows that are searched for order statistics of delta and of rho."""

    delta: Window
    rho: Window
    n_se: float
    """Margin of a bracket on either side, in standard errors."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SignTest:
    r"""Options of the paper's sign test; pass an instance as ``test=``.

    Parameters
    ----------
    interval : {"exact", "asymptotic"}, default="exact"
        Confidence interval of the median: exact, with guaranteed coverage, or asymptotic, as
        printed in the paper.
    ties : {"keep", "drop"}, default="keep"
        Rows whose prediction does not move: `"keep"` counts them as not improved, as the paper
        does; `"drop"` tests only the rows whose prediction moves.
    validation : tuple (X, y), optional
        Rows on which ``beta="auto"`` chooses beta. An error with any other beta.
    validation_fraction : float, default=0.5
        Without `validation`, the share of the rows that ``beta="auto"`` sets aside.
    random_model : callable, optional
        ``rng -> model``: draws a random model for ``beta="auto"``. By default, a copy of the model
        with random parameters. An error with any other beta.

    See Also
    --------
    PermutationTest : The test of any relation to the outcome.
    MeanTest : The test of the mean loss.
    feature_significance : The call that takes this object.

    Notes
    -----
    The null hypothesis is :math:`\mathrm{median}(\Delta) \le 0`. Under it, the number of positive
    differences is stochastically at most binomial with probability 1/2, whatever the distribution
    of the data: section 2.2 of the paper. With ``ties="drop"`` the null hypothesis is: among the
    rows whose prediction moves, the median improvement is at most 0. Given these rows, the test is
    exact for the same reason.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> printed = sfit.SignTest(interval="asymptotic")
    >>> sfit.feature_significance(sfit.simulate.interactions_mean, X, y, test=printed).selected
    ('X1', 'X3')
    """

    key: ClassVar[str] = "sign"
    """Its name as an argument."""
    random: ClassVar[bool] = False
    """Whether the test draws random numbers."""
    paired: ClassVar[bool] = True
    """Whether the test compares the losses of two sides, row by row."""
    has_beta: ClassVar[bool] = True
    """Whether the test has a smallest relative improvement that counts."""
    over_folds: ClassVar[bool] = True
    """Whether `cross_significance` can combine the test over folds."""

    interval: str = "exact"
    ties: str = "keep"
    validation: tuple[Any, Any] | None = None
    validation_fraction: float = 0.5
    random_model: Callable[[np.random.Generator], Any] | None = None

    def __post_init__(self) -> None:
        check_choice(self.interval, "interval", INTERVALS)
        check_choice(self.ties, "ties", TIES)
        fraction = check_level(self.validation_fraction, "validation_fraction")
        object.__setattr__(self, "validation_fraction", fraction)
        check_callable(self.random_model, "random_model")
        if self.validation is not None:
            check_validation(self.validation)

    def identity(self) -> dict[str, Any]:
        """The options that identify a run; its validation rows are identified by their values.

        Returns
        -------
        dict
            From the name of an option to its value.
        """
        names = ("interval", "ties", "validation_fraction", "random_model")
        return {name: getattr(self, name) for name in names}

    def check(self, request: Asked) -> None:
        """Refuse arguments that the sign test does not understand.

        Parameters
        ----------
        request : Asked
            The arguments of the call.
        """
        if request.row_order is not None:
            raise ArgumentError(
                f"row_order={request.row_order!r} needs test='permutation': the sign test counts "
                "rows as if they were independent. Use test='permutation', or name periods of time "
                "that are independent of each other with clusters=."
            )
        if request.betas is not None:
            beta = DEFAULT_BETA if request.beta is None else request.beta
            only = f"is used only with beta='auto', but beta is {beta!r}"
            refuse_unused(self, f"{only}: omit {{name}}, or pass beta='auto'.")

    def at(self, alpha: float) -> SignStatistic:
        """The statistic at a level.

        Parameters
        ----------
        alpha : float
            The level.

        Returns
        -------
        SignStatistic
            Turns the losses of a contrast into evidence.
        """
        return SignStatistic(alpha, self.interval, self.ties)


def refuse_unused(test: Any, reason: str) -> None:
    """Refuse the options of a sign test that only the choice of beta uses."""
    for name in ("validation", "random_model"):
        if getattr(test, name) is not None:
            raise ArgumentError(f"{name} {reason.format(name=name)}")


@dataclass(frozen=True)
class SignEvidence(Evidence):
    """What the sign test reports of a contrast; without the median if only beta_max is wanted."""

    n_positive: int
    n_negative: int
    """Units whose loss is larger on the full side."""
    n_improvable: int
    """Rows with a nonzero base loss; no other row can count as positive."""
    statistic: float
    ci_low: float
    ci_high: float
    ci_lower: float
    beta_max: float

    @property
    def estimate(self) -> float:
        """The effect that a gate reports: the median difference."""
        return self.statistic


@dataclass(frozen=True)
class SignStatistic:
    """The sign test of section 2.2 at one level."""

    alpha: float
    interval: str = "exact"
    ties: str = "keep"
    only_beta_max: bool = False
    """Compute beta_max only, without the median and its interval; requires beta = 0."""

    ordered: ClassVar[bool] = False
    by_row: ClassVar[bool] = False
    any_function: ClassVar[bool] = False
    has_gates: ClassVar[bool] = True
    name: ClassVar[str] = "SFIT (Horel and Giesecke)"
    units: ClassVar[str] = "rows"
    """What the test counts."""

    def ranks(self, n: int) -> Ranks:
        """Ranks of the interval ends, the one-sided bound and the critical count of n units."""
        return ranks(n, self.alpha, self.interval)

    def n_numbers(self, question: Question) -> int:
        """A tally keeps few numbers."""
        return 0

    def start(self, attempt: int) -> Focus:
        """Search everywhere; `attempt` counts the passes in which a bracket missed."""
        return Focus(EVERYTHING, EVERYTHING, FIRST_MARGIN * MARGIN_GROWTH**attempt)

    def tally(self, scored: Iterable[Scored], focus: Sequence[Focus]) -> dict[int, Tally]:
        """Count the rows of one tile, for each position among the questions."""
        tallies: dict[int, Tally] = {}
        of_ignored: dict[Any, Tally] = {}
        for position, question, losses, *_ in scored:
            if losses.full is not losses.base:
                tallies[position] = self.tally_rows(question, losses, focus[position])
                continue
            # All features that the model ignores have the same tally.
            key = question.part, question.n, question.contrast.beta, focus[position]
            if key not in of_ignored:
                of_ignored[key] = self.tally_rows(question, losses, focus[position])
            tallies[position] = of_ignored[key]
        return tallies

    def tally_rows(self, question: Question, losses: Losses, focus: Focus) -> Tally:
        """Count the rows of one tile for one question.

        If no earlier tile has bracketed the order statistics, this tile brackets them itself.
        """
        effects = NO_EFFECTS if self.only_beta_max else describe(losses)
        # Nothing is left to merge with the tally of a tile that holds all rows.
        is_all = _n_rows(losses) == self._n_all(question)
        base, full, counts, _ = losses = self._counted(losses)
        n = _n_rows(losses)
        expected = self._expected(question, n, effects.n_rows)
        n_better = total(full < base, counts) if self.only_beta_max else effects.n_better
        n_improvable = total(base != 0, counts)
        for_delta, for_rho, n_se = focus
        for_itself = counts is None and for_rho == EVERYTHING
        if for_itself and not self._may_improve(n_better, n, expected, n_se):
            for_itself, for_rho = False, EMPTY_WINDOW
        if self.only_beta_max and for_rho == EMPTY_WINDOW:
            # At beta = 0 a row counts as positive if its loss is smaller.
            return Tally(n, n_better, n_better, n_improvable, NO_RANKS, SKIPPED, effects)
        rho = relative_improvement(base, full)
        positive = rho > question.contrast.beta
        counted = NO_RANKS
        if not self.only_beta_max:
            differences = delta(base, full, positive, question.contrast.beta)
            if counts is None and for_delta == EVERYTHING:
                wanted = self._delta_ranks(expected)
                for_delta = bracket_by_sample(differences, wanted, expected, n_se)
            counted = count(differences, for_delta, counts)
            counted = between(counted, self._delta_ranks(n)) if is_all else counted
        rho_ranks = self._rho_ranks(expected)
        if for_itself:
            for_rho = _improving(bracket_by_sample(rho, rho_ranks, expected, n_se))
        of_rho = count(rho, for_rho, counts) if rho_ranks else NO_RANKS
        of_rho = between(of_rho, rho_ranks) if is_all else of_rho
        n_positive = total(positive, counts)
        return Tally(n, n_positive, n_better, n_improvable, counted, of_rho, effects)

    def _counted(self, losses: Losses) -> Losses:
        """The losses that count: of all rows, or of those whose prediction moves."""
        base, full, counts, moved = losses
        if self.ties == "keep" or moved is None:
            return losses
        return Losses(base[moved], full[moved], None if counts is None else counts[moved])

    def _n_all(self, question: Question) -> int:
        """How many rows the tallies that will be merged hold together."""
        return question.n

    def _expected(self, question: Question, n: int, n_rows: int) -> int:
        """How many of all rows will count, if they do in the proportion seen so far."""
        n_all = self._n_all(question)
        if self.ties == "keep" or n_rows == 0:
            return n_all
        return round(n_all * n / n_rows)

    def merge(self, question: Question, tallies: Sequence[Tally], focus: Focus) -> Tally:
        """Merge the tallies of some tiles; keep only values inside the narrowed brackets."""
        n = sum(one.n for one in tallies)
        if len(tallies) == 1 and n == self._expected(question, n, tallies[0].effects.n_rows):
            return tallies[0]
        for_delta = merge([one.delta for one in tallies])
        for_rho = merge([one.rho for one in tallies])
        effects = merge_effects([one.effects for one in tallies])
        expected = self._expected(question, n, effects.n_rows)
        if n < expected:
            n_se = focus.n_se * sqrt(_overdispersion(tallies))
            window = bracket(for_delta, n, self._delta_ranks(expected), expected, n_se)
            for_delta = narrow(for_delta, window)
            window = bracket(for_rho, n, self._rho_ranks(expected), expected, n_se)
            for_rho = narrow(for_rho, _improving(window))
        return Tally(
            n,
            sum(one.n_positive for one in tallies),
            sum(one.n_better for one in tallies),
            sum(one.n_improvable for one in tallies),
            for_delta,
            for_rho,
            effects,
        )

    def refocus(self, focus: Focus, seen: Tally) -> Focus:
        """Search only the brackets that the tiles so far give."""
        return Focus(seen.delta.window, seen.rho.window, focus.n_se)

    def conclude(self, question: Question, seen: Tally) -> SignEvidence | None:
        """The evidence of all rows; None if a bracket missed."""
        n = self._expected(question, seen.n, seen.effects.n_rows)
        effects = conclude(seen.effects)
        if n == 0:
            nothing = np.nan, -np.inf, np.inf, -np.inf, np.nan
            return SignEvidence(n, effects, 0, 0, seen.n_improvable, *nothing)
        wanted, rho_ranks = self._delta_ranks(n), self._rho_ranks(n)
        values = order_statistics(seen.delta, wanted)
        if None in values:
            return None
        level = self.ranks(n)
        beta_max = np.nan
        if seen.n_better >= level.critical and rho_ranks:
            [threshold] = order_statistics(seen.rho, rho_ranks)
            if threshold is None:
                return None
            beta_max = threshold
        # A rank that is not wanted has no value; rank 0 stands for an infinite end.
        by_rank: dict[int, Any] = defaultdict(lambda: np.nan, zip(wanted, values, strict=True))
        if not self.only_beta_max:
            by_rank[0] = -np.inf
        low, high = median_ranks(n)
        return SignEvidence(
            n=n,
            effects=effects,
            n_positive=seen.n_positive,
            n_negative=effects.n_worse,
            n_improvable=seen.n_improvable,
            statistic=(by_rank[low] + by_rank[high]) / 2,
            ci_low=by_rank[level.low],
            ci_high=by_rank[level.high] if level.high else -by_rank[0],
            ci_lower=by_rank[level.lower],
            beta_max=beta_max,
        )

    def n_bases(self, order: int) -> int:
        """All proper subsets: whether a set improves on one says nothing about the others."""
        return 2**order - 1

    def p_values(self, evidence: Sequence[SignEvidence]) -> Any:
        """The p-value of each piece of evidence (Algorithm 1)."""
        return p_value([one.n_positive for one in evidence], [one.n for one in evidence])

    def weakest(
        self, evidence: Sequence[SignEvidence], p_values: Array
    ) -> tuple[int, SignEvidence]:
        """The evidence with the largest p-value and its position; the first if several are equal.

        A set is significant while all its contrasts are, so its beta_max is the smallest of theirs
        (NaN: one is not significant even at beta = 0).
        """
        if len(evidence) == 1:
            return 0, evidence[0]
        position = int(np.argmin([one.n_positive for one in evidence]))
        beta_max = float(np.min([one.beta_max for one in evidence]))
        return position, replace(evidence[position], beta_max=beta_max)

    def record(
        self,
        contrast: Contrast,
        term: tuple[str, ...],
        base: tuple[str, ...],
        evidence: SignEvidence,
        p: float,
        adjusted: float,
    ) -> SetTest:
        """The reported test of a set."""
        return SetTest(
            order=contrast.order,
            term=term,
            base=base,
            statistic=evidence.statistic,
            ci_low=evidence.ci_low,
            ci_high=evidence.ci_high,
            ci_lower=evidence.ci_lower,
            p_value=float(p),
            p_adjusted=float(adjusted),
            significant=bool(adjusted < self.alpha),
            n_positive=evidence.n_positive,
            n=evidence.n,
            beta=contrast.beta,
            beta_max=evidence.beta_max,
            **vars(evidence.effects),
        )

    def coverage(self, n: int) -> float:
        """Coverage of the interval of n units."""
        return self.ranks(n).coverage

    def too_few(self, n: int) -> tuple[str, ...]:
        """Caveats about a number of units that is too small for this level."""
        return too_few_units(n, self.alpha, self.ranks(n), self.units)

    def caveats(self, evidence: Sequence[SignEvidence], loss: str) -> tuple[str, ...]:
        """The caveat that no contrast of this base can be significant, if that is so."""
        # Sets that drop ties count different numbers of rows.
        critical_of = {one.n: self.ranks(one.n).critical for one in evidence}
        if any(
            one.n_improvable >= critical_of[one.n] or critical_of[one.n] > one.n for one in evidence
        ):
            return ()
        n_improvable = max(one.n_improvable for one in evidence)
        critical = max(critical_of.values())
        remedy = (
            "use a loss that grades predictions, such as 'log_loss'"
            if loss == "zero_one"
            else f"choose another reference: at this one the model predicts all other {self.units} "
            "without error"
        )
        return (
            f"the base has a loss above zero on {n_improvable:,} {self.units}, and at least "
            f"{critical:,} would have to improve, so nothing can be significant: {remedy}.",
        )

    def diagnose(
        self, tests: Sequence[AnySetTest], gates: Sequence[GateTest], given: bool
    ) -> tuple[str, ...]:
        """Caveats about effects that the sign test cannot see."""
        if self.ties == "drop":
            return ()
        return diagnose(tests, gates, lambda n: self.ranks(n).critical, given)

    def pack(self, tallies: Sequence[Tally]) -> bytes:
        """Tallies as bytes for a checkpoint."""
        return pack(tallies)

    def unpack(self, data: bytes, n_tallies: int) -> list[Tally]:
        """Tallies from a checkpoint; raise ValueError if the bytes hold anything else."""
        return unpack(data, n_tallies)

    def _delta_ranks(self, n: int) -> list[int]:
        """Ranks of delta that are reported: the interval's ends and the median."""
        if self.only_beta_max:
            return []
        level = self.ranks(n)
        wanted = (level.low, level.high, level.lower, *median_ranks(n))
        return [rank for rank in wanted if rank]

    def _rho_ranks(self, n: int) -> list[int]:
        """The rank of beta_max among rho, the c-th largest of n; empty if c > n."""
        lower = self.ranks(n).lower
        return [lower] if lower else []

    def _may_improve(self, n_better: int, m: int, n: int, n_se: float) -> bool:
        """Whether m rows suggest that enough of all n rows improve for beta_max to exist."""
        critical = self.ranks(n).critical
        if m == n:
            return n_better >= critical
        return n_better + margin(m, n_se) >= critical / n * m


def _n_rows(losses: Losses) -> int:
    return len(losses.base) if losses.counts is None else int(losses.counts.sum())


def _improving(window: Window) -> Window:
    """Only improvements matter: beta_max is NaN if the c-th largest rho is not positive."""
    return Window(max(window.low, _ABOVE_ZERO), window.high)


def _overdispersion(tallies: Sequence[Tally]) -> float:
    """Variance between tiles relative to random rows; above 1 for rows in a systematic order."""
    shares = [(s.n_positive, s.n) for s in tallies if s.n]
    n, share = sum(m for _, m in shares), 0.0
    if n:
        share = sum(k for k, _ in shares) / n
    if len(shares) < 2 or share in (0, 1):
        return 1.0
    spread = sum((k - m * share) ** 2 / m for k, m in shares) / (len(shares) - 1)
    return max(1.0, spread / (share * (1 - share)))
