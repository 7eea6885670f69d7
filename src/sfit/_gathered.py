"""The permutation test over all rows of a part, for rows that depend on each other.

Clusters and time reach across tiles, so a tally only gathers outcomes and predictions. The evidence
is computed when all rows are together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from sfit import _packed
from sfit._array import Array
from sfit._contrast import Question
from sfit._diagnostics import few_clusters
from sfit._effects import EffectTally, describe
from sfit._effects import merge as merge_effects
from sfit._exchange import Clusters, Cycle, Exchange
from sfit._permutation_test import PermutationEvidence, PermutationStatistic
from sfit._rise import RiseSums, rise_between
from sfit._set_tests import AnySetTest, GateTest
from sfit._statistic import Scored
from sfit._tile_part import PermutationTally, TilePart
from sfit.exceptions import ArgumentError, DataError

GATHERED_ROWS = 1 << 22
"""More rows of one part than this are not gathered."""


APPROXIMATE = "approximate"


class GatheredTile(NamedTuple):
    """The rows of one tile, in their order."""

    tile: int
    effects: EffectTally
    is_ignored: bool
    y: Array
    g: Array
    """The predictions; all equal if the model ignores the set."""
    clusters: Array
    """The cluster of each row; empty without clusters."""
    of_class: Array
    """Whether each row is of the class, if the parts are classes; else empty."""


@dataclass(frozen=True)
class GatheredEvidence(PermutationEvidence):
    """The figures that the permutation test of dependent rows reports about a contrast."""

    n_clusters: int | None = None


@dataclass(frozen=True)
class GatheredStatistic(PermutationStatistic):
    """The permutation test of rows in clusters, or of rows in the order of time."""

    clustered: bool = False
    """Whether clusters are exchanged; otherwise time is shifted."""

    ordered: ClassVar[bool] = False

    def n_numbers(self, question: Question) -> int:
        """A tally holds the outcome, the prediction and the cluster of every row."""
        rows = self.n_rows if self.by_class else question.n
        return rows * (2 * (self.n_classes or self.n_outputs) + 2)

    def tally(self, scored: Iterable[Scored], focus: Sequence[None]) -> dict[int, Any]:
        """The rows of one tile, for each position among the questions."""
        return {one.position: (self._gathered(one),) for one in scored}

    def _gathered(self, one: Scored) -> GatheredTile:
        rows = slice(None) if self.by_class or one.rows is None else one.rows
        g = one.full.by_row()[rows]
        g = g if g.dtype == np.float32 else g.astype(np.float64)
        is_ignored = one.is_ignored()
        return GatheredTile(
            one.tile,
            describe(one.losses),
            is_ignored,
            one.y[rows].astype(np.int64 if self.n_classes else np.float64),
            np.broadcast_to(g[:1], g.shape) if is_ignored else g,
            np.empty(0, dtype=np.int64) if one.clusters is None else one.clusters[rows],
            np.empty(0, dtype=bool) if one.rows is None or not self.by_class else one.rows,
        )

    def merge(self, question: Question, tallies: Sequence[Any], focus: None) -> Any:
        """All tiles."""
        return tuple(chain(*tallies))

    def conclude(self, question: Question, seen: Any) -> GatheredEvidence:
        """The p-value, the rise and its interval, from all rows."""
        tiles = sorted(seen, key=attrgetter("tile"))
        columns = zip(*(tile[3:] for tile in tiles), strict=True)
        y, g, clusters, of_class = map(np.concatenate, columns)
        of = of_class if self.by_class else None
        exchange = self._exchange(question, len(y), clusters)
        effects = merge_effects([tile.effects for tile in tiles])
        n_components = 1 if self.statistic == "loss" else 2
        sums, variance = np.zeros((n_components, exchange.size)), np.zeros(n_components)
        of_rows = np.array(RiseSums())
        y_met, g_met = y[exchange.order], g[exchange.order]
        of_met = None if of is None else of[exchange.order]
        outcomes = y_met if of_met is None else of_met
        log_group = exchange.log_distinct(outcomes)
        if not all(tile.is_ignored for tile in tiles) and (g != g[0]).any():
            rng = np.random.default_rng([*exchange.key, 2])
            of_rows = np.array(rise_between(self.loss, y, g, exchange.units, rng, of))
            _check_unit(of_rows)
            sums, variance = self._sums(exchange, y_met, g_met, of_met)
            log_group = exchange.log_distinct(outcomes, g_met)
        first = y.reshape(len(y), -1)[:, 0]
        moments = np.array([[len(y), first.mean(), np.ptp(first), 0.0, 0.0, 0.0]])
        tally = PermutationTally(effects, sums, variance, of_rows, moments, log_group, n_fixed=0)
        evidence = super().conclude(question, tally)
        if not exchange.is_exact:
            evidence = replace(evidence, guarantee=APPROXIMATE)
        n_clusters = int(exchange.units.max()) + 1 if self.clustered else None
        return GatheredEvidence(**vars(evidence), n_clusters=n_clusters)

    def _exchange(self, question: Question, n: int, clusters: Array) -> Exchange:
        """The re-matchings that are allowed."""
        size, key = self.size(question), (self.seed, 0, 0 if self.by_class else question.part)
        if not self.clustered:
            return Cycle(n, min(size, n), False, key)
        # Numbered within the part, so other parts do not change what is drawn.
        return Clusters(pd.factorize(clusters)[0], size, key)

    def _sums(
        self, exchange: Exchange, y: Array, g: Array, of: Array | None
    ) -> tuple[Array, Array]:
        """For each component the sum of every re-matching, and their variance."""
        rows: Any = exchange
        part = TilePart(
            self.loss, self.statistic, self.n_classes, self.n_outputs, y, None, of, rows
        )
        if self.statistic == "loss" and part.loss_products is None:
            sums = _scaled(part.loss_sums(g))
            return sums[None], np.array([np.square(sums).mean()])
        pairs = zip(part.outcome_scores, part.prediction_scores(g), strict=True)
        # A common factor of a sum and its standard deviation does not matter.
        added = [exchange.sums(_scaled(u), _scaled(v)) for u, v in pairs]
        return np.array([sums for sums, _ in added]), np.array([spread for _, spread in added])

    def too_few(self, n: int) -> tuple[str, ...]:
        """Nothing is known before the clusters of a part are counted; see `caveats`."""
        return ()

    def caveats(self, evidence: Sequence[Any], loss: str) -> tuple[str, ...]:
        """Caveats about few clusters, and about a constant outcome."""
        n_clusters = evidence[0].n_clusters
        few = () if n_clusters is None else few_clusters(n_clusters)
        return (*few, *super().caveats(evidence, loss))

    def diagnose(
        self, tests: Sequence[AnySetTest], gates: Sequence[GateTest], given: bool
    ) -> tuple[str, ...]:
        """Caveats about approximate p-values, and about a sampled rise."""
        others = super().diagnose(tests, gates, given)
        if not any(getattr(test, "guarantee", "") == APPROXIMATE for test in tests):
            return others
        if not self.clustered:
            return (
                "the p-values are approximate: predictions were shifted in time, which is valid "
                "for stationary series.",
                *others,
            )
        return (
            "the p-values are approximate: a cluster whose size occurs once changes places with "
            "one of another size, and the rows that this leaves over do not count.",
            *others,
        )

    def pack(self, tallies: Sequence[Any]) -> bytes:
        """Tallies as bytes for a checkpoint."""
        integers: list[Any] = []
        floats: list[Any] = []
        for tiles in tallies:
            integers.append([len(tiles)])
            for tile, effects, is_ignored, y, g, clusters, of_class in tiles:
                *counts, sums = effects
                shapes = [len(y), *(values.size // max(len(y), 1) for values in (y, g))]
                shapes += [y.ndim, g.ndim, g.dtype == np.float32, len(clusters), len(of_class)]
                integers += [[tile, is_ignored, len(sums)], counts, shapes, clusters, of_class]
                floats += [sums, y, g]
        return _packed.pack(integers, floats)

    def unpack(self, data: bytes, n_tallies: int) -> list[Any]:
        """Tallies from a checkpoint; raise ValueError if the bytes hold anything else."""
        integers, floats = _packed.unpack(data)
        tallies = []
        for _ in range(n_tallies):
            [n_tiles] = integers.take(1).tolist()
            tallies.append(tuple(self._unpacked(integers, floats) for _ in range(n_tiles)))
        integers.finish()
        floats.finish()
        return tallies

    def _unpacked(self, integers: _packed.Reader, floats: _packed.Reader) -> GatheredTile:
        tile, is_ignored, n_sums = integers.take(3).tolist()
        n_rows, n_moved, n_better, n_worse = integers.take(4).tolist()
        n, d_y, d_g, ndim_y, ndim_g, is_single, n_clusters, n_of = integers.take(8).tolist()
        clusters, of_class = integers.take(n_clusters), integers.take(n_of).astype(bool)
        sums = floats.take(2 * n_sums).reshape(-1, 2)
        y = floats.take(n * d_y).reshape((n, d_y)[:ndim_y])
        g = floats.take(n * d_g).reshape((n, d_g)[:ndim_g])
        return GatheredTile(
            tile,
            EffectTally(n_rows, n_moved, n_better, n_worse, sums),
            bool(is_ignored),
            y.astype(np.int64 if self.n_classes else np.float64),
            g.astype(np.float32 if is_single else np.float64),
            clusters,
            of_class,
        )


def check_gathered(n: int) -> None:
    """Refuse more rows than are gathered."""
    if n > GATHERED_ROWS:
        raise ArgumentError(
            f"clusters and row_order need all rows of a part together under test='permutation': at "
            f"most {GATHERED_ROWS:,}; got {n:,}. Use fewer rows, parts with by=, or, for clusters, "
            "test='sign'."
        )


def _scaled(scores: Array) -> Array:
    """Scores whose squares a float can hold."""
    largest = float(np.abs(scores).max(initial=0.0))
    return scores / largest if 0 < largest < np.inf else scores


def _check_unit(of_rows: Array) -> None:
    """Refuse numbers whose squares a float cannot hold."""
    if not np.isfinite(of_rows).all():
        raise DataError(
            "the outcomes or the predictions are too large or too small: a float cannot hold the "
            "squares of their distances from the mean. Express y, and the model's predictions, in "
            "another unit."
        )
