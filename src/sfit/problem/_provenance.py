"""Which encoded columns come from which original one: found by trying, not by reading pipelines.

Change one original column, see what moves. If every encoded column moves with one original only,
the two spaces can be masked interchangeably, and masking after encoding is far cheaper.

The few rows that are tried cannot show everything: two rare dummies may meet in one row of a
million. So all rows are mixed with others, column by column at random, and encoded: to mix before
and after must give the same. Tiles are looked at one by one, in memory as from files, and with the
same mixtures: both find the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from sfit.rows import Table, as_table, column_values, is_frame, take_rows, to_native

Array = npt.NDArray[Any]
Encode = Callable[[Any], Any]

NO_ORIGIN = -1
"""An encoded column that never changes over the rows at hand."""

PATTERNS = 1_024
"""Random sets of columns that are exchanged, fewer of very many columns: each row draws one."""

MIXED_ROWS = 512
"""Tiles of fewer rows are mixed several times."""

DONORS = 4_096
"""Rows of earlier tiles that are kept to be mixed with, at most."""


class Provenance:
    """The original column behind each encoded one, gathered a tile at a time."""

    def __init__(self, encode: Encode):
        self.encode = encode
        self.unclear = False
        """Whether some encoded column depends on several original ones, or it cannot be told."""
        self.origin: Array = np.zeros(0, dtype=int)
        self.start: Any = None
        """The first row, and how it is encoded."""
        self.donors: Any = None
        """Rows of all tiles so far, and how they are encoded."""
        self.n_tiles = 0

    @property
    def found(self) -> tuple[int, ...] | None:
        """The origin of each encoded column; None where it is unclear, or nothing ever moved."""
        known = not self.unclear and (self.origin != NO_ORIGIN).any()
        return tuple(map(int, self.origin)) if known else None

    def add(self, table: Table, encoded: Table) -> None:
        """Take a tile of the original rows into account, and what is made of it."""
        if self.unclear:
            return
        try:
            self.unclear = not self._agrees(table, encoded)
        except _NotEncodedError:
            self.unclear = True

    def _agrees(self, table: Table, encoded: Table) -> bool:
        rng = np.random.default_rng(self.n_tiles)
        self.n_tiles += 1
        if self.start is None:
            self.start = table[:1], encoded[:1]
            self.origin = np.full(encoded.shape[1], NO_ORIGIN)
            if not self._probe(take_rows(table, _telling_rows(table))):
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
        """See what moves as one original column after another is shifted over some rows."""
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
        telling = take_rows(table, np.unique(list(rows.values())))
        clear = self._probe(_concatenate(self.start[0], telling))
        return clear and bool((self.origin[list(rows)] != NO_ORIGIN).all())

    def _unassigned(self, encoded: Table) -> Sequence[int]:
        columns = np.flatnonzero(self.origin == NO_ORIGIN)
        if sp.issparse(encoded) and len(columns):
            # Nearly all dummies are zero in the first row, and most of these in the whole tile.
            stored = np.diff(encoded.tocsc().indptr) + np.diff(self.start[1].tocsc().indptr) > 0
            columns = columns[stored[columns]]
        return columns.tolist()

    def _keep_donors(self, table: Table, encoded: Table, rng: np.random.Generator) -> None:
        n = table.shape[0]
        rows = np.sort(rng.choice(n, size=min(n, 16 if self.donors else 256), replace=False))
        own = take_rows(table, rows), take_rows(encoded, rows)
        if self.donors is not None:
            own = _concatenate(self.donors[0], own[0]), _concatenate(self.donors[1], own[1])
        if own[0].shape[0] > DONORS:
            every_second = np.arange(0, own[0].shape[0], 2)
            own = take_rows(own[0], every_second), take_rows(own[1], every_second)
        self.donors = own


class _Coins:
    """Which columns of which rows are exchanged: each with probability one half."""

    def __init__(self, rng: np.random.Generator, n: int, width: int):
        n_patterns = min(PATTERNS, max(16, 2**24 // width))
        self.patterns = rng.integers(2, size=(n_patterns, width), dtype=bool)
        self.of_row = rng.integers(len(self.patterns), size=n)

    def at(self, rows: Array, columns: Array) -> Array:
        """For some entries; a column of number -1 is never exchanged."""
        return np.asarray(self.patterns[self.of_row[rows], columns] & (columns != NO_ORIGIN))

    def by_row(self, columns: Array) -> Array:
        """For all rows and some columns."""
        chosen = self.patterns[:, columns] & (columns != NO_ORIGIN)
        return np.asarray(chosen[self.of_row])


class _Only(_Coins):
    """Coins for some columns; all others stay."""

    def __init__(self, rng: np.random.Generator, n: int, width: int, columns: Sequence[int]):
        super().__init__(rng, n, width)
        self.patterns &= np.isin(np.arange(width), list(columns))


def mixes_with(
    encode: Encode,
    origin: Sequence[int],
    own: tuple[Table, Table],
    row: Table,
    columns: Sequence[int],
    tile: int,
) -> bool:
    """Whether a tile, original and encoded, mixes freely with some columns of one row."""
    n, width = own[0].shape
    coins = _Only(np.random.default_rng(tile), n, width, columns)
    try:
        donor = row, _encoded(encode, row)
        return mixes(encode, np.asarray(origin), own, donor, np.zeros(n, dtype=np.intp), coins)
    except _NotEncodedError:
        return False


def mixes(
    encode: Encode,
    origin: Array,
    own: tuple[Table, Table],
    donors: tuple[Table, Table],
    partner: Array,
    coins: _Coins,
) -> bool:
    """Whether rows mixed and encoded are those encoded and mixed.

    A row in which two columns meet that do so nowhere else is noticed if one of them is exchanged
    and the other is not: half of the time, in each of the mixtures that it is in.
    """
    before = _mixed(own[0], take_rows(donors[0], partner), np.arange(own[0].shape[1]), coins)
    expected = _mixed(own[1], take_rows(donors[1], partner), origin, coins)
    found = _encoded(encode, before)
    if found.shape != expected.shape or sp.issparse(found) != sp.issparse(expected):
        return False
    if sp.issparse(found):
        apart = sp.csc_array(found) - sp.csc_array(expected)
        apart.eliminate_zeros()
        # Few entries, if any: what remains is rounding.
        rows, columns = apart.tocoo().coords
        some = (_entries_at(matrix, rows, columns) for matrix in (found, expected))
        return not _differ(*some).any()
    if isinstance(found, np.ndarray) and isinstance(expected, np.ndarray):
        return not _differ(found, expected).any()
    return not any(
        _differ(column_values(found, c), column_values(expected, c)).any()
        for c in range(found.shape[1])
    )


def _mixed(table: Table, donors: Table, columns: Array, coins: _Coins) -> Table:
    """Rows with some entries exchanged; `columns` are those that the coins are tossed for."""
    if is_frame(table):
        n = table.shape[0]
        both = nw.concat([table, donors])
        rows = np.arange(n) + n * coins.by_row(columns).T
        series = (both.get_column(name) for name in both.columns)
        return table.with_columns(*(own[at] for own, at in zip(series, rows, strict=True)))
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


def _telling_rows(table: Table) -> Array:
    """A few rows that show each column at its ends, missing, and in between."""
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
        # The user has no such rows: that these fail is no fault of the data.
        raise _NotEncodedError from error


class _NotEncodedError(Exception):
    """Preprocessing failed on rows that were put together for a trial."""


def _dense(table: Table) -> Array:
    if not is_frame(table):
        return table if isinstance(table, np.ndarray) else np.asarray(table.toarray())
    return np.column_stack([column_values(table, c) for c in range(table.shape[1])])


def _differ(a: Array, b: Array) -> Array:
    """Elementwise difference beyond rounding; missing equals missing."""
    if a.dtype == object or b.dtype == object:
        return np.asarray((a != b) & ~(pd.isna(a) & pd.isna(b)))
    differ = np.asarray(a != b)
    if differ.any():
        a, b = (np.broadcast_to(values, differ.shape)[differ] for values in (a, b))
        differ[differ] = ~np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
    return differ
