"""Sign flips against all flips, written out."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sfit._flips import (
    SLOTS,
    Slots,
    count_extreme,
    count_pairs,
    dealt,
    flipped,
    mean_of,
    resolution,
)

whole = arrays(np.float64, st.integers(1, 9), elements=st.integers(-5, 5).map(float))


def all_flips(values):
    """The share of all flips whose total is at least as large, as small, as far from zero."""
    totals = np.array([np.dot(signs, values) for signs in product((1, -1), repeat=len(values))])
    seen = values.sum()
    return (totals >= seen).mean(), (totals <= seen).mean(), (abs(totals) >= abs(seen)).mean()


@given(whole, st.integers(0, 2**32))
def test_counts_agree_with_all_flips(values, seed):
    size = 4_000
    found = count_extreme(dealt(values).sums[None], size, seed)
    for counted, share in zip(found, all_flips(values), strict=True):
        # The first flip is the identity, all others are drawn.
        error = 5 * np.sqrt(share * (1 - share) / size) + 1 / size
        assert abs(counted[0] / size - share) <= error


@given(whole, st.sampled_from([1e-300, 1e-5, 1.0, 1e300]), st.integers(0, 2**32))
def test_a_unit_changes_nothing(values, unit, seed):
    plain = count_extreme(dealt(values).sums[None], 2_000, seed)
    scaled = count_extreme(dealt(values * unit).sums[None], 2_000, seed)
    assert np.array_equal(plain, scaled)


@given(whole, st.integers(0, 2**32))
def test_opposite_differences_change_places(values, seed):
    one = count_extreme(dealt(values).sums[None], 2_000, seed)
    other = count_extreme(dealt(-values).sums[None], 2_000, seed)
    assert np.array_equal(one.above, other.below) and np.array_equal(one.either, other.either)


@given(arrays(np.float64, (4, 7), elements=st.integers(-5, 5).map(float)), st.integers(0, 2**32))
def test_pairs_agree_with_their_differences(values, seed):
    sums = np.array([dealt(row).sums for row in values])
    counts = count_pairs(sums, 3_000, seed)
    for j in range(4):
        for k in range(4):
            if j != k:
                [above], _, _ = count_extreme((sums[j] - sums[k])[None], 3_000, seed)
                assert counts[j, k] == above


def test_a_column_does_not_change_its_neighbours():
    rng = np.random.default_rng(0)
    sums = rng.normal(size=(40, SLOTS))
    together = np.concatenate(list(flipped(sums, 1_500, 3)))
    alone = np.concatenate(list(flipped(sums[37:38], 1_500, 3)))
    assert np.array_equal(together[:, 37:38], alone)
    assert together.shape == (1_500, 40)


def test_studentised_means_order_flips_as_sums_do():
    rng = np.random.default_rng(1)
    values = rng.normal(0.2, 1, 30)
    signs = rng.choice([-1, 1], (500, 30))
    flips = signs * values
    t = flips.mean(axis=1) / flips.std(axis=1, ddof=1)
    assert np.array_equal(np.argsort(t), np.argsort(flips.sum(axis=1)))


@pytest.mark.parametrize("n", [2, 17, 2_048])
def test_the_interval_is_student_s(n):
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(n).normal(3, 2, n)
    mean, low, high = mean_of(dealt(values), 0.1)
    interval = ttest_1samp(values, 0).confidence_interval(0.9)
    assert np.allclose([mean, low, high], [values.mean(), interval.low, interval.high], rtol=1e-12)


def test_shared_slots_have_nearly_the_same_interval():
    values = np.random.default_rng(5).exponential(1, 100_000)
    _, low, high = mean_of(dealt(values), 0.05)
    half = 1.96 * values.std() / np.sqrt(len(values))
    # The relative error of a standard deviation from 2,048 slots is 1 / sqrt(2 * 2048).
    assert (high - low) / 2 == pytest.approx(half, rel=4 / np.sqrt(2 * SLOTS))


def test_one_unit_has_no_interval_and_equal_ones_a_point():
    assert mean_of(dealt(np.array([2.0])), 0.05) == (2.0, -np.inf, np.inf)
    assert mean_of(dealt(np.full(5, 2.0)), 0.05) == (2.0, 2.0, 2.0)


def test_places_decide_the_slot():
    slots = dealt(np.array([1.0, 2.0, 4.0]), np.array([5, SLOTS + 4, 7]))
    assert slots.sums[5] == 3.0 and slots.counts[5] == 2 and slots.sums[7] == 4.0
    assert isinstance(slots, Slots)


def test_few_units_limit_the_p_value():
    assert resolution(2_000, 3, 1) == 1 / 8
    assert resolution(2_000, 3, 2) == 1 / 4
    assert resolution(2_000, 10**6, 2) == 1 / 2_000
