"""Which rows were audited: their size, period, target, missing values and fingerprint, as text."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from sfit._array import Array
from sfit._audit._records import DataFacts, Pairs
from sfit._text import number, printable, share_text
from sfit.rows import (
    Table,
    as_table,
    as_vector,
    column_names,
    column_values,
    hash_table,
    is_frame,
    select_columns,
    to_native,
)
from sfit.sample._columns import class_codes, column_or_vector

MOST_CLASSES = 10
"""Classes whose share is listed; the others are counted together."""


def data_facts(
    X: Any,
    y: Any,
    *,
    labels: Sequence[str] | None = None,
    positions: Sequence[int] | None = None,
    classes: Sequence[Any] | None = None,
    name: str = "",
    period: str | None = None,
) -> DataFacts:
    """The size, period, target, missing values and fingerprint of some rows.

    `labels` names the columns that the model uses, by default all of them. `positions` tells where
    they stand in X; by default they are looked up by name, and count from 0 in X without names. `y`
    holds the target, as the user passed it, or names its column; None: only the columns count.
    `classes` are the labels of a classifier in the order of its probabilities, None for regression.
    """
    table = as_table(X)
    names = column_names(table) or tuple(f"x{position}" for position in range(table.shape[1]))
    labels = names if labels is None else tuple(labels)
    if positions is None:
        positions = [names.index(label) for label in labels] if is_frame(table) else None
    positions = range(len(labels)) if positions is None else positions
    target, values = _target(y, table, names)
    counts = [int(pd.isna(column_values(table, position)).sum()) for position in positions]
    missing = [pair for pair in zip(labels, counts, strict=True) if pair[1]]
    missing.sort(key=lambda pair: -pair[1])
    return DataFacts(
        name=name,
        period=_period(table) if period is None else period,
        n_rows=table.shape[0],
        n_columns=len(labels),
        target=target,
        target_distribution=_quantiles(values) if classes is None else _shares(values, classes),
        n_missing=sum(counts),
        missing_by_column=tuple((label, f"{count:,}") for label, count in missing),
        fingerprint=_fingerprint(table, labels, positions, values),
    )


def _target(y: Any, table: Table, names: Sequence[str]) -> tuple[str, Array]:
    """The name of the target, and its values; both are empty without a target."""
    if y is None:
        return "", np.empty(0)
    if isinstance(y, str):
        return y, column_or_vector(y, table, "y")[0]
    columns = getattr(y, "columns", None)
    name = columns[0] if columns is not None and len(columns) == 1 else getattr(y, "name", None)
    values = as_vector(y, "y", table.shape[0])
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    return "y" if name is None or name == "" else str(name), values


def _shares(values: Array, classes: Sequence[Any]) -> Pairs:
    """The share and the number of rows of each class; small classes beyond a limit together."""
    counts = np.bincount(class_codes(np.asarray(classes), values), minlength=len(classes))
    largest = np.sort(np.argsort(-counts, kind="stable")[:MOST_CLASSES])
    shown = [(str(classes[code]), int(counts[code])) for code in largest]
    n_others = len(classes) - len(shown)
    if n_others:
        rest = len(values) - sum(count for _, count in shown)
        shown.append((f"{n_others} other class{'es' if n_others > 1 else ''}", rest))
    n = max(len(values), 1)
    return tuple(
        (label, f"{share_text(count / n)} ({count:,} row{'' if count == 1 else 's'})")
        for label, count in shown
    )


def _quantiles(values: Array) -> Pairs:
    """Quantiles and the mean of a target; one line per output if there are several."""
    if not len(values):
        return ()
    if values.ndim == 2:
        lines = enumerate(values.T, start=1)
        return tuple(
            (f"output {k}", ", ".join(f"{label} {text}" for label, text in _quantiles(column)))
            for k, column in lines
        )
    column = np.asarray(values, dtype=np.float64)
    least, low, middle, high, largest = np.quantile(column, [0, 0.05, 0.5, 0.95, 1])
    found = {"minimum": least, "5 % quantile": low, "median": middle, "mean": column.mean()}
    found |= {"95 % quantile": high, "maximum": largest}
    return tuple((label, number(float(value))) for label, value in found.items())


def _period(table: Table) -> str:
    """The first and the last date, from the index or from the first column of dates."""
    if not is_frame(table):
        return ""
    native = to_native(table)
    index = getattr(native, "index", None)
    if isinstance(index, pd.DatetimeIndex | pd.PeriodIndex):
        return _dates(index.min(), index.max())
    for name, dtype in table.schema.items():
        if dtype in (nw.Datetime, nw.Date):
            column = table.get_column(name)
            dates = _dates(column.min(), column.max())
            return dates and f"{dates} (column {printable(name)})"
    return ""


def _dates(first: Any, last: Any) -> str:
    """Two dates, without their times; empty if there are none."""
    return "" if pd.isna(first) else f"{str(first)[:10]} to {str(last)[:10]}"


def _fingerprint(
    table: Table, labels: Sequence[str], positions: Sequence[int], target: Array
) -> str:
    """A digest of the rows and of the target, one column at a time to save memory."""
    digest = blake2b(digest_size=16)
    digest.update(repr((table.shape[0], list(labels))).encode())
    for position in positions:
        hash_table(digest, select_columns(table, [position]))
    hash_table(digest, target)
    return digest.hexdigest()
