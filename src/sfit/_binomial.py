"""The sign test of section 2.2: p-values, critical counts, ranks, power.

At the boundary of H0: median(delta) <= 0, the number of positive differences is
B ~ Binomial(n, 1/2). All functions here are pure: they take counts, ranks and levels, and know
neither models nor data. Ranks are 1-based, as in the paper: d_(1) is the smallest difference.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, norm

from sfit._arguments import check_level, check_unit, check_whole
from sfit.exceptions import ArgumentError

Array = npt.NDArray[Any]

INTERVALS = ("exact", "asymptotic")

SCANNED_ROWS = 100_000
"""Values of n that `rows_needed` examines in one vectorised call."""
MOST_ROWS = 10**9
"""`rows_needed` treats an effect that needs more rows than this as no effect."""


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


def power(n: int, probability: float, alpha: float = 0.05) -> float:
    r"""Power of the sign test: the probability that it rejects with `n` held-out rows.

    Parameters
    ----------
    n : int
        Number of held-out rows.
    probability : float
        Probability that a row's difference is positive; 1/2 is the boundary of the null
        hypothesis.
    alpha : float, default=0.05
        Level of the test.

    Returns
    -------
    float
        The power, between 0 and 1.

    Notes
    -----
    The power is :math:`P(B_p \ge c)` for :math:`B_p \sim \mathrm{Bin}(n, p)`, where c is the
    smallest count with :math:`P(B_{1/2} \ge c) < \alpha`: section 2.2 of the paper, and Dixon and
    Mood (1946). The exact size of the test is ``power(n, 0.5, alpha)``; it is below `alpha` because
    the binomial distribution is discrete.

    Examples
    --------
    >>> import sfit
    >>> round(sfit.power(10_000, 0.5), 4)
    0.0495
    >>> round(sfit.power(169, 0.6), 3)
    0.823
    """
    probability, alpha = _check_plan(probability, alpha)
    check_whole(n, "n")
    return float(binom.sf(critical_count(n, alpha) - 1, n, probability))


def rows_needed(probability: float, alpha: float = 0.05, power: float = 0.8) -> int:
    r"""Number of held-out rows that gives the sign test the required power.

    Parameters
    ----------
    probability : float
        Probability that a row's difference is positive, above 1/2.
    alpha : float, default=0.05
        Level of the test.
    power : float, default=0.8
        Required probability of a rejection, above `alpha`.

    Returns
    -------
    int
        The smallest n at which the power is reached *for n and for every larger n*. The power is a
        sawtooth in n, so a smaller n may reach it by chance and n + 1 miss it again.

    Notes
    -----
    Section 2.2 of the paper recommends several thousand rows. This function returns the smallest
    :math:`n` with :math:`P(B_p \ge c_m) \ge \text{power}` for every :math:`m \ge n`, where
    :math:`B_p \sim \mathrm{Bin}(m, p)` and :math:`c_m` is the critical count for m rows.

    Examples
    --------
    >>> import sfit
    >>> sfit.rows_needed(0.6)
    169
    """
    probability, alpha = _check_plan(probability, alpha)
    if not probability > 0.5:
        raise ArgumentError(
            f"probability must be above 0.5 for any number of rows to suffice; got {probability!r}."
        )
    power = check_level(power, "power")
    if not alpha < power:
        raise ArgumentError(f"power must lie between alpha = {alpha!r} and 1; got {power!r}.")

    # The power is a sawtooth in n: it drops where the critical count increases. Bisection finds one
    # n that suffices. Every n of the next teeth, which may drop below the target again, is checked.
    # Beyond them the power has grown by more than the height of a tooth.
    def is_short(n: Any) -> Any:
        return binom.sf(critical_count(n, alpha) - 1, n, probability) < power

    low, high = 0, 1
    while is_short(high):
        low, high = high, 2 * high
        if low > MOST_ROWS:
            raise ArgumentError(
                f"probability must be further above 0.5: {probability!r} would need more than "
                f"{MOST_ROWS:,} rows."
            )
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_short(middle) else (low, middle)
    last, beyond = low, low + int(20 / (probability - 0.5)) + 100
    for start in range(low + 1, beyond, SCANNED_ROWS):
        n = np.arange(start, min(start + SCANNED_ROWS, beyond))
        short = np.flatnonzero(is_short(n))
        last = int(n[short[-1]]) if len(short) else last
    return last + 1


def _check_plan(probability: float, alpha: float) -> tuple[float, float]:
    return check_unit(probability, "probability"), check_level(alpha, "alpha")
