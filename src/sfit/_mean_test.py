"""The paired test of a mean difference, with the sign test of the median beside it.

Rows have their differences dealt to slots tile by tile; clusters, their mean differences at the
end. The signs of the slots are flipped at random (`_flips`). The counts and order statistics are
those of the sign test at beta = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfit import _packed
from sfit._cluster_signs import ClusterSigns, mean_losses
from sfit._contrast import Question
from sfit._flips import SLOTS, Extreme, Mean, Slots, count_extreme, dealt, mean_of
from sfit._sign_test import Focus, SignEvidence, SignStatistic
from sfit._statistic import Scored
from sfit._tally import Tally

MARK = 0x6D65616E
"""First integer of packed tallies."""


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

    def mean(self, alpha: float) -> Mean:
        """The mean difference with its asymptotic interval."""
        return mean_of(self.slots, alpha)


class Flips:
    """What both units share: the comparison with flipped signs."""

    seed: int

    def extreme(self, evidence: Sequence[MeanEvidence], size: int) -> Extreme:
        """How many of `size` flips are as extreme, for each piece of evidence."""
        sums = np.array([one.slots.sums for one in evidence])
        return count_extreme(sums, size, self.seed)


@dataclass(frozen=True)
class MeanStatistic(Flips, SignStatistic):
    """The paired test of rows at one level."""

    seed: int = 0

    ordered: ClassVar[bool] = True
    by_row: ClassVar[bool] = True

    def n_numbers(self, question: Question) -> int:
        """A tally holds the slots."""
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
        return MeanEvidence(**vars(evidence), slots=seen.slots, n_clusters=None)

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

    seed: int = 0

    by_row: ClassVar[bool] = True

    def conclude(self, question: Question, seen: Any) -> Any:
        """The evidence of all clusters."""
        evidence = super().conclude(question, seen)
        losses = mean_losses(seen)
        return MeanEvidence(**vars(evidence), slots=dealt(losses.base - losses.full))

    def _rho_ranks(self, n: int) -> list[int]:
        """No beta_max: the test has no smallest improvement."""
        return []

    def _may_improve(self, n_better: int, m: int, n: int, n_se: float) -> bool:
        """No beta_max."""
        return False
