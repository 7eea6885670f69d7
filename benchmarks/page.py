"""RESULTS.md from results.json: every figure and every verdict is computed, none is typed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from asked import verdicts
from parts import PARTS, REST
from table import PEERS, Size, Table


def write_page(results: dict[str, Any], path: Path) -> None:
    table = Table(results)
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    parts = [
        INTRODUCTION.format(
            minutes=results["seconds"] / 60, cores=results["cores"], python=results["python"]
        ),
        *section("What was asked", ASKED, verdict_rows(table)),
        *section("First order, all sizes", FIRST_ORDER, first_order_rows(table)),
        *section("Peers", PEERS_TEXT, peer_rows(table)),
        *section("One-hot data", ONE_HOT, one_hot_rows(table)),
        *section("Second order", PAIRS, pair_rows(table)),
        *section("Choosing beta", BETA, beta_rows(table)),
        *section("Where the time of a small network goes", PARTS_TEXT, part_rows(table)),
        *section("Growth", GROWTH, growth_rows(table)),
        *section("Memory", MEMORY, memory_rows(table)),
        *section("Left out and failed", FAILED, failed_rows(table)),
        f"Versions: {versions}.\n",
    ]
    path.write_text("\n".join(parts), encoding="utf-8")


def section(title: str, text: str, rows: Iterator[list[str]]) -> list[str]:
    """A heading, what it is about, and a table whose first row is its head."""
    head, *body = rows
    if not body:
        return [f"## {title}\n", "Nothing of this kind in this run.\n"]
    lines = [head, ["---"] * len(head), *body]
    return [f"## {title}\n", text, *("| " + " | ".join(line) + " |" for line in lines), ""]


def shown(record: dict[str, Any] | None) -> str:
    """A cost in passes; ~ where it was measured on a part and scaled."""
    if record is None:
        return "-"
    if "error" in record:
        return record["error"].split(":")[0]
    return ("~" if record.get("measured") else "") + number(record["passes"])


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.3g}"


def label(size: Size) -> list[str]:
    _, model, rows, features = size
    return [model, f"{rows:,} x {features}"]


def verdict_rows(table: Table) -> Iterator[list[str]]:
    yield ["asked", "of", "measured", "met"]
    words = {True: "yes", False: "**no**", None: "not measured"}
    for verdict in verdicts(table):
        yield [verdict.asked, verdict.of, verdict.measured, words[verdict.met]]


def first_order_rows(table: Table) -> Iterator[list[str]]:
    yield [
        "model", "rows x features", "route", "one pass", "plain loop", "`fast=False`", "**ours**",
        "ours, `n_jobs=2`", "gate", "loop / ours", "equal to `fast=False`",
    ]  # fmt: skip
    for size in table.sizes("first order"):
        ours = table.find(size, "ours")
        if ours is None:
            yield [*label(size), table.why_not(size), *["-"] * 8]
            continue
        loop, slow = table.find(size, "plain loop"), table.find(size, "ours, fast=False")
        yield [
            *label(size),
            ours["route"],
            f"{table.seconds(size, 'pass'):.3g} s",
            shown(loop),
            shown(slow),
            f"**{shown(ours)}**",
            shown(table.find(size, "ours, n_jobs=2")),
            number(ours["gate"]),
            ratio(table.passes(size, "plain loop"), table.ours(size)),
            equality(slow),
        ]


def ratio(above: float | None, below: float | None) -> str:
    return number(above / below) if above and below else "-"


def equality(slow: dict[str, Any] | None) -> str:
    if slow is None or "error" in slow:
        return "-"
    if not slow["same"] and slow["apart"] == 0:
        return "every count"
    return "every bit" if slow["same"] else f"counts within {slow['apart'] * 1e5:.3g} in 100,000"


def peer_rows(table: Table) -> Iterator[list[str]]:
    yield ["model", "rows x features", "**ours**, with the gate", *PEERS]
    for size in table.sizes("first order"):
        peers = [table.find(size, peer, failed=True) for peer in PEERS]
        whole = table.whole(size)
        if whole and any(peers):
            yield [*label(size), f"**{number(whole)}**", *map(shown, peers)]


def one_hot_rows(table: Table) -> Iterator[list[str]]:
    yield ["model", "rows x features", "one pass", "plain loop", "ours", "ours / loop"]
    for size in table.sizes("one-hot"):
        loop, ours = table.passes(size, "plain loop"), table.ours(size)
        if ours:
            yield [
                *label(size),
                f"{table.seconds(size, 'pass'):.3g} s",
                shown(table.find(size, "plain loop")),
                number(ours),
                ratio(ours, loop),
            ]


def pair_rows(table: Table) -> Iterator[list[str]]:
    yield [
        "model", "rows x features", "pairs", "route", "one pass", "plain loop", "ours",
        "ours, one pair", "loop / ours",
    ]  # fmt: skip
    for kind in ("all pairs", "a pair"):
        for size in table.sizes(kind):
            ours = table.find(size, "ours, n_jobs=2")
            if ours is None:
                yield [*label(size), "-", table.why_not(size), *["-"] * 5]
                continue
            yield [
                *label(size),
                str(ours["pairs"]),
                ours["route"],
                f"{table.seconds(size, 'pass'):.3g} s",
                shown(table.find(size, "plain loop")),
                shown(ours),
                number(ours["passes"] / ours["pairs"]),
                ratio(table.passes(size, "plain loop"), ours["passes"]),
            ]


def beta_rows(table: Table) -> Iterator[list[str]]:
    yield ["model", "rows x features", "one pass", "20 random models", "with `n_jobs=2`"]
    for size in table.sizes("choose_beta"):
        if table.seconds(size, "pass"):
            costs = [shown(table.find(size, method)) for method in ("ours", "ours, n_jobs=2")]
            yield [*label(size), f"{table.seconds(size, 'pass'):.3g} s", *costs]


def part_rows(table: Table) -> Iterator[list[str]]:
    sizes = table.sizes("parts")
    yield ["part", *(", ".join(label(size)) + ": ms (passes)" for size in sizes)]
    for part in [*PARTS, REST]:
        found = [table.find(size, part) for size in sizes]
        if any(found):
            yield [part, *map(milliseconds, found)]
    sums = [sum(table.seconds(size, part) or 0 for part in [*PARTS, REST]) for size in sizes]
    passes = [table.seconds(size, "pass") for size in sizes]
    if all(passes):
        together = zip(sums, passes, strict=True)
        yield ["all", *(f"{1000 * s:.1f} ({number(s / one)})" for s, one in together)]


def milliseconds(record: dict[str, Any] | None) -> str:
    return "-" if record is None else f"{1000 * record['seconds']:.1f} ({number(record['passes'])})"


def growth_rows(table: Table) -> Iterator[list[str]]:
    methods = ("ours", "plain loop", "pass")
    yield [
        "model",
        *(f"{method}, by {what}" for what in ("rows", "features") for method in methods),
    ]
    for model in table.models():
        slopes = [
            slope(table.growth(model, what, method))
            for what in ("rows", "features")
            for method in methods
        ]
        if any(text != "-" for text in slopes):
            yield [model, *slopes]


def slope(points: list[tuple[int, float]]) -> str:
    if len(points) < 2:
        return "-"
    x, y = np.log(np.array(points, dtype=float)).T
    return f"{np.polyfit(x, y, 1)[0]:.2f}"


def memory_rows(table: Table) -> Iterator[list[str]]:
    methods = ("pass", "plain loop", "ours, fast=False", "ours", "ours, n_jobs=2", *PEERS)
    yield ["model", "rows x features", "the rows themselves", *methods, "whole process"]
    for kind in ("first order", "all pairs", "a pair", "choose_beta"):
        for size in table.sizes(kind):
            needed = [memory(table.find(size, method)) for method in methods]
            if any(text != "-" for text in needed):
                _, model, rows, features = size
                bytes_each = 4 if model.startswith("torch") else 8
                process = memory(table.find(size, "process"))
                name = model if kind == "first order" else f"{model}, {kind}"
                held = f"{rows * features * bytes_each / 2**20:.0f}"
                yield [name, f"{rows:,} x {features}", held, *needed, process]


def memory(record: dict[str, Any] | None) -> str:
    if record is None or record.get("megabytes") is None:
        return "-"
    return ("~" if record.get("measured") else "") + f"{record['megabytes']:.0f}"


def failed_rows(table: Table) -> Iterator[list[str]]:
    yield ["case", "model", "rows x features", "method", "what happened"]
    for record in table.failures():
        size = (record["kind"], record["model"], record["rows"], record["features"])
        yield [record["kind"], *label(size), record["method"], record["error"].replace("|", "/")]


INTRODUCTION = """# Speed

