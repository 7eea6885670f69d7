"""Tables as the sheets of one Excel workbook. Text is stored as text, never as a formula."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from sfit._export._cells import looks_like_formula, plain
from sfit._export._office import check_office_path, save_office
from sfit._text import printable, shortened
from sfit.exceptions import ArgumentError, MissingDependencyError
from sfit.report._set_tables import decimals_for

MOST_ROWS = 1_048_576
"""Rows of a sheet, the heading among them."""
MOST_COLUMNS = 16_384
MOST_CHARACTERS = 32_767
"""Characters of a cell."""
LONGEST_NAME = 31
"""Characters of the name of a sheet."""
WIDTHS = (8, 60)
"""The narrowest and the widest column, in characters."""

EXACT_WHOLE = 10**15
"""Excel keeps 15 digits; a larger whole number is stored as text."""
SMALLEST = 2.3e-308
"""Excel reads a smaller number as 0; it is stored as text."""

P_VALUE = re.compile(r"(^|_)p(_|$)")
ESCAPE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""Excel reads `_x0041_` as the letter A, unless the underscore is escaped itself."""


def write_workbook(tables: Mapping[str, pd.DataFrame], path: str | Path) -> None:
    """Write one sheet per table."""
    check_office_path(path, ".xlsx")
    try:
        import openpyxl
    except ImportError as error:
        raise MissingDependencyError(
            'Excel files need openpyxl: pip install "sfit[excel]".'
        ) from error
    for name, frame in tables.items():
        _check_size(name, frame)
    book = openpyxl.Workbook(write_only=True)
    for title, frame in zip(sheet_names(tables), tables.values(), strict=True):
        _fill(book.create_sheet(title), frame)
    buffer = io.BytesIO()
    book.save(buffer)
    save_office(buffer.getvalue(), path)


def _check_size(name: str, frame: pd.DataFrame) -> None:
    n_rows, n_columns = len(frame) + 1, len(frame.columns)
    if n_rows > MOST_ROWS or n_columns > MOST_COLUMNS:
        raise ArgumentError(
            f"the table {name!r} has {n_rows - 1:,} rows and {n_columns:,} columns, but a sheet of "
            f"Excel holds {MOST_ROWS - 1:,} and {MOST_COLUMNS:,}: write "
            f"tables()[{name!r}].to_parquet(path) or to_json(path) instead."
        )


def sheet_names(names: Iterable[str]) -> list[str]:
    """Names that Excel accepts: short, without its special characters, unique in any case."""
    taken: set[str] = {"history"}  # Excel keeps this name for itself
    sheets = []
    for name in names:
        clean = re.sub(r"[\[\]:*?/\\]", "_", printable(name)).strip("' ") or "table"
        sheet, number = shortened(clean, LONGEST_NAME), 1
        while sheet.casefold() in taken:
            number += 1
            ending = f" {number}"
            sheet = shortened(clean, LONGEST_NAME - len(ending)) + ending
        taken.add(sheet.casefold())
        sheets.append(sheet)
    return sheets


def _fill(sheet: Any, frame: pd.DataFrame) -> None:
    """Write a table: the heading stays in view, and columns are as wide as their content."""
    from openpyxl.cell import WriteOnlyCell
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    heads = [printable(name) for name in frame.columns]
    formats = [_number_format(head, frame.iloc[:, place]) for place, head in enumerate(heads)]
    for place, (head, number_format) in enumerate(zip(heads, formats, strict=True)):
        letter = get_column_letter(place + 1)
        sheet.column_dimensions[letter].width = _width(head, frame.iloc[:, place], number_format)
    sheet.freeze_panes = "A2"
    sheet.auto_filter.ref = f"A1:{get_column_letter(max(len(heads), 1))}{len(frame) + 1}"
    bold = Font(bold=True)

    def cell(value: Any, number_format: str, font: Any = None) -> Any:
        made = WriteOnlyCell(sheet, value=None)
        if isinstance(value, str):
            made.value, made.data_type = ESCAPE.sub("_x005F_", value), "s"
            made.quotePrefix = looks_like_formula(value)
        elif value is not None:
            made.value, made.number_format = value, number_format
        if font is not None:
            made.font = font
        return made

    sheet.append([cell(shortened(head, MOST_CHARACTERS), "General", bold) for head in heads])
    for row in _rows(frame):
        sheet.append([cell(value, form) for value, form in zip(row, formats, strict=True)])


def _rows(frame: pd.DataFrame) -> Iterator[list[Any]]:
    for row in frame.itertuples(index=False, name=None):
        yield [_storable(plain(value)) for value in row]


def _storable(value: Any) -> Any:
    """A value that Excel reads back unchanged; numbers beyond its range are text."""
    if isinstance(value, str):
        return shortened(value, MOST_CHARACTERS)
    too_large = isinstance(value, int) and abs(value) >= EXACT_WHOLE
    too_small = isinstance(value, float) and 0 < abs(value) < SMALLEST
    return repr(value) if too_large or too_small else value


def _number_format(name: str, column: pd.Series[Any]) -> str:
    """How Excel shows the numbers of a column; it keeps all digits."""
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return "General"
    if pd.api.types.is_integer_dtype(column):
        return "#,##0"
    decimals = decimals_for(column) + 1
    largest = float(column.abs().max())
    if P_VALUE.search(name) or not 10.0**-decimals < largest < 1e9:
        return "0.00E+00"
    return f"#,##0.{'0' * decimals}"


def _width(head: str, column: pd.Series[Any], number_format: str) -> int:
    """The width of a column in characters, with room for the button of the filter."""
    is_text = number_format == "General"
    longest = max((len(str(plain(value))) for value in column), default=0) if is_text else 12
    return min(max(longest + 2, len(head) + 4, WIDTHS[0]), WIDTHS[1])
