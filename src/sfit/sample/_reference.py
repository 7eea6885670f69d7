"""The reference: the values of hidden features, one row to freeze them at or several to average."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp

from sfit._arguments import as_number, shown
from sfit._array import Array
from sfit._average import Average
from sfit._features import positions_in, positions_of, shorten
from sfit.exceptions import ArgumentError, DataError
from sfit.models import ModelView
from sfit.rows import (
    Table,
    as_table,
    as_vector,
    column_names,
    column_numbers,
    column_values,
    identity,
    is_frame,
    is_number,
    select_columns,
    take_rows,
    to_native,
)
from sfit.rows._survey import centre_of
from sfit.rows._tiles import TILE_ROWS

Values = Sequence[Any] | Array
"""Values of a column, one for each background row."""

NAMED_REFERENCES = ("mean", "median", "mode")


def check_reference(reference: Any, labels: Sequence[str]) -> None:
    """Refuse an invalid reference before any work is done; `draw_background` checks averages."""
    if isinstance(reference, Average):
        return
    if isinstance(reference, str):
        if reference not in NAMED_REFERENCES:
            allowed = ", ".join(map(repr, NAMED_REFERENCES))
            raise ArgumentError(
                f"reference must be {allowed}, a number, a mapping by column, a row of values, a "
                f"data set or sfit.Average(data); got {reference!r}."
            )
    elif isinstance(reference, Mapping):
        positions_of(list(reference), labels, "reference")
    elif _is_scalar(reference):
        if not math.isfinite(as_number(reference) or 0.0):
            raise ArgumentError(f"reference must be finite; got {shown(reference)}.")
    elif _is_row(reference):
        if len(reference) != len(labels):
            raise ArgumentError(
                f"reference has {len(reference)} values, but there are {len(labels)} columns: "
                f"{shorten(labels)}."
            )
    elif (shape := as_table(reference, "reference").shape)[0] == 0:
        raise DataError(f"reference is a data set without rows, of shape {tuple(shape)}.")


def takes_own_values(reference: Any, n_columns: int, X: Any) -> bool:
    """Whether some reference values are computed from the rows under test."""
    if isinstance(reference, Mapping):
        return len(reference) < n_columns
    if isinstance(reference, Average):
        return reference.data is X
    return isinstance(reference, str)


def has_no_names(reference: Any, labels: Sequence[str]) -> bool:
    """Whether the values of a reference are identified by position only."""
    if isinstance(reference, Average):
        return has_no_names(reference.data, labels)
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
    if isinstance(reference, Average):
        n_rows = as_table(reference.data).shape[0]
        return f"average of {n_rows} row{'' if n_rows == 1 else 's'} of the given data"
    if isinstance(reference, Mapping):
        return "by column"
    return "a row of values" if _is_row(reference) else "means of a data set"


Centre = Callable[[str, int], Any]
"""Returns the "mean", "median" or "mode" of a column of the masked space."""


def reference_rows(
    reference: Any,
    view: ModelView,
    table: Table,
    encoded: Table,
    labels: Sequence[str],
    origin: Sequence[int],
    centre: Centre | None = None,
    tile_rows: int = TILE_ROWS,
) -> Table:
    """The background rows of the masked space; one row, unless the reference is an average.

    `table` holds the user's columns, `encoded` the masked space, and `origin` the original column
    behind each masked one. Named references are computed in the masked space. Values given by the
    user are in original units and are encoded like rows of the data. If the tables hold only some
    of the rows, `centre` returns the centres over all of them. Means add up sums of `tile_rows`.
    """
    centre_by = centre or partial(centre_of, encoded, view.categorical, tile_rows=tile_rows)
    columns, how, trusted = range(encoded.shape[1]), "mean", centre is not None
    given: dict[int, Values] = {}
    if isinstance(reference, str):
        how = reference
    elif _holds_values(reference):
        trusted |= isinstance(reference, Average)
        given = _given_values(reference, table, labels)
        if encoded is not table:
            # Even if the shapes agree: the head of a Pipeline may scale and keep the names.
            rows = made_rows(table, given, trusted=isinstance(reference, Average))
            example = as_table(view.encode(to_native(rows)))
            given = {
                column: column_values(example, column)
                for column, source in enumerate(origin)
                if source in given or isinstance(reference, Average)
            }
    else:
        data = _encoded_reference(reference, view, labels)
        centre_by, trusted = partial(centre_of, data, view.categorical, tile_rows=tile_rows), True
        columns = range(data.shape[1])
    values = {c: given[c] if c in given else [centre_by(how, c)] for c in columns}
    return made_rows(encoded, values, view.categorical, trusted=trusted)


class Given(NamedTuple):
    """Reference values given by the user, in original units."""

    rows: Table
    """One or more rows of the user's columns."""
    columns: tuple[int, ...]
    """The columns with given values; the other entries of the rows are arbitrary."""


