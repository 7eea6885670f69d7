"""The tests over a chain of folds: model k is fitted on the folds before k and tested on fold k.

Given the earlier folds, model k is fixed and fold k is new to it. So the randomised p-values of
the permutation test are independent and uniform under the null hypothesis, and the rows that
improve under the sign test are new coins: the combined p-value is as exact as that of one fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum, isnan, nan, sqrt
from typing import Any

from scipy.stats import norm

from sfit._contrast import Question
from sfit._permutation_test import PermutationEvidence, PermutationStatistic
from sfit._set_tests import FoldTest
from sfit._sign_test import Focus, SignEvidence, SignStatistic
from sfit._tally import Tally
from sfit._tile_part import PermutationTally

WIDE = 10
"""Passes to skip: the margin of a bracket is then wider than any fold, and all rows are kept."""


@dataclass(frozen=True)
class ChainedPermutation(PermutationStatistic):
    """The permutation test of each fold, combined by Stouffer's method."""

    def conclude(self, question: Question, seen: PermutationTally) -> Any:
        """The evidence of one fold, and its tally without the sums that the evidence counts."""
        return super().conclude(question, seen), seen._replace(sums=seen.sums[:, :1])

    def fold_test(
        self, fold: int, term: str, n_train: int, question: Question, evidence: Any, uniform: float
    ) -> FoldTest:
        """The test of one fold; `uniform` breaks the ties between re-matchings."""
        tied = 1 + evidence.n_tied
        return FoldTest(
            fold=fold,
            term=(term,),
            n_train=n_train,
            n=evidence.n,
            estimate=evidence.rise,
            p_value=(evidence.n_above + uniform * tied) / self.size(question),
            z=evidence.z,
            p_resolution=evidence.p_resolution,
            n_positive=None,
        )

    def combine(
        self, question: Question, tests: Sequence[FoldTest], tallies: Sequence[PermutationTally]
    ) -> PermutationEvidence:
        """The evidence of all folds; a feature that every model ignores has p = 1."""
        merged = self.merge(question, tallies, None)
        evidence: PermutationEvidence = super().conclude(question, merged)
        # Randomised p-values have no positive lower bound.
        evidence = replace(evidence, p_resolution=0.0, share_within=1.0)
        if not (merged.variance > 0).any():
            return evidence
        known = [0.0 if isnan(test.z) else test.z for test in tests]
        return replace(
            evidence,
            p_value=stouffer([test.p_value for test in tests], tests),
            z=_weighted(known, tests),
        )

    def too_few(self, n: int) -> tuple[str, ...]:
        """No caveat: randomised p-values can be small with any number of rows."""
        return ()


@dataclass(frozen=True)
class ChainedSign(SignStatistic):
    """The sign test of the rows of all folds together."""

    n_all: int = 0
    """Number of tested rows, over all folds."""

    @property
    def of_rows(self) -> SignStatistic:
        """The sign test of any rows."""
        return SignStatistic(self.alpha, self.interval, self.ties)

    def start(self, attempt: int) -> Focus:
        """Keep all rows: which of them are reported, all folds decide together."""
        return super().start(attempt + WIDE)

    def _n_all(self, question: Question) -> int:
        return self.n_all

    def conclude(self, question: Question, seen: Tally) -> Any:
        """The evidence of one fold, and its tally."""
        return self.of_rows.conclude(question, seen), seen

    def fold_test(
        self, fold: int, term: str, n_train: int, question: Question, evidence: Any, uniform: float
    ) -> FoldTest:
        """The test of one fold."""
        [p] = self.p_values([evidence])
        return FoldTest(
            fold=fold,
            term=(term,),
            n_train=n_train,
            n=evidence.n,
            estimate=evidence.statistic,
            p_value=float(p),
            z=nan,
            p_resolution=0.5**evidence.n,
            n_positive=evidence.n_positive,
        )

    def combine(
        self, question: Question, tests: Sequence[FoldTest], tallies: Sequence[Tally]
    ) -> SignEvidence:
        """The evidence of all folds."""
        plain = self.of_rows
        evidence = plain.conclude(question, plain.merge(question, tallies, self.start(0)))
        if evidence is None:  # all rows were kept
            raise AssertionError("an order statistic is missing although every row was kept")
        return evidence


Chained = ChainedPermutation | ChainedSign


def stouffer(p_values: Sequence[float], tests: Sequence[FoldTest]) -> float:
    """One p-value from independent ones, with the weights sqrt(n) of their folds."""
    return float(norm.sf(_weighted(norm.isf(p_values).tolist(), tests)))


def _weighted(scores: Sequence[float], tests: Sequence[FoldTest]) -> float:
    """The sum of independent scores with weights sqrt(n), in units of its standard deviation."""
    added = fsum(sqrt(test.n) * score for score, test in zip(scores, tests, strict=True))
    return added / sqrt(sum(test.n for test in tests))
