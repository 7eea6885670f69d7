"""A forest, tree by tree: each tree has few cells, even if all trees together have too many.

A forest predicts the mean of its trees, summed in their order. One table per tree gives the tree's
predictions, and their sum in the same order is bit-identical to the forest's prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Literal

import numpy as np

from sfit._array import Array
from sfit.models import Trees
from sfit.restrict._cells import Grid, at_cells, representatives
from sfit.restrict._direct import CALL_BYTES
from sfit.restrict._prediction import Prediction
from sfit.rows import Tile

ROWS_AT_ONCE = 8_192
"""Rows per block, small enough for the cache."""


@dataclass(frozen=True)
class TreeByTree:
    """The mean of step functions, one for each tree."""

    grid: Grid
    """The cells of all trees together."""
    steps: tuple[Array, ...]
    """For each column, by tree and step of the grid: its contribution to the tree's cell index."""
    tables: tuple[Array, ...]
    """The predictions of each tree in its cells."""

    @property
    def size(self) -> int:
        """Number of values held."""
        return sum(steps.size for steps in self.steps) + sum(map(len, self.tables))

    def __call__(self, tile: Tile) -> Prediction:
        """Look up the rows of a tile in every tree and average."""
        steps_of = self.grid.steps_of(tile)
        values = np.zeros((len(tile), *self.tables[0].shape[1:]))
        for first in range(0, len(tile), ROWS_AT_ONCE):
            block = [steps[first : first + ROWS_AT_ONCE] for steps in steps_of]
            total = values[first : first + ROWS_AT_ONCE]
            for number, table in enumerate(self.tables):
                cell = self.steps[0][number].take(block[0])
                for steps, at in zip(self.steps[1:], block[1:], strict=True):
                    cell += steps[number].take(at)
                total += table.take(cell, axis=0)
        values /= len(self.tables)
        return Prediction(values, None, len(tile))


def make_tree_by_tree(
    trees: Trees, reference: Array, grid: Grid, nodes: Mapping[int, Array], most: int, budget: int
) -> TreeByTree | None:
    """Predict the cells of each tree; None if a prediction is not finite.

    `nodes` are the reachable splits of each column, `reference` the frozen row. Also None if trees
    have more than `most` cells on average, if more than `budget` values would be held, or if the
    rows for all cells of a tree exceed the memory budget of a call.
    """
    edges = [_by_tree(trees, of_column) for of_column in nodes.values()]
    of_trees = [
        prod(len(thresholds) + 1 for thresholds in of_tree) for of_tree in zip(*edges, strict=True)
    ]
    cells = sum(of_trees)
    held = cells + len(of_trees) * sum(map(len, grid.values))
    too_wide = max(of_trees) * reference.nbytes > CALL_BYTES
    if cells > most * len(of_trees) or held > budget or too_wide:
        return None
    steps = tuple(
        np.empty((len(trees.roots), len(values)), dtype=np.intp) for values in grid.values
    )
    which: Literal["left", "right"] = "right" if trees.strict else "left"
    tables = []
    for number, of_tree in enumerate(zip(*edges, strict=True)):
        stride = 1
        for column in reversed(range(len(of_tree))):
            steps_of_tree = np.searchsorted(of_tree[column], grid.values[column], which)
            np.multiply(steps_of_tree, stride, out=steps[column][number])
            stride *= len(of_tree[column]) + 1
        rows = np.tile(reference, (stride, 1))
        values = [representatives(at, trees.strict, missing=False) for at in of_tree]
        for column, at in zip(nodes, at_cells(np.arange(stride), values), strict=True):
            rows[:, column] = at
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
    return [np.unique(of_tree) for of_tree in np.split(threshold, ends)]
