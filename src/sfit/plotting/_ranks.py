"""Gains of features beside the ranks that each can have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfit._arguments import check_whole
from sfit._labels import labels, left_out_of_labels
from sfit._text import number, printable
from sfit.plotting._style import (
    BLUE,
    GREY,
    LONGEST_NAME,
    ROW_HEIGHT,
    Interval,
    Tooltip,
    axes_or_new,
    draw_intervals,
    explain,
    inner_axes,
    left_out,
    name_ticks,
    narrow_lines,
    over_row,
    plain_frame,
)

if TYPE_CHECKING:
    from sfit.compare import FeatureComparison
    from sfit.compare._feature_result import FeatureRank

MOST_FEATURES = 30
MOST_TICKS = 8
BOXES = [(0.0, 0.0, 0.56, 1.0), (0.62, 0.0, 0.38, 1.0)]
"""The gains, and the ranks in the same rows."""


class RanksDisplay:
    """The mean gain of every feature with its interval, beside the ranks that it can have.

    The largest gain is on top. A bar covers all ranks that the comparison of pairs leaves open,
    with a mark at the rank of the estimate; a filled mark without a bar is a certain rank.

    Parameters
    ----------
    result : FeatureComparison
        The result to draw.
    max_features : int, default=30
        Number of features to draw, from the largest gain; the others are counted.

    Attributes
    ----------
    shown : tuple of FeatureRank
        The features drawn, from the top.
    ax_, figure_
        The axes and the figure drawn on.
    axes_ : list of axes
        The axes of the gains and of the ranks.
    points_, intervals_, zero_
        The gains, their intervals, and the line at zero.
    ranks_, bars_
        The ranks, and the bars of possible ranks.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import RanksDisplay
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> ranks = sfit.compare_features(sfit.simulate.interactions_mean, X, y, random_state=0)
    >>> display = RanksDisplay.from_result(ranks)
    >>> [label.get_text() for label in display.axes_[0].get_yticklabels()][:2]
    ['X3', 'X1']
    """

    def __init__(self, result: FeatureComparison, max_features: int = MOST_FEATURES) -> None:
        check_whole(max_features, "max_features")
        self.result = result
        self.shown = result.features[:max_features]
        self.hidden = result.features[max_features:]

    @classmethod
    def from_result(
        cls, result: FeatureComparison, *, max_features: int = MOST_FEATURES, ax: Any = None
    ) -> RanksDisplay:
        """Draw a result; see `RanksDisplay` and `plot`.

        Parameters
        ----------
        result : FeatureComparison
            The result to draw.
        max_features : int, default=30
            Number of features to draw.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        RanksDisplay
            The display, drawn.
        """
        return cls(result, max_features).plot(ax=ax)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return "Importance, and how certain the ranks are"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        return (
            "Mean gain of each feature with its asymptotic interval, and all ranks that the "
            "comparison of pairs leaves open. Filled and coloured ranks are certain. Ranks are "
            "corrected for the number of pairs; the intervals drawn are not."
        )

    @property
    def height(self) -> float:
        """Inches that the rows need."""
        return 1.2 + ROW_HEIGHT * len(self.shown)

    def plot(self, ax: Any = None) -> RanksDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; gains and ranks get inset axes.

        Returns
        -------
        RanksDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, 8.0, self.height)
        self.figure_ = ax.figure
        self.axes_ = inner_axes(ax, BOXES)
        self._draw_gains(self.axes_[0])
        self._draw_ranks(self.axes_[1])
        for axes in self.axes_:
            axes.set_ylim(len(self.shown) - 0.4, -0.6)
            plain_frame(axes)
        return self

    def tooltips(self) -> list[Tooltip]:
        """The numbers behind each row, after `plot`.

        Returns
        -------
        list of tuple
            Axes, corner, transform and text.
        """
        return [
            over_row(axes, row, _sentence(one))
            for axes in self.axes_
            for row, one in enumerate(self.shown)
        ]

    def _draw_gains(self, ax: Any) -> None:
        rows = range(len(self.shown))
        gains = [Interval(one.gain, one.ci_low, one.ci_high) for one in self.shown]
        self.points_, self.intervals_ = draw_intervals(ax, gains, rows)
        self.zero_ = ax.axvline(0, color=GREY, linewidth=0.8, zorder=0)
        names = [one.feature for one in self.result.features]
        found = labels(names, LONGEST_NAME)
        name_ticks(ax.yaxis, rows, [found[one.feature] for one in self.shown])
        ax.set_title("Mean gain", loc="left", fontsize="medium")
        n_certain = sum(map(is_certain, self.hidden))
        explain(
            ax,
            "loss saved by revealing the feature, with asymptotic interval",
            left_out(len(self.hidden), n_certain, "feature", "with a certain rank"),
            *narrow_lines(left_out_of_labels(names, LONGEST_NAME)),
        )

    def _draw_ranks(self, ax: Any) -> None:
        rows = range(len(self.shown))
        colors = [BLUE if is_certain(one) else GREY for one in self.shown]
        self.bars_ = ax.hlines(
            rows,
            [one.rank_low for one in self.shown],
            [one.rank_high for one in self.shown],
            color=colors,
            linewidth=6,
            alpha=0.4,
        )
        self.ranks_ = ax.scatter(
            [one.rank for one in self.shown],
            rows,
            s=26,
            edgecolors=colors,
            facecolors=[
                color if is_certain(one) else "none"
                for color, one in zip(colors, self.shown, strict=True)
            ],
            linewidths=1.3,
            zorder=3,
        )
        last = max(one.rank_high for one in self.shown)
        pad, step = max(0.6, 0.02 * last), -(-last // MOST_TICKS)
        ax.set_xlim(1 - pad, last + pad)
        ax.set_xticks([1, *(rank for rank in range(step, last + 1, step) if rank > 1)])
        name_ticks(ax.yaxis, rows, [""] * len(rows))
        ax.grid(axis="x", linewidth=0.5, alpha=0.4)
        ax.set_title("Possible ranks", loc="left", fontsize="medium")
        explain(ax, "filled: certain")


def is_certain(one: FeatureRank) -> bool:
    """Whether only one rank is possible."""
    return one.rank_low == one.rank_high


def _sentence(one: FeatureRank) -> str:
    ranks = "certain" if is_certain(one) else f"possible: {one.rank_low} to {one.rank_high}"
    return (
        f"{printable(one.feature)}\n"
        f"mean gain {number(one.gain)}, interval {number(one.ci_low)} to {number(one.ci_high)}\n"
        f"rank {one.rank}, {ranks}\n"
        f"{one.n_better:,} rows better, {one.n_worse:,} worse"
    )
