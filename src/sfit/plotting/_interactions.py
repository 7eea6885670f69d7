"""Pairs as a matrix, beside the interaction scores of the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sfit._arguments import check_whole
from sfit._inside import inside_scores
from sfit._labels import columns, labels, left_out_of_labels
from sfit._set_tests import is_additive
from sfit._text import number
from sfit._words import nonadditive, words_of
from sfit.exceptions import ArgumentError
from sfit.plotting._orders import names_in
from sfit.plotting._style import (
    BLUE,
    GREY,
    ORANGE,
    Tooltip,
    axes_or_new,
    explain,
    inner_axes,
    left_out_of,
    name_ticks,
    narrow_lines,
    sentence,
    shades,
)

if TYPE_CHECKING:
    from sfit._result import SFITResult
    from sfit._set_tests import AnySetTest

MOST_FEATURES = 12
LONGEST_NAME = 20


class InteractionDisplay:
    """The pairs tested, as a matrix: the estimate of each, significant ones filled and bold.

    With ``interaction="additive"`` each cell shows the mean gain of the pair over the additive
    prediction from its parts and, below it, which share of the gain of the pair that is. Use
    ``exhaustive=True`` for all pairs.

    If the model is given and sfit can read its structure, a second matrix shows its interaction
    scores: ``|W|^T |W|`` of a network's first layer, or shared paths of trees.

    Parameters
    ----------
    result : SFITResult
        A result with ``max_order=2`` or more.
    scores : array of shape (features, features), optional
        Interaction score of each pair in the model, in the order of ``result.feature_names``.
    max_features : int, default=12
        Number of features to draw: those of significant pairs first, then by what is drawn.

    Attributes
    ----------
    features : list of str
        The features drawn, in the order of the columns.
    shown : dict
        The test drawn in each cell, by (row, column).
    ax_, figure_
        The axes and the figure drawn on.
    axes_ : list of axes
        The axes of the pairs and, if there are scores, of the scores.
    cells_, scores_ : collections of patches
        One patch per pair; `scores_` is None without scores.
    additive : bool
        Whether pairs are compared with the additive prediction from their parts.
    numbers_ : dict
        The text drawn in each cell, by (row, column).

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import InteractionDisplay
    >>> X, y = sfit.simulate.interactions(10_000, random_state=0)
    >>> result = sfit.feature_significance(
    ...     sfit.simulate.interactions_mean, X, y, max_order=2, beta=(0.01, 0.001)
    ... )
    >>> display = InteractionDisplay.from_result(result)
    >>> [test.term for test in display.shown.values() if test.significant]
    [('X1', 'X2'), ('X4', 'X5')]
    """

    def __init__(
        self,
        result: SFITResult,
        scores: npt.ArrayLike | None = None,
        max_features: int = MOST_FEATURES,
    ) -> None:
        check_whole(max_features, "max_features")
        if max_features < 2:
            raise ArgumentError(f"max_features must be at least 2; got {max_features!r}.")
        self.result = result
        pairs = [test for test in result.tests if len(test.term) == 2]
        if not pairs:
            raise ArgumentError("this result has no pairs: test with max_order=2.")
        self.additive = all(map(is_additive, pairs))
        names = result.feature_names
        self.scores = None if scores is None else _checked_scores(scores, len(names))
        chosen = _features_to_draw(pairs, max_features, self.value_of)
        self.features = [name for name in names if name in chosen]
        place = {name: position for position, name in enumerate(self.features)}
        self.shown: dict[tuple[int, int], AnySetTest] = {}
        self.hidden: list[AnySetTest] = []
        for test in pairs:
            if all(name in place for name in test.term):
                column, row = sorted(place[name] for name in test.term)
                self.shown[row, column] = test
            else:
                self.hidden.append(test)

    @classmethod
    def from_result(
        cls,
        result: SFITResult,
        *,
        model: Any = None,
        X: Any = None,
        y: Any = None,
        groups: Mapping[str, Sequence[Any]] | None = None,
        max_features: int = MOST_FEATURES,
        ax: Any = None,
    ) -> InteractionDisplay:
        """Draw the pairs of a result, beside the interaction scores of `model`.

        Parameters
        ----------
        result : SFITResult
            The result to draw.
        model : object, optional
            The model that was tested: a network or trees.
        X, y : rows and target, optional
            As tested; needed if the model is a Pipeline or features are groups.
        groups : mapping, optional
            As tested.
        max_features : int, default=12
            Number of features to draw.
        ax : matplotlib axes, optional
            Axes to draw on.

        Returns
        -------
        InteractionDisplay
            The display, drawn.
        """
        scores = None
        if model is not None:
            scores = inside_scores(model, result.feature_names, X, y, groups=groups)
        return cls(result, scores, max_features).plot(ax=ax)

    def value_of(self, test: AnySetTest) -> float:
        """What the cell of a pair shows.

        Parameters
        ----------
        test : SetTest
            The test of the pair.

        Returns
        -------
        float
            The mean gain over the additive prediction, or the estimate of the test.
        """
        return test.gain if self.additive else test.estimate

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches that the cells and the names need."""
        n, names = max(len(self.features), 5), 0.08 * self._longest_label
        cell = 0.46 if self.additive else 0.36
        wide, high = names + 0.56 * n, 1.0 + 0.6 * names + cell * n
        return (wide if self.scores is None else 2.15 * wide), high

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return "Interactions" if self.additive else "Pairs"

    @property
    def caption(self) -> str:
        """The sentences below the title."""
        effect = words_of(self.result).effect.capitalize()
        if self.additive:
            effect = "Mean gain over the additive prediction from its parts, and the share of the "
            effect += "gain of the pair that this is,"
        return f"{effect} for each pair tested; significant pairs are filled and bold."

    @property
    def height(self) -> float:
        """Inches that the cells and the names need."""
        return self.size[1]

    @property
    def widest(self) -> float:
        """Inches beyond which the cells need no more width."""
        return self.size[0]

    @property
    def _labels(self) -> list[str]:
        found = labels(names_in(self.result), LONGEST_NAME)
        return [found[name] for name in self.features]

    @property
    def _longest_label(self) -> int:
        return max(map(columns, self._labels))

    def plot(self, ax: Any = None) -> InteractionDisplay:
        """Draw on `ax`, or on new axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Axes to draw on; with scores, they get two inset axes.

        Returns
        -------
        InteractionDisplay
            The display itself.
        """
        self.ax_ = ax = axes_or_new(ax, *self.size)
        self.figure_ = ax.figure
        both = [(0.0, 0.0, 0.44, 1.0), (0.56, 0.0, 0.44, 1.0)]
        self.axes_ = inner_axes(ax, both if self.scores is not None else both[:1])
        self.numbers_: dict[tuple[int, int], Any] = {}
        self._draw_pairs(self.axes_[0])
        self.scores_ = None if self.scores is None else self._draw_scores(self.axes_[1])
        ends = left_out_of_labels(names_in(self.result), LONGEST_NAME)
        explain(self.axes_[0], "", left_out_of(self.hidden), *narrow_lines(ends))
        return self

    def tooltips(self) -> list[Tooltip]:
        """The numbers behind each cell, after `plot`.

        Returns
        -------
        list of tuple
            Axes, corner, transform and text.
        """
        axes, words = self.axes_[0], words_of(self.result)
        tips = []
        for (row, column), test in self.shown.items():
            text = sentence(test, words)
            if self.additive:
                text += f"\nmean gain {number(test.gain)}, {nonadditive(test)} of that of the pair"
            tips.append(Tooltip(axes, (column - 0.5, row - 0.5), axes.transData, text))
        return tips

    def _draw_pairs(self, ax: Any) -> None:
        places, tests = list(self.shown), list(self.shown.values())
        values = [max(self.value_of(test), 0) if test.significant else 0 for test in tests]
        colors = shades(values, BLUE)
        grey = shades([0.0], GREY, weakest=0.10)[0]
        colors = np.where([[test.significant] for test in tests], colors, grey)
        self.cells_ = self._cells(ax, places, colors)
        for (row, column), test in self.shown.items():
            share = f"\n{nonadditive(test)}" if self.additive else ""
            self.numbers_[row, column] = ax.text(
                column,
                row,
                f"{self.value_of(test):.2g}".replace("-", "−") + share,
                ha="center",
                va="center",
                fontsize=7.5,
                fontweight="bold" if test.significant else "normal",
            )
        effect = words_of(self.result).effect
        if self.additive:
            effect = "mean gain over the sum of their parts,\nand its share of the gain of the pair"
        ax.set_title(f"Pairs: {effect}", loc="left", fontsize="medium")

    def _draw_scores(self, ax: Any) -> Any:
        names = self.result.feature_names
        kept = [names.index(name) for name in self.features]
        scores = np.asarray(self.scores)[np.ix_(kept, kept)]
        places = [(row, column) for row in range(len(kept)) for column in range(row)]
        values = [scores[place] for place in places]
        ax.set_title("Interaction scores of the model, largest = 1", loc="left", fontsize="medium")
        largest = max(values) or 1.0
        for (row, column), value in zip(places, values, strict=True):
            share = f"{value / largest:.2f}"
            ax.text(column, row, share, ha="center", va="center", fontsize=7.5)
        return self._cells(ax, places, shades(values, ORANGE, weakest=0.02))

    def _cells(self, ax: Any, places: list[tuple[int, int]], colors: Any) -> Any:
        """Squares below the diagonal, with the names at the left and below."""
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        squares = [Rectangle((column - 0.47, row - 0.47), 0.94, 0.94) for row, column in places]
        cells = PatchCollection(squares, facecolors=colors, edgecolors="none")
        ax.add_collection(cells)
        n = len(self.features)
        ax.set(xlim=(-0.5, n - 1.5), ylim=(n - 0.5, 0.5))
        labels = self._labels
        slanted = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"}
        name_ticks(ax.yaxis, range(1, n), labels[1:])
        name_ticks(
            ax.xaxis, range(n - 1), labels[:-1], **(slanted if self._longest_label > 5 else {})
        )
        ax.spines[:].set_visible(False)
        return cells


def _checked_scores(scores: npt.ArrayLike, n_features: int) -> npt.NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (n_features, n_features):
        raise ArgumentError(
            f"scores must have shape {(n_features, n_features)}, one row and column per feature; "
            f"got {values.shape}."
        )
    return values


def _features_to_draw(
    pairs: Sequence[AnySetTest], max_features: int, value_of: Callable[[AnySetTest], float]
) -> set[str]:
    """The members of as many pairs as fit: significant pairs first, then by their values."""
    chosen: set[str] = set()
    for test in sorted(pairs, key=lambda test: (not test.significant, -value_of(test))):
        if len(chosen | set(test.term)) <= max_features:
            chosen |= set(test.term)
    return chosen
