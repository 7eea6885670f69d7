"""The pieces of the study of comparisons: settings with equal means, decisions, and what its page claims."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sfit.studies import _comparison_cases as cases
from sfit.studies import _comparison_page as page
from sfit.studies import _comparison_parts as parts
from sfit.studies import _comparison_tests as tests
from sfit.studies._page import tolerated

RECORD = Path(__file__).parent.parent / "docs" / "paper" / "comparisons.json"

PAIRED = {f"{part}: {name}": case for part, some in cases.PAIRED_SIZES.items() for name, case in some.items()}  # fmt: skip


def large_sample(case, n=400_000):
    """Differences of many rows."""
    return case.compared.differences(case.draw(np.random.default_rng(0), n))


# --- settings -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in PAIRED if "t(3)" not in name])
def test_means_are_equal_where_the_size_is_measured(name):
    """Or the mean difference is negative: an invented interaction does harm."""
    differences = large_sample(PAIRED[name])
    error = differences.std() / math.sqrt(len(differences))
    if "the model has one" in name:
        assert differences.mean() < -5 * error
    else:
        assert abs(differences.mean()) <= 5 * error


@pytest.mark.parametrize("name", [name for name, case in PAIRED.items() if case.guarantee == "exact"])  # fmt: skip
def test_exact_settings_have_symmetric_differences(name):
    """As many beyond any bound above as below: the sign flips are then exact."""
    differences = large_sample(PAIRED[name])
    for bound in (0.0, 0.5, 2.0):
        above, below = np.sum(differences > bound), np.sum(differences < -bound)
        assert abs(above - below) <= 5 * math.sqrt(above + below + 1)


@pytest.mark.parametrize("part", cases.PAIRED_POWERS)
@pytest.mark.parametrize("effect", [0.0, 0.3, 0.6])
def test_effects_have_their_size(part, effect):
    differences = large_sample(cases.PAIRED_POWERS[part](effect))
    error = differences.std() / math.sqrt(len(differences))
    assert abs(differences.mean() - effect) <= 5 * error


@pytest.mark.parametrize("name", parts.PARTS)
def test_parts_have_their_rows_and_equal_mean_gains(name):
    case, n = parts.PARTS[name], 200_000
    labels = case.labels(n)
    np.testing.assert_allclose(np.bincount(labels) / n, case.shares, atol=1e-5)
    sample = case.draw(np.random.default_rng(0), n)
    gains = cases.gain_of(sample.X[:, 0], sample.y)
    for part in range(len(case.shares)):
        some = gains[labels == part]
        assert abs(some.mean() - 1) <= 5 * some.std() / math.sqrt(len(some))


@pytest.mark.parametrize(
    ("case", "gains"),
    [(parts.one_part_less(0.5), [1, 0.5]), (parts.falling(0.6), [1, 0.8, 0.6, 0.4])],
)
def test_effects_of_parts_have_their_size(case, gains):
    n = 200_000
    labels, sample = case.labels(n), case.draw(np.random.default_rng(0), n)
    seen = cases.gain_of(sample.X[:, 0], sample.y)
    for part, gain in enumerate(gains):
        some = seen[labels == part]
        assert abs(some.mean() - gain) <= 5 * some.std() / math.sqrt(len(some))


def test_true_ranks_of_ties():
    family = cases.Family((1.0, 1.0, 0.5, 0.5, 0.5))
    assert [family.true_ranks(f"x{j}") for j in range(5)] == [(1, 2)] * 2 + [(3, 5)] * 3
    assert family.larger("x0", "x2")
    assert not family.larger("x0", "x1")
    assert not family.larger("x2", "x0")
    X = family.draw(np.random.default_rng(0), 200_000)
    alone = family.model(X.X * np.eye(5)[2])
    assert cases.gain_of(alone, X.y).mean() == pytest.approx(0.5, abs=0.03)


# --- decisions ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAIRED)
def test_the_public_function_gives_the_same_p_values(name):
    """The formula, and the data set asked again; sizes that share slots included."""
    for n in (50, 2_100):
        decided = tests.decide_paired(PAIRED[name], n, [1, n], 3, 2)
        assert decided[tests.AGREES].shape == (2, 1)
        assert decided[tests.AGREES].all()
        assert decided[tests.SFIT].shape == decided[tests.SIGN].shape == (3, 1)


@pytest.mark.parametrize("name", parts.PARTS)
def test_the_public_function_gives_the_same_p_values_of_parts(name):
    decided = parts.decide_parts(parts.PARTS[name], 60, [1], 3, 2)
    assert decided[tests.AGREES].shape == (2, 1)
    assert decided[tests.AGREES].all()


def test_disagreement_would_show():
    """A formula with another loss does not agree."""
    true = cases.FIRST_OR_SECOND
    wrong = cases.Paired(lambda one: 1 + true.differences(one), true.asked, true.side)
    case = cases.Case(cases._columns, wrong, "exact")
    assert not tests.decide_paired(case, 50, [1], 2, 2)[tests.AGREES].any()


def test_strong_effects_are_found():
    for part, case_of in cases.PAIRED_POWERS.items():
        assert tests.decide_paired(case_of(0.6), 1_000, [2], 5, 0)[tests.SFIT].all(), part
    assert parts.decide_parts(parts.one_part_less(1.5), 1_000, [2], 5, 0)[parts.OVERALL].all()
    assert parts.decide_parts(parts.falling(1.5), 1_000, [2], 5, 0)[parts.TREND].all()


def test_wrong_pairs_and_intervals_are_counted(monkeypatch):
    """A stub decides that the second of two equal features gains more, or the true answer."""
    family = cases.Family((1.0, 1.0, 0.5))

    def feature(name, low, high):
        return SimpleNamespace(feature=name, rank_low=low, rank_high=high)

    def pair(first, second, larger=None):
        return SimpleNamespace(first=first, second=second, larger=larger)

    answers = iter(
        [
            SimpleNamespace(
                features=[feature("x0", 2, 2), feature("x1", 1, 1), feature("x2", 3, 3)],
                pairs=[pair("x0", "x1", "x1"), pair("x0", "x2", "x0"), pair("x1", "x2", "x1")],
            ),
            SimpleNamespace(
                features=[feature("x0", 1, 2), feature("x1", 1, 3), feature("x2", 2, 3)],
                pairs=[pair("x0", "x1"), pair("x0", "x2", "x0"), pair("x1", "x2")],
            ),
        ]
    )
    monkeypatch.setattr(tests, "compare_features", lambda *_: next(answers))
    decided = tests.decide_family(family, 20, [0], 2)
    assert decided[tests.WRONG].tolist() == [[True], [False]]
    assert decided[tests.MISSED].tolist() == [[True], [False]]
    assert decided[tests.DECIDED].tolist() == [[True, True, True], [False, True, False]]


def test_the_recipe_is_a_permutation_test_without_standard_errors():
    """Against a loop over the same labels; its size is right where the parts are alike."""
    labels = np.repeat([0, 1, 2], [4, 3, 3])
    gains = np.random.default_rng(0).normal(size=(5, 10))
    p_values = parts.recipe_p_values(gains, labels, np.random.default_rng(1))
    rng = np.random.default_rng(1)
    drawn = [labels, *(rng.permutation(labels) for _ in range(parts.N_PERMUTATIONS))]
    for row, p in zip(gains, p_values, strict=True):
        between = [
            sum(np.sum(one == k) * (row[one == k].mean() - row.mean()) ** 2 for k in range(3))
            for one in drawn
        ]
        assert p == pytest.approx(np.mean(np.array(between) >= between[0] * (1 - 1e-10)))
    case = parts.PARTS["two parts, equal distributions"]
    samples = [case.draw(np.random.default_rng(seed), 50) for seed in range(400)]
    gains = np.array([cases.gain_of(one.X[:, 0], one.y) for one in samples])
    rate = np.mean(parts.recipe_p_values(gains, case.labels(50), rng) < 0.05)
    assert rate <= tolerated(400)


# --- the page -------------------------------------------------------------------------------


@pytest.mark.skipif(not RECORD.is_file(), reason="there is no docs/paper beside the tests")
def test_the_full_run_keeps_its_promises():
    """Exact means within the tolerance; ranks are covered; the recipe and the sign test reject."""
    result = json.loads(RECORD.read_text(encoding="utf-8"))["result"]
    assert 0 < result["n_asked"] == result["n_agreed"]
    every = [page.Cell(**cell) for cells in result["sizes"].values() for cell in cells]
    for cell in every:
        if cell.guarantee == "exact":
            assert cell.rejected[cell.ours] <= tolerated(cell.n_sets), cell
    for cell in result["families"]:
        assert cell["rejected"][tests.MISSED] <= tolerated(cell["n_sets"])
        assert cell["rejected"][tests.MISSED] <= cell["rejected"][tests.WRONG]
    large = [cell for cell in every if cell.n_rows >= 1_000]
    assert max(cell.rejected.get(tests.SIGN, 0) for cell in large) == 1
    noisy = [cell for cell in every if cell.setting == "two parts, the small one noisy"]
    assert min(cell.rejected[parts.RECIPE] for cell in noisy) > 0.2
    for cells in result["powers"].values():
        for n in {cell["n_rows"] for cell in cells}:
            rates = [page.Cell(**cell) for cell in cells if cell["n_rows"] == n]
            assert rates[-1].rejected[rates[-1].ours] > rates[0].rejected[rates[0].ours]
