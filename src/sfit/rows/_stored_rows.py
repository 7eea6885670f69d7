"""Rows that do not fit into memory, cut into tiles.

Rows are numbered in the order of the files and their row groups. Tiles are cut across both, read in
batches by whoever needs them, and forgotten: what is held at a time is a few tiles, whatever the
number of rows, and however large a row group is.
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
from sfit.rows import Stretch, Table, Tile, _tiles, take_rows
from sfit.rows._frames import FrameStore
from sfit.rows._store import Store

Array = npt.NDArray[Any]

STRETCH_TILES = 16
"""Tiles of one large row group that are read one after another, at most."""


class Settle(Protocol):
    """From a table of the user's columns to a tile of the masked space."""

    @property
    def columns(self) -> Sequence[str]:
        """The columns to read."""

    def __call__(self, index: int, table: Table, first: int, numbers: Array | None) -> Tile:
        """`first` is the number of the first row; `numbers`, of all where some are left out."""

    def undivided(self) -> Settle:
        """The same, without parts."""

    def told(self) -> tuple[Any, ...]:
        """Which columns are what."""


@dataclass(frozen=True)
class StoredStretch:
    """Tiles that are read one after another."""

    numbers: range
    start: int
    n_rows: int
    chosen: Array | None

    def tiles(self, shared: tuple[Store, Settle]) -> Iterator[Tile]:
        """Read the tiles."""
        store, settle = shared
        pieces = raw_tiles(store, settle.columns, self.start, self.n_rows, self.chosen)
        for number, (first, table) in zip(self.numbers, pieces, strict=True):
            chosen = self.chosen
            if chosen is not None:
                at = (number - self.numbers.start) * _tiles.TILE_ROWS
                chosen = chosen[at : at + _tiles.TILE_ROWS]
            yield settle(number, table, first, chosen)


def raw_tiles(
    store: Store,
    columns: Sequence[str],
    start: int = 0,
    n_rows: int | None = None,
    chosen: Array | None = None,
) -> Iterator[tuple[int, Table]]:
    """Tables of a tile's size, with the number of the first row: so many rows from one on.

    With `chosen`, only the rows of these (sorted) numbers.
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
    raise DataError(f"X ended {left} rows before its end: it was changed while it was read.")


def head_of(store: Store) -> Table:
    """The first tile, with all columns."""
    size = min(len(store), _tiles.TILE_ROWS)
    return next(raw_tiles(store, store.names, n_rows=size))[1] if size else np.empty((0, 0))


@dataclass(frozen=True)
class StoredRows:
    """Rows that are read when they are needed."""

    store: Store
    settle: Settle
    n_rows: int
    by_part: tuple[int, ...] = ()
    parts: tuple[Any, ...] = ()
    chosen: Array | None = None
    _first: list[Tile] = field(default_factory=list, repr=False, compare=False)

    read_once = True

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shared(self) -> tuple[Store, Settle]:
        """The store, and how its rows become tiles."""
        return self.store, self.settle

    @property
    def first(self) -> Tile:
        """The first tile, read once."""
        if not self._first:
            size = min(_tiles.TILE_ROWS, self.n_rows)
            self._first.append(next(self._stretch(range(1), size).tiles(self.shared)))
        return self._first[0]

    @cached_property
    def stretches(self) -> Sequence[Stretch]:
        """Tiles of one row group together, since reading starts at row groups."""
        n_tiles = -(-self.n_rows // _tiles.TILE_ROWS)
        begin = np.arange(n_tiles) * _tiles.TILE_ROWS
        begin = begin if self.chosen is None else self.chosen[begin]
        block = np.searchsorted(self.store.starts, begin, "right")
        alone = not isinstance(self.store, FrameStore) or len(self.store.starts) > 1
        found: list[Stretch] = []
        first = 0
        for tile in range(1, n_tiles + 1):
            ended = tile == n_tiles or block[tile] != block[first]
            if ended or (alone and tile - first == STRETCH_TILES):
                numbers = range(first, tile)
                end = min(tile * _tiles.TILE_ROWS, self.n_rows)
                found.append(self._stretch(numbers, end - first * _tiles.TILE_ROWS))
                first = tile
        return found

    def _stretch(self, numbers: range, n_rows: int) -> StoredStretch:
        at = numbers.start * _tiles.TILE_ROWS
        if self.chosen is None:
            return StoredStretch(numbers, at, n_rows, None)
        chosen = self.chosen[at : at + n_rows]
        return StoredStretch(numbers, int(chosen[0]), n_rows, chosen)

    def sizes(self) -> tuple[int, ...]:
        """Number of rows of each part; of all rows where there are no parts."""
        return self.by_part if self.parts else (self.n_rows,)

    def subset(self, numbers: Array) -> StoredRows:
        """Some of the rows."""
        some = replace(self, n_rows=len(numbers), chosen=numbers, _first=[])
        if not self.parts:
            return some
        counts = np.zeros(len(self.parts), dtype=np.int64)
        for stretch in some.stretches:
            for tile in stretch.tiles(self.shared):
                counts += np.bincount(tile.part, minlength=len(counts))  # type: ignore[arg-type]
        return replace(some, by_part=tuple(counts.tolist()), _first=[])

    def fingerprint(self) -> str:
        """That of the store, of which rows, and of which columns for what."""
        digest = blake2b(self.store.fingerprint().encode(), digest_size=16)
        digest.update(repr(self.settle.told()).encode())
        if self.chosen is not None:
            digest.update(self.chosen.tobytes())
        return digest.hexdigest()

    def undivided(self) -> StoredRows:
        """The same rows, not partitioned."""
        return replace(self, settle=self.settle.undivided(), parts=(), by_part=(), _first=[])
