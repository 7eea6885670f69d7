"""Frames that come one after another, as a list or as anything that starts anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np

from sfit._rows import Table, as_table, column_names, hash_table, select_columns
from sfit.exceptions import DataError


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
