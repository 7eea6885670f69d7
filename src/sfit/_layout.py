"""Text that fits a terminal: wrapped sentences, facts in two columns, and tables.

A width counts columns as displayed: characters of East Asian scripts take two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sfit._labels import JOIN, columns, labels, set_label

WIDTH = 80
"""Columns of a summary."""

SHORT_NAME = 16
"""Names longer than this are shortened before a column of numbers is dropped."""
FEWEST = 8
"""Columns of a label in a crowded table; the members of a set may then take several lines."""
GAP = "  "
LABEL = 12
"""Columns of the name of a fact."""


class Line(NamedTuple):
    """A line of a summary, and its role, which a terminal shows as a style."""

    text: str
    role: str = ""


class Names(NamedTuple):
    """A column of names, or of sets of names; they are shortened where they do not fit."""

    head: str
    terms: Sequence[tuple[str, ...]]


class Field(NamedTuple):
    """A column of numbers or short texts, which are never shortened."""

    head: str
    cells: Sequence[str]
    left: bool = False
    drop: int = 0
    """If the table does not fit, columns with the smallest number go first; 0: never dropped."""


class Laid(NamedTuple):
    """A table as lines of text; a row has several lines if its set does not fit on one."""

    head: list[str]
    rows: list[list[str]]


def wrapped(text: str, width: int = WIDTH, indent: str = "") -> list[str]:
    """A text as lines of at most `width` columns, the later ones indented; long words break."""
    lines, line = [], ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line.strip() else line + word
        if columns(joined) <= width:
            line = joined
            continue
        if line.strip():
            lines.append(line)
        line = indent + word if lines else word
        while columns(line) > width:
            start = _start(line, width)
            lines.append(start)
            line = indent + line[len(start) :]
    return [*lines, line] if line.strip() or not lines else lines


def _start(text: str, width: int) -> str:
    """As much of the beginning of a text as fits."""
    taken = 0
    for place, character in enumerate(text):
        taken += columns(character)
        if taken > width:
            return text[:place]
    return text


def padded(text: str, width: int, left: bool = True) -> str:
    """A text with spaces after it, or before it, to fill a width."""
    spaces = " " * (width - columns(text))
    return text + spaces if left else spaces + text


def fact_lines(facts: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Labels and texts in two columns if these fit, else in one."""
    pairs = [f"{name + ':':<{LABEL}}{text}" for name, text in facts]
    half = (len(pairs) + 1) // 2
    start = max(map(columns, pairs[:half]), default=0) + 4
    if start + max(map(columns, pairs[half:]), default=0) > width:
        return [line for pair in pairs for line in wrapped(pair, width, " " * LABEL)]
    return [
        (padded(left, start) + right).rstrip()
        for left, right in zip(pairs[:half], [*pairs[half:], ""], strict=False)
    ]


def laid_out(names: Sequence[Names], fields: Sequence[Field], width: int) -> Laid:
    """A table that fits: it drops columns, then shortens names, and never cuts a number."""
    whole = [_longest(one, cells) for one, cells in zip(names, _labelled(names), strict=True)]
    least = [min(size, _short_width(one)) for one, size in zip(names, whole, strict=True)]
    kept = _kept(fields, least, width)
    sizes = _field_widths(kept, least, width)
    shares = _shared(whole, least, width - _total(sizes) - len(GAP))
    columns_of_names = [
        _Column(one.head, cells, max(_longest_line(cells), min(columns(one.head), share)), True)
        for one, cells, share in zip(names, _name_cells(names, shares), shares, strict=True)
    ]
    others = [
        _Column(field.head, [[cell] for cell in field.cells], size, field.left)
        for field, size in zip(kept, sizes, strict=True)
    ]
    table = [*columns_of_names, *others]
    heads = [wrapped(column.head, column.width) for column in table]
    height = max(map(len, heads))
    bottom = [[""] * (height - len(lines)) + lines for lines in heads]
    rows = zip(*(column.cells for column in table), strict=True)
    return Laid(_aligned(bottom, table), [_aligned(row, table) for row in rows])


