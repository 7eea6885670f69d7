"""The pieces of the study of power and size: settings, fitted functions, pages, and what it counts."""

import math

import numpy as np
import pytest
from scipy.special import expit

import sfit
from sfit.studies import _power_size_fits as fits
from sfit.studies import _power_size_page as page
from sfit.studies import _power_size_settings as cells
from sfit.studies import _power_size_tests as tests
from sfit.studies import power_and_size as study


@pytest.mark.parametrize("name", cells.POWER)
def test_a_setting_has_its_effect_its_mean_and_its_rows(name):
    """The reference is the mean of the shape; the effect shrinks with the square root of the rows."""
    setting = cells.POWER[name]
    sample = setting.draw(1_600, 20, np.random.default_rng(0))
    assert sample.X.shape == (32_000, 2)
    assert (np.bincount(sample.repetition) == 1_600).all()
    assert sample.model.coefficients == (setting.strength / 2, cells.OTHER)
    error = 5 * sample.X[:, 0].std() / math.sqrt(32_000)
    assert sample.X[:, 0].mean() == pytest.approx(sample.reference[0], abs=error)
    if setting.link == "logit":
        assert sample.y.mean() == pytest.approx(sample.model(sample.X)[:, 1].mean(), abs=0.01)
    elif setting.loss == "poisson":
        assert sample.y.mean() == pytest.approx(sample.model(sample.X).mean(), rel=0.05)


@pytest.mark.parametrize("name", cells.NULLS)
def test_the_columns_of_a_null_are_independent_of_the_outcome(name):
    """No rank correlation beyond five standard errors, and no other reference than stated."""
    from scipy.stats import spearmanr

    null = cells.NULLS[name]
    sample = null.draw(2_000, 4, np.random.default_rng(1))
    assert sample.X.shape == (8_000, cells.N_NULL + 1)
    assert sample.n_tested == cells.N_NULL
    assert sample.reference[:-1] == (null.reference,) * cells.N_NULL
    for column in sample.X.T[:-1]:
        assert abs(spearmanr(column, sample.y).statistic) < 5 / math.sqrt(8_000)


def test_links():
    """Identity, exponential, and both probabilities."""
    X = np.array([[1.0, 2.0]])
    assert cells.LinearModel((1.0, 0.5), 1.0)(X) == pytest.approx([3.0])
    assert cells.LinearModel((1.0, 0.5), 1.0, "log")(X) == pytest.approx([math.exp(3)])
    both = cells.LinearModel((1.0, 0.5), 1.0, "logit")(X)
    assert both[0] == pytest.approx([1 - expit(3.0), expit(3.0)])


def test_fitted_functions():
    """A line is found, bins give their means, and the nearest row its outcome."""
    x, y = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 3.0, 5.0, 7.0])
    assert cells.least_squares(x, y)(np.array([10.0])) == pytest.approx([21.0])
    assert cells.bin_means(x, y, 2)(np.array([-5.0, 1.5, 1.6, 9.0])).tolist() == [2, 2, 6, 6]
    assert cells.bin_means(np.array([0.0, 0, 0, 1]), y)(np.array([0.0, 1.0])).tolist() == [3, 7]
    order = [2, 0, 3, 1]
    assert cells.nearest_row(x[order], y[order])(np.array([-1, 0.4, 0.6, 2.6])).tolist() == [
        1,
        1,
        3,
        7,
    ]


def test_stacked_repetitions_decide_as_single_ones():
    """`by` keeps data sets apart: the sign tests of a stack are those of its data sets."""
    sample = cells.POWER["linear .3"].draw(400, 3, np.random.default_rng(0))
    stacked = tests.sign(0.0)(study._task(sample, 0))
    assert stacked.shape == (3, 2)
    for number, expected in enumerate(stacked):
        rows = sample.repetition == number
        result = sfit.feature_significance(
            sample.model, sample.X[rows], sample.y[rows], beta=0.0, reference=sample.reference
        )
        assert result.table["significant"].tolist() == expected.tolist()


def test_the_five_statistics_are_correlations():
    """Each statistic rejects where its own correlation is exact, and not where it is reversed."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    predictions = [np.column_stack([x, -x])]
    for of_g, of_y, loss, test in study._STATISTICS.values():
        decided = study._decide_predictions(of_g(predictions), of_y([x]), loss, test, [0])
        assert decided.tolist() == [[True, False]]


def test_masking_is_the_sign_test_given_the_rest():
    """A feature that only repeats another adds nothing to the full model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=400)
    task = tests.Task(lambda rows: np.asarray(rows)[:, 0], X, y, "absolute_error", 0.0, 0)
    assert tests.masking(task).tolist() == [[True, False]]


def test_noise_columns_are_added_behind_the_features():
    """Ten of them, in both halves of the data."""
    task = fits.split("wine, class 1 against the rest, forest", 0)
    assert task.X.shape == (89, 13 + fits.N_ADDED)
    assert task.train[0].shape == (89, 13 + fits.N_ADDED)
    assert set(task.y) == {0, 1}


def test_data_that_are_not_there_are_named(monkeypatch, tmp_path):
    """With the reason."""
    pytest.importorskip("lightgbm")
    monkeypatch.setenv("SFIT_DATA", str(tmp_path))
    assert "holds no" in fits.unavailable("UCI credit, LightGBM")
    assert fits.unavailable("diabetes, forest") is None


def test_the_accepted_size():
    """.05 and three standard errors."""
    assert page.tolerated(1_000) == pytest.approx(0.05 + 3 * math.sqrt(0.0475 / 1_000))


def test_expected_numbers_belong_to_settings_that_exist():
    """A name that is misspelt would hide the comparison."""
    assert set(page.EXPECTED_POWER) <= set(cells.POWER)
    assert set(page.EXPECTED_STATISTICS) - {"mean power", "worst setting", "mean size"} <= set(
        cells.REGRESSIONS
    )
    assert set(page.EXPECTED_MODELS) == set(fits.MODELS)
    assert all(any(name.startswith(k) for name in fits.DATA) for k in page.EXPECTED_REAL)
    for by_test in page.EXPECTED_MODELS.values():
        assert set(by_test) <= set(tests.FITTED)
    assert set(page.COMPARED) <= set(tests.SIMULATED)
    assert set(page.STYLES) <= set(tests.SIMULATED)
    assert (len(cells.POWER), len(cells.REGRESSIONS), len(cells.NULLS)) == (16, 12, 13)
