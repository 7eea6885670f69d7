"""The smallest effect that a test detects with high power: an audit may miss weaker ones.

The library's own `power` function is inverted, so both always agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from sfit import _power

PRECISION = 1e-9
"""Width of the interval at which the bisection ends."""


def smallest_correlation(
    n: int, alpha: float = 0.05, power: float = 0.8, *, cluster_size: float = 1, icc: float = 0.0
) -> float:
    """The smallest correlation that the permutation test finds with this power.

    It is the correlation of the outcome with the model's prediction from the feature alone. `alpha`
    is the level with which a single p-value is compared (`_multiplicity.smallest_threshold`). NaN
    if `n` rows do not even detect a correlation of 1.
    """

    def reached(correlation: float) -> float:
        return _power.power(
            n, alpha=alpha, correlation=correlation, cluster_size=cluster_size, icc=icc
        )

    return _smallest(reached, 0.0, power)


def smallest_probability(
    n: int, alpha: float = 0.05, power: float = 0.8, *, cluster_size: float = 1, icc: float = 0.0
) -> float:
    """The smallest share of improved rows that the sign test finds with this power.

    A feature without effect improves half of the rows. NaN if `n` rows do not suffice even if every
    row improves.
    """
    reached = partial(_power.power, n, alpha=alpha, cluster_size=cluster_size, icc=icc)
    return _smallest(reached, 0.5, power)


def share_of_variance(correlation: float) -> float:
    """The share of the outcome's variance that a correlation explains."""
    return correlation**2


def _smallest(reached: Callable[[float], float], null: float, power: float) -> float:
    """The smallest size between the null and 1 at which the power is reached."""
    low, high = null, 1.0
    if reached(high) < power:
        return math.nan
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) >= power else (middle, high)
    return high
