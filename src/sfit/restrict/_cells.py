"""A step function of some columns: the cell of each row, and the model's prediction there.

The result is bit-identical to predicting every row. Few cells are all predicted in advance; of a
large product of cells, most of them empty, each is predicted when the first row falls into it.

A mean over background rows has the thresholds of all of them. For a single background row many of
its cells are the same, and are predicted once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from math import prod
from typing import Any, NamedTuple

import numpy as np

from sfit._array import Array
from sfit._contrast import Reveal
from sfit._features import Features
from sfit.models import ModelView
from sfit.restrict._direct import CALL_BYTES, CALL_ROWS, Memory, checked, predict_directly
from sfit.restrict._lookup import Lookup
from sfit.restrict._prediction import Prediction, averaged
from sfit.rows import Table, Tile, column_values, to_native, with_values


@dataclass(frozen=True)
class Grid:
    """The cells of some columns: for each, the threshold lookup and one value per step."""

    columns: tuple[int, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    values: tuple[Array, ...] = ()
    n_background: int = 1
    coarser: tuple[Array, ...] = ()
    """For each column, by background row and step: the first of the steps that are the same for
    that row. Empty if there is one background row, for which no two steps are the same."""

    @property
    def n_cells(self) -> int:
        """Number of cells of the product."""
        return prod(map(len, self.values))

    @cached_property
    def n_predictions(self) -> int:
        """Number of rows to predict for all cells: the distinct cells of each background row."""
        if not self.coarser:
            return self.n_cells * self.n_background
        steps = [
            np.count_nonzero(first == np.arange(first.shape[1]), axis=1) for first in self.coarser
        ]
        return sum(prod(of_row) for of_row in zip(*(n.tolist() for n in steps), strict=True))

    def seen_by(self, background: int, cells: Array) -> Array:
        """For some cells, the first cell that is the same for one background row."""
        seen = np.zeros(len(cells), dtype=np.intp)
        stride = 1
        for first in reversed(self.coarser):
            cells, step = np.divmod(cells, first.shape[1])
            seen += first[background].take(step) * stride
            stride *= first.shape[1]
        return seen

    def cells_of(self, tile: Tile) -> Array:
        """Index of the cell of each row of a tile."""
        cells: Array | None = None
        for steps, values in zip(self.steps_of(tile), self.values, strict=True):
            cells = steps if cells is None else cells * len(values) + steps
        return np.zeros(len(tile), dtype=np.intp) if cells is None else cells

    def steps_of(self, tile: Tile) -> list[Array]:
        """Index of the step of each row of a tile, along each column."""
        return [
            lookup(column_values(tile.X, column))
            for column, lookup in zip(self.columns, self.lookups, strict=True)
        ]

    def representatives(self, cells: Array) -> Iterator[tuple[int, Array]]:
        """A value of each column for some cells."""
        return zip(self.columns, at_cells(cells, self.values), strict=True)


@dataclass(frozen=True)
class Cells:
    """A step function of some columns: the cell of each row, and the prediction there."""

    grid: Grid
    values: Array

    def __call__(self, tile: Tile) -> Prediction:
        """Look up the rows of a tile."""
        if len(self.values) == 1:
            return Prediction(self.values, None, len(tile))
        return Prediction(self.values, self.grid.cells_of(tile), len(tile))


@dataclass
class CellCache:
    """Predictions of some cells; NaN for cells not predicted yet."""

    values: Array | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Another process starts with an empty cache and predicts the cells of its rows."""
        return {"values": None}


@dataclass(frozen=True)
class SparseCells:
    """The same for many cells, most of them empty: each is predicted when a row first falls in it.

    Cells are predicted in order. Neighbours take the same path down the trees, so a forest is twice
    as fast as for rows in their original order.
    """

    side: Reveal
    grid: Grid
    view: ModelView
    features: Features
    cache: CellCache = field(default_factory=CellCache)

    @property
    def size(self) -> int:
        """Values held when every cell has been predicted."""
        return self.grid.n_cells

    def __call__(self, tile: Tile) -> Prediction:
        """Look up the rows of a tile, after predicting cells that are new."""
        cells = self.grid.cells_of(tile)
        table = self.cache.values
        unknown = slice(None) if table is None else _is_missing(table.take(cells, axis=0))
        new = np.unique(cells[unknown])
        if table is None or len(new):
            [predicted] = mean_of_cells(self.view, self.features.reference, [(self.grid, new)])
            if not np.isfinite(predicted).all():
                return self._directly(tile)
            if table is None:
                shape = self.grid.n_cells, *predicted.shape[1:]
                table = np.full(shape, np.nan, dtype=predicted.dtype)
            table[new] = predicted
            self.cache.values = table
        return Prediction(table.take(cells, axis=0), None, len(tile))

    def _directly(self, tile: Tile) -> Prediction:
        """Predict every row: the direct route names the row of a prediction that is not finite."""
        made = predict_directly(self.view, self.features, tile, [self.side], Memory())
        return made[self.side]


