"""A tree ensemble sees cells: it cannot tell two values apart that lie between the same thresholds.

With all other features at their reference only few splits of a feature can still be reached.
Collect their thresholds, ask the model for one representative of each cell, and look rows up: bit
for bit what predicting every row would give, and made before the data are seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfit._contrast import Reveal
from sfit._features import Features
from sfit._rows import Table, Tile, column_values, is_frame, is_number, to_native, with_values
from sfit.models import ModelView, Trees
from sfit.restrict._direct import checked
from sfit.restrict._lookup import Lookup, make_lookup
from sfit.restrict._prediction import Prediction

Array = npt.NDArray[Any]

CALL_ROWS = 65_536
SIDES_AT_ONCE = 1_024


@dataclass(frozen=True)
class Cells:
    """A step function of some columns: the cell of each row, and the model's value there."""

    columns: tuple[int, ...]
    lookups: tuple[Lookup, ...]
    shape: tuple[int, ...]
    values: Array

    def __call__(self, tile: Tile) -> Prediction:
        """Look the rows of a tile up."""
        codes: Array | None = None
        for column, lookup, size in zip(self.columns, self.lookups, self.shape, strict=True):
            own = lookup(column_values(tile.X, column))
            codes = own if codes is None else codes * size + own
        return Prediction(self.values, codes, len(tile))


class _Plan(NamedTuple):
    """A side, its columns, the search among their thresholds, and a value for each cell."""

    side: Reveal
    columns: tuple[int, ...]
    lookups: list[Lookup]
    values: list[Array]

    @property
    def n_cells(self) -> int:
        return prod(map(len, self.values))


def make_cells(
    view: ModelView,
    trees: Trees,
    features: Features,
    sides: Sequence[Reveal],
    most_cells: int,
) -> dict[Reveal, Cells]:
    """Cell tables of those sides that have at most so many cells (and no categorical split)."""
    plans: list[_Plan] = []
    for side, edges in zip(sides, reachable_thresholds(trees, features, sides), strict=True):
        if edges is None or not all(_is_numeric(features.reference, column) for column in edges):
            continue
        lookups = [
            make_lookup(of_column, strict=trees.strict, missing=column in features.missing)
            for column, of_column in edges.items()
        ]
        values = [
            _representatives(of_column, trees.strict, column in features.missing)
            for column, of_column in edges.items()
        ]
        if prod(map(len, values)) <= most_cells:
            plans.append(_Plan(side, tuple(edges), lookups, values))

    tables: dict[Reveal, Cells] = {}
    waiting: list[_Plan] = []
    size = 0
    for plan in [*plans, None]:
        if waiting and (plan is None or size + plan.n_cells > CALL_ROWS):
            tables |= _ask(view, features, trees, waiting)
            waiting, size = [], 0
        if plan is not None:
            waiting.append(plan)
            size += plan.n_cells
    return tables


def reachable_thresholds(
    trees: Trees, features: Features, sides: Sequence[Reveal]
) -> list[dict[int, Array] | None]:
    """For each side and each of its columns, the sorted thresholds that a row can still meet.

    All trees and many sides are walked at once, a level at a time. None: a categorical split on a
    revealed column can be met, whose threshold means nothing.
    """
    n_columns = features.reference.shape[1]
    reference = np.asarray(
        [_number(features.reference, column) for column in range(n_columns)], dtype=trees.dtype
    )
    at_node = reference[np.maximum(trees.feature, 0)]
    with np.errstate(invalid="ignore"):
        below = at_node < trees.threshold if trees.strict else at_node <= trees.threshold
    # Where a hidden category would go is not recorded: both ways only makes more cells.
    goes_left = np.where(np.isnan(at_node), trees.missing_left, below) | trees.categorical
    goes_right = ~np.where(np.isnan(at_node), trees.missing_left, below) | trees.categorical

    found: list[dict[int, Array] | None] = []
    for start in range(0, len(sides), SIDES_AT_ONCE):
        some = sides[start : start + SIDES_AT_ONCE]
        columns = [features.shown(side.shown) for side in some]
        shown = np.zeros((len(some), n_columns), dtype=bool)
        for number, of_side in enumerate(columns):
            shown[number, of_side] = True
        met_side, met_node = _walk(trees, shown, goes_left, goes_right)
        categorical = np.zeros(len(some), dtype=bool)
        categorical[met_side[trees.categorical[met_node]]] = True
        order = np.lexsort((trees.threshold[met_node], trees.feature[met_node], met_side))
        met_side, met_node = met_side[order], met_node[order]
        key = met_side * n_columns + trees.feature[met_node]
        for number, of_side in enumerate(columns):
            bounds = [
                np.searchsorted(key, number * n_columns + np.array([c, c + 1])) for c in of_side
            ]
            found.append(
                None
                if categorical[number]
                else {
                    column: np.unique(trees.threshold[met_node[first:last]])
                    for column, (first, last) in zip(of_side, bounds, strict=True)
                }
            )
    return found


