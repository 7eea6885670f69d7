"""The paired test of a mean difference, with the sign test of the median beside it.

Rows have their differences dealt to slots tile by tile; clusters, their mean differences at the
end. The signs of the slots are flipped at random (`_flips`). The counts and order statistics are
those of the sign test at beta = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfit import _packed
from sfit._arguments import check_draws
from sfit._array import Array
from sfit._binomial import Ranks, p_value, ranks, too_few_units
from sfit._cluster_signs import ClusterSigns, mean_losses
from sfit._contrast import Contrast, Question
from sfit._diagnostics import few_clusters, follows_few_units, mean_and_median
from sfit._effects import rounded
from sfit._flips import (
    SLOTS,
    Extreme,
    Mean,
    Slots,
    check_finite,
    count_extreme,
    dealt,
    largest_share,
    mean_of,
    resolution,
    t_ratio,
)
from sfit._multiplicity import MOST_DRAWS, size_of
from sfit._options import Asked
from sfit._set_tests import AnySetTest, GateTest, MeanSetTest
from sfit._sign_test import Focus, SignEvidence, SignStatistic
from sfit._statistic import Scored
from sfit._tally import Tally
from sfit.exceptions import ArgumentError

MARK = 0x6D65616E
"""First integer of packed tallies."""


@dataclass(frozen=True, kw_only=True)
class MeanTest:
    r"""Options of the mean test; pass an instance, or ``test="mean"``.

    The test asks whether revealing a set of features lowers the mean loss of the model. Beside it,
    every set has the sign test of its median at beta = 0, which has another null hypothesis.

    Parameters
    ----------
    n_flips : int or "auto", default="auto"
        Number of random flips of signs. `"auto"` takes 1,999, or as many as a corrected decision
        needs.

    See Also
    --------
    SignTest : The test of the paper, of the typical row.
    PermutationTest : The test of any relation to the outcome.
    feature_significance : The call that takes this object.

    Notes
    -----
    Let :math:`d_i = L_i(B) - L_i(T)` be the loss that revealing the set T saves in row i, over its
    base B; with clusters, in cluster i on average. The null hypothesis is
    :math:`\mathrm{E}(d) \le 0`, and `mean` estimates :math:`\mathrm{E}(d)`. With random signs
    :math:`s_{bi}`, the p-value is

    .. math:: p = \frac{1 + \#\{b : S_b \ge S\}}{B + 1}, \qquad S = \sum_i d_i, \quad
        S_b = \sum_i s_{bi} d_i.

    If the differences are symmetric about zero, S and its B flipped copies are exchangeable, so p
    is exact. No flip changes the sum of squares. So comparing sums is comparing the studentised
    means :math:`t_b`, and for large n the test also holds for differences with mean zero that are
    not symmetric [1]_. `guarantee` is `"symmetric"` for this reason, and `"asymptotic"` if
    the reference comes from the rows under test.

    Beyond 2,048 rows, every 2,048th row has the same sign. These flips are a group of their own, so
    the p-value stays exact, and one pass over the rows is enough for any number of flips. The
    interval of the mean is Student's, from the spread between the 2,048 sums; it is asymptotic. `t`
    is the mean in its standard errors; it ranks sets whose p-values are all as small as they can
    be.

    A mean follows large values. If a few rows hold most of the spread, so that `share_largest` is
    large, both p and the interval depend on these rows, and sfit says so. `median`, its exact
    interval and `p_sign`, which is not corrected, do not depend on them, but they answer another
    question: a feature can lower the mean loss and raise that of most rows.

    References
    ----------
    .. [1] A. Janssen, "Studentized permutation tests for non-i.i.d. hypotheses and the generalized
       Behrens-Fisher problem", Statistics and Probability Letters 36, 1997.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(2000, random_state=0)
    >>> result = sfit.feature_significance(
    ...     sfit.simulate.interactions_mean, X, y, test="mean", random_state=0
    ... )
    >>> result.selected
    ('X1', 'X3')
    """

    key: ClassVar[str] = "mean"
    """Its name as an argument."""
    random: ClassVar[bool] = True
    """Whether the test draws random numbers."""
    paired: ClassVar[bool] = True
    """Whether the test compares the losses of two sides, row by row."""
    has_beta: ClassVar[bool] = False
    """Whether the test has a smallest relative improvement that counts."""
    over_folds: ClassVar[bool] = False
    """Whether `cross_significance` can combine the test over folds."""

    n_flips: int | str = "auto"

    def __post_init__(self) -> None:
        checked = check_draws(self.n_flips, "n_flips", MOST_DRAWS)
        object.__setattr__(self, "n_flips", checked)

    def identity(self) -> dict[str, Any]:
        """The options that identify a run.

        Returns
        -------
        dict
            From the name of an option to its value.
        """
        return {"n_flips": self.n_flips}

    def check(self, request: Asked) -> None:
        """Refuse arguments that the mean test does not understand.

        Parameters
        ----------
        request : Asked
            The arguments of the call.
        """
        if request.row_order is not None:
            raise ArgumentError(
                f"row_order={request.row_order!r} needs test='permutation': the mean test flips "
                "the signs of rows as if they were independent. Use test='permutation', or name "
                "periods of time that are independent of each other with clusters=."
            )


class MeanTally(NamedTuple):
    """Some rows: the counts of the sign test, and their differences in slots."""

    signs: Tally
    slots: Slots


@dataclass(frozen=True)
class MeanEvidence(SignEvidence):
    """The differences of a contrast: their slots, and what the sign test counts of them."""

    slots: Slots
    n_clusters: int | None
    """Number of clusters, if they are the units."""
    size: int
    """Number of flips that the question needs, the observed signs included."""

    def mean(self, alpha: float) -> Mean:
        """The mean difference with its asymptotic interval."""
        return mean_of(self.slots, alpha)

    @property
    def estimate(self) -> float:
        """The mean difference."""
        return rounded(self.mean(0.5).mean)

    @property
    def resolution(self) -> float:
        """The smallest possible p-value."""
        return resolution(self.size, int(np.count_nonzero(self.slots.counts)), 1)

    @property
    def t(self) -> float:
        """The mean in standard errors; NaN if nothing differs."""
        return rounded(t_ratio(self.slots))


class Flips:
    """What both units share: the comparison with flipped signs, and what it reports."""

    alpha: float
    seed: int
    n_flips: int | str
    guarantee: str
    units: ClassVar[str]

    name: ClassVar[str] = "mean test, sign flips"

    def extreme(self, evidence: Sequence[MeanEvidence], size: int) -> Extreme:
        """How many of `size` flips are as extreme, for each piece of evidence."""
        sums = np.array([one.slots.sums for one in evidence])
        return count_extreme(sums, size, self.seed)

    def size(self, question: Question) -> int:
        """Number of flips, the observed signs included."""
        return size_of(
            self.n_flips,
            question.threshold,
            alpha=self.alpha,
            order=question.contrast.order,
            draws="flips",
        )

    def ranks(self, n: int) -> Ranks:
        """Ranks of the median and its interval, which is exact."""
        return ranks(n, self.alpha)

    def p_values(self, evidence: Sequence[Any]) -> Any:
        """The p-value of each piece of evidence; all of one size are compared with equal flips."""
        sizes = np.array([one.size for one in evidence])
        p_values = np.empty(len(evidence))
        for size in np.unique(sizes).tolist():
            some = [one for one in evidence if one.size == size]
            above = self.extreme(some, size).above
            # Few units have few flips: random draws can miss those that equal the observed signs.
            smallest = [one.resolution for one in some]
            p_values[sizes == size] = np.maximum(above / size, smallest)
        return p_values

    def weakest(self, evidence: Sequence[Any], p_values: Array) -> tuple[int, Any]:
        """The evidence with the largest p-value and its position; of equals, the smallest t."""
        ts = [-np.inf if np.isnan(one.t) else one.t for one in evidence]
        position = max(range(len(evidence)), key=lambda number: (p_values[number], -ts[number]))
        return position, evidence[position]

    def record(
        self,
        contrast: Contrast,
        term: tuple[str, ...],
        base: tuple[str, ...],
        evidence: Any,
        p: float,
        adjusted: float,
    ) -> Any:
        """The reported test of a set."""
        mean, low, high = map(rounded, evidence.mean(self.alpha))
        return MeanSetTest(
            order=contrast.order,
            term=term,
            base=base,
            mean=mean,
            ci_low=low,
            ci_high=high,
            p_value=float(p),
            p_adjusted=float(adjusted),
            significant=bool(adjusted < self.alpha),
            t=evidence.t,
            p_resolution=evidence.resolution,
            median=evidence.statistic,
            median_low=evidence.ci_low,
            median_high=evidence.ci_high,
            p_sign=float(p_value(evidence.n_positive, evidence.n)),
            n_positive=evidence.n_positive,
            n_negative=evidence.n_negative,
            n=evidence.n,
            share_largest=rounded(largest_share(evidence.slots)),
            guarantee=self.guarantee,
            **vars(evidence.effects),
        )

    def coverage(self, n: int) -> float:
        """Nominal coverage of the interval of the mean."""
        return 1 - self.alpha

    def too_few(self, n: int) -> tuple[str, ...]:
        """Caveats about a number of units that is too small for this level."""
        return too_few_units(n, self.alpha, units=self.units)

    def caveats(self, evidence: Sequence[Any], loss: str) -> tuple[str, ...]:
        """No caveat: any base can be improved on."""
        return ()

    def diagnose(
        self, tests: Sequence[AnySetTest], gates: Sequence[GateTest], given: bool
    ) -> tuple[str, ...]:
        """Caveats about means that follow few units, and about medians that disagree with them."""
        means = [test for test in tests if isinstance(test, MeanSetTest)]
        return (*follows_few_units(means, self.units), *mean_and_median(means, self.units))


@dataclass(frozen=True)
class MeanStatistic(Flips, SignStatistic):
    """The paired test of rows at one level."""

    interval: str = "asymptotic"
    seed: int = 0
    n_flips: int | str = "auto"
    guarantee: str = "symmetric"
    """"symmetric", or "asymptotic" if the reference comes from the rows under test."""

    ordered: ClassVar[bool] = True
    by_row: ClassVar[bool] = True

    def n_numbers(self, question: Question) -> int:
        """A tally holds the slots; too many flips are refused here, before the first tile."""
        self.size(question)
        return 2 * SLOTS

    def tally(self, scored: Iterable[Scored], focus: Sequence[Focus]) -> dict[int, Any]:
        """Count the rows of one tile and deal their differences to slots."""
        tallies = {}
        for one in scored:
            signs = self.tally_rows(one.question, one.losses, focus[one.position])
            places = None if one.rows is None else np.flatnonzero(one.rows)
            slots = dealt(one.losses.base - one.losses.full, places)
            tallies[one.position] = MeanTally(signs, slots)
        return tallies

    def merge(self, question: Question, tallies: Sequence[Any], focus: Focus) -> Any:
        """Add up the slots, strictly in the order of the tallies."""
        signs = super().merge(question, [tally.signs for tally in tallies], focus)
        sums, counts = np.zeros(SLOTS), np.zeros(SLOTS, dtype=np.int64)
        for tally in tallies:
            sums += tally.slots.sums
            counts += tally.slots.counts
        return MeanTally(signs, Slots(sums, counts))

    def refocus(self, focus: Focus, seen: Any) -> Focus:
        """Search only the brackets that the tiles so far give."""
        return super().refocus(focus, seen.signs)

    def conclude(self, question: Question, seen: Any) -> MeanEvidence | None:
        """The evidence of all rows; None if a bracket missed."""
        evidence = super().conclude(question, seen.signs)
        if evidence is None:
            return None
        return MeanEvidence(
            **vars(evidence),
            slots=seen.slots,
            n_clusters=None,
            size=self.size(question),
        )

    def pack(self, tallies: Sequence[Any]) -> bytes:
        """Tallies as bytes for a checkpoint."""
        signs = super().pack([tally.signs for tally in tallies])
        counts = [tally.slots.counts for tally in tallies]
        slots = _packed.pack([[MARK, len(signs)], *counts], [tally.slots.sums for tally in tallies])
        return slots + signs

    def unpack(self, data: bytes, n_tallies: int) -> list[Any]:
        """Tallies from a checkpoint; raise ValueError if the bytes hold anything else."""
        n_slots = 8 * (1 + 2 + 2 * SLOTS * n_tallies)
        integers, floats = _packed.unpack(data[:n_slots])
        mark, n_signs = integers.take(2).tolist()
        if mark != MARK or n_signs != len(data) - n_slots:
            raise ValueError("these bytes hold no tallies of the paired test")
        counts = [integers.take(SLOTS) for _ in range(n_tallies)]
        sums = [floats.take(SLOTS) for _ in range(n_tallies)]
        signs = super().unpack(data[n_slots:], n_tallies)
        return [
            MeanTally(of_signs, Slots(of_slots, n_units))
            for of_signs, of_slots, n_units in zip(signs, sums, counts, strict=True)
        ]

    def _rho_ranks(self, n: int) -> list[int]:
        """No beta_max: the test has no smallest improvement."""
        return []

    def _may_improve(self, n_better: int, m: int, n: int, n_se: float) -> bool:
        """No beta_max."""
        return False


@dataclass(frozen=True)
class ClusterMeans(Flips, ClusterSigns):
    """The paired test of clusters: each counts once, with its mean losses."""

    interval: str = "asymptotic"
    seed: int = 0
    n_flips: int | str = "auto"
    guarantee: str = "symmetric"
    """"symmetric", or "asymptotic" if the reference comes from the rows under test."""

    by_row: ClassVar[bool] = True

    def n_numbers(self, question: Question) -> int:
        """As for all clusters; too many flips are refused here, before the first tile."""
        self.size(question)
        return super().n_numbers(question)

    def conclude(self, question: Question, seen: Any) -> Any:
        """The evidence of all clusters."""
        check_finite(np.array([seen.base, seen.full]))
        evidence = super().conclude(question, seen)
        losses = mean_losses(seen)
        # Means over rows may have another sign than the difference of means over clusters.
        base, full = (rounded(fsum(side) / len(side)) for side in (losses.base, losses.full))
        effects = replace(evidence.effects, loss_base=base, loss_full=full)
        slots = dealt(losses.base - losses.full)
        return MeanEvidence(
            **vars(evidence) | {"effects": effects}, slots=slots, size=self.size(question)
        )

    def too_few(self, n: int) -> tuple[str, ...]:
        """Nothing is known before the clusters of a part are counted; see `caveats`."""
        return ()

    def caveats(self, evidence: Sequence[Any], loss: str) -> tuple[str, ...]:
        """Caveats about few clusters."""
        n = evidence[0].n_clusters
        return Flips.too_few(self, n) or few_clusters(n)

    def _rho_ranks(self, n: int) -> list[int]:
        """No beta_max: the test has no smallest improvement."""
        return []

    def _may_improve(self, n_better: int, m: int, n: int, n_se: float) -> bool:
        """No beta_max."""
        return False