def _is_missing(values: Array) -> Array:
    return np.isnan(values if values.ndim == 1 else values.sum(axis=1))


def at_cells(cells: Array, values: Sequence[Array]) -> list[Array]:
    """The value of each column in some cells of the product; the last column varies fastest.

    `np.unravel_index` would not do: there may be more columns than NumPy allows dimensions.
    """
    columns = []
    for of_column in reversed(values):
        cells, step = np.divmod(cells, len(of_column))
        columns.append(of_column[step])
    return columns[::-1]


def representatives(edges: Array, strict: bool, missing: bool, *, unbounded: bool = False) -> Array:
    """One value per cell, in order; NaN comes last if the column has missing values.

    `unbounded`: the column holds infinities, or values that overflow to them in the trees' dtype.
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
        # A split that separates missing values from all others may have an infinite threshold, and
        # most models refuse infinite input. Without infinite rows, the cell beyond the largest
        # float is empty.
        largest = np.finfo(dtype).max
        values = np.clip(values, -largest, largest)
    return np.append(values, dtype(np.nan)) if missing else values


def mean_of_cells(
    view: ModelView, background: Table, wanted: Sequence[tuple[Grid, Array]]
) -> list[Array]:
    """For some cells of some grids, the mean of their predictions over the background rows."""
    pieces: list[_Piece] = []
    places: list[Array | slice] = []
    for grid, cells in wanted:
        for number in range(grid.n_background):
            distinct: Array = cells
            place: Array | slice = slice(None)
            if grid.coarser:
                distinct, place = np.unique(grid.seen_by(number, cells), return_inverse=True)
            pieces.append(_Piece(grid, distinct, number))
            places.append(place)
    most = max(1, min(CALL_ROWS, CALL_BYTES // (8 * background.shape[1])))
    answers = []
    for some in _calls(pieces, most):
        block = _representative_rows(background, some)
        answers.append(checked(view.predict(to_native(block)), block.shape[0]))
    predictions = answers[0] if len(answers) == 1 else np.concatenate(answers)
    ends = np.cumsum([len(piece.cells) for piece in pieces])
    by_piece = (
        of_piece[place]
        for of_piece, place in zip(np.split(predictions, ends[:-1]), places, strict=True)
    )
    return [averaged(islice(by_piece, grid.n_background)) for grid, _ in wanted]


class _Piece(NamedTuple):
    """Some cells of a grid, to be predicted with one background row."""

    grid: Grid
    cells: Array
    background: int


def _calls(pieces: Sequence[_Piece], most: int) -> Iterator[Sequence[_Piece]]:
    """The same cells, at most `most` at a time."""
    some: list[_Piece] = []
    size = 0
    for piece in pieces:
        cells = piece.cells
        while len(cells):
            fitting, cells = cells[: most - size], cells[most - size :]
            some.append(piece._replace(cells=fitting))
            size += len(fitting)
            if size == most:
                yield some
                some, size = [], 0
    if some:
        yield some


def _representative_rows(background: Table, pieces: Sequence[_Piece]) -> Table:
    """One row for each of some cells, to be predicted."""
    changed: dict[int, tuple[list[Array], list[Array]]] = {}
    total = 0
    for grid, cells, _ in pieces:
        for column, values in grid.representatives(cells):
            where, what = changed.setdefault(column, ([], []))
            where.append(np.arange(total, total + len(cells)))
            what.append(values)
        total += len(cells)
    return with_values(
        background,
        np.repeat([piece.background for piece in pieces], [len(piece.cells) for piece in pieces]),
        {c: (np.concatenate(where), np.concatenate(what)) for c, (where, what) in changed.items()},
    )
