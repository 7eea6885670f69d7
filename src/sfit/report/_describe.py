"""The result of a test as one dict of plain values, which every layout of the report renders."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from sfit._binomial import critical_count
from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit._set_tests import AnySetTest, base_names, is_additive
from sfit._summary import by_order, contradictions, facts, gate_lines, headline
from sfit._text import fixed, listed, number, p_text, percent, printable, share_text, stars
from sfit._words import NONADDITIVE, Column, nonadditive, resolution, words_of

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
        "figures": _figures_of(result),
        "parts": [_part(label, part, most) for label, part in parts],
        "caveats": _caveats(parts),
        "reading": _reading(results),
        "settings": _settings(results),
        "stages": stages_of(first.run),
        "versions": versions_of(first.run),
        "method": words_of(first).method,
    }


def _max_names(names: Sequence[str]) -> int:
    """The number of names that fit into a headline."""
    return 8 if max(map(len, names), default=0) <= 16 else 4


def decimals_for(values: Iterable[float]) -> int:
    """Decimals for a column of these numbers: three digits of the median magnitude."""
    sizes = [abs(value) for value in values if math.isfinite(value) and value]
    magnitude = math.floor(math.log10(float(np.median(sizes)))) if sizes else 0
    return min(max(2 - magnitude, 0), 6)


# --- the finding ------------------------------------------------------------------------


def _finding(result: SFITResult) -> list[str]:
    """Two sentences: the significant features, and the strongest test (or the nearest miss)."""
    if not result.tests:
        return ["Nothing was tested."]
    words, settings = words_of(result), result.settings
    first = headline(result, _max_names(result.selected))
    significant = [test for test in result.tests if test.significant]
    if not significant:
        closest = min(result.tests, key=lambda test: (test.p_value, -test.strength, -test.estimate))
        return [
            first,
            f"The closest is {listed(closest.term)}: {words.closest(closest, settings)}.",
        ]
    lowest = min(test.order for test in significant)
    strongest = max(
        (test for test in significant if test.order == lowest), key=lambda test: test.estimate
    )
    return [
        first,
        f"The strongest is {listed(strongest.term)}: {words.strongest(strongest, settings)}.",
        *_interactions(result),
    ]


def _interactions(result: SFITResult) -> list[str]:
    """The sentence about sets over their additive base, if there are any."""
    sets = [test for test in result.tests if is_additive(test)]
    found = [test for test in sets if test.significant]
    if not sets:
        return []
    if not found:
        return [f"None of {len(sets):,} sets improves on the additive prediction from its parts."]
    best = max(found, key=lambda test: test.gain)
    verb = (
        "improves on the additive prediction from its"
        if len(found) == 1
        else ("improve on the additive predictions from their")
    )
    return [
        f"{len(found):,} of {len(sets):,} sets {verb} parts; {listed(best.term)} by the largest "
        f"mean gain, {number(best.gain)}, which is {nonadditive(best)} of what the set gains."
    ]


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
    one, several = words_of(result.parts[0][1]).verdict
    first = (
        f"{listed(everywhere, _max_names(everywhere))} {one if len(everywhere) == 1 else several} "
        f"in {parts}."
        if everywhere
        else f"No feature {one} in {parts}."
    )
    if not some:
        return [first, "No feature is significant in only some of them."]
    with_parts = [f"{name} ({listed(list(map(str, labels)), 4)})" for name, labels in some.items()]
    return [first, f"Significant in only some of them: {listed(with_parts, 8)}."]


def _figures_of(result: SFITResult | PartitionedResult) -> list[tuple[str, str]]:
    if not isinstance(result, PartitionedResult):
        return _key_figures(result)
    return _key_figures_of_parts(result) if len(result) > 1 else _key_figures(result.parts[0][1])


def _key_figures(result: SFITResult) -> list[tuple[str, str]]:
    last = result.gates[-1] if result.gates else None
    figures = [
        ("significant features", f"{len(result.selected)} of {len(result.feature_names)}"),
        ("test rows", f"{result.settings.n_rows:,}"),
        *_cluster_figures([result]),
        ("sets tested", f"{len(result.tests):,}"),
        *_level_figures(result),
    ]
    if last is not None:
        figures.append(
            (f"gate after order {last.after_order}", "open" if last.is_open else "closed")
        )
    return figures


def _cluster_figures(results: Sequence[SFITResult]) -> list[tuple[str, str]]:
    """The number of clusters of all parts, if the rows have clusters."""
    numbers = [result.settings.n_clusters for result in results]
    total = sum(n for n in numbers if n is not None)
    return [] if None in numbers else [("clusters", f"{total:,}")]


def _level_figures(result: SFITResult) -> list[tuple[str, str]]:
    """The level, and what limits a test besides it."""
    betas = " / ".join(number(beta) for beta in dict.fromkeys(result.settings.beta))
    limits = [("beta", betas), ("smallest p possible", resolution([result]))]
    return [("alpha", number(result.settings.alpha)), *(pair for pair in limits if pair[1])]


def _key_figures_of_parts(result: PartitionedResult) -> list[tuple[str, str]]:
    first = result.parts[0][1]
    rows = [part.settings.n_rows for _, part in result.parts]
    return [
        ("parts", f"{len(result):,}"),
        ("features", f"{len(first.feature_names):,}"),
        ("test rows", f"{sum(rows):,}"),
        ("smallest part", f"{min(rows):,}"),
        *_cluster_figures([part for _, part in result.parts]),
        *_level_figures(first),
    ]


# --- the table --------------------------------------------------------------------------


def _part(label: str, result: SFITResult, most: int) -> dict[str, Any]:
    listed_sets, hidden = _first_sets(result, most)
    notes = left_out_notes(len(hidden), sum(test.significant for test in hidden), "sets")
    return {
        "label": label,
        "finding": _finding(result) if label else [],
        "tables": [
            _table("All sets tested", listed_sets, _columns(result, listed_sets), notes),
            _table("Mean losses and rows", listed_sets, _effect_columns(listed_sets), notes),
        ],
        "gates": _gates(result),
        "gate_lines": gate_lines(result),
    }


def left_out_notes(n: int, n_marked: int, rows: str, mark: str = "significant") -> list[str]:
    """The line below a table that does not list everything; none if it does."""
    if not n:
        return []
    return [
        f"{n:,} more {rows} are not in this table, {n_marked or 'none'} of them {mark}: to_json "
        f"writes all {rows}."
    ]


def _first_sets(result: SFITResult, most: int) -> tuple[list[AnySetTest], list[AnySetTest]]:
    """At most about `most` sets, shared evenly among the orders; and the other sets."""
    families, crowded = by_order(result), len(result.tests) > most
    first: list[AnySetTest] = []
    hidden: list[AnySetTest] = []
    for place, family in enumerate(families):
        share = (most - len(first)) // (len(families) - place) if crowded else len(family)
        first += family[: max(1, share)]
        hidden += family[max(1, share) :]
    return first, hidden


def _base(test: AnySetTest) -> str:
    """The base of a test; a long base as its number of features."""
    base = base_names(test)
    if len(base) > 4:
        return f"{len(base)} others"
    return ", ".join(map(printable, base)) or "nothing"


ORDER = Column("order", "Order", lambda test: test.order, lambda test: str(test.order))
TERM = Column(
    "term", "Set", lambda test: math.nan, lambda test: ", ".join(map(printable, test.term))
)
BASE = Column("base", "Over", lambda test: math.nan, _base)
VERDICT = Column(
    "significant",
    "Verdict",
    lambda test: int(test.significant),
    lambda test: f"significant {stars(test.p_adjusted)}".strip() if test.significant else "–",
)
KINDS = {"term": "head", "base": "name", "significant": "verdict"}
"""Columns that do not hold numbers; `head` is the name of the row."""


def _table(
    title: str, tests: Sequence[AnySetTest], columns: Sequence[Column], notes: Sequence[str]
) -> dict[str, Any]:
    """A table of sets: a title, columns with key, heading and kind, and rows of cells."""
    return {
        "title": title,
        "rows_are": "sets",
        "mark": "significant",
        "notes": notes,
        "columns": [
            {"key": column.key, "title": column.title, "kind": KINDS.get(column.key, "number")}
            for column in columns
        ],
        "rows": [
            {
                "marked": test.significant,
                "cells": [
                    {
                        "key": column.key,
                        "kind": KINDS.get(column.key, "number"),
                        "value": _plain(column.value(test)),
                        "text": column.text(test),
                    }
                    for column in columns
                ],
            }
            for test in tests
        ],
    }


def _columns(result: SFITResult, tests: Sequence[AnySetTest]) -> list[Column]:
    """The columns of the test; their keys are those of `SFITResult.table`."""
    words, decimals = words_of(result), decimals_for(test.estimate for test in tests)
    ends = (words.key, words.estimate.capitalize()), ("ci_low", "from"), ("ci_high", "to")
    p_values = [("p_value", "p-value")]
    if result.settings.adjusted:
        p_values.append(("p_adjusted", "adjusted p"))
    return [
        ORDER,
        TERM,
        BASE,
        *(_attribute(name, title, lambda v: fixed(v, decimals)) for name, title in ends),
        *(_attribute(name, title, p_text) for name, title in p_values),
        *words.full,
        VERDICT,
    ]


def _effect_columns(tests: Sequence[AnySetTest]) -> list[Column]:
    """Mean losses and moved rows, which every test has."""
    # The difference of the two losses must be visible in them.
    decimals = max(
        decimals_for(test.loss_base for test in tests), decimals_for(test.gain for test in tests)
    )
    share = [NONADDITIVE] if any(map(is_additive, tests)) else []
    return [
        ORDER,
        TERM,
        BASE,
        _attribute("loss_base", "Mean loss without", lambda v: fixed(v, decimals)),
        _attribute("loss_full", "Mean loss with", lambda v: fixed(v, decimals)),
        _attribute("gain", "Mean gain", lambda v: fixed(v, decimals)),
        *share,
        _attribute("share_moved", "Rows moved", share_text),
        _attribute("n_better", "Rows better", lambda v: f"{v:,}"),
        _attribute("n_worse", "Rows worse", lambda v: f"{v:,}"),
    ]


def _attribute(name: str, title: str, text: Callable[[Any], str]) -> Column:
    """A column that holds an attribute of the tests."""
    value = attrgetter(name)
    return Column(name, title, value, lambda test: text(value(test)))


def _plain(value: float) -> str:
    """A number as JSON and spreadsheets write it; empty for NaN."""
    return "" if math.isnan(value) else f"{value:.6g}"


def _gates(result: SFITResult) -> list[dict[str, str]]:
    return [
        {
            "after_order": str(gate.after_order),
            "estimate": words_of(result).estimate.capitalize(),
            "found": listed(gate.found, 10) or "nothing",
            "statistic": number(gate.statistic).replace("-", "−"),
            "n_positive": f"{gate.n_positive:,} of {gate.n:,}",
            "p_value": p_text(gate.p_value),
            "loss_found": number(gate.loss_found).replace("-", "−"),
            "loss_full": number(gate.loss_full).replace("-", "−"),
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
    texts = [*map(printable, result.caveats), *contradictions(result)]
    caveats = [f"{text[:1].upper()}{text[1:]}" for text in texts]
    if not tests:
        return caveats
    words, n = words_of(result), settings.n_clusters or settings.n_rows
    if n < FEW_ROWS and not _says_few(caveats):
        needed = int(critical_count(n, settings.alpha))
        caveats.append(words.few_rows.format(n=n, needed=needed))
    if not settings.adjusted and len(tests) >= MANY_TESTS:
        caveats.append(
            f"{len(tests):,} sets were tested at level {number(settings.alpha)} without a "
            "correction: some may be significant by chance. Correct with "
            'result.at(correction="fdr_by").'
        )
    tied = _single_points(tests) if n > 1 else []
    if tied:
        caveats.append(words.single_point.format(names=listed(tied, 4)))
    if result.remainder:
        caveats.append(
            f"The gate after order {result.gates[-1].after_order} is open: all features together "
            "predict better than those found. Test larger sets with a larger max_order."
        )
    if any(test.significant and test.order > 1 for test in tests) and not settings.strict:
        caveats.append(words.sets)
    return caveats


def _says_few(caveats: Sequence[str]) -> bool:
    """Whether a caveat is already about few rows or few clusters."""
    return any("too few" in text or "clusters are few" in text for text in caveats)


def _single_points(tests: Sequence[AnySetTest]) -> list[str]:
    """The sets whose interval is a single point."""
    tied = [test for test in tests if test.ci_low == test.estimate == test.ci_high]
    return ["(" + ", ".join(test.term) + ")" for test in tied]


def _coverage(results: Sequence[SFITResult]) -> str:
    """Coverage of the intervals of all parts; it depends on the size of the part."""
    coverages = {result.settings.coverage for result in results}
    least = min(coverages)
    # Rounded down: a bound must hold.
    at_least = f"at least {percent(math.floor(1000 * least) / 1000)}"
    return percent(least) if len(coverages) == 1 else at_least


def _reading(results: Sequence[SFITResult]) -> list[tuple[str, str]]:
    """The terms of the tables and their meanings, for these results of one test."""
    words, tests = words_of(results[0]), [test for result in results for test in result.tests]
    reading = [
        ("Significant", f"{words.significant} *** p below 0.001, ** below 0.01, * below 0.05."),
        *words.reading(results, _coverage(results)),
        (
            "Mean losses and rows",
            "The mean loss without and with the set, their difference (the gain), the rows whose "
            "prediction moves when the set is revealed, and the rows whose loss falls or rises by "
            "any amount. They describe the effect and decide nothing.",
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
                f"Tests whether all features together {words.gate} beyond those found so far. "
                "Open: there is more to find. A closed gate does not prove that nothing is left: "
                "compare the mean losses.",
            )
        )
    return reading


# --- how the result was made --------------------------------------------------------------


def _settings(results: Sequence[SFITResult]) -> list[tuple[str, str]]:
    result = results[0]
    s, pairs = result.settings, dict(facts(result))
    if len(results) > 1:
        pairs["Rows"] = f"{sum(one.settings.n_rows for one in results):,}"
        pairs |= {name.capitalize(): text for name, text in _cluster_figures(results)}
        pairs["Interval"] = f"{s.interval}, {words_of(result).coverage} {_coverage(results)}"
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
    elif s.seed is None:
        rows.append(("Seed", "none: nothing was drawn at random"))
    return [*rows, *time_of(result.run)]


def time_of(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    """How long the call took, if that was recorded."""
    return [("Time", _seconds(run["seconds"]))] if "seconds" in run else []


def stages_of(run: Mapping[str, Any]) -> list[tuple[str, str, str]]:
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


def versions_of(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The packages that the result was computed with."""
    versions = run.get("versions")
    items = versions.items() if isinstance(versions, Mapping) else ()
    return [(printable(name), printable(version)) for name, version in items]


def _seconds(value: Any) -> str:
    """A time; `run` is not checked when read from a file, and may hold anything."""
    plausible = isinstance(value, int | float) and abs(value) < 10**12
    return f"{value:.2f} s" if plausible else "unknown"
