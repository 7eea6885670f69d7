"""Held-out rows, cut into tiles of consecutive rows.

Every sum and every prediction over data works tile by tile, so results do not depend on the number
of workers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
import pandas as pd

from sfit._array import Array
from sfit.rows._distinct import first_of, keys, value_codes
from sfit.rows._strata import Strata, strata_of
from sfit.rows._table import Table, is_frame, is_number, take_rows

TILE_ROWS = 65_536
"""The size of a tile. Sums and model calls go tile by tile, so results depend on it."""


@dataclass(frozen=True)
class Tile:
    """Consecutive rows in the masked space."""

    index: int
    X: Table
    y: Array
    part: Array | None
    """Index of each row's part; None if the rows are not partitioned."""
    row_ids: Array | None = None
    """Row numbers in the user's data if the tile belongs to a subset, else None."""
    start: int = 0
    """Row number in the user's data of the first row."""
    cluster: Array | None = None
    """Number of each row's cluster, the same in all tiles; None: every row is a unit."""

    def number(self, row: int) -> int:
        """Row number in the user's data of a row of the tile."""
        return int(self.start + row if self.row_ids is None else self.row_ids[row])

    def strata(self, columns: Sequence[int]) -> Strata | None:
        """The rows by their values in some columns; None without columns."""
        return strata_of(self.X, columns) if columns else None

    def __len__(self) -> int:
        return len(self.y)


class TileRun(Protocol):
    """Consecutive tiles that are read together."""

    @property
    def tile_range(self) -> range:
        """Indices of the tiles."""

    def tiles(self, shared: Any) -> Iterable[Tile]:
        """Read the tiles; `shared` is `Rows.shared`."""


class Rows(Protocol):
    """All held-out rows in the masked space, in memory or in files."""

    @property
    def parts(self) -> tuple[Any, ...]:
        """Labels of the parts; empty if the rows are not partitioned."""

    @property
    def n_clusters(self) -> int:
        """Number of clusters; 0 if every row is a unit."""

    @property
    def chosen(self) -> Array | None:
        """Row numbers in the user's data if these rows are a subset, else None."""

    @property
    def tile_rows(self) -> int:
        """Largest number of rows of a tile."""

    @property
    def first(self) -> Tile:
        """The first tile, from which probes are taken."""

    @property
    def tile_runs(self) -> Sequence[TileRun]:
        """All tiles, in order."""

    @property
    def shared(self) -> Any:
        """The argument of `TileRun.tiles`, the same for all runs; sent to each worker once."""

    @property
    def read_once(self) -> bool:
        """Whether reading is expensive, so a tile should be read once for all questions."""

    def __len__(self) -> int: ...

    def sizes(self) -> tuple[int, ...]:
        """Number of rows in each part; one total if there are no parts."""

    def subset(self, row_ids: Array) -> Rows:
        """The rows with these sorted row numbers."""

    def undivided(self) -> Rows:
        """The same rows, not partitioned."""

    def fingerprint(self) -> str:
        """A digest that changes when the rows do."""


@dataclass(frozen=True)
class _OneTile:
    """A run of one tile in memory."""

    tile_range: range
    tile: Tile

    def tiles(self, shared: None) -> Iterable[Tile]:
        return (self.tile,)


@dataclass(frozen=True)
class HeldRows:
    """Rows in memory."""

    table: Table
    y: Array
    part: Array | None = None
    """Index of each row's part."""
    parts: tuple[Any, ...] = ()
    chosen: Array | None = None
    tile_rows: int = TILE_ROWS
    cluster: Array | None = None
    """Number of each row's cluster."""
    n_clusters: int = 0

    shared = None
    read_once = False

    def __len__(self) -> int:
        return len(self.y)

    def tile(self, index: int) -> Tile:
        """One tile."""
        start = index * self.tile_rows
        rows = slice(start, start + self.tile_rows)
        return Tile(
            index,
            self.table[rows],
            self.y[rows],
            None if self.part is None else self.part[rows],
            None if self.chosen is None else self.chosen[rows],
            start,
            None if self.cluster is None else self.cluster[rows],
        )

    @property
    def first(self) -> Tile:
        """The first tile."""
        return self.tile(0)

    @property
    def tile_runs(self) -> Sequence[TileRun]:
        """One run per tile."""
        n_tiles = -(-len(self) // self.tile_rows)
        return [_OneTile(range(k, k + 1), self.tile(k)) for k in range(n_tiles)]

    def sizes(self) -> tuple[int, ...]:
        """Number of rows in each part; one total if there are no parts."""
        if self.part is None:
            return (len(self),)
        return tuple(np.bincount(self.part, minlength=len(self.parts)).tolist())

    def subset(self, row_ids: Array) -> HeldRows:
        """The rows with these sorted row numbers."""
        return replace(
            self,
            table=take_rows(self.table, row_ids),
            y=self.y[row_ids],
            part=None if self.part is None else self.part[row_ids],
            chosen=row_ids,
            cluster=None if self.cluster is None else self.cluster[row_ids],
        )

    def undivided(self) -> HeldRows:
        """The same rows, not partitioned."""
        return replace(self, part=None, parts=())

    def fingerprint(self) -> str:
        """A digest of all values."""
        digest = blake2b(digest_size=16)
        for table in (self.table, self.y, self.part, self.cluster):
            if table is not None:
                hash_table(digest, table)
        return digest.hexdigest()


def every_tile(rows: Rows) -> Iterator[Tile]:
    """All tiles, in order."""
    for run in rows.tile_runs:
        yield from run.tiles(rows.shared)


def hash_table(digest: Any, table: Table) -> None:
    """Add all values of a table to a digest, distinguished by type and bits as in `_distinct`."""
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
    for key in keys(column, repr):
        digest.update(np.ascontiguousarray(key).tobytes())
    if isinstance(dtype, pd.CategoricalDtype):
        digest.update(repr(dtype.categories.tolist()).encode())
    elif isinstance(column, np.ndarray) or not is_number(column.dtype):
        # The keys of words only number them in order of appearance, so add the words themselves.
        first = first_of(value_codes(column, repr))
        array = isinstance(column, np.ndarray)
        for word in column[first] if array else column[first.tolist()].to_list():
            digest.update(f"{type(word).__name__} {word!r} ".encode())
