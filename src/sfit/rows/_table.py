"""A table of rows, and the few things that are ever done to one.

A table is a two-dimensional NumPy array, a SciPy sparse matrix (kept by columns), or a frame of any
library that narwhals knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp
from narwhals.exceptions import DuplicateError

from sfit.exceptions import ArgumentError, DataError

Array = npt.NDArray[Any]
Table = Any
"""np.ndarray | scipy.sparse.csc_array | nw.DataFrame"""

UNUSABLE = (nw.Unknown, nw.Int128, nw.UInt128)
"""Types of columns that NumPy has no counterpart for."""
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def as_table(X: Any, argument: str = "X") -> Table:
    """The user's rows as a table, without copying them; refused when they are not rows."""
    if sp.issparse(X):
        if X.ndim != 2:
            raise DataError(f"{argument} must have two dimensions; got shape {X.shape}.")
        sparse = X.tocsc()
        if sparse.dtype.kind in "biu":
            sparse = sparse.astype(np.float64)
        if sparse.dtype.kind != "f":
            raise DataError(f"{argument} must hold numbers; got dtype {sparse.dtype}.")
        return sparse
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise DataError(
            f"{argument} is masked at some places, which models do not see. Use X.filled(np.nan)."
        )
    if isinstance(X, np.ndarray | list | tuple):
        array = _as_array(X, argument)
        if array.ndim != 2:
            raise DataError(
                f"{argument} must have two dimensions, rows and columns; got shape {array.shape}. "
                "Use X.reshape(-1, 1) for a single feature."
            )
        if array.dtype.kind in "biu":
            array = array.astype(np.float64)
        if array.dtype.kind not in "fO":
            raise DataError(
                f"{argument} must hold numbers or objects; got dtype {array.dtype}. Use a frame, "
                "or X.astype(object), for text and dates."
            )
        if array.dtype == np.float16:
            array = array.astype(np.float32)
        return array
    if isinstance(X, pd.DataFrame):
        sparse = {
            name: dtype.subtype
            for name, dtype in X.dtypes.items()
            if isinstance(dtype, pd.SparseDtype)
        }
        X = X.astype(sparse) if sparse else X
    try:
        table = nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise DataError(
            f"{argument} must be a NumPy array, a sparse matrix, or a pandas, polars or pyarrow "
            f"table held in memory; got {type(X).__name__}."
        ) from error
    except DuplicateError as error:
        raise DataError(f"{argument} has column names that occur twice or more: {error}") from error
    labels = [str(column) for column in table.columns]
    if len(set(labels)) < len(labels):
        twice = sorted({label for label in labels if labels.count(label) > 1})
        raise DataError(f"{argument} has column names that occur twice or more: {twice!r}.")
    for name, dtype in table.schema.items():
        if dtype in UNUSABLE or (dtype == nw.String and _is_view(table, name)):
            kind = dtype
            if dtype == nw.Unknown:
                kind = getattr(table.get_column(name).to_native(), "dtype", dtype)
            raise DataError(
                f"{argument} has a column {name!r} of type {kind}, which cannot be used: convert "
                "it to numbers of at most 64 bits, text or categories."
            )
    return table


def _is_view(table: Table, name: str) -> bool:
    """Whether text lies in a layout of pyarrow that pyarrow cannot choose rows of."""
    native = table.to_native()
    return (
        hasattr(native, "combine_chunks") and str(native.schema.field(name).type) == "string_view"
    )


def _as_array(values: Any, argument: str) -> Array:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{argument} has rows of different lengths: {error}") from error
    except Exception as error:  # of the owner of the values: a tensor that requires grad, say
        raise DataError(f"{argument} cannot be made a NumPy array: {error}") from error
    # Files of other machines keep numbers the other way round, and pandas looks none of them up.
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder())


def is_frame(table: Table) -> bool:
    """Whether a table is a frame, with names and dtypes by column."""
    return isinstance(table, nw.DataFrame)


def to_native(table: Table) -> Any:
    """The table as its owner knows it."""
    return table.to_native() if is_frame(table) else table


def column_names(table: Table) -> tuple[str, ...] | None:
    """The user's names, where the table has any."""
    return tuple(map(str, table.columns)) if is_frame(table) else None


def column_name(table: Table, position: int) -> Any:
    """The name of one column of a frame: narwhals makes the list of all names anew."""
    native = table.to_native()
    if table.implementation.is_pandas_like():
        return native.columns[position]
    if table.implementation.is_polars():
        return native.to_series(position).name
    if table.implementation.is_pyarrow():
        return native.field(position).name
    return table.columns[position]


def select_columns(table: Table, positions: Sequence[int]) -> Table:
    """Some columns, in the order given."""
    if is_frame(table):
        return table[:, list(positions)]
    if list(positions) == list(range(table.shape[1])):
        return table
    return table[:, list(positions)]


def take_rows(table: Table, rows: Array | slice) -> Table:
    """Some rows, in the order given."""
    if isinstance(rows, slice) or not is_frame(table):
        return table[rows]
    return table[rows.tolist()]


def column_values(table: Table, position: int) -> Array:
    """One column as a one-dimensional array (objects where it holds no numbers)."""
    if is_frame(table):
        series = table.get_column(column_name(table, position))
        if is_number(series.dtype):
            return _missing_as_nan(series)
        words = series.to_pandas()
        values = np.asarray(words.astype(object), dtype=object)
        # pandas' own sign for missing cannot be compared with anything.
        if getattr(words.dtype, "na_value", None) is pd.NA:
            values = np.where(pd.isna(values), np.nan, values)
        return values
    if sp.issparse(table):
        # SciPy takes a column out a hundred times more slowly. Entries given twice add up.
        own = slice(*table.indptr[position : position + 2])
        values = np.zeros(table.shape[0], dtype=table.dtype)
        np.add.at(values, table.indices[own], table.data[own])
        return values
    return np.asarray(table[:, position])


