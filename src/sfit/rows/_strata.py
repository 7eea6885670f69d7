"""Strata: rows that agree in some columns."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from sfit._array import Array
from sfit.rows._distinct import _codes, column_of, first_of
from sfit.rows._table import Table, column_values, is_frame, take_rows


class Strata(NamedTuple):
    """The strata of some rows."""

    codes: Array
    """The stratum of each row, numbered in order of appearance."""
    names: Array
    """A number for each stratum, the same in every tile and every process."""
    blocks: Array | None = None
    """If the rows are sorted and followed by moved copies (`BlockTile`), the block of each row."""


def strata_of(table: Table, columns: Sequence[int], most: int | None = None) -> Strata | None:
    """The rows that agree in all of these columns; None if there are more than `most` strata."""
    n_rows = table.shape[0]
    pieces = (column_of(table, column) for column in columns)
    codes = _codes(pieces, n_rows if most is None else most)
    if codes is None:
        return None
    first = take_rows(table, first_of(codes))
    values = [_exact_values(first, column) for column in columns]
    names = [_name(row) for row in zip(*values, strict=True)]
    # One value may have two forms, such as None and NaN.
    distinct = {name: number for number, name in enumerate(dict.fromkeys(names))}
    merged = np.array([distinct[name] for name in names], dtype=np.intp)
    return Strata(merged[codes], np.array(list(distinct), dtype=np.int64))


def _exact_values(table: Table, column: int) -> list[Any]:
    """The values of a column; whole numbers keep the digits that a float cannot hold."""
    if is_frame(table):
        series = column_of(table, column)
        if series.dtype.is_integer():
            return list(series.to_list())
    return list(column_values(table, column))


def _name(values: Sequence[Any]) -> int:
    """A number below 2**48, which a float can hold, from the values of a stratum."""
    texts = []
    for value in values:
        if not isinstance(value, int | float | np.number | np.bool_):
            texts.append("nan" if value is None else f"{type(value).__name__} {value!r}")
        elif np.isfinite(value) and value == int(value):
            texts.append(repr(int(value)))  # 1, 1.0 and True are one value, and so are 0.0 and -0.0
        else:
            texts.append(repr(float(value)))
    return int.from_bytes(blake2b("\0".join(texts).encode(), digest_size=6).digest(), "big")
