"""A tree ensemble sees cells: it cannot tell two values apart that lie between the same thresholds.

With all other features at their reference only few splits of a feature can still be reached.
Collect their thresholds, ask the model for one representative of each cell, and look rows up: bit
for bit what predicting every row would give. Where cells are few, all are asked for before the data
are seen; a product of many, which rows hardly fill, is asked for cell by cell as rows come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfit._contrast import Reveal
from sfit._features import Features
from sfit.models import ModelView, Trees
from sfit.restrict._direct import STACK_ROWS, Memory, checked, predict_directly
from sfit.restrict._lookup import Lookup, make_lookup
from sfit.restrict._prediction import Prediction
from sfit.rows import Table, Tile, column_values, is_frame, is_number, to_native, with_values

Array = npt.NDArray[Any]

CALL_ROWS = 65_536
SIDES_AT_ONCE = 1_024

ROWS_PER_CELL = 4
"""All cells are asked for where there are at least so many rows for each of them."""
CELLS_PER_ROW = 16
"""A table with more cells than this for each row costs more than it saves."""


@dataclass(frozen=True)
class Grid:
    """The cells of some columns: the search among the thresholds of each, and a value per step."""

    columns: tuple[int, ...]
    lookups: tuple[Lookup, ...]
    values: tuple[Array, ...]

    @property
    def n_cells(self) -> int:
        """Number of cells of the product."""
        return prod(map(len, self.values))

    def cells_of(self, tile: Tile) -> Array:
        """Number of the cell of each row of a tile."""
        cells: Array | None = None
        for column, lookup, values in zip(self.columns, self.lookups, self.values, strict=True):
            own = lookup(column_values(tile.X, column))
            cells = own if cells is None else cells * len(values) + own
        return np.zeros(len(tile), dtype=np.intp) if cells is None else cells

    def representatives(self, cells: Array) -> Iterator[tuple[int, Array]]:
        """A value of each column for some cells."""
        steps = np.unravel_index(cells, [len(values) for values in self.values])
        for column, values, step in zip(self.columns, self.values, steps, strict=True):
            yield column, values[step]


@dataclass(frozen=True)
class Cells:
    """A step function of some columns: the cell of each row, and the model's value there."""

    grid: Grid
    values: Array

    def __call__(self, tile: Tile) -> Prediction:
        """Look the rows of a tile up."""
        if len(self.values) == 1:
            return Prediction(self.values, None, len(tile))
        return Prediction(self.values, self.grid.cells_of(tile), len(tile))


