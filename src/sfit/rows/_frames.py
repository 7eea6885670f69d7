"""Frames that come one after another, as a list or as anything that starts anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from sfit.exceptions import DataError
from sfit.rows import Table, as_table, column_names, hash_table, select_columns, take_rows
from sfit.rows._tiles import hash_column

MARKED_ROWS = 256
"""Rows of a frame that are compared when it is read again."""


@dataclass(frozen=True)
class FrameStore:
    """Frames that come one after another, in the same order each time."""

    frames: Iterable[Any]

    @cached_property
    def _survey(self) -> tuple[list[int], SchemaUnion, list[list[bytes]]]:
        """Number of rows of each frame, what all of them have in common, and how to know them."""
        lengths, schema, marks = [], SchemaUnion(), []
        for number, table in enumerate(self._as_they_are()):
            lengths.append(table.shape[0])
            schema.add(table, f"frame {number} of X")
            marks.append(_marks(table))
        return lengths, schema, marks

    @property
    def _lengths(self) -> list[int]:
        return self._survey[0]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of the first frame."""
        return column_names(next(self._as_they_are())) or ()

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
        lengths, schema, marks = self._survey
        for number, table in enumerate(self._as_they_are()):
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
        for table in self._as_they_are():
            hash_table(digest, table)
        return digest.hexdigest()

    def _as_they_are(self) -> Iterator[Table]:
        for number, frame in enumerate(self.frames):
            table = as_table(frame, f"frame {number} of X")
            if column_names(table) is None:
                raise DataError(f"frame {number} of X must have named columns.")
            yield table


def _marks(table: Table) -> list[bytes]:
    """Digests of the columns, with their names, over a few rows: a frame is known by them."""
    n = table.shape[0]
    some = take_rows(table, np.linspace(0, n - 1, min(n, MARKED_ROWS)).astype(np.intp))
    found = []
    for name in some.columns:
        digest = blake2b(str(name).encode(), digest_size=8)
        hash_column(digest, some.get_column(name))
        found.append(digest.digest())
    return found


def _changed(number: int) -> DataError:
    return DataError(
        f"X changed during the run: frame {number} is not the one that was there before. X is read "
        "several times, and must give the same frames each time: sort its rows, or pass a list."
    )


class SchemaUnion:
    """Converts frames to one common schema, as if they had been concatenated."""

    def __init__(self) -> None:
        self.library: Any = None
        self.heads: list[pd.DataFrame] = []
        """The pandas frames that have other types than those before them, without their rows."""
        self.types: dict[str, Any] = {}
        self.categories: dict[Any, dict[Any, None]] = {}
        """Of each column all categories of any frame, in order of appearance."""

    def add(self, table: Table, called: str) -> None:
        """Learn what a frame is like."""
        self.library = self.library or table.implementation
        if table.implementation != self.library:
            raise DataError(
                f"{called} is of {table.implementation.value}, the first of {self.library.value}: "
                "make them frames of one library."
            )
        native = table.to_native()
        if isinstance(native, pd.DataFrame):
            head = native.iloc[:0]
            if not any(head.dtypes.equals(known.dtypes) for known in self.heads):
                self.heads.append(head)
            for name, dtype in head.dtypes.items():
                if isinstance(dtype, pd.CategoricalDtype):
                    found = self.categories.setdefault(name, {})
                    found.update(dict.fromkeys(dtype.categories))
            return
        for name, dtype in table.schema.items():
            if dtype == nw.Categorical and hasattr(native, "combine_chunks"):
                found = self.categories.setdefault(name, {})
                for chunk in native.column(name).chunks:
                    found.update(dict.fromkeys(chunk.dictionary.to_pylist()))
            known = self.types.setdefault(name, dtype)
            if dtype != known:
                raise DataError(
                    f"column {name!r} is {dtype} in {called} and {known} in others: give all "
                    "frames one type."
                )

    @cached_property
    def dtypes(self) -> dict[Any, Any]:
        """The types of pandas frames put together."""
        return pd.concat(self.heads).dtypes.to_dict()

    @cached_property
    def unions(self) -> dict[Any, list[Any]]:
        """All categories of the columns that hold categories in every frame."""
        return {
            name: list(found)
            for name, found in self.categories.items()
            if all(isinstance(h.dtypes.get(name), pd.CategoricalDtype) for h in self.heads)
        }

    def __call__(self, table: Table) -> Table:
        """A frame like all others."""
        native = table.to_native()
        if not isinstance(native, pd.DataFrame):
            return as_table(_renumbered(native, self.categories)) if self.categories else table
        made = native.copy(deep=False)
        for name, own in native.items():
            if name in self.unions:
                # Not astype, to which the same categories in another order are the same.
                if list(own.cat.categories) != self.unions[name]:
                    made[name] = own.cat.set_categories(self.unions[name])
            elif own.dtype != self.dtypes[name]:
                made[name] = own.astype(self.dtypes[name])
        return as_table(made)


def _renumbered(table: Any, categories: Mapping[Any, Iterable[Any]]) -> Any:
    """A pyarrow table whose dictionaries are those of all tables."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for position, field in enumerate(table.schema):
        if field.name in categories:
            values = table.column(position).cast(field.type.value_type).combine_chunks()
            known = pa.array(list(categories[field.name]), field.type.value_type)
            codes = pc.index_in(values, known)
            made = pa.DictionaryArray.from_arrays(codes, known)
            table = table.set_column(position, field.name, made)
    return table
