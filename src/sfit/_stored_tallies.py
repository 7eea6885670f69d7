"""Finished tallies of one pass, in a checkpoint.

Tallies that may merge in any order are stored tile by tile. Sums of floats must be added in tile
order: of these, the merged tallies of the first tiles are stored, and replaced after every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from sfit._checkpoint import Checkpoint
from sfit._statistic import Statistic
from sfit.rows import TileRun

MERGED = -1
"""Number of the tile under which merged tallies are stored."""


@dataclass(frozen=True)
class StoredTallies:
    """The tallies that a checkpoint holds for some tasks; without a checkpoint, none."""

    checkpoint: Checkpoint | None
    statistic: Statistic
    stage: str
    tasks: Sequence[Sequence[int]]
    """The positions of the questions of each task."""

    def merged(self, n_questions: int) -> tuple[int, list[list[Any]]]:
        """How many tiles are merged already, and their tally for each question."""
        seen: list[list[Any]] = [[] for _ in range(n_questions)]
        if self.checkpoint is None or not self.statistic.ordered:
            return 0, seen
        n_merged = 0
        for k, task in enumerate(self.tasks):
            decode = partial(self._decoded, n_tallies=len(task))
            stored = self.checkpoint.get(self.stage, MERGED, k, decode)
            if stored is None:  # all tasks are stored in one transaction
                return 0, seen
            n_merged, tallies = stored
            for position, tally in zip(task, tallies, strict=True):
                seen[position] = [tally]
        return n_merged, seen

    def _decoded(self, data: bytes, n_tallies: int) -> tuple[int, list[Any]]:
        return int.from_bytes(data[:8], "little"), self.statistic.unpack(data[8:], n_tallies)

    def recall(self, runs: Sequence[TileRun]) -> dict[tuple[int, int], list[Any]]:
        """The stored tallies of runs of tiles, only of tasks that finished all tiles of a run."""
        finished: dict[tuple[int, int], list[Any]] = {}
        if self.checkpoint is None or self.statistic.ordered:
            return finished
        for run, (k, task) in product(runs, enumerate(self.tasks)):
            decode = partial(self.statistic.unpack, n_tallies=len(task))
            tiles = run.tile_range
            stored = {(t, k): self.checkpoint.get(self.stage, t, k, decode) for t in tiles}
            present = {key: tallies for key, tallies in stored.items() if tallies is not None}
            if len(present) == len(stored):
                finished |= present
        return finished

    def keep(self, answers: dict[tuple[int, int], list[Any]]) -> None:
        """Store the tallies of one job, by tile and task."""
        if self.checkpoint is None or self.statistic.ordered:
            return
        for (tile, k), tallies in answers.items():
            self.checkpoint.put(self.stage, tile, k, self.statistic.pack(tallies))
        self.checkpoint.commit()

    def keep_merged(self, n_tiles: int, seen: Sequence[Sequence[Any]]) -> None:
        """Store the merged tallies of the first tiles."""
        if self.checkpoint is None or not self.statistic.ordered:
            return
        for k, task in enumerate(self.tasks):
            data = self.statistic.pack([seen[position][0] for position in task])
            self.checkpoint.put(self.stage, MERGED, k, n_tiles.to_bytes(8, "little") + data)
        self.checkpoint.commit()
