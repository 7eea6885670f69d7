"""Corrections against their textbook procedures, carried out step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfit._multiplicity import CORRECTIONS, Correction, adjust, over_all_orders, smallest_threshold

P_VALUES = st.lists(st.just(0.0) | st.floats(1e-200, 1), min_size=1, max_size=12)
METHODS = st.sampled_from(CORRECTIONS)


def naive(p, method):
    """Adjusted p-values straight from the definitions."""
    m = len(p)
    ordered = sorted(p)
    harmonic = sum(1 / k for k in range(1, m + 1)) if method == "fdr_by" else 1
    steps = {
        None: lambda i: ordered[i],
        "bonferroni": lambda i: m * ordered[i],
        "holm": lambda i: max((m - k) * ordered[k] for k in range(i + 1)),
        "fdr_bh": lambda i: min(m * ordered[k] / (k + 1) for k in range(i, m)),
        "fdr_by": lambda i: min(harmonic * m * ordered[k] / (k + 1) for k in range(i, m)),
    }
    return [min(1.0, steps[method](ordered.index(one))) for one in p]


@given(P_VALUES, METHODS)
def test_adjusted_p_values_follow_their_definitions(p, method):
    """Every adjusted p-value equals the textbook formula, ties included."""
    expected = naive(p, method)
    np.testing.assert_allclose(adjust(np.array(p), method), expected, rtol=1e-12)


@given(P_VALUES, METHODS, st.integers(0, 2**32 - 1))
def test_the_order_of_the_sets_does_not_matter(p, method, seed):
    """Adjusting permuted p-values permutes the adjusted ones."""
    order = np.random.default_rng(seed).permutation(len(p))
    p = np.array(p)
    np.testing.assert_array_equal(adjust(p[order], method), adjust(p, method)[order])


@given(P_VALUES, METHODS)
def test_corrections_only_ever_raise(p, method):
    """Adjusted p-values lie between the raw ones and 1, keep their order; the input stays."""
    given_ = np.array(p)
    adjusted = adjust(given_, method)
    assert (adjusted >= given_ * (1 - 1e-12)).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(given_, kind="stable")]) >= 0).all()
    np.testing.assert_array_equal(given_, p)


@given(P_VALUES, st.sampled_from([0.05, 0.2]))
def test_holm_rejects_what_its_sequential_procedure_does(p, alpha):
    """Step down: compare the smallest with alpha / m, the next with alpha / (m - 1), ..."""
    rejected = set()
    for step, number in enumerate(np.argsort(p, kind="stable")):
        if not p[number] * (len(p) - step) < alpha:
            break
        rejected.add(int(number))
    assert set(np.flatnonzero(adjust(np.array(p), "holm") < alpha).tolist()) == rejected


def test_a_worked_example():
    """Five p-values adjusted by hand."""
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.5])
    np.testing.assert_allclose(adjust(p, "bonferroni"), [0.05, 0.2, 0.15, 0.025, 1.0])
    np.testing.assert_allclose(adjust(p, "holm"), [0.04, 0.09, 0.09, 0.025, 0.5])
    np.testing.assert_allclose(adjust(p, "fdr_bh"), [0.025, 0.05, 0.05, 0.025, 0.5])
    harmonic = 1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5
    np.testing.assert_allclose(
        adjust(p, "fdr_by"), np.minimum(harmonic * adjust(p, "fdr_bh"), 1.0), rtol=1e-12
    )


@pytest.mark.parametrize("method", CORRECTIONS)
def test_an_order_without_sets_needs_no_correction(method):
    """No p-values give no adjusted p-values."""
    assert adjust(np.array([]), method).shape == (0,)


@pytest.mark.parametrize("method", CORRECTIONS)
def test_adjusted_p_values_are_doubles_of_their_own(method):
    """Whole numbers and lists will do; the input is never what comes out."""
    given_ = np.array([1, 0])
    adjusted = adjust(given_, method)
    assert adjusted.dtype == np.float64
    assert not np.shares_memory(adjusted, given_)
    np.testing.assert_array_equal(adjusted, [1.0, 0.0])
    doubles = np.array([1.0, 0.0])
    assert not np.shares_memory(adjust(doubles, method), doubles)


@given(P_VALUES, METHODS, st.sampled_from([1.0, 1.5, 40.0]))
def test_a_factor_multiplies_what_the_method_gives(p, method, factor):
    """At most 1; the smallest threshold shrinks by the same factor."""
    correction, m = Correction(method, factor), len(p)
    expected = [min(1.0, factor * one) for one in naive(p, method)]
    np.testing.assert_allclose(correction.adjust(np.array(p)), expected, rtol=1e-12)
    threshold = smallest_threshold(0.05, method, m) / factor
    assert correction.smallest_threshold(0.05, m) == threshold
    # A single small p-value, the others at 1, is significant just below that threshold.
    for share, significant in ((0.999, True), (1.001, False)):
        only = np.array([share * threshold, *[1.0] * (m - 1)])
        assert (correction.adjust(only)[0] < 0.05) == significant


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_corrections_of_orders_spend_alpha_once(order):
    """Holm's method at order 1; then alpha_m over all bases and sets."""
    alphas = (0.03, 0.015, 0.005)
    correction = over_all_orders(0.05, alphas, order, n_bases=7, n_sets=10)
    p, m = np.array([1e-6, 0.5]), 2 if order == 1 else 70
    assert correction.method == ("holm" if order == 1 else None)
    assert correction.smallest_threshold(0.05, 2) == pytest.approx(alphas[order - 1] / m)
    assert correction.adjust(p)[0] == pytest.approx(1e-6 * 0.05 * m / alphas[order - 1])
