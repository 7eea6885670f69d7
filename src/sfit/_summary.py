"""A result as text and as a small HTML table; nothing is computed here."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from sfit._set_tests import AnySetTest, GateTest, base_names
from sfit._text import listed, number, p_relation, p_text, printable, stars
from sfit._words import Words, at_level, guarantee, resolution, words_of

if TYPE_CHECKING:
    from sfit._result import Settings, SFITResult

MOST_ROWS = 40
"""Sets per order that a summary lists; it counts the others."""

escaped = html.escape

_LEFT = (1, 2)


def by_order(result: SFITResult) -> list[list[AnySetTest]]:
    """The sets of each order: significant ones first, then by falling estimate."""
    return [
        sorted(
            (test for test in result.tests if test.order == order),
            key=lambda test: (not test.significant, -test.estimate),
        )
        for order in sorted({test.order for test in result.tests})
    ]


def headline(result: SFITResult, max_names: int = 8) -> str:
    """The finding in one sentence."""
    selected, n_tested = result.selected, len(result.feature_names)
    words = words_of(result)
    one, several = words.verdict
    noun = "feature" if n_tested == 1 else "features"
    if not selected:
        return f"None of {n_tested} {noun} {one}."
    verdict = one if len(selected) == 1 else several
    together = any(test.significant and test.order > 1 for test in result.tests)
    how = f", {words.together}" if together else ""
    names = listed(selected, max_names)
    return f"{len(selected)} of {n_tested} {noun} {verdict}{how}: {names}."


def facts(result: SFITResult) -> list[tuple[str, str]]:
    """The settings, as pairs of label and text."""
    s = result.settings
    words, level = words_of(result), at_level(s)
    betas = ", ".join(number(beta) for beta in dict.fromkeys(s.beta))
    smallest_p = resolution([result])
    return [
        ("Test", s.test),
        ("Rows", f"{s.n_rows:,}"),
        *([("Folds", f"{s.n_folds}, the first only fitted on")] if s.n_folds else []),
        *([] if s.n_clusters is None else [("Clusters", f"{s.n_clusters:,}")]),
        *([] if s.row_order is None else [("Row order", s.row_order)]),
        *([] if s.interaction is None else [("Bases", f"{s.interaction} from order 2")]),
        ("Loss", printable(s.loss)),
        ("alpha", number(s.alpha) + (f" ({words.kept_level}{level})" if level else "")),
        *([("beta", betas)] if betas else []),
        *([("Ties", "dropped")] if s.ties == "drop" else []),
        *([("Smallest p", f"{smallest_p} (resolution)")] if smallest_p else []),
        *([] if (kept := guarantee([result])) in ("", "exact") else [("p-values", kept)]),
        *([("Seed", str(s.seed))] if s.seed is not None else []),
        ("Correction", _correction_text(s)),
        ("Interval", f"{s.interval}, {words.coverage} {_coverage_text(s.coverage)}"),
        ("Reference", printable(s.reference + ("" if s.averaged else f" ({s.reference_origin})"))),
    ]


def _correction_text(settings: Settings) -> str:
    """The correction, or the levels that control errors over all orders."""
    if settings.alpha_by_order is None:
        return settings.correction or "none"
    levels = ", ".join(number(alpha) for alpha in settings.alpha_by_order)
    return f"over all orders (alpha {levels})"


def notes(result: SFITResult) -> list[str]:
    """The caveats, one line each."""
    return [f"Note: {printable(caveat)}" for caveat in (*result.caveats, *contradictions(result))]


def contradictions(result: SFITResult) -> list[str]:
    """A caveat that counts the sets whose p-value and interval disagree, if there are any."""
    n = sum(test.significant != (test.ci_low > 0) for test in result.tests)
    if not n:
        return []
    sets, level = "1 set" if n == 1 else f"{n:,} sets", at_level(result.settings)
    kept = f". The interval is that of the run{level}" if level else ""
    return [
        f"for {sets} the p-value and the interval disagree about zero: "
        f"{words_of(result).contradiction}{kept}."
    ]


def _coverage_text(coverage: float) -> str:
    """Four decimals; 1 only if the coverage is exactly 1."""
    return "above 0.9999" if 0.99995 <= coverage < 1 else f"{coverage:.4f}"


def gate_lines(result: SFITResult) -> list[str]:
    """One line per gate, and one on an unexplained remainder."""
    lines = []
    for gate in result.gates:
        state = "open: there is more to find" if gate.is_open else "closed"
        lines.append(
            f"Gate after order {gate.after_order}: {p_relation(gate.p_value)}, {state}. "
            f"{_gate_losses(gate)}"
        )
    last = result.gates[-1] if result.gates else None
    nothing_new = last is not None and not result.significant.get(last.after_order)
    if last is not None and last.is_open and nothing_new:
        lines.append(
            f"Unexplained remainder: order {last.after_order} found nothing new, although all "
            "features together predict better than the features found so far."
        )
    return lines


def _gate_losses(gate: GateTest) -> str:
    found = "those found" if gate.found else "none"
    return f"Mean loss {number(gate.loss_found)} with {found}, {number(gate.loss_full)} with all."


def columns(result: SFITResult) -> tuple[str, ...]:
    """The column headings of the table."""
    p, words = "adj. p" if result.settings.adjusted else "p-value", words_of(result)
    own = (column.title for column in words.brief)
    return ("order", "set", "over", words.estimate, "interval", p, *own, "")


def cells(test: AnySetTest, words: Words) -> tuple[str, ...]:
    """One set as a row of the table."""
    return (
        str(test.order),
        ", ".join(map(printable, test.term)),
        ", ".join(map(printable, base_names(test))) or "-",
        number(test.estimate),
        f"[{number(test.ci_low)}, {number(test.ci_high)}]",
        p_text(test.p_adjusted),
        *(column.text(test) for column in words.brief),
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
    words = words_of(result)
    rows = [columns(result), *(cells(test, words) for test in tests)]
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
    words = words_of(result)
    header = "".join(f"<th>{escaped(name)}</th>" for name in columns(result))
    rows = "".join(
        "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in cells(test, words)) + "</tr>"
        for test in tests
    )
    below = [*left_out, *gate_lines(result), *notes(result)]
    paragraphs = "".join(f"<p>{escaped(line)}</p>" for line in below)
    return (
        f"<div><p><strong>{escaped(headline(result))}</strong></p>"
        f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>{paragraphs}</div>"
    )
