"""Trace each encoded column to an original column by experiment, not by reading pipelines.

Change one original column and see which encoded columns move. If every encoded column moves with
one original column only, both spaces can be masked, and masking after encoding is far cheaper.

A probe of few rows cannot show everything: two rare dummies may meet in one row of a million. So
all rows are mixed with others, column by column at random, and encoded: mixing before and after
encoding must give the same. Rows in memory and rows in files are tested tile by tile with the same
mixtures, so both give the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp

from sfit._array import Array
from sfit.rows import Table, as_table, column_values, is_frame, take_rows, to_native

Encode = Callable[[Any], Any]

NO_ORIGIN = -1
"""The origin of an encoded column that is constant over the rows."""

PATTERNS = 1_024
"""Number of random column sets, fewer for very wide tables: each row exchanges one of them."""

MIXED_ROWS = 512
"""Tiles of fewer rows are mixed several times."""

DONORS = 4_096
"""Largest number of rows kept from earlier tiles as mixing partners."""


class Provenance:
    """Finds the original column behind each encoded one, tile by tile."""

    def __init__(self, encode: Encode):
        self.encode = encode
        self.unclear = False
        """Whether an encoded column depends on several original ones, or the test failed."""
        self.origin: Array = np.zeros(0, dtype=int)
        self.start: Any = None
        """The first row, original and encoded."""
        self.donors: Any = None
        """Some rows of all tiles so far, original and encoded."""
        self.n_tiles = 0

    @property
    def traced(self) -> tuple[int, ...] | None:
        """The origin of each encoded column; None if it is unclear, or no column ever moved."""
        clear = not self.unclear and (self.origin != NO_ORIGIN).any()
        return tuple(map(int, self.origin)) if clear else None

    def add(self, table: Table, encoded: Table) -> None:
        """Test one tile, given before and after encoding."""
        if self.unclear:
            return
        try:
            self.unclear = not self._agrees(table, encoded)
        except _NotEncodedError:
            self.unclear = True

    def add_given(self, rows: Table) -> None:
        """Test rows given by the user, which the model's preprocessing may refuse."""
        if self.unclear:
            return
        try:
            self.add(rows, _encoded(self.encode, rows))
        except _NotEncodedError:
            self.unclear = True

    def _agrees(self, table: Table, encoded: Table) -> bool:
        rng = np.random.default_rng(self.n_tiles)
        self.n_tiles += 1
        if self.start is None:
            self.start = table[:1], encoded[:1]
            self.origin = np.full(encoded.shape[1], NO_ORIGIN)
            if not self._probe(take_rows(table, _probe_rows(table))):
                return False
        if encoded.shape[1] != len(self.origin) or not self._assign(table, encoded):
            return False
        self._keep_donors(table, encoded, rng)
        n, times = table.shape[0], -(-MIXED_ROWS // table.shape[0])
        for _ in range(min(times, 8)):
            for donors, partner in (
                ((table, encoded), rng.permutation(n)),
                (self.donors, rng.integers(self.donors[0].shape[0], size=n)),
            ):
                coins = _Coins(rng, n, table.shape[1])
                if not mixes(self.encode, self.origin, (table, encoded), donors, partner, coins):
                    return False
        return True

    def _probe(self, sample: Table) -> bool:
        """Shift one original column after another over the rows, and see which columns move."""
        before = _dense(_encoded(self.encode, sample))
        shifted = take_rows(sample, np.roll(np.arange(sample.shape[0]), 1))
        for position in range(sample.shape[1]):
            after = _dense(_encoded(self.encode, _with_column(sample, shifted, position)))
            if after.shape != before.shape or after.shape[1] != len(self.origin):
                return False
            moved = _differ(before, after).any(axis=0)
            if (moved & ~np.isin(self.origin, (NO_ORIGIN, position))).any():
                return False
            self.origin[moved] = position
        return True

    def _assign(self, table: Table, encoded: Table) -> bool:
        """Find the origin of columns that change for the first time in this tile."""
        rows = {}
        for column in self._unassigned(encoded):
            changed = _differ(column_values(self.start[1], column), column_values(encoded, column))
            if changed.any():
                rows[column] = int(changed.argmax())
        if not rows:
            return True
        probe = take_rows(table, np.unique(list(rows.values())))
        clear = self._probe(_concatenate(self.start[0], probe))
        return clear and bool((self.origin[list(rows)] != NO_ORIGIN).all())

    def _unassigned(self, encoded: Table) -> Sequence[int]:
        columns = np.flatnonzero(self.origin == NO_ORIGIN)
        if sp.issparse(encoded) and len(columns):
            # Nearly all dummies are zero in the first row, and most of those in the whole tile.
            stored = np.diff(encoded.tocsc().indptr) + np.diff(self.start[1].tocsc().indptr) > 0
            columns = columns[stored[columns]]
        return columns.tolist()

    def _keep_donors(self, table: Table, encoded: Table, rng: np.random.Generator) -> None:
        n = table.shape[0]
        rows = np.sort(rng.choice(n, size=min(n, 16 if self.donors else 256), replace=False))
        donors = take_rows(table, rows), take_rows(encoded, rows)
        if self.donors is not None:
            earlier = self.donors
            donors = _concatenate(earlier[0], donors[0]), _concatenate(earlier[1], donors[1])
        if donors[0].shape[0] > DONORS:
            every_second = np.arange(0, donors[0].shape[0], 2)
            donors = take_rows(donors[0], every_second), take_rows(donors[1], every_second)
        self.donors = donors


class _Coins:
    """Random choice of the entries to exchange, each with probability one half."""

    def __init__(self, rng: np.random.Generator, n: int, width: int):
        n_patterns = min(PATTERNS, max(16, 2**24 // width))
        self.patterns = rng.integers(2, size=(n_patterns, width), dtype=bool)
        self.of_row = rng.integers(len(self.patterns), size=n)

    def at(self, rows: Array, columns: Array) -> Array:
        """Whether each of some entries is exchanged; column -1 never is."""
        return np.asarray(self.patterns[self.of_row[rows], columns] & (columns != NO_ORIGIN))

    def by_row(self, columns: Array) -> Array:
        """Whether the entries of some columns are exchanged, for all rows."""
        chosen = self.patterns[:, columns] & (columns != NO_ORIGIN)
        return np.asarray(chosen[self.of_row])


class _Only(_Coins):
    """Exchanges entries of some columns only."""

    def __init__(self, rng: np.random.Generator, n: int, width: int, columns: Sequence[int]):
        super().__init__(rng, n, width)
        self.patterns &= np.isin(np.arange(width), list(columns))


def mixes_with(
    encode: Encode,
    origin: Sequence[int],
    pair: tuple[Table, Table],
    rows: Table,
    columns: Sequence[int],
    tile: int,
) -> bool:
    """Whether `mixes` holds for a tile (original, encoded) and some columns of given rows."""
    n, width = pair[0].shape
    rng = np.random.default_rng(tile)
    coins = _Only(rng, n, width, columns)
    partner = rng.integers(rows.shape[0], size=n)
    try:
        donors = rows, _encoded(encode, rows)
        return mixes(encode, np.asarray(origin), pair, donors, partner, coins)
    except _NotEncodedError:
        return False


def mixes(
    encode: Encode,
    origin: Array,
    pair: tuple[Table, Table],
    donors: tuple[Table, Table],
    partner: Array,
    coins: _Coins,
) -> bool:
    """Whether mixing rows before and after encoding gives the same.

    If two columns interact in a single row only, a mixture detects it when exactly one of the two
    is exchanged in that row: with probability one half per mixture.
    """
    before = _mixed(pair[0], take_rows(donors[0], partner), np.arange(pair[0].shape[1]), coins)
    expected = _mixed(pair[1], take_rows(donors[1], partner), origin, coins)
    actual = _encoded(encode, before)
    if actual.shape != expected.shape or sp.issparse(actual) != sp.issparse(expected):
        return False
    if sp.issparse(actual):
        apart = sp.csc_array(actual) - sp.csc_array(expected)
        apart.eliminate_zeros()
        # Few entries, if any, and these may differ by rounding only.
        rows, columns = apart.tocoo().coords
        entries = (_entries_at(matrix, rows, columns) for matrix in (actual, expected))
        return not _differ(*entries).any()
    if isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray):
        return not _differ(actual, expected).any()
    return not any(
        _differ(column_values(actual, c), column_values(expected, c)).any()
        for c in range(actual.shape[1])
    )


def _mixed(table: Table, donors: Table, columns: Array, coins: _Coins) -> Table:
    """Exchange entries with the donors; `columns` holds the original column of each column."""
    if is_frame(table):
        n = table.shape[0]
        both = nw.concat([table, donors])
        rows = np.arange(n) + n * coins.by_row(columns).T
        series = (both.get_column(name) for name in both.columns)
        return table.with_columns(*(one[at] for one, at in zip(series, rows, strict=True)))
    if isinstance(table, np.ndarray):
        return np.where(coins.by_row(columns), donors, table)
    return _entries(table, columns, coins, False) + _entries(donors, columns, coins, True)


def _entries(table: Table, columns: Array, coins: _Coins, exchanged: bool) -> Table:
    """The entries of a sparse matrix that are exchanged, or those that are not."""
    entries = table.tocoo()
    row, column = entries.coords
    kept = coins.at(row, columns[column]) == exchanged
    return sp.coo_array((entries.data[kept], (row[kept], column[kept])), table.shape).tocsc()


def _entries_at(matrix: Table, rows: Array, columns: Array) -> Array:
    entries = sp.csr_array(matrix)[rows, columns]
    return np.asarray(entries.toarray() if sp.issparse(entries) else entries)


def _probe_rows(table: Table) -> Array:
    """A few rows that show each column at its extremes, missing, and in between."""
    n = table.shape[0]
    rows = set(np.linspace(0, n - 1, min(n, 256)).astype(int).tolist())
    for position in range(table.shape[1]):
        values = column_values(table, position)
        missing = np.asarray(pd.isna(values))
        if missing.any():
            rows.add(int(missing.argmax()))
        if values.dtype != object and not missing.all():
            rows |= {int(np.nanargmin(values)), int(np.nanargmax(values))}
    return np.asarray(sorted(rows))


def _with_column(table: Table, donor: Table, position: int) -> Table:
    if is_frame(table):
        return table.with_columns(donor.get_column(donor.columns[position]))
    mixed = table.tolil() if not isinstance(table, np.ndarray) else table.copy()
    mixed[:, [position]] = donor[:, [position]]
    return mixed if isinstance(mixed, np.ndarray) else mixed.tocsc()


def _concatenate(first: Table, second: Table) -> Table:
    if is_frame(first):
        return nw.concat([first, second])
    if isinstance(first, np.ndarray):
        return np.concatenate([first, second])
    return sp.vstack([first, second], format="csc")


def _encoded(encode: Encode, table: Table) -> Table:
    try:
        return as_table(encode(to_native(table)))
    except Exception as error:
        # These rows are synthetic, so a failure is not an error in the user's data.
        raise _NotEncodedError from error


class _NotEncodedError(Exception):
    """Preprocessing failed on synthetic rows."""


def _dense(table: Table) -> Array:
    if not is_frame(table):
        return table if isinstance(table, np.ndarray) else np.asarray(table.toarray())
    return np.column_stack([column_values(table, c) for c in range(table.shape[1])])


def _differ(a: Array, b: Array) -> Array:
    """Whether elements differ by more than rounding; missing equals missing."""
    if a.dtype == object or b.dtype == object:
        return np.asarray((a != b) & ~(pd.isna(a) & pd.isna(b)))
    differ = np.asarray(a != b)
    if differ.any():
        a, b = (np.broadcast_to(values, differ.shape)[differ] for values in (a, b))
        differ[differ] = ~np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
    return differ
