"""Axes, colours, names and numbers, shared by all displays."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfit._labels import JOIN, columns
from sfit._set_tests import base_names
from sfit._text import listed, number, p_relation, printable, shortened
from sfit.exceptions import ArgumentError, MissingDependencyError

if TYPE_CHECKING:
    from sfit._set_tests import AnySetTest
    from sfit._words import Words

# Okabe and Ito's blue and orange. The purple is ours, because their green and purple are close to
# grey for some colour-blind readers. All have a contrast of at least 3 to white and to near black.
BLUE, ORANGE, PURPLE, GREY = "#0072b2", "#d55e00", "#9922ee", "#7f7f7f"

ORDER_COLORS = (BLUE, ORANGE, PURPLE)
ORDER_MARKERS = ("o", "s", "D")
LOST = "^"
"""Marker of a set that is significant only without the correction."""

LONGEST_NAME = 26
LONGEST_LINE = 66
"""Characters of a line of small text below a plot."""
LINE_HEIGHT = 0.14
"""Height of such a line, in inches."""
COLUMN_WIDTH = 0.078
"""Width of a column of a name beside a plot, in inches."""
CHARACTERS_PER_INCH = 15.3
"""Of small text."""
ROW_HEIGHT = 0.27
"""Height of a row, in inches."""

DRAWABLE = 1e300
"""Beyond this the width of the axes overflows; such intervals are drawn to the edge."""


class Interval(NamedTuple):
    """An estimate that is not the test of a set, as `draw_intervals` draws it."""

    estimate: float
    ci_low: float
    ci_high: float
    significant: bool = True
    order: int = 1


class Tooltip(NamedTuple):
    """Text that a page shows over a rectangle of width and height 1."""

    axes: Any
    corner: tuple[float, float]
    transform: Any
    text: str


def over_row(axes: Any, row: int, text: str) -> Tooltip:
    """A tooltip over a row, across the axes."""
    return Tooltip(axes, (0, row - 0.5), axes.get_yaxis_transform(), text)


def over_column(axes: Any, column: int, text: str) -> Tooltip:
    """A tooltip over a column, from the bottom of the axes to the top."""
    return Tooltip(axes, (column - 0.5, 0), axes.get_xaxis_transform(), text)


def axes_or_new(ax: Any, width: float, height: float) -> Any:
    """The user's axes, or new ones of this size in inches."""
    if ax is not None:
        if not hasattr(ax, "figure"):
            raise ArgumentError(f"ax must be matplotlib axes or None; got {ax!r}.")
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingDependencyError('plots need matplotlib: pip install "sfit[plot]".') from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def inner_axes(ax: Any, boxes: Sequence[tuple[float, float, float, float]]) -> list[Any]:
    """Inset axes of `ax`; `ax` itself for a single box."""
    if len(boxes) == 1:
        return [ax]
    ax.set_axis_off()
    return [ax.inset_axes(box) for box in boxes]


def short(name: Any, longest: int = LONGEST_NAME) -> str:
    """A printable name that fits a title. Names beside each other need `sfit._labels.labels`."""
    return shortened(printable(name), longest)


def name_ticks(axis: Any, positions: Sequence[float], labels: Sequence[str], **look: Any) -> None:
    """Ticks labelled with names from the user; a dollar sign does not start a formula."""
    axis.set_ticks(positions, labels=labels, parse_math=False, **look)
    axis.set_tick_params(length=0)


def explain(ax: Any, what: str, *notes: str) -> None:
    """Label the horizontal axis, and add notes on what is left out."""
    write_below(ax, lines_of(what, *notes))


def write_below(ax: Any, lines: Iterable[str]) -> None:
    """Small text below the horizontal axis."""
    ax.set_xlabel("\n".join(lines), fontsize="small", parse_math=False)


def lines_of(*texts: str, width: int = LONGEST_LINE) -> list[str]:
    """The lines of some texts below an axis; texts may be empty."""
    return [line for text in texts for line in textwrap.wrap(text, width, break_on_hyphens=False)]


def narrow_lines(text: str) -> list[str]:
    """The lines of a long sentence below narrow axes."""
    return lines_of(text, width=46)


def line_width(inches: float, names: Iterable[str]) -> int:
    """Characters of a line of small text below a figure of this width, beside these names."""
    left = COLUMN_WIDTH * max(map(columns, names), default=0)
    return min(max(int(CHARACTERS_PER_INCH * (inches - left - 0.2)), 30), LONGEST_LINE)


def plain_frame(ax: Any) -> None:
    """Hide all frame lines but that of the horizontal axis."""
    ax.spines[["top", "right", "left"]].set_visible(False)


def order_color(order: int) -> str:
    """Colour of the significant sets of an order."""
    return ORDER_COLORS[min(order, len(ORDER_COLORS)) - 1]


def order_marker(order: int) -> str:
    """Marker of the sets of an order, which distinguishes orders without colour."""
    return ORDER_MARKERS[min(order, len(ORDER_MARKERS)) - 1]


