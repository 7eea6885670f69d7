"""The formulas of losses: plain formulas in exact arithmetic, other libraries, and monotony."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import huber as scipy_huber
from scipy.stats import norm
from sklearn import metrics

from sfit._losses import named_loss

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.floats(1e-3, 1e3)
QUANTILES = st.floats(0.01, 0.99)


def per_row(loss, y, prediction):
    return named_loss(loss)(np.asarray(y), np.asarray(prediction), int, signed=False)


def one_by_one(score, y, prediction, **options):
    """scikit-learn's mean score of each row alone."""
    return [score(y[i : i + 1], prediction[i : i + 1], **options) for i in range(len(y))]


@given(SEEDS, QUANTILES, st.integers(1, 20))
def test_pinball_equals_scikit_learns(seed, quantile, m):
    y, prediction = np.random.default_rng(seed).normal(size=(2, m))
    np.testing.assert_allclose(
        per_row({"pinball": quantile}, y, prediction),
        one_by_one(metrics.mean_pinball_loss, y, prediction, alpha=quantile),
        rtol=1e-12,
    )


@given(SEEDS, st.floats(0.01, 10), st.integers(1, 20))
def test_huber_equals_scipys_and_the_plain_formula(seed, delta, m):
    y, prediction = 3 * np.random.default_rng(seed).normal(size=(2, m))
    expected = [
        e * e / 2 if e <= delta else delta * (e - delta / 2) for e in np.abs(y - prediction)
    ]
    found = per_row({"huber": delta}, y, prediction)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_allclose(found, scipy_huber(delta, y - prediction), rtol=1e-12)


@given(SEEDS, st.floats(1.01, 1.99), st.integers(1, 20))
def test_deviances_equal_scikit_learns(seed, power, m):
    """Gamma for positive outcomes, Tweedie with zeros."""
    rng = np.random.default_rng(seed)
    positive, means = rng.gamma(2.0, size=m) + 1e-3, rng.gamma(2.0, size=m) + 1e-3
    with_zeros = np.where(rng.uniform(size=m) < 0.3, 0.0, positive)
    np.testing.assert_allclose(
        per_row("gamma", positive, means),
        one_by_one(metrics.mean_gamma_deviance, positive, means),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        per_row({"tweedie": power}, with_zeros, means),
        one_by_one(metrics.mean_tweedie_deviance, with_zeros, means, power=power),
        atol=1e-9,
    )


def test_deviances_keep_their_digits_near_the_minimum():
    """In 60 digits; the terms of the plain formula cancel in all digits of a double."""
    mp = pytest.importorskip("mpmath")
    rng = np.random.default_rng(0)
    with mp.workdps(60):
        for _ in range(300):
            y = float(rng.gamma(1.0) * 10 ** rng.uniform(-3, 3))
            g = float(y * (1 + rng.choice([-1, 1]) * 10 ** rng.uniform(-12, -0.1)))
            t, mu, p = mp.mpf(y), mp.mpf(g), mp.mpf(1.25)
            exact = {
                "poisson": t * mp.log(t / mu) - t + mu,
                "gamma": t / mu - 1 - mp.log(t / mu),
                "tweedie:1.25": t ** (2 - p) / ((1 - p) * (2 - p))
                - t * mu ** (1 - p) / (1 - p)
                + mu ** (2 - p) / (2 - p),
            }
            for loss, expected in exact.items():
                assert per_row(loss, [y], [g])[0] == pytest.approx(float(2 * expected), rel=2e-13)


@given(SEEDS, st.integers(1, 12), st.integers(1, 8), st.booleans())
def test_crps_of_an_ensemble_is_the_pairwise_formula(seed, m, members, ties):
    """E|X - y| - E|X - X'| / 2 in exact fractions; outcomes may equal members."""
    rng = np.random.default_rng(seed)
    ensemble, y = rng.normal(size=(m, members)), rng.normal(size=m)
    if ties:
        ensemble, y = np.round(ensemble), np.round(y)
    expected = []
    for row, outcome in zip(ensemble, y, strict=True):
        x, t = [Fraction(v) for v in row], Fraction(outcome)
        apart = sum(abs(a - b) for a in x for b in x) / (2 * members**2)
        expected.append(float(sum(abs(a - t) for a in x) / members - apart))
    found = per_row("crps", y, ensemble)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(found, per_row("crps", y, ensemble[:, ::-1]))


def test_crps_of_one_member_is_the_absolute_error():
    y, prediction = np.random.default_rng(0).normal(size=(2, 50))
    expected = per_row("absolute_error", y, prediction)
    np.testing.assert_array_equal(per_row("crps", y, prediction), expected)
    np.testing.assert_array_equal(per_row("crps", y, prediction[:, None]), expected)


@given(SEEDS, st.integers(1, 10), st.lists(QUANTILES, min_size=1, max_size=6, unique=True))
def test_crps_of_quantiles_is_twice_the_mean_pinball_loss(seed, m, levels):
    rng = np.random.default_rng(seed)
    levels = sorted(levels)
    quantiles, y = rng.normal(size=(m, len(levels))), rng.normal(size=m)
    losses = [
        one_by_one(metrics.mean_pinball_loss, y, column, alpha=level)
        for level, column in zip(levels, quantiles.T, strict=True)
    ]
    expected = 2 * np.mean(losses, axis=0)
    np.testing.assert_allclose(per_row({"crps": levels}, y, quantiles), expected, rtol=1e-11)


