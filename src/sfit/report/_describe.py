"""The result of a test as one dict of plain values, which every layout of the report renders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sfit._partitioned import PartitionedResult
from sfit._result import SFITResult
from sfit._set_tests import is_additive
from sfit._summary import gate_lines, headline
from sfit._text import listed, number, p_text, printable, sentence, set_name
from sfit._words import nonadditive, resolution, words_of
from sfit.report._origin import (
    cluster_figures,
    coverage_of,
    settings_of,
    stages_of,
    versions_of,
)
from sfit.report._set_tables import MOST_ROWS, tables_of


def describe(result: SFITResult | PartitionedResult) -> dict[str, Any]:
    """The content of a report, as text and numbers; names from the user are made printable."""
    if isinstance(result, PartitionedResult):
        parts = [
            (title, part) for title, (_, part) in zip(result.titles, result.parts, strict=True)
        ]
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
        "parts": [_part(title, part, most) for title, part in parts],
        "caveats": _caveats(result),
        "reading": _reading(results),
        "settings": settings_of(results),
        "stages": stages_of(first.run),
        "versions": versions_of(first.run),
        "method": words_of(first).method,
    }


def _max_names(names: Sequence[str]) -> int:
    """The number of names that fit into a headline."""
    return 8 if max(map(len, names), default=0) <= 16 else 4


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
            f"The closest is {set_name(closest.term)}: {words.closest(closest, settings)}.",
        ]
    lowest = min(test.order for test in significant)
    strongest = max(
        (test for test in significant if test.order == lowest), key=lambda test: test.estimate
    )
    return [
        first,
        f"The strongest is {set_name(strongest.term)}: {words.strongest(strongest, settings)}.",
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
        f"{len(found):,} of {len(sets):,} sets {verb} parts; {set_name(best.term)} by the largest "
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
        *cluster_figures([result]),
        ("sets tested", f"{len(result.tests):,}"),
        *_level_figures(result),
    ]
    if last is not None:
        figures.append(
            (f"gate after order {last.after_order}", "open" if last.is_open else "closed")
        )
    return figures


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
        *cluster_figures([part for _, part in result.parts]),
        *_level_figures(first),
    ]


# --- the parts ---------------------------------------------------------------------------


def _part(title: str, result: SFITResult, most: int) -> dict[str, Any]:
    return {
        "label": title,
        "finding": _finding(result) if title else [],
        "tables": tables_of(result, most),
        "gates": _gates(result),
        "gate_lines": gate_lines(result),
    }


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


def _caveats(result: SFITResult | PartitionedResult) -> list[str]:
    """The caveats of the result as sentences; a name at their start keeps its letters."""
    parts = result.parts if isinstance(result, PartitionedResult) else ((None, result),)
    names = [name for _, part in parts for name in part.feature_names]
    if isinstance(result, PartitionedResult):
        names.append(result.by)
    return [sentence(printable(caveat), names) for caveat in result.caveats]


def _reading(results: Sequence[SFITResult]) -> list[tuple[str, str]]:
    """The terms of the tables and their meanings, for these results of one test."""
    words, tests = words_of(results[0]), [test for result in results for test in result.tests]
    reading = [
        ("Significant", f"{words.significant} *** p below 0.001, ** below 0.01, * below 0.05."),
        *words.reading(results, coverage_of(results)),
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
