"""Rows that do not fit into memory: Parquet data sets, and frames that come one after another.

Rows are numbered in the order of the files and their row groups. Tiles are cut across both, read in
batches by whoever needs them, and forgotten: what is held at a time is a few tiles, whatever the
number of rows, and however large a row group is.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from sfit import _rows
from sfit._rows import (
    Stretch,
    Table,
    Tile,
    as_table,
    column_names,
    hash_table,
    select_columns,
    take_rows,
)
from sfit.exceptions import ArgumentError, DataError, MissingDependencyError

Array = npt.NDArray[Any]

STRETCH_TILES = 16
"""Tiles of one large row group that are read one after another, at most."""


class Store(Protocol):
    """Frames in a fixed order that can be read again."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""

    @property
    def starts(self) -> Sequence[int]:
        """Numbers of the rows at which reading can start without reading what comes before."""

    def __len__(self) -> int: ...

    def read(self, start: int, columns: Sequence[str]) -> Iterator[Table]:
        """Frames of some columns, from a row on."""

    def fingerprint(self) -> str:
        """Something that changes when the rows do."""


def open_store(X: Any) -> Store | None:
    """Rows that are read piece by piece; None for anything that is held in memory."""
    if isinstance(X, str | os.PathLike):
        return _open_parquet(X)
    module = type(X).__module__.partition(".")[0]
    if module == "pyarrow" and hasattr(X, "get_fragments"):
        return _parquet_store(X)
    iterable = isinstance(X, Iterable) and not hasattr(X, "shape") and not hasattr(X, "columns")
    if isinstance(X, Iterator):
        raise ArgumentError(
            f"X is a {type(X).__name__}, which can be read only once: pass a list of frames, or an "
            "object whose __iter__ starts anew."
        )
    if iterable and not isinstance(X, Mapping | bytes | np.ndarray) and _holds_frames(X):
        return FrameStore(X)
    return None


def _holds_frames(X: Iterable[Any]) -> bool:
    first = next(iter(X), None)
    return hasattr(first, "columns") and hasattr(first, "shape")


# ---------------------------------------------------------------------------------- Parquet


@dataclass(frozen=True)
class Block:
    """A row group of a file."""

    path: str
    filesystem: Any
    row_group: int
    n_rows: int
    keys: tuple[tuple[str, Any], ...] = ()
    """What the names of the folders say (hive partitions)."""
    stamp: str = ""
    """Size and time of the file."""


@dataclass(frozen=True)
class ParquetStore:
    """The row groups of a Parquet data set."""

    blocks: tuple[Block, ...]
    names: tuple[str, ...]
    dictionaries: tuple[str, ...] = ()
    """The columns that hold categories."""

    def __len__(self) -> int:
        return sum(block.n_rows for block in self.blocks)

    @cached_property
    def starts(self) -> list[int]:
        """First rows of the row groups."""
        return (np.cumsum([0, *(block.n_rows for block in self.blocks)])[:-1]).tolist()

    @cached_property
    def categories(self) -> dict[str, list[Any]]:
        """Of each column of categories all that occur in any file, in order of appearance.

        Every batch has a dictionary of its own; models go by the numbers of the categories.
        """
        found: dict[str, dict[Any, None]] = {name: {} for name in self.dictionaries}
        if found:
            for _, of_file in groupby(self.blocks, key=lambda block: block.path):
                for table in _read_file(list(of_file), self.dictionaries):
                    for name in found:
                        for chunk in table.column(name).chunks:
                            found[name].update(dict.fromkeys(chunk.dictionary.to_pylist()))
        return {name: list(known) for name, known in found.items()}

    def read(self, start: int, columns: Sequence[str]) -> Iterator[Table]:
        """Pandas frames of some columns, from a row on, in batches of a tile."""
        unified = {name: self.categories[name] for name in columns if name in self.dictionaries}
        first = int(np.searchsorted(self.starts, start, "right")) - 1
        skip = start - self.starts[first]
        for _, of_file in groupby(self.blocks[first:], key=lambda block: block.path):
            for table in _read_file(list(of_file), columns):
                if skip >= table.num_rows:
                    skip -= table.num_rows
                    continue
                frame = table.slice(skip).to_pandas()
                for name, known in unified.items():
                    # Not astype, to which the same categories in another order are the same.
                    frame[name] = frame[name].cat.set_categories(known)
                yield as_table(frame)
                skip = 0

    def fingerprint(self) -> str:
        """Names, sizes and times of the files, and how their rows are grouped."""
        digest = blake2b(digest_size=16)
        for block in self.blocks:
            name = Path(block.path).name
            told = (name, block.row_group, block.n_rows, block.keys, block.stamp)
            digest.update(repr(told).encode())
        return digest.hexdigest()


