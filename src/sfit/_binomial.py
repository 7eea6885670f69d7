"""The sign test of section 2.2: p-values, critical counts, ranks.

At the boundary of H0: median(delta) <= 0, the number of positive differences is
B ~ Binomial(n, 1/2). All functions here are pure: they take counts, ranks and levels, and know
neither models nor data. Ranks are 1-based, as in the paper: d_(1) is the smallest difference.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom, norm

INTERVALS = ("exact", "asymptotic")


class Ranks(NamedTuple):
    """The order statistics of n differences that a test at one level needs (0: none)."""

    low: int
    """Lower end of the two-sided interval, d_(low); 0 stands for minus infinity."""
    high: int
    """Upper end of the two-sided interval, d_(high); 0 stands for plus infinity."""
    lower: int
    """One-sided bound d_(lower); 0 stands for minus infinity."""
    critical: int
    """Critical count c: the test rejects when at least c differences are positive; n + 1: never."""
    coverage: float
    """Coverage of the two-sided interval: guaranteed (exact) or nominal (asymptotic)."""


def p_value(n_positive: Any, n: Any) -> Any:
    """P(B >= n_positive): the one-sided (greater) binomial test of Algorithm 1."""
    n_positive, n = np.asarray(n_positive), np.asarray(n)
    # By symmetry exactly 1/2 at (n + 1) / 2 of an odd n, where SciPy can be off by one bit.
    return np.where(2 * n_positive == n + 1, 0.5, binom.sf(n_positive - 1, n, 0.5))[()]


def two_sided_p_value(n_positive: Any, n_negative: Any) -> Any:
    """The two-sided sign test of the median of differences; units without a difference drop out."""
    n_positive, n_negative = np.asarray(n_positive), np.asarray(n_negative)
    more = p_value(np.maximum(n_positive, n_negative), n_positive + n_negative)
    return np.minimum(1.0, 2 * more)[()]


def critical_count(n: Any, alpha: float) -> Any:
    """Smallest count c with P(B >= c) < alpha, elementwise in n; n + 1 if none exists."""
    n = np.asarray(n)
    # Use symmetry: SciPy's isf fails below 1e-17, its ppf does not. It inverts in floating point,
    # so start below and let the p-value itself decide "<".
    count = n - binom.ppf(alpha, n, 0.5).astype(np.int64) - 1
    while np.any(early := p_value(count, n) >= alpha):
        count = count + early
    return count[()]


def exact_rank(n: int, alpha: float) -> int:
    """Largest k with 2 P(B <= k) <= alpha (section 2.2); -1 if none exists."""
    # ppf inverts in floating point: start above.
    k = int(binom.ppf(alpha / 2, n, 0.5)) + 1
    while k >= 0 and 2 * binom.cdf(k, n, 0.5) > alpha:
        k -= 1
    return k


@lru_cache(maxsize=1024)
def ranks(n: int, alpha: float, interval: str = "exact") -> Ranks:
    """Ranks of the interval ends, the one-sided bound and the critical count.

    ``interval="exact"`` is [d_(1+k), d_(n-k)] with guaranteed coverage 1 - 2 P(B <= k), whatever
    the distribution; ``"asymptotic"`` is the interval printed in Algorithm 1, clipped to 1..n.
    """
    critical = int(critical_count(n, alpha))
    # The dual of the test: d_(lower) > 0 exactly when at least `critical` differences are positive.
    lower = n - critical + 1
    if interval == "exact":
        k = exact_rank(n, alpha)
        if k < 0:
            return Ranks(0, 0, lower, critical, 1.0)
        coverage = 1.0 - 2.0 * float(binom.cdf(k, n, 0.5))
        return Ranks(1 + k, n - k, lower, critical, coverage)
    half_width = float(norm.isf(alpha / 2)) * math.sqrt(n) / 2
    low = math.floor((n + 1) / 2 - half_width)
    high = math.ceil((n + 1) / 2 + half_width)
    return Ranks(max(low, 1), min(high, n), lower, critical, 1.0 - alpha)


def median_ranks(n: int) -> tuple[int, int]:
    """The two middle ranks, whose mean is the median (equal for odd n)."""
    return (n + 1) // 2, n // 2 + 1


def fewest_rows(alpha: float) -> int:
    """Smallest n at which n positives of n are significant: 2^-n < alpha."""
    n = 1
    while p_value(n, n) >= alpha:
        n += 1
    return n


def too_few_units(
    n: int, alpha: float, level: Ranks | None = None, units: str = "rows"
) -> tuple[str, ...]:
    """Caveats if n units can never be significant, or have no finite interval at this level."""
    needed = fewest_rows(alpha)
    if n < needed:
        return (
            f"{n} {units} are too few for anything to be significant at alpha={alpha:g}: use at "
            f"least {needed}, and several hundred to find anything but the strongest effects.",
        )
    if level is not None and not level.low:
        infinite = f"are too few for an exact interval at alpha={alpha:g}: it is infinite."
        return (f"{n} {units} {infinite}",)
    return ()
