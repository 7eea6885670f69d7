"""A comparison as the same dict of plain values as the result of a test."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sfit._text import printable, sentence
from sfit.compare import Comparison, Grid
from sfit.report._origin import stages_of, time_of, versions_of
from sfit.report._set_tables import LOST, MOST_ROWS, left_out_notes

KEY_FIGURES = ("Rows", "Clusters", "Loss", "alpha", "Correction", "Draws")
"""The facts shown at the top of the page."""

NUMBER = re.compile(r"(?:< )?(-?[\d,]*\.?\d+(?:e[+-]?\d+)?)")
NO_NUMBER = ("–", "-", "")


def describe_comparison(comparison: Comparison) -> dict[str, Any]:
    """The content of a report, as text and numbers; names from the user are made printable."""
    grids = comparison.grids()
    facts = [(name, printable(value)) for name, value in comparison.facts()]
    names = [name for grid in grids for row in grid.rows for name in row[: grid.n_names]]
    names += getattr(comparison, "names", ())  # the first model is in no row
    part = {
        "label": "",
        "finding": [],
        "tables": [_table(grid, MOST_ROWS // len(grids)) for grid in grids],
        "gates": [],
        "gate_lines": [],
    }
    return {
        "title": printable(comparison.title),
        "finding": [printable(sentence) for sentence in comparison.findings()],
        "figures": [(_lower(name), value) for name, value in facts if name in KEY_FIGURES],
        "parts": [part],
        "caveats": [sentence(printable(caveat), names) for caveat in comparison.caveats],
        "reading": [(printable(name), printable(text)) for name, text in comparison.reading()],
        "settings": [*facts, *time_of(comparison.run)],
        "stages": stages_of(comparison.run),
        "versions": versions_of(comparison.run),
        "method": comparison.METHOD,
    }


def _lower(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _table(grid: Grid, most: int) -> dict[str, Any]:
    """A grid as a table to sort, with the verdict in words as its last column."""
    kinds = [_kind(place, column, grid) for place, column in enumerate(_columns(grid))]
    notes = left_out_notes(len(grid.rows[most:]), sum(grid.marked[most:]), "rows", grid.mark)
    corrected = ["Verdicts are corrected, intervals are not."] if any(grid.lost) else []
    return {
        "title": printable(grid.title),
        "rows_are": "rows",
        "mark": grid.mark,
        "notes": [*([printable(grid.note)] if grid.note else []), *corrected, *notes],
        "columns": [
            {"key": column_key(title), "title": printable(title), "kind": kind}
            for title, kind in zip(grid.head, kinds, strict=True)
        ]
        + [{"key": column_key(grid.mark), "title": "Verdict", "kind": "verdict"}],
        "rows": [
            {
                "marked": marked,
                "cells": [*map(_cell, row, kinds), _verdict(grid, place)],
            }
            for place, (row, marked) in enumerate(
                zip(grid.rows[:most], grid.marked[:most], strict=True)
            )
        ],
    }


def _columns(grid: Grid) -> list[tuple[str, ...]]:
    return [tuple(row[place] for row in grid.rows) for place in range(len(grid.head))]


def _kind(place: int, column: Sequence[str], grid: Grid) -> str:
    """Names of the row, numbers, or other text."""
    if place < grid.n_names:
        return "head"
    return "number" if all(number_in(text) is not None for text in column) else "name"


def number_in(text: str) -> str | None:
    """The number that a cell shows, as spreadsheets write it; None if it shows other text."""
    if text in NO_NUMBER:
        return ""
    plain = text.replace("−", "-")
    if plain in ("∞", "-∞"):
        return plain.replace("∞", "inf")
    match = NUMBER.fullmatch(plain)
    return None if match is None else match.group(1).replace(",", "")


def _cell(text: str, kind: str) -> dict[str, str]:
    value = number_in(text) if kind == "number" else ""
    return {"kind": kind, "value": value or "", "text": printable(text)}


def _verdict(grid: Grid, place: int) -> dict[str, str]:
    marked, lost = grid.marked[place], bool(grid.lost) and grid.lost[place]
    text = grid.mark if marked else LOST if lost else "–"
    return {"kind": "verdict", "value": str(int(marked)), "text": text}


def column_key(title: str) -> str:
    """The name of a column in CSV: letters, digits and underscores."""
    return re.sub(r"\W+", "_", title.lower()).strip("_") or "column"
