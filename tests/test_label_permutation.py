"""Permutations of part labels against all labellings and seeded ones, written out."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import parts as slow
from scipy.stats import ttest_ind

from sfit import _label_permutation
from sfit._label_permutation import LabelPermutations, scaled, scores, statistics
from sfit._part_gains import cut, joined, unit_rows


def of_parts(gains, labels, size=1):
    """The gains of each part, in units."""
    gains, labels = np.asarray(gains, dtype=float), np.asarray(labels)
    return [cut(gains[labels == part], size) for part in range(labels.max() + 1)]


def unit_labels(parts):
    return np.repeat(np.arange(len(parts)), [len(part.means) for part in parts])


def counted(gains, labels, n_draws=2_000, seed=0, size=1):
    """One row: all parts, each part, the trend."""
    parts = of_parts(gains, labels, size)
    permutations = LabelPermutations(unit_labels(parts), size, n_draws, seed)
    overall, each, trend = permutations.count([parts])
    return np.array([overall[0], *each[0], trend[0]])


WHOLE = st.integers(-3, 3).map(float)


@st.composite
def labelled(draw, most=8, n_parts=(2, 3), element=WHOLE):
    """A few gains in parts of at least two rows each."""
    k = draw(st.integers(*n_parts))
    n = draw(st.integers(2 * k, most))
    labels = [part for part in range(k) for _ in range(2)]
    labels += draw(st.lists(st.integers(0, k - 1), min_size=n - 2 * k, max_size=n - 2 * k))
    gains = draw(st.lists(element, min_size=n, max_size=n))
    return np.array(gains), np.array(draw(st.permutations(labels)))


@settings(max_examples=40, deadline=None)
@given(labelled(most=7), st.integers(0, 2**32))
def test_p_values_agree_with_all_labellings(data, seed):
    gains, labels = data
    size = 4_000
    found = counted(gains, labels, size, seed) / size
    exact = slow.p_values(gains, labels, list(slow.every_labelling(labels.tolist())))
    for one, share in zip(found, exact, strict=True):
        # The first permutation is the identity, all others are drawn.
        assert abs(one - share) <= 5 * np.sqrt(share * (1 - share) / size) + 1 / size


@settings(max_examples=20, deadline=None)
@given(labelled(most=30, n_parts=(2, 5), element=st.floats(-100, 100)), st.integers(0, 2**32))
def test_seeded_permutations_are_reproduced(data, seed):
    """The permutations that the library draws, one by one, with the slow statistics."""
    gains, labels = data
    parts = of_parts(gains, labels)
    size = 200
    permutations = LabelPermutations(unit_labels(parts), 1, size, seed)
    by_part = np.concatenate([part.means for part in parts])
    drawn = [
        permutations.labels[met].tolist()
        for batch in permutations.rematchings.outcomes()
        for met in batch
    ]
    assert len(drawn) == size and drawn[0] == permutations.labels.tolist()
    share = slow.p_values(by_part.tolist(), permutations.labels.tolist(), drawn)
    assert np.array_equal(counted(gains, labels, size, seed), np.round(np.multiply(share, size)))


@settings(max_examples=25, deadline=None)
@given(labelled(most=12, n_parts=(2, 4)))
def test_the_statistics_are_their_formulas(data):
    gains, labels = data
    parts = of_parts(gains, labels)
    one = scaled(parts, 1)
    found = statistics(one.of(unit_labels(parts), 1), one.spread)
    expected = slow.statistics(gains, labels)
    assert np.allclose([found.overall, *found.each, found.trend], expected, rtol=1e-9, atol=1e-12)


def test_two_parts_are_welch_s_t():
    rng = np.random.default_rng(0)
    gains, labels = rng.normal(size=40) * 3 + 1, np.repeat([0, 1], [12, 28])
    parts = of_parts(gains, labels)
    one = scaled(parts, 1)
    found = statistics(one.of(unit_labels(parts), 1), one.spread)
    t = ttest_ind(gains[labels == 0], gains[labels == 1], equal_var=False).statistic
    assert np.allclose([found.overall, *found.each, found.trend], t**2, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    labelled(most=12, n_parts=(2, 4)),
    st.sampled_from([1e-200, 1e-5, 3.0, 1e200]),
    st.sampled_from([0.0, 1.0, -1e4]),
    st.integers(0, 2**32),
)
def test_neither_the_unit_nor_a_common_gain_matters(data, unit, shift, seed):
    gains, labels = data
    plain = counted(gains, labels, 500, seed)
    assert np.array_equal(plain, counted((gains + shift) * unit, labels, 500, seed))


@settings(max_examples=30, deadline=None)
@given(labelled(most=12, n_parts=(2, 4)), st.integers(0, 2**32))
def test_signs_and_the_direction_of_time_do_not_matter(data, seed):
    gains, labels = data
    assert np.array_equal(counted(gains, labels, 500, seed), counted(-gains, labels, 500, seed))
    parts = of_parts(gains, labels)
    one, other = (scaled(some, 1) for some in (parts, parts[::-1]))
    forth = statistics(one.of(unit_labels(parts), 1), one.spread)
    back = statistics(other.of(unit_labels(parts[::-1]), 1), other.spread)
    assert np.allclose(forth.overall, back.overall) and np.allclose(forth.trend, back.trend)
    assert np.allclose(forth.each, back.each[::-1])


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=60),
    st.integers(1, 7),
    st.lists(st.integers(0, 60), max_size=5),
)
def test_units_do_not_depend_on_how_pieces_are_joined(gains, size, ends):
    """Each unit has `size` gains, all are there, and prefixes may be joined first."""
    gains = np.array(gains)
    ends = sorted(min(end, len(gains)) for end in ends)
    pieces = [cut(piece, size) for piece in np.split(gains, ends)]
    at_once = joined(pieces, size)
    step = pieces[0]
    for piece in pieces[1:]:
        step = joined([step, piece], size)
    for one, other in zip(at_once, joined([step], size), strict=True):
        assert np.array_equal(one, other)
    assert len(at_once.rest) == len(gains) % size
    assert len(at_once.means) == len(gains) // size
    total = size * at_once.means.sum() + at_once.rest.sum()
    assert np.isclose(total, gains.sum(), atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(labelled(most=40, n_parts=(2, 3), element=st.floats(-50, 50)), st.integers(2, 4))
def test_units_keep_the_moments_of_rows(data, size):
    gains, labels = data
    assume(np.bincount(labels).min() >= size)
    by_row, by_unit = (of_parts(gains, labels, some) for some in (1, size))
    rows, units = scaled(by_row, 1), scaled(by_unit, size)
    of_rows, of_units = rows.of(unit_labels(by_row), 1), units.of(unit_labels(by_unit), size)
    assert np.array_equal(of_rows.n, of_units.n)
    assert np.allclose(of_rows.mean() * rows.unit, of_units.mean() * units.unit, atol=1e-11)
    errors = [m.squared_error(0) * s.unit**2 for m, s in ((of_rows, rows), (of_units, units))]
    assert np.allclose(*errors, atol=1e-10)


def test_rows_left_over_keep_their_label():
    """With units of three rows, the slow statistics of labellings that leave the rest alone."""
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1], [10, 14])
    gains = rng.exponential(size=24) + 0.5 * labels
    # Without the rows that stay, the parts would have far smaller variances.
    gains[[9, 22, 23]] = 4.0, -1.0, 5.0
    parts = of_parts(gains, labels, 3)
    assert [len(part.rest) for part in parts] == [1, 2]
    permutations = LabelPermutations(unit_labels(parts), 3, 300, 11)
    order = [*range(9), *range(10, 22), 9, 22, 23]
    drawn = [
        [*np.repeat(permutations.labels[met], 3).tolist(), 0, 1, 1]
        for batch in permutations.rematchings.outcomes()
        for met in batch
    ]
    share = slow.p_values(gains[order].tolist(), drawn[0], drawn)
    found = counted(gains, labels, 300, 11, size=3)
    assert np.array_equal(found, np.round(np.multiply(share, 300)))


def test_many_units_are_shifted_in_blocks():
    """Beyond 2,048 units, each permutation keeps the sizes and the sums follow its labels."""
    rng = np.random.default_rng(4)
    labels = np.sort(rng.integers(0, 3, 2_600))
    gains = rng.normal(size=2_600)
    permutations = LabelPermutations(labels, 1, 60, 5)
    assert not permutations.rematchings.free
    drawn = [labels[met].tolist() for batch in permutations.rematchings.outcomes() for met in batch]
    assert all(np.array_equal(np.bincount(one), np.bincount(labels)) for one in drawn)
    moved = np.not_equal(drawn[1:], labels).mean(axis=1)
    # Most rows get another label, although the labels are sorted.
    assert moved.min() > 0.5
    share = slow.p_values(gains.tolist(), labels.tolist(), drawn)
    assert np.array_equal(counted(gains, labels, 60, 5), np.round(np.multiply(share, 60)))


def test_features_do_not_change_each_other(monkeypatch):
    rng = np.random.default_rng(5)
    labels = np.repeat([0, 1, 2], 9)
    features = [of_parts(rng.normal(size=27), labels) for _ in range(11)]
    permutations = LabelPermutations(np.sort(labels), 1, 5_000, 1)
    together = permutations.count(features)
    monkeypatch.setattr(_label_permutation, "NUMBERS_TOGETHER", 1)
    monkeypatch.setattr(_label_permutation, "DRAWS_TOGETHER", 17)
    alone = permutations.count(features)
    assert all(np.array_equal(one, other) for one, other in zip(together, alone, strict=True))


def test_equal_gains_speak_for_nothing():
    for gains in (np.zeros(12), np.full(12, 0.1), np.full(12, 1e300)):
        assert (counted(gains, np.repeat([0, 1, 2], 4), 500) == 500).all()
    rounded = np.repeat([0.1 + 0.2, 0.3], 6)
    assert rounded[0] != rounded[-1]
    assert (counted(rounded, np.repeat([0, 1], 6), 500) == 500).all()


def test_parts_without_spread_are_as_far_apart_as_can_be():
    """Two constants: only the labellings that keep the parts whole are as extreme."""
    gains, labels = np.repeat([0.0, 1.0], 5), np.repeat([0, 1], 5)
    size = 4_000
    found = counted(gains, labels, size) / size
    share = 2 / 252
    assert np.allclose(found, share, atol=5 * np.sqrt(share / size))


def test_few_units_limit_the_p_value():
    assert LabelPermutations(np.array([0, 0, 1, 1]), 1, 2_000, 0).resolution == pytest.approx(1 / 6)
    assert LabelPermutations(np.arange(4_000) % 2, 1, 2_000, 0).resolution == 1 / 2_000


def test_scores_are_centred_and_equally_spaced():
    assert scores(4).tolist() == [-1.5, -0.5, 0.5, 1.5]


def test_a_unit_has_more_rows_if_there_are_many():
    assert [unit_rows(n) for n in (2, 131_071, 131_072, 10**7)] == [1, 1, 2, 152]
