"""Rows that do not fit into memory, cut into tiles.

Rows are numbered in the order of the files and their row groups. Tiles cross both boundaries. They
are read in batches on demand and not kept, so only a few are in memory at a time, whatever the
number of rows and the size of a row group.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from sfit._array import Array
from sfit.exceptions import ArgumentError, DataError
from sfit.rows._frames import FrameStore
from sfit.rows._parquet import open_parquet, parquet_store
from sfit.rows._table import Table, take_rows
from sfit.rows._tiles import TILE_ROWS, Tile, TileRun

SHORT_RUN, LONG_RUN = 8, 16
"""A run has 8 to 16 tiles, and starts where few rows are read in vain."""
LONGEST_RUN = 64
"""A run may be as long as a row group, up to this number of tiles."""


class Store(Protocol):
    """Frames in a fixed order that can be read again."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""

    @property
    def head(self) -> Table:
        """All columns, without a row."""

    def __len__(self) -> int: ...

    def skipped(self, rows: Array) -> Array:
        """Number of rows that are read in vain if reading starts at each of some rows."""

    def read(self, start: int, columns: Sequence[str]) -> Iterator[Table]:
        """Frames of some columns, from row `start` on."""

    def fingerprint(self) -> str:
        """A digest that changes when the rows do."""


def open_store(X: Any) -> Store | None:
    """Open rows that are read piece by piece; None if X is in memory."""
    if isinstance(X, str | os.PathLike):
        return open_parquet(X)
    module = type(X).__module__.partition(".")[0]
    if module == "pyarrow" and hasattr(X, "get_fragments"):
        return parquet_store(X)
    iterable = isinstance(X, Iterable) and not hasattr(X, "shape") and not hasattr(X, "columns")
    if isinstance(X, Iterator):
        raise ArgumentError(
            f"X is a {type(X).__name__}, which can be read only once: pass a list of frames, or an "
            "object whose __iter__ starts again."
        )
    if iterable and not isinstance(X, Mapping | bytes | np.ndarray) and _holds_frames(X):
        return FrameStore(X)
    return None


def _holds_frames(X: Iterable[Any]) -> bool:
    first = next(iter(X), None)
    return hasattr(first, "columns") and hasattr(first, "shape")


def raw_tiles(
    store: Store,
    columns: Sequence[str],
    start: int = 0,
    n_rows: int | None = None,
    chosen: Array | None = None,
    tile_rows: int = TILE_ROWS,
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
            wanted = min(tile_rows - held, left)
            part, piece = piece[:wanted], piece[wanted:]
            pieces.append(part)
            held += part.shape[0]
            left -= part.shape[0]
            if held == tile_rows or not left:
                yield first, pieces[0] if len(pieces) == 1 else nw.concat(pieces)
                first += held
                pieces, held = [], 0
        if not left:
            return
    raise DataError(f"X is {left} rows shorter than expected: it changed while it was being read.")


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
        """The columns of the features, the target, the parts and the clusters."""


@dataclass(frozen=True)
class StoredTileRun:
    """Tiles that are read one after another."""

    tile_range: range
    start: int
    n_rows: int
    tile_rows: int
    chosen: Array | None

    def tiles(self, shared: tuple[Store, TileEncoder]) -> Iterator[Tile]:
        """Read the tiles."""
        store, encoder = shared
        tables = raw_tiles(
            store, encoder.columns, self.start, self.n_rows, self.chosen, self.tile_rows
        )
        for index, (first, table) in zip(self.tile_range, tables, strict=True):
            chosen = self.chosen
            if chosen is not None:
                at = (index - self.tile_range.start) * self.tile_rows
                chosen = chosen[at : at + self.tile_rows]
            yield encoder(index, table, first, chosen)


@dataclass(frozen=True)
class StoredRows:
    """Rows that are read on demand."""

    store: Store
    encoder: TileEncoder
    n_rows: int
    by_part: tuple[int, ...] = ()
    parts: tuple[Any, ...] = ()
    chosen: Array | None = None
    tile_rows: int = TILE_ROWS
    n_clusters: int = 0
    kept: Tile | None = field(default=None, repr=False, compare=False)
    """The first tile, if it has been read already."""

    read_once = True

    def __len__(self) -> int:
        return self.n_rows

    @property
    def shared(self) -> tuple[Store, TileEncoder]:
        """The store, and the encoder that turns its rows into tiles."""
        return self.store, self.encoder

    @cached_property
    def first(self) -> Tile:
        """The first tile, read once."""
        return self.kept or next(self._tile_run(range(1)).tiles(self.shared))

    @cached_property
    def tile_runs(self) -> Sequence[TileRun]:
        """All tiles, in runs that read few rows in vain."""
        begin = np.arange(0, self.n_rows, self.tile_rows)
        skipped = self.store.skipped(begin if self.chosen is None else self.chosen[begin])
        return [self._tile_run(tile_range) for tile_range in tile_ranges(skipped, self.tile_rows)]

    def _tile_run(self, tile_range: range) -> StoredTileRun:
        at = tile_range.start * self.tile_rows
        n_rows = min(tile_range.stop * self.tile_rows, self.n_rows) - at
        if self.chosen is None:
            return StoredTileRun(tile_range, at, n_rows, self.tile_rows, None)
        chosen = self.chosen[at : at + n_rows]
        return StoredTileRun(tile_range, int(chosen[0]), n_rows, self.tile_rows, chosen)

    def sizes(self) -> tuple[int, ...]:
        """Number of rows in each part; one total if there are no parts."""
        return self.by_part if self.parts else (self.n_rows,)

    def subset(self, row_ids: Array) -> StoredRows:
        """The rows with these sorted row numbers."""
        rows = replace(self, n_rows=len(row_ids), chosen=row_ids, kept=None)
        if not self.parts:
            return rows
        counts = np.zeros(len(self.parts), dtype=np.int64)
        for run in rows.tile_runs:
            for tile in run.tiles(self.shared):
                counts += np.bincount(tile.part, minlength=len(counts))  # type: ignore[arg-type]
        return replace(rows, by_part=tuple(counts.tolist()))

    def fingerprint(self) -> str:
        """A digest of the store's fingerprint, the column roles and the row numbers."""
        digest = blake2b(self.store.fingerprint().encode(), digest_size=16)
        digest.update(repr(self.encoder.column_roles()).encode())
        if self.chosen is not None:
            digest.update(self.chosen.tobytes())
        return digest.hexdigest()

    def undivided(self) -> StoredRows:
        """The same rows, not partitioned."""
        kept = None if self.kept is None else replace(self.kept, part=None)
        return replace(self, encoder=self.encoder.undivided(), parts=(), by_part=(), kept=kept)


def tile_ranges(skipped: Array, tile_rows: int) -> Iterator[range]:
    """Cut tiles into runs; `skipped[k]` is the price of a cut before tile k, in rows read in vain.

    A cut inside a long row group would read the rows before it again, so runs become longer there.
    """
    n, first = len(skipped), 0
    if not np.isfinite(skipped).all():
        yield range(n)
        return
    price = np.append(skipped, 0)
    while first < n:
        ends = np.arange(min(first + SHORT_RUN, n), min(first + LONGEST_RUN, n) + 1)
        cheap = ends[price[ends] < tile_rows]
        near = cheap[cheap <= first + LONG_RUN]
        if len(near):
            cheap = near[price[near].argmin() :]
        end = cheap[0] if len(cheap) else ends[-1]
        yield range(first, int(end))
        first = int(end)
