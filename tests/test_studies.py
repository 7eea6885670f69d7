"""The studies of the paper: their networks, their shortcuts against the library, their pages."""

import json
import re
import shutil
import subprocess
import sys
from dataclasses import FrozenInstanceError, asdict, dataclass, replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.utils import Bunch

import sfit
from sfit import studies
from sfit.exceptions import ArgumentError, DataError
from sfit.studies import _credit_data as credit_data
from sfit.studies import _page, _record

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "docs" / "paper"
DATA = ROOT.parent / "shared" / "data"

needs_data = pytest.mark.skipif(
    not (DATA / credit_data.FILE).is_file(), reason="the credit data are not in ../shared/data"
)


@pytest.fixture
def credit_folder(monkeypatch):
    """SFIT_DATA points to the credit data."""
    monkeypatch.setenv("SFIT_DATA", str(DATA))


# --- every study, fast --------------------------------------------------------------------


@pytest.mark.parametrize("name", studies.NAMES)
def test_a_fast_study_writes_its_page_figures_and_numbers(name, tmp_path, monkeypatch):
    """The page names its command and shows figures that exist; the JSON holds what it says."""
    pytest.importorskip("matplotlib")
    if name in ("simulation", "loco", "power", "credit", "calibration"):
        pytest.importorskip("torch")
    if name == "credit":
        if not (DATA / credit_data.FILE).is_file():
            pytest.skip("the credit data are not in ../shared/data")
        monkeypatch.setenv("SFIT_DATA", str(DATA))
    report = studies.run(name, fast=True, out=tmp_path)

    page = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert page == str(report) == report.page
    assert f"`python -m sfit.studies {name} --fast`" in page
    shown = re.findall(r"!\[.*?\]\((.*?)\)", page)
    assert shown
    assert {path.name for path in tmp_path.glob("*.png")} == set(shown)
    document = json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))
    assert document["study"] == name
    assert document["run"]["seconds"] == pytest.approx(report.seconds, rel=1e-6)
    assert document["settings"] == json.loads(json.dumps(_record.storable(asdict(report.settings))))
    assert document["result"]
    with pytest.raises(FrozenInstanceError):
        report.result.added = 1


@pytest.mark.parametrize("name", studies.NAMES)
def test_a_full_study_is_larger_than_a_fast_one(name):
    """Both are instances of one frozen dataclass, and they differ."""
    module = import_module(f"sfit.studies.{name.replace('-', '_')}")
    assert type(module.FULL) is type(module.FAST) is module.Settings
    assert module.FULL != module.FAST
    with pytest.raises(FrozenInstanceError):
        module.FULL.added = 1


def test_an_unknown_study_is_refused_by_name():
    """The message lists what there is."""
    with pytest.raises(ArgumentError, match=r"name must be.*simulation"):
        studies.run("figure 4")


