"""Tables of rows, and the operations on them.

A table is a two-dimensional NumPy array, a SciPy sparse matrix (stored by column), or a frame of
any library that narwhals supports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import scipy.sparse as sp
from narwhals.exceptions import DuplicateError

from sfit._arguments import shown
from sfit._array import Array
from sfit.exceptions import ArgumentError, DataError

Table = Any
"""np.ndarray | scipy.sparse.csc_array | nw.DataFrame"""

UNUSABLE = (nw.Unknown, nw.Int128, nw.UInt128)
"""Column types that have no NumPy counterpart."""
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def as_table(X: Any, argument: str = "X") -> Table:
    """Convert the user's rows to a table without copying them, or refuse them."""
    if sp.issparse(X):
        return _sparse_table(X, argument)
    if isinstance(X, np.ndarray | list | tuple):
        return _array_table(X, argument)
    if isinstance(X, pd.DataFrame):
        X = _densified(X)
    try:
        table = nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise DataError(
            f"{argument} must be a NumPy array, a sparse matrix, or a pandas, polars or pyarrow "
            f"table held in memory; got {type(X).__name__}."
        ) from error
    except DuplicateError as error:
        raise DataError(f"{argument} has duplicate column names: {error}") from error
    labels = list(map(str, table.columns))
    if len(set(labels)) < len(labels):
        twice = sorted({label for label in labels if labels.count(label) > 1})
        raise DataError(f"{argument} has duplicate column names: {twice!r}.")
    _check_types(table, argument)
    return table


def _check_types(table: Table, argument: str) -> None:
    """Refuse columns of a type that has no NumPy counterpart."""
    for name, dtype in table.schema.items():
        if dtype in UNUSABLE or (dtype == nw.String and _is_view(table, name)):
            kind = dtype
            if dtype == nw.Unknown:
                kind = getattr(table.get_column(name).to_native(), "dtype", dtype)
            raise DataError(
                f"{argument} has a column {name!r} of type {kind}, which cannot be used: convert "
                "it to numbers of at most 64 bits, text or categories."
            )


def _densified(X: pd.DataFrame) -> pd.DataFrame:
    """A frame whose sparse columns are dense."""
    sparse = {}
    for name, dtype in X.dtypes.items():
        if isinstance(dtype, pd.SparseDtype):
            sparse[name] = dtype.subtype
    return X.astype(sparse) if sparse else X


def _sparse_table(X: Any, argument: str) -> Table:
    if X.ndim != 2:
        raise DataError(f"{argument} must have two dimensions; got shape {X.shape}.")
    sparse = X.tocsc()
    if sparse.dtype.kind in "biu":
        sparse = sparse.astype(np.float64)
    if sparse.dtype.kind != "f":
        raise DataError(f"{argument} must hold numbers; got dtype {sparse.dtype}.")
    return sparse


def _array_table(X: Any, argument: str) -> Table:
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise DataError(
            f"{argument} is masked at some entries, which models ignore. Use X.filled(np.nan)."
        )
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
    return array.astype(np.float32) if array.dtype == np.float16 else array


def _is_view(table: Table, name: str) -> bool:
    """Whether a column is a pyarrow string view, from which pyarrow cannot select rows."""
    native = table.to_native()
    return (
        hasattr(native, "combine_chunks") and str(native.schema.field(name).type) == "string_view"
    )


def _as_array(values: Any, argument: str) -> Array:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{argument} has rows of different lengths: {error}") from error
    except Exception as error:  # raised by the values' library, as by a tensor that requires grad
        raise DataError(f"{argument} cannot be converted to a NumPy array: {error}") from error
    # Files of other machines may have another byte order, in which pandas looks nothing up.
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder())


def plain_array(values: Any) -> Array:
    """A plain array; masked entries become NaN, because the data behind a mask are undefined."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        filled = values.filled(0)
        return np.where(np.ma.getmaskarray(values), np.nan, filled)
    return np.asarray(values)


def is_frame(table: Table) -> bool:
    """Whether a table is a frame, with names and dtypes by column."""
    return isinstance(table, nw.DataFrame)


def to_native(table: Table) -> Any:
    """The table as an object of the user's library."""
    return table.to_native() if is_frame(table) else table


def column_names(table: Table) -> tuple[str, ...] | None:
    """The user's column names; None if the table has none."""
    return tuple(map(str, table.columns)) if is_frame(table) else None


def column_name(table: Table, position: int) -> Any:
    """The name of one column of a frame; narwhals would rebuild the list of all names."""
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
    """One column as a one-dimensional array, of objects if it is not numeric."""
    if is_frame(table):
        series = table.get_column(column_name(table, position))
        if is_number(series.dtype):
            return _missing_as_nan(series)
        words = series.to_pandas()
        values = np.asarray(words.astype(object), dtype=object)
        # pd.NA cannot be compared with anything.
        if getattr(words.dtype, "na_value", None) is pd.NA:
            values = np.where(pd.isna(values), np.nan, values)
        return values
    if sp.issparse(table):
        # A hundred times faster than SciPy's column selection. Duplicate entries add up.
        entries = slice(*table.indptr[position : position + 2])
        values = np.zeros(table.shape[0], dtype=table.dtype)
        np.add.at(values, table.indices[entries], table.data[entries])
        return values
    return np.asarray(table[:, position])


def is_number(dtype: Any) -> bool:
    """Whether a column of a frame is numeric; booleans count as 0 and 1."""
    return bool(dtype.is_numeric() or dtype == nw.Boolean)


