"""Gains of features in two models, beside their differences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sfit._arguments import check_whole
from sfit._labels import labels, left_out_of_labels
from sfit._text import number, p_relation, printable
from sfit.exceptions import ArgumentError
from sfit.plotting._style import (
    BLUE,
    GREY,
    LONGEST_NAME,
    ORANGE,
    ROW_HEIGHT,
    Interval,
    Tooltip,
    axes_or_new,
    corrected_verdicts,
    draw_intervals,
    explain,
    inner_axes,
    left_out,
    name_ticks,
    narrow_lines,
    over_row,
    padded,
    plain_frame,
)

if TYPE_CHECKING:
    from sfit.compare import ModelComparison
    from sfit.compare._model_result import GainDifference

MOST_FEATURES = 30
BOXES = [(0.0, 0.0, 0.5, 1.0), (0.56, 0.0, 0.44, 1.0)]
"""The gains in both models, and their differences in the same rows."""
LONGEST_MODEL = 18
COLORS = (BLUE, ORANGE)
# A hollow square around a dot shows both where the gains are equal.
LOOKS: tuple[dict[str, Any], ...] = (
    {"marker": "o", "s": 22, "color": BLUE},
    {"marker": "s", "s": 46, "edgecolors": ORANGE, "facecolors": "none", "linewidths": 1.5},
)


class ModelsDisplay:
    """The gain of every feature in two models, beside the difference with its interval.

    Circles belong to the first model, squares to the other. A significant difference has the colour
    of the model that gains more. A cross marks a feature that the model does not have.

    Parameters
    ----------
    result : ModelComparison
        The result to draw.
    model : str, optional
        The model to compare with the first; by default, the second.
    max_features : int, default=30
        Number of features to draw: significant first, then by difference; the others are counted.

    Attributes
    ----------
    whole : ModelDifference
        The comparison of the two whole models, which the title describes.
    shown : list of GainDifference
        The features drawn, from the top.
    ax_, figure_
        The axes and the figure drawn on.
    axes_ : list of axes
        The axes of the gains and of the differences.
    gains_, crosses_ : list of artists
        Per model: the gains of the features that it has, and the crosses of those that it lacks.
    links_, legend_
        The lines between the gains of a feature, and the legend of the models.
    points_, intervals_, zeros_
        The differences, their intervals, and the lines at zero.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import ModelsDisplay
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> models = {
    ...     "champion": lambda x: 3 + 4 * x[:, 0],
    ...     "challenger": lambda x: 3 + 4 * x[:, 0] + 3 * x[:, 2] ** 2,
    ... }
    >>> compared = sfit.compare_models(models, X.to_numpy(), y, random_state=0)
    >>> display = ModelsDisplay.from_result(compared, model="challenger")
    >>> display.shown[0].feature  # the feature that only the challenger uses
    'x2'
    """

    def __init__(
        self,
        result: ModelComparison,
        model: str | None = None,
        max_features: int = MOST_FEATURES,
    ) -> None:
        check_whole(max_features, "max_features")
        others = {one.second: one for one in result.models}
        if model is not None and str(model) not in others:
            raise ArgumentError(
                f"model must be one of those compared with {result.names[0]!r}: {[*others]!r}; "
                f"got {model!r}."
            )
        self.result = result
        self.whole = result.models[0] if model is None else others[str(model)]
        gains = result.gains_of(self.whole.second)
        self.shown, self.hidden = gains[:max_features], gains[max_features:]

    @classmethod
    def from_result(
        cls,
        result: ModelComparison,
        *,
        model: str | None = None,
        max_features: int = MOST_FEATURES,
        ax: Any = None,
    ) -> ModelsDisplay:
        """Draw two models; see `ModelsDisplay` and `plot`.

        Parameters
        ----------
        result : ModelComparison
            The result to draw.
        model : str, optional
            The model to compare with the first.
        max_features : int, default=30
            Number of features to draw.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        ModelsDisplay
            The display, drawn.
        """
        return cls(result, model, max_features).plot(ax=ax)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return f"Gains in {' and '.join(self._models)}"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        return (
            "Mean gain of each feature in both models, and the difference with its asymptotic "
            "interval. Filled and coloured: significant, in the colour of the model that gains "
            "more. Hollow and grey: not significant."
            f"{corrected_verdicts(self.result.settings.correction is not None)}"
        )

    @property
    def height(self) -> float:
        """Inches that the rows need."""
        return 1.6 + ROW_HEIGHT * len(self.shown)

    def plot(self, ax: Any = None) -> ModelsDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; gains and differences get inset axes.

        Returns
        -------
        ModelsDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, 8.0, self.height)
        self.figure_ = ax.figure
        ax.set_title(self._losses(), loc="left", fontsize="medium", pad=26, parse_math=False)
        self.axes_ = inner_axes(ax, BOXES)
        self._draw_gains(self.axes_[0])
        self._draw_differences(self.axes_[1])
        self.zeros_ = [axes.axvline(0, color=GREY, linewidth=0.8, zorder=0) for axes in self.axes_]
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
        rows = list(enumerate(map(self._sentence, self.shown)))
        return [over_row(axes, *one) for axes in self.axes_ for one in rows]

    def _sentence(self, one: GainDifference) -> str:
        first, second = printable(self.whole.first), printable(self.whole.second)
        lacking = "" if one.missing_in is None else printable(one.missing_in)
        verdict = "significant" if one.significant else "not significant"
        return (
            f"{printable(one.feature)}{lacking and f' (not in {lacking})'}\n"
            f"mean gain {number(one.gain_first)} in {first}, {number(one.gain_second)} in "
            f"{second}\ndifference {number(one.difference)}, interval {number(one.ci_low)} to "
            f"{number(one.ci_high)}\n{p_relation(one.p_adjusted)}: {verdict}"
        )

    @property
    def _models(self) -> tuple[str, str]:
        found = labels(self.result.names, LONGEST_MODEL)
        return found[self.whole.first], found[self.whole.second]

    def _losses(self) -> str:
        """The whole models, in one line."""
        one, (first, second) = self.whole, self._models
        better = {one.first: f"{first} is better", one.second: f"{second} is better"}
        return (
            f"Mean loss: {first} {number(one.loss_first)}, {second} {number(one.loss_second)}\n"
            f"{better.get(one.better or '', 'no significant difference')} "
            f"({p_relation(one.p_adjusted)})"
        )

    def _add_legend(self, ax: Any) -> None:
        self.legend_ = ax.legend(
            self.gains_,
            ["1", "2"],
            ncols=2,
            loc="lower left",
            bbox_to_anchor=(-0.02, 1.0),
            frameon=False,
            borderaxespad=0.0,
            handletextpad=0.2,
            columnspacing=1.2,
        )
        for text, name in zip(self.legend_.get_texts(), self._models, strict=True):
            text.set(text=name, parse_math=False)  # the legend would drop a name such as _a

    def _draw_marks(self, ax: Any, pairs: list[tuple[float, float]]) -> None:
        rows = range(len(self.shown))
        self.gains_, self.crosses_ = [], []
        for k, name in enumerate((self.whole.first, self.whole.second)):
            present = [row for row in rows if self.shown[row].missing_in != name]
            at = [pairs[row][k] for row in present]
            self.gains_.append(ax.scatter(at, present, zorder=3, **LOOKS[k]))
            lacking = [row for row in rows if row not in present]
            self.crosses_.append(
                ax.scatter(
                    [0.0] * len(lacking), lacking, s=40, marker="x", color=COLORS[k], zorder=4
                )
            )

    def _draw_gains(self, ax: Any) -> None:
        rows = range(len(self.shown))
        pairs = [(one.gain_first, one.gain_second) for one in self.shown]
        self.links_ = ax.hlines(
            rows,
            *zip(*pairs, strict=True),
            color=[_color(one) if one.significant else GREY for one in self.shown],
            linewidth=[2.2 if one.significant else 1.0 for one in self.shown],
            zorder=1,
        )
        self._draw_marks(ax, pairs)
        self._add_legend(ax)
        ax.set_xlim(padded(gain for pair in pairs for gain in pair))
        ax.locator_params(axis="x", nbins=6)
        names = [one.feature for one in (*self.shown, *self.hidden)]
        found = labels(names, LONGEST_NAME)
        name_ticks(ax.yaxis, rows, [found[one.feature] for one in self.shown])
        is_lacking = any(one.missing_in is not None for one in self.shown)
        explain(
            ax,
            "mean loss saved by revealing the feature",
            "A cross marks a feature that the model does not have." if is_lacking else "",
            left_out(len(self.hidden), sum(one.significant for one in self.hidden), "feature"),
            *narrow_lines(left_out_of_labels(names, LONGEST_NAME)),
        )

    def _draw_differences(self, ax: Any) -> None:
        rows = range(len(self.shown))
        self.points_, self.intervals_ = draw_intervals(
            ax,
            [
                Interval(one.difference, one.ci_low, one.ci_high, one.significant)
                for one in self.shown
            ],
            rows,
            [_color(one) for one in self.shown],
        )
        name_ticks(ax.yaxis, rows, [""] * len(rows))
        first, second = self._models
        ax.set_title(
            f"{second} − {first}",
            loc="left",
            fontsize="medium",
            parse_math=False,
        )
        explain(ax, "difference, with asymptotic interval", "filled: significant")


def _color(one: GainDifference) -> str:
    """The colour of the model that gains more."""
    return COLORS[one.difference > 0]
