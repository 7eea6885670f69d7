"""What all displays share: axes, colours, and how names and numbers are written on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfit._summary import number, p_relation, printable
from sfit.exceptions import ArgumentError, MissingDependencyError

if TYPE_CHECKING:
    from sfit._result import SetTest

# Okabe and Ito's blue and orange; purple, because their green and purple are close to grey for some
# colour-blind readers. All are of a contrast of 3 or more to white and to near black.
BLUE, ORANGE, PURPLE, GREY = "#0072b2", "#d55e00", "#9922ee", "#7f7f7f"

ORDER_COLORS = (BLUE, ORANGE, PURPLE)
ORDER_MARKERS = ("o", "s", "D")

LONGEST_NAME = 26
ROW_HEIGHT = 0.27
"""Inches of a row of a display."""

DRAWABLE = 1e300
"""Beyond it the width of the axes is no float any more; such ends are drawn to the edge."""


def own_axes(ax: Any, width: float, height: float) -> Any:
    """The user's axes, or new ones of some size in inches."""
    if ax is not None:
        if not hasattr(ax, "figure"):
            raise ArgumentError(f"ax must be axes of matplotlib, or None; got {ax!r}.")
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingDependencyError('plots need matplotlib: pip install "sfit[plot]".') from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def inner_axes(ax: Any, boxes: Sequence[tuple[float, float, float, float]]) -> list[Any]:
    """Several axes inside `ax`; `ax` itself where one is enough."""
    if len(boxes) == 1:
        return [ax]
    ax.set_axis_off()
    return [ax.inset_axes(box) for box in boxes]


def short(name: Any, longest: int = LONGEST_NAME) -> str:
    """A name that fits beside a plot: its beginning and its end, and no control characters."""
    name = printable(name)
    if len(name) <= longest:
        return name
    half = (longest - 1) // 2
    return f"{name[:half]}…{name[-half:]}"


def short_set(names: Sequence[str], size: int) -> str:
    """Some names of a set of so many: each the shorter the more there are."""
    longest = LONGEST_NAME if size == 1 else max(12, 34 // size)
    return ", ".join(short(name, longest) for name in names)


def name_ticks(axis: Any, positions: Sequence[float], labels: Sequence[str], **look: Any) -> None:
    """Ticks that carry the user's names; a dollar sign in a name is no formula."""
    axis.set_ticks(positions, labels=labels, parse_math=False, **look)
    axis.set_tick_params(length=0)


def explain(ax: Any, what: str, *notes: str) -> None:
    """Say below the horizontal axis what it is, and what is not shown."""
    ax.set_xlabel("\n".join(text for text in (what, *notes) if text), fontsize="small")


def plain_frame(ax: Any) -> None:
    """Only the line of the horizontal axis."""
    ax.spines[["top", "right", "left"]].set_visible(False)


def order_color(order: int) -> str:
    """Colour of the significant sets of an order."""
    return ORDER_COLORS[min(order, len(ORDER_COLORS)) - 1]


def order_marker(order: int) -> str:
    """Shape of the sets of an order: orders are told apart without colour, too."""
    return ORDER_MARKERS[min(order, len(ORDER_MARKERS)) - 1]


def left_out(n: int, n_significant: int, what: str = "set") -> str:
    """How many more there are, in words; nothing where there are none."""
    if not n:
        return ""
    noun, verb = (what, "is") if n == 1 else (f"{what}s", "are")
    return f"{n:,} more {noun} {verb} not shown, {n_significant or 'none'} of them significant."


def left_out_of(hidden: Sequence[SetTest]) -> str:
    """The same for sets that are not shown."""
    return left_out(len(hidden), sum(test.significant for test in hidden))


def finite_limits(tests: Iterable[SetTest]) -> tuple[float, float]:
    """A span that holds zero and all finite ends, with some room."""
    ends = [v for t in tests for v in (t.statistic, t.ci_low, t.ci_high) if math.isfinite(v)]
    low, high = max(min([0.0, *ends]), -DRAWABLE), min(max([0.0, *ends]), DRAWABLE)
    room = 0.05 * (high - low) or 1.0
    return low - room, high + room


def draw_intervals(ax: Any, tests: Sequence[SetTest], ys: Sequence[float]) -> tuple[Any, Any]:
    """Medians with their intervals: in colour and filled where significant, else grey and open.

    Returns the points and the intervals. An infinite end is drawn to the edge.
    """
    low, high = finite_limits(tests)
    order = tests[0].order
    colors = [order_color(order) if test.significant else GREY for test in tests]
    intervals = ax.hlines(
        ys,
        [max(test.ci_low, low) for test in tests],
        [min(test.ci_high, high) for test in tests],
        color=colors,
        linewidth=1.8,
    )
    points = ax.scatter(
        [test.statistic for test in tests],
        ys,
        s=26,
        marker=order_marker(order),
        edgecolors=colors,
        facecolors=[c if t.significant else "none" for c, t in zip(colors, tests, strict=True)],
        linewidths=1.3,
        zorder=3,
    )
    ax.set_xlim(low, high)
    ax.locator_params(axis="x", nbins=6)
    return points, intervals


def sentence(test: SetTest) -> str:
    """All that is known of a set, as a tooltip says it."""
    over = f" over {', '.join(map(short, test.base[:6]))}" if test.base else ""
    more = f" and {len(test.base) - 6} more" if len(test.base) > 6 else ""
    verdict = "significant" if test.significant else "not significant"
    return (
        f"{', '.join(map(short, test.term))}{over}{more}\n"
        f"median {number(test.statistic)}, interval {number(test.ci_low)} to "
        f"{number(test.ci_high)}\n"
        f"{test.n_positive:,} of {test.n:,} rows improve, {p_relation(test.p_adjusted)}: {verdict}"
    )


def shades(values: Any, color: str, weakest: float = 0.18, strongest: float = 0.72) -> Any:
    """Rows of (r, g, b, opacity): the larger the value, the denser the colour.

    Thin enough that text in the style's own colour stays readable on it, light or dark.
    """
    from matplotlib.colors import to_rgba

    values = np.asarray(values, dtype=np.float64)
    largest = values.max() if len(values) and values.max() > 0 else 1.0
    share = np.clip(values / largest, 0.0, 1.0)
    rgba = np.tile(to_rgba(color), (len(values), 1))
    rgba[:, 3] = weakest + (strongest - weakest) * share
    return rgba
