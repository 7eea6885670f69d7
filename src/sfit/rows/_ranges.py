"""The range and the centre of a column."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfit.rows import _tiles
from sfit.rows._modes import Counts
from sfit.rows._table import Table, column_numbers, column_values

Array = npt.NDArray[Any]

FOLDED_ROWS = 32
"""Number of rows joined into one longer row when searching smallest and largest values."""


def ranges(table: Table) -> tuple[tuple[tuple[float, float], ...], frozenset[int]]:
    """Smallest and largest value of each column, and the columns with missing values."""
    columns = range(table.shape[1])
    if isinstance(table, np.ndarray) and table.dtype != object:
        # NaN propagates, and so marks missing values.
        low, high = _along_columns(np.minimum, table), _along_columns(np.maximum, table)
        missing = frozenset(np.flatnonzero(np.isnan(low)).tolist())
    else:
        low = high = np.full(len(columns), np.nan)
        missing = frozenset(c for c in columns if pd.isna(column_values(table, c)).any())
    spans = [(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    for column in columns:
        values = column_values(table, column) if np.isnan(spans[column][0]) else None
        if values is not None and values.dtype != object:
            spans[column] = float(np.fmin.reduce(values)), float(np.fmax.reduce(values))
        if spans[column] == (0, 0):
            spans[column] = zeros(column_values(table, column))
    return tuple(spans), missing


def zeros(column: Array) -> tuple[float, float]:
    """Smallest and largest value of a column of zeros, by sign: -0.0 is below 0.0."""
    signs = np.signbit(column[column == 0])
    return -0.0 if signs.any() else 0.0, -0.0 if signs.all() else 0.0


def is_one_number(span: tuple[float, float]) -> bool:
    """Whether a column's smallest and largest value are equal, including the sign of zero."""
    low, high = span
    return bool(low == high and np.signbit(low) == np.signbit(high))


def _along_columns(end: np.ufunc, table: Array) -> Array:
    """Smallest or largest value of each column.

    NumPy reduces one row at a time, so joining several rows into a longer one is faster.
    """
    n, width = table.shape
    if n < FOLDED_ROWS or not table.flags.c_contiguous:
        return np.asarray(end.reduce(table, axis=0))
    whole = n // FOLDED_ROWS * FOLDED_ROWS
    folded = end.reduce(table[:whole].reshape(-1, FOLDED_ROWS * width), axis=0)
    return np.asarray(end.reduce(np.vstack([folded.reshape(-1, width), table[whole:]]), axis=0))


def centre_of(data: Table, categorical: frozenset[int], how: str, position: int) -> Any:
    """The centre of a column; always the mode if it is not numeric."""
    numeric = None if position in categorical else column_numbers(data, position)
    if numeric is None or how == "mode":
        counts = Counts()
        counts.add(column_values(data, position))
        return counts.mode()
    if np.isnan(numeric).all():
        return float("nan")
    if how == "median":
        return float(np.nanmedian(numeric))
    starts = range(0, len(numeric), _tiles.TILE_ROWS)
    return mean_of([tile_sum(numeric[start : start + _tiles.TILE_ROWS]) for start in starts])


def tile_sum(column: Array) -> tuple[float, int]:
    """Sum and number of the values that are not missing."""
    # A contiguous copy, so the order of summation does not depend on the table's memory layout.
    column = np.ascontiguousarray(column)
    with np.errstate(over="ignore", invalid="ignore"):  # the reference is checked later
        total = float(column.sum(dtype=np.float64))
        if np.isnan(total) and (missing := np.isnan(column)).any():
            column = column[~missing]
            total = float(column.sum(dtype=np.float64))
    return total, len(column)


def mean_of(sums: Iterable[tuple[float, int]]) -> float:
    """The mean from ordered sums by tile, so it does not depend on how the rows are stored."""
    total, count = 0.0, 0
    for of_tile, n in sums:
        total += of_tile
        count += n
    return total / count if count else float("nan")