def _read_file(blocks: Sequence[Block], columns: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = dict(blocks[0].keys)
    stored = [name for name in columns if name not in keys]
    at = blocks[0]
    try:
        with at.filesystem.open_input_file(at.path) as file:
            parquet = pq.ParquetFile(file)
            for at in blocks:
                n_read = 0
                for batch in parquet.iter_batches(
                    batch_size=_rows.TILE_ROWS,
                    row_groups=[at.row_group],
                    columns=stored,
                    use_threads=False,
                ):
                    table = pa.Table.from_batches([batch])
                    for name in columns:
                        if name in keys:
                            constant = pa.repeat(pa.scalar(keys[name]), table.num_rows)
                            table = table.append_column(name, constant)
                    n_read += table.num_rows
                    yield table.select(list(columns))
                if n_read != at.n_rows:
                    raise OSError(  # noqa: TRY301 - told like any other fault of the file
                        f"{n_read} rows were read where {at.n_rows} were announced"
                    )
    except (OSError, pa.ArrowException, KeyError) as error:
        raise DataError(
            f"X cannot be read: row group {at.row_group} of {at.path!r}: {error}"
        ) from error


def _open_parquet(path: str | os.PathLike[str]) -> ParquetStore:
    try:
        import pyarrow.dataset as ds
    except ImportError as error:
        raise MissingDependencyError(
            "reading Parquet files needs pyarrow: pip install 'sfit[parquet]'."
        ) from error
    text = os.fspath(path)
    source: Any = text
    filesystem = None
    if "://" in text:
        source, filesystem = _located(text)
    else:
        whole = os.path.exists(text) or not glob.has_magic(text)
        found = [text] if whole else sorted(glob.glob(text, recursive=True))
        found = [name for name in found if os.path.exists(name)]
        if not found:
            raise ArgumentError(f"X={text!r} matches no file: give a Parquet file, folder or glob.")
        source = found[0] if len(found) == 1 else [f for name in found for f in _files(name)]
    try:
        dataset = ds.dataset(source, filesystem=filesystem, format="parquet", partitioning="hive")
        return _parquet_store(dataset)
    except (OSError, ValueError) as error:
        raise DataError(f"X={text!r} cannot be read as a Parquet data set: {error}") from error


def _located(uri: str) -> tuple[Any, Any]:
    """What pyarrow, or else fsspec, finds at an address; globs are fsspec's."""
    import pyarrow as pa
    from pyarrow import fs

    if not glob.has_magic(uri):
        try:
            filesystem, path = fs.FileSystem.from_uri(uri)
        except (pa.ArrowException, ValueError):
            pass
        except OSError as error:
            raise ArgumentError(f"X={uri!r} cannot be opened: {error}") from error
        else:
            return path, filesystem
    try:
        from fsspec.core import url_to_fs  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingDependencyError(
            f"X={uri!r} needs fsspec to be found: pip install fsspec."
        ) from error
    try:
        other, path = url_to_fs(uri)
        found = sorted(other.glob(path)) if glob.has_magic(uri) else path
    except (OSError, ValueError, ImportError) as error:
        raise ArgumentError(f"X={uri!r} cannot be opened: {error}") from error
    if not found:
        raise ArgumentError(f"X={uri!r} matches no file: give a Parquet file, folder or glob.")
    return found, other


def _files(name: str) -> list[str]:
    if not os.path.isdir(name):
        return [name]
    return sorted(str(file) for file in Path(name).rglob("*.parquet"))


def _parquet_store(dataset: Any) -> ParquetStore:
    import pyarrow as pa

    blocks = _blocks(dataset)
    keys = {name for block in blocks for name, _ in block.keys}
    dictionaries = tuple(
        field_.name
        for field_ in dataset.schema
        if pa.types.is_dictionary(field_.type) and field_.name not in keys
    )
    return ParquetStore(blocks, tuple(dataset.schema.names), dictionaries)


def _blocks(dataset: Any) -> tuple[Block, ...]:
    import pyarrow as pa
    import pyarrow.dataset as ds

    if not all(hasattr(fragment, "row_groups") for fragment in dataset.get_fragments()):
        raise ArgumentError("X must be a data set of Parquet files; this one holds something else.")
    blocks = []
    for fragment in dataset.get_fragments():
        try:
            info = fragment.filesystem.get_file_info(fragment.path)
            groups = [(group.id, group.num_rows) for group in fragment.row_groups]
            schema = fragment.physical_schema
            stamp = f"{info.size} {info.mtime_ns or _digest_of(fragment)}"
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"X cannot be read: {fragment.path!r}: {error}") from error
        keys = tuple(ds.get_partition_keys(fragment.partition_expression).items())
        _check_schema(dataset.schema, schema, dict(keys), fragment.path)
        blocks += [
            Block(
                path=fragment.path,
                filesystem=fragment.filesystem,
                row_group=number,
                n_rows=n_rows,
                keys=keys,
                stamp=stamp,
            )
            for number, n_rows in groups
            if n_rows
        ]
    if not blocks:
        raise DataError("X is a Parquet data set without rows.")
    return tuple(blocks)


