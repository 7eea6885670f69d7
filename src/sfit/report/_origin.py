"""How a result was made: settings, time, stages and versions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sfit._result import SFITResult
from sfit._summary import facts
from sfit._text import listed, percent, printable
from sfit._words import words_of


def coverage_of(results: Sequence[SFITResult]) -> str:
    """Coverage of the intervals of all parts; it depends on the size of the part."""
    coverages = {result.settings.coverage for result in results}
    least = min(coverages)
    # Rounded down: a bound must hold.
    at_least = f"at least {percent(math.floor(1000 * least) / 1000)}"
    return percent(least) if len(coverages) == 1 else at_least


def cluster_figures(results: Sequence[SFITResult]) -> list[tuple[str, str]]:
    """The number of clusters of all parts, if the rows have clusters."""
    numbers = [result.settings.n_clusters for result in results]
    total = sum(n for n in numbers if n is not None)
    return [] if None in numbers else [("clusters", f"{total:,}")]


def settings_of(results: Sequence[SFITResult]) -> list[tuple[str, str]]:
    """The settings of all parts."""
    result = results[0]
    s, pairs = result.settings, dict(facts(result))
    if len(results) > 1:
        pairs["Rows"] = f"{sum(one.settings.n_rows for one in results):,}"
        pairs |= {name.capitalize(): text for name, text in cluster_figures(results)}
        pairs["Interval"] = f"{s.interval}, {words_of(result).coverage} {coverage_of(results)}"
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
