"""Rises of the mean loss, on a scale that a dominant set does not flatten."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from sfit._set_tests import SetTest
from sfit.exceptions import ArgumentError
from sfit.plotting._importance import ImportanceDisplay
from sfit.plotting._orders import MOST_SETS

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
        return (
            "How much worse predictions become when taken from another row"
            if self.result.is_permutation
            else "How far each set lowers the mean loss"
        )

    def _is_rooted(self, tests: Sequence[AnySetTest]) -> bool:
        return is_flattened([test.estimate for test in tests if test.significant])


def is_flattened(rises: Sequence[float]) -> bool:
    """Whether the largest of the significant rises would flatten the others on a linear axis."""
    finite = [rise for rise in rises if math.isfinite(rise)]
    return bool(finite) and max(finite) > DOMINANT * median(finite) > 0
