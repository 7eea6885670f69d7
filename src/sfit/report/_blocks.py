"""A document as plain values: sections of blocks, which HTML, Markdown and Word all render.

Text in blocks is already printable (`sfit._text.printable`) and not escaped: each renderer escapes
it in its own way. A picture is a display of `sfit.plotting` that has not been drawn yet: it has
`title`, `caption`, `height` in inches, `plot(ax)` and `tooltips()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["name", "number", "verdict"]
"""What a column of a table holds."""


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    role: Literal["plain", "finding", "note", "warning"] = "plain"


@dataclass(frozen=True)
class Facts:
    """Labels and their texts."""

    pairs: tuple[tuple[str, str], ...]
    title: str = ""


@dataclass(frozen=True)
class Items:
    """A list of sentences."""

    items: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True)
class Checklist:
    """Assumptions: the state of each ("yes", "no" or "open"), its name and an explanation."""

    items: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Cell:
    """One cell of a table; `value` sorts it and stands in CSV if it differs from the text."""

    text: str
    value: str = ""


@dataclass(frozen=True)
class Table:
    """A table. A row whose flag in `marked` is true is emphasised; the mark has a name."""

    title: str
    key: str
    """The name of the table in exports, such as "performance"."""
    head: tuple[str, ...]
    kinds: tuple[Kind, ...]
    """What each column holds; the first column names the row."""
    rows: tuple[tuple[Cell, ...], ...]
    marked: tuple[bool, ...] = ()
    mark: str = "significant"
    notes: tuple[str, ...] = ()
    searchable: bool = False
    """Whether a page offers to filter, sort and copy the rows."""


@dataclass(frozen=True)
class Matrix:
    """Rows by columns of short texts: features by groups. Marked cells are emphasised."""

    title: str
    key: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    marked: tuple[tuple[bool, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A display, to be drawn by the renderer."""

    display: Any
    width: float = 11.0
    """Inches; 11 is as wide as the page."""
    captioned: bool = True
    """Whether title and caption stand above it; a card says what it shows."""


@dataclass(frozen=True)
class Card:
    """What there is to know about one feature: its name, its verdict, and blocks."""

    title: str
    verdict: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Cards:
    """Cards side by side."""

    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Code:
    """Code or a command, shown verbatim."""

    text: str


@dataclass(frozen=True)
class Formula:
    """A formula in plain Unicode text, with what it defines."""

    text: str


@dataclass(frozen=True)
class SignOff:
    """Lines to sign: a role each, with room for name, signature and date."""

    roles: tuple[str, ...]


Block = (
    Text | Facts | Items | Checklist | Table | Matrix | Picture | Cards | Code | Formula | SignOff
)


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it; sections of the appendix come last."""

    title: str
    key: str
    """The anchor of the section, such as "limitations"."""
    blocks: tuple[Block, ...]
    appendix: bool = False


@dataclass(frozen=True)
class Document:
    """A whole document."""

    title: str
    subtitle: str
    """Who made it, when, and with what; one line."""
    sections: tuple[Section, ...]
    footer: str
