"""Results for a terminal: tables with stars and interval bars; plain text for pipes and files."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sfit import _summary
from sfit._beta_choice import BetaChoice
from sfit._partitioned import PartitionedResult
from sfit._power import power, rows_needed
from sfit._result import SFITResult
from sfit._set_tests import AnySetTest
from sfit._text import printable, shortened
from sfit._words import words_of
from sfit.cli._text import say
from sfit.compare import Comparison, Grid
from sfit.compare._base import MOST_ROWS

BAR_WIDTH = 17
BAR_SIGNS = {"zero": "│", "interval": "─", "estimate": "●"}
PLAIN_SIGNS = {"zero": "|", "interval": "-", "estimate": "o"}

# Columns that a narrow terminal drops, in this order, after those that only one test has.
DISPENSABLE = ("order", "over", "interval", "bar")
LEFT = ("set", "over", "bar")

DISPENSABLE_IN_GRIDS = (
    ("Better rows", "Worse rows"),
    ("p (sign)",),
    ("Median",),
    ("n", "Rest"),
    ("Loss of the first",),
    ("Low", "High"),
)
"""Columns that a narrow terminal drops together, in this order."""
SHORT_NAME = 16
"""Longer names are shortened before a column of numbers is dropped from a grid."""

WANTED_POWER = 0.8


class Planned(NamedTuple):
    """The effects for which the power of a test is shown."""

    argument: str
    """Their name as an argument of `power`."""
    sizes: tuple[float, ...]
    text: Callable[[float], str]
    title: str
    meaning: str


PLANNED = {
    "sign": Planned(
        "probability",
        (0.505, 0.51, 0.52, 0.53, 0.55, 0.6),
        lambda share: f"{share:.1%}",
        "rows that improve",
        "A set of features is significant if the test rejects, at alpha = {alpha:g}, that at most "
        "half of all rows improve by more than beta.",
    ),
    "permutation": Planned(
        "correlation",
        (0.02, 0.05, 0.1, 0.15, 0.2, 0.3),
        lambda correlation: f"{correlation:g}",
        "correlation",
        "The correlation is that of the outcome with the prediction from a set of features alone. "
        "The power at alpha = {alpha:g} is a normal approximation.",
    ),
}


def show_result(result: SFITResult | PartitionedResult | Comparison) -> None:
    """Print a result: tables on a terminal, the plain summary elsewhere."""
    console = Console(highlight=False)
    if not console.is_terminal:
        _print(result.summary())
        return
    if isinstance(result, Comparison):
        _show_comparison(result, console)
        return
    parts = result.parts if isinstance(result, PartitionedResult) else ((None, result),)
    for number, (label, part) in enumerate(parts):
        if number:
            console.print()
        if isinstance(result, PartitionedResult):
            console.print(Text(printable(f"{result.by} = {label}"), style="bold"))
        _show_one(part, console)


def write_result(result: Any, report: Path | None, json: Path | None) -> None:
    """Write the page and the JSON that were asked for."""
    if json is not None:
        result.to_json(json)
        say(f"Wrote {json}.")
    if report is not None:
        result.to_html(report)
        say(f"Wrote {report}.")


def _show_comparison(result: Comparison, console: Console) -> None:
    for place, sentence in enumerate(result.findings()):
        console.print(Text(printable(sentence), style="" if place else "bold"))
    facts = "; ".join(f"{name}: {value}" for name, value in result.facts())
    console.print(Text(facts, style="dim"))
    for grid in result.grids():
        console.print(Text(f"\n{printable(grid.title)}", style="bold"))
        console.print(_grid(grid, console))
        more = len(grid.rows) - MOST_ROWS
        lines = [f"... and {more:,} more rows: see --json."] if more > 0 else []
        for line in (*lines, *([grid.note] if grid.note else [])):
            console.print(Text(printable(line), style="dim"))
    for caveat in result.caveats:
        console.print(Text(f"\nNote: {printable(caveat)}", style="dim"))


def _grid(grid: Grid, console: Console) -> Table:
    """A grid; marked rows in colour and with a star. Heads wrap, and long names are shortened."""
    heads = [shortened(printable(head), max(console.width // 3, 20), "...") for head in grid.head]
    rows = [[printable(cell) for cell in row] for row in grid.rows[:MOST_ROWS]]
    widths = _widths(heads, rows, grid.n_names, console.width)
    table = _empty_table()
    table.add_column("", width=1)
    for place, width in widths.items():
        justify: Any = "left" if place < grid.n_names else "right"
        table.add_column(heads[place], justify=justify, width=width, overflow="fold")
    for row, marked in zip(rows, grid.marked, strict=False):
        cells = [shortened(row[place], width, "...") for place, width in widths.items()]
        style = "green" if marked else "dim"
        table.add_row("*" if marked else "", *map(Text, cells), style=style)
    return table


def _widths(
    heads: Sequence[str], rows: Sequence[Sequence[str]], n_names: int, width: int
) -> dict[int, int]:
    """The columns that fit, with their widths; names get what the numbers leave."""
    longest_word = {i: max(map(len, head.split()), default=0) for i, head in enumerate(heads)}
    cells = {i: max((Text(row[i]).cell_len for row in rows), default=0) for i in longest_word}
    needed = {i: max(cells[i], min(longest_word[i], width // 6)) for i in cells}
    names = {i: needed[i] for i in range(n_names)}
    needed |= {i: min(size, SHORT_NAME, width // 5) for i, size in names.items()}
    for dropped in DISPENSABLE_IN_GRIDS:
        if _table_width(needed) > width:
            needed = {i: size for i, size in needed.items() if heads[i] not in dropped}
    if _table_width(needed) > width:  # the last resort: heads break within words
        needed = {i: min(size, max(cells[i], 4)) for i, size in needed.items()}
    share = max(width - _table_width(needed), 0) // n_names
    return needed | {i: min(size, needed[i] + share) for i, size in names.items()}


def _table_width(columns: dict[int, int]) -> int:
    """Characters of a row: the star, and the columns with two spaces between."""
    return 1 + sum(2 + size for size in columns.values())


def _empty_table() -> Table:
    return Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))


def _show_one(result: SFITResult, console: Console) -> None:
    console.print(Text(_summary.headline(result), style="bold"))
    facts = "; ".join(f"{name}: {value}" for name, value in _summary.facts(result))
    console.print(Text(facts, style="dim"))
    tests, left_out = _summary.first_sets(result)
    console.print(_table(result, tests, console))
    for line in (*left_out, *_summary.gate_lines(result)):
        console.print(Text(line))
    for note in _summary.notes(result):
        console.print(Text(note, style="dim"))


def _table(result: SFITResult, tests: Sequence[AnySetTest], console: Console) -> Table:
    names = list(_summary.columns(result))
    words = words_of(result)
    rows = [list(_summary.cells(test, words)) for test in tests]
    for place in (names.index("set"), names.index("over")):
        for row in rows:
            row[place] = shortened(row[place], console.width // 3, "...")
    place = names.index("interval") + 1
    names.insert(place, "bar")
    for row, bar in zip(rows, _bars(tests, console), strict=True):
        row.insert(place, bar)
    dispensable = [*(column.title for column in reversed(words.brief)), *DISPENSABLE]
    for name in _columns_to_drop(names, rows, dispensable, console.width):
        place = names.index(name)
        del names[place]
        for row in rows:
            del row[place]
    table = _empty_table()
    for name in names:
        table.add_column(
            "" if name == "bar" else name,
            justify="left" if name in LEFT else "right",
            no_wrap=True,
            overflow="ellipsis",
        )
    for test, row in zip(tests, rows, strict=True):
        style = "green" if test.significant else "dim"
        table.add_row(*(Text(cell) for cell in row), style=style)
    return table


def _columns_to_drop(
    names: Sequence[str], rows: Sequence[Sequence[str]], dispensable: Sequence[str], width: int
) -> list[str]:
    """Columns to drop to make the others fit."""
    table = [names, *rows]
    needed = {name: 2 + max(Text(row[i]).cell_len for row in table) for i, name in enumerate(names)}
    left_out: list[str] = []
    for name in dispensable:
        if sum(needed.values()) <= width:
            break
        del needed[name]
        left_out.append(name)
    return left_out


def _bars(tests: Sequence[AnySetTest], console: Console) -> list[str]:
    """Each interval, on a common scale per order: orders must not be compared."""
    signs = BAR_SIGNS if console.encoding.startswith("utf") else PLAIN_SIGNS
    spans: dict[int, tuple[float, float]] = {}
    for test in tests:
        ends = [end for end in (test.ci_low, test.ci_high, test.estimate) if math.isfinite(end)]
        low, high = spans.get(test.order, (0.0, 0.0))
        spans[test.order] = min([low, *ends]), max([high, *ends])
    return [_bar(test, *spans[test.order], signs) for test in tests]


def _bar(test: AnySetTest, low: float, high: float, signs: dict[str, str]) -> str:
    """One interval; nonzero values never fall on the mark of zero, so their side stays visible."""
    last = BAR_WIDTH - 1
    zero = round(-low / (high - low) * last) if high > low else last // 2
    zero = min(max(zero, int(low < 0)), last - int(high > 0))

    def place(value: float) -> int:
        if value == 0:
            return zero
        inside = min(max(value, low), high)
        near = round((inside - low) / (high - low) * last) if high > low else zero
        return min(max(near, zero + 1), last) if value > 0 else max(min(near, zero - 1), 0)

    if not math.isfinite(test.estimate):
        return ""
    bar = [" "] * BAR_WIDTH
    bar[zero] = signs["zero"]
    for position in range(place(test.ci_low), place(test.ci_high) + 1):
        bar[position] = signs["interval"]
    bar[place(test.estimate)] = signs["estimate"]
    return "".join(bar)


def show_beta(choice: BetaChoice) -> None:
    """Print the chosen beta, and the rejection rate of random models at other betas."""
    allowed = f"below alpha = {choice.alpha:g}"
    tests = choice.n_models * len(choice.feature_names)
    _print(
        f"beta = {choice.beta:.4g}: {choice.rate(choice.beta):.3f} of {tests:,} tests of "
        f"{choice.n_models} random models reject, {allowed} "
        f"({choice.n_rows:,} rows, seed {choice.seed})."
    )
    betas = sorted({0.0, *(10.0**exponent for exponent in range(-6, 0)), choice.beta})
    rows = [
        (f"{beta:.4g}", f"{choice.rate(beta):.3f}", "<- smallest" if beta == choice.beta else "")
        for beta in betas
    ]
    _print_columns([("beta", "share that rejects", ""), *rows])


def show_power(n: int, test: str, **options: float) -> None:
    """Print the power of a test with `n` rows, for effects of several sizes."""
    planned = PLANNED[test]
    rows = []
    for size in planned.sizes:
        plan: dict[str, Any] = {planned.argument: size, **options}
        rows.append((planned.text(size), f"{power(n, **plan):.3f}", f"{rows_needed(**plan):,}"))
    head = (
        planned.title,
        f"power with {n:,} rows",
        f"rows needed for power {WANTED_POWER:g}",
    )
    _print_columns([head, *rows])
    _print(f"\n{planned.meaning.format(**options)}")


def _print_columns(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        _print("  ".join(cells).rstrip())


def _print(text: str) -> None:
    """Plain text, on a terminal of any encoding."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))