def test_the_module_runs_as_a_program(tmp_path):
    """It prints the page and writes into the folder, without any plot window."""
    pytest.importorskip("matplotlib")
    command = [sys.executable, "-m", "sfit.studies", "correlation", "--fast", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("# Section 1: two correlated features")
    assert (tmp_path / "correlation.md").is_file()


@pytest.mark.skipif(not PAGES.is_dir(), reason="there is no docs/paper beside the tests")
@pytest.mark.parametrize("name", studies.NAMES)
def test_the_pages_in_the_documentation_are_of_full_runs(name):
    """Page, numbers and figures belong together and to the settings in the code."""
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    document = json.loads((PAGES / f"{name}.json").read_text(encoding="utf-8"))
    settings = import_module(f"sfit.studies.{name.replace('-', '_')}").FULL
    assert document["settings"] == json.loads(json.dumps(_record.storable(asdict(settings))))
    assert f"`python -m sfit.studies {name}` in {document['run']['seconds']:,.0f} s" in page
    for figure in re.findall(r"!\[.*?\]\((.*?)\)", page):
        assert (PAGES / figure).is_file()


# --- networks trained at once -------------------------------------------------------------


def small_problem(n_networks=3, n=200, seed=0):
    """Rows of their own for several networks."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_networks, n, 4)).astype(np.float32)
    y = (X[:, :, 0] * X[:, :, 1] + X[:, :, 2]).astype(np.float32)
    return X, y


def plain_training(recipe, X, y, seed):
    """One network in an ordinary torch module, trained by an ordinary loop with autograd."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    layers = []
    sizes = (X.shape[1], *recipe.hidden, 1)
    for inputs, units in pairwise(sizes):
        linear = torch.nn.Linear(inputs, units)
        bound = np.sqrt(6 / (inputs + units))
        with torch.no_grad():
            drawn = (2 * torch.rand(inputs, units, generator=generator) - 1) * bound
            linear.weight.copy_(drawn.T)
            linear.bias.zero_()
        layers += [linear, torch.nn.ReLU()]
    module = torch.nn.Sequential(*layers[:-1])
    optimiser = torch.optim.Adam(module.parameters(), lr=recipe.learning_rate)
    rows, target = torch.from_numpy(X), torch.from_numpy(y)
    for _ in range(recipe.max_epochs):
        order = torch.randperm(len(rows), generator=generator)
        for start in range(0, len(rows), recipe.batch_size):
            batch = order[start : start + recipe.batch_size]
            optimiser.zero_grad()
            torch.nn.functional.mse_loss(module(rows[batch])[:, 0], target[batch]).backward()
            optimiser.step()
    return module


def test_training_together_is_training_one_by_one():
    """Equal first weights and order of rows give equal networks, but for rounding."""
    torch = pytest.importorskip("torch")
    from sfit.studies._networks import Recipe, train

    recipe = Recipe(hidden=(12, 6), max_epochs=3, patience=10)
    X, y = small_problem()
    together = train(recipe, X, y, X, y, [5, 6, 7])
    for k, seed in enumerate((5, 6, 7)):
        [alone] = train(recipe, X[k : k + 1], y[k : k + 1], X[k : k + 1], y[k : k + 1], [seed])
        plain = plain_training(recipe, X[k], y[k], seed)
        with torch.no_grad():
            rows = torch.from_numpy(X[k])
            expected = plain(rows).numpy()
            np.testing.assert_allclose(together[k].module()(rows), expected, atol=2e-5)
            np.testing.assert_allclose(alone.module()(rows), expected, atol=2e-5)


def test_a_network_that_stops_leaves_the_others_alone():
    """Each stops by its own validation loss, and the rest train on as if it had never been."""
    pytest.importorskip("torch")
    from sfit.studies._networks import Recipe, train

    recipe = Recipe(hidden=(8,), max_epochs=12, patience=2, min_decrease=0.02)
    X, y = small_problem(4)
    y[1] = np.random.default_rng(1).normal(scale=0.01, size=y[1].shape)  # nothing to learn
    X[1] *= 0.01
    together = train(recipe, X, y, X, y, range(4))
    epochs = [network.epochs for network in together]
    assert len(set(epochs)) > 1
    for k, network in enumerate(together):
        part = slice(k, k + 1)
        [alone] = train(recipe, X[part], y[part], X[part], y[part], [k])
        assert alone.epochs == network.epochs
        assert alone.validation_loss == pytest.approx(network.validation_loss, rel=1e-3)


def test_early_stopping_follows_its_rule():
    """With an unreachable decrease training stops when patience ends; without, at the last epoch."""
    pytest.importorskip("torch")
    from sfit.studies._networks import Recipe, train

    X, y = small_problem(1)
    stops = Recipe(hidden=(8,), max_epochs=9, patience=3, min_decrease=1e9)
    # The first epoch is below infinity, so it counts as a decrease.
    assert train(stops, X, y, X, y, [0])[0].epochs == 4
    goes_on = replace(stops, min_decrease=-1e9)
    assert train(goes_on, X, y, X, y, [0])[0].epochs == 9


def test_classes_are_weighted_by_their_frequency():
    """A balanced network on pure noise predicts one half for both classes, not the base rate."""
    torch = pytest.importorskip("torch")
    from sfit.studies._networks import Recipe, train

    rng = np.random.default_rng(0)
    X = rng.normal(size=(1, 4000, 2)).astype(np.float32)
    y = (rng.uniform(size=(1, 4000)) < 0.1).astype(np.float32)
    for balanced, expected in ((True, 0.5), (False, 0.1)):
        recipe = Recipe(hidden=(4,), loss="log_loss", balanced=balanced, max_epochs=8, patience=99)
        [network] = train(recipe, X, y, X, y, [0])
        with torch.no_grad():
            mean = torch.sigmoid(network.module()(torch.from_numpy(X[0]))).mean().item()
        assert mean == pytest.approx(expected, abs=0.05)


# --- shortcuts of the studies against the library -----------------------------------------


def test_the_correlation_study_counts_as_the_library_does():
    """Its least squares, LOCO and SFIT are those of `loco_significance` and the public call."""
    from sfit.studies import correlation

    settings = replace(correlation.FAST, n_tests=2, n_train=300, n_test=200)
    loco, improved = correlation._counts(settings, 10.0)
    rng = np.random.default_rng([settings.seed, 10])
    for test in range(2):
        X, y = sfit.simulate.correlated(500, random_state=rng)
        train, held_out = (X[:300], y[:300]), (X[300:], y[300:])
        refits = sfit.loco_significance(LinearRegression(), *train, *held_out)
        assert [one.n_positive for one in refits.tests] == loco[test].tolist()
        model = LinearRegression().fit(*train)
        for place, beta in enumerate(settings.betas):
            result = sfit.feature_significance(model, *held_out, reference=0.0, beta=beta)
            assert [one.n_positive for one in result.tests] == improved[place, test].tolist()


def test_the_calibration_study_covers_the_librarys_median():
    """Its differences are those of the perfect model, and its intervals cover as the law says."""
    from sfit.studies import calibration

    X, y = sfit.simulate.interactions(500, random_state=np.random.default_rng(4))
    perfect = sfit.models.function_model(sfit.simulate.interactions_mean, task="regression")
    [x1, *_] = sfit.feature_significance(perfect, X, y, reference=0.0, beta=0.01).tests
    own = calibration.differences(500, 0.01, np.random.default_rng(4))
    assert np.median(own) == pytest.approx(x1.statistic)
    assert np.sum(own > 0) == x1.n_positive

    settings = replace(calibration.FAST, coverage_rows=(44, 200), coverage_draws=2_000)
    for one in calibration._coverages(settings):
        # Four standard deviations of the share; the truth is known to far better.
        error = 4 * np.sqrt(one.exact * (1 - one.exact) / settings.coverage_draws)
        assert one.observed == pytest.approx(one.exact, abs=error)
        assert one.mean_width > 0


def test_the_comparison_of_two_models_is_loco():
    """Statistic, interval and p-value of `loco_significance`."""
    from sfit.studies.loco import compare

    X, y = sfit.simulate.interactions(1200, random_state=0)
    train, test = slice(0, 600), slice(600, None)
    expected = sfit.loco_significance(LinearRegression(), X[train], y[train], X[test], y[test])
    full = np.abs(y[test] - LinearRegression().fit(X[train], y[train]).predict(X[test]))
    for one in expected.tests:
        others = X.drop(columns=one.term[0])
        refit = LinearRegression().fit(others[train], y[train])
        ours = compare(np.abs(y[test] - refit.predict(others[test])), full, 0.05)
        assert ours.statistic == pytest.approx(one.statistic)
        assert (ours.low, ours.high) == pytest.approx((one.ci_low, one.ci_high))
        assert ours.p_value == pytest.approx(one.p_value)
        assert ours.significant == one.significant


@pytest.fixture(scope="module")
def network_and_sample():
    """A small network of section 3, and its rows."""
    pytest.importorskip("torch")
    from sfit.studies._networks import Recipe
    from sfit.studies._section3 import Sizes, draw, fit

    sample = draw(Sizes(3_000, 500, 2_000), 3)
    [network] = fit(Recipe(hidden=(40, 20), learning_rate=3e-3, max_epochs=8), [sample])
    return network, sample


def test_the_perfect_model_is_what_the_simulation_says():
    """Medians and shares of positive differences, drawn anew."""
    from sfit.studies.simulation import PERFECT, PERFECT_SHARES

    X, y = sfit.simulate.interactions(400_000, random_state=11)
    bases = {("X1", "X2"): ("X1",)}
    # Monte Carlo error of the constants themselves.
    known_to = {("X1",): 0.004, ("X3",): 0.002, ("X1", "X2"): 0.0004, ("X4", "X5"): 0.0007}
    for term, median in PERFECT.items():
        base, full = (
            np.abs(y - sfit.simulate.interactions_mean(X.to_numpy() * X.columns.isin(shown)))
            for shown in (bases.get(term, ()), term)
        )
        differences = 0.99 * base - full
        # The interval of the median at four standard deviations of the sign test.
        ranks = 0.5 + np.array([-2, 2]) / np.sqrt(len(y))
        low, high = np.quantile(differences, ranks)
        assert low - known_to[term] <= median <= high + known_to[term]
        if term in PERFECT_SHARES:
            # Twice: the constants carry the error of as many rows.
            assert np.mean(differences > 0) == pytest.approx(
                PERFECT_SHARES[term], abs=4 * np.sqrt(2 * 0.25 / len(y))
            )


def test_perfect_models_are_what_the_loco_study_says():
    """Medians of LOCO with the true regression functions, drawn anew."""
    from sfit.studies.loco import PERFECT

    X, y = sfit.simulate.interactions(400_000, random_state=12)
    noise = y - sfit.simulate.interactions_mean(X.to_numpy())
    x1, x2, x3, x4, x5, *_ = X.to_numpy().T
    # What a feature explains beyond the mean given all the others.
    lost = {"X1": (4 + x2) * x1, "X2": x1 * x2, "X3": 3 * (x3**2 - 1), "X4": 2 * x4 * x5}
    ranks = 0.5 + np.array([-2, 2]) / np.sqrt(len(y))
    for name, part in lost.items():
        low, high = np.quantile(np.abs(part + noise) - np.abs(noise), ranks)
        assert low <= PERFECT[name] <= high
    assert PERFECT["X5"] == PERFECT["X4"]
    assert PERFECT["X6"] == PERFECT["X7"] == 0


def test_the_plain_loop_is_algorithm_1(network_and_sample):
    """What LOCO's time is compared with gives the library's answer."""
    from sfit.studies._section3 import MASKING
    from sfit.studies.loco import plain_sfit

    network, sample = network_and_sample
    plain = plain_sfit(network, sample.test, 0.01, 0.05)
    result = sfit.feature_significance(network.module(), *sample.test, **MASKING)
    for one in result.tests:
        ours = plain[one.term[0]]
        assert ours.significant == one.significant
        assert ours.statistic == pytest.approx(one.statistic, abs=1e-4)


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("betas", [(1e-4, 1e-4), (0.01, 0.01), (0.01, 0.001), (0.1, 0.1)])
@pytest.mark.parametrize("strict", [False, True])
def test_thresholds_decide_as_the_whole_procedure(network_and_sample, alpha, betas, strict):
    """One evaluation says what both algorithms find at any beta."""
    from sfit.studies import power
    from sfit.studies._section3 import MASKING

    network, sample = network_and_sample
    result = sfit.feature_significance(
        network.module(),
        *sample.test,
        alpha=alpha,
        beta=betas,
        max_order=2,
        strict=strict,
        **MASKING,
    )
    expected = {"+".join(term) for terms in result.significant.values() for term in terms}
    thresholds = power.Thresholds(network, sample, power.FAST)
    assert thresholds.found(alpha, *betas, strict=strict) == expected


def test_a_hidden_column_is_a_missing_one(network_and_sample):
    """A network trained with a column of zeros does not use it."""
    from sfit.studies._networks import Recipe
    from sfit.studies.loco import _fit_all

    _, sample = network_and_sample
    recipe = Recipe(hidden=(10,), max_epochs=2)
    _, *refits = _fit_all(recipe, sample)
    other = _fit_all(replace(recipe, max_epochs=1), sample)[1:]
    for column, (longer, shorter) in enumerate(zip(refits, other, strict=True), 1):
        np.testing.assert_array_equal(longer.layers[0][0][column], shorter.layers[0][0][column])


# --- the credit data ----------------------------------------------------------------------


@needs_data
@pytest.mark.parametrize(("encoding", "duly"), [("A", 5_686), ("B", 23_182)])
def test_both_encodings_have_the_papers_columns(credit_folder, encoding, duly):
    """75 columns, the paper's 24 among them; they differ in what undocumented codes become."""
    from sfit.studies._credit_page import PAPER

    X, groups = credit_data.encode(credit_data.load(), encoding)
    assert X.shape == (30_000, 75)
    assert set(PAPER) <= set(X)
    assert X["PAY_0_pay_duly"].sum() == duly
    assert list(groups) == list(credit_data.COLUMNS)
    assert [name for columns in groups.values() for name in columns] == list(X)
    dummies = X.drop(columns=list(credit_data.CONTINUOUS))
    assert set(np.unique(dummies)) == {0.0, 1.0}
    assert (dummies.sum() > 0).all()


def test_a_folder_without_the_data_says_how_to_get_them(tmp_path, monkeypatch):
    """The variable, the file and the way out."""
    monkeypatch.setenv("SFIT_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"SFIT_DATA.*uci_credit_default.*OpenML"):
        credit_data.load()


def test_other_data_under_the_same_name_are_refused(tmp_path, monkeypatch):
    """Columns and class counts are checked after loading."""
    monkeypatch.setenv("SFIT_DATA", str(tmp_path))
    path = tmp_path / credit_data.FILE
    pd.DataFrame({"SEX": [1]}).to_csv(path)
    with pytest.raises(DataError, match="lacks the columns"):
        credit_data.load()
    columns = [*credit_data.COLUMNS, credit_data.TARGET]
    pd.DataFrame(30, index=range(4), columns=columns).assign(default=0).to_csv(path)
    with pytest.raises(DataError, match="not the credit default data"):
        credit_data.load()


@needs_data
def test_what_openml_sends_becomes_the_same_data(credit_folder, monkeypatch):
    """Its names and categories are ours after loading; other columns are refused.

    There is no network in the tests: the answer has the form that OpenML's copy is known to have.
    """
    expected = credit_data.load()
    sent = expected.drop(columns=credit_data.TARGET)
    sent = sent.set_axis([f"x{place}" for place in range(1, 24)], axis=1)
    codes = ["x2", "x3", "x4"]
    sent = sent.astype(dict.fromkeys(codes, str)).astype(dict.fromkeys(codes, "category"))
    target = expected[credit_data.TARGET].astype(str).astype("category")
    answer = {"data": sent, "target": target}
    monkeypatch.delenv("SFIT_DATA")
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **asked: Bunch(**answer))
    pd.testing.assert_frame_equal(credit_data.load(), expected, check_dtype=False)

    answer["data"] = sent.drop(columns="x7").assign(x7=sent["x7"])
    with pytest.raises(DataError, match="expected to have the columns x1 to x23"):
        credit_data.load()
    answer["data"] = sent.assign(x7=sent["x12"])
    with pytest.raises(DataError, match="unknown codes or ages in PAY_2"):
        credit_data.load()


def test_without_a_network_the_error_says_how_to_get_the_data(monkeypatch):
    """The download's own error is in it."""

    def refused(**asked):
        raise OSError("no route")

    monkeypatch.delenv("SFIT_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", refused)
    with pytest.raises(DataError, match=r"no route.*Set SFIT_DATA.*uci_credit_default"):
        credit_data.load()


# --- pages --------------------------------------------------------------------------------


@pytest.mark.skipif(not PAGES.is_dir(), reason="there is no docs/paper beside the tests")
@pytest.mark.parametrize("name", studies.NAMES)
def test_the_pages_in_the_documentation_are_those_of_their_numbers(name, tmp_path):
    """A page made anew from the numbers beside it is the page that is there."""
    pytest.importorskip("matplotlib")
    shutil.copy(PAGES / f"{name}.json", tmp_path)
    report = studies.render(name, tmp_path)
    assert report.page == (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for figure in tmp_path.glob("*.png"):
        assert (PAGES / figure.name).is_file()


def test_a_page_without_numbers_is_refused(tmp_path):
    """The message says what to do first."""
    with pytest.raises(DataError, match=r"no loco\.json.*run the study first"):
        studies.render("loco", tmp_path)


@dataclass(frozen=True)
class Nested:
    """Every kind of value that results have."""

    pairs: dict[int, tuple[str, float]]
    many: tuple[tuple[float, ...], ...]
    rows: list[list[float]]
    unknown: float
    maybe: int | None


def test_a_record_gives_back_what_it_was_made_of():
    """Through JSON: tuples, keys that are numbers, what is not a number, nothing."""
    value = Nested({1: ("a", 2.0)}, ((1.0, 2.0), ()), [[0.5]], float("nan"), None)
    stored = json.loads(json.dumps(_record.storable(asdict(value)), allow_nan=False))
    back = _record.restored(Nested, stored)
    assert np.isnan(back.unknown)
    assert replace(back, unknown=0.0) == replace(value, unknown=0.0)
    assert isinstance(back.many[0], tuple)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_the_commit_is_that_of_this_repository():
    """Or nothing, where the package is not run from it."""
    done = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    commit = _record.commit()
    if done.returncode or not Path(sfit.__file__).is_relative_to(ROOT / "src"):
        assert commit is None
    else:
        assert done.stdout.startswith(commit.split()[0])


def test_cells_of_tables():
    """Three significant digits, thousands apart, dashes for what is missing."""
    cells = [1234.5678, 0.00123456, 12345, None, float("nan"), True, "text"]
    assert [_page.written(cell) for cell in cells] == [
        "1.23e+03",
        "0.00123",
        "12,345",
        "-",
        "-",
        "yes",
        "text",
    ]
    assert _page.table(("a", "b"), [(1, 2.0)]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