def left_out(n: int, n_marked: int, what: str = "set", mark: str = "significant") -> str:
    """A sentence that counts what is left out; empty if nothing is."""
    if not n:
        return ""
    noun, verb = (what, "is") if n == 1 else (f"{what}s", "are")
    return f"{n:,} more {noun} {verb} not shown, {n_marked or 'none'} of them {mark}."


def left_out_of(hidden: Sequence[AnySetTest]) -> str:
    """A sentence that counts the sets left out."""
    return left_out(len(hidden), sum(test.significant for test in hidden))


def finite_limits(tests: Iterable[AnySetTest | Interval]) -> tuple[float, float]:
    """A padded range that contains zero and all finite ends."""
    return padded(end for test in tests for end in (test.estimate, test.ci_low, test.ci_high))


def corrected_verdicts(corrected: bool) -> str:
    """A sentence for the captions of intervals, if verdicts are corrected; else empty."""
    if not corrected:
        return ""
    return " Verdicts are corrected for the number of tests; the intervals drawn are not."


def extent(values: Iterable[float]) -> tuple[float, float]:
    """A range that contains zero and all finite values."""
    ends = [value for value in values if math.isfinite(value)]
    return max(min([0.0, *ends]), -DRAWABLE), min(max([0.0, *ends]), DRAWABLE)


def padded(values: Iterable[float]) -> tuple[float, float]:
    """A padded range that contains zero and all finite values."""
    low, high = extent(values)
    pad = 0.05 * (high - low) or 1.0
    return low - pad, high + pad


def draw_intervals(
    ax: Any,
    tests: Sequence[AnySetTest | Interval],
    ys: Sequence[float],
    palette: Sequence[str] | None = None,
    lost: Sequence[bool] = (),
) -> tuple[Any, Any]:
    """Draw estimates with intervals: filled and coloured if significant, else hollow and grey.

    `palette` holds the colour of each if significant; by default, that of the order. `lost` says
    which are significant only without the correction. Returns the points and the intervals. An
    infinite end is drawn to the edge.
    """
    low, high = finite_limits(tests)
    palette = palette or [order_color(tests[0].order)] * len(tests)
    lost = lost or [False] * len(tests)
    colors = colors_of(tests, palette, lost)
    intervals = ax.hlines(
        ys,
        [max(test.ci_low, low) for test in tests],
        [min(test.ci_high, high) for test in tests],
        color=colors,
        linewidth=1.8,
    )
    points = draw_points(ax, tests, [test.estimate for test in tests], ys, colors, lost)
    ax.set_xlim(low, high)
    ax.locator_params(axis="x", nbins=6)
    return points, intervals


def colors_of(
    tests: Sequence[AnySetTest | Interval], palette: Sequence[str], lost: Sequence[bool]
) -> list[str]:
    """Colours of tests: grey if a test is not significant, with or without the correction."""
    return [
        color if test.significant or is_lost else GREY
        for color, test, is_lost in zip(palette, tests, lost, strict=True)
    ]


def draw_points(
    ax: Any,
    tests: Sequence[AnySetTest | Interval],
    xs: Sequence[float],
    ys: Sequence[float],
    colors: Sequence[str],
    lost: Sequence[bool],
) -> Any:
    """One marker per test: filled if significant, a triangle if it lost significance."""
    from matplotlib.markers import MarkerStyle

    points = ax.scatter(
        xs,
        ys,
        s=26,
        edgecolors=colors,
        facecolors=[c if t.significant else "none" for c, t in zip(colors, tests, strict=True)],
        linewidths=1.3,
        zorder=3,
    )
    markers = [
        MarkerStyle(LOST if is_lost else order_marker(test.order))
        for test, is_lost in zip(tests, lost, strict=True)
    ]
    points.set_paths([one.get_path().transformed(one.get_transform()) for one in markers])
    return points


def lost_to_correction(test: AnySetTest, alpha: float) -> bool:
    """Whether a set is significant only without the correction."""
    return not test.significant and test.p_value < alpha


def lost_note(lost: Iterable[bool]) -> str:
    """What the triangles are, if there are any."""
    return "△ significant only without the correction" if any(lost) else ""


def sentence(test: AnySetTest, words: Words) -> str:
    """The test of a set in words, with full names, for a tooltip."""
    base = base_names(test)
    over = f" over {listed(base)}" if base else ""
    verdict = "significant" if test.significant else "not significant"
    return (
        f"{JOIN.join(map(printable, test.term))}{over}\n"
        f"{words.estimate} {number(test.estimate)}, interval {number(test.ci_low)} to "
        f"{number(test.ci_high)}\n"
        f"{words.evidence(test)}, {p_relation(test.p_adjusted)}: {verdict}"
    )


def shades(values: Any, color: str, weakest: float = 0.18, strongest: float = 0.72) -> Any:
    """Rows of (r, g, b, opacity): the larger the value, the denser the colour.

    The colours are light enough for the style's text to stay readable on them, light or dark.
    """
    from matplotlib.colors import to_rgba

    values = np.asarray(values, dtype=np.float64)
    largest = values.max() if len(values) and values.max() > 0 else 1.0
    share = np.clip(values / largest, 0.0, 1.0)
    rgba = np.tile(to_rgba(color), (len(values), 1))
    rgba[:, 3] = weakest + (strongest - weakest) * share
    return rgba
