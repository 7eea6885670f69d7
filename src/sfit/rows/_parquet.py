"""Parquet data sets, opened through pyarrow or fsspec and read in batches by row group."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from sfit._array import Array
from sfit.exceptions import ArgumentError, DataError, MissingDependencyError, SFITError
from sfit.rows._identity import FileIdentity, Listing, check_footer, check_stamp, identify
from sfit.rows._table import Table, as_table

BATCH_ROWS = 65_536
"""Largest number of rows that are decoded at a time."""
BUFFER_BYTES = 1 << 18
"""Bytes of a column that are read at a time: whoever needs half a row group reads half of it."""


@dataclass(frozen=True)
class Block:
    """A row group of a file."""

    path: str
    filesystem: Any
    row_group: int
    n_rows: int
    keys: tuple[tuple[str, Any], ...] = ()
    """Columns and values from the folder names (hive partitions)."""
    identity: FileIdentity | None = None
    """The identity of the file when it was opened."""


@dataclass(frozen=True)
class ParquetStore:
    """The row groups of a Parquet data set."""

    blocks: tuple[Block, ...]
    schema: Any
    """The pyarrow schema of all files."""
    dictionaries: tuple[str, ...] = ()
    """The categorical columns."""
    listing: Listing | None = None
    """The files of a folder or pattern."""

    def __len__(self) -> int:
        return sum(block.n_rows for block in self.blocks)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.schema.names)

    @cached_property
    def head(self) -> Table:
        """All columns, without a row."""
        return as_table(_as_frame(self.schema.empty_table(), self.blocks[0].path))

    @cached_property
    def starts(self) -> Array:
        """First row of each row group."""
        return np.cumsum([0, *(block.n_rows for block in self.blocks)])[:-1]

    def skipped(self, rows: Array) -> Array:
        """Number of rows before each of some rows that are read in vain: those of its row group."""
        return np.asarray(rows - self.starts[np.searchsorted(self.starts, rows, "right") - 1])

    @cached_property
    def categories(self) -> dict[str, list[Any]]:
        """All categories of each categorical column over all files, in order of appearance.

        Each batch has a different dictionary, but models read the codes of the categories.
        """
        union: dict[str, dict[Any, None]] = {name: {} for name in self.dictionaries}
        if union:
            for _, of_file in groupby(self.blocks, key=lambda block: block.path):
                for table in _read_file(list(of_file), self.dictionaries):
                    for name in union:
                        for chunk in table.column(name).chunks:
                            union[name].update(dict.fromkeys(chunk.dictionary.to_pylist()))
        return {name: list(categories) for name, categories in union.items()}

    def read(self, start: int, columns: Sequence[str]) -> Iterator[Table]:
        """Pandas frames of some columns, from row `start` on, each at most a tile."""
        if start == 0 and self.listing:
            self.listing.check()
        unified = {name: self.categories[name] for name in columns if name in self.dictionaries}
        first = int(np.searchsorted(self.starts, start, "right")) - 1
        skip = int(start - self.starts[first])
        left = len(self) - start
        for path, of_file in groupby(self.blocks[first:], key=lambda block: block.path):
            for table in _read_file(list(of_file), columns):
                if skip >= table.num_rows:
                    skip -= table.num_rows
                    continue
                frame = _as_frame(table.slice(skip), path)
                for name, categories in unified.items():
                    # Not astype, which ignores a different order of the same categories.
                    frame[name] = frame[name].cat.set_categories(categories)
                left -= len(frame)
                if not left and self.listing:
                    self.listing.check()
                yield as_table(frame)
                skip = 0

    def fingerprint(self) -> str:
        """A digest of the names, sizes, times and footers of the files, and of the row groups."""
        digest = blake2b(digest_size=16)
        for path, of_file in groupby(self.blocks, key=lambda block: block.path):
            blocks = list(of_file)
            stamp = _stamp(blocks[0])
            for block in blocks:
                identity = (Path(path).name, block.row_group, block.n_rows, block.keys, stamp)
                digest.update(repr(identity).encode())
        return digest.hexdigest()


def _as_frame(table: Any, path: str) -> Any:
    try:
        return table.to_pandas()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        # The pandas metadata in the file is JSON, and may be damaged.
        raise DataError(f"X cannot be read: {path!r}: {error}") from error


def _read_file(blocks: Sequence[Block], columns: Sequence[str]) -> Iterator[Any]:
    """Tables of some columns; checks before the first and after each that the file is unchanged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = dict(blocks[0].keys)
    stored = [name for name in columns if name not in keys]
    at = blocks[0]
    opened = at.identity
    try:
        with at.filesystem.open_input_file(at.path) as file:
            _unchanged(at, file)
            parquet = pq.ParquetFile(file, buffer_size=BUFFER_BYTES, pre_buffer=False)
            for at in blocks:
                n_read = 0
                for batch in parquet.iter_batches(
                    batch_size=BATCH_ROWS,
                    row_groups=[at.row_group],
                    columns=stored,
                    use_threads=False,
                ):
                    if opened is not None:
                        check_stamp(at.filesystem, at.path, opened)
                    table = pa.Table.from_batches([batch])
                    for name in columns:
                        if name in keys:
                            constant = pa.repeat(pa.scalar(keys[name]), table.num_rows)
                            table = table.append_column(name, constant)
                    n_read += table.num_rows
                    yield table.select(list(columns))
                if n_read != at.n_rows:
                    raise OSError(  # noqa: TRY301 - reported like any other fault of the file
                        f"{n_read} rows were read, but its metadata announces {at.n_rows}"
                    )
            _unchanged(at, file)
    except (OSError, pa.ArrowException, KeyError) as error:
        if opened is not None:
            # A file that was overwritten during reading looks damaged.
            check_stamp(at.filesystem, at.path, opened)
        raise DataError(
            f"X cannot be read: row group {at.row_group} of {at.path!r}: {error}"
        ) from error


