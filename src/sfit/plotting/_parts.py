"""The parts of a partitioned result side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfit._arguments import check_whole
from sfit._labels import labels, left_out_of_labels
from sfit._text import printable
from sfit._words import words_of
from sfit.plotting._style import (
    GREY,
    LONGEST_NAME,
    ROW_HEIGHT,
    Tooltip,
    axes_or_new,
    corrected_verdicts,
    draw_intervals,
    explain,
    finite_limits,
    inner_axes,
    left_out,
    lost_note,
    lost_to_correction,
    name_ticks,
    narrow_lines,
    over_row,
    plain_frame,
    sentence,
)

if TYPE_CHECKING:
    from sfit._partitioned import PartitionedResult
    from sfit._set_tests import AnySetTest

MOST_FEATURES = 25
MOST_PARTS = 8
BETWEEN = 0.08
"""Space between two parts, in widths of a part."""


class PartsDisplay:
    """First-order tests of all parts side by side, with a common scale and list of names.

    Parameters
    ----------
    result : PartitionedResult
        The result to draw.
    max_features : int, default=25
        Number of features to draw: those significant in most parts, then by largest estimate.
    max_parts : int, default=8
        Number of parts to draw, from the first; the others are counted.

    Attributes
    ----------
    features : list of str
        The features drawn, from the top.
    ax_, figure_
        The axes and the figure drawn on.
    axes_, points_, intervals_ : list
        Per part: its axes, the estimates and the intervals.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import PartsDisplay
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> half = X["X6"] > 0
    >>> parts = sfit.feature_significance(sfit.simulate.interactions_mean, X, y, by=half)
    >>> PartsDisplay.from_result(parts).features[:2]
    ['X1', 'X3']
    """

    def __init__(
        self,
        result: PartitionedResult,
        max_features: int = MOST_FEATURES,
        max_parts: int = MOST_PARTS,
    ) -> None:
        check_whole(max_features, "max_features")
        check_whole(max_parts, "max_parts")
        self.result = result
        self.parts = list(result.parts[:max_parts])
        self.tests = [
            {test.term[0]: test for test in part.tests if test.order == 1} for _, part in self.parts
        ]
        names = sorted(
            dict.fromkeys(name for tests in self.tests for name in tests),
            key=lambda name: (
                -sum(tests[name].significant for tests in self.tests if name in tests),
                -max(tests[name].estimate for tests in self.tests if name in tests),
            ),
        )
        self.features, self.hidden = names[:max_features], names[max_features:]

    @classmethod
    def from_result(
        cls,
        result: PartitionedResult,
        *,
        max_features: int = MOST_FEATURES,
        max_parts: int = MOST_PARTS,
        ax: Any = None,
    ) -> PartsDisplay:
        """Draw the parts of a result; see `PartsDisplay` and `plot`.

        Parameters
        ----------
        result : PartitionedResult
            The result to draw.
        max_features : int, default=25
            Number of features to draw.
        max_parts : int, default=8
            Number of parts to draw.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        PartsDisplay
            The display, drawn.
        """
        return cls(result, max_features, max_parts).plot(ax=ax)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return "Parts side by side"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        return (
            "Each feature alone, by part, on a common scale. Filled and coloured: significant."
            f"{corrected_verdicts(self.parts[0][1].settings.adjusted)}"
        )

    @property
    def height(self) -> float:
        """Inches that the rows need."""
        return 1.3 + ROW_HEIGHT * len(self.features)

    @property
    def width(self) -> float:
        """Inches that the parts need."""
        return min(1.8 + 2.0 * len(self.parts), 11.0)

    def plot(self, ax: Any = None) -> PartsDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; each part gets inset axes.

        Returns
        -------
        PartsDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, self.width, self.height)
        self.figure_ = ax.figure
        n = len(self.parts)
        width = 1 / (n + BETWEEN * (n - 1))
        boxes = [(i * width * (1 + BETWEEN), 0.0, width, 1.0) for i in range(n)]
        self.axes_ = inner_axes(ax, boxes)
        self.points_, self.intervals_ = [], []
        limits = finite_limits(test for _, tests in self.drawn() for test in tests)
        rows = range(len(self.features))
        alpha = self.parts[0][1].settings.alpha
        names, titles = labels(self._names, LONGEST_NAME), self._titles()
        self._lost = [[lost_to_correction(t, alpha) for t in tests] for _, tests in self.drawn()]
        for axes, title, lost, (_, tests) in zip(
            self.axes_, titles, self._lost, self.drawn(), strict=True
        ):
            ys = [self.features.index(test.term[0]) for test in tests]
            points, intervals = draw_intervals(axes, tests, ys, lost=lost)
            self.points_.append(points)
            self.intervals_.append(intervals)
            axes.axvline(0, color=GREY, linewidth=0.8, zorder=0)
            axes.set_xlim(limits)
            axes.set_ylim(len(self.features) - 0.4, -0.6)
            first = axes is self.axes_[0]
            name_ticks(axes.yaxis, rows, [names[name] if first else "" for name in self.features])
            axes.set_title(title, loc="left", fontsize="medium", parse_math=False)
            axes.locator_params(axis="x", nbins=4)
            axes.tick_params(axis="x", labelsize="small")
            plain_frame(axes)
        # One label for all parts, which may be long: it starts at the left.
        explain(self.axes_[0], words_of(self.parts[0][1]).axis, *self._notes())
        self.axes_[0].xaxis.label.set(ha="left", x=0.0)
        return self

    def tooltips(self) -> list[Tooltip]:
        """The numbers behind each row, after `plot`.

        Returns
        -------
        list of tuple
            Axes, corner, transform and text.
        """
        return [
            over_row(
                axes,
                self.features.index(test.term[0]),
                f"{printable(label)}\n{sentence(test, words_of(part))}",
            )
            for axes, (label, tests), (_, part) in zip(
                self.axes_, self.drawn(), self.parts, strict=True
            )
            for test in tests
        ]

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for _, part in self.parts for name in part.feature_names))

    def _titles(self) -> list[str]:
        """The label of each part; the panels are as wide as a few words."""
        found = labels([label for label, _ in self.drawn()], LONGEST_NAME)
        return [found[label] for label, _ in self.drawn()]

    def drawn(self) -> list[tuple[str, list[AnySetTest]]]:
        """The label and the drawn tests of each part, from the top.

        Returns
        -------
        list of (str, list of SetTest, PermutationSetTest or MeanSetTest)
            In the order of the parts.
        """
        return [
            (
                f"{self.result.by} = {label}",
                [tests[name] for name in self.features if name in tests],
            )
            for (label, _), tests in zip(self.parts, self.tests, strict=True)
        ]

    def _notes(self) -> list[str]:
        """Counts of the features left out (and how many are significant), and of the parts."""
        significant = {
            name
            for tests in self.tests
            for name in self.hidden
            if name in tests and tests[name].significant
        }
        more = len(self.result) - len(self.parts)
        parts = f"{more} more part{'s are' if more > 1 else ' is'} not shown." if more else ""
        ends = left_out_of_labels(self._names, LONGEST_NAME)
        lost = lost_note(any(of_part) for of_part in self._lost)
        more_features = left_out(len(self.hidden), len(significant), "feature")
        return [lost, more_features, parts, *narrow_lines(ends)]
