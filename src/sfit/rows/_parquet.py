"""The row groups of Parquet data sets, wherever pyarrow or fsspec finds them, read in batches."""

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

from sfit.exceptions import ArgumentError, DataError, MissingDependencyError, SFITError
from sfit.rows import Table, _tiles, as_table
from sfit.rows._identity import FileIdentity, Listing, check_footer, check_stamp, identify


@dataclass(frozen=True)
class Block:
    """A row group of a file."""

    path: str
    filesystem: Any
    row_group: int
    n_rows: int
    keys: tuple[tuple[str, Any], ...] = ()
    """What the names of the folders say (hive partitions)."""
    identity: FileIdentity | None = None
    """The file, as it was when it was opened."""
    stamp: str = ""
    """Something that changes when the file does, in another process as well."""


@dataclass(frozen=True)
class ParquetStore:
    """The row groups of a Parquet data set."""

    blocks: tuple[Block, ...]
    names: tuple[str, ...]
    dictionaries: tuple[str, ...] = ()
    """The columns that hold categories."""
    listing: Listing | None = None
    """The files of a folder or pattern."""

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
        if start == 0 and self.listing:
            self.listing.check()
        unified = {name: self.categories[name] for name in columns if name in self.dictionaries}
        first = int(np.searchsorted(self.starts, start, "right")) - 1
        skip = start - self.starts[first]
        left = len(self) - start
        for path, of_file in groupby(self.blocks[first:], key=lambda block: block.path):
            for table in _read_file(list(of_file), columns):
                if skip >= table.num_rows:
                    skip -= table.num_rows
                    continue
                try:
                    frame = table.slice(skip).to_pandas()
                except (ValueError, TypeError, KeyError, AttributeError) as error:
                    # What pandas noted of its columns is JSON inside the file, and may be damaged.
                    raise DataError(f"X cannot be read: {path!r}: {error}") from error
                for name, known in unified.items():
                    # Not astype, to which the same categories in another order are the same.
                    frame[name] = frame[name].cat.set_categories(known)
                left -= len(frame)
                if not left and self.listing:
                    self.listing.check()
                yield as_table(frame)
                skip = 0

    def fingerprint(self) -> str:
        """Names, sizes, times and footers of the files, and how their rows are grouped."""
        digest = blake2b(digest_size=16)
        for block in self.blocks:
            name = Path(block.path).name
            told = (name, block.row_group, block.n_rows, block.keys, block.stamp)
            digest.update(repr(told).encode())
        return digest.hexdigest()


def _read_file(blocks: Sequence[Block], columns: Sequence[str]) -> Iterator[Any]:
    """Tables of some columns; the file is looked at before the first and after each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    keys = dict(blocks[0].keys)
    stored = [name for name in columns if name not in keys]
    at = blocks[0]
    known = at.identity
    try:
        with at.filesystem.open_input_file(at.path) as file:
            _unchanged(at, file)
            parquet = pq.ParquetFile(file)
            for at in blocks:
                n_read = 0
                for batch in parquet.iter_batches(
                    batch_size=_tiles.TILE_ROWS,
                    row_groups=[at.row_group],
                    columns=stored,
                    use_threads=False,
                ):
                    if known is not None:
                        check_stamp(at.filesystem, at.path, known)
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
            _unchanged(at, file)
    except (OSError, pa.ArrowException, KeyError) as error:
        if known is not None:
            # What was written over while it was read looks damaged.
            check_stamp(at.filesystem, at.path, known)
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
            f"X={text!r} names Parquet files, and to read these needs pyarrow: "
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
        found = [text] if whole else sorted(glob.glob(text, recursive=True))
        found = [name for name in found if os.path.exists(name)]
        if not found:
            raise ArgumentError(f"X={text!r} matches no file: give a Parquet file, folder or glob.")
        source = found[0] if len(found) == 1 else [f for name in found for f in _files(name)]
    return ds.dataset(source, filesystem=filesystem, format="parquet", partitioning="hive")


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


def parquet_store(dataset: Any) -> ParquetStore:
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
    import pyarrow.parquet as pq

    try:
        fragments = list(dataset.get_fragments())
    except ValueError as error:  # pyarrow's, of filters
        raise ArgumentError(
            f"X must be a data set of whole files, without a filter: {error} Write the rows that "
            "you want to files, or pass them as a table in memory."
        ) from error
    if not all(hasattr(fragment, "row_groups") for fragment in fragments):
        raise ArgumentError("X must be a data set of Parquet files; this one holds something else.")
    blocks = []
    for fragment in fragments:
        path, filesystem = fragment.path, fragment.filesystem
        try:
            identity = identify(filesystem, path)
            groups = [(group.id, group.num_rows) for group in fragment.row_groups]
            schema = fragment.physical_schema
            stamp = f"{identity.size} {identity.mtime_ns or _digest_of(fragment)} {identity.footer}"
            with filesystem.open_input_file(path) as file:
                fresh = pq.ParquetFile(file).metadata.equals(fragment.metadata)
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"X cannot be read: {path!r}: {error}") from error
        if not fresh:
            raise DataError(f"X: {path!r} has changed since the data set was made: make it again.")
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
