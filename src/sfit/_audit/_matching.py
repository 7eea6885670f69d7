"""The columns of held-out and training rows, made comparable.

Files of different formats store the same value in different types. Numbers are compared as doubles,
rounded to singles if one side holds singles; anything else as text. Missing values are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfit._array import Array
from sfit.exceptions import DataError
from sfit.rows import Table, as_table, column_names, column_numbers, column_values

MISSING = "\0missing"
"""The text of a missing word."""


@dataclass(frozen=True)
class MatchedColumn:
    """One column on both sides: doubles with NaN for missing, or texts with `MISSING`."""

    label: str
    held: Array
    training: Array
    is_numeric: bool


def matched_columns(
    X: Any, train: Any, labels: Sequence[str], positions: Sequence[int] | None = None
) -> Iterator[MatchedColumn]:
    """The columns that the model uses, one at a time.

    A table with column names is searched for the `labels`; in one without, they stand at
    `positions`, by default 0, 1, ...
    """
    held, training = as_table(X), as_table(train, "train")
    positions = range(len(labels)) if positions is None else positions
    for label, at_held, at_training in zip(
        labels,
        _positions(held, labels, positions, "X"),
        _positions(training, labels, positions, "train"),
        strict=True,
    ):
        first, second = column_numbers(held, at_held), column_numbers(training, at_training)
        if first is not None and second is not None:
            single = np.dtype(np.float32) in (first.dtype, second.dtype)
            yield MatchedColumn(label, _doubles(first, single), _doubles(second, single), True)
        else:
            words = column_values(held, at_held), column_values(training, at_training)
            yield MatchedColumn(label, _texts(words[0]), _texts(words[1]), False)


def _positions(
    table: Table, labels: Sequence[str], positions: Sequence[int], argument: str
) -> Sequence[int]:
    names = column_names(table)
    if names is None:
        if max(positions, default=-1) >= table.shape[1]:
            raise DataError(
                f"{argument} has {table.shape[1]} columns, but the model uses {len(labels)}: pass "
                "rows with the same columns as X."
            )
        return positions
    places = {name: place for place, name in enumerate(names)}
    missing = [label for label in labels if label not in places]
    if missing:
        raise DataError(
            f"{argument} lacks {len(missing)} of the columns that the model uses: {missing[:8]!r}."
        )
    return [places[label] for label in labels]


def _doubles(column: Array, single: bool) -> Array:
    column = column.astype(np.float32) if single else column
    return np.asarray(column, dtype=np.float64)


def _texts(values: Array) -> Array:
    codes, distinct = pd.factorize(values)
    # The code of a missing value is -1, which selects the last text.
    texts = np.array([*map(_text, distinct), MISSING], dtype=object)
    return texts[codes]


def _text(value: Any) -> str:
    """A value as text; whole numbers without decimals, dates without midnight."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value).removesuffix(" 00:00:00")
