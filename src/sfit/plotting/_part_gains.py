"""The mean gain of each feature, part by part."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfit._arguments import check_whole
from sfit._labels import labels, left_out_of_labels
from sfit._text import number, p_relation, printable
from sfit.plotting._style import (
    BLUE,
    DRAWABLE,
    GREY,
    LONGEST_NAME,
    Tooltip,
    axes_or_new,
    corrected_verdicts,
    inner_axes,
    left_out,
    name_ticks,
    over_column,
    short,
)

if TYPE_CHECKING:
    from sfit.compare._part_result import PartComparison, PartGain, PartsTest, PartTrend

MOST_FEATURES = 9
COLUMNS = 3
PANEL = (2.9, 1.75)
"""Width and height of a panel, in inches."""
BETWEEN = (0.24, 0.5)
"""Space between panels, in widths and heights of a panel."""
MOST_TICKS = 12
LONGEST_LABEL = 12
KEY = "Filled: differs significantly from the rest. Dashed: all parts together."


class PartGainsDisplay:
    """The mean gains of features by part, one panel per feature.

    Parameters
    ----------
    result : PartComparison
        The result to draw.
    max_features : int, default=9
        Number of features to draw: those that differ significantly, then by p-value.

    Attributes
    ----------
    features : list of str
        The features drawn, from the top left.
    ax_, figure_
        The axes and the figure drawn on.
    axes_, points_, intervals_ : list
        Per feature: its axes, the mean gains and the intervals.
    lines_ : list
        Per feature the line through the means, if a trend was tested.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import PartGainsDisplay
    >>> X, y = sfit.simulate.interactions(2000, random_state=0)
    >>> half = ["upper" if value > 0 else "lower" for value in X["X1"]]
    >>> model = sfit.simulate.interactions_mean
    >>> parts = sfit.compare_parts(model, X, y, by=half, random_state=0)
    >>> PartGainsDisplay(parts).plot().features[:1]
    ['X1']
    """

    def __init__(self, result: PartComparison, max_features: int = MOST_FEATURES) -> None:
        check_whole(max_features, "max_features")
        self.result = result
        trends = {trend.feature: trend for trend in result.trends}
        self.significant = {
            one.feature
            for one in result.features
            if one.significant or (trends and trends[one.feature].significant)
        }
        ranked = sorted(
            result.features,
            key=lambda one: (one.feature not in self.significant, one.p_adjusted, -one.statistic),
        )
        self.tests, self.hidden = ranked[:max_features], ranked[max_features:]
        self.features = [one.feature for one in self.tests]

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return f"Mean gain by {short(self.result.by)}"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        line = " The line joins the parts in their order." if self.result.trends else ""
        return (
            "Mean gain of each feature in each part, with its asymptotic interval. Filled and "
            "coloured: significantly different from the rest. Dashed: all parts together."
            f"{line}{corrected_verdicts(self.result.settings.correction is not None)}"
        )

    @property
    def n_columns(self) -> int:
        """Panels side by side."""
        return min(COLUMNS, len(self.tests))

    @property
    def n_rows(self) -> int:
        """Rows of panels."""
        return -(-len(self.tests) // self.n_columns)

    @property
    def width(self) -> float:
        """Inches that the panels need."""
        return max(1.0 + PANEL[0] * self.n_columns, 4.5)

    @property
    def height(self) -> float:
        """Inches that the panels need."""
        return 0.9 + PANEL[1] * self.n_rows

    def plot(self, ax: Any = None) -> PartGainsDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; each feature gets inset axes.

        Returns
        -------
        PartGainsDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, self.width, self.height)
        self.figure_ = ax.figure
        self.axes_ = inner_axes(ax, self._boxes())
        self.points_: list[Any] = []
        self.intervals_: list[Any] = []
        self.lines_: list[Any] = []
        for place, (axes, test) in enumerate(zip(self.axes_, self.tests, strict=True)):
            self._panel(axes, test, self._gains_of(test))
            # A panel without another one below names the parts.
            below = place + self.n_columns < len(self.tests)
            self._name_parts(axes, below)
            if place % self.n_columns == 0:
                axes.set_ylabel("mean gain", fontsize="small")
        note = left_out(
            len(self.hidden), sum(one.feature in self.significant for one in self.hidden), "feature"
        )
        last = self.axes_[(self.n_rows - 1) * self.n_columns]
        ends = left_out_of_labels(self._names, LONGEST_NAME)
        lines = (short(self.result.by), KEY, note, ends)
        last.set_xlabel("\n".join(filter(None, lines)), fontsize="small")
        last.xaxis.label.set(ha="left", x=0.0, parse_math=False)
        return self

    def tooltips(self) -> list[Tooltip]:
        """The numbers behind each point, after `plot`.

        Returns
        -------
        list of tuple
            Axes, corner, transform and text.
        """
        return [
            over_column(axes, place, self._sentence(gain))
            for axes, test in zip(self.axes_, self.tests, strict=True)
            for place, gain in enumerate(self._gains_of(test))
        ]

    @property
    def _names(self) -> list[str]:
        return [one.feature for one in self.result.features]

    def _gains_of(self, test: PartsTest) -> list[PartGain]:
        return [one for one in self.result.gains if one.feature == test.feature]

    def _sentence(self, one: PartGain) -> str:
        p = "" if one.p_adjusted is None else f", {p_relation(one.p_adjusted)}"
        return (
            f"{printable(one.feature)}, {printable(one.part)}: {one.n:,} "
            f"{self.result.settings.units}\n"
            f"mean gain {number(one.gain)}, interval {number(one.ci_low)} to "
            f"{number(one.ci_high)}\n"
            f"{number(one.gain_rest)} in the rest, difference {number(one.difference)}{p}"
        )

    def _boxes(self) -> list[tuple[float, float, float, float]]:
        """The places of the panels: left, bottom, width and height."""
        width = 1 / (self.n_columns + BETWEEN[0] * (self.n_columns - 1))
        height = 1 / (self.n_rows + BETWEEN[1] * (self.n_rows - 1))
        boxes = []
        for place in range(len(self.tests)):
            row, column = divmod(place, self.n_columns)
            left = column * width * (1 + BETWEEN[0])
            boxes.append((left, 1 - height - row * height * (1 + BETWEEN[1]), width, height))
        return boxes

    def _panel(self, axes: Any, test: PartsTest, gains: list[PartGain]) -> None:
        """The gains of one feature: filled and coloured where a part differs, else hollow."""
        places, (low, high) = np.arange(len(gains)), _limits(gains)
        means, lows, highs = np.transpose([[one.gain, one.ci_low, one.ci_high] for one in gains])
        # With two parts, the test of all parts is that of each.
        differs = [test.significant if len(gains) == 2 else one.significant for one in gains]
        colors = np.where(differs, BLUE, GREY)
        axes.axhline(0, color=GREY, linewidth=0.8, zorder=0)
        axes.axhline(test.gain, color=GREY, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0)
        if self.result.trends:
            color = BLUE if self._trend_of(test).significant else GREY
            self.lines_ += axes.plot(places, means, color=color, linewidth=1.2, zorder=1)
        ends = np.clip(lows, low, high), np.clip(highs, low, high)
        self.intervals_.append(axes.vlines(places, *ends, color=colors, linewidth=1.6))
        self.points_.append(
            axes.scatter(
                places,
                means,
                s=22,
                edgecolors=colors,
                facecolors=np.where(differs, BLUE, "none"),
                linewidths=1.3,
                zorder=3,
            )
        )
        axes.set_ylim(low, high)
        axes.set_xlim(-0.6, len(gains) - 0.4)
        axes.locator_params(axis="y", nbins=4)
        axes.tick_params(axis="y", labelsize="small")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_title(
            f"{labels(self._names, LONGEST_NAME)[test.feature]}: {self._verdict(test)}",
            loc="left",
            fontsize="small",
            parse_math=False,
            fontweight="bold" if test.feature in self.significant else "normal",
        )

    def _verdict(self, test: PartsTest) -> str:
        """The adjusted p-values of a feature."""
        if not self.result.trends:
            return p_relation(test.p_adjusted)
        return f"{p_relation(test.p_adjusted)}, trend {p_relation(self._trend_of(test).p_adjusted)}"

    def _trend_of(self, test: PartsTest) -> PartTrend:
        return next(one for one in self.result.trends if one.feature == test.feature)

    def _name_parts(self, axes: Any, below: bool) -> None:
        """Label the parts, unless a panel below does; of many, every second or third."""
        found = list(labels(self.result.labels, LONGEST_LABEL).values())
        places = range(0, len(found), -(-len(found) // MOST_TICKS))
        names = ["" if below else found[place] for place in places]
        crowded = sum(map(len, names)) > 24
        look: dict[str, Any] = {"fontsize": "small"}
        if crowded:
            look |= {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
        name_ticks(axes.xaxis, places, names, **look)


def _limits(gains: list[PartGain]) -> tuple[float, float]:
    """A padded range that contains zero and all finite ends."""
    ends = [v for g in gains for v in (g.gain, g.ci_low, g.ci_high) if math.isfinite(v)]
    low, high = max(min([0.0, *ends]), -DRAWABLE), min(max([0.0, *ends]), DRAWABLE)
    pad = 0.08 * (high - low) or 1.0
    return low - pad, high + pad
