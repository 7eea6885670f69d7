"""delta, rho and the rounding rule, and the invariants that STATISTICS.md asks for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfit
from sfit._contrast import (
    Refit,
    Reveal,
    delta,
    relative_improvement,
    same_prediction,
    shown_by,
)
from sfit.exceptions import SFITWarning

UNITS = {np.float32: 2.0**-23, np.float64: 2.0**-52}
LOSSES = st.sampled_from([0.0, 0.5, 1.0, 2.0]) | st.floats(0, 1e6)
PAIRS = st.lists(st.tuples(LOSSES, LOSSES), min_size=1, max_size=30).map(np.array)
BETAS = st.sampled_from([0.0, 1e-3, 1e-2, 0.1, 0.5, 1.0]) | st.floats(0, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_within_eight_units_are_the_same(dtype):
    """Of two neighbours of 1 the 8th is the same prediction and the 9th another one."""
    unit, one = UNITS[dtype], np.ones(2, dtype=dtype)
    near = (1 + np.array([7, 9]) * unit).astype(dtype)
    np.testing.assert_array_equal(same_prediction(one, near, unit, 0.0), [True, False])
    np.testing.assert_array_equal(same_prediction(near, one, unit, 0.0), [True, False])
    scaled = dtype(1e6)
    np.testing.assert_array_equal(
        same_prediction(scaled * one, scaled * near, unit, 0.0), [True, False]
    )


def test_predictions_within_four_times_the_noise_are_the_same():
    """The floor 4 e holds however small the predictions are."""
    a, b = np.zeros(3), np.array([0.0, 4e-7, 4.1e-7])
    np.testing.assert_array_equal(same_prediction(a, b, 2.0**-52, 1e-7), [True, True, False])


def test_zero_and_the_smallest_number_are_different_predictions():
    """Without noise the rule is relative: nothing but 0 equals 0."""
    a, b = np.array([0.0, 0.0]), np.array([0.0, 5e-324])
    np.testing.assert_array_equal(same_prediction(a, b, 2.0**-52, 0.0), [True, False])


@pytest.mark.parametrize("noise", [0.0, 2.0**-30])
def test_rounding_is_that_of_the_rows_own_size(noise):
    """A row beside a much larger one; either side may be the larger, and one row may be the base."""
    unit = 2.0**-52
    room = max(8 * unit, 4 * noise)
    near = np.array([1 + room, 1 + 1.1 * room, 1.0, 1e9])
    expected = [True, False, True, False]
    np.testing.assert_array_equal(same_prediction(np.ones(1), near, unit, noise), expected)
    np.testing.assert_array_equal(same_prediction(near, np.ones(4), unit, noise), expected)


@pytest.mark.parametrize("far", [1e6, -1e6, np.nan])
def test_a_row_that_is_far_out_does_not_excuse_the_others_nor_part_them(far):
    """Each row is judged for itself, beside whatever stands next to it."""
    unit = 2.0**-52
    near = np.array([1.0 + unit, 1.0 + 100 * unit, far])
    for one, other in ((np.ones(1), near), (near, np.ones(1)), (near, np.ones(3))):
        np.testing.assert_array_equal(same_prediction(one, other, unit, 0.0), [True, False, False])
    assert same_prediction(np.ones(2), np.zeros(2), unit, 0.0).dtype == bool


def test_no_rows_are_no_trouble():
    assert same_prediction(np.ones(1), np.empty(0), 2.0**-52, 0.0).shape == (0,)
    assert same_prediction(np.empty((0, 2)), np.empty((0, 2)), 2.0**-52, 0.0).shape == (0,)


def test_every_output_must_be_the_same():
    """One output that differs makes the row's predictions differ."""
    a = np.array([[1.0, 2.0], [1.0, 2.0]])
    b = np.array([[1.0, 2.0], [1.0, 2.1]])
    np.testing.assert_array_equal(same_prediction(a, b, 2.0**-52, 0.0), [True, False])


