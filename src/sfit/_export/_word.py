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
from sfit._export._word_table import WordCell, fits, row_of_cells, slices, table_element, widths_of
from sfit._text import printable, shortened
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
LONGEST_PROPERTY = 255
"""Characters of a title or an author among the properties of a file."""
CARD_PADDING = 0.2
"""Inches between a card and its neighbour."""

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
        heading = writer.title(section.title, 1)
        if heading is not None and section.appendix and not in_appendix:
            heading.paragraph_format.page_break_before = True
        in_appendix = section.appendix
        for block in section.blocks:
            writer.write(block)
    page_numbers(file, printable(document.footer))
    about = file.core_properties
    about.title = shortened(printable(document.title), LONGEST_PROPERTY)
    about.author = about.last_modified_by = shortened(printable(author), LONGEST_PROPERTY)
    about.comments = ""
    if created is not None:
        about.created = about.modified = created
    buffer = io.BytesIO()
    file.save(buffer)
    save_office(buffer.getvalue(), path, keep_times=created is not None)


class Writer:
    """Writes blocks at the end of a file or of a cell, and turns the page for wide tables."""

    def __init__(self, place: Any, width: float | None = None) -> None:
        self.place = place
        self.page = PORTRAIT
        self.width = width
        self.captions: list[str] = []
        """The captions of pictures in cells, which stand below all cells, each once."""
        self.forms: dict[type, Callable[[Any], None]] = {
            Text: self._text,
            Facts: self._facts,
            Items: self._items,
            Checklist: self._checklist,
            Table: self._table,
            Matrix: self._table,
            Picture: self._picture,
            Cards: self._cards,
            Code: self._code,
            Formula: self._formula,
            SignOff: self._sign_off,
        }

    @property
    def inside(self) -> float:
        """Inches between the margins."""
        return self.page.inside if self.width is None else self.width

    def write(self, block: Block) -> None:
        """Write one block."""
        self.turn(page_of(block))
        self.forms[type(block)](block)

    def turn(self, page: Page) -> None:
        """Go on on pages of this format; a cell stays on its page."""
        if page != self.page and self.width is None:
            from docx.enum.section import WD_SECTION

            lay_out(self.place.add_section(WD_SECTION.NEW_PAGE), page)
            self.page = page

    def title(self, text: str, level: int = 3) -> Any:
        """A heading, unless the text is empty."""
        heading = self._lines([text] if text else [], f"Heading {level}")
        if heading is not None and self.width is not None:
            heading.paragraph_format.space_before = 0  # cells have little room
        return heading

    def _lines(self, lines: Sequence[str], style: str) -> Any:
        """A paragraph per line; the last of them."""
        made = [self.place.add_paragraph(printable(line), style=style) for line in lines]
        return made[-1] if made else None

    def _grid(
        self, rows: Sequence[Sequence[WordCell]], widths: Sequence[float], **options: Any
    ) -> None:
        """A table, and a little space below it."""
        space = self.place.add_paragraph(style="SfitSpace")
        space._p.addprevious(table_element(rows, widths, **options))

    def _text(self, block: Text) -> None:
        self._lines([block.text], ROLES[block.role])

    def _facts(self, block: Facts) -> None:
        self.title(block.title)
        rows = [[WordCell(label, bold=True), WordCell(text)] for label, text in block.pairs]
        longest = max((len(label) for label, _ in block.pairs), default=0)
        left = min(0.085 * longest + 0.2, self.inside / 3)
        if rows:
            self._grid(rows, [left, self.inside - left], has_head=False)

    def _items(self, block: Items) -> None:
        self.title(block.title)
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
            self._grid(rows, [0.75, 1.9, self.inside - 2.65], has_head=False)

    def _table(self, block: Table | Matrix) -> None:
        """A table, in slices if it is too wide for any page."""
        self.title(block.title)
        for some in slices(cells_of(block), self.inside):
            self._grid(some, widths_of(some, self.inside))
        self._lines(notes_of(block), "SfitNote")

    def _picture(self, block: Picture) -> None:
        from docx.shared import Inches

        display = block.display
        widths = block.width, getattr(display, "widest", block.width)
        drawn = min(*widths, max(DRAWN_WIDTH, getattr(display, "width", 0.0)))
        scale = min(1.0, self.inside / drawn, TALLEST / display.height)
        self.title(display.title)
        paragraph = self.place.add_paragraph(style="SfitPicture")
        image = io.BytesIO(as_png(display, drawn))
        shape = paragraph.add_run().add_picture(image, width=Inches(scale * drawn))
        about = shape._inline.docPr
        about.set("title", printable(display.title))
        about.set("descr", printable(f"{display.title}. {display.caption}"))
        caption = [display.caption] if display.caption else []
        if self.width is None:
            self._lines(caption, "SfitNote")
        else:
            self.captions += caption

    def _cards(self, block: Cards) -> None:
        """Cards, two beside each other; the page never breaks within one."""
        if not block.cards or self.width is not None:
            for card in block.cards:
                self._card(card)
            return
        width = self.inside / 2
        captions: list[str] = []
        for at in range(0, len(block.cards), 2):
            space = self.place.add_paragraph(style="SfitSpace")
            row = row_of_cells(space, [width, width])
            for cell, card in zip(row, block.cards[at : at + 2], strict=False):
                writer = Writer(cell, width - CARD_PADDING)
                writer._card(card)
                captions += writer.captions
                if len(cell.paragraphs) > 1:  # Word wants one in every cell, and no empty one first
                    cell._tc.remove(cell.paragraphs[0]._p)
        self._lines(list(dict.fromkeys(captions)), "SfitNote")

    def _card(self, card: Card) -> None:
        self.title(card.title, 2)
        self._lines([card.verdict] if card.verdict else [], "SfitVerdict")
        for block in card.blocks:
            self.write(block)

    def _code(self, block: Code) -> None:
        text = "\n".join(printable(line) for line in block.text.splitlines())
        self.place.add_paragraph(text, style="SfitCode")

    def _formula(self, block: Formula) -> None:
        self._lines(block.text.splitlines(), "SfitFormula")

    def _sign_off(self, block: SignOff) -> None:
        head = [WordCell(text) for text in ("Role", "Name", "Signature", "Date")]
        rows = [[WordCell(role, bold=True), *[WordCell("")] * 3] for role in block.roles]
        share = self.inside / 10
        self._grid([head, *rows], [2.4 * share, 2.6 * share, 3.2 * share, 1.8 * share], height=0.5)


def page_of(block: Block) -> Page:
    """The page that a block fits on, upright if possible."""
    if not isinstance(block, Table | Matrix) or fits(cells_of(block), PORTRAIT.inside):
        return PORTRAIT
    return LANDSCAPE


def notes_of(block: Table | Matrix) -> list[str]:
    """The lines below a table."""
    if isinstance(block, Matrix):
        return [block.note] if block.note else []
    return [*([f"Bold and shaded: {block.mark}."] if any(block.marked) else []), *block.notes]


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
