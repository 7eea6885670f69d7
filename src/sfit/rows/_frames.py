"""Sequences of frames: a list, or an iterable that can be restarted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from sfit._array import Array
from sfit.exceptions import DataError
from sfit.rows._table import Table, as_table, column_names, select_columns, take_rows
from sfit.rows._tiles import hash_column, hash_table

MARKED_ROWS = 256
"""Number of rows of a frame that are compared when it is read again."""


@dataclass(frozen=True)
class FrameStore:
    """A sequence of frames, in the same order each time."""

    frames: Iterable[Any]

    @cached_property
    def _survey(self) -> tuple[list[int], SchemaUnion, list[list[bytes]]]:
        """Number of rows of each frame, the common schema, and digests to recognise each frame."""
        lengths, schema, marks = [], SchemaUnion(), []
        for number, table in enumerate(self._tables()):
            lengths.append(table.shape[0])
            schema.add(table, f"frame {number} of X")
            marks.append(_marks(table))
        return lengths, schema, marks

    @property
    def _lengths(self) -> list[int]:
        return self._survey[0]

    @cached_property
    def head(self) -> Table:
        """The columns of the first frame, without a row."""
        return next(self._tables())[:0]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the first frame."""
        return column_names(self.head) or ()

    def skipped(self, rows: Array) -> Array:
        """0 for a list, whose frames are in memory; other iterables start at their beginning."""
        return np.where(isinstance(self.frames, Sequence) | (rows == 0), 0, np.inf)

    def __len__(self) -> int:
        return sum(self._lengths)

    def read(self, start: int, columns: Sequence[str]) -> Iterator[Table]:
        """Frames of some columns, from row `start` on."""
        lengths, schema, marks = self._survey
        for number, table in enumerate(self._tables()):
            m = table.shape[0]
            if number >= len(lengths) or m != lengths[number]:
                raise _changed(number)
            if start < m:
                names = column_names(table) or ()
                lacking = [name for name in columns if name not in names]
                if lacking:
                    raise DataError(f"frame {number} of X lacks the columns {lacking[:8]!r}.")
                chosen = select_columns(table, [names.index(name) for name in columns])
                if not set(_marks(chosen)) <= set(marks[number]):
                    raise _changed(number)
                yield schema(chosen)[start:]
            start = max(0, start - m)

    def fingerprint(self) -> str:
        """A digest of all values."""
        digest = blake2b(digest_size=16)
        for table in self._tables():
            hash_table(digest, table)
        return digest.hexdigest()

    def _tables(self) -> Iterator[Table]:
        """The frames, unchanged."""
        for number, frame in enumerate(self.frames):
            table = as_table(frame, f"frame {number} of X")
            if column_names(table) is None:
                raise DataError(f"frame {number} of X must have named columns.")
            yield table


def _marks(table: Table) -> list[bytes]:
    """Digests of a few rows of each column and its name, to recognise the frame."""
    n = table.shape[0]
    sample = take_rows(table, np.linspace(0, n - 1, min(n, MARKED_ROWS)).astype(np.intp))
    marks = []
    for name in sample.columns:
        digest = blake2b(str(name).encode(), digest_size=8)
        hash_column(digest, sample.get_column(name))
        marks.append(digest.digest())
    return marks


def _changed(number: int) -> DataError:
    return DataError(
        f"X changed during the run: frame {number} differs from the first pass. X is read several "
        "times and must give the same frames each time: sort its rows, or pass a list."
    )


class SchemaUnion:
    """Converts frames to one common schema, as if they had been concatenated."""

    def __init__(self) -> None:
        self.library: Any = None
        self.heads: list[pd.DataFrame] = []
        """Empty pandas frames, one for each distinct set of dtypes."""
        self.types: dict[str, Any] = {}
        self.categories: dict[Any, dict[Any, None]] = {}
        """All categories of each column over all frames, in order of appearance."""

    def add(self, table: Table, called: str) -> None:
        """Add the schema of a frame, which messages name `called`."""
        self.library = self.library or table.implementation
        if table.implementation != self.library:
            raise DataError(
                f"{called} is from {table.implementation.value}, but frame 0 is from "
                f"{self.library.value}: convert all frames to one library."
            )
        native = table.to_native()
        if isinstance(native, pd.DataFrame):
            head = native.iloc[:0]
            if not any(head.dtypes.equals(other.dtypes) for other in self.heads):
                self.heads.append(head)
            for name, dtype in head.dtypes.items():
                if isinstance(dtype, pd.CategoricalDtype):
                    categories = self.categories.setdefault(name, {})
                    categories.update(dict.fromkeys(dtype.categories))
            return
        for name, dtype in table.schema.items():
            if dtype == nw.Categorical and hasattr(native, "combine_chunks"):
                categories = self.categories.setdefault(name, {})
                for chunk in native.column(name).chunks:
                    categories.update(dict.fromkeys(chunk.dictionary.to_pylist()))
            first = self.types.setdefault(name, dtype)
            if dtype != first:
                raise DataError(
                    f"column {name!r} is {dtype} in {called} and {first} in others: convert it to "
                    "the same type in all frames."
                )

    @cached_property
    def dtypes(self) -> dict[Any, Any]:
        """The dtypes of the concatenated pandas frames."""
        return pd.concat(self.heads).dtypes.to_dict()

    @cached_property
    def unions(self) -> dict[Any, list[Any]]:
        """All categories of the columns that are categorical in every frame."""
        return {
            name: list(categories)
            for name, categories in self.categories.items()
            if all(isinstance(h.dtypes.get(name), pd.CategoricalDtype) for h in self.heads)
        }

    def __call__(self, table: Table) -> Table:
        """Convert a frame to the common schema."""
        native = table.to_native()
        if not isinstance(native, pd.DataFrame):
            return as_table(_renumbered(native, self.categories)) if self.categories else table
        converted = native.copy(deep=False)
        for name, series in native.items():
            if name in self.unions:
                # Not astype, which ignores a different order of the same categories.
                if list(series.cat.categories) != self.unions[name]:
                    converted[name] = series.cat.set_categories(self.unions[name])
            elif series.dtype != self.dtypes[name]:
                converted[name] = series.astype(self.dtypes[name])
        return as_table(converted)


def _renumbered(table: Any, categories: Mapping[Any, Iterable[Any]]) -> Any:
    """A pyarrow table whose dictionaries hold the categories of all tables."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for position, field in enumerate(table.schema):
        if field.name in categories:
            values = table.column(position).cast(field.type.value_type).combine_chunks()
            dictionary = pa.array(list(categories[field.name]), field.type.value_type)
            codes = pc.index_in(values, dictionary)
            column = pa.DictionaryArray.from_arrays(codes, dictionary)
            table = table.set_column(position, field.name, column)
    return table
