"""The share of rows that each set improves, against a fair coin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sfit._arguments import check_whole
from sfit._binomial import critical_count
from sfit._labels import columns
from sfit._set_tests import SetTest, sign_tests
from sfit._summary import by_order
from sfit._text import number, percent
from sfit._words import words_of
from sfit._words._terms import amounts, units
from sfit.exceptions import ArgumentError
from sfit.plotting._orders import MOST_SETS, Box, OrderText, all_labels, height_of, stacked
from sfit.plotting._style import (
    BLUE,
    COLUMN_WIDTH,
    GREY,
    LINE_HEIGHT,
    ORANGE,
    Tooltip,
    axes_or_new,
    colors_of,
    draw_points,
    left_out_of,
    line_width,
    lines_of,
    lost_note,
    lost_to_correction,
    name_ticks,
    order_color,
    plain_frame,
    sentence,
    write_below,
)

if TYPE_CHECKING:
    from sfit._result import Settings, SFITResult

SHARES, BARS = (0.0, 0.65), (0.72, 1.0)
"""Left and right ends of the lollipops and of the bars, as shares of the width."""

NARROWEST = 7.0
"""Inches of the narrowest figure; long names make it wider."""

LOOKS: dict[str, dict[str, Any]] = {
    "better": {"facecolor": BLUE, "edgecolor": BLUE},
    "better, within beta": {"facecolor": "none", "edgecolor": BLUE, "hatch": "-----"},
    "unchanged": {"facecolor": "none", "edgecolor": GREY},
    "worse": {"facecolor": "none", "edgecolor": ORANGE, "hatch": "/////"},
}
"""The kinds of rows, from the left of a bar: each has its own colour and its own filling."""


class RowCounts(NamedTuple):
    """Rows by what revealing a set does to their loss, in the order of `LOOKS`."""

    better: int
    within_beta: int
    unchanged: int
    worse: int


class CoinDisplay:
    """The share of rows that the model predicts better when it sees a set, against a fair coin.

    The sign test counts improved rows as if they were heads of a coin. A set is significant beyond
    the grey area, which ends at the critical count: a fair coin shows that many heads with a
    probability below alpha. A bar beside it splits the rows into better, better by no more than
    beta, unchanged, and worse. Each order has its own axes.

    With a correction, the grey area is that of one test alone. Sets beyond it that the correction
    makes insignificant are coloured, hollow triangles.

    Parameters
    ----------
    result : SFITResult
        The result of a sign test.
    max_sets : int, default=25
        Sets to draw per order: significant first, then by share; the others are counted.

    Attributes
    ----------
    shown : list of list of SetTest
        The sets drawn, by order, from the top.
    ax_, figure_
        The axes and the figure drawn on.
    axes_, bar_axes_ : list of axes
        Per order: the axes of the shares, and those of the bars.
    points_, stems_, grey_, coins_ : list of artists
        Per order: the shares, their lines from 50 %, the grey area, and the line at 50 %.
    bars_ : list of dict
        Per order: the bars of each kind of rows.
    counts_ : list of list of str
        Per order: the texts at the right.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import CoinDisplay
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> result = sfit.feature_significance(sfit.simulate.interactions_mean, X, y)
    >>> display = CoinDisplay.from_result(result)
    >>> [label.get_text() for label in display.axes_[0].get_yticklabels()][:2]
    ['X1', 'X3']
    >>> display.counts_[0][0]
    '3,263 of 5,000'
    """

    def __init__(self, result: SFITResult, max_sets: int = MOST_SETS) -> None:
        check_whole(max_sets, "max_sets")
        if len(sign_tests(result.tests)) < len(result.tests):
            raise ArgumentError(
                f"result must hold sign tests, which count improved rows; got a "
                f"{result.settings.test}. Draw it with result.plot(), or test with test='sign'."
            )
        self.result = result
        families = [sorted(sign_tests(tests), key=_place) for tests in by_order(result)]
        self.shown = [family[:max_sets] for family in families]
        self.hidden = [family[max_sets:] for family in families]

    @classmethod
    def from_result(
        cls, result: SFITResult, *, max_sets: int = MOST_SETS, ax: Any = None
    ) -> CoinDisplay:
        """Draw a result; see `CoinDisplay` and `plot`.

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
        CoinDisplay
            The display, drawn.
        """
        return cls(result, max_sets).plot(ax=ax)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return f"How many {units(self.result.settings)} each set improves"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        settings = self.result.settings
        what = units(settings)
        texts = [
            f"Share of {what} {self._improved(sign_tests(self.result.tests))}. The line at 50 % is "
            "a fair coin; the grey area ends at the critical count, the smallest that is "
            f"significant at alpha = {number(settings.alpha)}.",
            "Filled and coloured: significant. Hollow and grey: not significant.",
        ]
        if settings.adjusted:
            texts.append(
                "The grey area is that of one test alone, but verdicts are corrected for the "
                "number of sets tested: coloured, hollow triangles mark sets that are significant "
                "only without the correction."
            )
        if settings.n_clusters is not None:
            texts.append("The test counts clusters of rows; the bars count rows.")
        return " ".join(texts)

    @property
    def width(self) -> float:
        """Inches of a new figure."""
        return max(
            NARROWEST, 5.6 + COLUMN_WIDTH * max(map(columns, all_labels(self.result, self.shown)))
        )

    @property
    def height(self) -> float:
        """Inches that the rows need."""
        rows = [len(tests) for tests in self.shown]
        lines = [len(self._text_below(k)) for k in range(len(rows))]
        return 1.4 + height_of(rows, lines)

    def plot(self, ax: Any = None) -> CoinDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; shares and bars of each order get inset axes.

        Returns
        -------
        CoinDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, self.width, self.height)
        self.figure_ = ax.figure
        ax.set_axis_off()
        self.axes_: list[Any] = []
        self.bar_axes_: list[Any] = []
        self.points_: list[Any] = []
        self.stems_: list[Any] = []
        self.grey_: list[Any] = []
        self.coins_: list[Any] = []
        self.bars_: list[dict[str, Any]] = []
        self.counts_: list[list[str]] = []
        texts = [self._text_below(k) for k in range(len(self.shown))]
        boxes = stacked([len(tests) for tests in self.shown], [len(lines) for lines in texts])
        for box, tests, lines in zip(boxes, self.shown, texts, strict=True):
            self._draw_shares(ax.inset_axes(_within(box, *SHARES)), tests, lines)
            self._draw_bars(ax.inset_axes(_within(box, *BARS)), tests)
            for axes in (self.axes_[-1], self.bar_axes_[-1]):
                axes.set_ylim(len(tests) - 0.4, -0.6)
                plain_frame(axes)
        self._add_legend(self.axes_[-1], len(texts[-1]))
        return self

    def tooltips(self) -> list[Tooltip]:
        """The numbers behind each row, after `plot`.

        Returns
        -------
        list of tuple
            Axes, corner, transform and text.
        """
        from matplotlib.transforms import blended_transform_factory

        words = words_of(self.result)
        tips = []
        for axes, tests in zip(self.axes_, self.shown, strict=True):
            # One area covers the share and the bar of a row.
            across = blended_transform_factory(self.ax_.transAxes, axes.transData)
            for row, test in enumerate(tests):
                text = sentence(test, words) + self._lost_text(test) + self._rows_text(test)
                tips.append(Tooltip(self.ax_, (0, row - 0.5), across, text))
        return tips

    def _improved(self, tests: Sequence[SetTest]) -> str:
        settings = self.result.settings
        how = "was fitted with the feature" if settings.refitted else "sees the set"
        moved = ", of those whose prediction moves" if settings.ties == "drop" else ""
        by = amounts(tests)
        comma = "," if by.endswith(tuple("0123456789")) else ""  # the orders have their own betas
        return f"predicted better{by}{comma} when the model {how}{moved}"

    def _text_below(self, place: int) -> list[str]:
        """The lines below the shares of an order."""
        tests = self.shown[place]
        return lines_of(
            f"share of {units(self.result.settings)} {self._improved(tests)}",
            lost_note(map(self._is_lost, tests)),
            left_out_of(self.hidden[place]),
            OrderText(self.result, tests).note,
            width=line_width(NARROWEST, all_labels(self.result, self.shown)),
        )

    def _draw_shares(self, axes: Any, tests: list[SetTest], lines: Sequence[str]) -> None:
        settings, rows = self.result.settings, range(len(tests))
        text = OrderText(self.result, tests)
        levels = [min(critical_of(test, settings) / max(test.n, 1), 1.0) for test in tests]
        self.grey_.append(axes.barh(rows, levels, height=1.0, color=GREY, alpha=0.18, linewidth=0))
        self.coins_.append(axes.axvline(0.5, color=GREY, linewidth=1.0, zorder=1))
        shares, lost = [_share(test) for test in tests], [self._is_lost(test) for test in tests]
        colors = colors_of(tests, [order_color(test.order) for test in tests], lost)
        thick = [0.9 if color == GREY else 1.8 for color in colors]
        self.stems_.append(axes.hlines(rows, 0.5, shares, color=colors, linewidth=thick))
        self.points_.append(draw_points(axes, tests, shares, rows, colors, lost))
        axes.set_xlim(-0.02, 1.02)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], labels=["0 %", "", "50 %", "", "100 %"])
        name_ticks(axes.yaxis, rows, text.labels)
        axes.set_title(text.title, loc="left", fontsize="medium", parse_math=False)
        write_below(axes, lines)
        axes.xaxis.label.set(ha="left", x=0.0)
        self.axes_.append(axes)

    def _is_lost(self, test: SetTest) -> bool:
        return lost_to_correction(test, self.result.settings.alpha)

    def _draw_bars(self, axes: Any, tests: list[SetTest]) -> None:
        settings, rows = self.result.settings, range(len(tests))
        counts = [rows_of(test, settings) for test in tests]
        lefts = [0.0] * len(tests)
        bars = {}
        for place, (kind, look) in enumerate(LOOKS.items()):
            widths = [one[place] / max(sum(one), 1) for one in counts]
            bars[kind] = axes.barh(rows, widths, left=lefts, height=0.6, linewidth=0.6, **look)
            for bar, width in zip(bars[kind], widths, strict=True):
                bar.set_visible(width > 0)
            lefts = [left + width for left, width in zip(lefts, widths, strict=True)]
        self.bars_.append(bars)
        self.counts_.append([f"{test.n_positive:,} of {test.n:,}" for test in tests])
        axes.set_xlim(0, 1)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.yaxis.tick_right()
        name_ticks(axes.yaxis, rows, self.counts_[-1], fontsize="small")
        self.bar_axes_.append(axes)

    def _add_legend(self, axes: Any, n_lines: int) -> None:
        """Explain the kinds of rows that there are, below the lines of text."""
        from matplotlib.patches import Patch
        from matplotlib.transforms import ScaledTranslation

        drawn = [
            Patch(label=kind, linewidth=0.6, **look)
            for kind, look in LOOKS.items()
            if any(bar.get_width() for bars in self.bars_ for bar in bars[kind])
        ]
        below = ScaledTranslation(0, -0.38 - LINE_HEIGHT * n_lines, axes.figure.dpi_scale_trans)
        self.legend_ = axes.legend(
            handles=drawn,
            title="bars: all rows",
            loc="upper left",
            bbox_to_anchor=(0, 0),
            bbox_transform=axes.transAxes + below,
            frameon=False,
            fontsize="small",
            title_fontsize="small",
            alignment="left",
            ncols=2,
            borderaxespad=0.0,
            borderpad=0.0,
            labelspacing=0.25,
            columnspacing=1.2,
        )

    def _lost_text(self, test: SetTest) -> str:
        return " (significant without the correction)" * self._is_lost(test)

    def _rows_text(self, test: SetTest) -> str:
        counts = rows_of(test, self.result.settings)
        within = f"{counts.within_beta:,} within beta ({percent(test.beta)}), "
        return (
            f"\nrows: {counts.better:,} better, {within if counts.within_beta else ''}"
            f"{counts.unchanged:,} unchanged, {counts.worse:,} worse"
        )


def critical_of(test: SetTest, settings: Settings) -> int:
    """The smallest number of improved units that is significant without a correction."""
    return int(critical_count(test.n, settings.alpha))


def rows_of(test: SetTest, settings: Settings) -> RowCounts:
    """All rows, by what revealing the set does to their loss.

    With clusters, the test does not count the rows within beta; they count as better.
    """
    by_rows = settings.n_clusters is None
    within = test.n_better - test.n_positive if by_rows else 0
    n_rows = test.n if by_rows and settings.ties != "drop" else settings.n_rows
    unchanged = max(n_rows - test.n_better - test.n_worse, 0)
    return RowCounts(test.n_better - within, within, unchanged, test.n_worse)


def _share(test: SetTest) -> float:
    return test.n_positive / test.n if test.n else 0.5


def _place(test: SetTest) -> tuple[bool, float]:
    return not test.significant, -_share(test)


def _within(box: Box, left: float, right: float) -> Box:
    return left, box[1], right - left, box[3]