def _unchanged(block: Block, file: Any) -> None:
    if block.identity is not None:
        check_stamp(block.filesystem, block.path, block.identity)
        check_footer(file, block.path, block.identity)


def open_parquet(path: str | os.PathLike[str]) -> ParquetStore:
    text = os.fspath(path)
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingDependencyError(
            f"X={text!r} names Parquet files, and reading them needs pyarrow: "
            "pip install 'sfit[parquet]'."
        ) from error
    try:
        dataset = _data_set(text)
        store = parquet_store(dataset)
    except SFITError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        raise DataError(f"X={text!r} cannot be read as a Parquet data set: {error}") from error
    listing = None if _is_file(text, dataset.files) else Listing.of(text, dataset.files, _data_set)
    return replace(store, listing=listing)


def _is_file(text: str, files: Sequence[str]) -> bool:
    """Whether a path names one file, not a folder or a pattern."""
    return os.path.isfile(text) or ("://" in text and text.endswith(f"/{Path(files[0]).name}"))


def _data_set(text: str) -> Any:
    """All Parquet files at a path, an address or a pattern."""
    import pyarrow.dataset as ds

    source: Any = text
    filesystem = None
    if "://" in text:
        source, filesystem = _located(text)
    else:
        whole = os.path.exists(text) or not glob.has_magic(text)
        paths = [text] if whole else sorted(glob.glob(text, recursive=True))
        paths = [name for name in paths if os.path.exists(name)]
        if not paths:
            raise ArgumentError(f"X={text!r} matches no file: pass a Parquet file, folder or glob.")
        source = paths[0] if len(paths) == 1 else [f for name in paths for f in _files(name)]
    return ds.dataset(source, filesystem=filesystem, format="parquet", partitioning="hive")


