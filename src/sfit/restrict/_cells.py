"""A step function of some columns: the cell of each row, and the model's value there.

Bit for bit what predicting every row would give. Where cells are few, all are asked for before the
data are seen; a product of many, which rows hardly fill, is asked for cell by cell as rows come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._contrast import Reveal
from sfit._features import Features
from sfit.models import ModelView
from sfit.restrict._direct import CALL_BYTES, Memory, checked, predict_directly
from sfit.restrict._lookup import Lookup
from sfit.restrict._prediction import Prediction
from sfit.rows import Table, Tile, column_values, to_native, with_values

Array = npt.NDArray[Any]

CALL_ROWS = 65_536
"""So many cells are predicted in one call, as many as a tile has rows; fewer of wide rows."""


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
        for own, values in zip(self.steps_of(tile), self.values, strict=True):
            cells = own if cells is None else cells * len(values) + own
        return np.zeros(len(tile), dtype=np.intp) if cells is None else cells

    def steps_of(self, tile: Tile) -> list[Array]:
        """Number of the step of each row of a tile, along each column."""
        return [
            lookup(column_values(tile.X, column))
            for column, lookup in zip(self.columns, self.lookups, strict=True)
        ]

    def representatives(self, cells: Array) -> Iterator[tuple[int, Array]]:
        """A value of each column for some cells."""
        return zip(self.columns, at_cells(cells, self.values), strict=True)


NO_COLUMNS = Grid((), (), ())
"""The one cell of all rows that nothing tells apart."""


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

    @property
    def size(self) -> int:
        """Numbers that are held when every cell was asked for."""
        return self.grid.n_cells

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


def at_cells(cells: Array, values: Sequence[Array]) -> list[Array]:
    """A value of each column for some cells of their product; the last column runs fastest.

    Columns may be more than an array of NumPy has dimensions.
    """
    found = []
    for own in reversed(values):
        cells, step = np.divmod(cells, len(own))
        found.append(own[step])
    return found[::-1]


def representatives(edges: Array, strict: bool, missing: bool, *, unbounded: bool = False) -> Array:
    """A value of each cell, in order; a missing one last where the column has any.

    `unbounded` says that the column holds infinities, or what the trees' type takes for them.
    """
    dtype = edges.dtype.type
    with np.errstate(over="ignore"):
        if not len(edges):
            values = np.zeros(1, dtype=edges.dtype)
        elif strict:
            values = np.append(np.nextafter(edges[0], dtype(-np.inf)), edges)
        else:
            values = np.append(edges, np.nextafter(edges[-1], dtype(np.inf)))
    if not unbounded:
        # A split of what is missing from all else may have its threshold at infinity, which most
        # models refuse. Without infinite rows the cell beyond the largest float is empty.
        largest = np.finfo(dtype).max
        values = np.clip(values, -largest, largest)
    return np.append(values, dtype(np.nan)) if missing else values


def ask_cells(view: ModelView, reference: Table, asked: Sequence[tuple[Grid, Array]]) -> Array:
    """Predict the representatives of some cells of some grids, in calls that fit the budget."""
    most = max(1, min(CALL_ROWS, CALL_BYTES // (8 * reference.shape[1])))
    answers = [_ask(view, reference, some) for some in _calls(asked, most)]
    return answers[0] if len(answers) == 1 else np.concatenate(answers)


def _calls(
    asked: Sequence[tuple[Grid, Array]], most: int
) -> Iterator[Sequence[tuple[Grid, Array]]]:
    """The same cells, so many at a time."""
    some: list[tuple[Grid, Array]] = []
    size = 0
    for grid, cells in asked:
        while len(cells):
            own, cells = cells[: most - size], cells[most - size :]
            some.append((grid, own))
            size += len(own)
            if size == most:
                yield some
                some, size = [], 0
    if some:
        yield some


def _ask(view: ModelView, reference: Table, asked: Sequence[tuple[Grid, Array]]) -> Array:
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
