"""What is tested: names, the columns behind each, and the values they are frozen at."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from sfit._arguments import is_iterable
from sfit._contrast import Term
from sfit._rows import (
    TILE_ROWS,
    Table,
    as_table,
    column_names,
    column_numbers,
    column_values,
    is_frame,
    is_number,
    select_columns,
    to_native,
)
from sfit.exceptions import ArgumentError, DataError
from sfit.models import ModelView

Array = npt.NDArray[Any]

FOLDED_ROWS = 32
"""Rows that are put side by side where the ends of columns are looked for."""

NAMED_REFERENCES = ("mean", "median", "mode")


@dataclass(frozen=True)
class Features:
    """The features under test and how to freeze them."""

    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    """Columns of each feature in the masked space."""
    always_on: tuple[int, ...]
    """Masked-space columns that every side reveals (an explicit intercept)."""
    reference: Table
    """One row of the masked space: where hidden features are frozen."""
    space: str
    """"original", or "encoded" for a Pipeline that is masked behind its head."""
    origin: str
    """"given", or "test rows": whether the reference was taken from the rows under test."""
    missing: frozenset[int] = frozenset()
    """Masked-space columns with missing values: there, missing is a value of its own."""
    spans: tuple[tuple[float, float], ...] = ()
    """Smallest and largest value of each masked-space column; NaN where it holds no numbers."""

    def shown(self, term: Term) -> list[int]:
        """Masked-space columns that are as observed when `term` is revealed."""
        of_term = (column for feature in term for column in self.columns[feature])
        return sorted({*of_term, *self.always_on})

    def named(self, term: Iterable[int]) -> tuple[str, ...]:
        """The user's names of a term, in the order of the columns."""
        return tuple(self.names[feature] for feature in sorted(term))

    @property
    def everything(self) -> Term:
        """The term of all features."""
        return frozenset(range(len(self.names)))


def positions_of(
    wanted: Sequence[Any] | Any, labels: Sequence[str], argument: str, unnamed: bool = False
) -> list[int]:
    """Turn names (or positions, where the columns are `unnamed`) into positions."""
    if isinstance(wanted, str | int | np.integer) and not isinstance(wanted, bool):
        wanted = [wanted]
    if isinstance(wanted, Mapping | bytes) or not is_iterable(wanted):
        raise ArgumentError(f"{argument} must hold names of columns; got {wanted!r}.")
    index = {label: position for position, label in enumerate(labels)}
    found = []
    for item in wanted:
        whole = isinstance(item, int | np.integer) and not isinstance(item, bool)
        if unnamed and whole and 0 <= item < len(labels):
            found.append(int(item))
        elif str(item) in index:
            found.append(index[str(item)])
        else:
            raise ArgumentError(
                f"{argument} names {item!r}, which is not one of {_shorten(labels)}."
            )
    if len(set(found)) < len(found):
        raise ArgumentError(f"{argument} names a column more than once: {list(wanted)!r}.")
    return found


def group_columns(
    labels: Sequence[str],
    groups: Mapping[str, Sequence[Any]] | None,
    always_on: Sequence[int],
    unnamed: bool,
) -> dict[str, list[int]]:
    """Original columns of each feature, in the order in which they appear."""
    groups = {} if groups is None else groups
    if not isinstance(groups, Mapping):
        raise ArgumentError(f"groups must map a name to columns; got {type(groups).__name__}.")
    if len(set(map(str, groups))) < len(groups):
        raise ArgumentError(f"groups has two groups of the same name: {list(groups)!r}.")
    owner: dict[int, str] = {}
    for name, columns in groups.items():
        members = positions_of(columns, labels, f"groups[{name!r}]", unnamed)
        if not members:
            raise ArgumentError(f"groups[{name!r}] is empty.")
        for position in members:
            if position in always_on:
                raise ArgumentError(
                    f"groups[{name!r}] holds {labels[position]!r}, which is always_on as well."
                )
            if position in owner:
                raise ArgumentError(
                    f"groups {owner[position]!r} and {name!r} overlap in {labels[position]!r}."
                )
            owner[position] = str(name)
    features: dict[str, list[int]] = {}
    for position, label in enumerate(labels):
        if position in always_on:
            continue
        if label in map(str, groups) and owner.get(position) != label:
            raise ArgumentError(f"groups[{label!r}] has the name of a column that is not in it.")
        features.setdefault(owner.get(position, label), []).append(position)
    return features


