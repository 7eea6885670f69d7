"""Two results, number by number."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

COARSE = "medians and ends of intervals of networks' routes off by 1e-5 to 1e-2"
EXACT_LOSSES = ("absolute_error", "squared_error", "zero_one")
"""Losses that take the same steps here and there: equal to the last bit."""
ROUNDINGS, DIGITS = 16, 1e-5
"""A model that is computed in other steps may move a median, or the end of its interval, by so many
roundings, or by this share of the largest of them.
"""
NUMBERS = ("statistic", "ci_low", "ci_high", "ci_lower", "beta_max")

COARSE_DIGITS = 1e-2
"""Along a network's route medians may be off by up to this; beyond 1e-5 that is counted."""


@dataclass(frozen=True)
class Allowed:
    """What may differ: nothing, or rounding. `route`: a network's fast route, for medians only."""

    exact: bool
    route: bool

    def rows(self, n_doubts: int) -> int:
        """By how many rows a count may differ."""
        return 0 if self.exact else n_doubts


Doubts = Callable[[set[str], set[str], float], tuple[int, float]]
"""(features of the base, of the full side, beta) -> rows in doubt, and how far a delta may move."""


def content(result: Any) -> Any:
    """All that a result says, without how it was computed."""
    return json.loads(result.to_json())["result"]


def compare(
    way: str,
    result: Any,
    expected: dict[str, Any],
    names: list[str],
    doubts: Doubts,
    allowed: Allowed,
    counts: Counter[str],
) -> list[str]:
    """What differs between a result of sfit and the naive loop's.

    A count may differ by the rows that are `allowed`; those are counted as such. What follows from
    such a count (decisions, later orders) is then not compared.
    """
    given = set(result.settings.given)
    rest = given == {"rest"}
    fixed = set() if rest else given
    found: list[str] = []
    decisions: list[str] = []
    excused = False
    for test, other in zip(result.tests, expected["tests"], strict=False):
        term = tuple(names[j] for j in other["term"])
        base = {*(names[j] for j in other["base"]), *fixed}
        where = f"{way}: order {test.order} {test.term} over {test.base}"
        if (test.order, test.term, set(test.base)) != (other["order"], term, base):
            if not excused:
                found.append(f"{where}: the naive loop has {other['order']} {term} over {base}")
            break
        counts["contrasts compared"] += 1
        gap = abs(test.n_positive - other["n_positive"])
        n_doubts, moves = 0, 0.0
        if gap or not _equal(test, other):
            full = set(names) if rest else {*term, *fixed}
            n_doubts, moves = doubts(base, full, test.beta)
        if test.n != other["n"] or gap > allowed.rows(n_doubts):
            found.append(
                f"{where}: n_positive {test.n_positive} of {test.n}, naive {other['n_positive']} "
                f"of {other['n']}; {n_doubts} rows within rounding"
            )
            excused = True
            continue
        if gap:
            counts["rows within rounding"] += gap
            excused = True
            continue
        strict_equal = allowed.exact and result.settings.loss in EXACT_LOSSES
        found += _numbers(where, test, other, strict_equal, moves, allowed, counts)
        decisions += _decisions(where, test, other)
    if excused:
        counts["cases with rows within rounding"] += not found
        return found
    found += decisions
    if len(result.tests) != len(expected["tests"]):
        found.append(f"{way}: {len(result.tests)} tests, naive {len(expected['tests'])}")
    return found or _gates(way, result, expected, names, fixed, doubts, allowed, counts)


def _equal(test: Any, other: dict[str, Any]) -> bool:
    return all(getattr(test, name) == other[name] for name in NUMBERS[:-1])


def _numbers(
    where: str,
    test: Any,
    other: dict[str, Any],
    strict_equal: bool,
    moves: float,
    allowed: Allowed,
    counts: Counter[str],
) -> list[str]:
    found = []
    size = max(abs(other[name]) for name in NUMBERS[:-1] if math.isfinite(other[name]))
    for name in NUMBERS:
        got, want = getattr(test, name), other[name]
        if got == want or (math.isnan(got) and math.isnan(want)):
            continue
        if strict_equal and name != "beta_max":
            close = False
        elif name == "beta_max":
            close = math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-12) or not allowed.exact
        else:
            gap = abs(got - want)
            close = gap <= (
                1e-9 * abs(want) if allowed.exact else max(ROUNDINGS * moves, DIGITS * size)
            )
            if not close and allowed.route and gap <= COARSE_DIGITS * size:
                counts[COARSE] += 1
                continue
        if not close:
            found.append(f"{where}: {name} {got!r}, naive {want!r}")
    return found


def _decisions(where: str, test: Any, other: dict[str, Any]) -> list[str]:
    found = [
        f"{where}: {name} {getattr(test, name)!r}, naive {other[name]!r}"
        for name in ("p_value", "p_adjusted")
        if not math.isclose(getattr(test, name), other[name], rel_tol=1e-10)
    ]
    if test.significant != other["significant"]:
        found.append(f"{where}: significant {test.significant}, naive {other['significant']}")
    return found


def _gates(
    way: str,
    result: Any,
    expected: dict[str, Any],
    names: list[str],
    fixed: set[str],
    doubts: Doubts,
    allowed: Allowed,
    counts: Counter[str],
) -> list[str]:
    if len(result.gates) != len(expected["gates"]):
        return [f"{way}: {len(result.gates)} gates, naive {len(expected['gates'])}"]
    found = []
    for gate, other in zip(result.gates, expected["gates"], strict=True):
        where = f"{way}: gate after order {gate.after_order}"
        counts["contrasts compared"] += 1
        base = {names[j] for j in other["found"]}
        if set(gate.found) != base:
            found.append(f"{where}: found {gate.found}, naive {base}")
            break
        gap = abs(gate.n_positive - other["n_positive"])
        n_doubts = doubts(base | fixed, set(names), 0.0)[0] if gap else 0
        if gate.n != other["n"] or gap > allowed.rows(n_doubts):
            found.append(
                f"{where}: n_positive {gate.n_positive}, naive {other['n_positive']}; {n_doubts} "
                "rows within rounding"
            )
        elif gap:
            counts["rows within rounding"] += gap
        elif gate.is_open != other["open"]:
            found.append(f"{where}: open {gate.is_open}, naive {other['open']}")
    significant = {(test.order, test.term) for test in result.tests if test.significant}
    listed = {(order, term) for order, terms in result.significant.items() for term in terms}
    if significant != listed:
        found.append(f"{way}: significant sets {listed}, tests say {significant}")
    return found
