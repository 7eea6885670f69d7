"""A first pass over rows that are read tile by tile.

It collects ranges, missing values and centres of the columns of the masked space, and a few rows
that show every category of every column.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from sfit._binomial import median_ranks
from sfit._select import EVERYTHING, Counted, Window, bracket_by_sample, count, merge
from sfit._select import order_statistics as exact
from sfit.exceptions import DataError
from sfit.rows._distinct import column_of, first_of, identity, value_codes
from sfit.rows._modes import Counts
from sfit.rows._ranges import mean_of, tile_sum, zeros
from sfit.rows._table import Table, as_numeric, column_numbers, column_values, is_frame, take_rows

Array = npt.NDArray[Any]

MOST_WORDS = 1_000_000
"""Largest number of distinct words that are counted in a column."""


class Survey:
    """Ranges and centres of columns, collected tile by tile."""

    def __init__(self, categorical: frozenset[int], modes: bool):
        self.categorical = categorical
        self.modes = modes
        """Whether modes of numeric columns are needed too."""
        self.low: Array | None = None
        self.high: Array | None = None
        self.missing: set[int] = set()
        self.words: set[int] = set()
        """Columns that are not numeric in some tile."""
        self.blank: set[int] = set()
        """Columns that are entirely missing in some tile, where their type is unknown."""
        self.counts: dict[int, Counts] = {}
        self.sums: dict[int, list[tuple[float, int]]] = {}

    def add(self, table: Table) -> None:
        """Add a tile of the masked space."""
        width = table.shape[1]
        low, high = np.full(width, np.nan), np.full(width, np.nan)
        for column in range(width):
            numbers = column_numbers(table, column)
            if numbers is None or column in self.categorical or self.modes:
                values = column_values(table, column)
                self._count(column, values, words=numbers is None)
            if numbers is None:
                missing = np.asarray(pd.isna(values))
                (self.blank if missing.all() else self.words).add(column)
                if missing.any():
                    self.missing.add(column)
                continue
            total, present = tile_sum(numbers)
            self.sums.setdefault(column, []).append((total, present))
            if present < len(numbers):
                self.missing.add(column)
            if present:
                low[column], high[column] = np.fmin.reduce(numbers), np.fmax.reduce(numbers)
                if low[column] == 0 == high[column]:
                    low[column], high[column] = zeros(numbers)
        if self.low is not None and self.high is not None:
            # -0.0 is below 0.0.
            low = np.where((low == self.low) & np.signbit(low), low, np.fmin(self.low, low))
            high = np.where((high == self.high) & ~np.signbit(high), high, np.fmax(self.high, high))
        self.low, self.high = low, high

    def _count(self, column: int, values: Array, words: bool) -> None:
        counts = self.counts.setdefault(column, Counts())
        counts.add(values)
        if words and len(counts) > MOST_WORDS:
            raise DataError(
                f"X has a column (number {column}) with more than {MOST_WORDS:,} distinct words: "
                "leave it out, or group its values."
            )

    @property
    def numeric(self) -> set[int]:
        """Columns that are numeric in every tile."""
        return set(self.sums) - self.words

    @property
    def spans(self) -> tuple[tuple[float, float], ...]:
        """Smallest and largest value of each column; NaN if it is not numeric."""
        if self.low is None or self.high is None:
            return ()
        return tuple(zip(self.low.tolist(), self.high.tolist(), strict=True))

    def centre(self, how: str, column: int) -> Any:
        """Mean or mode of a column; always the mode if it is not numeric."""
        if column in self.counts and (how == "mode" or column not in self.numeric):
            return self.counts[column].mode()
        if column in self.categorical and len(self.counts[column]):
            return self.counts[column].mode()
        return mean_of(self.sums[column])

    def n_present(self, column: int) -> int:
        """Number of values of a numeric column that are not missing."""
        return sum(n for _, n in self.sums[column])


def medians(read: Callable[[], Iterable[Table]], survey: Survey) -> dict[int, float]:
    """Exact medians of the numeric columns, in one more pass (another for each missed bracket)."""
    wanted = {c: median_ranks(n) for c in survey.numeric if (n := survey.n_present(c))}
    median_of: dict[int, float] = dict.fromkeys(survey.numeric - set(wanted), float("nan"))
    n_se = 4.0
    while wanted:
        counted: dict[int, list[Counted]] = {column: [] for column in wanted}
        windows: dict[int, Window] = {}
        for table in read():
            for column, ranks in wanted.items():
                numbers = column_numbers(table, column)
                if numbers is None:
                    continue
                present = numbers[~np.isnan(numbers)].astype(np.float64)
                if column not in windows and len(present):
                    n = survey.n_present(column)
                    windows[column] = bracket_by_sample(present, ranks, n, n_se)
                counted[column].append(count(present, windows.get(column, EVERYTHING)))
        for column, parts in counted.items():
            low, high = exact(merge(parts), wanted[column])
            if low is not None and high is not None:
                median_of[column] = float(np.mean([low, high]))
        wanted = {c: ranks for c, ranks in wanted.items() if c not in median_of}
        n_se *= 4
    return median_of


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