def check_reference(reference: Any, labels: Sequence[str]) -> None:
    """Refuse what can be no reference, before any work is done."""
    if isinstance(reference, str):
        if reference not in NAMED_REFERENCES:
            allowed = ", ".join(map(repr, NAMED_REFERENCES))
            raise ArgumentError(
                f"reference must be {allowed}, a number, a mapping by column, a row of values or a "
                f"data set; got {reference!r}."
            )
    elif isinstance(reference, Mapping):
        positions_of(list(reference), labels, "reference")
    elif _is_scalar(reference):
        # Whole numbers of Python have no limit; and nan is not at most anything.
        if not abs(reference) <= sys.float_info.max:
            raise ArgumentError(f"reference must be finite; got {reference!r}.")
    elif _is_row(reference):
        if len(reference) != len(labels):
            raise ArgumentError(
                f"reference has {len(reference)} values, but there are {len(labels)} columns: "
                f"{_shorten(labels)}."
            )
    elif (shape := as_table(reference, "reference").shape)[0] == 0:
        raise DataError(f"reference is a data set without rows, of shape {tuple(shape)}.")


def has_no_names(reference: Any, labels: Sequence[str]) -> bool:
    """Whether values of a reference are told apart by their position alone."""
    if isinstance(reference, pd.Series):
        return not _goes_by_name(reference, labels)
    if _is_row(reference):
        return True
    return isinstance(reference, list | tuple | np.ndarray) or sp.issparse(reference)


def _goes_by_name(reference: Any, labels: Sequence[str]) -> bool:
    return isinstance(reference, pd.Series) and set(map(str, reference.index)) == set(labels)


def describe_reference(reference: Any) -> str:
    """A reference in a few words."""
    if isinstance(reference, str):
        return reference
    if _is_scalar(reference):
        return f"{reference:g}"
    if isinstance(reference, Mapping):
        return "by column"
    return "a row of values" if _is_row(reference) else "means of a data set"


Centre = Callable[[str, int], Any]
"""From "mean", "median" or "mode" and a column of the masked space to its centre."""


def reference_row(
    reference: Any,
    view: ModelView,
    table: Table,
    encoded: Table,
    labels: Sequence[str],
    origin: Sequence[int],
    centre: Centre | None = None,
) -> Table:
    """The row of the masked space that hidden features are frozen at.

    `table` holds the user's columns, `encoded` the masked space, and `origin` the original column
    behind each masked one. Named references are taken in the masked space; values that the user
    gives are in original units, and are encoded as a row of the data would be. `centre` is that of
    all rows, where the tables hold but some of them.
    """
    own = centre or partial(centre_of, encoded, view.categorical)
    columns, known, how, trusted = range(encoded.shape[1]), {}, "mean", centre is not None
    if isinstance(reference, str):
        how = reference
    elif _is_scalar(reference) or isinstance(reference, Mapping) or _is_row(reference):
        known = _given_values(reference, table, labels)
        if encoded is not table:
            # Even where the shapes agree: the head of a Pipeline may scale, and keep the names.
            example = as_table(view.encode(to_native(with_reference(table[:1], table, known))))
            known = {
                column: column_values(example, column)[0]
                for column, source in enumerate(origin)
                if source in known
            }
    else:
        data = _encoded_reference(reference, view, labels)
        own, trusted = partial(centre_of, data, view.categorical), True
        columns = range(data.shape[1])
    values = {c: known[c] if c in known else own(how, c) for c in columns}
    return with_reference(encoded[:1], encoded, values, trusted=trusted)


def survey(table: Table) -> tuple[tuple[tuple[float, float], ...], frozenset[int]]:
    """Smallest and largest value of each column, and the columns with missing values."""
    columns = range(table.shape[1])
    if isinstance(table, np.ndarray) and table.dtype != object:
        # NaN comes through, and tells of missing values.
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
    return tuple(spans), missing