def is_number(dtype: Any) -> bool:
    """Whether a column of a frame holds numbers (or truth values, which count as 0 and 1)."""
    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def column_numbers(table: Table, position: int) -> Array | None:
    """A column as numbers; None where it holds anything else, or categories labelled by numbers."""
    if is_frame(table):
        # Not from the schema, which narwhals makes anew of all columns.
        series = table.get_column(column_name(table, position))
        if not is_number(series.dtype) and not _holds_objects(series):
            return None
    column = column_values(table, position)
    if column.dtype != object:
        return column
    missing = np.asarray(pd.isna(column))
    if missing.all() or not all(
        isinstance(value, int | float | np.number | np.bool_) for value in column[~missing]
    ):
        return None
    try:
        return np.where(missing, np.nan, column).astype(np.float64)
    except OverflowError as error:
        raise DataError(
            f"column {position} holds a whole number that is too large for a float: convert it to "
            "text, or divide it."
        ) from error


def _holds_objects(series: Any) -> bool:
    """Whether a column may hold anything: what narwhals says of it goes by its first rows."""
    return series.dtype == nw.Object or str(getattr(series.to_native(), "dtype", "")) == "object"


def _missing_as_nan(series: Any) -> Array:
    if series.null_count():
        series = series.cast(nw.Float64)
    values = np.asarray(series.to_numpy())
    return values.astype(np.float64) if values.dtype.kind in "biuO" else values


def numbers(table: Table) -> Table:
    """A frame of numbers as an array, float32 where every column is; anything else as it is."""
    if not is_frame(table):
        return table
    native = table.to_native()
    if isinstance(native, pd.DataFrame) and set(native.dtypes) in ({_SINGLE}, {_DOUBLE}):
        return native.to_numpy()  # as it lies in memory: a column at a time takes far longer
    columns: list[Array] = []
    for position in range(table.shape[1]):
        column = column_numbers(table, position)
        if column is None:
            return table
        columns.append(column)
    if not columns:
        return np.empty((table.shape[0], 0))
    out = np.empty((table.shape[0], len(columns)), dtype=np.result_type(*columns), order="F")
    for position, values in enumerate(columns):
        out[:, position] = values
    return out


def reveal(reference: Table, table: Table, positions: Sequence[int], rows: Array | None) -> Table:
    """Rows with the columns at `positions` as observed and all others at their reference.

    `reference` is a table of one row. This is X^(1, j) of section 2.1, with any reference value.
    """
    m = table.shape[0] if rows is None else len(rows)
    if is_frame(table):
        block = reference[[0] * m]
        if not positions:
            return block
        shown = select_columns(table, positions)
        shown = shown if rows is None else shown[rows.tolist()]
        return block.with_columns(*(shown.get_column(name) for name in shown.columns))
    if len(positions) == table.shape[1] and isinstance(table, np.ndarray):
        return table.copy() if rows is None else table[rows]
    if 2 * len(positions) > table.shape[1]:
        # Fewer are frozen than revealed: one by one, columns would take longer than the model.
        shown = table if rows is None else table[rows]
        block = shown.toarray(order="C") if sp.issparse(shown) else np.array(shown, order="C")
        frozen = np.delete(np.arange(table.shape[1]), positions)
        block[:, frozen] = reference[:, frozen]
        return block
    block = np.repeat(reference, m, axis=0)
    for position in positions:
        values = column_values(table, position)
        block[:, position] = values if rows is None else values[rows]
    return block


def with_values(reference: Table, m: int, changes: Mapping[int, tuple[Array, Array]]) -> Table:
    """`m` copies of the reference row, with values of some columns replaced in some rows."""
    if is_frame(reference):
        block = reference[[0] * m]
        series, names = [], reference.columns
        for position, (rows, values) in changes.items():
            name = names[position]
            column = np.full(m, column_values(reference, position)[0], dtype=np.float64)
            column[rows] = values
            series.append(
                nw.new_series(name, column, nw.Float64(), backend=reference.implementation)
            )
        return block.with_columns(*series)
    dtype = np.result_type(reference.dtype, *(values.dtype for _, values in changes.values()))
    block = np.repeat(reference.astype(dtype), m, axis=0)
    for position, (rows, values) in changes.items():
        block[rows, position] = values
    return block


def as_vector(values: Any, argument: str, length: int) -> Array:
    """One value per row, as an array."""
    if isinstance(values, pd.DataFrame | pd.Series):
        array = values.to_numpy()
    elif hasattr(values, "to_numpy") and type(values).__module__ != "pyarrow.lib":
        try:
            array = np.asarray(values.to_numpy())
        except Exception as error:  # of the owner of the values: whole numbers of 128 bits, say
            raise DataError(f"{argument} cannot be made a NumPy array: {error}") from error
    elif isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DataError(f"{argument} is masked at some rows: leave these rows out.")
    else:
        # Also what pyarrow holds, whose `to_numpy` refuses all that must be copied, such as words.
        array = _as_array(values, argument)
    if array.ndim == 0:
        raise ArgumentError(f"{argument} must hold one value per row; got {values!r}.")
    if array.dtype == np.float16:
        array = array.astype(np.float32)  # pandas looks nothing up in halves
    elif array.dtype.char in "gG":
        array = array.astype(array.dtype.char.replace("g", "d").replace("G", "D"))  # nor in more
    if len(array) != length:
        raise DataError(
            f"{argument} and X must have the same number of rows; {argument} has {len(array)} and "
            f"X has {length}."
        )
    return array
