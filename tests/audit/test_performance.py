"""Metrics on held-out rows: values against scikit-learn, intervals by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, softmax
from scipy.stats import norm, t
from sklearn import metrics

from sfit._audit._jackknife import GROUPS
from sfit._audit._performance import performance


def two_classes(n, seed=0, slope=1.5, intercept=0.0):
    rng = np.random.default_rng(seed)
    probability = expit(intercept + slope * rng.normal(size=n))
    return (rng.uniform(size=n) < probability).astype(int), probability


def by_name(found):
    return {metric.name: metric for metric in found}


def of_classes(y, predictions, classes=(), **options):
    return by_name(performance("all", "classification", y, predictions, classes, **options))


def of_numbers(y, predictions, **options):
    return by_name(performance("all", "regression", y, predictions, **options))


def test_two_classes_agree_with_scikit_learn():
    y, probability = two_classes(300)
    found = of_classes(y, np.column_stack([1 - probability, probability]), ("good", "bad"))
    expected = {
        "AUC": metrics.roc_auc_score(y, probability),
        "average_precision": metrics.average_precision_score(y, probability),
        "log_loss": metrics.log_loss(y, probability),
        "brier": metrics.brier_score_loss(y, probability),
        "accuracy": metrics.accuracy_score(y, probability > 0.5),
    }
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert found[name].value == pytest.approx(value, rel=1e-12)
        assert found[name].ci_low < value < found[name].ci_high
        assert found[name].n == 300
        assert not found[name].reason
    better = {name for name, metric in found.items() if metric.higher_is_better}
    assert better == {"AUC", "average_precision", "accuracy"}


def test_a_vector_is_the_probability_of_the_second_class():
    y, probability = two_classes(100)
    matrix = np.column_stack([1 - probability, probability])
    assert of_classes(y, probability) == of_classes(y, matrix)


def test_three_classes_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(300, 3))
    y = np.array([rng.choice(3, p=row) for row in softmax(scores, axis=1)])
    p = softmax(scores, axis=1)
    found = of_classes(y, p, ("a", "b", "c"))
    assert list(found) == ["AUC", "log_loss", "brier", "accuracy"]
    area = metrics.roc_auc_score(y, p, multi_class="ovr", average="macro")
    assert found["AUC"].value == pytest.approx(area, rel=1e-12)
    assert found["log_loss"].value == pytest.approx(metrics.log_loss(y, p), rel=1e-12)
    assert found["brier"].value == pytest.approx(np.square(p - np.eye(3)[y]).sum(axis=1).mean())
    assert found["accuracy"].value == pytest.approx(metrics.accuracy_score(y, p.argmax(axis=1)))


@pytest.mark.parametrize("outputs", [(), (2,)])
def test_regression_agrees_with_scikit_learn(outputs):
    rng = np.random.default_rng(0)
    y = rng.normal(size=(200, *outputs))
    p = y + rng.normal(size=y.shape)
    found = of_numbers(y, p)
    assert list(found) == ["R2", "MAE", "RMSE"]
    assert found["R2"].value == pytest.approx(metrics.r2_score(y, p))
    assert found["MAE"].value == pytest.approx(metrics.mean_absolute_error(y, p))
    assert found["RMSE"].value == pytest.approx(metrics.root_mean_squared_error(y, p))
    assert [metric.higher_is_better for metric in found.values()] == [True, False, False]


def test_one_column_of_predictions_is_a_vector():
    y = np.arange(50.0)
    assert of_numbers(y, (y + y % 3)[:, None]) == of_numbers(y, y + y % 3)


def test_counts():
    rng = np.random.default_rng(0)
    rate = np.exp(rng.normal(size=200))
    y = rng.poisson(rate)
    found = of_numbers(y, rate, loss="poisson")["poisson_deviance"]
    assert found.value == pytest.approx(metrics.mean_poisson_deviance(y, rate))
    assert not found.higher_is_better
    bad = of_numbers(y, np.zeros(200), loss="poisson")["poisson_deviance"]
    assert math.isnan(bad.value)
    assert "above zero" in bad.reason
    assert "poisson_deviance" not in of_numbers(y, rate, loss="squared_error")


def test_the_interval_of_a_mean_is_that_of_the_group_means():
    """For a mean over equal groups the jackknife is the t interval of the means of the groups."""
    y = np.random.default_rng(0).normal(size=GROUPS)
    y = np.repeat(y, 2)  # two rows per unit, all rows of a unit alike
    units = np.repeat(np.arange(GROUPS), 2)
    found = of_numbers(np.concatenate([y, y]), np.zeros(80), units=np.tile(units, 2) + 100)
    means = np.abs(y[::2])
    # Twenty units are dealt into ten groups of two: redo the deal.
    dealt = np.random.default_rng(0).permutation(np.arange(GROUPS) % 10)
    pairs = np.array([means[dealt == group].mean() for group in range(10)])
    margin = t.isf(0.025, 9) * pairs.std(ddof=1) / math.sqrt(10)
    assert found["MAE"].ci_low == pytest.approx(max(pairs.mean() - margin, 0))
    assert found["MAE"].ci_high == pytest.approx(pairs.mean() + margin)


def test_the_same_seed_gives_the_same_interval():
    y, probability = two_classes(200)
    assert of_classes(y, probability, seed=3) == of_classes(y, probability, seed=3)
    other = of_classes(y, probability, seed=4)
    assert other["AUC"].ci_low != of_classes(y, probability, seed=3)["AUC"].ci_low


def test_a_lower_level_widens_the_interval():
    y, probability = two_classes(200)
    wide, narrow = (of_classes(y, probability, alpha=level)["AUC"] for level in (0.01, 0.2))
    assert wide.ci_low < narrow.ci_low < narrow.ci_high < wide.ci_high


def test_clusters_widen_the_interval():
    """Ten equal rows per cluster carry the information of one: the width grows by sqrt(10)."""
    y, probability = two_classes(200)
    units = np.repeat([f"c{k}" for k in range(200)], 10)
    y, probability = np.repeat(y, 10), np.repeat(probability, 10)
    alone, together = of_classes(y, probability), of_classes(y, probability, units=units)
    for name, metric in alone.items():
        ratio = (together[name].ci_high - together[name].ci_low) / (metric.ci_high - metric.ci_low)
        # Two ratios of standard deviations with 19 degrees of freedom: at most a factor of 2.
        assert math.sqrt(10) / 2 < ratio < math.sqrt(10) * 2


@pytest.mark.parametrize(
    ("y", "p", "nan_values", "nan_intervals"),
    [
        ([], [], 5, 5),
        ([1], [0.7], 2, 5),
        ([1, 1, 1, 1], [0.7, 0.2, 0.1, 0.6], 2, 2),
        ([0, 1], [0.2, 0.6], 0, 5),  # no AUC without one of them; all are classified correctly
        ([0, 1, 1, 1], [0.2, 0.6, 0.7, 0.1], 0, 2),  # the one good row is in one of the groups
    ],
)
def test_too_few_rows_or_classes_are_explained(y, p, nan_values, nan_intervals):
    found = of_classes(np.array(y, dtype=int), np.array(p, dtype=float), ("good", "bad")).values()
    assert sum(math.isnan(metric.value) for metric in found) == nan_values
    assert all(bool(metric.reason) == math.isnan(metric.ci_low) for metric in found)
    if len(y) == 4:
        assert sum(math.isnan(metric.ci_low) for metric in found) == nan_intervals


def test_a_missing_class_is_named():
    found = of_classes(np.ones(50, dtype=int), np.full(50, 0.3), ("good", "bad"))
    assert found["AUC"].reason == "No row has the class good."
    assert math.isnan(found["AUC"].value)
    assert found["log_loss"].value == pytest.approx(-math.log(0.3))


def test_constant_predictions():
    y, _ = two_classes(200)
    found = of_classes(y, np.full(200, 0.4))
    assert (found["AUC"].value, found["AUC"].ci_low, found["AUC"].ci_high) == (0.5, 0.5, 0.5)
    assert found["average_precision"].value == pytest.approx(y.mean())
    assert found["average_precision"].ci_low < y.mean() < found["average_precision"].ci_high


def test_a_perfect_model_has_no_interval():
    """An interval of width 0 would claim that the next row is certain to be right."""
    y, _ = two_classes(200)
    found = of_classes(y, y.astype(float))
    assert found["AUC"].value == found["accuracy"].value == 1
    assert math.isnan(found["AUC"].ci_low)
    assert "best or worst" in found["AUC"].reason


def test_a_constant_target_has_no_r_squared():
    found = of_numbers(np.ones(30), np.linspace(0, 1, 30))
    assert math.isnan(found["R2"].value)
    assert "constant" in found["R2"].reason
    assert found["MAE"].value == pytest.approx(0.5)


def test_labels_without_probabilities_have_no_log_loss():
    y, probability = two_classes(200)
    labels = (probability > 0.5).astype(float)
    found = of_classes(y, labels, loss="zero_one")
    assert math.isnan(found["log_loss"].value)
    assert "no probabilities" in found["log_loss"].reason
    assert found["accuracy"].value == pytest.approx((labels == y).mean())
    assert math.isfinite(of_classes(y, labels, loss="log_loss")["log_loss"].value)


@given(st.integers(0, 60), st.integers(1, 60), st.integers(0, 2**32 - 1), st.integers(2, 4))
def test_intervals_hold_the_value_and_stay_in_range(n, n_units, seed, n_classes):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n_classes), size=n).reshape(n, n_classes)
    y = rng.integers(n_classes, size=n)
    units = rng.integers(n_units, size=n)
    for metric in of_classes(y, p, units=units).values():
        if not math.isnan(metric.ci_low):
            assert 0 <= metric.ci_low <= metric.value <= metric.ci_high
            assert metric.ci_high <= {"log_loss": math.inf, "brier": 2}.get(metric.name, 1)


N, REPEATS = 400, 400


def check_coverage(covered, name):
    """Near 95 %: from 0.92 to 0.97, each widened by three binomial standard errors."""
    share = covered[name] / REPEATS
    slack = 3 * math.sqrt(0.95 * 0.05 / REPEATS)
    assert 0.92 - slack < share < min(0.97 + slack, 1), (name, share)


@pytest.mark.long
@pytest.mark.parametrize(("slope", "intercept"), [(1.5, 0.0), (1.5, -2.5), (6.0, 0.0), (4.0, -4.0)])
def test_intervals_of_two_classes_cover_the_true_value(slope, intercept):
    """Measured on these 400 data sets: 0.915 to 0.9625 over all metrics and cases.

    Balanced classes with an AUC of 0.81 are covered at 0.95 or more. The others fall a little short
    for some metrics: 13 % of rows in the second class, an AUC of 0.97, or both to a lesser degree.
    """
    y, p = two_classes(1_000_000, 99, slope, intercept)
    every = np.zeros(len(y))
    truth = {name: metric.value for name, metric in of_classes(y, p, units=every).items()}
    covered = dict.fromkeys(truth, 0)
    for seed in range(REPEATS):
        y, p = two_classes(N, seed, slope, intercept)
        for name, metric in of_classes(y, p, seed=seed).items():
            covered[name] += metric.ci_low <= truth[name] <= metric.ci_high
    for name in truth:
        check_coverage(covered, name)


def test_intervals_of_a_regression_cover_the_true_value():
    """Measured on these 400 data sets: 0.955 to 0.9675."""
    truth = {"R2": 0.5, "MAE": 2 * norm.pdf(0), "RMSE": 1.0}
    covered = dict.fromkeys(truth, 0)
    rng = np.random.default_rng(0)
    for seed in range(REPEATS):
        p = rng.normal(size=N)
        for name, metric in of_numbers(p + rng.normal(size=N), p, seed=seed).items():
            covered[name] += metric.ci_low <= truth[name] <= metric.ci_high
    for name in truth:
        check_coverage(covered, name)


@pytest.mark.long
def test_intervals_of_clusters_cover_the_true_value():
    """40 clusters of 10 rows with a common effect: 0.94; intervals that ignore them, 0.77."""
    covered = {"clusters": 0, "rows": 0}
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(40), 10)
    truth = math.sqrt(2) * 2 * norm.pdf(0)
    for seed in range(REPEATS):
        error = rng.normal(size=40)[units] + rng.normal(size=400)
        for name, labels in (("clusters", units), ("rows", None)):
            metric = of_numbers(error, np.zeros(400), units=labels, seed=seed)["MAE"]
            covered[name] += metric.ci_low <= truth <= metric.ci_high
    check_coverage(covered, "clusters")
    assert covered["rows"] / REPEATS < 0.85
