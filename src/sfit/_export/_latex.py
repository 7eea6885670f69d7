"""The tables of a document as LaTeX, with booktabs; long ones with longtable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sfit._export._latex_text import escaped
from sfit.exceptions import ArgumentError
from sfit.report._blocks import Block, Cards, Cell, Document, Matrix, Table

MOST_ROWS_ON_A_PAGE = 40
LONG_NAME = 26
"""Characters beyond which a column of names breaks its lines."""
MOST_WIDTH = 0.3
"""Share of the line that such a column takes."""

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
    return Table(
        title=matrix.title,
        key=matrix.key,
        head=(matrix.corner, *matrix.columns),
        kinds=("name", *("number" for _ in matrix.columns)),
        rows=rows,
        notes=(matrix.note,) if matrix.note else (),
    )


def _latex(table: Table) -> str:
    columns = "".join(_column(table, place) for place in range(len(table.head)))
    head = _row([escaped(text) for text in table.head])
    marked = table.marked or (False,) * len(table.rows)
    body = [
        _row([_bold(escaped(cell.text), flag) for cell in row])
        for row, flag in zip(table.rows, marked, strict=True)
    ]
    title = escaped(table.title)
    if any(marked):
        title += f" (bold: {escaped(table.mark)})"
    notes = [rf"\par\smallskip {escaped(note)}" for note in table.notes]
    if len(body) > MOST_ROWS_ON_A_PAGE:
        lines = [
            r"\begingroup\footnotesize\setlength{\tabcolsep}{3pt}",
            rf"\begin{{longtable}}{{{columns}}}",
            rf"\caption{{{title}}}\label{{tab:{table.key}}}\\",
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
            r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
            rf"\caption{{{title}}}\label{{tab:{table.key}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule", head, r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            *notes,
            r"\end{table}",
        ]  # fmt: skip
    return "\n".join(lines)


def _column(table: Table, place: int) -> str:
    """The kind of a column; long names break."""
    if table.kinds[place] == "number":
        return "r"
    longest = max((len(row[place].text) for row in table.rows), default=0)
    if longest <= LONG_NAME:
        return "l"
    return rf">{{\raggedright\arraybackslash}}p{{{MOST_WIDTH}\linewidth}}"


def _bold(text: str, flag: bool) -> str:
    return rf"\textbf{{{text}}}" if flag and text else text


def _row(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"
