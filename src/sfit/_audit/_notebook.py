"""An audit in a notebook: its finding, its first picture, its features and its caveats."""

from __future__ import annotations

from html import escape
from importlib.util import find_spec

from sfit._audit._findings import findings
from sfit._audit._result import Audit
from sfit._audit._tables import feature_rows
from sfit._text import number, p_text, printable

MOST_ROWS = 40


def for_notebook(audit: Audit) -> str:
    """HTML that follows the notebook's style, light or dark; all text from the user is escaped."""
    first, *others = findings(audit)
    caveats = "".join(f"<p>Note: {escape(printable(text))}</p>" for text in audit.caveats)
    return (
        f"<div><h3>{escape(printable(audit.settings.title))}</h3>"
        f"<p><strong>{escape(first)}</strong> {escape(' '.join(others))}</p>"
        f"{_picture(audit)}{_table(audit)}{caveats}"
        "<p>The whole document: <code>audit.to_html('audit.html')</code></p></div>"
    )


def _picture(audit: Audit) -> str:
    if find_spec("matplotlib") is None:
        return ""
    from sfit.plotting import RiseDisplay
    from sfit.report._figures import render

    return render(RiseDisplay(audit.related), "sfit-audit", 8.0).svg


def _table(audit: Audit) -> str:
    head = ("feature", "rise", "adjusted p", "typical row", "verdict")
    every = feature_rows(audit)
    rows = []
    for row in every[:MOST_ROWS]:
        cells = (
            printable(row.name),
            number(row.related.rise),
            p_text(row.related.p_adjusted),
            row.typical_row,
            row.verdict(audit.settings.alpha),
        )
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    more = len(every) - MOST_ROWS
    note = f"<p>... and {more:,} more</p>" if more > 0 else ""
    titles = "".join(f"<th>{title}</th>" for title in head)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table>{note}"
