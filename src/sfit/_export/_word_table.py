"""Tables of a Word document, as the XML that Word stores: cell by cell it would take minutes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

from sfit._text import printable

TWENTIETHS = 1440
"""Word measures in twentieths of a point; an inch has this many."""

LINE = "D0D5DD"
SHADE = {"head": "EEF2F7", "marked": "E8F1FB", "yes": "E3F4E6", "no": "FBE4E4", "open": "FFF4D6"}
CHARACTER = 0.062
"""Inches that a character of a table needs."""
PADDING = 0.14
"""Inches beside the text of a cell."""
LONGEST = 40
"""Characters of a column on one line."""
NARROW = 1.1
"""Inches that a column of names has at least, if its names are that long."""


class WordCell(NamedTuple):
    """The text of a cell, and how it looks."""

    text: str
    right: bool = False
    bold: bool = False
    shade: str = ""


def table_element(
    rows: Sequence[Sequence[WordCell]],
    widths: Sequence[float],
    *,
    has_head: bool = True,
    height: float = 0.0,
    style: str = "SfitCell",
    lines: bool = True,
) -> Any:
    """A table with these widths in inches; its heading is repeated on every page."""
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls

    twips = [round(width * TWENTIETHS) for width in widths]
    grid = "".join(f'<w:gridCol w:w="{width}"/>' for width in twips)
    borders = "".join(
        f'<w:{side} w:val="single" w:sz="4" w:space="0" w:color="{LINE}"/>'
        for side in (("top", "bottom", "insideH") if lines else ())
    )
    body = "".join(
        _row(row, twips, has_head and place == 0, height, style) for place, row in enumerate(rows)
    )
    return parse_xml(
        f'<w:tbl {nsdecls("w")}><w:tblPr><w:tblW w:w="{sum(twips)}" w:type="dxa"/>'
        f'<w:tblBorders>{borders}</w:tblBorders><w:tblLayout w:type="fixed"/>'
        '<w:tblCellMar><w:left w:w="70" w:type="dxa"/><w:right w:w="70" w:type="dxa"/>'
        f"</w:tblCellMar></w:tblPr><w:tblGrid>{grid}</w:tblGrid>{body}</w:tbl>"
    )


def row_of_cells(paragraph: Any, widths: Sequence[float]) -> list[Any]:
    """Empty cells beside each other, above a paragraph; the page never breaks within them."""
    from docx.table import Table

    frame = table_element([[WordCell("")] * len(widths)], widths, has_head=False, lines=False)
    paragraph._p.addprevious(frame)
    return list(Table(frame, paragraph._parent).rows[0].cells)


def _row(
    cells: Sequence[WordCell], twips: Sequence[int], is_head: bool, height: float, style: str
) -> str:
    least = f'<w:trHeight w:val="{round(height * TWENTIETHS)}"/>' if height and not is_head else ""
    repeated = "<w:tblHeader/>" if is_head else ""
    inside = "".join(
        _cell(cell, width, is_head, style) for cell, width in zip(cells, twips, strict=True)
    )
    return f"<w:tr><w:trPr><w:cantSplit/>{least}{repeated}</w:trPr>{inside}</w:tr>"


def _cell(cell: WordCell, width: int, is_head: bool, style: str) -> str:
    shade = cell.shade or ("head" if is_head else "")
    fill = f'<w:shd w:val="clear" w:color="auto" w:fill="{SHADE[shade]}"/>' if shade else ""
    align = '<w:jc w:val="right"/>' if cell.right else ""
    bold = "<w:b/>" if cell.bold or is_head else ""
    return (
        f'<w:tc><w:tcPr><w:tcW w:w="{width}" w:type="dxa"/>{fill}</w:tcPr>'
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/>{align}</w:pPr>'
        f'<w:r><w:rPr>{bold}</w:rPr><w:t xml:space="preserve">{_text(cell.text)}</w:t></w:r>'
        "</w:p></w:tc>"
    )


def _text(text: str) -> str:
    """Text of XML; a long name may break after `_` and other signs, as Word breaks at spaces."""
    return escape(breakable(printable(text)))


def breakable(text: str) -> str:
    """Text with invisible places to break, in words that are too long for a column."""
    if max(map(len, text.split()), default=0) <= 14:
        return text
    for sign in "_./":
        text = text.replace(sign, f"{sign}\u200b")
    return text


def widths_of(rows: Sequence[Sequence[WordCell]], widest: float) -> list[float]:
    """Widths of the columns in inches, which fill `widest`: words stay whole, texts wrap."""
    natural, least = _needs(rows)
    spare = widest - sum(least)
    wanted = sum(natural) - sum(least)
    if sum(natural) <= widest or spare <= 0 or wanted <= 0:
        return [width * widest / sum(natural) for width in natural]
    return [low + spare * (width - low) / wanted for width, low in zip(natural, least, strict=True)]


def fits(rows: Sequence[Sequence[WordCell]], widest: float) -> bool:
    """Whether no word breaks, and texts wrap to about two lines."""
    natural, least = _needs(rows)
    return sum(least) <= widest and sum(natural) <= 2 * widest


def slices(rows: Sequence[Sequence[WordCell]], widest: float) -> Iterator[list[Sequence[WordCell]]]:
    """A table as tables of fewer columns that fit; each begins with the first column."""
    n = len(rows[0])
    start = 1
    while start < n or start == 1:
        stop = n
        while stop > start + 1 and not fits(_columns(rows, start, stop), widest):
            stop -= 1
        yield _columns(rows, start, stop)
        start = stop if stop > start else n + 1


def _columns(rows: Sequence[Sequence[WordCell]], start: int, stop: int) -> list[Sequence[WordCell]]:
    return [[row[0], *row[start:stop]] for row in rows]


def _needs(rows: Sequence[Sequence[WordCell]]) -> tuple[list[float], list[float]]:
    """For each column, the width of its texts on one line, within reason; and of its words."""
    head, *body = rows
    natural, least = [], []
    for place, title in enumerate(head):
        texts = [row[place].text for row in body]
        word = max(map(_longest_word, [title.text, *texts]))
        line = min(max([word, *map(len, texts)]), LONGEST)
        low = CHARACTER * max(word, 2) + PADDING
        # A name that is one long word breaks at its underscores.
        low = low if title.right else min(low, NARROW)
        least.append(low)
        natural.append(max(CHARACTER * line + PADDING, low))
    return natural, least


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=1)
