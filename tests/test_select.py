"""Order statistics over tiles equal those of the sorted whole, for any tiles and any window."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfit._select import (
    EMPTY_WINDOW,
    EVERYTHING,
    KEPT_VALUES,
    MERGED_VALUES,
    NO_RANKS,
    Window,
    bracket,
    bracket_by_sample,
    count,
    merge,
    narrow,
    order_statistics,
)

NUMBERS = st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6) | st.just(-np.inf)
VALUES = st.lists(NUMBERS, min_size=1, max_size=60).map(np.array)
ENDS = st.floats(-10, 10) | st.sampled_from([-np.inf, np.inf])


def order_statistic(merged, rank):
    [value] = order_statistics(merged, [rank])
    return value


def kept(counted):
    """Every value inside the window as often as it occurs, sorted."""
    times = 1 if counted.counts is None else counted.counts
    return np.sort(np.repeat(counted.values, times))


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
    nested = merge(shuffled[:1])
    for part in shuffled[1:]:
        nested = merge([nested, part])
    for other in (merge(shuffled), nested):
        assert other.below == first.below
        np.testing.assert_array_equal(kept(other), kept(first))
    assert len(kept(first)) == len(values)


@given(VALUES, st.data())
def test_a_window_that_misses_says_so(values, data):
    """Ranks beyond the values, and windows that hold nothing, give None."""
    nothing = merge([count(values, Window(2e6, 3e6))])
    assert all(order_statistic(nothing, r) is None for r in range(1, len(values) + 1))
    whole = merge([count(values, EVERYTHING)])
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
    seen = merge([count(values[:m], EVERYTHING)])
    window = bracket(seen, m, ranks, n, room)
    assert window.low <= window.high
    whole = merge([narrow(seen, window), count(values[m:], window)])
    for rank in ranks:
        assert order_statistic(whole, rank) in (np.sort(values)[rank - 1], None)


@given(
    VALUES, st.lists(st.integers(0, 60), max_size=5), st.lists(st.tuples(ENDS, ENDS), min_size=6)
)
def test_windows_of_their_own_merge_into_what_they_have_in_common(values, cuts, ends):
    """Tiles that looked at different windows agree on the common one, or find nothing."""
    parts = tiles(values, cuts)
    windows = [Window(min(pair), max(pair)) for pair in ends[: len(parts)]]
    whole = merge([count(part, own) for part, own in zip(parts, windows, strict=True)])
    low, high = max(w.low for w in windows), min(w.high for w in windows)
    assert whole.window == (low, high)
    ordered = np.sort(values)
    for rank, expected in enumerate(ordered, start=1):
        inside = low <= expected <= high
        assert order_statistic(whole, rank) == (expected if inside else None)


@given(VALUES, st.data(), ENDS, ENDS)
def test_weights_stand_for_repeated_values(values, data, a, b):
    """A value of weight 3 counts like three rows, inside the window and below it."""
    weights = np.array(data.draw(st.lists(st.integers(0, 3), min_size=60, max_size=60)))
    weights = weights[: len(values)]
    window = Window(min(a, b), max(a, b))
    short, long = (
        merge([count(values, window, weights)]),
        merge([count(np.repeat(values, weights), window)]),
    )
    assert short.below == long.below
    np.testing.assert_array_equal(kept(short), kept(long))
    for rank in range(len(values) * 3 + 1):
        assert order_statistic(short, rank) == order_statistic(long, rank)


def test_nothing_that_is_looked_for_keeps_nothing():
    """Not even alive: a slice of the values would hold all of them."""
    found = count(np.arange(5.0), EMPTY_WINDOW)
    assert len(found.values) == 0
    assert found.values.base is None
    assert order_statistic(merge([found]), 3) is None


def test_ties_are_not_repeated():
    """A loss of few values keeps few, however many rows there are."""
    counted = count(np.tile([0.0, 1.0], KEPT_VALUES), EVERYTHING)
    np.testing.assert_array_equal(counted.values, [0, 1])
    np.testing.assert_array_equal(counted.counts, [KEPT_VALUES, KEPT_VALUES])


def test_a_fair_sample_hardly_ever_misses():
    """With 5 standard errors of room and a random sample, 200 medians are all inside."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        values = rng.normal(size=2_000)
        seen = merge([count(values[:500], EVERYTHING)])
        window = bracket(seen, 500, [1000, 1001], 2_000, 5.0)
        found = merge([count(values, window)])
        assert len(found.values) < 1_500
        assert order_statistic(found, 1000) == np.sort(values)[999]


def test_a_large_tile_is_judged_by_a_sample_of_itself():
    """The bracket is narrow and holds the median."""
    values = np.random.default_rng(0).normal(size=8 * KEPT_VALUES)
    low, high = bracket_by_sample(values, [4 * KEPT_VALUES], 8 * KEPT_VALUES, 4.0)
    assert low < np.median(values) < high
    assert 0.01 < ((values >= low) & (values <= high)).mean() < 0.1


