"""A summary as lines that fit a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from sfit._caveats import lost_to_correction
from sfit._labels import columns, labels
from sfit._layout import WIDTH, Field, Line, Names, fact_lines, laid_out, wrapped
from sfit._set_tests import AnySetTest
from sfit._summary import (
    DROP_BAR,
    Family,
    correction_note,
    facts,
    families,
    fields,
    gate_lines,
    headline,
)
from sfit._text import printable

if TYPE_CHECKING:
    from sfit._result import Settings, SFITResult

TITLE = "Feature significance"
NOTE = "Note: "
LONGEST_NAME = 40
"""Columns of a name in a sentence."""


def role(test: AnySetTest, settings: Settings) -> str:
    """How a terminal shows a set."""
    if test.significant:
        return "significant"
    return "lost" if lost_to_correction(test, settings) else "dim"


Bars = Callable[[Sequence[AnySetTest]], Sequence[str]]
"""Draws the interval of each set of an order."""


def as_lines(result: SFITResult, width: int = WIDTH, bars: Bars | None = None) -> list[Line]:
    """The result without its caveats, in lines of at most `width` columns."""
    head = fact_lines(facts(result), width)
    blocks = [_table(result, family, width, bars) for family in families(result, LONGEST_NAME)]
    inside = [*(line.text for block in blocks for line in block[1:]), *head]
    rule = max(map(columns, inside))
    selected = labels(result.selected, LONGEST_NAME)
    below = [headline(result, names=list(selected.values())), *gate_lines(result)]
    note = correction_note(result)
    return [
        Line(TITLE.center(rule).rstrip(), "title"),
        Line("=" * rule),
        *map(Line, head),
        Line("=" * rule),
        *(
            line
            for place, block in enumerate(blocks)
            for line in (*([Line("")] if place else []), *_ruled(block, rule, width))
        ),
        Line("=" * rule),
        *(Line(line, "dim") for line in (wrapped(note, width) if note else [])),
        *(
            Line(line, "" if place else "title")
            for place, text in enumerate(below)
            for line in wrapped(text, width)
        ),
    ]


def caveat_lines(caveats: Iterable[str], width: int = WIDTH) -> list[Line]:
    """The caveats, one after the other."""
    texts = (f"{NOTE}{printable(caveat)}" for caveat in caveats)
    return [Line(line, "dim") for text in texts for line in wrapped(text, width, "  ")]


def _ruled(block: Sequence[Line], rule: int, width: int) -> list[Line]:
    """A table with its heading wrapped, and a rule below its head."""
    heading, *rest = block
    n_head = sum(line.role == "head" for line in rest)
    return [
        *(Line(line, heading.role) for line in wrapped(heading.text, width)),
        *rest[:n_head],
        Line("-" * rule),
        *rest[n_head:],
    ]


def _table(result: SFITResult, family: Family, width: int, bars: Bars | None) -> list[Line]:
    """The heading of an order, the head of its table, and its rows."""
    beside = fields(result, family)
    if bars is not None:
        place = 1 + next(i for i, field in enumerate(beside) if field.head == "interval")
        beside.insert(place, Field("", bars(family.tests), left=True, drop=DROP_BAR))
    laid = laid_out([Names("set", [test.term for test in family.tests])], beside, width)
    return [
        Line(family.heading, "title"),
        *(Line(line, "head") for line in laid.head),
        *(
            Line(line, role(test, result.settings))
            for test, lines in zip(family.tests, laid.rows, strict=True)
            for line in lines
        ),
    ]