def _digest_of(fragment: Any) -> str:
    """A digest of the content, where the filesystem knows no times."""
    with fragment.filesystem.open_input_stream(fragment.path) as file:
        digest = blake2b(digest_size=16)
        while some := file.read(1 << 22):
            digest.update(some)
    return digest.hexdigest()


def _check_schema(whole: Any, own: Any, keys: Mapping[str, Any], path: str) -> None:
    for field_ in whole:
        if field_.name in keys:
            continue
        if field_.name not in own.names:
            raise DataError(f"X: {path!r} lacks the column {field_.name!r} that other files have.")
        found = own.field(field_.name).type
        if _plain(found) != _plain(field_.type):
            raise DataError(
                f"X: column {field_.name!r} is {found} in {path!r} and {field_.type} in other "
                "files: write them with one type."
            )


def _plain(type_: Any) -> Any:
    """The type of the values: how categories are numbered may differ from file to file."""
    import pyarrow as pa

    return type_.value_type if pa.types.is_dictionary(type_) else type_


# ------------------------------------------------------------------------ frames in sequence


@dataclass(frozen=True)
class FrameStore:
    """Frames that come one after another, in the same order each time."""

    frames: Iterable[Any]

    @cached_property
    def _lengths(self) -> list[int]:
        return [table.shape[0] for table in self._tables(None)]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of the first frame."""
        return column_names(next(self._tables(None))) or ()

    @cached_property
    def starts(self) -> list[int]:
        """First rows of the frames of a list; an iterable is read from the beginning."""
        if not isinstance(self.frames, Sequence):
            return [0]
        return np.cumsum([0, *self._lengths])[:-1].tolist()

    def __len__(self) -> int:
        return sum(self._lengths)

    def read(self, start: int, columns: Sequence[str]) -> Iterator[Table]:
        """Frames of some columns, from a row on."""
        for table in self._tables(columns):
            m = table.shape[0]
            if start < m:
                yield table[start:]
            start = max(0, start - m)

    def fingerprint(self) -> str:
        """A digest of all values."""
        digest = blake2b(digest_size=16)
        for table in self._tables(None):
            hash_table(digest, table)
        return digest.hexdigest()

    def _tables(self, columns: Sequence[str] | None) -> Iterator[Table]:
        for number, frame in enumerate(self.frames):
            table = as_table(frame, f"frame {number} of X")
            names = column_names(table)
            if names is None:
                raise DataError(f"frame {number} of X must have named columns.")
            if columns is None:
                yield table
                continue
            lacking = [name for name in columns if name not in names]
            if lacking:
                raise DataError(f"frame {number} of X lacks the columns {lacking[:8]!r}.")
            yield select_columns(table, [names.index(name) for name in columns])


# ---------------------------------------------------------------------------------- tiles


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
                at = (number - self.numbers.start) * _rows.TILE_ROWS
                chosen = chosen[at : at + _rows.TILE_ROWS]
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
            wanted = min(_rows.TILE_ROWS - held, left)
            part, piece = piece[:wanted], piece[wanted:]
            pieces.append(part)
            held += part.shape[0]
            left -= part.shape[0]
            if held == _rows.TILE_ROWS or not left:
                yield first, pieces[0] if len(pieces) == 1 else nw.concat(pieces)
                first += held
                pieces, held = [], 0
        if not left:
            return
    raise DataError(f"X ended {left} rows before its end: it was changed while it was read.")


def head_of(store: Store) -> Table:
    """The first tile, with all columns."""
    size = min(len(store), _rows.TILE_ROWS)
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
            size = min(_rows.TILE_ROWS, self.n_rows)
            self._first.append(next(self._stretch(range(1), size).tiles(self.shared)))
        return self._first[0]

    @cached_property
    def stretches(self) -> Sequence[Stretch]:
        """Tiles of one row group together, since reading starts at row groups."""
        n_tiles = -(-self.n_rows // _rows.TILE_ROWS)
        begin = np.arange(n_tiles) * _rows.TILE_ROWS
        begin = begin if self.chosen is None else self.chosen[begin]
        block = np.searchsorted(self.store.starts, begin, "right")
        alone = not isinstance(self.store, FrameStore) or len(self.store.starts) > 1
        found: list[Stretch] = []
        first = 0
        for tile in range(1, n_tiles + 1):
            ended = tile == n_tiles or block[tile] != block[first]
            if ended or (alone and tile - first == STRETCH_TILES):
                numbers = range(first, tile)
                end = min(tile * _rows.TILE_ROWS, self.n_rows)
                found.append(self._stretch(numbers, end - first * _rows.TILE_ROWS))
                first = tile
        return found

    def _stretch(self, numbers: range, n_rows: int) -> StoredStretch:
        at = numbers.start * _rows.TILE_ROWS
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
