"""The sign test against enumeration, SciPy's binomial test and the numbers of STATISTICS.md."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

from sfit._binomial import (
    critical_count,
    exact_rank,
    fewest_rows,
    median_ranks,
    p_value,
    ranks,
    too_few_units,
)

ALPHAS = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 0.9])


@cache
def tails(n):
    """2^n P(B >= c) for c = 0, ..., n + 1, as whole numbers."""
    counts = [0]
    for c in range(n, -1, -1):
        counts.append(counts[-1] + math.comb(n, c))
    return counts[::-1]


def at_least(c, n):
    return Fraction(tails(n)[c], 2**n)


@given(st.integers(1, 300), st.data())
def test_p_value_is_the_exact_tail(n, data):
    """P(B >= k) equals the enumerated probability and SciPy's binomial test."""
    k = data.draw(st.integers(0, n))
    assert p_value(k, n) == pytest.approx(float(at_least(k, n)), rel=1e-12)
    assert p_value(k, n) == pytest.approx(
        binomtest(k, n, 0.5, alternative="greater").pvalue, rel=1e-12
    )


def test_p_values_by_hand():
    """8 of 10 is 56/1024, nothing is 1, everything 2^-n; arrays go elementwise."""
    assert p_value(8, 10) == 56 / 1024
    assert p_value(0, 7) == 1.0
    assert p_value(20, 20) == 2.0**-20
    np.testing.assert_array_equal(p_value([0, 8, 10], [7, 10, 10]), [1.0, 56 / 1024, 2.0**-10])


@given(st.integers(0, 200_000))
def test_the_upper_half_has_probability_one_half(half):
    """P(B >= (n + 1) / 2) is exactly 1/2 for odd n: not below an alpha of 1/2, not by a bit."""
    n = 2 * half + 1
    assert p_value(half + 1, n) == 0.5
    assert critical_count(n, 0.5) == half + 2


@given(st.integers(1, 250), ALPHAS)
@example(10, 56 / 1024)
@example(5, 1 / 32)
@example(15, 0.5)
def test_critical_count_is_the_smallest_that_rejects(n, alpha):
    """Smallest c with P(B >= c) < alpha, strictly; n + 1 when there is none."""
    expected = next(c for c in range(n + 2) if at_least(c, n) < Fraction(alpha))
    assert critical_count(n, alpha) == expected


def test_critical_count_is_elementwise():
    """One count per n, the same as asked one at a time."""
    n = np.arange(1, 200)
    np.testing.assert_array_equal(
        critical_count(n, 0.05), [critical_count(int(one), 0.05) for one in n]
    )
    assert critical_count(n, 0.05).dtype == critical_count(10, 0.05).dtype == np.int64


@given(st.integers(1, 250), ALPHAS)
@example(5, 0.0625)
@example(10, 22 / 1024)
def test_exact_ranks_are_the_narrowest_that_hold(n, alpha):
    """Largest k with 2 P(B <= k) <= alpha: [1 + k, n - k], its coverage, or no interval."""
    fitting = [k for k in range(n) if 2 * at_least(n - k, n) <= Fraction(alpha)]
    found = ranks(n, alpha, "exact")
    assert found == ranks(n, alpha)
    assert exact_rank(n, alpha) == max(fitting, default=-1)
    if fitting:
        k = max(fitting)
        assert (found.low, found.high) == (1 + k, n - k)
        assert found.coverage == pytest.approx(float(1 - 2 * at_least(n - k, n)), rel=1e-12)
        assert found.coverage >= 1 - alpha - 1e-12
    else:
        assert (found.low, found.high, found.coverage) == (0, 0, 1.0)


@given(st.integers(1, 3000), ALPHAS)
def test_asymptotic_ranks_are_those_of_algorithm_1(n, alpha):
    """floor and ceiling of (n + 1) / 2 -+ q sqrt(n) / 2, 1-based, clipped to 1..n."""
    q = norm.isf(alpha / 2)
    low, high = (n + 1) / 2 - q * math.sqrt(n) / 2, (n + 1) / 2 + q * math.sqrt(n) / 2
    found = ranks(n, alpha, "asymptotic")
    assert found.low == max(1, math.floor(low))
    assert found.high == min(n, math.ceil(high))
    assert found.coverage == 1 - alpha
    assert found[2:4] == ranks(n, alpha, "exact")[2:4]


def test_asymptotic_ranks_differ_from_the_exact_at_37_sizes():
    """n <= 5, where no exact interval exists, and 32 more, one rank wider on each side."""
    differing = []
    for n in range(1, 5001):
        k, paper = exact_rank(n, 0.05), ranks(n, 0.05, "asymptotic")
        wider = (1 + k) - paper.low, paper.high - (n - k)
        if k < 0 or wider != (0, 0):
            differing.append(n)
            assert n <= 5 or wider == (1, 1)
    assert len(differing) == 37
    assert differing[:8] == [1, 2, 3, 4, 5, 17, 44, 67]


