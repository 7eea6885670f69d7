"""The sign test of clusters: the unit is a cluster of rows, not a row.

The losses of a cluster are the means over its rows. Its rows may lie in any tiles, so a tally holds
sums per cluster; the ordinary sign test then counts the cluster means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sfit import _packed
from sfit._array import Array
from sfit._contrast import Losses, Question
from sfit._diagnostics import diagnose, few_clusters
from sfit._effects import EffectTally, describe
from sfit._effects import conclude as conclude_effects
from sfit._effects import merge as merge_effects
from sfit._set_tests import AnySetTest, GateTest
from sfit._sign_test import SignEvidence, SignStatistic
from sfit._statistic import Scored


class ClusterTally(NamedTuple):
    """Sums over the rows of some tiles, one entry per cluster that occurs there."""

    effects: EffectTally
    codes: Array
    """The numbers of the clusters, rising."""
    n_rows: Array
    n_moved: Array
    base: Array
    """Sums of the losses of the base side."""
    full: Array


@dataclass(frozen=True)
class ClusterEvidence(SignEvidence):
    """The figures that the sign test reports about a contrast of clusters."""

    n_clusters: int
    """All clusters; with ``ties="drop"`` some of them do not count."""


@dataclass(frozen=True)
class ClusterSigns(SignStatistic):
    """The sign test of section 2.2, applied to the mean losses of clusters."""

    n_clusters: int = 0

    ordered: ClassVar[bool] = True
    units: ClassVar[str] = "clusters"

    def n_numbers(self, question: Question) -> int:
        """A tally holds five numbers per cluster."""
        return 5 * min(self.n_clusters, question.n)

    def tally(self, scored: Iterable[Scored], focus: Sequence[Any]) -> dict[int, Any]:
        """Add up the losses of each cluster in one tile, for each position."""
        return {one.position: _tally(one) for one in scored}

    def merge(self, question: Question, tallies: Sequence[Any], focus: Any) -> Any:
        """Add up the sums of each cluster, strictly in the order of the tallies."""
        if len(tallies) == 1:
            return tallies[0]
        codes, place = np.unique(np.concatenate([t.codes for t in tallies]), return_inverse=True)
        columns = zip(*(tally[2:] for tally in tallies), strict=True)
        n_rows, n_moved, base, full = (
            np.bincount(place, np.concatenate(column), len(codes)) for column in columns
        )
        effects = merge_effects([tally.effects for tally in tallies])
        return ClusterTally(effects, codes, n_rows, n_moved, base, full)

    def refocus(self, focus: Any, seen: Any) -> Any:
        """Tallies keep everything."""
        return focus

    def conclude(self, question: Question, seen: Any) -> ClusterEvidence:
        """The sign test of the cluster means; mean losses and counts of `effects` are of rows."""
        losses = mean_losses(seen)
        question = question._replace(n=len(losses.base))
        evidence, attempts = None, count()
        while evidence is None:
            tally = self.tally_rows(question, losses, self.start(next(attempts)))
            evidence = super().conclude(question, tally)
        evidence = replace(evidence, effects=conclude_effects(seen.effects))
        return ClusterEvidence(**vars(evidence), n_clusters=len(losses.base))

    def too_few(self, n: int) -> tuple[str, ...]:
        """Nothing is known before the clusters of a part are counted; see `caveats`."""
        return ()

    def caveats(self, evidence: Sequence[Any], loss: str) -> tuple[str, ...]:
        """Caveats about few clusters, and about a base that cannot be improved on."""
        n = evidence[0].n_clusters
        few = super().too_few(n) or few_clusters(n)
        return (*few, *super().caveats(evidence, loss))

    def diagnose(
        self, tests: Sequence[AnySetTest], gates: Sequence[GateTest], given: bool
    ) -> tuple[str, ...]:
        """Caveats about effects that the sign test cannot see."""
        if self.ties == "drop":
            return ()
        # Few rows that move may lie in many clusters: nothing follows from their share.
        texts = diagnose(tests, gates, lambda n: 0, given)
        return tuple(text.replace("the typical row", "the typical cluster") for text in texts)

    def pack(self, tallies: Sequence[Any]) -> bytes:
        """Tallies as bytes for a checkpoint."""
        integers: list[Any] = []
        floats: list[Any] = []
        for effects, *columns in tallies:
            *counts, sums = effects
            integers += [counts, [len(sums), len(columns[0])], *columns[:3]]
            floats += [sums, *columns[3:]]
        return _packed.pack(integers, floats)

    def unpack(self, data: bytes, n_tallies: int) -> list[Any]:
        """Tallies from a checkpoint; raise ValueError if the bytes hold anything else."""
        integers, floats = _packed.unpack(data)
        tallies = []
        for _ in range(n_tallies):
            n_rows, n_moved, n_better, n_worse, n_sums, n = integers.take(6).tolist()
            sums = floats.take(2 * n_sums).reshape(-1, 2)
            effects = EffectTally(n_rows, n_moved, n_better, n_worse, sums)
            columns = [integers.take(n) for _ in range(3)] + [floats.take(n) for _ in range(2)]
            tallies.append(ClusterTally(effects, *columns))
        integers.finish()
        floats.finish()
        return tallies


def mean_losses(tally: ClusterTally) -> Losses:
    """The mean losses of each cluster."""
    base, full = tally.base / tally.n_rows, tally.full / tally.n_rows
    # The same losses in another order have the same sum but for rounding.
    unit = tally.n_rows * np.finfo(np.float64).eps
    equal = np.abs(base - full) <= unit * np.maximum(np.abs(base), np.abs(full))
    return Losses(base, np.where(equal, base, full), None, tally.n_moved > 0)


def _tally(one: Scored) -> ClusterTally:
    """The sums of one question over the rows of one tile, added in the order of the rows."""
    base, full, _, moved = one.losses
    clusters: Any = one.clusters if one.rows is None else one.clusters[one.rows]  # type: ignore[index]
    codes, place = np.unique(clusters, return_inverse=True)
    n_rows = np.bincount(place, minlength=len(codes))
    n_moved = n_rows if moved is None else np.bincount(place, moved, len(codes))
    sums = (np.bincount(place, losses, len(codes)) for losses in (base, full))
    return ClusterTally(describe(one.losses), codes, n_rows, n_moved, *sums)
