"""A result in a notebook: its tables, and its first plot if matplotlib is installed."""

from __future__ import annotations

from importlib.util import find_spec

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit._summary import as_html, escaped
from sfit._text import printable
from sfit.compare import Comparison, Grid
from sfit.compare._base import MOST_ROWS

WIDTH = 7.0
WIDTH_OF_COMPARISON = 8.0


def for_notebook(result: SFITResult | PartitionedResult | Comparison) -> str:
    """HTML that follows the notebook's style, light or dark."""
    if isinstance(result, Comparison):
        return _comparison(result)
    if isinstance(result, PartitionedResult):
        tables = [
            f"<h4>{escaped(printable(f'{result.by} = {label}'))}</h4>{as_html(part)}"
            for label, part in result.parts
        ]
        return "".join([_picture(result), *tables])
    return as_html(result) + _picture(result)


def _picture(result: SFITResult | PartitionedResult) -> str:
    if find_spec("matplotlib") is None:
        return ""
    from sfit.report._figures import importance, parts_side_by_side

    if isinstance(result, PartitionedResult):
        return parts_side_by_side(result, "sfit-parts", WIDTH).svg
    return importance(result, "sfit-importance", WIDTH).svg if result.tests else ""


def _comparison(result: Comparison) -> str:
    first, *others = map(printable, result.findings())
    caveats = "".join(f"<p>Note: {escaped(printable(caveat))}</p>" for caveat in result.caveats)
    facts = escaped("; ".join(f"{name}: {text}" for name, text in result.facts()))
    return (
        f"<div><p><strong>{escaped(first)}</strong> {escaped(' '.join(others))}</p>"
        f"{_pictures(result)}{''.join(map(_grid, result.grids()))}{caveats}<p>{facts}</p></div>"
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
        + "".join(f"<td>{escaped(printable(cell))}</td>" for cell in (*row, "*" if marked else ""))
        + "</tr>"
        for row, marked in zip(grid.rows[:MOST_ROWS], grid.marked[:MOST_ROWS], strict=True)
    )
    more = len(grid.rows) - MOST_ROWS
    notes = [f"... and {more:,} more"] if more > 0 else []
    notes += [grid.note] if grid.note else []
    return (
        f"<h4>{escaped(printable(grid.title))}</h4>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        + "".join(f"<p>{escaped(printable(note))}</p>" for note in notes)
    )
