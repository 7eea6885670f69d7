"""The tables of a document as LaTeX, with booktabs; long ones with longtable."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from sfit._export._latex_text import escaped, number
from sfit._text import printable
from sfit.exceptions import ArgumentError
from sfit.report._blocks import Block, Cards, Cell, Document, Kind, Matrix, Table

MOST_ROWS_ON_A_PAGE = 40
LONG_NAME = 22
"""Characters beyond which a column of names breaks its lines."""
LINE = 105
"""Characters of a line in small print, the space between columns included."""
NARROW = 0.1
"""Share of the line that a column of long names has at least."""

PACKAGES = r"""% Needs \usepackage{booktabs,longtable,array} in the preamble."""


def as_latex(document: Document, table: str | None = None) -> str:
    """All tables of a document, or the one with this key."""
    tables = {one.key: one for one in _tables_of(document)}
    if table is not None and table not in tables:
        raise ArgumentError(
            f"table={table!r} is not a table of this result: choose one of "
            f"{', '.join(map(repr, tables))}, or None for all."
        )
    chosen = list(tables.values()) if table is None else [tables[table]]
    return "\n\n".join([PACKAGES, *map(_latex, chosen)])


def _tables_of(document: Document) -> Iterator[Table]:
    for section in document.sections:
        yield from _tables_in(section.blocks)


def _tables_in(blocks: Sequence[Block]) -> Iterator[Table]:
    for block in blocks:
        if isinstance(block, Table):
            yield block
        elif isinstance(block, Matrix):
            yield _as_table(block)
        elif isinstance(block, Cards):
            for card in block.cards:
                yield from _tables_in(card.blocks)


def _as_table(matrix: Matrix) -> Table:
    """A matrix as a table; a star marks its emphasised cells."""
    rows = tuple(
        (Cell(name), *(Cell(f"{t} *" if m else t) for t, m in zip(texts, flags, strict=True)))
        for name, texts, flags in zip(matrix.rows, matrix.cells, matrix.marked, strict=True)
    )
    number_kind: Kind = "number"
    return Table(
        title=matrix.title,
        key=matrix.key,
        head=(matrix.corner, *matrix.columns),
        kinds=("name", *[number_kind] * len(matrix.columns)),
        rows=rows,
        notes=(matrix.note,) if matrix.note else (),
    )


def _latex(table: Table) -> str:
    head = _row([_head(table, place) for place in range(len(table.head))])
    marked = table.marked or (False,) * len(table.rows)
    long = _long(table)
    body = [
        _row(
            [
                _bold(number(cell.text) if kind == "number" else escaped(cell.text, breaks=b), flag)
                for cell, kind, b in zip(row, table.kinds, long, strict=True)
            ]
        )
        for row, flag in zip(table.rows, marked, strict=True)
    ]
    title = escaped(table.title)
    if any(marked):
        title += f" (bold: {escaped(table.mark)})"
    caption = rf"\caption{{{title}}}\label{{tab:{table.key}}}"
    notes = [rf"\par\smallskip {escaped(note)}" for note in table.notes]
    size = r"\footnotesize\setlength{\tabcolsep}{3pt}"
    columns = _columns(table)
    if len(body) > MOST_ROWS_ON_A_PAGE:
        lines = [
            rf"\begingroup{size}",
            rf"\begin{{longtable}}{{{columns}}}",
            rf"{caption}\\",
            r"\toprule", head, r"\midrule", r"\endfirsthead",
            r"\toprule", head, r"\midrule", r"\endhead",
            r"\bottomrule", r"\endfoot",
            *body,
            r"\end{longtable}",
            *notes,
            r"\endgroup",
        ]  # fmt: skip
    else:
        lines = [
            r"\begin{table}[htbp]",
            rf"\centering{size}",
            caption,
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule", head, r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *notes,
            r"\end{table}",
        ]  # fmt: skip
    return "\n".join(lines)


def _longest(table: Table, place: int) -> int:
    return max((len(row[place].text) for row in table.rows), default=0)


def _long(table: Table) -> list[bool]:
    """Whether each column holds long names, which break."""
    return [
        kind != "number" and _longest(table, place) > LONG_NAME
        for place, kind in enumerate(table.kinds)
    ]


def _columns(table: Table) -> str:
    """The kinds of the columns; those of long names share what the others leave."""
    longest = [_longest(table, place) for place in range(len(table.head))]
    long = _long(table)
    others = sum(n + 2 for n, breaks in zip(longest, long, strict=True) if not breaks)
    share = max(NARROW, (1 - others / LINE) / max(sum(long), 1))
    # Without hyphens: they would look like parts of the names.
    form = r"\raggedright\arraybackslash\hyphenpenalty=10000 "
    paragraph = rf">{{{form}}}p{{{share:.2f}\linewidth}}"
    return "".join(
        paragraph if breaks else "r" if kind == "number" else "l"
        for kind, breaks in zip(table.kinds, long, strict=True)
    )


def _head(table: Table, place: int) -> str:
    """A heading; one that is longer than its column stands on several lines."""
    width, side = max(_longest(table, place), 10), "r" if table.kinds[place] == "number" else "l"
    lines = [escaped(line) for line in textwrap.wrap(printable(table.head[place]), width)]
    if len(lines) < 2:
        return "".join(lines)
    stacked = r"\\".join(lines)
    return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}{stacked}\end{{tabular}}"


def _bold(text: str, flag: bool) -> str:
    return rf"\textbf{{{text}}}" if flag and text else text


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
