"""The curve on which beta was chosen, and the largest beta at which each set is significant."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfit._arguments import check_whole
from sfit._labels import JOIN, labels, left_out_of_labels, set_label
from sfit._set_tests import sign_tests
from sfit._text import number, printable
from sfit._words import at_level
from sfit.exceptions import ArgumentError
from sfit.plotting._orders import MOST_SETS, label_width, names_in
from sfit.plotting._style import (
    BLUE,
    GREY,
    ORANGE,
    ROW_HEIGHT,
    Tooltip,
    axes_or_new,
    explain,
    left_out_of,
    name_ticks,
    narrow_lines,
    order_color,
    order_marker,
    over_row,
    plain_frame,
)

if TYPE_CHECKING:
    from sfit._beta_choice import BetaChoice
    from sfit._result import SFITResult
    from sfit._set_tests import SetTest

SMALLEST_BETA = 1e-6
LARGEST_BETA = 1e9


class BetaCurveDisplay:
    """Rejection rate of random models against beta, with alpha and the chosen beta.

    Parameters
    ----------
    choice : BetaChoice
        The result of `choose_beta`.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure drawn on.
    curve_, level_, choice_
        The lines drawn.

    Notes
    -----
    Section 2.2 of the paper: the chosen beta is the smallest at which the curve is below alpha.

    Examples
    --------
    >>> import sfit
    >>> from sklearn.linear_model import LinearRegression
    >>> from sfit.plotting import BetaCurveDisplay
    >>> X, y = sfit.simulate.interactions(4000, random_state=0)
    >>> model = LinearRegression().fit(X[:2000], y[:2000])
    >>> choice = sfit.choose_beta(model, X[2000:], y[2000:], random_state=0)
    >>> BetaCurveDisplay(choice).plot().ax_.get_xlabel()
    'beta'
    """

    def __init__(self, choice: BetaChoice) -> None:
        self.choice = choice

    @classmethod
    def from_result(cls, result: SFITResult, *, ax: Any = None) -> BetaCurveDisplay:
        """Draw how ``beta="auto"`` chose the beta of a result.

        Parameters
        ----------
        result : SFITResult
            The result to draw.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        BetaCurveDisplay
            The display, drawn.
        """
        _tests_with_beta(result)
        if result.beta_choice is None:
            raise ArgumentError(
                "this result has no curve: its beta was given. Test with beta='auto', or plot the "
                "result of sfit.choose_beta."
            )
        return cls(result.beta_choice).plot(ax=ax)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return "How beta was chosen"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        return (
            "Share of rejected tests among random models, against beta. The smallest beta with a "
            "share below alpha was chosen."
        )

    @property
    def height(self) -> float:
        """Inches that the curve needs."""
        return 3.6

    @property
    def widest(self) -> float:
        """Inches beyond which the curve needs no more width."""
        return 7.2

    def tooltips(self) -> list[Tooltip]:
        """Nothing: the legend says all.

        Returns
        -------
        list of tuple
            No tooltips.
        """
        return []

    def plot(self, ax: Any = None) -> BetaCurveDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        BetaCurveDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, 6.4, 4.0)
        self.figure_ = ax.figure
        choice, curve = self.choice, self.choice.curve
        # A logarithmic axis has no 0: the first step starts at the left edge.
        positive = curve["beta"][curve["beta"] > 0]
        left = max(min([SMALLEST_BETA, *(positive / 10)]), 1e-300)
        right = max(0.1, 3 * min(curve["beta"].max(), 1.0))
        betas = np.append(np.clip(curve["beta"], left, right), right)
        rates = np.append(curve["rate"], curve["rate"].iloc[-1])
        [self.curve_] = ax.step(betas, rates, where="post", color=BLUE, label="random models")
        self.level_ = ax.axhline(
            choice.alpha, color=GREY, linestyle="--", label=f"alpha = {choice.alpha:g}"
        )
        self.choice_ = ax.axvline(
            max(choice.beta, left), color=ORANGE, label=f"beta = {choice.beta:.3g}"
        )
        ax.set(
            xscale="log",
            xlim=(left, right),
            ylim=(0, None),
            xlabel="beta",
            ylabel="share of tests that reject",
        )
        ax.set_title(
            f"{choice.n_models} random models, {choice.n_rows:,} rows",
            loc="left",
            fontsize="medium",
        )
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False)
        return self


class SignificanceBetaDisplay:
    """The range of beta in which each set is significant: a line from the left to its `beta_max`.

    The lines hold at the alpha of the run (`SFITResult.at` changes colours only), without a
    correction, and for the base that the set was tested over.

    Parameters
    ----------
    result : SFITResult
        The result to draw.
    max_sets : int, default=25
        Number of sets to draw, by falling `beta_max`; the others are counted.

    Attributes
    ----------
    shown : list of SetTest
        The sets drawn, from the top.
    ax_, figure_
        The axes and the figure drawn on.
    lines_, points_ : list of artists
        The line of each set, and the point at its `beta_max`.
    betas_ : list of lines
        One line at each beta of the tests.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import SignificanceBetaDisplay
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> result = sfit.feature_significance(sfit.simulate.interactions_mean, X, y)
    >>> display = SignificanceBetaDisplay.from_result(result)
    >>> [test.term for test in display.shown]
    [('X1',), ('X3',)]
    """

    def __init__(self, result: SFITResult, max_sets: int = MOST_SETS) -> None:
        check_whole(max_sets, "max_sets")
        self.result = result
        tests = _tests_with_beta(result)
        drawable = [test for test in tests if not math.isnan(test.beta_max)]
        drawable.sort(key=lambda test: -test.beta_max)
        self.shown, self.hidden = drawable[:max_sets], drawable[max_sets:]
        self.n_never = len(result.tests) - len(drawable)

    @classmethod
    def from_result(
        cls, result: SFITResult, *, max_sets: int = MOST_SETS, ax: Any = None
    ) -> SignificanceBetaDisplay:
        """Draw a result; see `SignificanceBetaDisplay` and `plot`.

        Parameters
        ----------
        result : SFITResult
            The result to draw.
        max_sets : int, default=25
            Number of sets to draw.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        SignificanceBetaDisplay
            The display, drawn.
        """
        return cls(result, max_sets).plot(ax=ax)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return "How robust the findings are to beta"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        level = at_level(self.result.settings)
        return (
            f"Each set is significant{level}, without a correction, for every beta below its point."
        )

    @property
    def height(self) -> float:
        """Inches that the rows need."""
        return 1.4 + ROW_HEIGHT * max(2, len(self.shown))

    def plot(self, ax: Any = None) -> SignificanceBetaDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        SignificanceBetaDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, 7.0, self.height)
        self.figure_ = ax.figure
        used = sorted({test.beta for test in sign_tests(self.result.tests)})
        ends = [test.beta_max for test in self.shown]
        smallest = min([0.01, *(beta for beta in (*used, *ends) if beta > 0)])
        # Negative losses can improve by any multiple of themselves: clip at the right edge.
        left, right = max(smallest / 3, SMALLEST_BETA), min(max([1.0, *ends]), LARGEST_BETA)
        self.lines_, self.points_ = [], []
        for y, test in enumerate(self.shown):
            color = order_color(test.order) if test.significant else GREY
            end = min(max(test.beta_max, left), right)
            self.lines_ += ax.plot([left, end], [y, y], color=color, linewidth=1.8)
            self.points_ += ax.plot(
                end,
                y,
                order_marker(test.order),
                color=color,
                markersize=5,
                markerfacecolor=color if test.significant else "none",
            )
        self.betas_ = [
            ax.axvline(max(beta, left), color=GREY, linestyle="--", linewidth=1, zorder=0)
            for beta in used
        ]
        for beta in used:
            ax.annotate(
                f"beta = {beta:.3g}",
                (max(beta, left), 1),
                xycoords=("data", "axes fraction"),
                xytext=(3, 1),
                textcoords="offset points",
                fontsize="small",
                color=GREY,
            )
        # Set limits first: all lines may be points, in which a logarithmic axis finds no limits.
        ax.set(xlim=(left, right), xscale="log")
        ax.set_ylim(max(2, len(self.shown)) - 0.4, -0.6)
        width = label_width(max((len(test.term) for test in self.shown), default=1))
        names = names_in(self.result)
        found = labels(names, width)
        name_ticks(ax.yaxis, range(len(self.shown)), [set_label(t.term, found) for t in self.shown])
        level, never = at_level(self.result.settings), ""
        if self.n_never:
            noun = "set is" if self.n_never == 1 else "sets are"
            never = f"{self.n_never:,} {noun} not significant{level} at any beta."
        what = "beta: smallest relative improvement that counts"
        lines_end = f"Lines end where sets stop being significant{level}." if level else ""
        shared = left_out_of_labels(names, width)
        explain(ax, what, lines_end, left_out_of(self.hidden), never, *narrow_lines(shared))
        plain_frame(ax)
        return self

    def tooltips(self) -> list[Tooltip]:
        """The numbers behind each row, after `plot`.

        Returns
        -------
        list of tuple
            Axes, corner, transform and text.
        """
        level = at_level(self.result.settings)
        return [
            over_row(
                self.ax_,
                row,
                f"{JOIN.join(map(printable, test.term))}\n"
                f"significant{level} below beta = {number(test.beta_max)}",
            )
            for row, test in enumerate(self.shown)
        ]


def _tests_with_beta(result: SFITResult) -> list[SetTest]:
    """The tests of a result, which must be sign tests: only these have a beta."""
    tests = sign_tests(result.tests)
    if len(tests) < len(result.tests):
        raise ArgumentError(
            f"result must hold sign tests, which have a beta; got a {result.settings.test}. Draw "
            "it with result.plot(), or test with test='sign'."
        )
    return tests