def given_rows(reference: Any, table: Table, labels: Sequence[str]) -> Given | None:
    """The given reference values as rows of the data; None for other kinds of reference."""
    if not _holds_values(reference):
        return None
    values = _given_values(reference, table, labels)
    rows = made_rows(table, values, trusted=isinstance(reference, Average))
    return Given(rows, tuple(values))


def match_reference(encoded: Table, reference: Table) -> Table:
    """Give a frame the dtypes of its reference: the mean of whole numbers is a fraction."""
    if not is_frame(encoded):
        return encoded
    schema, wanted = encoded.schema, reference.schema
    changed = [
        nw.col(name).cast(wanted[name])
        for name in schema
        if schema[name] != wanted[name] and not holds_any(name, encoded, reference)
    ]
    return encoded.with_columns(*changed) if changed else encoded


def holds_any(name: str, *tables: Table) -> bool:
    """Whether a column has dtype object in all tables: one value does not make it text."""
    natives = (table.get_column(name).to_native() for table in tables)
    return all(str(getattr(native, "dtype", "")) == "object" for native in natives)


def _is_scalar(reference: Any) -> bool:
    return as_number(reference) is not None


def _holds_values(reference: Any) -> bool:
    if isinstance(reference, str):
        return False
    held = isinstance(reference, Mapping | Average)
    return held or _is_scalar(reference) or _is_row(reference)


def _is_row(reference: Any) -> bool:
    if isinstance(reference, list | tuple):
        return all(np.ndim(value) == 0 for value in reference)
    return getattr(reference, "ndim", None) == 1 and not sp.issparse(reference)


def _given_values(reference: Any, table: Table, labels: Sequence[str]) -> dict[int, Values]:
    """Values in original units, by original column: one for each background row."""
    if isinstance(reference, Average):
        background = as_table(reference.data)
        return {position: column_values(background, position) for position in range(len(labels))}
    if _goes_by_name(reference, labels):
        reference = dict(reference)
    if isinstance(reference, Mapping):
        positions = positions_of(list(reference), labels, "reference")
        return {p: [value] for p, value in zip(positions, reference.values(), strict=True)}
    if _is_scalar(reference):
        return {
            position: [reference]
            for position in range(len(labels))
            if column_numbers(table, position) is not None
        }
    if not isinstance(reference, list | tuple):
        reference = as_vector(reference, "reference", len(labels)).tolist()
    return {position: [value] for position, value in enumerate(reference)}


def _encoded_reference(reference: Any, view: ModelView, labels: Sequence[str]) -> Table:
    data = as_table(reference, "reference")
    names = column_names(data)
    if names is not None:
        remedy = " of the model: add them, or pass a mapping (columns left out use their mean)."
        data = select_columns(data, positions_in(names, labels, "reference", remedy))
    elif data.shape[1] != len(labels):
        raise ArgumentError(
            f"reference has {data.shape[1]} columns, but the model uses {len(labels)}: "
            f"{shorten(labels)}."
        )
    return as_table(view.encode(to_native(data)))


def made_rows(
    table: Table,
    values: Mapping[int, Values],
    categorical: frozenset[int] = frozenset(),
    *,
    trusted: bool = False,
) -> Table:
    """Rows of a table's types with these values, one row for each; other columns as in row 0."""
    n_rows = max(map(len, values.values()), default=1)
    rows = take_rows(table, np.zeros(n_rows, dtype=np.intp))
    return with_reference(rows, table, values, categorical, trusted=trusted)


def with_reference(
    rows: Table,
    table: Table,
    values: Mapping[int, Values],
    categorical: frozenset[int] = frozenset(),
    *,
    trusted: bool = False,
) -> Table:
    """Rows with the values of some columns replaced; dtypes change where a value does not fit.

    `values` holds one value for each row, or one for all rows. Boolean and object columns in
    `categorical` keep their dtype: True and 1.0 are different categories. `trusted` words come from
    a data set, so a word that these rows lack is no error.
    """
    n_rows = rows.shape[0]
    if not is_frame(rows):
        changed = rows.copy() if isinstance(rows, np.ndarray) else rows.toarray()
        for position, of_column in values.items():
            words = changed.dtype == object or any(value is None for value in of_column)
            changed[:, position] = (
                of_column if words else [_as_float(value, position) for value in of_column]
            )
        return changed
    series, schema, names = [], table.schema, table.columns
    for position, of_column in values.items():
        name = names[position]
        dtype = schema[name]
        every = list(of_column) * (1 if len(of_column) == n_rows else n_rows)
        category = position in categorical and not dtype.is_numeric()
        if not category and (is_number(dtype) or column_numbers(table, position) is not None):
            series.append(_numbers(table, name, every))
        else:
            series.append(_observed(table, position, name, every, trusted))
    return rows.with_columns(*series) if series else rows


