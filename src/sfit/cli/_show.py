"""Results for a terminal: the summary in colour, with interval bars; plain text for pipes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.text import Text

from sfit._audit import Audit
from sfit._beta_choice import BetaChoice
from sfit._partitioned import PartitionedResult
from sfit._power import power, rows_needed
from sfit._result import SFITResult
from sfit._set_tests import AnySetTest
from sfit.cli._text import say
from sfit.compare import Comparison

BAR_WIDTH = 17
BAR_SIGNS = {"zero": "│", "interval": "─", "estimate": "●"}
PLAIN_SIGNS = {"zero": "|", "interval": "-", "estimate": "o"}

STYLES = {
    "": "",
    "title": "bold",
    "head": "bold",
    "significant": "green",
    "lost": "yellow",
    "dim": "dim",
}
"""How the lines of a summary look."""

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


def show_result(result: SFITResult | PartitionedResult | Comparison | Audit) -> None:
    """Print a result: a summary as wide as the terminal, or the plain summary elsewhere."""
    console = Console(highlight=False)
    if not console.is_terminal or isinstance(result, Audit):
        _print(result.summary())
        return
    if isinstance(result, Comparison):
        lines = result._lines(console.width)
    else:
        lines = result._lines(console.width, lambda tests: _bars(tests, console))
    for text, role in lines:
        console.print(Text(text, style=STYLES[role]), soft_wrap=True)


def write_result(result: Any, report: Path | None, json: Path | None) -> None:
    """Write the page and the JSON that were asked for."""
    if json is not None:
        result.to_json(json)
        say(f"Wrote {json}.")
    if report is not None:
        result.to_html(report)
        say(f"Wrote {report}.")


def _bars(tests: Sequence[AnySetTest], console: Console) -> list[str]:
    """The intervals of the sets of one order, on a common scale: orders must not be compared."""
    signs = BAR_SIGNS if console.encoding.startswith("utf") else PLAIN_SIGNS
    ends = [end for test in tests for end in (test.ci_low, test.ci_high, test.estimate)]
    finite = [0.0, *filter(math.isfinite, ends)]
    return [_bar(test, min(finite), max(finite), signs) for test in tests]


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
