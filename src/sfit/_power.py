"""How many rows? The power of both tests, and the rows that a power needs.

The power of the sign test is exact, that of the permutation test a normal approximation. Clusters
count through their design effect, the factor by which they raise the variance of a mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.stats import binom, norm

from sfit._arguments import as_number, check_level, check_unit, check_whole, shown
from sfit._binomial import critical_count
from sfit.exceptions import ArgumentError

SCANNED_ROWS = 100_000
"""Values of n that `rows_needed` examines in one vectorised call."""
MOST_ROWS = 10**9
"""`rows_needed` treats an effect that needs more rows than this as no effect."""


def power(
    n: int,
    probability: float | None = None,
    alpha: float = 0.05,
    *,
    correlation: float | None = None,
    cluster_size: float = 1,
    icc: float = 0.0,
) -> float:
    r"""Power of a test: the probability that it rejects with `n` held-out rows.

    Give `probability` for the sign test, or `correlation` for the permutation test.

    Parameters
    ----------
    n : int
        Number of held-out rows.
    probability : float, optional
        Sign test: probability that a row's difference is positive; 1/2 is the boundary of the null
        hypothesis.
    alpha : float, default=0.05
        Level of the test; with a correction, the level with which a single p-value is compared.
    correlation : float, optional
        Permutation test: correlation of the outcome with the model's prediction from the set alone.
        An earlier permutation test estimates it as ``z / (n - 1) ** 0.5``.
    cluster_size : float, default=1
        Mean number of rows per cluster.
    icc : float, default=0.0
        Intra-class correlation within clusters: for the sign test, of the rows' differences; for
        the permutation test, of the prediction times that of the outcome.

    Returns
    -------
    float
        The power, between 0 and 1.

    See Also
    --------
    rows_needed : The number of rows for a given power.

    Notes
    -----
    The power of the sign test is :math:`P(B_p \ge c)` for :math:`B_p \sim \mathrm{Bin}(n, p)`,
    where c is the smallest count with :math:`P(B_{1/2} \ge c) < \alpha`: section 2.2 of the paper,
    and Dixon and Mood (1946). The exact size of the test is ``power(n, 0.5, alpha)``; it is below
    `alpha` because the binomial distribution is discrete.

    The power of the permutation test is a normal approximation,
    :math:`\Phi(r \sqrt{n - 1} - z_{1 - \alpha})` for the correlation r.

    With m rows per cluster and the intra-class correlation :math:`\rho`, n is divided by the design
    effect :math:`1 + (m - 1) \rho`, an approximation for both tests.

    Examples
    --------
    >>> import sfit
    >>> round(sfit.power(10_000, 0.5), 4)
    0.0495
    >>> round(sfit.power(169, 0.6), 3)
    0.823
    >>> round(sfit.power(400, correlation=0.1), 3)
    0.638
    >>> round(sfit.power(400, correlation=0.1, cluster_size=5, icc=0.25), 3)
    0.407
    """
    effect = _effect_of(probability, correlation)
    alpha = check_level(alpha, "alpha")
    return effect.power(check_whole(n, "n") / _design_effect(cluster_size, icc), alpha)


def rows_needed(
    probability: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    *,
    correlation: float | None = None,
    cluster_size: float = 1,
    icc: float = 0.0,
) -> int:
    r"""Number of held-out rows that gives a test the required power.

    Give `probability` for the sign test, or `correlation` for the permutation test.

    Parameters
    ----------
    probability : float, optional
        Sign test: probability that a row's difference is positive, above 1/2.
    alpha : float, default=0.05
        Level of the test; with a correction, the level with which a single p-value is compared.
    power : float, default=0.8
        Required probability of a rejection, above `alpha`.
    correlation : float, optional
        Permutation test: correlation of the outcome with the model's prediction from the set alone,
        above 0. An earlier permutation test estimates it as ``z / (n - 1) ** 0.5``.
    cluster_size : float, default=1
        Mean number of rows per cluster.
    icc : float, default=0.0
        Intra-class correlation within clusters: for the sign test, of the rows' differences; for
        the permutation test, of the prediction times that of the outcome.

    Returns
    -------
    int
        The smallest n at which the power is reached *for n and for every larger n*. The power of
        the sign test is a sawtooth in n, so a smaller n may reach it by chance and n + 1 miss it
        again.

    See Also
    --------
    power : The power for a given number of rows.

    Notes
    -----
    Section 2.2 of the paper recommends several thousand rows. For the sign test, this function
    returns the smallest :math:`n` with :math:`P(B_p \ge c_m) \ge \text{power}` for every
    :math:`m \ge n`, where :math:`B_p \sim \mathrm{Bin}(m, p)` and :math:`c_m` is the critical count
    for m rows.

    For the permutation test it is a normal approximation,
    :math:`1 + ((z_{1 - \alpha} + z_\text{power}) / r)^2` rows for the correlation r. Clusters of m
    rows with the intra-class correlation :math:`\rho` multiply the number of rows by the design
    effect :math:`1 + (m - 1) \rho`, an approximation for both tests.

    Examples
    --------
    >>> import sfit
    >>> sfit.rows_needed(0.6)
    169
    >>> sfit.rows_needed(correlation=0.1)
    620
    >>> sfit.rows_needed(correlation=0.1, cluster_size=5, icc=0.25)
    1239
    """
    effect = _effect_of(probability, correlation)
    alpha = check_level(alpha, "alpha")
    effect.check_above_null()
    power = check_level(power, "power")
    if not alpha < power:
        raise ArgumentError(f"power must lie between alpha = {alpha!r} and 1; got {power!r}.")
    inflation = _design_effect(cluster_size, icc)
    units = effect.units(alpha, power)
    n = max(math.ceil(units * inflation) - 1, 1)
    while n / inflation < units:
        n += 1
    return n


@dataclass(frozen=True)
class _Effect:
    """The size of an effect in one test; `units` are independent rows."""

    argument: ClassVar[str]
    null: ClassVar[float]
    """The size of no effect."""

    size: float

    def check_above_null(self) -> None:
        """Refuse an effect that no number of rows makes likely to be found."""
        if not self.size > self.null:
            raise ArgumentError(
                f"{self.argument} must be above {self.null:g} for any number of rows to suffice; "
                f"got {self.size!r}."
            )

    def bounded(self, units: float) -> float:
        """A number of rows that someone might have; an error beyond."""
        if units > MOST_ROWS:
            raise ArgumentError(
                f"{self.argument} must be further above {self.null:g}: {self.size!r} would need "
                f"more than {MOST_ROWS:,} rows."
            )
        return units


class _ShareImproved(_Effect):
    """The sign test: the probability that a row improves. Exact."""

    argument = "probability"
    null = 0.5

    def power(self, units: float, alpha: float) -> float:
        """The probability of a rejection."""
        n = math.floor(units)
        return float(binom.sf(critical_count(n, alpha) - 1, n, self.size))

    def units(self, alpha: float, power: float) -> float:
        """The smallest n from which on the power is never short."""

        # The power is a sawtooth in n: it drops where the critical count increases. Bisection finds
        # one n that suffices. Every n of the next teeth, which may drop below the target again, is
        # checked. Beyond them the power has grown by more than the height of a tooth.
        def is_short(n: Any) -> Any:
            return binom.sf(critical_count(n, alpha) - 1, n, self.size) < power

        low, high = 0, 1
        while is_short(high):
            low, high = high, 2 * high
            self.bounded(low)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_short(middle) else (low, middle)
        last, beyond = low, low + int(20 / (self.size - self.null)) + 100
        for start in range(low + 1, beyond, SCANNED_ROWS):
            n = np.arange(start, min(start + SCANNED_ROWS, beyond))
            short = np.flatnonzero(is_short(n))
            last = int(n[short[-1]]) if len(short) else last
        return last + 1


class _Correlation(_Effect):
    """The permutation test: the correlation of prediction and outcome. A normal approximation.

    The standardised sum of products is r sqrt(n - 1). Its permutation distribution has the mean 0
    and the standard deviation 1.
    """

    argument = "correlation"
    null = 0.0

    def power(self, units: float, alpha: float) -> float:
        """The probability of a rejection."""
        z = self.size * math.sqrt(max(units - 1, 0.0))
        return float(norm.sf(norm.isf(alpha) - z))

    def units(self, alpha: float, power: float) -> float:
        """The smallest n at which the power is reached."""
        z = float(norm.isf(alpha) + norm.ppf(power))
        return self.bounded(1 + (z / self.size) ** 2)


def _effect_of(probability: Any, correlation: Any) -> _ShareImproved | _Correlation:
    """The effect that was given: exactly one, within its range."""
    if (probability is None) == (correlation is None):
        raise ArgumentError(
            "give either probability, for the sign test, or correlation, for the permutation test; "
            f"got probability={shown(probability)} and correlation={shown(correlation)}."
        )
    if probability is not None:
        return _ShareImproved(check_unit(probability, "probability"))
    number = as_number(correlation)
    if number is None or not -1 <= number <= 1:
        raise ArgumentError(f"correlation must lie between -1 and 1; got {shown(correlation)}.")
    return _Correlation(number)


def _design_effect(cluster_size: Any, icc: Any) -> float:
    """1 + (m - 1) icc: by how much clusters of m rows raise the variance of a mean."""
    size = as_number(cluster_size)
    if size is None or not 1 <= size <= MOST_ROWS:
        raise ArgumentError(
            f"cluster_size must be the mean number of rows per cluster, from 1 to {MOST_ROWS:,}; "
            f"got {shown(cluster_size)}."
        )
    return 1 + (size - 1) * check_unit(icc, "icc")
