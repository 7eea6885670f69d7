"""A result as text and as a small HTML table; nothing is computed here."""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfit._set_tests import AnySetTest, PermutationSetTest

if TYPE_CHECKING:
    from sfit._result import Settings, SFITResult

MOST_ROWS = 40
"""Sets per order that a summary lists; it counts the others."""

SMALLEST_P = 1e-300
"""A smaller p-value is printed as a bound: floats underflow soon after, and no p-value is 0."""

escaped = html.escape

_LEFT = (1, 2)


def stars(p: float) -> str:
    """The usual marks: three stars below 0.001, two below 0.01, one below 0.05."""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def number(value: float) -> str:
    """Four significant digits; a dash for NaN."""
    return "-" if math.isnan(value) else f"{value:.4g}"


def p_text(p: float) -> str:
    """A p-value in three significant digits, or its upper bound."""
    return f"{p:.3g}" if p >= SMALLEST_P else f"< {SMALLEST_P:.0e}"


def p_relation(p: float) -> str:
    """A p-value for a sentence: p = 0.0123, or p < 1e-300."""
    return f"p = {p_text(p)}" if p >= SMALLEST_P else f"p {p_text(p)}"


def printable(name: Any) -> str:
    """Text on one line, without control codes that act on a terminal or reverse the text beside it.

    Zero-width joiners stay, because some scripts need them; other spaces become plain spaces; other
    unprintable characters are escaped.
    """
    text = str(name)
    return (
        text if text.isascii() and text.isprintable() else "".join(map(_printable_character, text))
    )


def _printable_character(sign: str) -> str:
    if sign.isprintable() or sign in "\u200c\u200d":
        return sign
    return " " if unicodedata.category(sign) == "Zs" else ascii(sign)[1:-1]


def shortened(text: str, longest: int, mark: str = "…") -> str:
    """The beginning and the end of a long text, because names often differ at their end only."""
    if len(text) <= longest:
        return text
    half = max(1, (longest - len(mark)) // 2)
    return f"{text[:half]}{mark}{text[-half:]}"


def listed(names: Sequence[str], most: int = 6) -> str:
    """Names for a sentence: a, b and c; those beyond `most` are counted."""
    names = [printable(name) for name in names]
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def by_order(result: SFITResult) -> list[list[AnySetTest]]:
    """The sets of each order: significant ones first, then by falling statistic."""
    return [
        sorted(
            (test for test in result.tests if test.order == order),
            key=lambda test: (not test.significant, -test.estimate),
        )
        for order in sorted({test.order for test in result.tests})
    ]


def headline(result: SFITResult) -> str:
    """The finding in one sentence."""
    selected = result.selected
    n_tested = len(result.feature_names)
    if not selected:
        return f"None of {n_tested} features is significant."
    verb = "is" if len(selected) == 1 else "are"
    return f"{len(selected)} of {n_tested} features {verb} significant: {listed(selected, 8)}."


def facts(result: SFITResult) -> list[tuple[str, str]]:
    """The settings, as pairs of label and text."""
    s = result.settings
    n = result.tests[0].n if result.tests else 0
    betas = ", ".join(number(beta) for beta in dict.fromkeys(s.beta))
    level = at_level(s)
    return [
        ("Test", s.test),
        ("Rows", f"{n:,}"),
        ("Loss", printable(s.loss)),
        ("alpha", number(s.alpha) + (f" (beta_max{level})" if level else "")),
        *([("beta", betas)] if betas else []),
        *([("Seed", str(s.seed))] if s.seed is not None else []),
        ("Correction", s.correction or "none"),
        ("Interval", f"{s.interval}, coverage {_coverage_text(s.coverage)}"),
        ("Reference", printable(s.reference + ("" if s.averaged else f" ({s.reference_origin})"))),
        *([] if s.seed is None else [("Seed", str(s.seed))]),
    ]


def notes(result: SFITResult) -> list[str]:
    """The caveats, one line each."""
    return [f"Note: {printable(caveat)}" for caveat in result.caveats]


def _coverage_text(coverage: float) -> str:
    """Four decimals; 1 only if the coverage is exactly 1."""
    return "above 0.9999" if 0.99995 <= coverage < 1 else f"{coverage:.4f}"


def at_level(settings: Settings) -> str:
    """The level of `beta_max` in words, if it differs from that of the decisions."""
    return "" if settings.planned_alpha is None else f" at alpha = {number(settings.run_alpha)}"


def gate_lines(result: SFITResult) -> list[str]:
    """One line per gate, and one on an unexplained remainder."""
    lines = []
    for gate in result.gates:
        state = "open: there is more to find" if gate.is_open else "closed"
        lines.append(f"Gate after order {gate.after_order}: {p_relation(gate.p_value)}, {state}.")
    last = result.gates[-1] if result.gates else None
    nothing_new = last is not None and not result.significant.get(last.after_order)
    if last is not None and last.is_open and nothing_new:
        lines.append(
            f"Unexplained remainder: order {last.after_order} found nothing new, although all "
            "features together predict better than the features found so far."
        )
    return lines


def columns(result: SFITResult) -> tuple[str, ...]:
    """The column headings of the table."""
    p = "adj. p" if result.settings.correction else "p-value"
    if result.is_permutation:
        return ("order", "set", "over", "rise", "interval", p, "z", "moved", "")
    return ("order", "set", "over", "median", "interval", p, "n+", "beta_max", "")


def cells(test: AnySetTest) -> tuple[str, ...]:
    """One set as a row of the table."""
    own = (
        (number(test.z), f"{test.share_moved:.0%}")
        if isinstance(test, PermutationSetTest)
        else (str(test.n_positive), number(test.beta_max))
    )
    return (
        str(test.order),
        ", ".join(map(printable, test.term)),
        ", ".join(map(printable, test.base)) or "-",
        number(test.estimate),
        f"[{number(test.ci_low)}, {number(test.ci_high)}]",
        p_text(test.p_adjusted),
        *own,
        (stars(test.p_adjusted) or ".") if test.significant else "",
    )


def first_sets(result: SFITResult) -> tuple[list[AnySetTest], list[str]]:
    """The first sets of each order, and lines that count the rest."""
    listed_sets, left_out = [], []
    for family in by_order(result):
        listed_sets += family[:MOST_ROWS]
        if len(family) > MOST_ROWS:
            more = len(family) - MOST_ROWS
            left_out.append(f"{more} more sets of order {family[0].order}: see .table.")
    return listed_sets, left_out


def as_text(result: SFITResult) -> str:
    """The whole result for a terminal, laid out as statsmodels does."""
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
    """The table for a notebook; all text from the user is escaped."""
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