@dataclass
class Asked:
    """What the model has said of some cells; not a number where it was not asked."""

    values: Array | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Another process asks for the cells of its own rows."""
        return {"values": None}


@dataclass(frozen=True)
class SparseCells:
    """The same for many cells, most of them empty: each is asked for when a row first lies there.

    Cells come in order, where neighbours take the same way down the trees: a forest answers twice
    as fast as for rows as they come.
    """

    side: Reveal
    grid: Grid
    view: ModelView
    features: Features
    asked: Asked = field(default_factory=Asked)

    def __call__(self, tile: Tile) -> Prediction:
        """Look the rows of a tile up, after asking for cells that no row has met before."""
        cells = self.grid.cells_of(tile)
        table = self.asked.values
        unknown = slice(None) if table is None else _is_unknown(table.take(cells, axis=0))
        new = np.unique(cells[unknown])
        if table is None or len(new):
            found = ask_cells(self.view, self.features.reference, [(self.grid, new)])
            if not np.isfinite(found).all():
                return self._directly(tile)
            if table is None:
                table = np.full((self.grid.n_cells, *found.shape[1:]), np.nan, dtype=found.dtype)
            table[new] = found
            self.asked.values = table
        return Prediction(table.take(cells, axis=0), None, len(tile))

    def _directly(self, tile: Tile) -> Prediction:
        """Ask for every row: where a prediction is not finite, that tells which row it is of."""
        [(_, prediction)] = predict_directly(self.view, self.features, tile, [self.side], Memory())
        return prediction


def _is_unknown(values: Array) -> Array:
    return np.isnan(values if values.ndim == 1 else values.sum(axis=1))


class _Plan(NamedTuple):
    side: Reveal
    grid: Grid


def make_cells(
    view: ModelView, trees: Trees, features: Features, sides: Sequence[Reveal], n: int, room: int
) -> dict[Reveal, Cells | SparseCells]:
    """Cell tables for n rows, of those sides that have no categorical split and not too many cells.

    `room` is the number of cells that tables which are filled as rows come may have together.
    """
    plans: list[_Plan] = []
    tables: dict[Reveal, Cells | SparseCells] = {}
    for side, edges in zip(sides, reachable_thresholds(trees, features, sides), strict=True):
        if edges is None or not all(_is_numeric(features.reference, column) for column in edges):
            continue
        grid = _grid(trees, features, edges)
        if grid.n_cells * ROWS_PER_CELL <= n:
            plans.append(_Plan(side, grid))
        elif n > STACK_ROWS and grid.n_cells <= min(CELLS_PER_ROW * n, room):
            tables[side] = SparseCells(side, grid, view, features)
            room -= grid.n_cells

    waiting: list[_Plan] = []
    size = 0
    for plan in [*plans, None]:
        if waiting and (plan is None or size + plan.grid.n_cells > CALL_ROWS):
            tables |= _filled(view, features.reference, waiting)
            waiting, size = [], 0
        if plan is not None:
            waiting.append(plan)
            size += plan.grid.n_cells
    return tables


def _grid(trees: Trees, features: Features, edges: Mapping[int, Array]) -> Grid:
    missing = [column in features.missing for column in edges]
    of_columns = list(zip(edges.values(), missing, strict=True))
    return Grid(
        columns=tuple(edges),
        lookups=tuple(
            make_lookup(own, strict=trees.strict, missing=some) for own, some in of_columns
        ),
        values=tuple(_representatives(own, trees.strict, some) for own, some in of_columns),
    )


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
    # A split of what is missing from all else has its threshold at infinity, which models refuse.
    largest = np.finfo(dtype).max
    values = np.clip(values, -largest, largest)
    return np.append(values, dtype(np.nan)) if missing else values


def _filled(view: ModelView, reference: Table, plans: Sequence[_Plan]) -> dict[Reveal, Cells]:
    """Tables of all cells of some sides, from one call of the model."""
    asked = [(plan.grid, np.arange(plan.grid.n_cells)) for plan in plans]
    ends = np.cumsum([plan.grid.n_cells for plan in plans])
    values = np.split(ask_cells(view, reference, asked), ends[:-1])
    return {
        plan.side: Cells(plan.grid, own)
        for plan, own in zip(plans, values, strict=True)
        if np.isfinite(own).all()
    }


def ask_cells(view: ModelView, reference: Table, asked: Sequence[tuple[Grid, Array]]) -> Array:
    """Predict the representatives of some cells of some grids in one call."""
    changed: dict[int, tuple[list[Array], list[Array]]] = {}
    total = 0
    for grid, cells in asked:
        for column, values in grid.representatives(cells):
            where, what = changed.setdefault(column, ([], []))
            where.append(np.arange(total, total + len(cells)))
            what.append(values)
        total += len(cells)
    block = with_values(
        reference,
        total,
        {c: (np.concatenate(where), np.concatenate(what)) for c, (where, what) in changed.items()},
    )
    return checked(view.predict(to_native(block)), total)


def _number(reference: Table, column: int) -> float:
    """The reference value of a column; of a category, what it is does not matter."""
    return float(column_values(reference, column)[0]) if _is_numeric(reference, column) else np.nan


def _is_numeric(reference: Table, column: int) -> bool:
    return not is_frame(reference) or is_number(reference.schema[reference.columns[column]])
