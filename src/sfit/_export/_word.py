"""A document as a Word file: every block in its own form, pictures as PNG."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sfit._export._office import check_office_path, save_office
from sfit._export._pictures import as_png
from sfit._export._word_style import (
    LANDSCAPE,
    PORTRAIT,
    Page,
    lay_out,
    new_file,
    page_numbers,
)
from sfit._export._word_table import WordCell, fits, slices, table_element, widths_of
from sfit._text import printable
from sfit.report._blocks import (
    Block,
    Card,
    Cards,
    Checklist,
    Code,
    Document,
    Facts,
    Formula,
    Items,
    Matrix,
    Picture,
    SignOff,
    Table,
    Text,
)

DRAWN_WIDTH = 7.5
"""Inches that a picture is drawn at, if it needs no more: its letters stay readable on paper."""
TALLEST = 8.4
"""Inches; a taller picture is made smaller."""

ROLES = {"plain": "Normal", "finding": "SfitFinding", "note": "SfitNote", "warning": "SfitWarning"}
STATES = {"yes": "✓ yes", "no": "✗ no", "open": "? open"}


def write_word(
    document: Document,
    path: str | Path,
    *,
    author: str = "",
    created: datetime | None = None,
) -> None:
    """Write a document; without `created` the file holds no time, and equal documents are equal."""
    check_office_path(path, ".docx")
    file = new_file()
    writer = Writer(file)
    file.add_paragraph(printable(document.title), style="Title")
    if document.subtitle:
        file.add_paragraph(printable(document.subtitle), style="Subtitle")
    in_appendix = False
    for section in document.sections:
        writer.turn(page_of(section.blocks[0]) if section.blocks else PORTRAIT)
        heading = file.add_heading(printable(section.title), 1)
        if section.appendix and not in_appendix:
            heading.paragraph_format.page_break_before = True
        in_appendix = section.appendix
        for block in section.blocks:
            writer.write(block)
    page_numbers(file, printable(document.footer))
    about = file.core_properties
    about.title, about.author, about.comments = printable(document.title), printable(author), ""
    about.last_modified_by = printable(author)
    if created is not None:
        about.created = about.modified = created
    buffer = io.BytesIO()
    file.save(buffer)
    save_office(buffer.getvalue(), path, keep_times=created is not None)


class Writer:
    """Writes blocks at the end of a file, and turns the page for wide tables."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.page = PORTRAIT
        self.forms: dict[type, Callable[[Any], None]] = {
            Text: self._text,
            Facts: self._facts,
            Items: self._items,
            Checklist: self._checklist,
            Table: self._table,
            Matrix: self._matrix,
            Picture: self._picture,
            Cards: self._cards,
            Code: self._code,
            Formula: self._formula,
            SignOff: self._sign_off,
        }

    def write(self, block: Block) -> None:
        """Write one block."""
        self.turn(page_of(block))
        self.forms[type(block)](block)

    def turn(self, page: Page) -> None:
        """Go on on pages of this format."""
        if page != self.page:
            from docx.enum.section import WD_SECTION

            lay_out(self.file.add_section(WD_SECTION.NEW_PAGE), page)
            self.page = page

    def _title(self, text: str, level: int = 3) -> None:
        if text:
            self.file.add_heading(printable(text), level)

    def _lines(self, lines: Sequence[str], style: str) -> None:
        for line in lines:
            self.file.add_paragraph(printable(line), style=style)

    def _grid(
        self, rows: Sequence[Sequence[WordCell]], widths: Sequence[float], **options: Any
    ) -> None:
        """A table, and a little space below it."""
        space = self.file.add_paragraph(style="SfitSpace")
        space._p.addprevious(table_element(rows, widths, **options))

    def _text(self, block: Text) -> None:
        self._lines([block.text], ROLES[block.role])

    def _facts(self, block: Facts) -> None:
        self._title(block.title)
        rows = [[WordCell(label, bold=True), WordCell(text)] for label, text in block.pairs]
        left = min(max((len(label) for label, _ in block.pairs), default=0) * 0.085 + 0.2, 2.2)
        if rows:
            self._grid(rows, [left, self.page.inside - left], has_head=False)

    def _items(self, block: Items) -> None:
        self._title(block.title)
        self._lines(block.items, "List Bullet")

    def _checklist(self, block: Checklist) -> None:
        rows = [
            [
                WordCell(
                    STATES.get(state, state), bold=True, shade=state if state in STATES else ""
                ),
                WordCell(name, bold=True),
                WordCell(text),
            ]
            for state, name, text in block.items
        ]
        if rows:
            self._grid(rows, [0.75, 1.9, self.page.inside - 2.65], has_head=False)

    def _table(self, block: Table) -> None:
        note = [f"Bold and shaded: {block.mark}."] if any(block.marked) else []
        self._slices(block.title, cells_of(block), [*note, *block.notes])

    def _matrix(self, block: Matrix) -> None:
        self._slices(block.title, cells_of(block), [block.note] if block.note else [])

    def _slices(self, title: str, rows: Sequence[Sequence[WordCell]], notes: Sequence[str]) -> None:
        """A table, in slices if it is too wide for any page."""
        self._title(title)
        for some in slices(rows, self.page.inside):
            self._grid(some, widths_of(some, self.page.inside))
        self._lines(notes, "SfitNote")

    def _picture(self, block: Picture) -> None:
        from docx.shared import Inches

        display = block.display
        widths = block.width, getattr(display, "widest", block.width)
        drawn = min(*widths, max(DRAWN_WIDTH, getattr(display, "width", 0.0)))
        scale = min(1.0, self.page.inside / drawn, TALLEST / display.height)
        self._title(display.title)
        paragraph = self.file.add_paragraph(style="SfitPicture")
        image = io.BytesIO(as_png(display, drawn))
        shape = paragraph.add_run().add_picture(image, width=Inches(scale * drawn))
        about = shape._inline.docPr
        about.set("title", printable(display.title))
        about.set("descr", printable(f"{display.title}. {display.caption}"))
        self._lines([display.caption] if display.caption else [], "SfitNote")

    def _cards(self, block: Cards) -> None:
        for card in block.cards:
            self._card(card)

    def _card(self, card: Card) -> None:
        self._title(card.title, 2)
        self._lines([card.verdict] if card.verdict else [], "SfitFinding")
        for block in card.blocks:
            self.write(block)

    def _code(self, block: Code) -> None:
        text = "\n".join(printable(line) for line in block.text.splitlines())
        self.file.add_paragraph(text, style="SfitCode")

    def _formula(self, block: Formula) -> None:
        self._lines(block.text.splitlines(), "SfitFormula")

    def _sign_off(self, block: SignOff) -> None:
        head = [WordCell(text) for text in ("Role", "Name", "Signature", "Date")]
        rows = [[WordCell(role, bold=True), *[WordCell("")] * 3] for role in block.roles]
        share = self.page.inside / 10
        self._grid([head, *rows], [2.4 * share, 2.6 * share, 3.2 * share, 1.8 * share], height=0.5)