What SFIT costs, in *passes*: multiples of ONE prediction of all rows by the model's own `predict`, measured in
the same process. The run took {minutes:.0f} minutes on {cores} cores (Python {python}). It is made by `make bench`;
`python benchmarks/bench.py --page` writes this page again from `results.json`. Each figure of ours, of the pass and
of the loop is the best of several turns that they take one after the other.

![Passes by model](passes.png)

![Growth](growth.png)
"""

ASKED = """"ours" is the better of the default and `n_jobs=2`: the whole call (checks, reading the model's structure, all
tests, intervals, `beta_max`) without the gate after the order, which reveals all features and so is a pass by itself.
"ahead of every peer" counts the gate too.
"""

FIRST_ORDER = """In passes. "plain loop" is Algorithm 1 as printed, one masked data set per feature, with medians but
no intervals. `fast=False` is ours without any knowledge of the model. "gate" is what comes on top of "ours". A ~ marks what
was measured on a part and scaled: the loop on some of the columns, `fast=False` on some of the rows against a pass
over those. "loop / ours" takes the better of the two columns of ours.
"""

PEERS_TEXT = """In passes, on the same model and rows. None but hidimstat tests anything. permutation_importance is
scikit-learn's with 5 repeats, PFI hidimstat's with 5 permutations, LOCO hidimstat's with all its refits; shap is
TreeExplainer for trees and the permutation explainer (one permutation per row, 100 background rows) for the others; sage
is its permutation estimator with 512 background rows until it stops by itself. A ~ marks what was measured on a part and
scaled in proportion: permutation_importance on some of the rows with one repeat, against a pass over those; PFI on some
of the features; LOCO on one feature and on a part of the training rows; shap on some of the rows, the others added at what
those took each beyond a first few; sage on the permutations that a few seconds allow, the number it needs
being its own forecast.
"""

ONE_HOT = """61 dummies of 7 categories and 14 numeric columns, tested one column at a time. A dummy costs two predictions.
"""

PAIRS = """The second order alone, with `exhaustive=True` and `n_jobs=2`: all pairs of the features, or at many rows those of
six of them. The loop is measured on a few pairs.
"""

BETA = """`choose_beta` with 20 random copies of the network, in passes of the network.
"""

PARTS_TEXT = """One call on a network of 100-50-30 units, first order without the gate, the fastest of several, with clocks around
functions of the library. The look at the model, the rounding rule, the polylines and their verification take as long for
any number of rows.
"""

GROWTH = """Slope of log time against log rows (at the middle number of features) and against log features (at the middle
number of rows): 1 is in proportion.
"""

MEMORY = """Peak memory in MB that a call needs beyond what the process held before it (model, rows, libraries). A ~ marks a
peak on the part that was measured, not scaled. "whole process" is the peak of the case's process, everything included.
"""

FAILED = """What the tables above lack.
"""
