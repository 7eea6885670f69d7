"""What the pictures of responses to numbers and to categories share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sfit._labels import labels
from sfit.plotting._style import BLUE, GREY, ORANGE, PURPLE, padded, short

if TYPE_CHECKING:
    from sfit._profile import FeatureProfile

COLORS = (BLUE, ORANGE, PURPLE, GREY)
STYLES = ("-", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "D", "^")
"""Colour, line and marker of each output: no two differ by colour alone."""
FEW_ROWS = 30
"""Fewer rows have an interval that may leave the picture."""
MOST_CATEGORIES = 20
MISSING = "(missing)"
LONGEST_OUTPUT = 14
"""Columns of the label of a class."""


class Area(NamedTuple):
    """A part of every panel that belongs to one bin, or to missing values."""

    bin: int
    start: float
    stop: float
    is_column: bool
    """Whether it lies between two places of the horizontal axis; else, of the vertical axis."""
    responses: Sequence[float]
    is_missing: bool = False

    def transform(self, axes: Any) -> Any:
        """From the unit square to the area within some axes."""
        from matplotlib.transforms import Affine2D

        size = self.stop - self.start
        if self.is_column:
            return Affine2D().scale(size, 1).translate(self.start, 0) + axes.get_xaxis_transform()
        return Affine2D().scale(1, size).translate(0, self.start) + axes.get_yaxis_transform()


@dataclass
class Panels:
    """What was drawn."""

    axes: list[Any]
    areas: list[Area]
    lines: list[Any] = field(default_factory=list)
    base: list[Any] = field(default_factory=list)
    missing: list[Any] = field(default_factory=list)
    rows: Any = None
    points: Any = None
    intervals: Any = None


def hollow(ax: Any, x: float, y: float, output: int) -> Any:
    """The prediction for missing values."""
    color = COLORS[output]
    look = {"color": color, "markerfacecolor": "none", "markersize": 5.5}
    return ax.plot([x], [y], MARKERS[output], **look)[0]


def draw_gains(panels: Panels, profile: FeatureProfile, at: Any, n: int, upright: bool) -> None:
    """Mean gains of the first n bins with their intervals: blue above zero and orange below."""
    ends = zip(profile.bin_gain, profile.bin_low, profile.bin_high, strict=True)
    gains, n_rows = list(ends)[:n], list(profile.bin_n[:n])
    if profile.n_missing:
        mean, low, high = profile.missing_gain
        gains.append((mean, low, high))
        n_rows.append(profile.n_missing)
    # The intervals of a few rows would flatten all others: they are drawn to the edge.
    wide = [end for one, rows in zip(gains, n_rows, strict=True) for end in one if rows >= FEW_ROWS]
    limits = padded([*(one[0] for one in gains), *wide])
    means, lows, highs = np.clip(np.transpose(gains), *limits)
    colors = [BLUE if one >= 0 else ORANGE for one in means]
    ax = panels.axes[2]
    if upright:
        panels.intervals = ax.vlines(at, lows, highs, color=colors, linewidth=1.6)
        panels.points = ax.scatter(at, means, s=12, color=colors, zorder=3)
        ax.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        ax.set_ylim(*limits)
    else:
        panels.intervals = ax.hlines(at, lows, highs, color=colors, linewidth=1.6)
        panels.points = ax.scatter(means, at, s=14, color=colors, zorder=3)
        ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
        ax.set_xlim(*limits)


def response_limits(values: Sequence[float], profile: FeatureProfile) -> tuple[float, float]:
    """A padded range of responses; a flat response lies in the middle."""
    low, high = min(values), max(values)
    size = max(abs(low), abs(high))
    pad = 0.07 * (high - low)
    if high - low <= 1e-9 * size or high == low:
        pad = 0.05 if profile.task == "classification" else 0.1 * size or 1.0
    return low - pad, high + pad


def response_name(profile: FeatureProfile) -> str:
    """The name of the axis of responses."""
    if profile.task == "classification" and profile.n_outputs == 1:
        return f"P({short(profile.outputs[0], LONGEST_OUTPUT)})"
    return "probability" if profile.task == "classification" else "prediction"


def add_legend(panels: Panels, profile: FeatureProfile) -> None:
    """Name the outputs above the response, if there are several."""
    if len(profile.outputs) > 1:
        names = list(labels(profile.outputs, LONGEST_OUTPUT).values())
        legend = panels.axes[0].legend(
            panels.lines,
            names,
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=len(names),
            frameon=False,
            fontsize="small",
            borderaxespad=0.2,
            handlelength=1.8,
            columnspacing=1.2,
        )
        for text in legend.get_texts():
            text.set_parse_math(False)


def notes(profile: FeatureProfile) -> list[str]:
    """Sentences on what is left out."""
    texts = []
    n = profile.n_elsewhere
    if profile.is_numeric and n:
        texts.append(f"{n:,} row{'s lie' if n > 1 else ' lies'} outside the picture.")
    more = len(profile.labels) - MOST_CATEGORIES
    if more > 0 or (n and not profile.is_numeric):
        n += sum(profile.counts[MOST_CATEGORIES:])
        texts.append(f"{n:,} row{'s' if n > 1 else ''} of rarer categories not shown.")
    if not profile.exact:
        texts.append(f"Interpolated between {profile.n_knots:,} values.")
    return texts
