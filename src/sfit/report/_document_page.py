"""A document of blocks as one self-contained page, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, groupby
from typing import Any

from sfit.report._blocks import Block, Cards, Document, Picture, Table, Text
from sfit.report._comparison import column_key, number_in
from sfit.report._drawing import draw
from sfit.report._templates import render_markdown, render_page

Laid = tuple[str, Any]
"""A block as a template takes it: its kind in lower case, and its content."""

STATES = {"yes": ("✓", "Yes"), "no": ("✗", "No"), "open": ("?", "Open")}
"""Symbol and word of each state of an assumption."""


def as_document_page(document: Document) -> str:
    """The document as HTML."""
    names = (f"picture-{place}" for place in count(1))
    sections = [(section, list(_laid_out(section.blocks, names))) for section in document.sections]
    return render_page(
        "document.html.jinja", {"document": document, "sections": sections, "states": STATES}
    )


def as_document_markdown(document: Document) -> str:
    """The document as Markdown, without pictures."""
    sections = [(section, list(_flat(section.blocks, "###"))) for section in document.sections]
    return render_markdown(
        "document.md.jinja", {"document": document, "sections": sections, "states": STATES}
    )


def _laid_out(blocks: Sequence[Block], names: Iterator[str]) -> Iterator[Laid]:
    """Blocks with their pictures drawn; neighbouring facts, and sentences of a finding, as one."""
    for kind, group in groupby(blocks, _kind):
        if kind == "facts":
            yield kind, list(group)
            continue
        if kind == "finding":
            yield kind, [block.text for block in group if isinstance(block, Text)]
            continue
        for block in group:
            if isinstance(block, Picture):
                drawing = draw(block.display, next(names), block.width)
                yield "figure", drawing._replace(captioned=block.captioned)
            elif isinstance(block, Cards):
                yield "cards", [(one, list(_laid_out(one.blocks, names))) for one in block.cards]
            elif isinstance(block, Table):
                yield "table", _table(block)
            else:
                yield kind, block


def _flat(blocks: Sequence[Block], level: str) -> Iterator[tuple[str, str, Any]]:
    """Blocks with the level of their headings; the blocks of a card follow its title."""
    for block in blocks:
        if isinstance(block, Cards):
            for card in block.cards:
                yield "card", level, card
                yield from _flat(card.blocks, f"{level}#")
        else:
            yield _kind(block), level, block


def _kind(block: Block) -> str:
    if isinstance(block, Text) and block.role == "finding":
        return "finding"
    return type(block).__name__.lower()


def _table(table: Table) -> dict[str, Any]:
    """A table in the shape of the tables of a report."""
    kinds = ["head", *table.kinds[1:]]
    marked = table.marked or (False,) * len(table.rows)
    return {
        "title": table.title,
        "rows_are": "rows",
        "mark": table.mark,
        "notes": table.notes,
        "searchable": table.searchable,
        "columns": [
            {"key": column_key(title), "title": title, "kind": kind}
            for title, kind in zip(table.head, kinds, strict=True)
        ],
        "rows": [
            {
                "marked": mark,
                "cells": [
                    {"kind": kind, "text": cell.text, "value": _value(cell.text, cell.value, kind)}
                    for cell, kind in zip(row, kinds, strict=True)
                ],
            }
            for row, mark in zip(table.rows, marked, strict=True)
        ],
    }


def _value(text: str, value: str, kind: str) -> str | None:
    """What sorts a cell; None: its text does."""
    return value or (number_in(text) if kind == "number" else None)