class _Column(NamedTuple):
    head: str
    cells: Sequence[Sequence[str]]
    """The lines of each cell."""
    width: int
    left: bool


def _kept(fields: Sequence[Field], least: Sequence[int], width: int) -> list[Field]:
    """The columns that fit beside names of the least widths."""
    kept = list(fields)
    for rank in sorted({field.drop for field in fields} - {0}):
        if _total([*least, *map(_narrow, kept)]) <= width:
            break
        kept = [field for field in kept if field.drop != rank]
    return kept


def _field_widths(fields: Sequence[Field], least: Sequence[int], width: int) -> list[int]:
    """The widths of columns: their heads take several lines only if they must."""
    sizes = [max(_narrow(field), columns(field.head)) for field in fields]
    return sizes if _total([*least, *sizes]) <= width else list(map(_narrow, fields))


def _longest_line(cells: Sequence[Sequence[str]]) -> int:
    return max((columns(line) for lines in cells for line in lines), default=0)


def _aligned(cells: Sequence[Sequence[str]], table: Sequence[_Column]) -> list[str]:
    """The lines of one row."""
    return [
        GAP.join(
            padded(lines[place] if place < len(lines) else "", column.width, column.left)
            for lines, column in zip(cells, table, strict=True)
        ).rstrip()
        for place in range(max(map(len, cells)))
    ]


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + len(GAP) * (len(sizes) - 1)


def _narrow(field: Field) -> int:
    """The width of a column whose head is wrapped between its words."""
    return max(columns(text) for text in (*field.cells, *field.head.split(" ")))


def _longest(one: Names, cells: Sequence[str]) -> int:
    """The width that shows the head of a column of names, and these cells."""
    return max(columns(text) for text in (one.head, *cells))


def _short_width(one: Names) -> int:
    """The width that a column of names has before numbers are dropped."""
    members = max(map(len, one.terms), default=1)
    return members * (SHORT_NAME if members == 1 else SHORT_NAME - 4) + len(JOIN) * (members - 1)


def _shared(whole: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths of the columns of names: what they need, or a share of the room."""
    sizes = list(least)
    if _total(sizes) > room:
        each = (room - len(GAP) * (len(sizes) - 1)) // len(sizes)
        return [min(size, max(each, FEWEST)) for size in sizes]
    spare = room - _total(sizes)
    for left, place in enumerate(sorted(range(len(sizes)), key=lambda i: whole[i])):
        added = min(whole[place] - sizes[place], spare // (len(sizes) - left))
        sizes[place] += added
        spare -= added
    return sizes


def _labelled(names: Sequence[Names], width: int = sys.maxsize) -> list[list[str]]:
    """The cells of columns of names, if a name has this width: a name has one label in a table."""
    short = labels((name for one in names for term in one.terms for name in term), width)
    return [[set_label(term, short) for term in one.terms] for one in names]


def _name_cells(names: Sequence[Names], sizes: Sequence[int]) -> list[list[list[str]]]:
    """The lines of each cell of columns of names: labels as long as the widths allow."""

    def fit(cells: list[list[str]]) -> bool:
        pairs = zip(cells, sizes, strict=True)
        return all(columns(cell) <= size for column, size in pairs for cell in column)

    found = _labelled(names)
    if not fit(found):
        low, high = FEWEST, max(*sizes, FEWEST)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fit(_labelled(names, middle)) else (low, middle - 1)
        found = _labelled(names, low)
    return [
        [_members(cell, size) for cell in column] for column, size in zip(found, sizes, strict=True)
    ]


def _members(cell: str, size: int) -> list[str]:
    """A set on one line, or on several if it does not fit; no label contains the joining sign."""
    first, *others = cell.split(JOIN)
    lines, sign = [first], JOIN.rstrip()
    for label in others:
        joined = lines[-1] + JOIN + label
        if columns(joined if label is others[-1] else joined + sign) <= size:
            lines[-1] = joined
        else:
            lines[-1] += sign
            lines.append(label)
    return lines
