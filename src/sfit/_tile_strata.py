"""The strata of one part of a tile: each is re-matched by itself, and their tallies add up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfit._array import Array
from sfit._block_part import BlockPart
from sfit._effects import EffectTally, describe
from sfit._statistic import Scored
from sfit._tile_part import PermutationTally, TilePart, add_tallies, no_rows
from sfit.exceptions import DataError

Piece = tuple[PermutationTally, list[Array] | None]


@dataclass(frozen=True)
class TileStrata:
    """Groups of rows that are re-matched independently; without given features there is one."""

    parts: Sequence[TilePart | BlockPart]
    n_components: int
    size: int
    """Number of re-matchings."""
    n_fixed: int = 0
    """Rows in strata that are too small to be re-matched."""
    waiting: list[tuple[int, EffectTally, list[Piece]]] = field(default_factory=list)
    """Questions whose sums are still to be computed: position, effects, one piece per stratum."""

    def add(self, one: Scored) -> dict[int, PermutationTally]:
        """Tally a question; its sums are computed together with those of others."""
        effects, g = describe(one.losses), one.full.by_row()
        pieces = [part.tally(effects, g, one.is_ignored) for part in self.parts]
        for tally, _ in pieces:
            _check_unit(tally)
        self.waiting.append((one.position, effects, pieces))
        most = max((part.together for part in self.parts), default=1)
        return self.finish() if len(self.waiting) >= most else {}

    def finish(self) -> dict[int, PermutationTally]:
        """The tallies of all questions that are waiting, by their positions."""
        of_question: list[list[PermutationTally]] = [[] for _ in self.waiting]
        for number, part in enumerate(self.parts):
            pieces = [of_strata[number] for *_, of_strata in self.waiting]
            scores = [one for _, one in pieces if one is not None]
            sums = iter(part.products.of(scores) if scores else ())
            for tallies, (tally, one) in zip(of_question, pieces, strict=True):
                tallies.append(tally if one is None else tally._replace(sums=next(sums)))
        finished = {}
        for (position, effects, _), tallies in zip(self.waiting, of_question, strict=True):
            tallies = tallies or [no_rows(effects, self.n_components, self.size)]
            finished[position] = add_tallies(tallies, effects)._replace(n_fixed=self.n_fixed)
        self.waiting.clear()
        return finished


def _check_unit(tally: PermutationTally) -> None:
    """Refuse numbers whose squares a float cannot hold: the p-value would be wrong."""
    if not (np.isfinite(tally.variance).all() and np.isfinite(tally.rise).all()):
        raise DataError(
            "the outcomes or the predictions are too large or too small: a float cannot hold the "
            "squares of their distances from the mean. Express y, and the model's predictions, in "
            "another unit."
        )