def _numbers(table: Table, name: str, values: Sequence[Any]) -> Any:
    """A numeric column that holds `values`, of the table's dtype if they fit."""
    if holds_any(name, table):
        for value in values:
            if np.ndim(value) or not pd.isna(value):
                _as_float(value, name)  # refuses what is no number
        # An object column stays one: a model may treat None and NaN differently.
        return nw.from_native(pd.Series(values, name=name, dtype=object), series_only=True)
    numbers, dtype = [_as_float(value, name) for value in values], table.schema[name]
    if dtype == nw.Float32:
        numbers = [float(np.float32(number)) for number in numbers]
    whole = dtype.is_integer() and all(n.is_integer() and _fits(n, dtype) for n in numbers)
    kept = dtype if whole or dtype.is_float() else nw.Float64()
    # Overwriting values of the column keeps its native type, such as a nullable one.
    entries = table.get_column(name)[[0] * len(numbers)].cast(kept)
    written = [int(number) for number in numbers] if whole else numbers
    made = nw.new_series(name, written, kept, backend=entries.implementation)
    return entries.scatter(range(len(numbers)), made)


def _as_float(value: Any, column: Any) -> float:
    """A reference value of a numeric column."""
    try:
        # NumPy converts time spans to integers, and drops the imaginary part of complex numbers.
        if not isinstance(value, np.timedelta64 | np.complexfloating):
            return float(value)
        reason: Exception | None = None
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        reason = error
    raise ArgumentError(
        f"reference for column {column!r} must be a number; got {shown(value)}."
    ) from reason


def _fits(number: float, dtype: Any) -> bool:
    """Whether a number is within the range of an integer type."""
    bits = int(str(dtype).removeprefix("U").removeprefix("Int"))
    if dtype.is_signed_integer():
        return -(2 ** (bits - 1)) <= number < 2 ** (bits - 1)
    return 0 <= number < 2**bits


def _observed(table: Table, position: int, name: str, values: Sequence[Any], trusted: bool) -> Any:
    """A column that holds `values`, taken from the data to keep their type."""
    column = column_values(table, position)
    series = table.get_column(name)
    row_of = {identity(value): _row_with(column, value) for value in values}
    rows = [row_of[identity(value)] for value in values]
    if None not in rows:
        return series[rows]
    value = values[rows.index(None)]
    native = series.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
        # A category that does not occur in these rows, though the model may have seen it.
        if all(pd.isna(v) or v in native.dtype.categories for v in values):
            return _made(series, values)
        raise DataError(
            f"reference for column {name!r} must be one of its categories in X; got {value!r}. Add "
            "it with X[column].cat.add_categories."
        )
    if series.dtype == nw.Boolean and all(v in (0, 1) for v in values):
        return series[[0] * len(values)].scatter(range(len(values)), list(map(bool, values)))
    if trusted and series.dtype != nw.Boolean:
        with suppress(Exception):  # raised by the frame's library, for values of another type
            return _made(series, values)
    raise DataError(
        f"reference for column {name!r} must be one of the values that occur in X; got {value!r}."
    )


def _row_with(column: Array, value: Any) -> int | None:
    """A row that holds a value; None if there is none."""
    equal = np.flatnonzero(pd.isna(column) if pd.isna(value) else column == value).tolist()
    # Among equal values prefer the same type and bits: True is not 1.
    key = identity(value)
    same = (row for row in equal if identity(column[row]) == key)
    return next(same, equal[0] if equal else None)


def _made(series: Any, values: Sequence[Any]) -> Any:
    """A column of the same type with other values."""
    native = series.to_native()
    if isinstance(native, pd.Series):
        of_pandas = pd.Series(list(values), name=native.name, dtype=native.dtype)
        return nw.from_native(of_pandas, series_only=True)
    present = [None if pd.isna(value) else value for value in values]
    if hasattr(native, "combine_chunks"):
        import pyarrow as pa

        # Blocks are concatenated, for which a string must not become a large one.
        array = pa.chunked_array([pa.array(present).cast(native.type)])
        return nw.from_native(array, series_only=True).alias(series.name)
    words = series.dtype in (nw.Categorical, nw.Enum)
    dtype = nw.String() if words else series.dtype
    made = nw.new_series(series.name, present, dtype, backend=series.implementation)
    return made.cast(series.dtype)
