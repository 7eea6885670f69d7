"""Order statistics over tiles equal those of the sorted whole, for any tiles and any window."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfit._select import EVERYTHING, Window, count, merge, order_statistic, window_around

NUMBERS = st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6) | st.just(-np.inf)
VALUES = st.lists(NUMBERS, min_size=1, max_size=60).map(np.array)
ENDS = st.floats(-10, 10) | st.sampled_from([-np.inf, np.inf])


def tiles(values, cuts):
    return np.split(values, sorted(cut % (len(values) + 1) for cut in cuts))


@given(VALUES, st.lists(st.integers(0, 60), max_size=5), ENDS, ENDS, st.randoms())
def test_any_split_and_any_window(values, cuts, a, b, random):
    """A rank inside the window gives np.sort's value, a rank outside it None; never a guess."""
    window = Window(min(a, b), max(a, b))
    parts = [count(part, window) for part in tiles(values, cuts)]
    random.shuffle(parts)
    whole, ordered = merge(parts), np.sort(values)
    for rank in range(1, len(values) + 1):
        expected = ordered[rank - 1]
        inside = window.low <= expected <= window.high
        assert order_statistic(whole, rank) == (expected if inside else None)


@given(VALUES, st.lists(st.integers(0, 60), max_size=5), st.randoms())
def test_the_order_of_merging_does_not_matter(values, cuts, random):
    """Any order of the parts, and any nesting of merges, gives the same counts."""
    parts = [count(part, EVERYTHING) for part in tiles(values, cuts)]
    first = merge(parts)
    shuffled = list(parts)
    random.shuffle(shuffled)
    nested = shuffled[0]
    for part in shuffled[1:]:
        nested = merge([nested, part])
    for other in (merge(shuffled), nested):
        assert other.below == first.below
        np.testing.assert_array_equal(other.values, first.values)
        np.testing.assert_array_equal(other.counts, first.counts)
    assert first.counts.sum() == len(values)


@given(VALUES, st.data())
def test_a_window_that_misses_says_so(values, data):
    """Ranks beyond the values, and windows that hold nothing, give None."""
    nothing = merge([count(values, Window(2e6, 3e6))])
    assert all(order_statistic(nothing, r) is None for r in range(1, len(values) + 1))
    whole = count(values, EVERYTHING)
    assert order_statistic(whole, len(values) + data.draw(st.integers(1, 5))) is None
    assert order_statistic(whole, 0) is None


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 400),
    st.integers(1, 400),
    st.floats(0, 8),
    st.lists(st.floats(0, 1), min_size=1, max_size=4),
)
def test_windows_from_a_sample_are_exact_or_miss(seed, m, rest, room, shares):
    """Whatever the sample says, a found order statistic is the true one."""
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=m + rest), 1)
    n = len(values)
    ranks = [max(1, round(share * n)) for share in shares]
    window = window_around(values[:m], ranks, n, room)
    assert window.low <= window.high
    whole = merge([count(values[:m], window), count(values[m:], window)])
    for rank in ranks:
        assert order_statistic(whole, rank) in (np.sort(values)[rank - 1], None)


def test_a_fair_sample_hardly_ever_misses():
    """With 5 standard errors of room and a random sample, 200 medians are all inside."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = rng.normal(size=2_000)
        window = window_around(values[:500], [1000, 1001], 2_000, 5.0)
        assert window != EVERYTHING
        found = count(values, window)
        assert len(found.values) < 1_500
        assert order_statistic(found, 1000) == np.sort(values)[999]


def test_a_sample_of_everything_or_nothing_asks_for_everything():
    """There is nothing to bracket when all values are at hand, or none."""
    values = np.arange(5.0)
    assert window_around(values, [3], 5, 1.0) == EVERYTHING
    assert window_around(np.empty(0), [3], 5, 1.0) == EVERYTHING
    assert window_around(values, [], 50, 1.0) == EVERYTHING
