"""Find equal rows. Values are compared by type and bits, not with `==`.

None, NaN and pandas' NA are different values, and so are 1, True and 1.0, and 0.0 and -0.0: a model
may distinguish them. A column is turned into keys, integers that are equal exactly where its values
are.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from sfit._array import Array
from sfit.exceptions import DataError
from sfit.rows._table import Table, column_values, is_frame, select_columns, take_rows

_FLOATS = frozenset({float, np.float64, np.float32, np.float16})
_WRITTEN = frozenset(
    {decimal.Decimal, datetime.datetime, datetime.time, pd.Timestamp, pd.Timedelta}
)
"""Types whose equal values may differ in form, such as 1.0 and 1.00 or two time zones."""
_PLAIN = frozenset(
    {str, bytes, bool, int, type(None), type(pd.NA), type(pd.NaT), np.str_, np.bytes_, np.bool_}
    | {datetime.date, datetime.timedelta}
    | {np.dtype(f"{kind}{size}").type for kind in "iu" for size in (1, 2, 4, 8)}
)
"""Types whose equal values are identical."""


def distinct_rows(table: Table, positions: Sequence[int]) -> tuple[Array, Array] | None:
    """Row numbers of the distinct rows in some columns, and the distinct row that each row equals.

    None if a search would not pay, because a sample of rows is mostly distinct.
    """
    m = table.shape[0]
    if m <= 1:
        return None
    if is_frame(table):
        table, positions = select_columns(table, positions), range(len(positions))
    sample = np.unique(np.linspace(0, m - 1, min(m, 1_024)).astype(np.intp))
    if m > len(sample):
        # Arrays are sampled column by column: there may be many, and the first may suffice.
        head = take_rows(table, sample) if is_frame(table) else None
        columns = (
            column_of(table, position)[sample] if head is None else column_of(head, position)
            for position in positions
        )
        if _codes(columns, len(sample) // 2) is None:
            return None
    codes = _codes((column_of(table, position) for position in positions), m // 2)
    if codes is None:
        return None
    return first_of(codes), codes


def first_of(codes: Array) -> Array:
    """The first row with each code."""
    first = np.full(int(codes.max(initial=-1)) + 1, len(codes), dtype=np.intp)
    np.minimum.at(first, codes, np.arange(len(codes)))
    return first


def column_of(table: Table, position: int) -> Any:
    """A column in its library's type: an array, or a series of a frame."""
    if is_frame(table):
        return table.get_column(table.columns[position])
    return column_values(table, position)


def value_codes(column: Any, unknown: Callable[[Any], Hashable] = id) -> Array:
    """A code per row: the values are numbered in order of appearance."""
    codes = _codes([column], column.shape[0], unknown)
    return np.zeros(0, np.intp) if codes is None else codes


def is_one_value(column: Any) -> bool:
    """Whether all rows hold an identical value. The first rows rule out most columns."""
    size = column.shape[0]
    for rows in (column[:256], column) if size > 256 else (column,):
        if any((key != key[:1]).any() for key in keys(rows, _itself)):
            return False
    return True


def identity(value: Any) -> Hashable:
    """A key that two values share only if they have the same type and bits."""
    kind = type(value)
    if kind in _FLOATS:
        return kind, np.asarray(value, dtype=kind).tobytes()
    return kind, _written(value) if kind in _WRITTEN else value


def _itself(value: Any) -> Hashable:
    return value


def _codes(
    columns: Iterable[Any], most: int, unknown: Callable[[Any], Hashable] = id
) -> Array | None:
    """A code per row, equal for equal rows; None if there are more than `most` codes."""
    codes: Array | None = None
    for column in columns:
        for key in keys(column, unknown):
            of_key, distinct = pd.factorize(key)
            if codes is not None:
                of_key, distinct = pd.factorize(codes * max(len(distinct), 1) + of_key)
            codes = np.asarray(of_key)
            if len(distinct) > most:
                return None
    return codes


def keys(column: Any, unknown: Callable[[Any], Hashable] = id) -> list[Array]:
    """Arrays of integers: two rows agree in all of them exactly if they hold the same value.

    `unknown` maps an object of an unlisted type to a hashable key.
    """
    if isinstance(column, np.ndarray):
        return _of_objects(column, unknown) if column.dtype == object else _bits(column)
    native = column.to_native()
    if isinstance(native, pd.Series):
        return _of_pandas(native, unknown)
    if column.implementation.is_polars():
        return _of_polars(native, unknown)
    if column.implementation.is_pyarrow():
        return _of_arrow(native, unknown)
    return _of_pandas(column.to_pandas(), unknown)


def _bits(values: Array) -> list[Array]:
    """The bits of numbers, as integers."""
    values = np.ascontiguousarray(values)
    if values.dtype.kind == "b":
        return [values.view(np.uint8)]
    if values.dtype.itemsize <= 8:
        return [values.view(f"u{values.dtype.itemsize}")]
    return list(values.view(np.uint64).reshape(len(values), -1).T)


