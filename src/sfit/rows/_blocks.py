"""Rows sorted by one column, in blocks of four, with the other columns moved within each block.

A tile holds its own rows and then three copies of them. In copy s the row at place k of a block has
the values of the row at place k + s, cyclically, but its own outcome and its own value of the
column by which the rows are sorted. So a model predicts moved rows like any others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp

from sfit._array import Array
from sfit.rows._strata import Strata, strata_of
from sfit.rows._table import Table, column_numbers, is_frame, reveal, take_rows
from sfit.rows._tiles import HeldRows, Rows, Tile, TileRun, every_tile

BLOCK = 4
"""Rows of a block."""

STRATUM_ROWS = 8
"""Rows of a tile with one value of the column are a stratum, if there are as many as this."""

IN_STRATUM, FIXED = -1, -2
"""Instead of the number of a block: the row lies in a stratum, or it is not moved at all."""


@dataclass(frozen=True)
class BlockTile(Tile):
    """Own rows, then three copies of them, which belong to no part."""

    blocks: Array = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    """The block of each of the own rows, or `IN_STRATUM`, or `FIXED`."""

    def strata(self, columns: Sequence[int]) -> Strata | None:
        """The own rows by their value of the column, and their blocks."""
        strata = strata_of(self.X[: len(self.blocks)], columns)
        return None if strata is None else strata._replace(blocks=self.blocks)


@dataclass(frozen=True)
class _BlockTileRun:
    """One tile, whose copies are made where it is needed."""

    tile_range: range
    tile: Tile
    column: int
    with_parts: bool

    def tiles(self, shared: None) -> Iterable[Tile]:
        return (_with_copies(self.tile, self.column, self.with_parts),)


@dataclass(frozen=True)
class BlockRows:
    """Rows in memory, sorted by a column within each part; ties stand in random order."""

    source: HeldRows
    column: int
    seed: int
    with_parts: bool
    """Whether rows of different parts are kept apart."""

    shared = None
    read_once = False

    def __len__(self) -> int:
        return len(self.source)

    @property
    def parts(self) -> tuple[Any, ...]:
        """Labels of the parts."""
        return self.source.parts

    @property
    def chosen(self) -> Array | None:
        """Row numbers in the user's data if these rows are a subset, else None."""
        return self.source.chosen

    @property
    def n_clusters(self) -> int:
        """Every row is a unit."""
        return 0

    @property
    def tile_rows(self) -> int:
        """Largest number of rows of a tile, copies included."""
        return self.source.tile_rows

    @property
    def first(self) -> Tile:
        """The first tile."""
        [tile] = self.tile_runs[0].tiles(None)
        return tile

    @property
    def tile_runs(self) -> Sequence[TileRun]:
        """One run per tile; with its copies a tile is as large as others."""
        source, order = self.source, self.order
        m = max(BLOCK, self.source.tile_rows // BLOCK**2 * BLOCK)
        ids = np.arange(len(source)) if source.chosen is None else source.chosen
        runs: list[TileRun] = []
        for index, start in enumerate(range(0, len(order), m)):
            some = order[start : start + m]
            part = None if source.part is None else source.part[some]
            tile = Tile(index, take_rows(source.table, some), source.y[some], part, ids[some])
            runs.append(_BlockTileRun(range(index, index + 1), tile, self.column, self.with_parts))
        return runs

    @property
    def order(self) -> Array:
        """The rows by part and by rising value of the column."""
        n = len(self.source)
        shuffled = np.random.default_rng([self.seed, n, self.column]).permutation(n)
        values = _numbers(self.source.table, self.column)[shuffled]
        part = self.source.part
        apart = part is not None and self.with_parts
        parts = part[shuffled] if apart and part is not None else np.zeros(n)
        sorted_: Array = shuffled[np.lexsort((values, parts))]
        return sorted_

    def sizes(self) -> tuple[int, ...]:
        """Number of rows in each part; one total if there are no parts."""
        return self.source.sizes()

    def subset(self, row_ids: Array) -> Rows:
        """The rows with these sorted row numbers, as they are."""
        return self.source.subset(row_ids)

    def undivided(self) -> Rows:
        """The same rows as they are, not partitioned."""
        return self.source.undivided()

    def fingerprint(self) -> str:
        """A digest of all values."""
        return self.source.fingerprint()


def blocks_of(values: Array, part: Array | None) -> Array:
    """The block of each row of a tile, given its sorted values; see `BlockTile.blocks`."""
    blocks = np.full(len(values), FIXED, dtype=np.intp)
    start = 0
    for label in (None,) if part is None else np.unique(part):
        rows = np.arange(len(values)) if label is None else np.flatnonzero(part == label)
        codes, distinct = pd.factorize(values[rows], use_na_sentinel=False)
        large = np.bincount(codes, minlength=len(distinct))[codes] >= STRATUM_ROWS
        blocks[rows[large]] = IN_STRATUM
        left = rows[~large & ~np.isnan(values[rows])]
        for length in _lengths(len(left)):
            blocks[left[:length]], left = start, left[length:]
            start += 1
    return blocks


def _lengths(n: int) -> Iterator[int]:
    """Blocks of four; the last ones have two or three rows if n is not a multiple of four."""
    while n > BLOCK + 1 or n == BLOCK:
        yield BLOCK
        n -= BLOCK
    if n == BLOCK + 1:
        yield from (3, 2)
    elif n > 1:
        yield n


def partners(blocks: Array, shift: int) -> Array:
    """For each row, the row of its block that stands `shift` places later, cyclically."""
    found = np.arange(len(blocks))
    inside = np.flatnonzero(blocks >= 0)
    if not len(inside):
        return found
    # The rows of a block follow each other among those of all blocks.
    of_row = blocks[inside]
    starts = np.flatnonzero(np.diff(of_row, prepend=-1))
    lengths = np.diff(starts, append=len(of_row))
    first, length = (np.repeat(numbers, lengths) for numbers in (starts, lengths))
    place = np.arange(len(of_row)) - first
    found[inside] = inside[first + (place + shift) % length]
    return found


def _with_copies(tile: Tile, column: int, with_parts: bool) -> BlockTile:
    values = _numbers(tile.X, column)
    blocks = blocks_of(values, tile.part if with_parts else None)
    own = tile.X.toarray() if sp.issparse(tile.X) else tile.X
    m, everywhere = len(tile), np.arange(len(tile))
    pieces = [own]
    for shift in range(1, BLOCK):
        moved = take_rows(own, partners(blocks, shift))
        pieces.append(reveal(moved, own, [column], None, everywhere))
    part = np.zeros(m, dtype=np.intp) if tile.part is None else tile.part
    return BlockTile(
        tile.index,
        _stacked(pieces),
        np.concatenate([tile.y] * BLOCK),
        np.concatenate([part, np.full((BLOCK - 1) * m, -1)]),
        None if tile.row_ids is None else np.tile(tile.row_ids, BLOCK),
        blocks=blocks,
    )


def held_rows(rows: Rows) -> HeldRows:
    """All rows in memory."""
    if isinstance(rows, HeldRows):
        return rows
    tiles = list(every_tile(rows))
    parts = [tile.part for tile in tiles if tile.part is not None]
    return HeldRows(
        _stacked([tile.X for tile in tiles]),
        np.concatenate([tile.y for tile in tiles]),
        np.concatenate(parts) if parts else None,
        rows.parts,
        rows.chosen,
        rows.tile_rows,
    )


def _stacked(tables: Sequence[Table]) -> Table:
    if is_frame(tables[0]):
        return nw.concat(tables)
    return sp.vstack(tables, "csc") if sp.issparse(tables[0]) else np.concatenate(tables)


def _numbers(table: Table, column: int) -> Array:
    """A numeric column; infinite values are ordinary ones."""
    values = column_numbers(table, column)
    if values is None:
        raise TypeError(f"column {column} is not numeric")
    return np.asarray(values, dtype=np.float64)
