"""Rows from files: CSV, CSV.gz, Parquet (a file, a folder, a glob)."""

from __future__ import annotations

import glob
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from sfit.cli.model_files._formats import MOST_RATIO, MOST_UNPACKED
from sfit.exceptions import DataError, MissingDependencyError, ModelError, SFITError

KINDS = "CSV (.csv, .csv.gz) or Parquet (a file, a folder or a glob such as 'rows/*.parquet')"


def is_parquet(source: str) -> bool:
    """Whether the source is Parquet, judged by the content of the files."""
    path = Path(source)
    if path.is_dir() or (not path.exists() and glob.has_magic(source)):
        return True
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"PAR1"


def read_head(source: str) -> pd.DataFrame:
    """The first row of Parquet files: names and types, without reading the rest."""
    from sfit.rows._stored import open_store, raw_tiles

    store = open_store(source)
    if store is None:
        raise DataError(f"{source!r} holds no Parquet files.")
    [(_, head)] = raw_tiles(store, store.names, n_rows=1)
    return pd.DataFrame(head.to_pandas())


def read_rows(source: str) -> pd.DataFrame:
    """All rows of a file, a folder or a glob."""
    path = Path(source)
    if path.is_dir():
        return _parquet(source, [str(path)])
    if not path.exists() and glob.has_magic(source):
        return _parquet(source, sorted(glob.glob(source, recursive=True)))
    if not path.is_file():
        raise DataError(f"there is no data file {source!r}.")
    with path.open("rb") as file:
        head = file.read(4)
    # By content: the name may be wrong.
    if head == b"PAR1":
        return _parquet(source, [source])
    return _csv(source, packed=head.startswith(b"\x1f\x8b"))


class _Unpacked(gzip.GzipFile):
    """A gzip file that is read up to a limit: a few bytes can unpack to any size."""

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes; an error beyond the limit."""
        most = max(MOST_UNPACKED, MOST_RATIO * Path(str(self.name)).stat().st_size)
        if self.tell() > most:
            raise DataError(
                f"{str(self.name)!r} unpacks to more than {most / 2**30:,.1f} GB, {MOST_RATIO} "
                "times its size: if it is a table, unpack the file yourself or save it as Parquet."
            )
        return super().read(size)


def _csv(source: str, packed: bool) -> pd.DataFrame:
    try:
        if not packed:
            return pd.read_csv(source, compression=None)
        with _Unpacked(source) as file:
            return pd.read_csv(file)
    except DataError:
        raise
    except (ValueError, EOFError, OSError, MemoryError, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise DataError(
            f"{source!r} cannot be read as CSV ({reason}); rows are {KINDS}."
        ) from error


@contextmanager
def explained(rows: Any, source: str) -> Iterator[None]:
    """Add to an error the cell of text that makes a column of numbers one of text."""
    try:
        yield
    except SFITError as error:
        # Words in a column surface when it is frozen, or when the model sees it.
        about = isinstance(error, ModelError) or "reference" in str(error)
        frame = about and isinstance(rows, pd.DataFrame)
        cell = _text_among_numbers(rows, source) if frame else ""
        if not cell:
            raise
        raise type(error)(f"{str(error).rstrip(' .')}. {cell}") from error


def _text_among_numbers(rows: pd.DataFrame, source: str) -> str:
    """A sentence about the first column of numbers in which a few cells hold text."""
    for name in rows.columns:
        column = rows[name]
        if column.dtype != object and not pd.api.types.is_string_dtype(column):
            continue
        present = column.dropna()
        words = present[pd.to_numeric(present, errors="coerce").isna()]
        if 0 < len(words) <= len(present) / 10:
            more = "" if len(words) == 1 else f" and {len(words) - 1} more cells hold text"
            return (
                f"Look at column {name!r} of {source!r}: row {words.index[0]} (counted from 0) "
                f"holds {words.iloc[0]!r}{more}, while the other {len(present) - len(words):,} "
                "cells hold numbers. Correct the text, or leave these cells empty."
            )
    return ""


def _parquet(source: str, files: list[str]) -> pd.DataFrame:
    if not files:
        raise DataError(f"no file matches {source!r}.")
    try:
        import pyarrow as pa
        import pyarrow.dataset as ds
    except ImportError as error:
        raise MissingDependencyError(
            'Parquet files need pyarrow: pip install "sfit[parquet]".'
        ) from error
    # pyarrow takes one path (a file or a folder), or a list of files.
    where = files[0] if len(files) == 1 else files
    try:
        data = ds.dataset(where, format="parquet", partitioning="hive")
        if not data.files:
            raise DataError(f"there is no Parquet file in {source!r}.")
        _check_size(source, data)
        return data.to_table().to_pandas()
    except (pa.ArrowException, OSError, MemoryError) as error:
        reason = " ".join(str(error).split())[:300]
        raise DataError(f"{source!r} cannot be read as Parquet ({reason}).") from error


def _check_size(source: str, data: Any) -> None:
    """Refuse a small file that would fill the memory, such as one repeated number."""
    unpacked = data.count_rows() * sum(map(_width, data.schema.types)) // 8
    packed = sum(Path(file).stat().st_size for file in data.files)
    if unpacked > max(MOST_UNPACKED, MOST_RATIO * packed):
        raise DataError(
            f"{source!r} unpacks to {unpacked / 2**30:,.1f} GB, more than {MOST_RATIO} times its "
            "size: keep only the columns and rows that you need."
        )


def _width(kind: Any) -> int:
    """Bits of one value in memory; for text, whose length is unknown, those of a pointer."""
    try:
        return int(kind.bit_width)
    except ValueError:
        return 64
