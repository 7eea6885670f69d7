"""The pieces of the study of dependence: settings without effects, recipes, and what its page claims."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from sfit.studies import _dependence_folds as folds
from sfit.studies import _dependence_orders as orders
from sfit.studies import _dependence_page as page
from sfit.studies import _dependence_settings as cells
from sfit.studies import _dependence_tests as tests
from sfit.studies import dependence

RECORD = Path(__file__).parent.parent / "docs" / "paper" / "dependence.json"


def correlation_within(x, y, labels):
    """Of the deviations from the mean of each group."""
    codes = np.unique(labels, return_inverse=True)[1]
    x, y = (v - (np.bincount(codes, v) / np.bincount(codes))[codes] for v in (x, y))
    return float(x @ y / math.sqrt((x @ x) * (y @ y)))


@pytest.mark.parametrize("name", [n for n in cells.STRATA if "Cauchy" not in n])
def test_strata_explain_the_whole_relation(name):
    """The feature and the outcome are related, but not within strata."""
    rng = np.random.default_rng(0)
    samples = [cells.STRATA[name].draw(rng) for _ in range(50)]
    X, y = np.concatenate([s.X for s in samples]), np.concatenate([s.y for s in samples])
    assert np.corrcoef(X[:, 0], y)[0, 1] > 4 / math.sqrt(len(y))
    assert abs(correlation_within(X[:, 0], y, X[:, 1])) < 5 / math.sqrt(len(y))


def test_a_proxy_says_nothing_beyond_the_given_feature():
    """26 settings and two strained ones; y minus the given feature is noise."""
    assert len(cells.BLOCKS) == 26
    for case in [*cells.BLOCKS.values(), *cells.STRAINED.values(), *cells.THREE.values()]:
        sample = case.draw(np.random.default_rng(1))
        assert sample.X.shape[0] == len(sample.y) == case.n_rows
        given = sample.X[:, 1:].sum(axis=1) / math.sqrt(sample.X.shape[1] - 1)
        noise = sample.y - given
        assert abs(np.corrcoef(sample.X[:, 0], noise)[0, 1]) < 5 / math.sqrt(case.n_rows)
        # The model mixes the proxy and what it stands for.
        lean = sample.model.coefficients[0]
        expected = lean * sample.X[:, 0] + (1 - lean) * given
        np.testing.assert_allclose(sample.model(sample.X), expected)


@pytest.mark.parametrize("name", [*cells.CLUSTERS, *cells.SIGNS])
def test_clusters_have_their_sizes(name):
    """Labels, rows, and the promise: exact unless a size occurs once."""
    case = (cells.CLUSTERS | cells.SIGNS)[name]
    sample = case.draw(np.random.default_rng(0))
    sizes = np.bincount(sample.clusters)
    assert sizes.sum() == len(sample.y) == case.n_rows
    alone = np.bincount(sizes)[sizes] == 1
    assert case.guarantee == ("approximate" if alone.any() else "exact")


@pytest.mark.parametrize("name", cells.SIGNS)
def test_clusters_get_better_and_worse_equally_often(name):
    """About 3 % of the clusters are tied where x is constant and the noise is not, as the page says."""
    rng = np.random.default_rng(0)
    samples = [cells.SIGNS[name].draw(rng) for _ in range(100)]
    x, y = np.concatenate([s.X[:, 0] for s in samples]), np.concatenate([s.y for s in samples])
    means = (np.abs(y) - np.abs(y - x)).reshape(-1, cells.SIZE).mean(axis=1)
    tied = np.abs(means) < 1e-12
    assert np.mean(means[~tied] > 0) == pytest.approx(0.5, abs=4 * 0.5 / math.sqrt(len(means)))
    if "1 / 0.5" in name:
        assert 0.02 < tied.mean() < 0.04
    else:
        assert not tied.any()


def test_series_keep_their_memory():
    """The correlation of neighbours is that of the name, from the first row on."""
    rng = np.random.default_rng(0)
    for name, case in cells.SERIES.items():
        memory = float(name.split()[1].rstrip(","))
        series = np.array([case.draw(rng).y for _ in range(300)])
        assert np.mean(series[:, 0] ** 2) == pytest.approx(1, abs=5 * math.sqrt(2 / 300))
        first = np.mean(series[:, 0] * series[:, 1])
        assert first == pytest.approx(memory, abs=5 * math.sqrt(2 / 300))


# --- recipes --------------------------------------------------------------------------------


def test_sources_are_permutations_within_groups():
    """Every row receives the value of a row with its label, and every value is used once."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 7, size=60)
    sources = tests._sources(labels, rng)
    assert sources.shape == (tests.N_PERMUTATIONS, 60)
    np.testing.assert_array_equal(labels[sources], np.broadcast_to(labels, sources.shape))
    np.testing.assert_array_equal(np.sort(sources, axis=1)[0], np.arange(60))
    assert (np.sort(sources, axis=1) == np.arange(60)).all()
    # All members of a group are equally likely.
    group = np.flatnonzero(labels == labels[0])
    counts = np.bincount(sources[:, 0], minlength=60)[group]
    expected = tests.N_PERMUTATIONS / len(group)
    assert np.abs(counts - expected).max() < 5 * math.sqrt(expected)


@pytest.mark.parametrize("groups", [tests.quantile_bins, tests.nearest_neighbours])
def test_groups_of_neighbours_are_small_and_near(groups):
    """Each has four to seven rows, nearer to each other than rows at random."""
    rng = np.random.default_rng(0)
    sample = next(iter(cells.THREE.values())).draw(rng)
    labels = groups(sample, rng)
    sizes = np.unique(labels, return_counts=True)[1]
    assert sizes.min() >= 4
    assert sizes.max() <= 7
    for column in sample.X.T[1:]:
        within = np.mean([column[labels == one].var() for one in np.unique(labels)])
        assert within < 0.5 * column.var()


