"""A forest, tree by tree: where all trees together have too many cells, each has few.

A forest predicts the mean of its trees, in their order. A table of each tree's own cells gives what
the tree predicts, and the sum in the same order gives the forest's prediction in every bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from sfit.models import Trees
from sfit.restrict._cells import Grid, at_cells, representatives
from sfit.restrict._direct import CALL_BYTES
from sfit.restrict._prediction import Prediction
from sfit.rows import Tile

Array = npt.NDArray[Any]

ROWS_AT_ONCE = 8_192
"""Rows that are added up together: what they need stays in the cache."""


@dataclass(frozen=True)
class TreeByTree:
    """The mean of step functions, one for each tree."""

    grid: Grid
    """The cells of all trees together."""
    steps: tuple[Array, ...]
    """For each column, by tree and step of the grid: its share of the number of a tree's cell."""
    tables: tuple[Array, ...]
    """What each tree says in its cells."""

    @property
    def size(self) -> int:
        """Numbers that are held."""
        return sum(steps.size for steps in self.steps) + sum(map(len, self.tables))

    def __call__(self, tile: Tile) -> Prediction:
        """Look the rows of a tile up in every tree, and add up."""
        steps_of = self.grid.steps_of(tile)
        values = np.zeros((len(tile), *self.tables[0].shape[1:]))
        for first in range(0, len(tile), ROWS_AT_ONCE):
            own = [steps[first : first + ROWS_AT_ONCE] for steps in steps_of]
            total = values[first : first + ROWS_AT_ONCE]
            for number, table in enumerate(self.tables):
                cell = self.steps[0][number].take(own[0])
                for steps, at in zip(self.steps[1:], own[1:], strict=True):
                    cell += steps[number].take(at)
                total += table.take(cell, axis=0)
        values /= len(self.tables)
        return Prediction(values, None, len(tile))


def make_tree_by_tree(
    trees: Trees, reference: Array, grid: Grid, nodes: Mapping[int, Array], most: int, room: int
) -> TreeByTree | None:
    """Ask each tree for its own cells; None where one of them is not a number.

    `nodes` are the splits of each column that can be reached, `reference` the frozen row. None,
    too, where a tree has more than `most` cells on average, more than `room` numbers are held, or
    the rows that ask a tree for all of its cells take more than a call may.
    """
    edges = [_by_tree(trees, own) for own in nodes.values()]
    of_trees = [prod(len(own) + 1 for own in of_tree) for of_tree in zip(*edges, strict=True)]
    cells = sum(of_trees)
    held = cells + len(of_trees) * sum(map(len, grid.values))
    if cells > most * len(of_trees) or held > room or max(of_trees) * reference.nbytes > CALL_BYTES:
        return None
    steps = tuple(np.empty((len(trees.roots), len(own)), dtype=np.intp) for own in grid.values)
    which: Literal["left", "right"] = "right" if trees.strict else "left"
    tables = []
    for number, of_tree in enumerate(zip(*edges, strict=True)):
        stride = 1
        for column in reversed(range(len(of_tree))):
            found = np.searchsorted(of_tree[column], grid.values[column], which)
            np.multiply(found, stride, out=steps[column][number])
            stride *= len(of_tree[column]) + 1
        rows = np.tile(reference, (stride, 1))
        values = [representatives(own, trees.strict, missing=False) for own in of_tree]
        for column, own in zip(nodes, at_cells(np.arange(stride), values), strict=True):
            rows[:, column] = own
        tables.append(trees.members[number](rows))
        if not np.isfinite(tables[-1]).all():
            return None
    return TreeByTree(grid, steps, tuple(tables))


def _by_tree(trees: Trees, nodes: Array) -> Sequence[Array]:
    """The sorted thresholds of some splits, for each tree."""
    owner = np.searchsorted(trees.roots, nodes, "right") - 1
    order = np.lexsort((trees.threshold[nodes], owner))
    threshold = trees.threshold[nodes[order]]
    ends = np.searchsorted(owner[order], np.arange(1, len(trees.roots)))
    return [np.unique(own) for own in np.split(threshold, ends)]
