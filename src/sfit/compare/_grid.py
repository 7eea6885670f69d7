"""A table of text, and its lines in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfit._labels import columns, labels
from sfit._layout import WIDTH, Field, Laid, Line, Names, laid_out, wrapped
from sfit._text import printable

MOST_ROWS = 40
"""Rows of a grid that a summary lists; it counts the others."""

STAR, LOST = "*", "c"
"""Marks of rows."""
ROLES = {STAR: "significant", LOST: "lost", "": "dim"}

DISPENSABLE = (
    ("Better rows", "Worse rows", "Better clusters", "Worse clusters"),
    ("p (sign)",),
    ("Median",),
    ("n", "Rest"),
    ("Loss of the first",),
    ("Smallest in", "Largest in"),
    ("Low", "High"),
)
"""Columns that a narrow table drops together, in this order."""

LONGEST = 16
"""Columns of a cell; only texts are longer, and they are shortened."""


@dataclass(frozen=True)
class Grid:
    """A table of text, ready to be shown."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    marked: tuple[bool, ...]
    """Whether each row is significant, or what `mark` says."""
    n_names: int = 1
    """Leading columns that hold names, not numbers."""
    note: str = ""
    """A sentence below the table."""
    mark: str = "significant"
    """What is true of marked rows."""
    lost: tuple[bool, ...] = ()
    """Whether each row would be marked without the correction, but is not; empty: none."""

    def lost_note(self) -> str:
        """What the mark of lost rows means; empty if there are none."""
        if not any(self.lost):
            return ""
        return f"{LOST}: {self.mark} only without the correction. Intervals are not corrected."


def grid_lines(grid: Grid, width: int = WIDTH) -> list[Line]:
    """A grid as lines of at most `width` columns; a star marks significant rows."""
    laid = _laid_out(grid, width - len(STAR) - 1)
    lines = [Line(line, "title") for line in wrapped(printable(grid.title), width)]
    lines += [Line(f"  {line}", "head") for line in laid.head]
    for place, (first, *others) in enumerate(laid.rows):
        sign = mark(grid, place)
        role = ROLES[sign]
        lines += [Line(f"{sign or ' '} {first}", role), *(Line(f"  {one}", role) for one in others)]
    more = len(grid.rows) - len(laid.rows)
    below = [f"... and {more:,} more rows"] if more else []
    below += [text for text in (grid.lost_note(), grid.note) if text]
    return [
        *lines,
        *(Line(line, "dim") for text in below for line in wrapped(printable(text), width)),
    ]


def _laid_out(grid: Grid, width: int) -> Laid:
    rows, heads = grid.rows[:MOST_ROWS], _heads(grid.head, width)
    ranks = {head: rank for rank, heads in enumerate(DISPENSABLE, 1) for head in heads}
    names = [Names(heads[i], [(row[i],) for row in rows]) for i in range(grid.n_names)]
    fields = [
        Field(heads[i], _cells([row[i] for row in rows]), drop=ranks.get(grid.head[i], 0))
        for i in range(grid.n_names, len(heads))
    ]
    return laid_out(names, fields, width)


def mark(grid: Grid, place: int) -> str:
    """The mark of a row."""
    if grid.marked[place]:
        return STAR
    return LOST if grid.lost and grid.lost[place] else ""


def _heads(heads: Sequence[str], width: int) -> list[str]:
    """The heads of columns; they may hold names, of which long words are shortened."""
    longest = max(width // 6, 8)
    whole = labels(heads, 3 * longest)
    words = labels((word for head in whole.values() for word in head.split(" ")), longest)
    return [" ".join(words[word] for word in whole[head].split(" ")) for head in heads]


def _cells(texts: Sequence[str]) -> list[str]:
    """Numbers as they are, and texts as labels if some are long."""
    if all(columns(printable(text)) <= LONGEST for text in texts):
        return [printable(text) for text in texts]
    short = labels(texts, LONGEST)
    return [short[text] for text in texts]
