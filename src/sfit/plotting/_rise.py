"""Rises of the mean loss, on a scale that a dominant set does not flatten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from sfit._array import Array
from sfit._set_tests import SetTest
from sfit.exceptions import ArgumentError
from sfit.plotting._importance import ImportanceDisplay
from sfit.plotting._orders import MOST_SETS
from sfit.plotting._style import extent

if TYPE_CHECKING:
    from sfit._result import SFITResult
    from sfit._set_tests import AnySetTest

DOMINANT = 8.0
"""A largest rise of more than so many medians of the significant rises flattens a linear axis."""


class RiseDisplay(ImportanceDisplay):
    """The rise of the mean loss without each set, with its interval; significant sets in colour.

    For the permutation test, the mean loss rises when the predictions of a set come from other
    rows. For the mean test, it rises when the set is hidden. Each order has its own axes. The axis
    is a square-root scale if the largest rise is more than 8 times the median of the significant
    ones, and linear otherwise; its label says which.

    Parameters
    ----------
    result : SFITResult
        The result of a permutation test or a mean test.
    max_sets : int, default=25
        Sets to draw per order: significant first, then by rise; the others are counted.

    Attributes
    ----------
    shown : list of list of PermutationSetTest or MeanSetTest
        The sets drawn, by order, from the top.
    ax_, figure_
        The axes and the figure drawn on.
    axes_ : list of axes
        One per order; only `ax_` if there is one order.
    points_, intervals_, zeros_ : list of artists
        Per order: the rises, the intervals, the line at zero.

    Examples
    --------
    >>> import sfit
    >>> from sfit.plotting import RiseDisplay
    >>> X, y = sfit.simulate.interactions(2000, random_state=0)
    >>> result = sfit.feature_significance(
    ...     sfit.simulate.interactions_mean, X, y, test="permutation", random_state=0
    ... )
    >>> display = RiseDisplay.from_result(result)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()][:2]
    ['X1', 'X3']
    """

    def __init__(self, result: SFITResult, max_sets: int = MOST_SETS) -> None:
        if any(isinstance(test, SetTest) for test in result.tests):
            raise ArgumentError(
                "result must hold tests of the mean loss; got a sign test. Draw it with "
                "CoinDisplay or ImportanceDisplay, or test with test='permutation'."
            )
        super().__init__(result, max_sets)

    @property
    def title(self) -> str:
        """The title of the picture on a page."""
        return "How far the mean loss rises without each set"

    def _rescale(self, axes: Any, tests: Sequence[AnySetTest]) -> str:
        if not is_flattened([t.estimate for t in tests if t.significant]):
            return ""
        ends = [end for t in tests for end in (t.estimate, t.ci_low, t.ci_high)]
        low, high = root(np.array(extent(ends)))
        pad = 0.03 * (high - low)
        axes.set_xscale("function", functions=(root, square))
        axes.set_xlim(square(np.array([low - pad, high + pad])))
        ticks = root_ticks(low - pad, high + pad)
        axes.set_xticks(ticks, labels=[f"{tick:g}".replace("-", "−") for tick in ticks])
        axes.minorticks_off()
        return "square-root scale"


def is_flattened(rises: Sequence[float]) -> bool:
    """Whether the largest of the significant rises would flatten the others on a linear axis."""
    finite = [rise for rise in rises if math.isfinite(rise)]
    return bool(finite) and max(finite) > DOMINANT * median(finite) > 0


def root(values: Array) -> Array:
    """The square root with the sign of each value."""
    return np.sign(values) * np.sqrt(np.abs(values))


def square(values: Array) -> Array:
    """The inverse of `root`."""
    return np.sign(values) * np.square(values)


def root_ticks(low: float, high: float, n: int = 7) -> list[float]:
    """Round numbers between the squares of `low` and `high`, about evenly spaced, with zero."""
    step = (high - low) / n
    places = [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    ticks = sorted({_rounded(math.copysign(place * place, place)) for place in places} | {0.0})
    return [tick for tick in ticks if low <= math.copysign(math.sqrt(abs(tick)), tick) <= high]


def _rounded(value: float) -> float:
    """The nearest of 1, 1.5, 2, 3, 4, 5, 6 and 8 times a power of ten."""
    if not value:
        return 0.0
    power = 10.0 ** math.floor(math.log10(abs(value)))
    leading = min((1, 1.5, 2, 3, 4, 5, 6, 8, 10), key=lambda one: abs(one - abs(value) / power))
    return float(f"{math.copysign(leading * power, value):.3g}")