def page_of(block: Block) -> Page:
    """The page that a block fits on, upright if possible."""
    if not isinstance(block, Table | Matrix) or fits(cells_of(block), PORTRAIT.inside):
        return PORTRAIT
    return LANDSCAPE


def cells_of(block: Table | Matrix) -> list[list[WordCell]]:
    """The heading and the rows of a table."""
    if isinstance(block, Matrix):
        return _cells_of_matrix(block)
    marked = block.marked or (False,) * len(block.rows)
    right = [kind == "number" for kind in block.kinds]
    return [
        [WordCell(text, at) for text, at in zip(block.head, right, strict=True)],
        *(
            [
                WordCell(cell.text, at, flag, "marked" if flag else "")
                for cell, at in zip(row, right, strict=True)
            ]
            for row, flag in zip(block.rows, marked, strict=True)
        ),
    ]


def _cells_of_matrix(block: Matrix) -> list[list[WordCell]]:
    return [
        [WordCell(block.corner), *(WordCell(name, True) for name in block.columns)],
        *(
            [
                WordCell(name, bold=True),
                *(
                    WordCell(text, True, flag, "marked" if flag else "")
                    for text, flag in zip(texts, flags, strict=True)
                ),
            ]
            for name, texts, flags in zip(block.rows, block.cells, block.marked, strict=True)
        ),
    ]
