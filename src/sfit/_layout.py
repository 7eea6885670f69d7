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
    whole = [_whole_width(one) for one in names]
    least = [min(size, _short_width(one)) for one, size in zip(names, whole, strict=True)]
    kept = list(fields)
    for rank in sorted({field.drop for field in fields} - {0}):
        if _total([*least, *map(_narrow, kept)]) <= width:
            break
        kept = [field for field in kept if field.drop != rank]
    heads = [max(_narrow(field), columns(field.head)) for field in kept]
    if _total([*least, *heads]) > width:
        heads = list(map(_narrow, kept))
    sizes = _shared(whole, least, width - _total(heads) - len(GAP))
    cells = [_name_cells(one, size) for one, size in zip(names, sizes, strict=True)]
    sizes = [
        max([columns(line) for cell in column for line in cell] + [min(columns(one.head), size)])
        for one, column, size in zip(names, cells, sizes, strict=True)
    ]
    headings = [
        *(wrapped(one.head, size) for one, size in zip(names, sizes, strict=True)),
        *(wrapped(field.head, size) for field, size in zip(kept, heads, strict=True)),
    ]
    height, left = max(map(len, headings)), [*(True for _ in names), *(f.left for f in kept)]
    bottom = [[""] * (height - len(lines)) + lines for lines in headings]
    rows = [
        [*(column[place] for column in cells), *([field.cells[place]] for field in kept)]
        for place in range(len(names[0].terms))
    ]
    return Laid(_aligned(bottom, [*sizes, *heads], left), [
        _aligned(row, [*sizes, *heads], left) for row in rows
    ])  # fmt: skip


def _aligned(
    cells: Sequence[Sequence[str]], sizes: Sequence[int], left: Sequence[bool]
) -> list[str]:
    """The lines of one row."""
    return [
        GAP.join(
            padded(cell[line] if line < len(cell) else "", size, to_left)
            for cell, size, to_left in zip(cells, sizes, left, strict=True)
        ).rstrip()
        for line in range(max(map(len, cells)))
    ]


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + len(GAP) * (len(sizes) - 1)


def _narrow(field: Field) -> int:
    """The width of a column whose head is wrapped between its words."""
    return max(columns(text) for text in (*field.cells, *field.head.split(" ")))


def _whole_width(one: Names) -> int:
    """The width that shows the head, and every name in full."""
    return max(columns(text) for text in (one.head, *_cells_within(one, None)))


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


def _cells_within(one: Names, width: int | None) -> list[str]:
    """The cells of a column if a name has this many columns; None: as many as it needs."""
    short = labels((name for term in one.terms for name in term), width or sys.maxsize)
    return [set_label(term, short) for term in one.terms]


def _name_cells(one: Names, size: int) -> list[list[str]]:
    """The lines of each cell of a column of names: labels as long as the width allows."""
    cells = _cells_within(one, None)
    if max(map(columns, cells), default=0) > size:
        low, high = FEWEST, max(size, FEWEST)
        while low < high:
            fits = (low + high + 1) // 2
            if max(map(columns, _cells_within(one, fits))) <= size:
                low = fits
            else:
                high = fits - 1
        cells = _cells_within(one, low)
    return [_members(cell, size) for cell in cells]


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