def _along_columns(end: np.ufunc, table: Array) -> Array:
    """Smallest or largest value of each column.

    NumPy goes down the columns a row at a time: several rows side by side are a longer one.
    """
    n, width = table.shape
    if n < FOLDED_ROWS or not table.flags.c_contiguous:
        return np.asarray(end.reduce(table, axis=0))
    whole = n // FOLDED_ROWS * FOLDED_ROWS
    folded = end.reduce(table[:whole].reshape(-1, FOLDED_ROWS * width), axis=0)
    return np.asarray(end.reduce(np.vstack([folded.reshape(-1, width), table[whole:]]), axis=0))


def constant_features(features: Features, encoded: Table) -> tuple[list[str], list[str]]:
    """Names of features that never change: those that stand at their reference, and the others."""
    at_reference: list[str] = []
    elsewhere: list[str] = []
    for name, columns in zip(features.names, features.columns, strict=True):
        if all(_is_constant(features, encoded, column) for column in columns):
            stands = all(
                _stands_at(
                    column_values(features.reference, column)[0], column_values(encoded, column)
                )
                for column in columns
            )
            (at_reference if stands else elsewhere).append(name)
    return at_reference, elsewhere


def _is_constant(features: Features, encoded: Table, column: int) -> bool:
    low, high = features.spans[column]
    if not np.isnan(low):
        return low == high and column not in features.missing
    values = column_values(encoded, column)
    return _stands_at(values[0], values)


def match_reference(encoded: Table, reference: Table) -> Table:
    """Give a frame the dtypes of its reference: the mean of whole numbers is a fraction."""
    if not is_frame(encoded):
        return encoded
    own, wanted = encoded.schema, reference.schema
    changed = [nw.col(name).cast(wanted[name]) for name in own if own[name] != wanted[name]]
    return encoded.with_columns(*changed) if changed else encoded


def _stands_at(value: Any, column: Array) -> bool:
    """Whether all of a column equals a value; missing is a value. Most columns deny it early."""
    for some in (column[:256], column):
        if pd.isna(value):
            equal = pd.isna(some)
        elif some.dtype.kind == "f":
            # The mean of equal numbers may differ from them in the last bits.
            equal = np.isclose(some, value, rtol=64 * np.finfo(some.dtype).eps, atol=0)
        else:
            equal = some == value
        if not np.all(equal):
            return False
    return True


def _is_scalar(reference: Any) -> bool:
    return isinstance(reference, int | float | np.number) and not isinstance(reference, bool)


def _is_row(reference: Any) -> bool:
    if isinstance(reference, list | tuple):
        return all(np.ndim(value) == 0 for value in reference)
    return getattr(reference, "ndim", None) == 1 and not sp.issparse(reference)


def _shorten(labels: Sequence[str]) -> str:
    shown = ", ".join(map(repr, labels[:8]))
    return f"{shown}, ... ({len(labels)} columns)" if len(labels) > 8 else shown


def _given_values(reference: Any, table: Table, labels: Sequence[str]) -> dict[int, Any]:
    """Values in original units, by original column."""
    if _goes_by_name(reference, labels):
        reference = dict(reference)
    if isinstance(reference, Mapping):
        positions = positions_of(list(reference), labels, "reference")
        return dict(zip(positions, reference.values(), strict=True))
    if _is_scalar(reference):
        return {
            position: reference
            for position in range(len(labels))
            if column_numbers(table, position) is not None
        }
    return dict(enumerate(np.asarray(reference, dtype=object).tolist()))


def _encoded_reference(reference: Any, view: ModelView, labels: Sequence[str]) -> Table:
    data = as_table(reference, "reference")
    names = column_names(data)
    if names is not None:
        positions = positions_of(list(labels), names, "the data set passed as reference must hold")
        data = select_columns(data, positions)
    elif data.shape[1] != len(labels):
        raise ArgumentError(
            f"reference has {data.shape[1]} columns, but the model is tested on {len(labels)}: "
            f"{_shorten(labels)}."
        )
    return as_table(view.encode(to_native(data)))


def centre_of(data: Table, categorical: frozenset[int], how: str, position: int) -> Any:
    """The centre of a column: its mode where it holds no numbers."""
    numeric = None if position in categorical else column_numbers(data, position)
    if numeric is None or how == "mode":
        return _mode(column_values(data, position))
    if np.isnan(numeric).all():
        return float("nan")
    if how == "median":
        return float(np.nanmedian(numeric))
    starts = range(0, len(numeric), TILE_ROWS)
    return mean_of([tile_sum(numeric[start : start + TILE_ROWS]) for start in starts])


