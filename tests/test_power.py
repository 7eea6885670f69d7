"""Power and the rows that it needs: against enumeration, simulation and the numbers of STATISTICS.md."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm
from test_binomial import ALPHAS, at_least

import sfit
from sfit import power, rows_needed
from sfit._binomial import critical_count, p_value
from sfit.exceptions import ArgumentError

# ----------------------------------------------------------------------------------- the sign test


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


# ----------------------------------------------------------------------------- the permutation test


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("correlation", [0.02, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("wanted", [0.5, 0.8, 0.99])
def test_rows_of_the_permutation_test_are_the_first_that_suffice(correlation, alpha, wanted):
    """The power rises with n, so the answer is the first n that reaches it."""
    n = rows_needed(alpha=alpha, power=wanted, correlation=correlation)
    assert power(n, alpha=alpha, correlation=correlation) >= wanted - 1e-12
    assert n == 1 or power(n - 1, alpha=alpha, correlation=correlation) < wanted


@given(st.integers(1, 10**6), st.floats(-1, 1), ALPHAS)
def test_power_of_the_permutation_test_is_a_normal_tail(n, correlation, alpha):
    """Of z = r sqrt(n - 1), which needs z_(1 - alpha); without correlation it is alpha."""
    expected = norm.cdf(correlation * math.sqrt(n - 1) + norm.ppf(alpha))
    assert power(n, alpha=alpha, correlation=correlation) == pytest.approx(expected, abs=1e-12)
    assert power(n, alpha=alpha, correlation=0.0) == pytest.approx(alpha)


def test_rows_planned_from_the_z_of_a_result():
    """n - 1 grows with the square of the z that is needed over the z that was seen."""
    z, n = 1.2, 500
    needed = norm.ppf(0.95) + norm.ppf(0.8)
    rows = rows_needed(correlation=z / math.sqrt(n - 1))
    assert rows == math.ceil(1 + (n - 1) * (needed / z) ** 2)


def test_power_of_the_permutation_test_by_simulation():
    """Rejections of the package itself, within 4 binomial standard errors and 0.02."""
    rng, n, correlation, runs = np.random.default_rng(0), 150, 0.2, 250
    test = sfit.PermutationTest(n_permutations=499)
    rejected = 0
    for number in range(runs):
        x = rng.normal(size=(n, 1))
        y = correlation * x[:, 0] + math.sqrt(1 - correlation**2) * rng.normal(size=n)
        result = sfit.feature_significance(
            lambda Z: np.asarray(Z)[:, 0], x, y, test=test, reference=0, random_state=number
        )
        rejected += bool(result.selected)
    expected = power(n, correlation=correlation)
    assert 0.7 < expected < 0.9
    tolerance = 4 * math.sqrt(expected * (1 - expected) / runs) + 0.02
    assert abs(rejected / runs - expected) < tolerance


# ------------------------------------------------------------------------------------------ clusters


@given(
    st.floats(0.55, 0.99) | st.none(),
    st.sampled_from([1, 1.5, 4, 30]),
    st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    st.sampled_from([0.5, 0.8, 0.95]),
)
def test_clusters_divide_the_rows_by_their_design_effect(probability, size, icc, wanted):
    """As many rows as give the units that are needed without clusters, and no fewer."""
    effect = {"correlation": 0.25} if probability is None else {"probability": probability}
    clusters = {"cluster_size": size, "icc": icc}
    units = rows_needed(power=wanted, **effect)
    n = rows_needed(power=wanted, **effect, **clusters)
    inflation = 1 + (size - 1) * icc
    assert n <= math.ceil(units * inflation)
    assert n > (units - 1) * inflation
    for rows in (n, n + 1, n + 7, 2 * n):
        assert power(rows, **effect, **clusters) >= wanted - 1e-12
    if inflation == 1:
        assert n == units
        assert power(n, **effect, **clusters) == power(n, **effect)
    if inflation == 30 and size == 30:
        # Rows of a cluster that are all alike count as one.
        assert power(30 * 200, **effect, **clusters) == power(200, **effect)


def test_power_with_clusters_by_simulation():
    """Clusters of 5 rows permuted as a whole; within 4 binomial standard errors and 0.03.

    The intra-class correlations of prediction and outcome are 1/2, so their product is 1/4 and the
    design effect is 2.
    """
    rng, n_clusters, size, share = np.random.default_rng(1), 80, 5, 0.5
    correlation, runs, n_permutations = 0.18, 400, 199

    def drawn():
        between = rng.normal(size=(n_clusters, 1)) * math.sqrt(share)
        return between + rng.normal(size=(n_clusters, size)) * math.sqrt(1 - share)

    rejected = 0
    for _ in range(runs):
        g, noise = drawn(), drawn()
        y = correlation * g + math.sqrt(1 - correlation**2) * noise
        products = (y - y.mean()).reshape(n_clusters, -1) @ (g - g.mean()).T
        orders = np.argsort(rng.random((n_permutations, n_clusters)), axis=1)
        copies = products[np.arange(n_clusters), orders].sum(axis=1)
        p = (1 + np.count_nonzero(copies >= np.trace(products))) / (n_permutations + 1)
        rejected += p < 0.05
    n = n_clusters * size
    expected = power(n, correlation=correlation, cluster_size=size, icc=share * share)
    assert 0.7 < expected < 0.9
    assert power(n, correlation=correlation) > expected + 0.1
    tolerance = 4 * math.sqrt(expected * (1 - expected) / runs) + 0.03
    assert abs(rejected / runs - expected) < tolerance


def test_no_independent_row_has_no_power():
    """Clusters of a hundred equal rows, and fewer rows than one cluster."""
    assert power(50, 0.9, cluster_size=100, icc=1.0) == 0.0
    assert power(50, correlation=0.9, cluster_size=100, icc=1.0) == pytest.approx(0.05)
