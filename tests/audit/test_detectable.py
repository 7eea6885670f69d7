"""The smallest detectable effects agree with the library's power."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfit
from sfit._audit._detectable import (
    share_of_variance,
    smallest_correlation,
    smallest_probability,
)
from sfit._multiplicity import smallest_threshold

rows = st.integers(20, 200_000)
levels = st.floats(1e-6, 0.2)
powers = st.floats(0.3, 0.99)


@given(rows, levels, powers)
def test_the_power_is_reached_there_and_not_below(n, alpha, power):
    r = smallest_correlation(n, alpha, power)
    p = smallest_probability(n, alpha, power)
    if not math.isnan(r):
        assert sfit.power(n, correlation=r, alpha=alpha) >= power
        assert sfit.power(n, correlation=r - 1e-6, alpha=alpha) < power
    if not math.isnan(p):
        assert sfit.power(n, p, alpha) >= power
        assert sfit.power(n, p - 1e-6, alpha) < power


def test_rows_needed_leads_back():
    r = smallest_correlation(620)
    assert r == pytest.approx(0.1, abs=1e-4)
    assert sfit.rows_needed(correlation=r) == 620
    assert smallest_probability(169) == pytest.approx(0.6, abs=0.005)


def test_the_closed_form_of_the_correlation():
    from scipy.stats import norm

    expected = (norm.isf(0.05) + norm.ppf(0.8)) / math.sqrt(8_999)
    assert smallest_correlation(9_000) == pytest.approx(expected, abs=1e-8)
    assert share_of_variance(expected) == pytest.approx(0.000687, abs=1e-6)


def test_more_rows_find_smaller_effects_and_corrections_larger_ones():
    found = [smallest_correlation(n) for n in (100, 1_000, 10_000)]
    assert found == sorted(found, reverse=True)
    level = smallest_threshold(0.05, "fdr_by", 40)
    assert smallest_correlation(1_000, level) > smallest_correlation(1_000)
    assert smallest_probability(1_000, level) > smallest_probability(1_000)


def test_clusters_raise_the_smallest_effect():
    for smallest in (smallest_correlation, smallest_probability):
        alone = smallest(1_000)
        assert smallest(1_000, cluster_size=10, icc=0.0) == alone
        # With an intra-class correlation of 1, 100 clusters count as 100 rows.
        assert smallest(1_000, cluster_size=10, icc=1.0) == pytest.approx(smallest(100))


def test_too_few_rows_find_nothing():
    assert math.isnan(smallest_probability(3, 0.05))
    assert math.isnan(smallest_correlation(2, 1e-6))


@pytest.mark.parametrize("n", [400, 2_000])
def test_a_simulation_finds_it_four_times_out_of_five(n):
    """Normal outcomes and predictions with the smallest correlation, compared with its level."""
    from scipy.stats import norm

    r, repeats = smallest_correlation(n), 2_000
    rng = np.random.default_rng(0)
    x = rng.normal(size=(repeats, n))
    y = r * x + math.sqrt(1 - r**2) * rng.normal(size=x.shape)
    x, y = (v - v.mean(axis=1, keepdims=True) for v in (x, y))
    z = (x * y).sum(axis=1) / np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1)) * math.sqrt(n - 1)
    share = (z > norm.isf(0.05)).mean()
    assert abs(share - 0.8) < 3 * math.sqrt(0.16 / repeats) + 0.005