def _walk(trees: Trees, shown: Array, goes_left: Array, goes_right: Array) -> tuple[Array, Array]:
    """Pairs (side, node): the splits on revealed columns that rows of a side can meet."""
    n_sides = len(shown)
    sides = np.repeat(np.arange(n_sides), len(trees.roots))
    nodes = np.tile(trees.roots, n_sides)
    met: list[tuple[Array, Array]] = []
    while len(nodes):
        inner = trees.left[nodes] >= 0
        sides, nodes = sides[inner], nodes[inner]
        open_ = shown[sides, trees.feature[nodes]]
        met.append((sides[open_], nodes[open_]))
        left, right = open_ | goes_left[nodes], open_ | goes_right[nodes]
        sides = np.concatenate([sides[left], sides[right]])
        nodes = np.concatenate([trees.left[nodes[left]], trees.right[nodes[right]]])
    if not met:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    return np.concatenate([s for s, _ in met]), np.concatenate([n for _, n in met])


def _representatives(edges: Array, strict: bool, missing: bool) -> Array:
    """A value of each cell, in order; a missing one last where the column has any."""
    dtype = edges.dtype.type
    if not len(edges):
        values = np.zeros(1, dtype=edges.dtype)
    elif strict:
        values = np.append(np.nextafter(edges[0], dtype(-np.inf)), edges)
    else:
        values = np.append(edges, np.nextafter(edges[-1], dtype(np.inf)))
    return np.append(values, dtype(np.nan)) if missing else values


def _ask(
    view: ModelView,
    features: Features,
    trees: Trees,
    plans: Sequence[_Plan],
) -> dict[Reveal, Cells]:
    """Predict the representatives of all cells of some sides in one call."""
    total = sum(plan.n_cells for plan in plans)
    changed: dict[int, tuple[list[Array], list[Array]]] = {}
    start = 0
    for plan in plans:
        grid = np.asarray(list(product(*plan.values)), dtype=trees.dtype)
        for number, column in enumerate(plan.columns):
            where, what = changed.setdefault(column, ([], []))
            where.append(np.arange(start, start + plan.n_cells))
            what.append(grid[:, number])
        start += plan.n_cells
    block = with_values(
        features.reference,
        total,
        {c: (np.concatenate(where), np.concatenate(what)) for c, (where, what) in changed.items()},
    )
    predicted = checked(view.predict(to_native(block)), total)
    tables: dict[Reveal, Cells] = {}
    for plan in plans:
        own, predicted = predicted[: plan.n_cells], predicted[plan.n_cells :]
        if np.isfinite(own).all():
            shape = tuple(map(len, plan.values))
            tables[plan.side] = Cells(plan.columns, tuple(plan.lookups), shape, own)
    return tables


def _number(reference: Table, column: int) -> float:
    """The reference value of a column; of a category, what it is does not matter."""
    return float(column_values(reference, column)[0]) if _is_numeric(reference, column) else np.nan


def _is_numeric(reference: Table, column: int) -> bool:
    return not is_frame(reference) or is_number(reference.schema[reference.columns[column]])
