"""A result as one dict of plain values, which every layout of the report renders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sfit._binomial import critical_count
from sfit._partitioned import PartitionedResult
from sfit._result import SetTest, SFITResult
from sfit._summary import (
    at_level,
    by_order,
    facts,
    gate_lines,
    listed,
    number,
    p_text,
    printable,
    stars,
)

MOST_ROWS = 600
"""Sets that the tables of a report list; the report counts the others."""

FEW_ROWS = 200
MANY_TESTS = 20


def describe(result: SFITResult | PartitionedResult) -> dict[str, Any]:
    """The content of a report, as text and numbers; names from the user are made printable."""
    if isinstance(result, PartitionedResult):
        parts = [(printable(f"{result.by} = {label}"), part) for label, part in result.parts]
        finding = _parts_finding(result)
    else:
        parts = [("", result)]
        finding = _finding(result)
    results = [part for _, part in parts]
    first = results[0]
    most = max(25, MOST_ROWS // len(parts))
    return {
        "title": "Feature significance",
        "finding": finding,
        "figures": _key_figures(first) if len(parts) == 1 else _key_figures_of_parts(result),
        "parts": [_part(label, part, most) for label, part in parts],
        "caveats": _caveats(parts),
        "reading": _reading(results),
        "settings": _settings(results),
        "stages": _stages(first.run),
        "versions": _versions(first.run),
    }


def _max_names(names: Sequence[str]) -> int:
    """The number of names that fit into a headline."""
    return 8 if max(map(len, names), default=0) <= 16 else 4


def percent(share: float) -> str:
    """A share in per cent, in as few digits as needed; 100 only if the share is 1."""
    texts = (f"{100 * share:.{digits}g}" for digits in range(3, 18))
    return next(t for t in texts if t != "100" or share == 1) + "\N{NO-BREAK SPACE}%"


def _share(part: int, whole: int) -> str:
    """A share in per cent, for a column; 0.0 only for none, and 100.0 only for all."""
    text = f"{100 * part / whole:.1f} %"
    bounds = {"0.0 %": "< 0.1 %", "100.0 %": "> 99.9 %"}
    return bounds.get(text, text) if 0 < part < whole else text


def decimals_for(values: Iterable[float]) -> int:
    """Decimals for a column of these numbers: three digits of the median magnitude."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    magnitude = math.floor(math.log10(float(np.median(sizes)))) if sizes else 0
    return min(max(2 - magnitude, 0), 6)


