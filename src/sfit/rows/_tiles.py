"""Held-out rows, cut into tiles: runs of `TILE_ROWS` consecutive rows.

Every sum and every prediction over data works tile by tile, so that results do not depend on who
computes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfit.rows._distinct import first_of, keys, numbered
from sfit.rows._table import Table, is_frame, is_number, take_rows

Array = npt.NDArray[Any]

TILE_ROWS = 65_536
"""Part of what is promised: sums and calls over rows go tile by tile, so results depend on it."""


@dataclass(frozen=True)
class Tile:
    """A run of consecutive rows in the masked space."""

    index: int
    X: Table
    y: Array
    part: Array | None
    """Number of the part each row belongs to, where the rows are partitioned."""
    numbers: Array | None = None
    """The user's numbers of the rows, where they are only some of those given."""

    def number(self, row: int) -> int:
        """The user's number of a row of the tile."""
        return int(self.index * TILE_ROWS + row if self.numbers is None else self.numbers[row])

    def __len__(self) -> int:
        return len(self.y)


class Stretch(Protocol):
    """Consecutive tiles that are read together."""

    @property
    def numbers(self) -> range:
        """Their numbers."""

    def tiles(self, shared: Any) -> Iterable[Tile]:
        """Read them; `shared` is what all stretches need (`Rows.shared`)."""


class Rows(Protocol):
    """All held-out rows in the masked space, wherever they lie."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """Labels of the parts that rows fall into; empty when they are not partitioned."""

    @property
    def chosen(self) -> Array | None:
        """The user's numbers of the rows, where they are only some of those given."""

    @property
    def first(self) -> Tile:
        """The first tile, to try things on."""

    @property
    def stretches(self) -> Sequence[Stretch]:
        """All tiles, in order."""

    @property
    def shared(self) -> Any:
        """What reading any stretch takes besides the stretch; sent to a worker once."""

    @property
    def read_once(self) -> bool:
        """Whether reading is work, so that a tile is read once for all questions."""

    def __len__(self) -> int: ...

    def sizes(self) -> tuple[int, ...]:
        """Number of rows of each part; of all rows where there are no parts."""

    def subset(self, numbers: Array) -> Rows:
        """Some of the rows, by their sorted numbers."""

    def undivided(self) -> Rows:
        """The same rows, not partitioned."""

    def fingerprint(self) -> str:
        """Something that changes when the rows do."""


@dataclass(frozen=True)
class _OneTile:
    """A stretch of one tile that is in memory."""

    numbers: range
    tile: Tile

    def tiles(self, shared: None) -> Iterable[Tile]:
        return (self.tile,)


@dataclass(frozen=True)
class HeldRows:
    """Rows in memory."""

    table: Table
    y: Array
    part: Array | None = None
    """Number of the part of each row."""
    parts: tuple[Any, ...] = ()
    chosen: Array | None = None

    shared = None
    read_once = False

    def __len__(self) -> int:
        return len(self.y)

    def tile(self, number: int) -> Tile:
        """One tile."""
        rows = slice(number * TILE_ROWS, (number + 1) * TILE_ROWS)
        return Tile(
            number,
            self.table[rows],
            self.y[rows],
            None if self.part is None else self.part[rows],
            None if self.chosen is None else self.chosen[rows],
        )

    @property
    def first(self) -> Tile:
        """The first tile."""
        return self.tile(0)

    @property
    def stretches(self) -> Sequence[Stretch]:
        """Each tile by itself."""
        n_tiles = -(-len(self) // TILE_ROWS)
        return [_OneTile(range(k, k + 1), self.tile(k)) for k in range(n_tiles)]

    def sizes(self) -> tuple[int, ...]:
        """Number of rows of each part; of all rows where there are no parts."""
        if self.part is None:
            return (len(self),)
        return tuple(np.bincount(self.part, minlength=len(self.parts)).tolist())

    def subset(self, numbers: Array) -> HeldRows:
        """Some of the rows."""
        return HeldRows(
            take_rows(self.table, numbers),
            self.y[numbers],
            None if self.part is None else self.part[numbers],
            self.parts,
            numbers,
        )

    def undivided(self) -> HeldRows:
        """The same rows, not partitioned."""
        return replace(self, part=None, parts=())

    def fingerprint(self) -> str:
        """A digest of all values."""
        digest = blake2b(digest_size=16)
        for table in (self.table, self.y, self.part):
            if table is not None:
                hash_table(digest, table)
        return digest.hexdigest()


def every_tile(rows: Rows) -> Iterator[Tile]:
    """All tiles, in order."""
    for stretch in rows.stretches:
        yield from stretch.tiles(rows.shared)


def hash_table(digest: Any, table: Table) -> None:
    """Add all values of a table to a digest, told apart as a model may: by types and bits."""
    if is_frame(table):
        for name in table.columns:
            digest.update(f"{name} ".encode())
            hash_column(digest, table.get_column(name))
        return
    if not isinstance(table, np.ndarray):
        for piece in (table.data, table.indices, table.indptr):
            digest.update(np.ascontiguousarray(piece).tobytes())
        return
    digest.update(f"{table.dtype} {table.shape}".encode())
    if table.dtype == object:
        for column in table.reshape(len(table), -1).T:
            hash_column(digest, column)
        return
    for start in range(0, len(table), TILE_ROWS):
        digest.update(np.ascontiguousarray(table[start : start + TILE_ROWS]).tobytes())


def hash_column(digest: Any, column: Any) -> None:
    """Add an array of objects, or a series of a frame, to a digest."""
    native = column if isinstance(column, np.ndarray) else column.to_native()
    dtype = native.type if hasattr(native, "type") else native.dtype
    digest.update(f"{dtype} ".encode())
    found = keys(column, repr)
    for key in found:
        digest.update(np.ascontiguousarray(key).tobytes())
    if isinstance(dtype, pd.CategoricalDtype):
        digest.update(repr(dtype.categories.tolist()).encode())
    elif isinstance(column, np.ndarray) or not is_number(column.dtype):
        # The keys of words are numbers in order of appearance: which words have them?
        first = first_of(numbered(column, repr))
        array = isinstance(column, np.ndarray)
        for word in column[first] if array else column[first.tolist()].to_list():
            digest.update(f"{type(word).__name__} {word!r} ".encode())
