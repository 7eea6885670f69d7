"""Rows in blocks of four, sorted by a given feature: the other features are shifted in each block.

The moved rows have been predicted like any others, so the losses of every shift are known. Their
sums over a block are all that a random choice of shifts needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import fsum, log
from typing import Any, ClassVar

import numpy as np

from sfit._array import Array
from sfit._bilinear import columns
from sfit._effects import EffectTally
from sfit._losses import Loss
from sfit._permutations import DRAWN_TOGETHER
from sfit._rise import RiseSums, loss_of_any_pair
from sfit._tile_part import PermutationTally, no_rows

BLOCK = 4
"""Rows of a block, and shifts of its rows."""

SAME = 1e-12
"""Sums of the losses that differ by less than this share of them are equal but for rounding."""


@dataclass(frozen=True)
class BlockPart:
    """The rows of one part of a tile that are shifted within blocks."""

    loss: Loss
    y: Array
    """Outcomes of the own rows of the tile."""
    rows: Array
    """Positions of the rows of all blocks among the own rows, block after block."""
    lengths: Array
    """Number of rows of each block: four, or two or three."""
    of_class: Array | None
    """If the parts are classes, the own rows of this class."""
    size: int
    """Number of re-matchings, the observed one included."""
    key: tuple[int, ...]
    """Seed of the run, and numbers of the tile and the part."""

    together: ClassVar[int] = 1
    """Number of terms whose sums are computed together."""
    products: ClassVar[Any] = None
    """Sums are never left for later."""

    def tally(
        self, effects: EffectTally, g: Array, ignored: Callable[[], bool]
    ) -> tuple[PermutationTally, None]:
        """The tally of a question; `g` are the predictions for the own rows and three copies."""
        tally = no_rows(effects, 1, self.size)
        if not len(self.lengths):
            return tally, None
        losses = self._losses(g)
        if ignored():
            losses = np.broadcast_to(losses[:, :1], losses.shape)
        of_block = np.add.reduceat(losses, self._starts, axis=0)
        # By how much the loss of a block rises with each shift.
        rises = of_block - of_block[:, :1]
        moves = rises.any(axis=1)
        sums = -self._drawn_sums(rises)
        same = np.abs(sums) <= SAME * abs(of_block[:, 0].sum())
        sums[same] = 0.0
        variance = np.square(sums).mean()
        # A square that vanishes though the sums differ must not pass for "no spread".
        variance = np.nan if variance == 0 and sums.any() else variance
        return (
            tally._replace(
                sums=sums[None],
                variance=np.array([variance]),
                rise=self._rise(losses),
                moments=self._moments,
                log_group=fsum(log(length) for length in self.lengths[moves].tolist()),
            ),
            None,
        )

    @cached_property
    def _moments(self) -> Array:
        """The spread of the outcome in this tile, which is a stratum without predictions."""
        y = columns(self.y[self.rows])[:, 0]
        mean = float(y.mean())
        _, tile, *_ = self.key
        return np.array([[len(y), mean, np.square(y - mean).sum(), 0.0, 0.0, -1.0 - tile]])

    @cached_property
    def _starts(self) -> Array:
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def _length(self) -> Array:
        """The length of the block of each row."""
        return np.repeat(self.lengths, self.lengths)

    @cached_property
    def _counted(self) -> Array:
        """The rows whose losses count."""
        counted = np.ones(len(self.rows), dtype=bool)
        return counted if self.of_class is None else self.of_class[self.rows]

    def _losses(self, g: Array) -> Array:
        """Loss of each row under each shift; 0 if it does not count, or there is no such shift."""
        m = len(self.y)
        losses = np.zeros((len(self.rows), BLOCK))
        for shift in range(BLOCK):
            there = self._counted & (shift < self._length)
            some = self.rows[there]
            losses[there, shift] = loss_of_any_pair(self.loss, self.y[some], g[shift * m + some])
        return losses

    def _drawn_sums(self, rises: Array) -> Array:
        """For each re-matching, the sum over the blocks under the shifts that were drawn."""
        places = BLOCK * np.arange(len(rises))
        flat = np.ascontiguousarray(rises).ravel()
        sums = [flat[places + shifts].sum(axis=1) for shifts in self._shifts]
        return np.concatenate(sums)

    @cached_property
    def _shifts(self) -> list[Array]:
        """Batches of re-matchings: the shift of each block; the first re-matching shifts none."""
        batches = []
        for first in range(0, self.size, DRAWN_TOGETHER):
            rng = np.random.default_rng([*self.key, 1, first])
            shape = (DRAWN_TOGETHER, len(self.lengths))
            drawn = rng.integers(0, self.lengths, size=shape).astype(np.uint8)
            if first == 0:
                drawn[0] = 0
            batches.append(drawn[: self.size - first])
        return batches

    def _rise(self, losses: Array) -> Array:
        """The rise of each block, added up; its variance comes from its own rows."""
        others = np.maximum(self._length - 1, 1)
        gaps = losses[:, 1:].sum(axis=1) / others - losses[:, 0]
        # The loss of other rows under the values of this row, which moved there.
        moved = np.zeros(len(gaps))
        first = np.repeat(self._starts, self.lengths)
        place = np.arange(len(gaps)) - first
        for shift in range(1, BLOCK):
            there = shift < self._length
            source = first + (place + shift) % self._length
            np.add.at(moved, source[there], losses[there, shift])
        contributions = gaps + moved / others
        n, total, sums, squares = (
            np.add.reduceat(values, self._starts)
            for values in (
                self._counted.astype(np.float64),
                gaps,
                contributions,
                np.square(contributions),
            )
        )
        variance = np.maximum(squares - sums**2 / self.lengths, 0.0) / (self.lengths - 1)
        small = {
            "small_n": n.sum(),
            "small_n_squares": (n * n).sum(),
            "small_total": total.sum(),
            "small_total_squares": (total * total).sum(),
            "small_products": (n * total).sum(),
            "small_spread": (n * variance).sum(),
            "small_freedom": np.maximum(n - 1, 0.0).sum(),
        }
        return np.array(RiseSums(n=n.sum(), total=total.sum(), **small))
