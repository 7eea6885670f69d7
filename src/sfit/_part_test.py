"""The gains of one part of the rows, gathered in units for the permutation of part labels.

A question is about one feature and one part. Its evidence holds the units; `_label_permutation`
compares the evidence of all parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfit import _packed
from sfit._cluster_signs import ClusterSigns, mean_losses
from sfit._contrast import Evidence, Question
from sfit._effects import EffectTally, describe
from sfit._effects import conclude as conclude_effects
from sfit._effects import merge as merge_effects
from sfit._part_gains import PartGains, cut, joined
from sfit._statistic import Scored


class PartTally(NamedTuple):
    """Some rows of one part."""

    effects: EffectTally
    gains: PartGains


@dataclass(frozen=True)
class PartEvidence(Evidence):
    """The gains of all units of one part."""

    gains: PartGains


@dataclass(frozen=True)
class RowUnits:
    """Gathers the gains of rows: `size` of them make a unit."""

    size: int

    ordered: ClassVar[bool] = True
    any_function: ClassVar[bool] = False
    by_row: ClassVar[bool] = True
    has_gates: ClassVar[bool] = False

    def n_numbers(self, question: Question) -> int:
        """A tally holds two numbers per unit."""
        return 2 * (question.n // self.size) + self.size

    def start(self, attempt: int) -> None:
        """Tallies keep everything."""

    def tally(self, scored: Iterable[Scored], focus: Sequence[Any]) -> dict[int, Any]:
        """Cut the gains of one tile into units."""
        return {
            one.position: PartTally(
                describe(one.losses), cut(one.losses.base - one.losses.full, self.size)
            )
            for one in scored
        }

    def merge(self, question: Question, tallies: Sequence[Any], focus: Any) -> Any:
        """Join the units, strictly in the order of the tallies."""
        effects = merge_effects([tally.effects for tally in tallies])
        return PartTally(effects, joined([tally.gains for tally in tallies], self.size))

    def refocus(self, focus: Any, seen: Any) -> Any:
        """Tallies keep everything."""
        return focus

    def conclude(self, question: Question, seen: Any) -> PartEvidence:
        """The units of all rows of the part."""
        return PartEvidence(question.n, conclude_effects(seen.effects), seen.gains)

    def pack(self, tallies: Sequence[Any]) -> bytes:
        """Tallies as bytes for a checkpoint."""
        integers: list[Any] = []
        floats: list[Any] = []
        for effects, gains in tallies:
            *counts, sums = effects
            integers += [counts, [len(sums), len(gains.means), len(gains.rest)]]
            floats += [sums, *gains]
        return _packed.pack(integers, floats)

    def unpack(self, data: bytes, n_tallies: int) -> list[Any]:
        """Tallies from a checkpoint; raise ValueError if the bytes hold anything else."""
        integers, floats = _packed.unpack(data)
        tallies = []
        for _ in range(n_tallies):
            n_rows, n_moved, n_better, n_worse = integers.take(4).tolist()
            n_sums, n_units, n_rest = integers.take(3).tolist()
            sums = floats.take(2 * n_sums).reshape(-1, 2)
            effects = EffectTally(n_rows, n_moved, n_better, n_worse, sums)
            if n_rest >= self.size:
                raise ValueError(f"{n_rest} rows left over, but {self.size} make a unit")
            gains = PartGains(*map(floats.take, (n_units, n_units, n_rest)))
            tallies.append(PartTally(effects, gains))
        integers.finish()
        floats.finish()
        return tallies


@dataclass(frozen=True)
class ClusterUnits(ClusterSigns):
    """Gathers the mean gains of clusters, which are the units."""

    has_gates: ClassVar[bool] = False
    by_row: ClassVar[bool] = True
    size: ClassVar[int] = 1

    def conclude(self, question: Question, seen: Any) -> Any:
        """The mean gains of all clusters of the part."""
        losses = mean_losses(seen)
        gains = cut(np.asarray(losses.base - losses.full), self.size)
        return PartEvidence(len(gains.means), conclude_effects(seen.effects), gains)
