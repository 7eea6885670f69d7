"""What a summary says: the finding, the settings, and the sets by order; nothing is computed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfit._caveats import corrected_verdicts, lost_to_correction
from sfit._labels import labels
from sfit._layout import Field
from sfit._set_tests import AnySetTest, GateTest, is_additive
from sfit._text import listed, number, p_relation, p_text, printable, stars
from sfit._words import at_level, guarantee, resolution, words_of

if TYPE_CHECKING:
    from sfit._result import Settings, SFITResult

MOST_ROWS = 40
"""Sets per order that a summary lists; it counts the others."""
MOST_NAMES = 4
"""Features of a base that are named; of a longer base, their number is given."""
LONGEST_OVER = 12
"""Columns of a name in the column `over`."""

SETS = {1: "each feature", 2: "pairs"}
PARTS = "its parts"
CORRECTED = "(c)"
"""The mark of a set that is significant only without the correction."""

DROP_BAR, DROP_OVER, DROP_INTERVAL = 11, 12, 13
"""A narrow table drops these columns last, in this order."""


def by_order(result: SFITResult) -> list[list[AnySetTest]]:
    """The sets of each order: significant ones first, then by falling estimate."""
    return [
        sorted(
            (test for test in result.tests if test.order == order),
            key=lambda test: (not test.significant, -test.estimate),
        )
        for order in sorted({test.order for test in result.tests})
    ]


def headline(result: SFITResult, max_names: int = 8, names: Sequence[str] | None = None) -> str:
    """The finding in one sentence; `names` are those of the features found, if shortened."""
    selected, n_tested = result.selected, len(result.feature_names)
    words = words_of(result)
    one, several = words.verdict
    noun = "feature" if n_tested == 1 else "features"
    if not selected:
        return f"None of {n_tested} {noun} {one}."
    verb = one if len(selected) == 1 else several
    together = any(test.significant and test.order > 1 for test in result.tests)
    how = f", {words.together}" if together else ""
    which = listed(selected if names is None else names, max_names)
    return f"{len(selected)} of {n_tested} {noun} {verb}{how}: {which}."


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


@dataclass(frozen=True)
class Family:
    """The sets of one order, as a summary lists them."""

    heading: str
    """The order, what its sets are compared with if that is the same for all, and counts."""
    tests: list[AnySetTest]
    """The sets that are listed, the significant ones first."""
    over: list[str]
    """What each set is compared with; empty if the heading says it."""


def families(result: SFITResult, longest: int | None = None) -> list[Family]:
    """The sets by order; names in headings have at most `longest` columns."""
    return [_family(tests, longest) for tests in by_order(result)]


def _family(tests: list[AnySetTest], longest: int | None) -> Family:
    names = [name for test in tests for name in test.base]
    over = [_over(test, labels(names, longest or sys.maxsize)) for test in tests]
    if len(set(over)) == 1:
        return Family(_heading(tests, over[0]), tests[:MOST_ROWS], [])
    # Beside each set there is less space than in a heading.
    short = labels(names, LONGEST_OVER if longest else sys.maxsize)
    listed_sets = tests[:MOST_ROWS]
    return Family(
        _heading(tests, None), listed_sets, [_over(test, short) or "-" for test in listed_sets]
    )


def _heading(tests: Sequence[AnySetTest], over: str | None) -> str:
    """An order and its counts; `over`: what all its sets are compared with, None if it differs."""
    order, n_found = tests[0].order, sum(test.significant for test in tests)
    sets = SETS.get(order, f"sets of {order}")
    if over:
        sets += (
            f", over {over.replace(PARTS, 'their parts', 1) if over.startswith(PARTS) else over}"
        )
    elif over == "" and order == 1:
        sets += " alone"
    counts = f"{len(tests):,} tested, {n_found or 'none'} significant"
    if (more := len(tests) - MOST_ROWS) > 0:
        counts += f"; {more:,} not listed here: see .table"
    return f"Order {order}: {sets} ({counts})"


def _over(test: AnySetTest, short: Mapping[str, str]) -> str:
    """What a set is compared with in addition to nothing: names, or the number of a long base."""
    parts = [PARTS] if is_additive(test) else []
    names = [name for name in test.base if not (parts and name in test.term)]
    if len(names) > MOST_NAMES:
        return listed([*parts, f"{len(names)} others"])
    return listed([*parts, *(short[name] for name in names)])


def verdict(test: AnySetTest, settings: Settings) -> str:
    """The mark of a set: stars or a dot if significant, (c) if only without the correction."""
    if test.significant:
        return stars(test.p_adjusted) or "."
    return CORRECTED if lost_to_correction(test, settings) else ""


def correction_note(result: SFITResult) -> str:
    """What the correction does not touch, and what its mark means; empty without a correction."""
    note = corrected_verdicts(result.settings)
    if any(lost_to_correction(test, result.settings) for test in result.tests):
        alpha = number(result.settings.alpha)
        return f"{note}. {CORRECTED}: p below {alpha} before the correction only."
    return f"{note}." if note else ""


def fields(result: SFITResult, family: Family) -> list[Field]:
    """The columns beside the sets; a narrow table drops those of one test first."""
    words, tests = words_of(result), family.tests
    own = [
        Field(column.title, [column.text(test) for test in tests], drop=rank)
        for rank, column in zip(range(len(words.brief), 0, -1), words.brief, strict=True)
    ]
    over = [Field("over", family.over, left=True, drop=DROP_OVER)] if family.over else []
    return [
        *over,
        Field(words.estimate, [number(test.estimate) for test in tests]),
        Field(
            "interval",
            [f"[{number(test.ci_low)}, {number(test.ci_high)}]" for test in tests],
            drop=DROP_INTERVAL,
        ),
        Field(
            "adj. p" if result.settings.adjusted else "p-value",
            [p_text(test.p_adjusted) for test in tests],
        ),
        *own,
        Field("", [verdict(test, result.settings) for test in tests], left=True),
    ]
