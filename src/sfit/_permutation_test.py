"""The permutation test as a statistic of tiles.

Predictions are re-matched with the outcomes of other rows of the same tile. Tallies hold one sum
per re-matching; added up over the tiles, they give the statistic and its permutation distribution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import exp
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from sfit import _packed
from sfit._arguments import check_choice, check_draws
from sfit._array import Array
from sfit._block_part import BlockPart
from sfit._contrast import Contrast, Evidence, Question, Term
from sfit._diagnostics import small_strata
from sfit._effects import EffectTally, conclude
from sfit._effects import merge as merge_effects
from sfit._losses import Loss
from sfit._multiplicity import MOST_DRAWS, size_of
from sfit._options import Asked
from sfit._permutations import BLOCK_ROWS, FREE_ROWS, Rematchings
from sfit._rise import SAMPLED_SHIFTS, RiseSums, interval, is_sampled
from sfit._set_tests import AnySetTest, GateTest, PermutationSetTest
from sfit._statistic import Scored
from sfit._tile_part import N_MOMENTS, PermutationTally, TilePart, add_tallies
from sfit._tile_strata import TileStrata
from sfit.exceptions import ArgumentError

STATISTICS = ("auto", "loss")

TIE = 1e-10
"""Sums that differ by less than this share of their standard deviation count as equal."""

ROUNDING = 1e-10
"""A standard deviation below this share of the mean is rounding, not spread."""

SORTED_SHARE = 0.9
"""If less of the variance lies within tiles, the rows are sorted and the test loses power."""

REST = (
    "no valid permutation test of one feature given all the others is known without a model of the "
    "features (Shah and Peters 2020: no test of conditional independence is valid for all "
    "continuous distributions), and re-matching rows at random would reject true null hypotheses "
    "in up to all cases. Use test='sign' or test='mean'; name a few discrete features, such as "
    "given=['a', 'b'], over which the test is exact; or omit given, to ask whether a feature is "
    "related to the outcome at all."
)
"""Why the permutation test cannot test a feature given the rest, and what to do instead."""

STRATUM_ROWS = 8
"""A stratum with fewer rows in a tile is left as it is."""


@dataclass(frozen=True, kw_only=True)
class PermutationTest:
    r"""Options of the permutation test; pass an instance, or ``test="permutation"``.

    The test asks whether the predictions from a set of features, with all other features hidden,
    are related to the outcome at all.

    Parameters
    ----------
    n_permutations : int or "auto", default="auto"
        Number of random permutations. `"auto"` takes 1,999, or as many as a corrected decision
        needs.
    statistic : {"auto", "loss"}, default="auto"
        `"auto"`: for regression, the larger of two standardised sums, of the products of the
        predictions with the outcomes and with their ranks; for classification, those of the
        log-odds and of the probabilities of the observed class. `"loss"`: the mean loss, for any
        loss and any output. A callable loss and several outputs always use `"loss"`.

    See Also
    --------
    SignTest : The test of the paper, of the typical row.
    MeanTest : The test of the mean loss.
    feature_significance : The call that takes this object.

    Notes
    -----
    The null hypothesis is that the set of features is independent of the outcome, given the
    features that are revealed already, if any. With
    :math:`L_{ab}` the loss of outcome a under the prediction of row b, the statistic
    ``"loss"`` is :math:`T = \sum_i L_{ii}`. The predictions are re-matched with the outcomes B
    times at random, and :math:`p = (1 + \#\{T_b \le T\}) / (B + 1)`. Under the null hypothesis T
    and its B copies are exchangeable, so the p-value is exact for any model, loss and distribution
    of the data. The model and the reference must not come from the held-out rows.

    Over given features, and over members of a set that were found at a lower order, rows are
    re-matched only within strata: rows that agree in all of these features, which may have at most
    20 distinct combinations of values. That is exact for independence given the stratum. Rows in
    strata of fewer than 8 rows of a tile keep their predictions.

    Over one numeric feature with more values, rows are sorted by it, and only the values of the set
    move, cyclically within blocks of four neighbours; the statistic is then the loss. That is
    approximate, and `guarantee` says so: the set and the outcome must hardly change with the given
    feature within a block. `rank_correlation` reports how close the set is to the given feature;
    sfit warns above 0.8 and leaves the set out above 0.95.

    sfit refuses all other questions: no valid test of them is known without a model of the features
    [1]_. At order 2 and above it leaves out such sets, and a caveat names them.

    `rise` estimates the effect: by how much the mean loss rises when a prediction comes from
    another row. Its interval is asymptotic. `z` compares T with the mean and the standard deviation
    of its copies; it ranks features whose p-values are all as small as they can be.

    References
    ----------
    .. [1] R. D. Shah and J. Peters, "The Hardness of Conditional Independence Testing and the
       Generalised Covariance Measure", The Annals of Statistics 48, 2020.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(2000, random_state=0)
    >>> result = sfit.feature_significance(
    ...     sfit.simulate.interactions_mean, X, y, test="permutation", random_state=0
    ... )
    >>> result.selected
    ('X1', 'X3')
    """

    key: ClassVar[str] = "permutation"
    """Its name as an argument."""
    random: ClassVar[bool] = True
    """Whether the test draws random numbers."""
    paired: ClassVar[bool] = False
    """Whether the test compares the losses of two sides, row by row."""
    has_beta: ClassVar[bool] = False
    """Whether the test has a smallest relative improvement that counts."""
    over_folds: ClassVar[bool] = True
    """Whether `cross_significance` can combine the test over folds."""

    n_permutations: int | str = "auto"
    statistic: str = "auto"

    def __post_init__(self) -> None:
        check_choice(self.statistic, "statistic", STATISTICS)
        checked = check_draws(self.n_permutations, "n_permutations", MOST_DRAWS)
        object.__setattr__(self, "n_permutations", checked)

    def identity(self) -> dict[str, Any]:
        """The options that identify a run.

        Returns
        -------
        dict
            From the name of an option to its value.
        """
        return {"n_permutations": self.n_permutations, "statistic": self.statistic}

    def check(self, request: Asked) -> None:
        """Refuse arguments that the permutation test does not understand.

        Parameters
        ----------
        request : Asked
            The arguments of the call.
        """
        if request.given_rest:
            raise ArgumentError(f"given='rest' cannot be combined with test='permutation': {REST}")
        for name in ("exhaustive", "strict"):
            if getattr(request, name):
                raise ArgumentError(
                    f"{name}=True compares a set with its own members, which the permutation test "
                    "cannot do: omit it, or use test='sign' or test='mean'."
                )


@dataclass(frozen=True)
class PermutationEvidence(Evidence):
    """The figures that the permutation test reports about a contrast."""

    p_value: float
    rise: float
    ci_low: float
    ci_high: float
    z: float
    p_resolution: float
    share_within: float
    """Smaller share of the variance, of outcomes or predictions, that lies within tiles."""
    is_constant: bool
    """Whether the outcome is the same in all rows that are re-matched with each other."""
    n_fixed: int
    """Rows in strata that are too small to be re-matched."""
    guarantee: str
    """"exact", "asymptotic" or "approximate"."""
    rank_correlation: float
    """Of the set with the given feature by which the rows are sorted; NaN if they are not."""
    n_above: int
    """Re-matchings that agree with the outcomes strictly better than the observed matching."""
    n_tied: int
    """Other re-matchings that agree equally well."""


@dataclass(frozen=True)
class PermutationStatistic:
    """The permutation test of one problem at one level."""

    alpha: float
    test: PermutationTest
    loss: Loss
    n_classes: int
    """0 for regression."""
    n_outputs: int
    n_rows: int
    """Number of all rows."""
    by_class: bool
    """Whether the parts are the classes: then all rows are re-matched for every part."""
    guarantee: str = "exact"
    """"exact", "asymptotic" if the reference comes from the rows under test, or "approximate"."""
    correlations: Mapping[tuple[Term, int], float] = field(default_factory=dict)
    """Rank correlation of a set with the given feature by which rows are sorted, by part."""
    seed: int = 0

    ordered: ClassVar[bool] = True
    by_row: ClassVar[bool] = False
    any_function: ClassVar[bool] = True
    has_gates: ClassVar[bool] = False
    interval: ClassVar[str] = "asymptotic"

    @property
    def name(self) -> str:
        """The name of the test in a result."""
        return f"permutation test, statistic {self.statistic!r}"

    @cached_property
    def statistic(self) -> str:
        """The statistic that fits the loss and the output: "auto" or "loss"."""
        one = self.n_classes or self.n_outputs == 1
        plain = self.loss.task is not None and self.loss.output == "target" and one
        return self.test.statistic if plain else "loss"

    def size(self, question: Question) -> int:
        """Number of re-matchings, the observed one included."""
        return size_of(
            self.test.n_permutations,
            question.threshold,
            alpha=self.alpha,
            order=question.contrast.order,
            draws="permutations",
        )

    def n_numbers(self, question: Question) -> int:
        """A tally holds one sum per component and re-matching."""
        return 2 * self.size(question)

    def start(self, attempt: int) -> None:
        """Tallies keep everything."""

    def refocus(self, focus: None, seen: PermutationTally) -> None:
        """Tallies keep everything."""

    def in_blocks(self, correlations: Mapping[tuple[Term, int], float]) -> PermutationStatistic:
        """The test of rows in blocks: the set of predictions changes, so only the loss will do."""
        test = replace(self.test, statistic="loss")
        return replace(self, test=test, guarantee="approximate", correlations=correlations)

    def tally(self, scored: Iterable[Scored], focus: Sequence[None]) -> dict[int, Any]:
        """Re-match the rows of one tile, for each position among the questions."""
        of_part: dict[int, TileStrata] = {}
        tallies: dict[int, PermutationTally] = {}
        for one in scored:
            part = one.question.part
            if part not in of_part:
                of_part[part] = self._strata(one)
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                tallies |= of_part[part].add(one)
        for strata in of_part.values():
            tallies |= strata.finish()
        return tallies

    def _strata(self, one: Scored) -> TileStrata:
        """The rows of a part that are re-matched with each other: all, or those of a stratum."""
        in_part = None if self.by_class else one.rows
        strata = one.strata()
        n_components = 1 if self.statistic == "loss" else 2
        size = self.size(one.question)
        if strata is None:
            return TileStrata([self._rematched(one, in_part)], n_components, size)
        own = slice(0, len(strata.codes))  # copies of the rows may follow
        possible = np.zeros(len(one.y), dtype=bool)
        possible[own] = True if strata.blocks is None else strata.blocks == -1
        possible &= True if in_part is None else in_part
        codes = np.resize(strata.codes, len(possible))
        parts: list[TilePart | BlockPart] = []
        for code, name in enumerate(strata.names.tolist()):
            rows = possible & (codes == code)
            if np.count_nonzero(rows) >= STRATUM_ROWS:
                parts.append(self._rematched(one, rows, (code,), name))
                possible &= ~rows
        n_fixed = int(np.count_nonzero(possible))
        if strata.blocks is not None:
            parts.append(self._in_blocks(one, strata.blocks, len(strata.names)))
            stays = strata.blocks == -2
            n_fixed += int(np.count_nonzero(stays if in_part is None else stays & in_part[own]))
        return TileStrata(parts, n_components, size, n_fixed)

    def _in_blocks(self, one: Scored, blocks: Array, number: int) -> BlockPart:
        """The rows of a part that move within blocks of rows sorted by a given feature."""
        in_block, own = blocks >= 0, slice(0, len(blocks))
        if not self.by_class and one.rows is not None:
            in_block &= one.rows[own]
        rows = np.flatnonzero(in_block)
        return BlockPart(
            self.loss,
            one.y[own],
            rows,
            np.unique(blocks[rows], return_counts=True)[1],
            one.rows[own] if self.by_class and one.rows is not None else None,
            self.size(one.question),
            (self.seed, one.tile, 0 if self.by_class else one.question.part, number),
        )

    def _rematched(
        self, one: Scored, rows: Array | None, stratum: tuple[int, ...] = (), name: int = 0
    ) -> TilePart:
        """The rows that are re-matched with each other, and how."""
        y, of_class = one.y, one.rows if self.by_class else None
        if rows is not None:
            y, of_class = y[rows], None if of_class is None else of_class[rows]
        n = self.n_rows if self.by_class else one.question.n
        rematchings = Rematchings(
            m=len(y),
            size=self.size(one.question),
            # The shifts of one small block would be too few.
            free=n <= FREE_ROWS or (bool(stratum) and len(y) < BLOCK_ROWS),
            key=(self.seed, one.tile, 0 if self.by_class else one.question.part, *stratum),
        )
        return TilePart(
            self.loss,
            self.statistic,
            self.n_classes,
            self.n_outputs,
            y,
            rows,
            of_class,
            rematchings,
            name,
        )

    def merge(
        self, question: Question, tallies: Sequence[PermutationTally], focus: None
    ) -> PermutationTally:
        """Add up the sums, strictly in the order of the tallies."""
        return add_tallies(tallies, merge_effects([one.effects for one in tallies]))

    def conclude(self, question: Question, seen: PermutationTally) -> PermutationEvidence:
        """The p-value, the rise and its interval."""
        effects = conclude(seen.effects)
        size = seen.sums.shape[1]
        smallest = _smallest_p(seen.log_group)
        described = {
            "n": seen.effects.n_rows,
            "effects": effects,
            "p_resolution": max(1 / size, smallest),
            "share_within": _share_within(seen.moments),
            "is_constant": _is_constant(seen.moments),
            "n_fixed": seen.n_fixed,
            "guarantee": self.guarantee,
            "rank_correlation": self.correlations.get(
                (question.contrast.term, question.part), np.nan
            ),
        }
        # Moving features changes the losses of blocks even where the outcome is constant.
        varies = seen.variance > 0
        if self.correlations and self.n_outputs == 1 and described["is_constant"]:
            varies = np.zeros_like(varies)
        if not varies.any():
            nothing: dict[str, Any] = {"rise": 0.0, "ci_low": 0.0, "ci_high": 0.0, "z": np.nan}
            return PermutationEvidence(
                p_value=1.0, n_above=0, n_tied=size - 1, **nothing, **described
            )
        standard = seen.sums[varies] / np.sqrt(seen.variance[varies])[:, None]
        observed, *_ = statistic = standard.max(axis=0)
        copies = statistic[1:]
        n_reached = int(np.count_nonzero(copies >= observed - TIE))
        n_above = int(np.count_nonzero(copies > observed + TIE))
        spread = float(copies.std(ddof=1)) if size > 2 else 0.0
        low, centre, high = interval(RiseSums(*seen.rise.tolist()), self.alpha)
        return PermutationEvidence(
            # Random draws can miss re-matchings that reach the statistic: p is no smaller than the
            # share of those that equal the observed one.
            p_value=max((1 + n_reached) / size, smallest),
            rise=centre,
            ci_low=low,
            ci_high=high,
            z=float((observed - copies.mean()) / spread) if spread > TIE else np.nan,
            n_above=n_above,
            n_tied=n_reached - n_above,
            **described,
        )

    def n_bases(self, order: int) -> int:
        """All proper subsets, but at order 2 the empty base never counts beside the others.

        If a pair is independent of the outcome, so are its members, and no true rejection adds
        either to the base. If it is not, the empty base has no true null hypothesis.
        """
        return 2 if order == 2 else 2**order - 1

    def p_values(self, evidence: Sequence[PermutationEvidence]) -> Array:
        """The p-value of each piece of evidence."""
        return np.array([one.p_value for one in evidence])

    def weakest(
        self, evidence: Sequence[PermutationEvidence], p_values: Array
    ) -> tuple[int, PermutationEvidence]:
        """The evidence with the largest p-value, and its position; the first of equals."""
        position = int(np.argmax(p_values))
        return position, evidence[position]

    def record(
        self,
        contrast: Contrast,
        term: tuple[str, ...],
        base: tuple[str, ...],
        evidence: PermutationEvidence,
        p: float,
        adjusted: float,
    ) -> PermutationSetTest:
        """The reported test of a set."""
        return PermutationSetTest(
            order=contrast.order,
            term=term,
            base=base,
            rise=evidence.rise,
            ci_low=evidence.ci_low,
            ci_high=evidence.ci_high,
            p_value=float(p),
            p_adjusted=float(adjusted),
            significant=bool(adjusted < self.alpha),
            z=evidence.z,
            p_resolution=evidence.p_resolution,
            n=evidence.n,
            n_fixed=evidence.n_fixed,
            guarantee=evidence.guarantee,
            rank_correlation=evidence.rank_correlation,
            **vars(evidence.effects),
        )

    def coverage(self, n: int) -> float:
        """Nominal coverage of the interval."""
        return 1 - self.alpha

    def too_few(self, n: int) -> tuple[str, ...]:
        """Caveats about a number of rows that is too small for this level."""
        rows = self.n_rows if self.by_class else n
        if rows < 100 and exp(-Rematchings(rows, 1, True, ()).log_group) >= self.alpha:
            return (
                f"n = {rows} has too few permutations for anything to be significant at "
                f"alpha={self.alpha:g}: use more rows.",
            )
        return ()

    def caveats(self, evidence: Sequence[PermutationEvidence], loss: str) -> tuple[str, ...]:
        """Caveats about rows in a systematic order, and about a constant outcome."""
        texts = []
        if all(one.is_constant for one in evidence):
            other = " by='class' re-matches all rows." if self.n_classes else ""
            texts.append(
                f"the outcome is the same in all rows, so nothing can be significant.{other}"
            )
        share = min(one.share_within for one in evidence)
        if share < SORTED_SHARE:
            texts.append(
                "the rows are sorted: rows are re-matched only within tiles of consecutive rows, "
                f"which hold {share:.0%} of the variance of the outcome or of a prediction. "
                "The p-values are exact, but the test loses power: shuffle the rows first."
            )
        return tuple(texts)

    def diagnose(
        self, tests: Sequence[AnySetTest], gates: Sequence[GateTest], given: bool
    ) -> tuple[str, ...]:
        """Caveats about small strata and a sampled rise."""
        texts = small_strata(tests)
        if is_sampled(self.loss, self.n_outputs):
            texts.append(
                f"the rise under the loss {self.loss.name!r} is estimated from at most "
                f"{SAMPLED_SHIFTS} random shifts of the rows."
            )
        return tuple(texts)

    def pack(self, tallies: Sequence[PermutationTally]) -> bytes:
        """Tallies as bytes for a checkpoint."""
        integers: list[Any] = []
        floats: list[Any] = []
        for tally in tallies:
            *counts, sums = tally.effects
            lengths = [len(sums), *tally.sums.shape, len(tally.moments), tally.n_fixed]
            integers += [counts, lengths]
            floats += [sums, tally.sums, tally.variance, tally.rise, tally.moments, tally.log_group]
        return _packed.pack(integers, floats)

    def unpack(self, data: bytes, n_tallies: int) -> list[PermutationTally]:
        """Tallies from a checkpoint; raise ValueError if the bytes hold anything else."""
        integers, floats = _packed.unpack(data)
        tallies = []
        for _ in range(n_tallies):
            n_rows, n_moved, n_better, n_worse = integers.take(4).tolist()
            n_tiles, n_components, size, n_moments, n_fixed = integers.take(5).tolist()
            losses = floats.take(2 * n_tiles).reshape(-1, 2)
            effects = EffectTally(n_rows, n_moved, n_better, n_worse, losses)
            sums = floats.take(n_components * size).reshape(n_components, size)
            variance, total = floats.take(n_components), floats.take(len(RiseSums._fields))
            moments = floats.take(N_MOMENTS * n_moments).reshape(-1, N_MOMENTS)
            [log_group] = floats.take(1).tolist()
            tallies.append(
                PermutationTally(effects, sums, variance, total, moments, log_group, n_fixed)
            )
        integers.finish()
        floats.finish()
        return tallies


def _smallest_p(log_group: float) -> float:
    """One over the number of distinct re-matchings, a whole number."""
    if log_group > 20:
        return exp(-min(log_group, 700.0))
    return 1 / round(exp(log_group))


def _share_within(moments: Array) -> float:
    """Smaller share of the variance of outcomes or predictions that lies within tiles.

    Only variance within strata counts.
    """
    moments = moments[moments[:, 0] > 0]
    n, stratum = moments[:, 0], pd.factorize(moments[:, 5])[0]
    n_strata = int(stratum.max(initial=-1)) + 1
    if len(n) <= n_strata or n.sum() <= len(n):
        return 1.0
    rows = np.bincount(stratum, n)
    shares = []
    for mean, squares in ((moments[:, 1], moments[:, 2]), (moments[:, 3], moments[:, 4])):
        within = float(squares.sum())
        centre = np.bincount(stratum, n * mean) / rows
        between = float(n @ np.square(mean - centre[stratum]))
        # What rounding makes of a constant has no spread.
        spread = within + between > n.sum() * np.square(ROUNDING * mean).max(initial=0.0)
        # Mean squares: a few rows of a tile lie closer to their own mean than to that of all.
        whole = (within + between) / (n.sum() - n_strata)
        shares.append(within / (n.sum() - len(n)) / whole if spread else 1.0)
    return min(shares)


def _is_constant(moments: Array) -> bool:
    """Whether the outcome is constant in every stratum, over all tiles."""
    if not len(moments) or moments[:, 2].any():
        return False
    of_stratum = pd.DataFrame(moments[:, 1]).groupby(moments[:, 5])[0]
    return bool((of_stratum.max() == of_stratum.min()).all())