def test_ranks_of_statistics_md():
    """n = 10: [d_(2), d_(9)] with coverage 1 - 22/1024; n = 10,000: 4902, 5099, count 5083."""
    ten = ranks(10, 0.05, "exact")
    assert (ten.low, ten.high) == (2, 9)
    assert ten.coverage == pytest.approx(1 - 22 / 1024, abs=1e-15)
    many = ranks(10_000, 0.05, "exact")
    assert (many.low, many.high, many.critical, many.lower) == (4902, 5099, 5083, 4918)
    assert ranks(10_000, 0.05, "asymptotic")[:2] == (4902, 5099)
    assert [ranks(n, 0.05, "exact").low for n in (5, 6)] == [0, 1]


@given(
    st.lists(st.integers(-2, 3), min_size=1, max_size=60),
    ALPHAS,
    st.sampled_from(["exact", "asymptotic"]),
)
@example([1] * 8 + [0] * 2, 56 / 1024, "exact")
@example([1] * 5, 0.05, "exact")
@example([1] * 4, 0.05, "exact")
def test_the_bound_is_the_dual_of_the_test(differences, alpha, interval):
    """p < alpha exactly when d_(lower) > 0, whatever the ties and the level."""
    ordered, n = np.sort(differences), len(differences)
    found = ranks(n, alpha, interval)
    rejects = p_value(np.count_nonzero(ordered > 0), n) < alpha
    bound = ordered[found.lower - 1] if found.lower else -np.inf
    assert rejects == (bound > 0)
    assert rejects == (np.count_nonzero(ordered > 0) >= found.critical)


@given(st.integers(1, 20_000), ALPHAS)
def test_the_bound_is_the_largest_with_the_level(n, alpha):
    """k1 is the largest k with P(B <= k) < alpha: d_(1 + k1) errs with less than alpha."""
    lower = ranks(n, alpha, "exact").lower
    if lower:
        assert binom.cdf(lower - 1, n, 0.5) < alpha
    assert binom.cdf(lower, n, 0.5) >= alpha * (1 - 1e-12)


@given(
    st.integers(6, 40),
    st.sampled_from([0.05, 0.1, 0.3]),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
)
@example(10, 0.05, 0.5, 0.5)
@example(10, 0.05, 0.0, 0.0)
def test_the_exact_interval_covers_with_any_distribution(n, alpha, below, above):
    """P(d_low <= median <= d_high) >= coverage, with mass at the median itself (ties) or not."""
    found = ranks(n, alpha, "exact")
    if not found.low:
        return
    at = max(0.0, 1 - below - above)
    covered = sum(
        math.comb(n, i) * math.comb(n - i, j) * below**i * above**j * at ** (n - i - j)
        for i in range(n + 1)
        for j in range(n - i + 1)
        # i values lie below the median, j above: d_low <= median <= d_high
        if found.low <= n - j and found.high > i
    )
    assert covered >= found.coverage - 1e-9
    if below == above == 0.5:
        assert covered == pytest.approx(found.coverage, abs=1e-12)


@given(st.integers(1, 100))
def test_median_ranks_give_the_median(n):
    """The mean of the two middle order statistics is NumPy's median."""
    values = np.random.default_rng(n).normal(size=n)
    low, high = median_ranks(n)
    ordered = np.sort(values)
    assert (ordered[low - 1] + ordered[high - 1]) / 2 == np.median(values)


@pytest.mark.parametrize("alpha", [0.9, 0.5, 0.3, 0.05, 1 / 32, 0.01, 1e-9])
def test_fewest_rows_is_the_first_n_that_can_reject(alpha):
    """Smallest n with 2^-n < alpha, strictly; below it the critical count is out of reach."""
    n = fewest_rows(alpha)
    assert Fraction(1, 2**n) < Fraction(alpha) <= Fraction(1, 2 ** (n - 1))
    assert critical_count(n, alpha) <= n
    assert critical_count(n - 1, alpha) == n


@pytest.mark.parametrize(
    ("n", "alpha", "said"),
    [
        (
            4, 0.05,
            ("4 rows are too few for anything to be significant at alpha=0.05: use at least 5, and "
             "several hundred to find anything but the strongest effects.",),
        ),
        (5, 0.05, ("5 rows are too few for an exact interval at alpha=0.05: it is infinite.",)),
        (6, 0.05, ()),
        (9, 0.001, (
            "9 rows are too few for anything to be significant at alpha=0.001: use at least 10, "
            "and several hundred to find anything but the strongest effects.",
        )),
        (10, 0.001, ("10 rows are too few for an exact interval at alpha=0.001: it is infinite.",)),
        (11, 0.001, ()),
    ],
)  # fmt: skip
def test_too_few_rows_are_told_with_the_number_needed(n, alpha, said):
    """Nothing can be significant, or there is no interval; otherwise there is nothing to say."""
    assert too_few_units(n, alpha, ranks(n, alpha, "exact")) == said
    # Where no interval is asked for, none can be missing.
    assert too_few_units(n, alpha) == tuple(text for text in said if "interval" not in text)
