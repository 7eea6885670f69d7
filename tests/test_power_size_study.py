"""The pieces of the study of power and size: settings, fitted functions, pages, and what it counts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import sfit
from sfit import studies
from sfit.exceptions import DataError
from sfit.studies import _power_size_fits as fits
from sfit.studies import _power_size_page as page
from sfit.studies import _power_size_settings as cells
from sfit.studies import _power_size_tests as tests
from sfit.studies import power_and_size as study
from sfit.studies._jobs import Job, JobLog


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


# ------------------------------------------------------------------------------- stored jobs


def _decided(name, value):
    return {name: np.array([[value, not value], [value, value]])}


def _unexpected(*arguments):
    raise AssertionError(f"run again: {arguments}")


def test_a_stopped_run_goes_on(tmp_path):
    """Finished jobs are not run again; a line that was cut off is."""
    path, identity = tmp_path / "jobs.jsonl", {"study": "x", "settings": {"seed": 0}}
    jobs = [Job(str(k), _decided, ("a test", k % 2 == 0)) for k in range(4)]
    log = JobLog(path, identity, "abc")
    expected = log.run(jobs[:3], n_jobs=1)
    text = path.read_text()
    path.write_text(text[:-20])
    again = JobLog(path, identity, "def")
    assert set(again.answers) == {"0", "1"}
    found = again.run([jobs[0]._replace(function=_unexpected), *jobs[1:]], n_jobs=1)
    assert list(again.commits) == ["abc", "def"]
    for one, other in zip(found, expected, strict=False):
        np.testing.assert_array_equal(one["a test"], other["a test"])
    whole = JobLog(path, identity, None)
    assert set(whole.answers) == {"0", "1", "2", "3"}
    assert all(answer["a test"].dtype == bool for answer in whole.answers.values())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('"seed": 0', '"seed": 1'), "other settings"),
        (lambda text: text.replace('"answer"', '"other"'), "is damaged"),
        (lambda text: text.replace('"10"', '"1x"'), "is damaged"),
    ],
)
def test_a_file_of_another_run_is_refused(tmp_path, change, message):
    path, identity = tmp_path / "jobs.jsonl", {"study": "x", "settings": {"seed": 0}}
    JobLog(path, identity, None).run([Job("0", _decided, ("a test", True))], n_jobs=1)
    path.write_text(change(path.read_text()))
    with pytest.raises(DataError, match=message):
        JobLog(path, identity, None)


def test_the_page_is_written_again_from_finished_jobs(tmp_path, monkeypatch):
    """One command: stopped after some jobs, it goes on; complete, it runs nothing."""
    small = replace(study.FAST, splits={}, null_repeats={200: 1}, regression_repeats=1)
    small = replace(small, power_repeats={200: 1}, fit_repeats=0, regression_rows=50)
    monkeypatch.setattr(study, "FAST", small)
    monkeypatch.setattr(fits, "installed", lambda names: ())
    monkeypatch.setattr(fits, "MODELS", {})
    monkeypatch.setattr(study, "available", lambda tests: {"permutation": tests["permutation"]})
    monkeypatch.setattr(study, "page", lambda result: str(result))
    monkeypatch.setattr(study, "figures", lambda result: {})
    decide, left = study._decide_sample, [5]

    def stopping(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return decide(*arguments)

    monkeypatch.setattr(study, "_decide_sample", stopping)
    with pytest.raises(KeyboardInterrupt):
        studies.run("power-and-size", fast=True, out=tmp_path)
    assert len((tmp_path / "power-and-size.jobs.jsonl").read_text().splitlines()) == 1 + 5
    monkeypatch.setattr(study, "_decide_sample", decide)
    resumed = studies.run("power-and-size", fast=True, out=tmp_path)
    assert resumed.result == studies.run("power-and-size", fast=True).result
    page = (tmp_path / "power-and-size.md").read_text()
    (tmp_path / "power-and-size.md").unlink()
    monkeypatch.setattr(study, "_decide_sample", _unexpected)
    monkeypatch.setattr(study, "_decide_regression", _unexpected)
    studies.run("power-and-size", fast=True, out=tmp_path)
    assert (tmp_path / "power-and-size.md").read_text() == page
