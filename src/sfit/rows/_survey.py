"""Ranges, missing values and centres of the columns, found in one pass over the rows.

Rows in memory are one piece. Rows in files come tile by tile; the pass then also collects what
their centres need, and a few rows that show every category of every column.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from sfit._array import Array
from sfit._binomial import median_ranks
from sfit._select import Counted, Window, bracket_by_sample, count, merge, order_statistics
from sfit.exceptions import DataError
from sfit.rows._distinct import column_of, first_of, identity, value_codes
from sfit.rows._modes import Counts
from sfit.rows._table import Table, as_numeric, column_numbers, column_values, is_frame, take_rows
from sfit.rows._tiles import TILE_ROWS

Span = tuple[float, float]
"""Smallest and largest value of a column; NaN if it is not numeric."""

MOST_WORDS = 1_000_000
"""Largest number of distinct words that are counted in a column."""

FOLDED_ROWS = 32
"""Number of rows joined into one longer row when searching smallest and largest values."""


class Survey:
    """Ranges and centres of columns, collected piece by piece."""

    def __init__(self, categorical: frozenset[int], how: str | None):
        self.categorical = categorical
        self.how = how
        """The centre to collect; None if the pieces stay in memory (see `centre_of`)."""
        self.low: Array | None = None
        self.high: Array | None = None
        self.missing: set[int] = set()
        self.words: set[int] = set()
        """Columns that are not numeric in some piece."""
        self.blank: set[int] = set()
        """Columns that are entirely missing in some piece, where their type is unknown."""
        self.counts: dict[int, Counts] = {}
        self.sums: dict[int, list[tuple[float, int]]] = {}
        self.brackets = _Brackets()
        self.medians: dict[int, float] = {}

    def add(self, table: Table) -> None:
        """Add a piece of the masked space."""
        spans, missing = ranges(table)
        self.missing |= missing
        if self.how is not None:
            for column in range(table.shape[1]):
                numbers = self._add_column(table, column)
                if numbers is not None and isnan(spans[column][0]):
                    # Numbers in a column of objects; in memory, these are compared one by one.
                    spans[column] = span_of(numbers)
        low, high = np.array(spans, dtype=np.float64).reshape(-1, 2).T
        if self.low is not None and self.high is not None:
            # -0.0 is below 0.0; which of the two fmin and fmax return is left to chance.
            least = np.where(np.signbit(low), low, self.low)
            most = np.where(np.signbit(high), self.high, high)
            low = np.where(low == self.low, least, np.fmin(self.low, low))
            high = np.where(high == self.high, most, np.fmax(self.high, high))
        self.low, self.high = low, high

    def _add_column(self, table: Table, column: int) -> Array | None:
        """Collect what the centre of a column needs; return its numbers, None if it has words."""
        numbers = column_numbers(table, column)
        if numbers is None or column in self.categorical or self.how == "mode":
            values = column_values(table, column)
            counts = self.counts.setdefault(column, Counts())
            counts.add(values)
            if numbers is None and len(counts) > MOST_WORDS:
                raise DataError(
                    f"X has a column (number {column}) with more than {MOST_WORDS:,} distinct "
                    "words: leave it out, or group its values."
                )
        if numbers is None:
            (self.blank if pd.isna(values).all() else self.words).add(column)
            return None
        self.sums.setdefault(column, []).append(tile_sum(numbers))
        if self.how == "median" and column not in self.categorical:
            self.brackets.add(column, numbers)
        return numbers

    @property
    def numeric(self) -> set[int]:
        """Columns that are numeric in every piece."""
        return set(self.sums) - self.words

    @property
    def spans(self) -> tuple[Span, ...]:
        """Smallest and largest value of each column; NaN if it is not numeric."""
        if self.low is None or self.high is None:
            return ()
        return tuple(zip(self.low.tolist(), self.high.tolist(), strict=True))

    def centre(self, how: str, column: int) -> Any:
        """The centre of a column; always the mode if it is not numeric."""
        if column in self.counts and (how == "mode" or column not in self.numeric):
            return self.counts[column].mode()
        if column in self.categorical and len(self.counts[column]):
            return self.counts[column].mode()
        if how == "median":
            return self.medians.get(column, float("nan"))
        return mean_of(self.sums[column])

    def find_medians(self, read: Callable[[], Iterable[Table]]) -> None:
        """Find exact medians; only a bracket that missed needs another pass over the pieces."""
        present = {column: sum(n for _, n in self.sums[column]) for column in self.numeric}
        left = {c: n for c, n in present.items() if n and c not in self.categorical}
        brackets = self.brackets
        while True:
            found = {column: brackets.median(column, n) for column, n in left.items()}
            self.medians |= {c: value for c, value in found.items() if value is not None}
            left = {column: n for column, n in left.items() if column not in self.medians}
            if not left:
                return
            brackets = _Brackets(4 * brackets.n_se)
            for table in read():
                brackets.add_table(table, left)


@dataclass
class _Brackets:
    """Brackets of medians from the first values of each column; later values are counted."""

    n_se: float = 4.0
    """Margin on either side, in standard errors; it grows each time a bracket has missed."""
    windows: dict[int, Window] = field(default_factory=dict)
    counted: dict[int, list[Counted]] = field(default_factory=dict)

    def add_table(self, table: Table, columns: Iterable[int]) -> None:
        """Count the values of some columns; a column of words has none."""
        for column in columns:
            numbers = column_numbers(table, column)
            if numbers is not None:
                self.add(column, numbers)

    def add(self, column: int, numbers: Array) -> None:
        """Count the values of a column."""
        present = numbers[~np.isnan(numbers)].astype(np.float64)
        n = len(present)
        if not n:
            return
        if column not in self.windows:
            self.windows[column] = bracket_by_sample(present, median_ranks(n), n, self.n_se)
        self.counted.setdefault(column, []).append(count(present, self.windows[column]))

    def median(self, column: int, n: int) -> float | None:
        """The median of a column with n values; None if the bracket missed it."""
        low, high = order_statistics(merge(self.counted[column]), median_ranks(n))
        return None if low is None or high is None else float(np.mean([low, high]))


class ProbeRows:
    """A few rows that show every category of every column."""

    def __init__(self) -> None:
        self.pieces: list[Table] = []
        self.seen: dict[int, set[Hashable]] = {}

    def add(self, table: Table) -> None:
        """Choose probe rows from a tile."""
        n = table.shape[0]
        rows = set(
            np.linspace(0, n - 1, min(n, 256 if not self.pieces else 4)).astype(int).tolist()
        )
        converted = as_numeric(table)  # an array if all columns are numeric
        for column in range(table.shape[1]):
            if column_numbers(converted, column) is None:
                rows |= self._new_words(table, column)
        self.pieces.append(take_rows(table, np.asarray(sorted(rows))))

    def _new_words(self, table: Table, column: int) -> set[int]:
        """Rows with words that no earlier tile had."""
        first = first_of(value_codes(column_of(table, column), lambda value: value))
        values = column_values(take_rows(table, first), column)
        seen = self.seen.setdefault(column, set())
        rows = set()
        for row, value in zip(first.tolist(), values, strict=True):
            key = identity(value)
            if key not in seen:
                seen.add(key)
                rows.add(row)
        return rows

    @property
    def table(self) -> Table:
        """The rows, in their original order."""
        if len(self.pieces) == 1:
            return self.pieces[0]
        return nw.concat(self.pieces) if is_frame(self.pieces[0]) else np.concatenate(self.pieces)


def ranges(table: Table) -> tuple[list[Span], set[int]]:
    """Smallest and largest value of each column, and the columns with missing values."""
    spans = [(float("nan"), float("nan"))] * table.shape[1]
    if isinstance(table, np.ndarray) and table.dtype != object:
        # NaN propagates, and so marks missing values.
        low, high = _along_columns(np.minimum, table), _along_columns(np.maximum, table)
        spans = list(zip(low.tolist(), high.tolist(), strict=True))
    missing = set()
    for column, span in enumerate(spans):
        if not isnan(span[0]) and span != (0, 0):
            continue
        values = column_values(table, column)
        if pd.isna(values).any():
            missing.add(column)
        if values.dtype != object:
            spans[column] = span_of(values)
    return spans, missing


def span_of(numbers: Array) -> Span:
    """Smallest and largest number, by sign among zeros: -0.0 is below 0.0."""
    low, high = float(np.fmin.reduce(numbers)), float(np.fmax.reduce(numbers))
    if low == 0 == high:
        signs = np.signbit(numbers[numbers == 0])
        return -0.0 if signs.any() else 0.0, -0.0 if signs.all() else 0.0
    return low, high


def is_one_number(span: Span) -> bool:
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


def centre_of(
    data: Table, categorical: frozenset[int], how: str, position: int, tile_rows: int = TILE_ROWS
) -> Any:
    """The centre of a column in memory; always the mode if it is not numeric."""
    numeric = None if position in categorical else column_numbers(data, position)
    if numeric is None or how == "mode":
        counts = Counts()
        counts.add(column_values(data, position))
        return counts.mode()
    if np.isnan(numeric).all():
        return float("nan")
    if how == "median":
        return float(np.nanmedian(numeric))
    starts = range(0, len(numeric), tile_rows)
    return mean_of([tile_sum(numeric[start : start + tile_rows]) for start in starts])


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