def test_a_recipe_is_exact_where_its_exchange_is_allowed():
    """Independent rows and a feature without relation: the size is .05, and effects are found."""
    rng = np.random.default_rng(0)
    recipe = tests.rematched(tests.everywhere)

    def rate(effect):
        X = rng.normal(size=(300, 50, 1))
        y = effect * X[:, :, 0] + rng.normal(size=(300, 50))
        samples = [tests.Sample(cells.Linear((1.0,)), *one) for one in zip(X, y, strict=True)]
        return recipe(samples, 0).mean()

    assert abs(rate(0.0) - 0.05) < 4 * math.sqrt(0.0475 / 300)
    assert rate(1.0) > 0.95


def test_what_is_refused_has_a_message():
    """And what is not, has none."""
    assert all(dependence.refusals().values())
    sample = cells.STRATA["2 strata"].draw(np.random.default_rng(0))
    assert tests.refusal(sample, given=["x1"]) == ""


# --- orders and folds -----------------------------------------------------------------------


def test_a_set_is_null_unless_it_completes_an_effect():
    """Over its base: one member of a true pair matters if the other is revealed."""
    full = orders.FULL_WORLD
    assert not full.is_null(("x0",), ())
    assert full.is_null(("x0", "x3"), ("x0",))
    assert not full.is_null(("x0", "x3"), ())
    assert full.is_null(("x1",), ())
    assert not full.is_null(("x1", "x2"), ("x1",))
    assert not full.is_null(("x2", "x3", "x4"), ())
    assert full.is_null(("x2", "x3"), ())
    nothing, partial = orders.WORLDS.values()
    assert nothing.is_null(("x0", "x1", "x2"), ())
    assert partial.is_null(("x1", "x2"), ())
    assert not partial.is_null(("x0",), ())


def test_p_values_of_folds_are_uniform_for_a_fixed_model():
    """Ties included: an outcome with two values and a prediction with three."""
    rng = np.random.default_rng(0)
    p = []
    for _ in range(1_000):
        y, g = rng.integers(0, 2, size=20), rng.integers(0, 3, size=20)
        p.append(folds._p_value(*folds._draws(y, g, rng), rng))
    for level in (0.05, 0.25, 0.5, 0.75):
        error = math.sqrt(level * (1 - level) / 1_000)
        assert np.mean(np.array(p) <= level) == pytest.approx(level, abs=4 * error)


def test_predictions_of_a_fold_come_from_the_others():
    """Outcomes of a fold do not change its predictions, and only one column is revealed."""
    rng = np.random.default_rng(0)
    X, y = folds.draw("least squares, 20 columns", 60, rng)
    fold = np.arange(60) % folds.N_FOLDS
    before = folds._predictions("least squares, 20 columns", X, y, fold)
    changed = np.where(fold == 2, y + rng.normal(size=60), y)
    after = folds._predictions("least squares, 20 columns", X, changed, fold)
    np.testing.assert_array_equal(before[:, fold == 2], after[:, fold == 2])
    assert (before[:, fold != 2] != after[:, fold != 2]).all()
    for place, column in enumerate((folds.TRUE, folds.NULL)):
        slope = np.polyfit(X[fold == 0, column], before[place, fold == 0], 1)
        line = np.polyval(slope, X[fold == 0, column])
        np.testing.assert_allclose(line, before[place, fold == 0])


# --- the page -------------------------------------------------------------------------------


def test_tolerance_and_error():
    """.05 and three standard errors; a share of 0 still has an error."""
    assert page.tolerated(400) == pytest.approx(0.05 + 3 * math.sqrt(0.0475 / 400))
    assert page.error(0.0, 400) == pytest.approx(0.0025, rel=0.1)
    assert page.error(0.5, 400) == pytest.approx(0.025)


def test_what_is_pictured_and_explained_exists():
    """A name that is misspelt would hide a recipe."""
    fold_names = {f"{name}, n = 100" for name in folds.ESTIMATORS}
    known = {part: set(cases) for part, cases in cells.PARTS.items()}
    known |= {"orders": set(orders.WORLDS), "folds": fold_names}
    recipes = {part: set() for part in known}
    for part, cases in cells.PARTS.items():
        for case in cases.values():
            recipes[part] |= set(case.tests) - {cells.SFIT}
    # Holm's correction does control its order.
    recipes["orders"] = set(orders.WAYS) - {cells.SFIT, "Holm within each order"}
    recipes["folds"] = recipes["pooled"] = set(folds.POOLED)
    for _, part, setting, recipe in page.PICTURED:
        assert setting in known[part]
        assert recipe in recipes[part]
    explained = {recipe for recipe, *_ in page.RECIPES}
    assert explained == set().union(*recipes.values())
    for recipe, parts, *_ in page.RECIPES:
        assert all(recipe in recipes[part] for part in parts)


@pytest.mark.skipif(not RECORD.is_file(), reason="there is no docs/paper beside the tests")
def test_the_full_run_keeps_its_promises():
    """Exact means within the tolerance, in every setting; every recipe fails somewhere."""
    result = json.loads(RECORD.read_text(encoding="utf-8"))["result"]
    worst = {}
    for part in result["sizes"].values():
        for name, cell in part.items():
            if cell["guarantee"] == "exact":
                assert cell["rejected"]["sfit"] <= page.tolerated(cell["n_sets"]), name
            for test, rate in cell["rejected"].items():
                margin = rate - page.tolerated(cell["n_sets"])
                worst[test] = max(worst.get(test, -1.0), margin)
    assert all(worst[recipe] > 0 for recipe, *_ in page.RECIPES)
    assert all(result["refusals"].values())