def _number(value: float, decimals: int) -> str:
    """A number in fixed decimals; a tiny one in scientific notation."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    tiny = 0 < abs(value) < 0.5 * 10**-decimals
    text = f"{value:.1e}" if tiny else f"{value:,.{decimals}f}"
    return text.replace("-", "−")


# --- the finding ------------------------------------------------------------------------


def _finding(result: SFITResult) -> list[str]:
    """Two sentences: the significant features, and the strongest test (or the nearest miss)."""
    selected, n = result.selected, len(result.feature_names)
    if not result.tests:
        return ["Nothing was tested."]
    if not selected:
        nearest = max(result.tests, key=lambda test: (test.n_positive, test.statistic))
        needed = critical_count(nearest.n, result.settings.alpha)
        if result.settings.correction:
            how_near = (
                f"its p-value of {p_text(nearest.p_value)} is {p_text(nearest.p_adjusted)} after "
                "the correction"
            )
        elif needed > nearest.n:
            how_near = "even an improvement on all rows would not be enough"
        else:
            how_near = f"{needed:,} would be needed"
        return [
            f"None of {n} features is significant.",
            f"The closest is {listed(nearest.term)}: the loss falls{_amounts([nearest])} on "
            f"{nearest.n_positive:,} of {nearest.n:,} rows, and {how_near}.",
        ]
    verb = "feature is" if n == 1 else "features is" if len(selected) == 1 else "features are"
    significant = [test for test in result.tests if test.significant]
    lowest = min(test.order for test in significant)
    strongest = max(
        (test for test in significant if test.order == lowest), key=lambda test: test.statistic
    )
    return [
        f"{len(selected)} of {n} {verb} significant: {listed(selected, _max_names(selected))}.",
        _strongest(result, strongest),
    ]


def _strongest(result: SFITResult, test: SetTest) -> str:
    settings = result.settings
    name = listed(test.term)
    rows = f"on {test.n_positive:,} of {test.n:,} rows"
    amount = (
        f"with a median reduction of {number(test.statistic)} ({percent(settings.coverage)} "
        f"interval {number(test.ci_low)} to {number(test.ci_high)})"
    )
    if settings.refitted:
        return f"The strongest is {name}: fitting with it lowers the loss {rows}, {amount}."
    others = " on top of all others" if settings.given == ("rest",) else ""
    if settings.given and not others:
        others = f" on top of {listed(settings.given, 3)}"
    return (
        f"The strongest is {name}: revealed to the model{others or ' alone'}, it lowers the loss "
        f"{rows}{_amounts([test])}, {amount}."
    )


def _parts_finding(result: PartitionedResult) -> list[str]:
    """Two sentences: the features significant in every part, and those in only some."""
    selected = {label: set(part.selected) for label, part in result.parts}
    names = result.parts[0][1].feature_names
    everywhere = [name for name in names if all(name in kept for kept in selected.values())]
    somewhere = {
        name: [label for label, kept in selected.items() if name in kept] for name in names
    }
    some = {n: labels for n, labels in somewhere.items() if labels and n not in everywhere}
    parts = f"all {len(result)} parts by {printable(result.by)}"
    verb = "is" if len(everywhere) == 1 else "are"
    first = (
        f"{listed(everywhere, _max_names(everywhere))} {verb} significant in {parts}."
        if everywhere
        else f"No feature is significant in {parts}."
    )
    if not some:
        return [first, "No feature is significant in only some of them."]
    with_parts = [f"{name} ({listed(list(map(str, labels)), 4)})" for name, labels in some.items()]
    return [first, f"Significant in only some of them: {listed(with_parts, 8)}."]


def _key_figures(result: SFITResult) -> list[tuple[str, str]]:
    settings = result.settings
    last = result.gates[-1] if result.gates else None
    figures = [
        ("significant features", f"{len(result.selected)} of {len(result.feature_names)}"),
        ("test rows", f"{_n_rows(result):,}"),
        ("sets tested", f"{len(result.tests):,}"),
        ("alpha", number(settings.alpha)),
        ("beta", " / ".join(number(beta) for beta in dict.fromkeys(settings.beta))),
    ]
    if last is not None:
        figures.append(
            (f"gate after order {last.after_order}", "open" if last.is_open else "closed")
        )
    return figures


def _key_figures_of_parts(result: Any) -> list[tuple[str, str]]:
    first = result.parts[0][1]
    rows = [_n_rows(part) for _, part in result.parts]
    return [
        ("parts", f"{len(result):,}"),
        ("features", f"{len(first.feature_names):,}"),
        ("test rows", f"{sum(rows):,}"),
        ("smallest part", f"{min(rows):,}"),
        *_key_figures(first)[3:5],
    ]


def _n_rows(result: SFITResult) -> int:
    return result.tests[0].n if result.tests else 0


# --- the table --------------------------------------------------------------------------


def _part(label: str, result: SFITResult, most: int) -> dict[str, Any]:
    listed_sets, hidden = _first_sets(result, most)
    lines = []
    if hidden:
        n_significant = sum(test.significant for test in hidden) or "none"
        lines.append(
            f"{len(hidden):,} more sets are not in this table, {n_significant} of them "
            "significant: to_json writes all sets."
        )
    return {
        "label": label,
        "finding": _finding(result) if label else [],
        "columns": _columns(result),
        "rows": _rows(listed_sets, bool(result.settings.correction)),
        "left_out": lines,
        "gates": _gates(result),
        "gate_lines": gate_lines(result),
    }


def _first_sets(result: SFITResult, most: int) -> tuple[list[SetTest], list[SetTest]]:
    """At most about `most` sets, shared evenly among the orders; and the other sets."""
    families, crowded = by_order(result), len(result.tests) > most
    first: list[SetTest] = []
    hidden: list[SetTest] = []
    for place, family in enumerate(families):
        share = (most - len(first)) // (len(families) - place) if crowded else len(family)
        first += family[: max(1, share)]
        hidden += family[max(1, share) :]
    return first, hidden


def _columns(result: SFITResult) -> list[dict[str, str]]:
    """Key (as in `SFITResult.table`), heading and kind of each column."""
    columns = [
        ("order", "Order", "number"),
        ("term", "Set", "name"),
        ("base", "Over", "name"),
        ("statistic", "Median", "number"),
        ("ci_low", "from", "number"),
        ("ci_high", "to", "number"),
        ("p_value", "p-value", "number"),
        ("p_adjusted", "adjusted p", "number"),
        ("n_positive", "Rows improved", "number"),
        ("share", "Share", "number"),
        ("beta_max", "beta max", "number"),
        ("significant", "Verdict", "verdict"),
    ]
    if not result.settings.correction:
        columns = [column for column in columns if column[0] != "p_adjusted"]
    return [dict(zip(("key", "title", "kind"), column, strict=True)) for column in columns]


def _rows(tests: Sequence[SetTest], corrected: bool) -> list[dict[str, Any]]:
    decimals = decimals_for(test.statistic for test in tests)
    rows = []
    for test in tests:
        cells = {
            "order": (test.order, str(test.order)),
            "term": (None, ", ".join(map(printable, test.term))),
            "base": (None, _base(test)),
            "statistic": (test.statistic, _number(test.statistic, decimals)),
            "ci_low": (test.ci_low, _number(test.ci_low, decimals)),
            "ci_high": (test.ci_high, _number(test.ci_high, decimals)),
            "p_value": (test.p_value, p_text(test.p_value)),
            "p_adjusted": (test.p_adjusted, p_text(test.p_adjusted)),
            "n_positive": (test.n_positive, f"{test.n_positive:,}"),
            "share": (test.n_positive / test.n, _share(test.n_positive, test.n)),
            "beta_max": (test.beta_max, _number(test.beta_max, 4)),
            "significant": (
                int(test.significant),
                f"significant {stars(test.p_adjusted)}".strip() if test.significant else "–",
            ),
        }
        if not corrected:
            del cells["p_adjusted"]
        rows.append(
            {
                "significant": test.significant,
                "cells": [
                    {"key": key, "value": _plain(value), "text": text}
                    for key, (value, text) in cells.items()
                ],
            }
        )
    return rows


def _base(test: SetTest) -> str:
    """The base of a test; a long base as its number of features."""
    if len(test.base) > 4:
        return f"{len(test.base)} others"
    return ", ".join(map(printable, test.base)) or "nothing"


def _plain(value: float | None) -> str:
    """A number as JSON and spreadsheets write it; empty for None and NaN."""
    return "" if value is None or math.isnan(value) else f"{value:.6g}"


def _gates(result: SFITResult) -> list[dict[str, str]]:
    return [
        {
            "after_order": str(gate.after_order),
            "found": listed(gate.found, 10) or "nothing",
            "statistic": number(gate.statistic).replace("-", "−"),
            "n_positive": f"{gate.n_positive:,} of {gate.n:,}",
            "p_value": p_text(gate.p_value),
            "verdict": "open: there is more to find" if gate.is_open else "closed",
        }
        for gate in result.gates
    ]


# --- caveats, and how to read the report ------------------------------------------------


def _caveats(parts: Sequence[tuple[str, SFITResult]]) -> list[str]:
    """The caveats, each once; one that does not apply to all parts names its parts."""
    of_parts = [(label, _caveats_of(result)) for label, result in parts]
    counts: dict[str, list[str]] = {}
    for label, caveats in of_parts:
        for caveat in caveats:
            counts.setdefault(caveat, []).append(label)
    return [
        caveat if len(labels) == len(parts) else f"{listed(labels, 4)}: {caveat}"
        for caveat, labels in counts.items()
    ]


def _caveats_of(result: SFITResult) -> list[str]:
    settings, tests = result.settings, result.tests
    caveats = [f"{text[:1].upper()}{text[1:]}" for text in map(printable, result.caveats)]
    if not tests:
        return caveats
    n = tests[0].n
    if n < FEW_ROWS and not any("too few" in text for text in caveats):
        needed = int(critical_count(n, settings.alpha))
        caveats.append(
            f"{n} rows are few: {needed} of them must improve before a set is significant, so "
            "the test misses weaker effects."
        )
    if settings.correction is None and len(tests) >= MANY_TESTS:
        caveats.append(
            f"{len(tests):,} sets were tested at level {number(settings.alpha)} without a "
            "correction: some may be significant by chance. Correct with "
            'result.at(correction="fdr_by").'
        )
    tied = [test for test in tests if n > 1 and test.ci_low == test.statistic == test.ci_high]
    if tied:
        names = ["(" + ", ".join(test.term) + ")" for test in tied]
        caveats.append(
            f"Ties: several rows change by exactly the median for {listed(names, 4)}, so the "
            "interval is a single point. A row that does not change counts as not improved."
        )
    touching = [test for test in tests if test.significant and test.ci_low <= 0]
    if touching:
        caveats.append(
            f"{len(touching)} significant {'set has' if len(touching) == 1 else 'sets have'} an "
            "interval that contains zero: the test is one-sided, the interval two-sided."
        )
    if result.remainder:
        caveats.append(
            f"The gate after order {result.gates[-1].after_order} is open: all features together "
            "predict better than those found. Test larger sets with a larger max_order."
        )
    if any(test.significant and test.order > 1 for test in tests) and not settings.strict:
        caveats.append(
            "Significant sets of two or more features are not proven interactions: strict=True "
            "requires a set to improve on each of its subsets with one member fewer."
        )
    return caveats


def _coverage(results: Sequence[SFITResult]) -> str:
    """Coverage of the intervals of all parts; it depends on the size of the part."""
    coverages = {result.settings.coverage for result in results}
    least = min(coverages)
    # Rounded down: a bound must hold.
    at_least = f"at least {percent(math.floor(1000 * least) / 1000)}"
    return percent(least) if len(coverages) == 1 else at_least


def _amounts(tests: Sequence[SetTest]) -> str:
    """The smallest fall of the loss that counts, for each order if the orders differ."""
    betas = {test.order: test.beta for test in tests}
    if len(set(betas.values())) > 1:
        amounts = [
            f"{f'by more than {percent(beta)}' if beta else 'by any amount'} at order {order}"
            for order, beta in betas.items()
        ]
        return f" {', '.join(amounts)}"
    beta = max(betas.values(), default=0.0)
    return f" by more than {percent(beta)}" if beta else ""


def _reading(results: Sequence[SFITResult]) -> list[tuple[str, str]]:
    """The terms of the table and their meanings, for these results of one test."""
    settings, tests = results[0].settings, [test for result in results for test in result.tests]
    if settings.refitted:
        compared = (
            "Every test row is predicted twice: by the model as fitted, and by the model fitted "
            "again without the feature."
        )
    else:
        hidden = "averaged out" if settings.averaged else "frozen at reference values"
        compared = (
            "The model predicts every test row twice: with the set revealed on top of the features "
            f"in column Over, and without the set. Features not revealed are {hidden} "
            f"({settings.reference})."
        )
    less = ", minus the share beta of the loss without the set" if any(settings.beta) else ""
    certain = "for any data" if settings.interval == "exact" else "approximately"
    reading = [
        ("What is compared", compared),
        (
            "Median and interval",
            f"Reduction of the loss ({settings.loss}) per row{less}; above zero the set helps. "
            f"The interval covers the true median with probability "
            f"{_coverage(results)}, {certain}.",
        ),
        (
            "Rows improved",
            f"Rows whose loss falls{_amounts(tests)}. The p-value is the probability of at least "
            "this many improved rows if each improved with probability 1/2. It is exact for any "
            "model and any data.",
        ),
        ("Stars", "*** p below 0.001, ** below 0.01, * below 0.05."),
        (
            "beta max",
            f"The set stays significant{at_level(settings)}, without a correction, for every beta "
            "below this number: the larger, the more robust the finding.",
        ),
    ]
    if len({test.order for test in tests}) > 1:
        reading.append(
            (
                "Orders",
                "Sets of different orders have different bases: compare their numbers only within "
                "an order.",
            )
        )
    if any(result.gates for result in results):
        reading.append(
            (
                "Gate",
                "Tests whether all features together predict better than those found so far. Open: "
                "there is more to find. A closed gate does not prove that nothing is left.",
            )
        )
    return reading


# --- how the result was made --------------------------------------------------------------


def _settings(results: Sequence[SFITResult]) -> list[tuple[str, str]]:
    result = results[0]
    s, pairs = result.settings, dict(facts(result))
    if len(results) > 1:
        pairs["Rows"] = f"{sum(map(_n_rows, results)):,}"
        pairs["Interval"] = f"{s.interval}, coverage {_coverage(results)}"
    rows = [(name, printable(value)) for name, value in pairs.items()]
    rows += [
        ("Largest order", str(s.max_order)),
        ("Given", listed(s.given) or "nothing"),
        ("Always on", listed(s.always_on) or "nothing"),
        ("Partners", s.partners + (f", the first {s.n_partners}" if s.n_partners else "")),
        ("Exhaustive", "yes" if s.exhaustive else "no"),
        ("Strict", "yes" if s.strict else "no"),
        ("Masked in", f"{s.space} columns"),
    ]
    choice = result.beta_choice
    if choice is not None:
        rows.append(
            (
                "Choice of beta",
                f"{choice.n_models} random models on {choice.n_rows:,} rows, seed {choice.seed}",
            )
        )
    else:
        rows.append(("Seed", "none: nothing was drawn at random"))
    if "seconds" in result.run:
        rows.append(("Time", _seconds(result.run["seconds"])))
    return rows


def _stages(run: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """For each order and gate: its name, the route of its predictions, and its time."""
    stages = run.get("stages")
    return [
        (
            printable(one.get("stage", "")),
            printable(one.get("route", "")),
            _seconds(one.get("seconds")),
        )
        for one in (stages if isinstance(stages, list | tuple) else ())
        if isinstance(one, Mapping)
    ]


def _versions(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    versions = run.get("versions")
    items = versions.items() if isinstance(versions, Mapping) else ()
    return [(printable(name), printable(version)) for name, version in items]


def _seconds(value: Any) -> str:
    """A time; `run` is not checked when read from a file, and may hold anything."""
    plausible = isinstance(value, int | float) and abs(value) < 10**12
    return f"{value:.2f} s" if plausible else "unknown"
