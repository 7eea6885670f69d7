"""Which encoded columns come from which original one: found by probing, not by reading pipelines.

Change one original column, see what moves. If every encoded column moves with one original only,
the two spaces can be masked interchangeably, and masking after encoding is far cheaper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfit.rows import Table, as_table, column_values, is_frame, take_rows, to_native

Array = npt.NDArray[Any]
Encode = Callable[[Any], Any]

NO_ORIGIN = -1
"""An encoded column that never changes over the rows at hand."""


def origins(encode: Encode, table: Table, encoded: Table) -> tuple[int, ...] | None:
    """Original column behind each encoded one; None when some depend on several, or it is unclear.

    `encoded` is `encode` of the whole `table`.
    """
    rows = _telling_rows(table)
    for _ in range(3):
        moved = _probe(encode, table, rows)
        if moved is None or (moved.sum(axis=0) > 1).any():
            return None
        origin = np.where(moved.any(axis=0), moved.argmax(axis=0), NO_ORIGIN)
        unseen = _rows_where_unassigned_columns_vary(encoded, np.flatnonzero(origin == NO_ORIGIN))
        if not len(unseen):
            break
        rows = np.unique(np.concatenate([rows, unseen]))
    else:
        return None
    alone = _depends_on_its_origin_alone(table, encoded, origin)
    return tuple(map(int, origin)) if alone and _mixes_freely(encode, table, origin) else None


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


def _probe(encode: Encode, table: Table, rows: Array) -> Array | None:
    """moved[j, c]: whether encoded column c moves when original column j is shifted."""
    sample = take_rows(table, rows)
    before = _dense(encode(to_native(sample)))
    moved = np.zeros((table.shape[1], before.shape[1]), dtype=bool)
    shifted = take_rows(sample, np.roll(np.arange(len(rows)), 1))
    for position in range(table.shape[1]):
        after = _dense(encode(to_native(_with_column(sample, shifted, position))))
        if after.shape != before.shape:
            return None
        moved[position] = _differ(before, after).any(axis=0)
    return moved


def _rows_where_unassigned_columns_vary(encoded: Table, columns: Array) -> Array:
    rows: list[int] = []
    for position in columns:
        values = column_values(encoded, int(position))
        changed = _differ(values[:1], values)
        if changed.any():
            rows += [0, int(changed.argmax())]
    return np.asarray(rows, dtype=int)


def _depends_on_its_origin_alone(table: Table, encoded: Table, origin: Array) -> bool:
    """Check on all rows that equal originals are encoded equally.

    The product of two rare dummies may have moved with but one of them over the few rows probed.
    """
    for source in np.unique(origin[origin != NO_ORIGIN]):
        codes, found = pd.factorize(column_values(table, int(source)), use_na_sentinel=False)
        first = np.full(len(found), len(codes))
        np.minimum.at(first, codes, np.arange(len(codes)))
        for column in np.flatnonzero(origin == source):
            values = column_values(encoded, int(column))
            if _differ(values, values[first[codes]]).any():
                return False
    return True


def _mixes_freely(encode: Encode, table: Table, origin: Array) -> bool:
    """Check on random mixtures of two rows that encoding and mixing can change places."""
    rng = np.random.default_rng(0)
    m = min(table.shape[0], 64)
    first = take_rows(table, rng.integers(table.shape[0], size=m))
    second = take_rows(table, rng.integers(table.shape[0], size=m))
    encoded_first, encoded_second = (_dense(encode(to_native(part))) for part in (first, second))
    for _ in range(8):
        swapped = np.flatnonzero(rng.uniform(size=table.shape[1]) < 0.5)
        mixed = first
        for position in swapped:
            mixed = _with_column(mixed, second, int(position))
        expected = np.where(np.isin(origin, swapped), encoded_second, encoded_first)
        if _differ(_dense(encode(to_native(mixed))), expected).any():
            return False
    return True


def _with_column(table: Table, donor: Table, position: int) -> Table:
    if is_frame(table):
        return table.with_columns(donor.get_column(donor.columns[position]))
    mixed = table.tolil() if not isinstance(table, np.ndarray) else table.copy()
    mixed[:, [position]] = donor[:, [position]]
    return mixed if isinstance(mixed, np.ndarray) else mixed.tocsc()


def _dense(encoded: Any) -> Array:
    table = as_table(encoded)
    return np.column_stack([column_values(table, c) for c in range(table.shape[1])])


def _differ(a: Array, b: Array) -> Array:
    """Elementwise difference beyond rounding; missing equals missing."""
    if a.dtype == object or b.dtype == object:
        return np.asarray((a != b) & ~(pd.isna(a) & pd.isna(b)))
    return ~np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)