def test_nothing_to_judge_by_asks_for_everything():
    """There is nothing to bracket when values are few, or none, or no rank is wanted."""
    values = np.arange(5.0)
    assert bracket_by_sample(values, [3], 5, 1.0) == EVERYTHING
    assert bracket(merge([NO_RANKS]), 0, [3], 5, 1.0) == EVERYTHING
    assert bracket(merge([count(values, EVERYTHING)]), 5, [], 50, 1.0) == EVERYTHING


# ------------------------------------------------------------------------------------ by hand


def says(counted):
    """Everything that is known of a window."""
    counts = None if counted.counts is None else counted.counts.tolist()
    return counted.window, counted.below, counted.values.tolist(), counts


def test_counting_keeps_what_lies_inside_only():
    """Both ends belong to the window; what lies below is a number, what lies above is forgotten."""
    values, window = np.array([3.0, 1.0, 2.0, 5.0, 4.0, 0.0]), Window(1.0, 4.0)
    assert says(count(values, window)) == (window, 1, [3.0, 1.0, 2.0, 4.0], None)
    weights = np.array([1, 2, 3, 4, 5, 6])
    assert says(count(values, window, weights)) == (window, 6, [3.0, 1.0, 2.0, 4.0], [1, 2, 3, 5])
    assert says(count(values, EVERYTHING)) == (EVERYTHING, 0, values.tolist(), None)
    assert says(count(values, EVERYTHING, weights))[3] == weights.tolist()


def test_many_values_are_kept_as_counts():
    """From one more than is kept as it is, and more than an eighth of the rows."""
    few, many = np.zeros(KEPT_VALUES), np.zeros(KEPT_VALUES + 1)
    assert says(count(few, EVERYTHING)) == (EVERYTHING, 0, [0.0] * KEPT_VALUES, None)
    assert says(count(many, EVERYTHING)) == (EVERYTHING, 0, [0.0], [KEPT_VALUES + 1])
    window = Window(-1.0, 0.5)
    inside = np.r_[many, np.full(7 * len(many), 1.0)]
    assert says(count(inside, window)) == (window, 0, [0.0] * len(many), None)
    assert says(count(inside[:-8], window)) == (window, 0, [0.0], [len(many)])
    below = np.r_[many, np.full(10, -2.0)]
    assert says(count(below, window)) == (window, 10, [0.0], [len(many)])
    ones = np.ones(len(many), dtype=int)
    assert says(count(many, EVERYTHING, ones))[3] == ones.tolist()


def test_merging_by_hand():
    """What lies in all windows and what lies below them; where some are counted, all are."""
    left = count(np.array([1.0, 2.0, 2.0, 5.0]), Window(1.0, 9.0))
    right = count(np.array([0.0, 3.0, 2.0, 9.0]), Window(0.0, 4.0))
    assert says(merge([left, right])) == (Window(1.0, 4.0), 1, [1.0, 2.0, 2.0, 3.0, 2.0], None)
    weighed = count(np.array([2.0, 3.0]), Window(0.0, 9.0), np.array([5, 7]))
    assert says(merge([left, weighed])) == (Window(1.0, 9.0), 0, [1.0, 2.0, 3.0, 5.0], [1, 7, 7, 1])
    once = count(np.array([2.0, 1.0]), EVERYTHING, np.array([1, 1]))
    assert says(merge([once])) == (EVERYTHING, 0, [1.0, 2.0], None)
    assert merge([left, weighed]).counts.dtype == np.int64
    assert says(merge([NO_RANKS])) == (EVERYTHING, 0, [], None)


def test_many_merged_values_are_counted():
    """Runs that each keep few values must not keep more and more of the same together."""
    few = count(np.repeat([1.0, 0.0], 1_024), EVERYTHING)
    n_runs = MERGED_VALUES // 2_048
    assert len(merge([few] * (n_runs - 1)).values) == MERGED_VALUES - 2_048
    n_each = n_runs * 1_024
    assert says(merge([few] * n_runs)) == (EVERYTHING, 0, [0.0, 1.0], [n_each, n_each])
    distinct = count(np.arange(MERGED_VALUES * 1.0)[::-1], EVERYTHING)
    assert distinct.counts is None
    assert merge([distinct]).counts is None
    assert narrow(distinct, Window(1.0, 9_000.0)).counts is None


def test_narrowing_by_hand():
    """What falls out at the lower end is counted; a window can only shrink, even to nothing."""
    counted = count(np.array([2.0, 1.0, 4.0, 2.0, 0.0, 3.0]), Window(1.0, 4.0))
    assert says(narrow(counted, Window(2.0, 3.0))) == (Window(2.0, 3.0), 2, [2.0, 2.0, 3.0], None)
    assert says(narrow(counted, Window(0.0, 2.5))) == (Window(1.0, 2.5), 1, [2.0, 1.0, 2.0], None)
    assert says(narrow(counted, Window(3.5, 9.0))) == (Window(3.5, 4.0), 5, [4.0], None)
    again = narrow(narrow(counted, Window(2.0, 4.0)), Window(3.0, 3.0))
    assert says(again) == (Window(3.0, 3.0), 4, [3.0], None)
    assert says(narrow(counted, Window(3.0, 2.0)))[2:] == ([], None)
    assert narrow(counted, Window(0.0, 9.0)) is counted
    weighed = count(np.array([2.0, 1.0, 4.0]), EVERYTHING, np.array([5, 2, 3]))
    assert says(narrow(weighed, Window(1.5, 3.0))) == (Window(1.5, 3.0), 2, [2.0], [5])