@pytest.mark.parametrize("loss", ["crps", {"crps": ((np.arange(2_000) + 0.5) / 2_000).tolist()}])
def test_crps_tends_to_that_of_a_normal_distribution(loss):
    """Gneiting and Raftery (2007): z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi)."""
    z = np.array([-2.0, -0.3, 0.0, 1.0])
    members = np.tile(norm.ppf((np.arange(2_000) + 0.5) / 2_000), (len(z), 1))
    expected = z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi)
    np.testing.assert_allclose(per_row(loss, z, members), expected, atol=2e-3)


@given(SEEDS, st.integers(1, 20), st.integers(2, 5))
def test_hinge_equals_scikit_learns(seed, m, classes):
    """One decision value for two classes, one per class for several."""
    rng = np.random.default_rng(seed)
    scores, y = rng.normal(size=(m, classes)), rng.integers(classes, size=m)
    if classes == 2:
        # scikit-learn finds the two labels in y itself: two more rows have both, and no loss.
        decision = scores[:, 1] - scores[:, 0]
        expected = [3 * metrics.hinge_loss([y[i], 0, 1], [decision[i], -9, 9]) for i in range(m)]
    else:
        labels = list(range(classes))
        expected = one_by_one(metrics.hinge_loss, y, scores, labels=labels)
    np.testing.assert_allclose(per_row("hinge", y, scores), expected, rtol=1e-12, atol=1e-15)


REGRESSION = ["pinball:0.1", "pinball:0.9", "huber:0.3", "huber:5"]
DEVIANCES = ["poisson", "gamma", "tweedie:1.1", "tweedie:1.5", "tweedie:1.9"]


@given(st.floats(-1e3, 1e3), SIZES, st.floats(1e-9, 1.0), st.sampled_from([-1, 1]))
@pytest.mark.parametrize("loss", [*REGRESSION, "crps", "crps:0.2,0.7"])
def test_a_worse_prediction_costs_more(loss, y, error, more, side):
    """On either side of the outcome, for errors that differ in their last nine digits or before."""
    gap = error * np.array([1.0, 1.0 + more])
    prediction = y + side * gap
    assume(len(set(np.abs(y - prediction).tolist())) == 2)
    assume(np.diff(np.abs(y - prediction))[0] > 1e-12 * error)
    k = 2 if "," in loss else 1
    near, far = per_row(loss, [y, y], np.tile(prediction[:, None], k))
    assert 0 < near < far


@given(SIZES, st.floats(1e-7, 0.9), st.floats(1e-3, 1.0), st.sampled_from([-1, 1]))
@pytest.mark.parametrize("loss", DEVIANCES)
def test_a_worse_mean_has_a_larger_deviance(loss, y, error, more, side):
    """Also for relative errors of 1e-7, whose deviance of 1e-14 is lost in the plain formula."""
    larger = min(error * (1 + more), (1 + error) / 2)
    near, far = per_row(loss, [y, y], [y * (1 + side * error), y * (1 + side * larger)])
    assert 0 < near < far


@given(SIZES)
@pytest.mark.parametrize("loss", DEVIANCES)
def test_deviances_rise_across_the_seam_of_their_series(loss, y):
    """The series ends at a relative error of a quarter: no step down there."""
    for seam in (0.8, 1.25):
        ratios = seam * (1 + 1e-9 * np.arange(-40, 41))
        losses = per_row(loss, np.full(len(ratios), y), y * ratios)
        rising = losses if seam > 1 else losses[::-1]
        assert (np.diff(rising) > 0).all()


@pytest.mark.parametrize("loss", [*REGRESSION, *DEVIANCES, "crps", "crps:0.5"])
def test_a_perfect_prediction_costs_nothing(loss):
    y = np.random.default_rng(0).gamma(2.0, size=100)
    np.testing.assert_array_equal(per_row(loss, y, y), 0.0)


@pytest.mark.parametrize("loss", [*REGRESSION, *DEVIANCES])
def test_several_outputs_are_averaged(loss):
    y, prediction = np.random.default_rng(1).gamma(2.0, size=(2, 30, 3))
    expected = np.mean([per_row(loss, y[:, c], prediction[:, c]) for c in range(3)], axis=0)
    np.testing.assert_allclose(per_row(loss, y, prediction), expected, rtol=1e-12)


@pytest.mark.parametrize("loss", [*REGRESSION, *DEVIANCES, "crps", "crps:0.2,0.5,0.7"])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_losses_are_doubles_of_the_same_numbers(loss, dtype):
    """Neither a y of few bits nor predictions in single precision round the loss."""
    rng = np.random.default_rng(2)
    y = rng.integers(200, 250, size=200).astype(dtype)
    shape = (200, 3) if loss.startswith("crps") else 200
    prediction = rng.uniform(100, 300, size=shape).astype(np.float32)
    found = per_row(loss, y, prediction)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, per_row(loss, y.astype(float), prediction.astype(float)))
