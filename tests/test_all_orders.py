"""Error control over all orders: `alpha_by_order`."""

from dataclasses import replace
from itertools import combinations
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import slow
from test_procedure import evidence_of, plan_of, run

import sfit
from sfit._losses import LOSSES
from sfit._permutation_test import PermutationStatistic
from sfit._procedure import plan_sets
from sfit.exceptions import ArgumentError, DataError

PERMUTATION = PermutationStatistic(
    0.05, sfit.PermutationTest(), LOSSES["squared_error"], 0, 1, 100, False
)

# ------------------------------------------------------------------------- the number of possible sets


def subsets(items):
    return [set(chosen) for size in range(len(items) + 1) for chosen in combinations(items, size)]


def is_planned(term, found, partners, exhaustive):
    """Section 2.3, set by set: some member j is new, the others are among its partners."""
    return any((exhaustive or j not in found) and term - {j} <= set(partners[j]) for j in term)


@st.composite
def designs(draw):
    width = draw(st.integers(1, 5))
    names = "abcde"[:width]
    given_ = frozenset(draw(st.sets(st.integers(0, width - 1), max_size=width - 1)))
    tested = [j for j in range(width) if j not in given_]
    partners = {
        j: draw(st.lists(st.sampled_from([k for k in tested if k != j]), unique=True))
        if len(tested) > 1
        else []
        for j in tested
    }
    statistic = PERMUTATION if draw(st.booleans()) else plan_of().statistic
    orders = draw(st.integers(1, 4))
    return plan_of(
        names, given=given_, partners=partners, statistic=statistic, max_order=orders,
        exhaustive=draw(st.booleans()), betas=(0.0,) * orders,
        alpha_by_order=tuple(0.05 / orders for _ in range(orders)),
    )  # fmt: skip


@given(designs())
def test_the_number_of_sets_counts_every_set_that_some_found_features_would_plan(design):
    """By brute force: the union of the plans over all subsets of the tested features."""
    for order in range(2, design.max_order + 1):
        possible = {
            frozenset(term)
            for found in subsets(design.tested)
            for term in map(frozenset, combinations(design.tested, order))
            if is_planned(term, found, design.partners, design.exhaustive)
        }
        planned = {
            term
            for found in subsets(design.tested)
            for term in plan_sets(design, order, frozenset(found))
        }
        assert planned == possible
        n_bases = 2 if order == 2 and design.statistic is PERMUTATION else 2**order - 1
        correction = design.correction_at(order)
        assert correction.method is None
        assert correction.factor == pytest.approx(design.max_order * n_bases * len(possible))


@pytest.mark.parametrize("n_partners", [None, 1, 2])
def test_closed_forms(n_partners):
    """All partners: p over m sets. The first partner of everyone in a star: p - 1 pairs."""
    p = 6
    star = {j: ([0] if j else [1, 2, 3, 4, 5])[:n_partners] for j in range(p)}
    everyone = {j: [k for k in range(p) if k != j] for j in range(p)}
    levels = (0.025, 0.0125, 0.0125)
    design = plan_of("abcdef", partners=everyone, alpha_by_order=levels)
    assert design.correction_at(1) == replace(design.correction_at(1), method="holm", factor=2)
    assert design.correction_at(2).factor == 4 * 3 * comb(p, 2)
    assert design.correction_at(3).factor == 4 * 7 * comb(p, 3)
    design = replace(design, partners=star, statistic=PERMUTATION)
    assert design.correction_at(2).factor == 4 * 2 * (p - 1)


def test_far_orders_are_counted_only_when_they_are_reached():
    """Twenty orders of forty features would be 10^11 sets; a closed gate ends before."""
    names = [f"x{j}" for j in range(40)]
    everyone = {j: [k for k in range(40) if k != j] for j in range(40)}
    design = plan_of(
        names, partners=everyone, max_order=20, betas=(0.0,) * 20,
        alpha_by_order=(0.05 / 20,) * 20,
    )  # fmt: skip
    stages, *_ = run(design, lambda one: 0)
    assert len(stages) == 2


# ------------------------------------------------------------------------------- decisions, naively


