"""A result in a notebook: its tables, and its first plot if matplotlib is installed."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape as escaped
from importlib.util import find_spec

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit._summary import Family, correction_note, families, fields, gate_lines, headline
from sfit._summary_lines import NOTE
from sfit._text import printable, set_name
from sfit.compare import Comparison, Grid
from sfit.compare._grid import MOST_ROWS, mark

WIDTH = 7.0
WIDTH_OF_COMPARISON = 8.0


def for_notebook(result: SFITResult | PartitionedResult | Comparison) -> str:
    """HTML that follows the notebook's style, light or dark."""
    if isinstance(result, Comparison):
        return _comparison(result)
    if isinstance(result, PartitionedResult):
        tables = "".join(
            f"<h4>{escaped(title)}</h4>{_sets(part)}"
            for title, (_, part) in zip(result.titles, result.parts, strict=True)
        )
        return _picture(result) + tables + _caveats(result)
    return _sets(result) + _caveats(result) + _picture(result)


def _sets(result: SFITResult) -> str:
    """The finding and the tables of one result; all text from the user is escaped."""
    note = correction_note(result)
    below = [*([note] if note else []), *gate_lines(result)]
    tables = "".join(_table(result, family) for family in families(result))
    finding = f"<p><strong>{escaped(headline(result))}</strong></p>"
    return f"<div>{finding}{tables}{_paragraphs(below)}</div>"


def _table(result: SFITResult, family: Family) -> str:
    """The sets of one order."""
    beside = fields(result, family)
    sets = [set_name(test.term) for test in family.tests]
    head = "".join(f"<th>{escaped(name)}</th>" for name in ("set", *(f.head for f in beside)))
    rows = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>"
        for row in zip(sets, *(field.cells for field in beside), strict=True)
    )
    return (
        f"<p>{escaped(family.heading)}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )


def _caveats(result: SFITResult | PartitionedResult | Comparison) -> str:
    return _paragraphs(f"{NOTE}{printable(caveat)}" for caveat in result.caveats)


def _paragraphs(texts: Iterable[str]) -> str:
    return "".join(f"<p>{escaped(text)}</p>" for text in texts)


def _picture(result: SFITResult | PartitionedResult) -> str:
    if find_spec("matplotlib") is None:
        return ""
    from sfit.report._figures import importance, parts_side_by_side

    if isinstance(result, PartitionedResult):
        return parts_side_by_side(result, "sfit-parts", WIDTH).svg
    return importance(result, "sfit-importance", WIDTH).svg if result.tests else ""


def _comparison(result: Comparison) -> str:
    first, *others = map(printable, result.findings())
    facts = escaped("; ".join(f"{name}: {text}" for name, text in result.facts()))
    return (
        f"<div><p><strong>{escaped(first)}</strong> {escaped(' '.join(others))}</p>"
        f"{_pictures(result)}{''.join(map(_grid, result.grids()))}{_caveats(result)}"
        f"<p>{facts}</p></div>"
    )


def _pictures(result: Comparison) -> str:
    if find_spec("matplotlib") is None:
        return ""
    from sfit.report._figures import figures_of_comparison

    name = f"sfit-{type(result).__name__.lower()}"
    return "".join(one.svg for one in figures_of_comparison(result, name, WIDTH_OF_COMPARISON))


def _grid(grid: Grid) -> str:
    """A table; a star marks the rows that the summary marks."""
    head = "".join(f"<th>{escaped(printable(title))}</th>" for title in (*grid.head, ""))
    rows = "".join(
        "<tr>"
        + "".join(f"<td>{escaped(printable(cell))}</td>" for cell in (*row, mark(grid, place)))
        + "</tr>"
        for place, row in enumerate(grid.rows[:MOST_ROWS])
    )
    more = len(grid.rows) - MOST_ROWS
    notes = [f"... and {more:,} more rows"] if more > 0 else []
    notes += [grid.lost_note()] if any(grid.lost) else []
    notes += [grid.note] if grid.note else []
    return (
        f"<h4>{escaped(printable(grid.title))}</h4>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        + "".join(f"<p>{escaped(printable(note))}</p>" for note in notes)
    )
