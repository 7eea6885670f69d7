"""The interface of rows that are read piece by piece, and the function that opens X."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from sfit.exceptions import ArgumentError
from sfit.rows import Table
from sfit.rows._frames import FrameStore
from sfit.rows._parquet import open_parquet, parquet_store


class Store(Protocol):
    """Frames in a fixed order that can be read again."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""

    @property
    def starts(self) -> Sequence[int]:
        """Rows at which reading can start without reading any rows before."""

    def __len__(self) -> int: ...

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
