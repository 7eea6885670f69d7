"""A result as text and as a small HTML table: views that compute nothing."""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfit._result import SetTest, Settings, SFITResult

MOST_ROWS = 40
"""Sets that a summary shows of each order; the others are counted."""

SMALLEST_P = 1e-300
"""Below, a p-value is told as a bound: floats end soon after, and no p-value is 0."""

escaped = html.escape

_LEFT = (1, 2)


def stars(p: float) -> str:
    """The customary marks: three stars below 0.001, two below 0.01, one below 0.05."""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def number(value: float) -> str:
    """Four significant digits, and a dash where there is no number."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def p_text(p: float) -> str:
    """A p-value in three significant digits, or what it is below."""
    return f"{p:.3g}" if p >= SMALLEST_P else f"< {SMALLEST_P:.0e}"


def p_relation(p: float) -> str:
    """A p-value as a sentence says it: p = 0.0123, or p < 1e-300."""
    return f"p = {p_text(p)}" if p >= SMALLEST_P else f"p {p_text(p)}"


def printable(name: Any) -> str:
    """Text in one line, which cannot command a terminal or turn around what stands beside it.

    Joiners are part of some scripts and stay; other spaces are spaces; the rest is escaped.
    """
    text = str(name)
    return text if text.isascii() and text.isprintable() else "".join(map(_printed, text))


def _printed(sign: str) -> str:
    if sign.isprintable() or sign in "\u200c\u200d":
        return sign
    return " " if unicodedata.category(sign) == "Zs" else ascii(sign)[1:-1]


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names as in a sentence: a, b and c; the last ones counted where there are many."""
    names = [printable(name) for name in names]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def by_order(result: SFITResult) -> list[list[SetTest]]:
    """The sets of each order, the significant first and by statistic."""
    return [
        sorted(
            (test for test in result.tests if test.order == order),
            key=lambda test: (not test.significant, -test.statistic),
        )
        for order in sorted({test.order for test in result.tests})
    ]


def headline(result: SFITResult) -> str:
    """The finding in one sentence."""
    found = result.selected
    tested = len(result.feature_names)
    if not found:
        return f"None of {tested} features is significant."
    verb = "is" if len(found) == 1 else "are"
    return f"{len(found)} of {tested} features {verb} significant: {listed(found, 8)}."


def facts(result: SFITResult) -> list[tuple[str, str]]:
    """What was asked, in pairs of words."""
    s = result.settings
    n = result.tests[0].n if result.tests else 0
    betas = ", ".join(number(beta) for beta in dict.fromkeys(s.beta))
    level = at_level(s)
    return [
        ("Test", s.test),
        ("Rows", f"{n:,}"),
        ("Loss", printable(s.loss)),
        ("alpha", number(s.alpha) + (f" (beta_max{level})" if level else "")),
        ("beta", betas),
        ("Correction", s.correction or "none"),
        ("Interval", f"{s.interval}, coverage {_coverage_text(s.coverage)}"),
        ("Reference", printable(f"{s.reference} ({s.reference_origin})")),
    ]


def notes(result: SFITResult) -> list[str]:
    """What there is to say beside the tests."""
    return [f"Note: {printable(caveat)}" for caveat in result.caveats]


def _coverage_text(coverage: float) -> str:
    """Four decimals, and 1 only where it is."""
    return "above 0.9999" if 0.99995 <= coverage < 1 else f"{coverage:.4f}"


def at_level(settings: Settings) -> str:
    """The level of `beta_max` in words, where it is not that of the decisions."""
    return "" if settings.planned_alpha is None else f" at alpha = {number(settings.run_alpha)}"


def gate_lines(result: SFITResult) -> list[str]:
    """What each gate says."""
    lines = []
    for gate in result.gates:
        state = "open: there is more to find" if gate.is_open else "closed"
        lines.append(f"Gate after order {gate.after_order}: {p_relation(gate.p_value)}, {state}.")
    last = result.gates[-1] if result.gates else None
    nothing_new = last is not None and not result.significant.get(last.after_order)
    if last is not None and last.is_open and nothing_new:
        lines.append(
            f"Unexplained remainder: order {last.after_order} found nothing new, although all "
            "features together predict better than what was found before."
        )
    return lines


def columns(result: SFITResult) -> tuple[str, ...]:
    """The heads of the table."""
    p = "adj. p" if result.settings.correction else "p-value"
    return ("order", "set", "over", "median", "interval", p, "n+", "beta_max", "")


def cells(test: SetTest) -> tuple[str, ...]:
    """A set as a line of the table."""
    return (
        str(test.order),
        ", ".join(map(printable, test.term)),
        ", ".join(map(printable, test.base)) or "-",
        number(test.statistic),
        f"[{number(test.ci_low)}, {number(test.ci_high)}]",
        p_text(test.p_adjusted),
        str(test.n_positive),
        number(test.beta_max),
        (stars(test.p_adjusted) or ".") if test.significant else "",
    )


def first_sets(result: SFITResult) -> tuple[list[SetTest], list[str]]:
    """The first sets of each order, and how many are left out."""
    shown, left_out = [], []
    for family in by_order(result):
        shown += family[:MOST_ROWS]
        if len(family) > MOST_ROWS:
            more = len(family) - MOST_ROWS
            left_out.append(f"{more} more sets of order {family[0].order}: see .table.")
    return shown, left_out


def as_text(result: SFITResult) -> str:
    """The whole result for a terminal, as statsmodels would lay it out."""
    tests, left_out = first_sets(result)
    rows = [columns(result), *(cells(test) for test in tests)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if i in _LEFT else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    pairs = [f"{name + ':':<12}{value}" for name, value in facts(result)]
    half = (len(pairs) + 1) // 2
    column = max(map(len, pairs[:half])) + 4
    head = [
        (left + " " * (column - len(left)) + right).rstrip()
        for left, right in zip(pairs[:half], [*pairs[half:], ""], strict=False)
    ]
    rule = max(len(line) for line in (*lines, *head))
    body = [
        "Feature significance".center(rule).rstrip(),
        "=" * rule,
        *head,
        "=" * rule,
        lines[0],
        "-" * rule,
        *lines[1:],
        "=" * rule,
        headline(result),
        *left_out,
        *gate_lines(result),
        *notes(result),
    ]
    return "\n".join(body)


def as_html(result: SFITResult) -> str:
    """The table for a notebook; everything that comes from the user is escaped."""
    tests, left_out = first_sets(result)
    header = "".join(f"<th>{escaped(name)}</th>" for name in columns(result))
    rows = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in cells(test)) + "</tr>"
        for test in tests
    )
    below = [*left_out, *gate_lines(result), *notes(result)]
    paragraphs = "".join(f"<p>{escaped(line)}</p>" for line in below)
    return (
        f"<div><p><strong>{escaped(headline(result))}</strong></p>"
        f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>{paragraphs}</div>"
    )
