"""Estimates and intervals of the sets tested, order by order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sfit._arguments import check_whole
from sfit._set_tests import base_names
from sfit._summary import by_order
from sfit._words import words_of
from sfit.plotting._style import (
    GREY,
    ROW_HEIGHT,
    axes_or_new,
    draw_intervals,
    explain,
    inner_axes,
    left_out_of,
    name_ticks,
    plain_frame,
    short_set,
)

if TYPE_CHECKING:
    from sfit._result import SFITResult
    from sfit._set_tests import AnySetTest

MOST_SETS = 25
GAP = 3.4
"""Space between two orders for titles and labels, in rows."""


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
    def from_result(
        cls, result: SFITResult, *, max_sets: int = MOST_SETS, ax: Any = None
    ) -> ImportanceDisplay:
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
    def height(self) -> float:
        """Inches that the rows need."""
        rows = sum(map(len, self.shown)) + GAP * (len(self.shown) - 1)
        return 1.1 + ROW_HEIGHT * rows + 0.2 * any(self.hidden)

    def plot(self, ax: Any = None) -> ImportanceDisplay:
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
        self.ax_ = ax = axes_or_new(ax, 7.0, self.height)
        self.figure_ = ax.figure
        self.axes_ = inner_axes(ax, _boxes([len(tests) for tests in self.shown]))
        self.points_, self.intervals_, self.zeros_ = [], [], []
        words = words_of(self.result)
        for axes, tests, hidden in zip(self.axes_, self.shown, self.hidden, strict=True):
            ys = range(len(tests))
            points, intervals = draw_intervals(axes, tests, ys)
            shared = _shared_base(tests)
            name_ticks(axes.yaxis, ys, [_label(test, shared is None) for test in tests])
            axes.set_ylim(len(tests) - 0.4, -0.6)
            axes.set_title(_title(tests, shared), loc="left", fontsize="medium")
            explain(axes, f"{words.axis}, with {words.interval}", left_out_of(hidden))
            plain_frame(axes)
            self.points_.append(points)
            self.intervals_.append(intervals)
            self.zeros_.append(axes.axvline(0, color=GREY, linewidth=0.8, zorder=0))
        return self


def _boxes(rows: Sequence[int]) -> list[tuple[float, float, float, float]]:
    """Stacked boxes, with heights in proportion to their rows."""
    total = sum(rows) + GAP * (len(rows) - 1)
    boxes, top = [], 1.0
    for n in rows:
        height = n / total
        boxes.append((0.0, max(top - height, 0.0), 1.0, height))
        top -= height + GAP / total
    return boxes or [(0.0, 0.0, 1.0, 1.0)]


def _shared_base(tests: Sequence[AnySetTest]) -> str | None:
    """The common base of all sets of an order, in words; None if the bases differ."""
    bases = {base_names(test) for test in tests}
    if bases == {()}:
        return "alone"
    if bases == {("its parts",)}:
        return "over the sum of their parts"
    if len(bases) == 1:
        [base] = bases
        return f"over {short_set(base[:3], 2)}" + (" …" if len(base) > 3 else "")
    members = {name for test in tests for name in (*test.base, *test.term)}
    if all(set(test.base) == members.difference(test.term) for test in tests):
        return "over all the others"
    return None


def _title(tests: Sequence[AnySetTest], shared: str | None) -> str:
    order = tests[0].order
    kind = {1: "each feature", 2: "pairs"}.get(order, f"sets of {order}")
    if shared == "alone":
        return f"Order {order}: {kind}" + (" alone" if order == 1 else "")
    return f"Order {order}: {kind}" + (f", {shared}" if shared else "   (a | b: a added to b)")


def _label(test: AnySetTest, with_base: bool) -> str:
    """Names of a set; with its base: the added features, a bar, the base."""
    base = [name for name in test.term if name in base_names(test)] if with_base else []
    added = [name for name in test.term if name not in base]
    return short_set(added, len(test.term)) + (
        f" | {short_set(base, len(test.term))}" if base else ""
    )
