"""Background rows, drawn from the data of an averaged reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import narwhals.stable.v2 as nw
import numpy as np

from sfit._array import Array
from sfit._average import Average
from sfit._features import positions_in, shorten
from sfit.exceptions import ArgumentError, DataError
from sfit.rows import Table, as_table, column_names, select_columns, take_rows, to_native
from sfit.rows._stored import Store, open_store, raw_tiles

STREAM = 2
"""Separates the draws of background rows from other uses of the seed."""


def draw_background(average: Average, labels: Sequence[str], seed: int) -> tuple[Average, bool]:
    """The same reference with only its drawn rows, and whether the draw left any rows out.

    Only the columns of the model are kept. The draw depends on the seed and the number of rows, not
    on how the rows are stored. Drawing again from the result gives the same rows.
    """
    try:
        store = open_store(average.data)
        if store is None:
            table = _matched(as_table(average.data, "its data"), labels)
            rows = _drawn(n := table.shape[0], average.n_rows, seed)
            drawn = take_rows(table, rows)
        else:
            rows = _drawn(n := len(store), average.n_rows, seed)
            drawn = _read(store, labels, rows)
    except (ArgumentError, DataError) as error:
        # The message speaks of X, which alone could mean the rows under test.
        raise type(error)(f"reference=Average(...): {error}") from error
    return replace(average, data=to_native(drawn)), len(rows) < n


def _drawn(n: int, n_rows: int, seed: int) -> Array:
    """Sorted numbers of the drawn rows."""
    if n == 0:
        raise DataError("its data have no rows.")
    if n <= n_rows:
        return np.arange(n)
    return np.sort(np.random.default_rng([seed, STREAM]).choice(n, n_rows, replace=False))


def _matched(table: Table, labels: Sequence[str]) -> Table:
    """The columns of the model, by name if the table has names."""
    names = column_names(table)
    if names is not None:
        return select_columns(table, _positions(names, labels))
    if table.shape[1] != len(labels):
        raise ArgumentError(
            f"its data have {table.shape[1]} columns, but the model uses {len(labels)}: "
            f"{shorten(labels)}."
        )
    return table


def _positions(names: Sequence[str], labels: Sequence[str]) -> list[int]:
    return positions_in(names, labels, "its data", " of the model: add them.")


def _read(store: Store, labels: Sequence[str], rows: Array) -> Table:
    """Some rows of data that are read piece by piece."""
    _positions(store.names, labels)
    first, size = int(rows[0]), len(rows)
    tables = [table for _, table in raw_tiles(store, labels, first, size, rows)]
    return select_columns(
        tables[0] if len(tables) == 1 else nw.concat(tables),
        _positions(column_names(tables[0]) or (), labels),
    )