def column_numbers(table: Table, position: int) -> Array | None:
    """A column as numbers; None if it is not numeric, or holds categories labelled by numbers."""
    if is_frame(table):
        # Not from the schema, which narwhals would rebuild from all columns.
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
            f"column {position} holds an integer that is too large for a float: convert it to "
            "text, or divide it."
        ) from error


def _holds_objects(series: Any) -> bool:
    """Whether a column has dtype object; narwhals infers its type from the first rows only."""
    return series.dtype == nw.Object or str(getattr(series.to_native(), "dtype", "")) == "object"


def _missing_as_nan(series: Any) -> Array:
    if series.null_count():
        series = series.cast(nw.Float64)
    values = np.asarray(series.to_numpy())
    return values.astype(np.float64) if values.dtype.kind in "biuO" else values


def as_numeric(table: Table) -> Table:
    """A numeric frame as an array, float32 if every column is; any other table unchanged."""
    if not is_frame(table):
        return table
    native = table.to_native()
    if isinstance(native, pd.DataFrame) and set(native.dtypes) in ({_SINGLE}, {_DOUBLE}):
        return native.to_numpy()  # far faster than column by column
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


def reveal(
    background: Table,
    table: Table,
    positions: Sequence[int],
    rows: Array | None,
    at: Array | None = None,
) -> Table:
    """Rows with the observed values at `positions` and background values in all other columns.

    `at` names the background row of each row; by default, the first serves all rows. With one
    background row this is X^(1, j) of section 2.1, with any reference value.
    """
    m = table.shape[0] if rows is None else len(rows)
    at = np.zeros(m, dtype=np.intp) if at is None else at
    if is_frame(table):
        block = take_rows(background, at)
        if not positions:
            return block
        revealed = select_columns(table, positions)
        revealed = revealed if rows is None else revealed[rows.tolist()]
        return block.with_columns(*(revealed.get_column(name) for name in revealed.columns))
    if len(positions) == table.shape[1] and isinstance(table, np.ndarray):
        return table.copy() if rows is None else table[rows]
    if 2 * len(positions) > table.shape[1]:
        # Fewer columns are hidden than revealed: revealing them one by one could take longer than
        # the model.
        chosen = table if rows is None else table[rows]
        block = chosen.toarray(order="C") if sp.issparse(chosen) else np.array(chosen, order="C")
        hidden = np.delete(np.arange(table.shape[1]), positions)
        block[:, hidden] = background[:, hidden][at]
        return block
    block = background.take(at, axis=0)
    for position in positions:
        values = column_values(table, position)
        block[:, position] = values if rows is None else values[rows]
    return block


def mixed_rows(table: Table, picked: Mapping[int, Array]) -> Table:
    """Rows that take each picked column from its own rows; other columns hold any value."""
    m = len(next(iter(picked.values())))
    block = take_rows(table, np.zeros(m, dtype=np.intp))
    if is_frame(table):
        columns = (table.get_column(column_name(table, position)) for position in picked)
        return block.with_columns(
            *(column[rows.tolist()] for column, rows in zip(columns, picked.values(), strict=True))
        )
    block = block.toarray() if sp.issparse(block) else block
    for position, rows in picked.items():
        block[:, position] = column_values(table, position)[rows]
    return block


def with_values(background: Table, at: Array, changes: Mapping[int, tuple[Array, Array]]) -> Table:
    """Background rows, numbered `at`, with some entries of some columns replaced."""
    if is_frame(background):
        block = take_rows(background, at)
        series, names = [], background.columns
        for position, (rows, values) in changes.items():
            name = names[position]
            column = column_values(background, position)[at].astype(np.float64)
            column[rows] = values
            series.append(
                nw.new_series(name, column, nw.Float64(), backend=background.implementation)
            )
        return block.with_columns(*series)
    dtype = np.result_type(background.dtype, *(values.dtype for _, values in changes.values()))
    block = background.astype(dtype).take(at, axis=0)
    for position, (rows, values) in changes.items():
        block[rows, position] = values
    return block


def scaled(table: Table, factors: Array) -> Table:
    """The rows with each column of floats multiplied by its factor; other columns stay."""
    if is_frame(table):
        floats = [table.get_column(name) for name in table.columns]
        return table.with_columns(
            *(
                column * factor
                for column, factor in zip(floats, factors.tolist(), strict=True)
                if column.dtype.is_float()
            )
        )
    return table * factors if table.dtype.kind == "f" else table


def as_vector(values: Any, argument: str, length: int) -> Array:
    """One value per row, as an array."""
    if isinstance(values, pd.DataFrame | pd.Series):
        array = values.to_numpy()
    elif hasattr(values, "to_numpy") and type(values).__module__ != "pyarrow.lib":
        try:
            array = np.asarray(values.to_numpy())
        except Exception as error:  # raised by the values' library, as for integers of 128 bits
            raise DataError(f"{argument} cannot be converted to a NumPy array: {error}") from error
    elif isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DataError(f"{argument} is masked at some rows: leave these rows out.")
    else:
        # Also pyarrow columns, whose `to_numpy` refuses values that must be copied, such as text.
        array = _as_array(values, argument)
    if array.ndim == 0:
        raise ArgumentError(f"{argument} must hold one value per row; got {shown(values)}.")
    if array.dtype == np.float16:
        array = array.astype(np.float32)  # pandas looks up no half floats
    elif array.dtype.char in "gG":
        array = array.astype(array.dtype.char.replace("g", "d").replace("G", "D"))  # nor long ones
    if len(array) != length:
        raise DataError(
            f"{argument} and X must have the same number of rows; {argument} has {len(array)} and "
            f"X has {length}."
        )
    return array
