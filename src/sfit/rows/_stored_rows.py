"""Rows that do not fit into memory, cut into tiles.

Rows are numbered in the order of the files and their row groups. Tiles cross both boundaries. They
are read in batches on demand and not kept, so only a few are in memory at a time, whatever the
number of rows and the size of a row group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from sfit.exceptions import DataError
from sfit.rows import Table, Tile, TileRun, _tiles, take_rows
from sfit.rows._frames import FrameStore
from sfit.rows._store import Store

Array = npt.NDArray[Any]

RUN_TILES = 16
"""Largest number of tiles in a run."""


class TileEncoder(Protocol):
    """Encodes a table of the user's columns as a tile of the masked space."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns to read."""

    def __call__(self, index: int, table: Table, first: int, row_ids: Array | None) -> Tile:
        """`first` is the number of the first row; `row_ids` lists all numbers of a subset."""

    def undivided(self) -> TileEncoder:
        """The same, without parts."""

    def column_roles(self) -> tuple[Any, ...]:
        """The columns of the features, the target and the parts."""


@dataclass(frozen=True)
class StoredTileRun:
    """Tiles that are read one after another."""

    tile_range: range
    start: int
    n_rows: int
    chosen: Array | None

    def tiles(self, shared: tuple[Store, TileEncoder]) -> Iterator[Tile]:
        """Read the tiles."""
        store, encoder = shared
        pieces = raw_tiles(store, encoder.columns, self.start, self.n_rows, self.chosen)
        for index, (first, table) in zip(self.tile_range, pieces, strict=True):
            chosen = self.chosen
            if chosen is not None:
                at = (index - self.tile_range.start) * _tiles.TILE_ROWS
                chosen = chosen[at : at + _tiles.TILE_ROWS]
            yield encoder(index, table, first, chosen)


def raw_tiles(
    store: Store,
    columns: Sequence[str],
    start: int = 0,
    n_rows: int | None = None,
    chosen: Array | None = None,
) -> Iterator[tuple[int, Table]]:
    """Read `n_rows` rows from `start` on, as tables of a tile's size with their first row number.

    With `chosen`, read only the rows with these sorted numbers.
    """
    left = len(store) - start if n_rows is None else n_rows
    pieces: list[Table] = []
    held, at = 0, start
    first = start
    for piece in store.read(start, columns):
        m = piece.shape[0]
        if chosen is not None:
            inside = slice(*np.searchsorted(chosen, [at, at + m]))
            piece = take_rows(piece, chosen[inside] - at)
        at += m
        while piece.shape[0] and left:
            wanted = min(_tiles.TILE_ROWS - held, left)
            part, piece = piece[:wanted], piece[wanted:]
            pieces.append(part)
            held += part.shape[0]
            left -= part.shape[0]
            if held == _tiles.TILE_ROWS or not left:
                yield first, pieces[0] if len(pieces) == 1 else nw.concat(pieces)
                first += held
                pieces, held = [], 0
        if not left:
            return
    raise DataError(f"X is {left} rows shorter than expected: it changed while it was being read.")


def head_of(store: Store) -> Table:
    """The first tile, with all columns."""
    size = min(len(store), _tiles.TILE_ROWS)
    return next(raw_tiles(store, store.names, n_rows=size))[1] if size else np.empty((0, 0))


@dataclass(frozen=True)
class StoredRows:
    """Rows that are read on demand."""

    store: Store
    encoder: TileEncoder
    n_rows: int
    by_part: tuple[int, ...] = ()
    parts: tuple[Any, ...] = ()
    chosen: Array | None = None
    _first: list[Tile] = field(default_factory=list, repr=False, compare=False)

    read_once = True

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shared(self) -> tuple[Store, TileEncoder]:
        """The store, and the encoder that turns its rows into tiles."""
        return self.store, self.encoder

    @property
    def first(self) -> Tile:
        """The first tile, read once."""
        if not self._first:
            size = min(_tiles.TILE_ROWS, self.n_rows)
            self._first.append(next(self._tile_run(range(1), size).tiles(self.shared)))
        return self._first[0]

    @cached_property
    def tile_runs(self) -> Sequence[TileRun]:
        """Runs of tiles that start in the same row group, because reading starts at row groups."""
        n_tiles = -(-self.n_rows // _tiles.TILE_ROWS)
        begin = np.arange(n_tiles) * _tiles.TILE_ROWS
        begin = begin if self.chosen is None else self.chosen[begin]
        block = np.searchsorted(self.store.starts, begin, "right")
        alone = not isinstance(self.store, FrameStore) or len(self.store.starts) > 1
        runs: list[TileRun] = []
        first = 0
        for tile in range(1, n_tiles + 1):
            ended = tile == n_tiles or block[tile] != block[first]
            if ended or (alone and tile - first == RUN_TILES):
                tile_range = range(first, tile)
                end = min(tile * _tiles.TILE_ROWS, self.n_rows)
                runs.append(self._tile_run(tile_range, end - first * _tiles.TILE_ROWS))
                first = tile
        return runs

    def _tile_run(self, tile_range: range, n_rows: int) -> StoredTileRun:
        at = tile_range.start * _tiles.TILE_ROWS
        if self.chosen is None:
            return StoredTileRun(tile_range, at, n_rows, None)
        chosen = self.chosen[at : at + n_rows]
        return StoredTileRun(tile_range, int(chosen[0]), n_rows, chosen)

    def sizes(self) -> tuple[int, ...]:
        """Number of rows in each part; one total if there are no parts."""
        return self.by_part if self.parts else (self.n_rows,)

    def subset(self, row_ids: Array) -> StoredRows:
        """The rows with these sorted row numbers."""
        rows = replace(self, n_rows=len(row_ids), chosen=row_ids, _first=[])
        if not self.parts:
            return rows
        counts = np.zeros(len(self.parts), dtype=np.int64)
        for run in rows.tile_runs:
            for tile in run.tiles(self.shared):
                counts += np.bincount(tile.part, minlength=len(counts))  # type: ignore[arg-type]
        return replace(rows, by_part=tuple(counts.tolist()), _first=[])

    def fingerprint(self) -> str:
        """A digest of the store's fingerprint, the column roles and the row numbers."""
        digest = blake2b(self.store.fingerprint().encode(), digest_size=16)
        digest.update(repr(self.encoder.column_roles()).encode())
        if self.chosen is not None:
            digest.update(self.chosen.tobytes())
        return digest.hexdigest()

    def undivided(self) -> StoredRows:
        """The same rows, not partitioned."""
        return replace(self, encoder=self.encoder.undivided(), parts=(), by_part=(), _first=[])