def _present(values: Array, missing: Array) -> list[Array]:
    """Keys of numbers; the values of missing entries are arbitrary."""
    return [*_bits(values), *_bits(missing)] if missing.any() else _bits(values)


def _of_objects(values: Array, unknown: Callable[[Any], Hashable]) -> list[Array]:
    held = values.tolist()  # a list is gone through in half the time
    kinds = dict.fromkeys(map(type, held))
    if len(kinds) == 1:
        return [_of_kind(next(iter(kinds)), values, unknown)]
    kind_codes = dict(zip(kinds, range(len(kinds)), strict=True))
    of_row = np.fromiter(map(kind_codes.__getitem__, map(type, held)), np.intp, len(held))
    codes = np.zeros(len(values), dtype=np.int64)
    start = 0
    for kind, number in kind_codes.items():
        where = of_row == number
        of_kind = _of_kind(kind, values[where], unknown)
        if kind in _FLOATS:
            of_kind = pd.factorize(of_kind)[0]
        codes[where] = start + of_kind
        start += int(of_kind.max()) + 1
    return [codes]


def _of_kind(kind: type, values: Array, unknown: Callable[[Any], Hashable]) -> Array:
    """Keys of objects of one type."""
    if kind in _FLOATS:
        [bits] = _bits(np.array(values.tolist(), dtype=kind))
        return bits
    hashable: Any = values
    if kind in _WRITTEN:
        hashable = np.array(list(map(_written, values)), dtype=object)
    elif kind not in _PLAIN:
        hashable = np.empty(len(values), dtype=object)
        hashable[:] = list(map(unknown, values))
    try:
        if hashable is not values:
            hash(values[0])  # lists and arrays are refused, whatever `unknown` makes of them
        return np.asarray(pd.factorize(hashable, use_na_sentinel=False)[0])
    except TypeError as error:
        raise DataError(f"X holds values that cannot be compared: {error}.") from error


def _written(value: Any) -> str:
    return f"{value!r} {getattr(value, 'unit', '')}"


def _of_pandas(series: pd.Series[Any], unknown: Callable[[Any], Hashable]) -> list[Array]:
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return _bits(series.cat.codes.to_numpy())
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return _bits(series.to_numpy())
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _bits(series.to_numpy(dtype=f"M8[{dtype.unit}]"))
    if isinstance(dtype, pd.StringDtype):
        return [np.asarray(pd.factorize(series.array, use_na_sentinel=False)[0])]
    if isinstance(dtype, pd.ArrowDtype):
        return _of_arrow(series.array.__arrow_array__(), unknown)
    if hasattr(dtype, "numpy_dtype"):
        return _present(
            series.to_numpy(dtype=dtype.numpy_dtype, na_value=0), series.isna().to_numpy()
        )
    values = series if dtype == np.dtype(object) else series.astype(object)
    return _of_objects(values.to_numpy(), unknown)


def _of_polars(series: Any, unknown: Callable[[Any], Hashable]) -> list[Array]:
    dtype = nw.from_native(series, series_only=True).dtype
    wide = dtype in (nw.Int128, nw.UInt128, nw.Decimal)  # NumPy has no such dtypes
    words = dtype in (nw.String, nw.Binary, nw.Object) or dtype.is_nested()
    if words or wide:
        values = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
        return _of_objects(values, unknown)
    physical = series.to_physical()
    missing = physical.is_null().to_numpy()
    if missing.all():
        return _bits(missing)
    filled = physical.fill_null(False if dtype == nw.Boolean else 0) if missing.any() else physical
    return _present(filled.to_numpy(), missing)


def _of_arrow(column: Any, unknown: Callable[[Any], Hashable]) -> list[Array]:
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = column.type
    if pa.types.is_null(type_):
        return [np.zeros(len(column), dtype=np.uint8)]
    if pa.types.is_nested(type_) and not pa.types.is_dictionary(type_):
        values = np.empty(len(column), dtype=object)
        values[:] = column.to_pylist()
        return _of_objects(values, unknown)
    if pa.types.is_floating(type_) or pa.types.is_integer(type_) or pa.types.is_boolean(type_):
        missing = column.is_null().to_numpy()
        if missing.any():
            column = pc.fill_null(column, False if pa.types.is_boolean(type_) else 0)
        return _present(np.asarray(column.to_numpy()), np.asarray(missing))
    # Arrow's encoding of words, times and categories is exact; only floats would be merged.
    if not pa.types.is_dictionary(type_):
        column = column.dictionary_encode()
    codes = column.unify_dictionaries().combine_chunks()
    codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
    missing = codes.is_null().to_numpy(zero_copy_only=False)
    return _present(codes.indices.fill_null(0).to_numpy(zero_copy_only=False), missing)
