"""The mean test against a slow implementation, its invariants, and its size by simulation."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import mean as slow
from reference import slow as signs
from scipy.stats import binom

import sfit
from sfit._flips import count_extreme, dealt
from sfit.exceptions import ArgumentError, SFITWarning

LEVEL = 20.0
"""With this outcome and the prediction x, revealing x saves x of the absolute error 20."""

differences = st.lists(st.integers(-40, 40).map(lambda whole: whole / 4), min_size=2, max_size=9)


def result_of(values, **options):
    """The mean test of given differences: one feature, which the model returns as it is."""
    X = pd.DataFrame({"a": np.asarray(values, dtype=float)})
    options = {"test": "mean", "reference": 0.0, "random_state": 3} | options
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]+ rows are too few", SFITWarning)
        return sfit.feature_significance(
            lambda rows: rows["a"].to_numpy(),
            X,
            np.full(len(X), options.pop("y", LEVEL)),
            **options,
        )


def of_differences(values, **options):
    [test] = result_of(values, **{"test": sfit.MeanTest(n_flips=499)} | options).tests
    return test


@settings(max_examples=25, deadline=None)
@given(differences, st.integers(0, 2**32))
def test_p_values_are_those_of_the_slow_test(values, seed):
    """Exactly, ties included: the flips are those that the seed gives."""
    test = of_differences(values, random_state=seed)
    assert test.p_value == slow.p_value(values, seed, 500)
    assert test.n_positive == sum(value > 0 for value in values)
    expected = signs.p_value(test.n_positive, len(values))
    assert test.p_sign == pytest.approx(expected, rel=1e-12)
    assert test.n_negative == sum(value < 0 for value in values)
    assert test.median == signs.median(values)
    low, high, _ = signs.exact_interval(values, 0.05)
    assert (test.median_low, test.median_high) == (low, high)


@settings(max_examples=25, deadline=None)
@given(differences)
def test_random_flips_agree_with_all_flips(values):
    share, size = slow.share_of_all_flips(values), 4_000
    test = of_differences(values, test=sfit.MeanTest(n_flips=size - 1))
    error = 5 * np.sqrt(share * (1 - share) / size) + 1 / size
    assert abs(test.p_value - share) <= error


@settings(max_examples=25, deadline=None)
@given(differences, st.sampled_from([2.0**-30, 0.5, 4.0, 2.0**30]))
def test_a_unit_of_the_loss_changes_only_the_estimates(values, unit):
    plain = of_differences(values)
    scaled = of_differences(np.asarray(values) * unit, y=LEVEL * unit)
    same = ("p_value", "p_sign", "n_positive", "n_negative", "share_largest", "t")
    for name in same:
        assert getattr(scaled, name) == pytest.approx(getattr(plain, name), rel=1e-9, nan_ok=True)
    assert scaled.mean == pytest.approx(plain.mean * unit, rel=1e-9)
    assert scaled.ci_low == pytest.approx(plain.ci_low * unit, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(differences)
def test_exchanged_sides_mirror_the_test(values):
    one, other = of_differences(values), of_differences([-value for value in values])
    assert (one.n_positive, one.n_negative) == (other.n_negative, other.n_positive)
    assert one.mean == -other.mean and one.median == -other.median
    assert (one.ci_low, one.ci_high) == (-other.ci_high, -other.ci_low)
    # Every flip is above, below or tied; the observed signs are tied with themselves.
    floor = 0.5 ** len(values)
    assert one.p_value + other.p_value >= 1 + 1 / 500 or floor in (one.p_value, other.p_value)


@pytest.fixture(scope="module")
def regression():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 4))
    y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=300)
    return X, y


def predict(X):
    X = np.asarray(X, dtype=float)
    return 1.9 * X[:, 0] + 0.9 * X[:, 1] * X[:, 2] + 0.05 * X[:, 3]


@pytest.mark.parametrize("loss", ["absolute_error", "squared_error"])
def test_every_set_agrees_with_the_slow_test(regression, loss):
    X, y = regression
    reference = [0.1, -0.2, 0.3, 0.0]
    result = sfit.feature_significance(
        predict,
        X,
        y,
        loss=loss,
        test=sfit.MeanTest(n_flips=299),
        reference=reference,
        max_order=2,
        random_state=11,
    )
    assert {test.order for test in result.tests} == {1, 2}
    place = {name: number for number, name in enumerate(result.feature_names)}
    found = {
        name for test in result.tests if test.order == 1 and test.significant for name in test.term
    }
    for test in result.tests:
        base, term = ([place[name] for name in names] for names in (test.base, test.term))
        assert set(test.base) == (found & set(test.term) if test.order == 2 else set())
        values = slow.differences(predict, X, y, base, [*base, *term], reference, loss)
        assert test.p_value == slow.p_value(values, 11, 300)
        estimates = slow.mean_and_interval(values, 0.05)
        assert (test.mean, test.ci_low, test.ci_high, test.t) == pytest.approx(
            estimates, rel=1e-8, nan_ok=True
        )
        assert test.mean == pytest.approx(test.gain, abs=1e-8)
        assert test.median == pytest.approx(signs.median(values), rel=1e-9)
        n_positive = sum(value > 0 for value in values)
        assert test.p_sign == pytest.approx(signs.p_value(n_positive, 300), rel=1e-9)
    [first, *_] = result.gates
    values = slow.differences(
        predict, X, y, [place[name] for name in sorted(found)], range(4), reference, loss
    )
    assert first.p_value == slow.p_value(values, 11, 300)
    assert first.statistic == pytest.approx(np.mean(values), rel=1e-8)
    assert first.is_open == (first.p_value < 0.05)


def test_clusters_agree_with_the_slow_test(regression):
    X, y = regression
    clusters = np.random.default_rng(0).integers(0, 60, 300)
    result = sfit.feature_significance(
        predict,
        X,
        y,
        clusters=clusters,
        test=sfit.MeanTest(n_flips=299),
        reference=0.0,
        random_state=2,
    )
    for number, test in enumerate(result.tests):
        values = slow.differences(predict, X, y, [], [number], [0.0] * 4, "absolute_error")
        means = slow.cluster_means(values, clusters.tolist())
        assert test.p_value == slow.p_value(means, 2, 300)
        estimates = slow.mean_and_interval(means, 0.05)
        assert (test.mean, test.ci_low, test.ci_high, test.t) == pytest.approx(
            estimates, rel=1e-8, nan_ok=True
        )
        assert test.n == len(means) == result.settings.n_clusters


def test_the_sign_test_beside_it_is_the_sign_test(regression):
    X, y = regression
    mean = sfit.feature_significance(predict, X, y, test="mean", reference=0.0, random_state=0)
    sign = sfit.feature_significance(predict, X, y, beta=0, reference=0.0)
    for one, other in zip(mean.tests, sign.tests, strict=True):
        assert one.p_sign == other.p_value and one.n_positive == other.n_positive
        assert (one.median, one.median_low, one.median_high) == (
            other.statistic,
            other.ci_low,
            other.ci_high,
        )


def test_many_rows_share_signs(regression):
    """Row i has the sign of row i modulo 2,048, over the borders of tiles too."""
    values = np.random.default_rng(7).integers(-8, 10, 70_000) / 4
    test = of_differences(values, test=sfit.MeanTest(n_flips=49))
    assert test.p_value == slow.p_value(values.tolist(), 3, 50)
    assert test.mean == pytest.approx(values.mean(), rel=1e-9)


def test_strict_reports_the_largest_p_value(regression):
    X, y = regression
    few = sfit.MeanTest(n_flips=199)
    options = {"test": few, "reference": 0.0, "max_order": 2, "random_state": 1}
    strict = sfit.feature_significance(predict, X, y, strict=True, **options)
    alone = {test.term: test for test in strict.tests if test.order == 1}
    for test in (test for test in strict.tests if test.order == 2):
        place = {name: number for number, name in enumerate(strict.feature_names)}
        found = [name for name in test.term if alone[(name,)].significant]
        bases = {(), *((name,) for name in test.term)} if len(found) == 0 else None
        bases = bases or {(name,) for name in test.term}
        largest = max(
            slow.p_value(
                slow.differences(
                    predict,
                    X,
                    y,
                    [place[name] for name in base],
                    [place[name] for name in test.term],
                    [0.0] * 4,
                    "absolute_error",
                ),
                1,
                200,
            )
            for base in bases
        )
        assert test.p_value == largest


# --- size -----------------------------------------------------------------------------------


def rejections(draw, n, n_sets, size=200, alpha=0.05):
    """How often the test rejects; every data set has flips of its own."""
    rng = np.random.default_rng(n)
    count = 0
    for seed in range(n_sets):
        [above] = count_extreme(dealt(draw(rng, n)).sums[None], size, seed).above
        count += above / size <= alpha
    return count


@pytest.mark.parametrize("n", [12, 200])
def test_the_size_is_exact_for_symmetric_differences(n):
    """Even for differences without a variance."""
    n_sets = 400
    count = rejections(lambda rng, n: rng.standard_t(1, size=n), n, n_sets)
    low, high = binom.ppf([0.0005, 0.9995], n_sets, 0.05)
    assert low <= count <= high


def test_it_finds_a_mean_that_the_sign_test_cannot_see():
    """One row in five gains much, all others lose a little."""
    values = np.where(np.arange(400) % 5 == 0, 5.0, -0.5)
    test = of_differences(values)
    assert test.significant and test.mean == 0.6
    assert test.median == -0.5 and test.p_sign > 0.999
    assert not of_differences(-values).significant


# --- what it says ---------------------------------------------------------------------------


def test_caveats_name_means_that_follow_few_rows():
    rng = np.random.default_rng(0)
    heavy = np.append(rng.normal(size=99), -15.0)
    assert any("few rows hold much of the spread" in text for text in result_of(heavy).caveats)
    plain = result_of(rng.normal(size=100))
    assert not any("few rows" in text for text in plain.caveats)


def test_caveats_name_means_and_medians_that_disagree():
    values = np.where(np.arange(400) % 5 == 0, 5.0, -0.5)
    assert any("a minority of the rows gains much" in text for text in result_of(values).caveats)
    assert any("the rows that get worse lose more" in text for text in result_of(-values).caveats)


def test_guarantee_depends_on_the_reference():
    values = np.random.default_rng(1).normal(size=50)
    assert result_of(values).tests[0].guarantee == "symmetric"
    assert result_of(values, reference="mean").tests[0].guarantee == "asymptotic"
    assert "exact for symmetric differences" in result_of(values).summary()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"row_order": "time"}, "row_order='time' needs test='permutation'.*clusters="),
        ({"beta": 0.01}, "beta=0.01 belongs to the sign test: the mean test has no"),
        ({"beta": "auto"}, "beta='auto' belongs to the sign test"),
        ({"alpha": 1e-8}, "needs 200,000,000 flips, more than 10,000,000.*n_flips"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        result_of(np.arange(-10.0, 12.0), **options)


@pytest.mark.parametrize("n_flips", [0, 1.5, "many", True, 10**8])
def test_odd_numbers_of_flips_are_refused(n_flips):
    with pytest.raises(ArgumentError, match="n_flips"):
        sfit.MeanTest(n_flips=n_flips)


def test_folds_refuse_it():
    from sklearn.linear_model import LinearRegression

    X, y = sfit.simulate.interactions(100, random_state=0)
    with pytest.raises(ArgumentError, match="test='mean' cannot be combined over folds"):
        sfit.cross_significance(LinearRegression(), X, y, test="mean")


def test_corrections_get_enough_flips():
    """Half of the smallest threshold must be within reach."""
    X, y = sfit.simulate.interactions(500, random_state=0)
    result = sfit.feature_significance(
        sfit.simulate.interactions_mean,
        X,
        y,
        test="mean",
        correction="bonferroni",
        alpha=0.001,
        random_state=0,
    )
    assert result.tests[0].p_resolution == 1 / 14_000
    assert result.selected[0] == "X1"
    assert result.at(alpha=0.05, correction=None).settings.planned_alpha == 0.001
