"""Estimates and intervals of the sets tested, order by order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from sfit._arguments import check_whole
from sfit._summary import by_order
from sfit._words import words_of
from sfit.plotting._orders import MOST_SETS, OrderText, all_labels, height_of, stacked
from sfit.plotting._root_scale import set_root_scale
from sfit.plotting._style import (
    GREY,
    Tooltip,
    axes_or_new,
    corrected_verdicts,
    draw_intervals,
    inner_axes,
    left_out_of,
    line_width,
    lines_of,
    lost_note,
    lost_to_correction,
    name_ticks,
    over_row,
    plain_frame,
    sentence,
    write_below,
)

if TYPE_CHECKING:
    from sfit._result import SFITResult
    from sfit._set_tests import AnySetTest

WIDTH = 7.0
"""Inches of a new figure."""


class ImportanceDisplay:
    """The estimate of every set with its interval; significant sets in colour.

    The estimate is the median reduction of the loss for the sign test, the rise of the mean loss
    for the permutation test, and the mean reduction of the loss for the mean test. Each order has
    its own axes and scale: estimates of different orders have different bases and must not be
    compared.

    Parameters
    ----------
    result : SFITResult
        The result to draw.
    max_sets : int, default=25
        Sets to draw per order: significant first, then by estimate; the others are counted.

    Attributes
    ----------
    shown : list of list of SetTest, PermutationSetTest or MeanSetTest
        The sets drawn, by order, from the top.
    ax_, figure_
        The axes and the figure drawn on.
    axes_ : list of axes
        One per order; only `ax_` if there is one order.
    points_, intervals_, zeros_ : list of artists
        Per order: the estimates, the intervals, the line at zero.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import ImportanceDisplay
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> result = sfit.feature_significance(sfit.simulate.interactions_mean, X, y)
    >>> display = ImportanceDisplay.from_result(result)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()][:2]
    ['X1', 'X3']
    """

    def __init__(self, result: SFITResult, max_sets: int = MOST_SETS) -> None:
        check_whole(max_sets, "max_sets")
        self.result = result
        families = by_order(result)
        self.shown = [family[:max_sets] for family in families]
        self.hidden = [family[max_sets:] for family in families]

    @classmethod
    def from_result(cls, result: SFITResult, *, max_sets: int = MOST_SETS, ax: Any = None) -> Self:
        """Draw a result; see `ImportanceDisplay` and `plot`.

        Parameters
        ----------
        result : SFITResult
            The result to draw.
        max_sets : int, default=25
            Number of sets to draw per order.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        ImportanceDisplay
            The display, drawn.
        """
        return cls(result, max_sets).plot(ax=ax)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return "Importance"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        words = words_of(self.result)
        return (
            f"{words.effect.capitalize()} with its {words.interval}. Filled and coloured: "
            "significant. Hollow and grey: not significant."
            f"{corrected_verdicts(self.result.settings.adjusted)}"
        )

    @property
    def height(self) -> float:
        """Inches that the rows need."""
        rows = [len(tests) for tests in self.shown]
        return 0.95 + height_of(rows, [len(self._text_below(k)) for k in range(len(rows))])

    def plot(self, ax: Any = None) -> Self:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on. Several orders get inset axes.

        Returns
        -------
        ImportanceDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, WIDTH, self.height)
        self.figure_ = ax.figure
        texts = [self._text_below(k) for k in range(len(self.shown))]
        boxes = stacked([len(tests) for tests in self.shown], [len(lines) for lines in texts])
        self.axes_ = inner_axes(ax, boxes)
        self.points_, self.intervals_, self.zeros_ = [], [], []
        for axes, tests, lines in zip(self.axes_, self.shown, texts, strict=True):
            ys, text = range(len(tests)), OrderText(self.result, tests)
            points, intervals = draw_intervals(axes, tests, ys, lost=self._lost(tests))
            if self._is_rooted(tests):
                set_root_scale(axes, tests)
            name_ticks(axes.yaxis, ys, text.labels)
            axes.set_ylim(len(tests) - 0.4, -0.6)
            axes.set_title(text.title, loc="left", fontsize="medium", parse_math=False)
            write_below(axes, lines)
            plain_frame(axes)
            self.points_.append(points)
            self.intervals_.append(intervals)
            self.zeros_.append(axes.axvline(0, color=GREY, linewidth=0.8, zorder=0))
        return self

    def tooltips(self) -> list[Tooltip]:
        """The numbers behind each row, after `plot`.

        Returns
        -------
        list of tuple
            Axes, corner, transform and text.
        """
        words = words_of(self.result)
        return [
            over_row(axes, row, sentence(test, words))
            for axes, tests in zip(self.axes_, self.shown, strict=True)
            for row, test in enumerate(tests)
        ]

    def _text_below(self, place: int) -> list[str]:
        """The lines below the axes of an order."""
        words, tests = words_of(self.result), self.shown[place]
        return lines_of(
            f"{words.axis}, with {words.interval}",
            "square-root scale" if self._is_rooted(tests) else "",
            lost_note(self._lost(tests)),
            left_out_of(self.hidden[place]),
            OrderText(self.result, tests).note,
            width=line_width(WIDTH, all_labels(self.result, self.shown)),
        )

    def _lost(self, tests: Sequence[AnySetTest]) -> list[bool]:
        return [lost_to_correction(test, self.result.settings.alpha) for test in tests]

    def _is_rooted(self, tests: Sequence[AnySetTest]) -> bool:
        """Whether the axis of an order has a square-root scale."""
        return False