@given(
    st.lists(st.integers(40, 100), min_size=64, max_size=64),
    st.sampled_from([(0.05,), (0.025, 0.025), (0.01, 0.03, 0.01)]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60)
def test_decisions_compare_p_with_the_level_of_the_order(counts, levels, exhaustive, strict):
    """Holm at alpha_1, then p < alpha_m / (k_m N_m), step by step; p_adjusted < alpha says it."""
    alpha = sum(levels)
    design = plan_of(
        "abcd", max_order=len(levels), betas=(0.0,) * len(levels), alpha_by_order=levels,
        exhaustive=exhaustive, strict=strict,
    )  # fmt: skip

    def oracle(contrast):
        if contrast.role == "gate":
            return evidence_of(90)
        number = sum(1 << j for j in contrast.base.shown) + 4 * sum(contrast.full.shown)
        return evidence_of(counts[number % 64])

    _, tests, _ = run(design, oracle)
    for order, level in enumerate(levels, start=1):
        family = [test for test in tests if test.order == order]
        p_values = [slow.p_value(test.n_positive, test.n) for test in family]
        if order == 1:
            left, rejected = len(p_values), set()
            for place in sorted(range(len(p_values)), key=p_values.__getitem__):
                if not p_values[place] < level / left:
                    break
                left -= 1
                rejected.add(place)
        else:
            # All partners, so that every set of this size could be planned.
            threshold = level / ((2**order - 1) * comb(4, order))
            rejected = {place for place, p in enumerate(p_values) if p < threshold}
        assert {i for i, test in enumerate(family) if test.significant} == rejected
        assert all(test.significant == (test.p_adjusted < alpha) for test in family)


def test_the_split_by_default():
    """Halves of what is left, and the last order takes the rest."""
    X = np.random.default_rng(0).normal(size=(40, 3))

    def levels(**options):
        result = sfit.feature_significance(
            lambda Z: np.asarray(Z)[:, 0], X, X[:, 0], reference=0, alpha_by_order="auto", **options
        )
        return result.settings.alpha_by_order

    assert levels() == (0.05,)
    assert levels(max_order=2) == (0.025, 0.025)
    assert levels(max_order=3, alpha=0.2) == (0.1, 0.05, 0.05)
    assert sum(levels(max_order=7)) == 0.05


# -------------------------------------------------------------------------------------- whole runs


def bounded_sum(X):
    """A model that uses every feature, with predictions within (-1, 1)."""
    return 0.9 * np.tanh(np.asarray(X).sum(axis=1))


def test_a_permutation_run_has_enough_permutations_for_its_levels():
    """B + 1 is at least twice k_m N_m / alpha_m, and everything is said in words and JSON."""
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 12))
    y = rng.normal(size=80)
    result = sfit.feature_significance(
        bounded_sum, X, y, test="permutation", reference=0, max_order=2,
        alpha_by_order=(0.03, 0.02), random_state=0,
    )  # fmt: skip
    sizes = {test.order: round(1 / test.p_resolution) for test in result.tests}
    assert sizes == {1: 2_000, 2: 14_000}
    assert 13_000 < 2 * 2 * comb(12, 2) / 0.02 <= 14_000
    assert not any("can be below" in text for text in result.caveats)
    for test in result.tests:
        times = 0.05 / 0.03 if test.order == 1 else 0.05 / 0.02 * 2 * comb(12, 2)
        assert test.p_adjusted >= min(1.0, times * test.p_value) * (1 - 1e-12)
    assert "over all orders (alpha 0.03, 0.02)" in result.summary()
    assert "over all orders" in result.to_markdown()
    assert "adj. p" in result.summary()
    assert "without a correction" not in result.to_markdown()
    assert not any("conditionally" in text for text in result.caveats)
    again = sfit.SFITResult.from_json(result.to_json())
    assert again == result
    assert again.settings.alpha_by_order == (0.03, 0.02)