def test_order_statistics_by_hand():
    """1-based, with ties; None below and above the window."""
    window, ranks = Window(1.0, 3.0), [1, 2, 3, 4, 5, 6, 0]
    found = [None, 1.0, 2.0, 2.0, 3.0, None, None]
    counted = count(np.array([9.0, 2.0, 3.0, 1.0, 0.0, 2.0]), window)
    assert order_statistics(counted, ranks) == found
    weighed = count(np.array([9.0, 2.0, 3.0, 1.0, 0.0]), window, np.array([1, 2, 1, 1, 1]))
    assert order_statistics(weighed, ranks) == found
    assert order_statistics(NO_RANKS, [1]) == [None]
    assert order_statistics(counted, []) == []
    np.testing.assert_array_equal(counted.values, [2.0, 3.0, 1.0, 2.0])
    assert str(order_statistics(count(np.array([-0.0, 0.0]), EVERYTHING), [1, 2])) == "[0.0, 0.0]"


def test_order_statistics_of_many_values():
    """Selecting leaves what is between in any order, where values are more than a few."""
    values = np.random.default_rng(0).permutation(np.arange(1.0, 2_001.0))
    ranks = [500, 700, 900, 1_000, 1_001, 1_500]
    assert order_statistics(count(values, EVERYTHING), ranks) == ranks
    assert order_statistics(count(values, Window(401.0, 1_600.0)), ranks) == ranks


def test_brackets_by_hand():
    """100 of 1,000 rows: rank 500 is about the 50th; room of 2 is 2 sqrt(100) / 2 + 1 = 11 ranks."""
    merged = merge([count(np.arange(1.0, 101.0), EVERYTHING)])
    assert bracket(merged, 100, [500], 1_000, 2.0) == Window(39.0, 61.0)
    assert bracket(merged, 100, [400, 600, 505], 1_000, 2.0) == Window(29.0, 71.0)
    assert bracket(merged, 100, [498], 1_000, 2.0) == Window(38.0, 61.0)
    assert bracket(merged, 100, [100], 1_000, 2.0) == Window(-np.inf, 21.0)
    assert bracket(merged, 100, [900], 1_000, 2.0) == Window(79.0, np.inf)
    inside = narrow(merged, Window(30.0, 70.0))
    assert bracket(inside, 100, [500], 1_000, 6.0) == Window(30.0, 70.0)
    assert bracket(merged, 100, [], 1_000, 2.0) == EVERYTHING
    assert bracket(merged, 0, [500], 1_000, 2.0) == EVERYTHING


def test_brackets_by_a_sample_by_hand():
    """Every eighth of 8,000 values, sorted: rank 4,000 of 8,000 is the 500th of 1,000."""
    values = np.arange(8_000.0)[::-1]
    sample = np.sort(values[::8])
    margin = 2.0 * np.sqrt(1_000) / 2 + 1
    low, high = int(np.floor(500 - margin)), int(np.ceil(500 + margin))
    assert bracket_by_sample(values, [4_000], 8_000, 2.0) == Window(
        sample[low - 1], sample[high - 1]
    )
    assert bracket_by_sample(values, [1], 8_000, 2.0).low == -np.inf
    assert bracket_by_sample(values, [8_000], 8_000, 2.0).high == np.inf
    # The first and the last of the sample are still part of it.
    assert bracket_by_sample(values, [8 * 34], 8_000, 2.0).low == sample[0]
    assert bracket_by_sample(values, [8 * 967], 8_000, 2.0).high == sample[-1]
    assert bracket_by_sample(values, [4_000], 8_000, 1e9) == EVERYTHING
    mixed = np.random.default_rng(0).permutation(values)
    # Far apart: what lies near a place that is asked for may come out sorted as well.
    assert bracket_by_sample(mixed, [8 * 34, 8 * 900], 8_000, 2.0).low == mixed[::8].min()
    assert bracket_by_sample(mixed, [8 * 100, 8 * 967], 8_000, 2.0).high == mixed[::8].max()
    assert bracket_by_sample(values[:KEPT_VALUES], [4], 8_000, 2.0) == EVERYTHING
    assert bracket_by_sample(values[: KEPT_VALUES + 1], [1_024], KEPT_VALUES + 1, 2.0) != EVERYTHING
    assert bracket_by_sample(values, [], 8_000, 2.0) == EVERYTHING