def tile_sum(column: Array) -> tuple[float, int]:
    """Sum and number of the values that are not missing."""
    # In one piece, so that the order of summation does not depend on how the table is stored.
    column = np.ascontiguousarray(column)
    with np.errstate(over="ignore", invalid="ignore"):  # a reference must be finite: checked later
        total = float(column.sum(dtype=np.float64))
        if np.isnan(total) and (missing := np.isnan(column)).any():
            column = column[~missing]
            total = float(column.sum(dtype=np.float64))
    return total, len(column)


def mean_of(sums: Iterable[tuple[float, int]]) -> float:
    """Mean from sums by tile, in order: it does not depend on how the rows are stored."""
    total, count = 0.0, 0
    for of_tile, n in sums:
        total += of_tile
        count += n
    return total / count if count else float("nan")


def _mode(column: Array) -> Any:
    counts = pd.Series(column).value_counts(sort=False)
    return mode_of(counts) if len(counts) else column[0]


def mode_of(counts: pd.Series[int]) -> Any:
    """The most frequent value; of several, the first in sorted order."""
    candidates: list[Any] = counts.index[counts == counts.max()].tolist()
    if not all(isinstance(candidate, Hashable) for candidate in candidates):
        raise DataError(
            f"X holds values that cannot be compared, like {candidates[0]!r}: make columns of "
            "numbers or words of them, or leave the column out."
        )
    try:
        return min(candidates)
    except TypeError:
        return min(candidates, key=str)


def with_reference(
    row: Table, table: Table, values: Mapping[int, Any], *, trusted: bool = False
) -> Table:
    """A table of one row with some values replaced; dtypes give way where they must.

    `trusted` words come from a data set: they may be new to these rows, and are no misspelling.
    """
    if not is_frame(row):
        changed = row.copy() if isinstance(row, np.ndarray) else row.toarray()
        for position, value in values.items():
            try:
                changed[0, position] = value
            except (TypeError, ValueError) as error:
                raise ArgumentError(
                    f"reference for column {position} must be a number; got {value!r}."
                ) from error
        return changed
    series = []
    schema = table.schema
    for position, value in values.items():
        name = table.columns[position]
        dtype = schema[name]
        if is_number(dtype) or column_numbers(table, position) is not None:
            try:
                number = float(value)
            except (TypeError, ValueError) as error:
                raise ArgumentError(
                    f"reference for column {name!r} must be a number; got {value!r}."
                ) from error
            if dtype == nw.Float32:
                number = float(np.float32(number))
            whole = dtype.is_integer() and number.is_integer()
            kept = dtype if whole or dtype.is_float() else nw.Float64()
            # Written into a value of the column itself: its native type stays (nullable, say).
            own = table.get_column(name)[[0]].cast(kept)
            written = [int(number) if whole else number]
            series.append(
                own.scatter(0, nw.new_series(name, written, kept, backend=own.implementation))
            )
        else:
            series.append(_observed(table, position, value, trusted))
    return row.with_columns(*series) if series else row


def _observed(table: Table, position: int, value: Any, trusted: bool) -> Any:
    """A column of one row that holds `value`, taken from the data so that its type is the same."""
    column = column_values(table, position)
    where = pd.isna(column) if pd.isna(value) else column == value
    series = table.get_column(table.columns[position])
    if np.any(where):
        return series[[int(np.argmax(where))]]
    known = series.to_native()
    if isinstance(known, pd.Series) and isinstance(known.dtype, pd.CategoricalDtype):
        # A category that the model may well know, though it does not occur in these rows.
        if value in known.dtype.categories:
            made = pd.Series([value], name=known.name, dtype=known.dtype)
            return nw.from_native(made, series_only=True)
    elif trusted and series.dtype == nw.String and isinstance(value, str):
        return nw.new_series(series.name, [value], series.dtype, backend=table.implementation)
    raise DataError(
        f"reference for column {table.columns[position]!r} must be one of the values that occur in "
        f"X; got {value!r}."
    )