def test_too_few_permutations_are_reported():
    """The caveat compares the resolution with the level of the order."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 5)), rng.normal(size=80)
    result = sfit.feature_significance(
        bounded_sum, X, y, test=sfit.PermutationTest(n_permutations=999), reference=0,
        max_order=2, alpha_by_order=(0.04, 0.01), random_state=0,
    )  # fmt: skip
    [text] = [text for text in result.caveats if "can be below" in text]
    assert "order 2" in text
    assert "compared with 0.0005" in text


def test_a_result_is_not_decided_at_other_levels():
    """`at` without a change is the result; any change is refused, in parts as well."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    options = {"reference": 0, "max_order": 2, "alpha_by_order": "auto"}
    result = sfit.feature_significance(bounded_sum, X, X[:, 0], **options)
    assert result.at() == result.at(alpha=0.05) == result
    with pytest.raises(ArgumentError, match=r"alpha=0\.01 .* alpha_by_order=\(0\.025, 0\.025\)"):
        result.at(alpha=0.01)
    with pytest.raises(ArgumentError, match=r"correction='holm' .* Run the test again"):
        result.at(correction="holm")
    parts = sfit.feature_significance(bounded_sum, X, X[:, 0], by=X[:, 1] > 0, **options)
    with pytest.raises(ArgumentError, match="Run the test again"):
        parts.at(alpha=0.01)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"correction": null', '"correction": "holm"'),
        ('"max_order": 2', '"max_order": 3'),
        ("0.0125\n", "0.0225\n"),
        ("0.0125\n", "1.5\n"),
    ],
)
def test_a_file_whose_levels_contradict_the_rest_is_refused(old, new):
    """The levels are those of the orders, add up to alpha, and exclude a correction."""
    from test_result import resealed

    X = np.random.default_rng(0).normal(size=(60, 3))
    result = sfit.feature_significance(
        bounded_sum, X, X[:, 0], reference=0, max_order=2, alpha_by_order=(0.0375, 0.0125)
    )
    with pytest.raises(DataError, match="alpha_by_order"):
        sfit.SFITResult.from_json(resealed(result.to_json(), old, new))


# ------------------------------------------------------------------------------------------- simulation


def false_rejections(test, strong, n_runs, seed):
    """Share of runs with at least one false rejection, and with x0 found.

    The outcome is 1 or -1, and every prediction lies between: a row improves when the prediction moves
    towards its outcome. If what moves it is independent of the outcome, that happens with probability
    1/2 exactly, so every null hypothesis is at its boundary, for both tests.
    """
    rng = np.random.default_rng(seed)
    n, options = 120, {"beta": 0.0} if test == "sign" else {}
    if test == "permutation":
        # The smallest threshold is 0.1 / (2 * 3): 999 permutations reach it.
        test = sfit.PermutationTest(n_permutations=999)
    wrong = found = 0
    for number in range(n_runs):
        X = rng.normal(size=(n, 3))
        # The permutation test can ask over a binary feature, by strata.
        X[:, 0] = np.sign(X[:, 0])
        y = rng.choice([-1.0, 1.0], n)
        if strong:
            y = np.where(rng.random(n) < 0.7, X[:, 0], y)
        result = sfit.feature_significance(
            bounded_sum, X, y, test=test, reference=0, max_order=2, alpha=0.2,
            alpha_by_order="auto", random_state=number, **options,
        )  # fmt: skip
        rejected = [test for test in result.tests if test.significant]
        # A set over a base that holds x0 is about the other features only.
        new = [set(test.term) - set(test.base) for test in rejected]
        wrong += any(not strong or "x0" not in features for features in new)
        found += "x0" in result.selected
    return wrong / n_runs, found / n_runs


@pytest.mark.parametrize("strong", [False, True], ids=["global null", "partial null"])
@pytest.mark.parametrize("test", ["sign", "permutation"])
def test_any_false_rejection_is_at_most_alpha(test, strong):
    """Over all orders, at alpha = 0.2, within three binomial standard errors."""
    n_runs = 120
    wrong, found = false_rejections(test, strong, n_runs, seed=7)
    assert wrong <= 0.2 + 3 * sqrt(0.2 * 0.8 / n_runs)
    assert wrong > 0  # the null hypotheses are at their boundary, so some run rejects
    assert found > 0.99 if strong else True


def test_sets_that_are_refused_count():
    """No test is known over two continuous features: their set counts all the same."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    result = sfit.feature_significance(
        bounded_sum, X, X[:, 0] + X[:, 1], test=sfit.PermutationTest(n_permutations=9_999),
        reference=0, max_order=3, alpha_by_order="auto", random_state=0,
    )  # fmt: skip
    assert result.significant[1] == [("x0",), ("x1",)]
    assert any("not tested: x0 and x1 and x2 over x0 and x1" in text for text in result.caveats)
    pairs = [test for test in result.tests if test.order == 2]
    assert 0 < len(pairs) < comb(3, 2)
    for test in pairs:
        assert test.p_adjusted == pytest.approx(min(1.0, test.p_value * 4 * 2 * comb(3, 2)))