def _located(uri: str) -> tuple[Any, Any]:
    """Path and filesystem of an address, from pyarrow or else fsspec; globs need fsspec."""
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
            f"opening X={uri!r} needs fsspec: pip install fsspec."
        ) from error
    try:
        other, path = url_to_fs(uri)
        paths = sorted(other.glob(path)) if glob.has_magic(uri) else path
    except (OSError, ValueError, ImportError) as error:
        raise ArgumentError(f"X={uri!r} cannot be opened: {error}") from error
    if not paths:
        raise ArgumentError(f"X={uri!r} matches no file: pass a Parquet file, folder or glob.")
    return paths, other


def _files(name: str) -> list[str]:
    if not os.path.isdir(name):
        return [name]
    return sorted(str(file) for file in Path(name).rglob("*.parquet"))


def parquet_store(dataset: Any) -> ParquetStore:
    import pyarrow as pa

    blocks = _blocks(dataset)
    keys = {name for block in blocks for name, _ in block.keys}
    dictionaries = tuple(
        field_.name
        for field_ in dataset.schema
        if pa.types.is_dictionary(field_.type) and field_.name not in keys
    )
    return ParquetStore(blocks, dataset.schema, dictionaries)


def _blocks(dataset: Any) -> tuple[Block, ...]:
    import pyarrow as pa
    import pyarrow.dataset as ds
    import pyarrow.parquet as pq

    try:
        fragments = list(dataset.get_fragments())
    except ValueError as error:  # raised by pyarrow for filters
        raise ArgumentError(
            f"X must be a data set of whole files, without a filter: {error} Write the selected "
            "rows to files, or pass them as a table in memory."
        ) from error
    if not all(hasattr(fragment, "row_groups") for fragment in fragments):
        raise ArgumentError("X must be a data set of Parquet files; this one has another format.")
    blocks = []
    for fragment in fragments:
        path, filesystem = fragment.path, fragment.filesystem
        try:
            identity = identify(filesystem, path)
            groups = [(group.id, group.num_rows) for group in fragment.row_groups]
            schema = fragment.physical_schema
            with filesystem.open_input_file(path) as file:
                fresh = pq.ParquetFile(file).metadata.equals(fragment.metadata)
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"X cannot be read: {path!r}: {error}") from error
        if not fresh:
            raise DataError(
                f"X: {path!r} has changed since the data set was created: create it again."
            )
        keys = tuple(ds.get_partition_keys(fragment.partition_expression).items())
        _check_schema(dataset.schema, schema, dict(keys), path)
        blocks += [
            Block(
                path=path,
                filesystem=filesystem,
                row_group=number,
                n_rows=n_rows,
                keys=keys,
                identity=identity,
            )
            for number, n_rows in groups
            if n_rows
        ]
    if not blocks:
        raise DataError("X is a Parquet data set without rows.")
    return tuple(blocks)


def _stamp(block: Block) -> str:
    """A text that changes when the file does, and is the same in every process."""
    opened = block.identity
    if opened is None:
        return ""
    return f"{opened.size} {opened.mtime_ns or _content_digest(block)} {opened.footer}"


def _content_digest(block: Block) -> str:
    """A digest of the file's content, for filesystems without modification times."""
    with block.filesystem.open_input_stream(block.path) as file:
        digest = blake2b(digest_size=16)
        while chunk := file.read(1 << 22):
            digest.update(chunk)
    return digest.hexdigest()


def _check_schema(whole: Any, of_file: Any, keys: Mapping[str, Any], path: str) -> None:
    for field_ in whole:
        if field_.name in keys:
            continue
        if field_.name not in of_file.names:
            raise DataError(f"X: {path!r} lacks the column {field_.name!r} that other files have.")
        stored = of_file.field(field_.name).type
        if _plain(stored) != _plain(field_.type):
            raise DataError(
                f"X: column {field_.name!r} is {stored} in {path!r} and {field_.type} in other "
                "files: write them with one type."
            )


def _plain(type_: Any) -> Any:
    """The type of the values: the codes of categories may differ from file to file."""
    import pyarrow as pa

    return type_.value_type if pa.types.is_dictionary(type_) else type_