def test_rho_by_hand():
    """(base - full) / base; minus infinity where there was no loss to improve on, 0/0 too."""
    base = np.array([2.0, 2.0, 2.0, 0.0, 0.0])
    full = np.array([1.0, 2.0, 4.0, 0.0, 1.0])
    np.testing.assert_array_equal(
        relative_improvement(base, full), [0.5, 0.0, -1.0, -np.inf, -np.inf]
    )


@pytest.mark.parametrize("base", [[5e-324], [0.0, 5e-324], []])
def test_rho_of_the_smallest_losses_overflows_in_silence(base):
    """Where the ratio overflows it is infinite, and nobody is warned; a part may have no row here."""
    base = np.array(base)
    with np.errstate(all="raise"):
        rho = relative_improvement(base, np.full(len(base), 1e308))
    assert len(rho) == len(base)
    assert (rho == -np.inf).all()


def test_rho_of_signed_losses_keeps_the_sign_of_the_gain():
    """At beta = 0, where losses below zero are admitted, only the sign matters."""
    base = np.array([-2.0, -2.0, -2.0, 0.0, 0.0])
    full = np.array([-3.0, -2.0, -1.0, -1.0, 0.0])
    np.testing.assert_array_equal(relative_improvement(base, full) > 0, [1, 0, 0, 1, 0])


@given(PAIRS, BETAS)
def test_delta_is_positive_exactly_where_rho_exceeds_beta(pairs, beta):
    """Counts from rho and order statistics of delta can never disagree."""
    base, full = pairs.T
    rho = relative_improvement(base, full)
    differences = delta(base, full, rho > beta, beta)
    np.testing.assert_array_equal(differences > 0, rho > beta)
    np.testing.assert_allclose(differences, (1 - beta) * base - full, atol=1e-9, rtol=1e-9)


def test_delta_follows_rho_where_rounding_disagrees():
    """Next to the boundary, (1 - beta) base - full rounds to the wrong side of zero."""
    beta, base = 0.7, np.array([6.6, 6.3, 2.0, 2.0])
    full = np.array([1.98, 1.8900000000000001, 0.5, 0.75])
    rho = relative_improvement(base, full)
    np.testing.assert_array_equal((1 - beta) * base > full, [True, False, True, False])
    np.testing.assert_array_equal(rho > beta, [False, True, True, False])
    differences = delta(base, full, rho > beta, beta)
    expected = [0.0, 5e-324, (1 - beta) * 2 - 0.5, (1 - beta) * 2 - 0.75]
    np.testing.assert_array_equal(differences, expected)


@given(PAIRS, BETAS, BETAS)
def test_fewer_rows_are_positive_at_a_larger_beta(pairs, one, other):
    """n_positive never grows with beta and is 0 at beta = 1."""
    rho = relative_improvement(*pairs.T)
    low, high = sorted([one, other])
    assert not ((rho > high) & ~(rho > low)).any()
    assert not (rho > 1.0).any()


def test_sides_know_what_they_show():
    """A revealed side shows its term, a refit everything but one."""
    everything = frozenset({0, 1, 2})
    assert shown_by(Reveal(frozenset({1})), everything) == {1}
    assert shown_by(Refit(1), everything) == {0, 2}


# ------------------------------------------------------------------ invariants of the whole test


