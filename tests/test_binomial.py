"""The sign test against enumeration, SciPy's binomial test and the numbers of STATISTICS.md."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binom, binomtest, norm

import sfit
from sfit._binomial import (
    critical_count,
    exact_rank,
    fewest_rows,
    median_ranks,
    p_value,
    power,
    ranks,
    rows_needed,
    too_few_rows,
)
from sfit.exceptions import ArgumentError

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
    ("n", "size"), [(50, 0.032), (200, 0.038), (1_000, 0.047), (10_000, 0.0495)]
)
def test_true_size_of_the_test(n, size):
    """The sizes at the boundary that STATISTICS.md gives."""
    assert power(n, 0.5) == pytest.approx(size, abs=0.5 * 10 ** -len(str(size)[2:]))


@given(st.integers(1, 150), st.floats(0.001, 0.999) | st.sampled_from([0.0, 1.0]), ALPHAS)
def test_power_sums_the_rejecting_counts(n, probability, alpha):
    """P(B_p >= c), added up term by term."""
    c = next(c for c in range(n + 2) if at_least(c, n) < Fraction(alpha))
    expected = math.fsum(
        math.comb(n, k) * probability**k * (1 - probability) ** (n - k) for k in range(c, n + 1)
    )
    assert power(n, probability, alpha) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_power_agrees_with_simulated_rejections():
    """Rejections among 20,000 simulated tests lie within 4 binomial standard errors."""
    rng, n, probability, draws = np.random.default_rng(0), 120, 0.62, 20_000
    rate = np.mean(p_value(rng.binomial(n, probability, size=draws), n) < 0.05)
    expected = power(n, probability)
    assert abs(rate - expected) < 4 * math.sqrt(expected * (1 - expected) / draws)


def test_rows_needed_of_statistics_md():
    """P = .6 reaches 80 % first at 158 rows and for good at 169: the power is a sawtooth."""
    reached = [n for n in range(1, 400) if power(n, 0.6) >= 0.8]
    assert reached[0] == 158
    assert rows_needed(0.6) == 169
    assert 168 not in reached
    assert set(range(169, 400)) <= set(reached)


@pytest.mark.parametrize("probability", [0.53, 0.6, 0.7, 0.8, 0.95, 0.999, 1.0])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.99])
def test_rows_needed_is_the_last_shortfall_plus_one(probability, alpha, wanted):
    """A scan over every n up to well beyond the answer finds the same number."""
    answer = rows_needed(probability, alpha, wanted)
    n = np.arange(1, 2 * answer + 500)
    short = binom.sf(critical_count(n, alpha) - 1, n, probability) < wanted
    assert answer == (n[short][-1] + 1 if short.any() else 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda: power(0, 0.6),
        lambda: power(10.5, 0.6),
        lambda: power(True, 0.6),
        lambda: power(10, 1.2),
        lambda: power(10, float("nan")),
        lambda: power(10, 0.6, alpha=0),
        lambda: rows_needed(0.5),
        lambda: rows_needed(0.6, alpha=1.0),
        lambda: rows_needed(0.6, power=1.0),
        lambda: rows_needed(0.6, power=0.05),
    ],
)
def test_plans_that_make_no_sense_are_refused(call):
    """Arguments out of range raise ArgumentError, which is a ValueError."""
    with pytest.raises(ArgumentError, match="must") as caught:
        call()
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, sfit.exceptions.SFITError)


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
    assert too_few_rows(n, alpha, ranks(n, alpha, "exact")) == said
    # Where no interval is asked for, none can be missing.
    assert too_few_rows(n, alpha) == tuple(text for text in said if "interval" not in text)


def test_plans_are_refused_word_for_word():
    """The argument, what is allowed, and what was received."""
    for call, message in (
        (
            lambda: rows_needed(0.5),
            "probability must be above 0.5 for any number of rows to suffice; got 0.5.",
        ),
        (
            lambda: rows_needed(0.6, 0.05, 0.05),
            "power must lie between alpha = 0.05 and 1; got 0.05.",
        ),
        (lambda: rows_needed(0.6, 0.3, 0.2), "power must lie between alpha = 0.3 and 1; got 0.2."),
        (
            lambda: rows_needed(0.50001),
            "probability must be further above 0.5: 0.50001 would need more than 1,000,000,000 "
            "rows.",
        ),
    ):
        with pytest.raises(ArgumentError) as caught:
            call()
        assert str(caught.value) == message
    for call, name in (
        (lambda: power(10, 2.0), "probability"),
        (lambda: power(10, 0.6, 2.0), "alpha"),
        (lambda: power(-1, 0.6), "n"),
        (lambda: rows_needed(0.6, 0.05, 2.0), "power"),
    ):
        with pytest.raises(ArgumentError, match=f"^{name} "):
            call()


def test_one_row_may_be_enough():
    """At a level of 0.6 one positive row is significant."""
    assert rows_needed(0.95, alpha=0.6, power=0.8) == 1


def test_rows_needed_next_to_one_half():
    """There the power falls short again hundreds of rows after it was reached."""
    answer = rows_needed(0.505, power=0.7)
    n = np.arange(answer - 2_000, answer + 6_000)
    reached = binom.sf(critical_count(n, 0.05) - 1, n, 0.505) >= 0.7
    assert answer == n[~reached][-1] + 1
    assert n[reached][0] < answer - 200
