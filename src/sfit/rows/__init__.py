"""Rows, in memory or in files: tables, tiles, and statistics of their columns.

This package knows no models and no features. `_store.py` opens data that are read piece by piece.
"""

from sfit.rows._distinct import (
    column_of,
    distinct_rows,
    first_of,
    identity,
    is_one_value,
    value_codes,
)
from sfit.rows._strata import Strata, strata_of
from sfit.rows._table import (
    Table,
    as_numeric,
    as_table,
    as_vector,
    column_names,
    column_numbers,
    column_values,
    is_frame,
    is_number,
    mixed_rows,
    plain_array,
    reveal,
    scaled,
    select_columns,
    take_rows,
    to_native,
    with_values,
)
from sfit.rows._tiles import HeldRows, Rows, Tile, TileRun, every_tile, hash_table

__all__ = [
    "HeldRows",
    "Rows",
    "Strata",
    "Table",
    "Tile",
    "TileRun",
    "as_numeric",
    "as_table",
    "as_vector",
    "column_names",
    "column_numbers",
    "column_of",
    "column_values",
    "distinct_rows",
    "every_tile",
    "first_of",
    "hash_table",
    "identity",
    "is_frame",
    "is_number",
    "is_one_value",
    "mixed_rows",
    "plain_array",
    "reveal",
    "scaled",
    "select_columns",
    "strata_of",
    "take_rows",
    "to_native",
    "value_codes",
    "with_values",
]