def rows(seed, n=300, width=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    weights = rng.normal(size=width)

    def model(z):
        return z[:, 0] * weights[0] + z[:, 1] * z[:, 2] * weights[1] + weights[2]

    return model, X, y


def n_positive(result):
    return [test.n_positive for test in result.tests]


@pytest.mark.filterwarnings("ignore:beta=1.0:sfit.exceptions.SFITWarning")
@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_n_positive_falls_with_beta_to_zero(seed):
    """Over a grid of betas, through the public call; nothing improves by all of its loss."""
    model, X, y = rows(seed)
    counts = np.array(
        [
            n_positive(sfit.feature_significance(model, X, y, beta=beta))
            for beta in (0.0, 1e-3, 1e-2, 0.1, 0.5, 1.0)
        ]
    )
    assert (np.diff(counts, axis=0) <= 0).all()
    assert (counts[-1] == 0).all()


def test_a_perfect_prediction_is_no_improvement_by_more_than_everything():
    """At beta = 1 even a loss that falls to exactly zero does not count."""
    X = np.arange(1.0, 41.0)[:, None]
    with pytest.warns(SFITWarning, match=r"beta=1\.0: .* nothing can be significant"):
        result = sfit.feature_significance(lambda z: z[:, 0], X, X[:, 0], beta=1.0, reference=0)
    assert n_positive(result) == [0]
    almost = sfit.feature_significance(lambda z: z[:, 0], X, X[:, 0], beta=0.999, reference=0)
    assert n_positive(almost) == [40]
    assert almost.tests[0].beta_max == 1.0


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_absolute_and_squared_error_agree_at_beta_zero(seed):
    """Squaring keeps the order of two losses: the p-values are the same."""
    model, X, y = rows(seed)
    p = [
        [
            test.p_value
            for test in sfit.feature_significance(
                model, X, y, beta=0.0, loss=loss, max_order=2, exhaustive=True
            ).tests
        ]
        for loss in ("absolute_error", "squared_error")
    ]
    assert p[0] == p[1]


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1e-2, 0.1, 0.4]))
def test_squared_error_has_the_signs_of_absolute_error_at_its_own_beta(seed, beta):
    """(1 - b)^2 a^2 > c^2 exactly when (1 - b) a > c: squared at 1 - (1 - b)^2."""
    model, X, y = rows(seed)
    absolute = sfit.feature_significance(model, X, y, beta=beta)
    squared = sfit.feature_significance(model, X, y, beta=1 - (1 - beta) ** 2, loss="squared_error")
    assert n_positive(absolute) == n_positive(squared)
    for a, s in zip(absolute.tests, squared.tests, strict=True):
        assert 1 - (1 - a.beta_max) ** 2 == pytest.approx(s.beta_max, rel=1e-9, nan_ok=True)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2.0**-20, 0.25, 2.0, 1024.0]))
def test_scaling_y_and_predictions_scales_delta(seed, scale):
    """Statistics and intervals in the units of y; counts, p-values and beta_max without any."""
    model, X, y = rows(seed)
    plain = sfit.feature_significance(model, X, y)
    scaled = sfit.feature_significance(lambda z: scale * model(z), X, scale * y)
    for one, other in zip(plain.tests, scaled.tests, strict=True):
        for name in ("statistic", "ci_low", "ci_high", "ci_lower"):
            assert getattr(other, name) == scale * getattr(one, name)
        assert (other.n_positive, other.p_value) == (one.n_positive, one.p_value)
        assert other.beta_max == pytest.approx(one.beta_max, rel=1e-12, nan_ok=True)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_beta_max_is_where_significance_ends(seed):
    """Significant at every beta below beta_max and at none from there on."""
    model, X, y = rows(seed)
    for test in sfit.feature_significance(model, X, y, beta=0.0).tests:
        position = ["x0", "x1", "x2"].index(test.term[0])
        if np.isnan(test.beta_max):
            assert not test.significant
            continue
        assert test.significant
        below = np.nextafter(test.beta_max, 0)
        for beta, expected in ((below, True), (test.beta_max, False)):
            again = sfit.feature_significance(model, X, y, beta=float(beta)).tests[position]
            assert again.significant is expected


def test_beta_max_of_a_float32_model_is_exact_too():
    """A relative improvement of exactly float32(0.1) is above 0.1: count and beta_max agree."""
    full, base = np.float32(0.1), np.float32(0.0)
    share = np.float32(1) - (np.float32(1) - np.float32(0.1))
    X = np.ones((30, 1), dtype=np.float32)

    def model(z):
        return np.where(z[:, :1] > 0, np.float32(0.1), np.float32(0.0))[:, 0]

    y = np.ones(30, dtype=np.float32)
    for beta in (0.1, float(share), float(np.nextafter(share, np.float32(0))), 0.0999):
        [test] = sfit.feature_significance(model, X, y, beta=beta, reference=0).tests
        assert test.significant == (beta < test.beta_max)
    assert full > base
