"""What must not change the answer, and what may change it in one direction only."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.tree import DecisionTreeRegressor

import sfit

NAMES = list("abcd")
NUMBERS = ("statistic", "ci_low", "ci_high", "ci_lower")
SEEDS = st.integers(0, 2**32 - 1)
BETAS = st.sampled_from([0.0, 1e-3, 1e-2, 0.1, 0.5])
ALPHAS = st.sampled_from([0.001, 0.01, 0.05, 0.2, 0.5])


REGRESSORS = ("function", "linear", "tree", "network", "smooth network")
CLASSIFIERS = ("logistic", "forest", "deep classifier")


def by_name(rows):
    """Uses a, the product of a and b, and c in steps; knows its columns by name. d is ignored."""
    return (rows["a"] + rows["a"] * rows["b"] + np.floor(rows["c"])).to_numpy()


def fitted(kind, X, y):
    if kind == "function":
        return by_name
    flat, deep = ({"hidden_layer_sizes": s, "max_iter": 5, "random_state": 0} for s in [6, (8, 4)])
    model = {
        "linear": LinearRegression(),
        "tree": DecisionTreeRegressor(max_depth=4, random_state=0),
        "logistic": LogisticRegression(),
        "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
        "network": MLPRegressor(**deep),
        "smooth network": MLPRegressor(activation="tanh", **flat),
        "deep classifier": MLPClassifier(**deep),
    }[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


@st.composite
def problems(draw, kinds=(*REGRESSORS, *CLASSIFIERS)):
    """A model and rows; on a coarse grid, ties and losses of zero are common."""
    rng, kind = np.random.default_rng(draw(SEEDS)), draw(st.sampled_from(kinds))
    n = draw(st.integers(30, 120))
    X = rng.normal(size=(n, 4))
    if draw(st.booleans()):
        X = np.round(X)
    X = pd.DataFrame(X, columns=NAMES)
    y = by_name(X) + rng.normal(size=n) * draw(st.sampled_from([0.0, 1.0, 5.0]))
    if kind in CLASSIFIERS:
        y = (y > np.median(y)).astype(int)
        y[:2] = 0, 1
    return fitted(kind, X, y), X, y


def up_to_pairs(model, X, y, **options):
    """The tests of all sets up to pairs, whatever is found; no random number is involved."""
    options = {"max_order": 2, "exhaustive": True, "reference": 0.25, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sfit.exceptions.SFITWarning)
        return sfit.feature_significance(model, X, y, **options)


def counts(result):
    return [(test.term, test.base, test.n_positive, test.n) for test in result.tests]


def renamed(tests, names):
    """Tests with other names of their features, in the order of their terms."""
    new = [
        replace(
            test,
            term=tuple(sorted(names[one] for one in test.term)),
            base=tuple(sorted(names[one] for one in test.base)),
        )
        for test in tests
    ]
    return sorted(new, key=lambda test: (test.order, test.term))


def assert_alike(ours, theirs):
    """Counts and decisions exactly; the rest but for the last digits of a matrix product."""
    for one, other in zip(ours, theirs, strict=True):
        for name, value in vars(other).items():
            expected = value
            if isinstance(value, float):
                expected = pytest.approx(value, rel=1e-9, abs=1e-12, nan_ok=True)
            assert getattr(one, name) == expected, name


@settings(max_examples=8)
@given(problems(), SEEDS, BETAS)
def test_the_order_of_the_rows_does_not_matter(problem, seed, beta):
    """Every number of every test and gate."""
    model, X, y = problem
    order = np.random.default_rng(seed).permutation(len(X))
    plain = up_to_pairs(model, X, y, beta=beta)
    shuffled = up_to_pairs(model, X.iloc[order].reset_index(drop=True), y[order], beta=beta)
    assert_alike(shuffled.tests, plain.tests)
    assert_alike(shuffled.gates, plain.gates)


@settings(max_examples=8)
@given(problems(kinds=["function"]), st.permutations(NAMES), BETAS)
def test_the_order_and_the_names_of_the_features_do_not_matter(problem, order, beta):
    """Columns in another order, and under other names, have the tests that they had."""
    model, X, y = problem
    new = dict(zip(NAMES, ["x10", "x9", "a", "b"], strict=True))
    old = {value: key for key, value in new.items()}
    other = up_to_pairs(
        lambda rows: model(rows.rename(columns=old)), X[order].rename(columns=new), y, beta=beta
    )
    plain = up_to_pairs(model, X, y, beta=beta)
    assert repr(renamed(other.tests, old)) == repr(
        renamed(plain.tests, dict(zip(NAMES, NAMES, strict=True)))
    )
    assert [(g.n_positive, g.p_value, g.is_open) for g in other.gates] == [
        (g.n_positive, g.p_value, g.is_open) for g in plain.gates
    ]


@settings(max_examples=8)
@given(problems(kinds=REGRESSORS), st.integers(-20, 20), BETAS)
def test_scaling_the_loss_scales_the_differences_only(problem, power, beta):
    """A loss in other units: statistics and intervals in these units, everything else as it was."""
    model, X, y = problem
    scale = 2.0**power
    plain = up_to_pairs(model, X, y, beta=beta)
    scaled = up_to_pairs(model, X, y, beta=beta, loss=lambda y, p: scale * np.abs(y - p))
    expected = []
    for test, other in zip(plain.tests, scaled.tests, strict=True):
        # Mean losses keep ten digits.
        means = {name: getattr(other, name) for name in ("loss_base", "loss_full")}
        for name, mean in means.items():
            assert mean == pytest.approx(scale * getattr(test, name), rel=1e-9)
        changed = {name: scale * getattr(test, name) for name in NUMBERS}
        expected.append(replace(test, **changed, **means))
    assert repr(scaled.tests) == repr(tuple(expected))


@settings(max_examples=8)
@given(problems(), BETAS, st.integers(1, 40))
def test_blocks_of_rows_add_up(problem, beta, size):
    """The rows of a part are tested as if they came alone; positive rows of all parts add up."""
    model, X, y = problem
    block = np.minimum(np.arange(len(X)) // size, 3)
    options = {"beta": beta, "max_order": 1}
    whole = up_to_pairs(model, X, y, **options)
    parts = up_to_pairs(model, X, y, by=block, **options)
    together = zip(*(parts[part].tests for part in parts), strict=True)
    assert [sum(test.n_positive for test in of_set) for of_set in together] == [
        test.n_positive for test in whole.tests
    ]
    for part in parts:
        own = block == int(part)
        alone = up_to_pairs(model, X[own].reset_index(drop=True), y[own], **options)
        assert_alike(alone.tests, parts[part].tests)


@settings(max_examples=8)
@given(problems(kinds=["function"]), BETAS, st.sampled_from([-3.0, 0.0, 0.25, 1e9]))
def test_a_constant_equal_to_its_reference_is_never_positive(problem, beta, value):
    """Whatever the model makes of it: revealing it shows nothing new. The others stay."""
    model, X, y = problem

    def with_constant(rows):
        return model(rows) + np.sin(rows["k"].to_numpy())

    reference = {**dict.fromkeys(NAMES, 0.25), "k": value}
    result = up_to_pairs(with_constant, X.assign(k=value), y, beta=beta, reference=reference)
    plain = up_to_pairs(lambda rows: model(rows) + np.sin(np.float64(value)), X, y, beta=beta)
    alone = [test for test in result.tests if test.term == ("k",)]
    assert [(test.n_positive, test.significant) for test in alone] == [(0, False)]
    others = [test for test in result.tests if "k" not in test.term]
    assert repr(others) == repr(list(plain.tests))
    assert [g.n_positive for g in result.gates] == [g.n_positive for g in plain.gates]


@settings(max_examples=8)
@given(problems(kinds=["function"]), BETAS)
def test_a_copy_of_a_feature_takes_nothing_from_it(problem, beta):
    """A copy that the model ignores is never positive; one that it uses instead is as good."""
    model, X, y = problem
    plain = up_to_pairs(model, X, y, beta=beta, max_order=1).tests
    doubled = X.assign(copy=X["a"])
    ignored = up_to_pairs(model, doubled, y, beta=beta, max_order=1).tests
    assert repr(ignored[:4]) == repr(plain)
    assert ignored[4].n_positive == 0
    instead = up_to_pairs(
        lambda rows: model(rows.assign(a=rows["copy"])), doubled, y, beta=beta, max_order=1
    ).tests
    assert repr(replace(instead[4], term=("a",))) == repr(plain[0])
    assert instead[0].n_positive == 0


@settings(max_examples=20)
@given(
    problems(kinds=["network", "smooth network", "deep classifier", "linear", "logistic"]),
    BETAS,
    st.booleans(),
)
def test_an_ignored_input_of_a_network_is_never_positive(problem, beta, fast):
    """Along every route: alone, beyond another feature, beyond all others, and in pairs."""
    model, X, y = problem
    for weights in [model.coefs_[0]] if hasattr(model, "coefs_") else [model.coef_.T]:
        weights[3] = 0
    for given_ in ((), "rest", ["a"]):
        result = up_to_pairs(model, X, y, beta=beta, given=given_, max_order=1, fast=fast)
        [test] = [test for test in result.tests if test.term == ("d",)]
        assert (test.n_positive, test.p_value) == (0, 1.0)
    pairs = up_to_pairs(model, X, y, beta=beta, strict=True, fast=fast).tests
    assert not any(test.n_positive for test in pairs if "d" in test.term)


@settings(max_examples=8)
@given(problems(kinds=["function"]), st.floats(0, 1), st.floats(0.001, 0.999), SEEDS)
def test_an_ignored_feature_is_never_significant(problem, beta, alpha, seed):
    """At any beta and alpha, in either precision, alone or beyond the others."""
    _, X, y = problem
    rng = np.random.default_rng(seed)
    dtype = [np.float32, np.float64][seed % 2]
    first, last = rng.normal(size=(4, 16)).astype(dtype), rng.normal(size=16).astype(dtype)
    first[3] = 0

    def network(rows):
        return np.tanh(np.asarray(rows, dtype=dtype) @ first) @ last

    for given_ in ((), "rest", ["a"]):
        result = up_to_pairs(network, X, y, beta=beta, alpha=alpha, given=given_, max_order=1)
        [test] = [test for test in result.tests if test.term == ("d",)]
        assert (test.n_positive, test.p_value, test.significant) == (0, 1.0, False)
        assert test.statistic <= 0


@settings(max_examples=8)
@given(problems(), BETAS, BETAS)
def test_a_larger_beta_never_finds_more(problem, one, other):
    """Counts, statistics and interval ends of each contrast fall; beta_max stays."""
    model, X, y = problem
    low, high = sorted([one, other])
    small, large = (up_to_pairs(model, X, y, beta=b, max_order=1).tests for b in (low, high))
    for before, after in zip(small, large, strict=True):
        assert after.n_positive <= before.n_positive
        assert after.p_value >= before.p_value
        assert after.significant <= before.significant
        for name in NUMBERS:
            assert getattr(after, name) <= getattr(before, name)
        assert after.beta_max == pytest.approx(before.beta_max, rel=0, abs=0, nan_ok=True)


@settings(max_examples=8)
@given(problems(), ALPHAS, ALPHAS, BETAS, st.sampled_from(["exact", "asymptotic"]))
def test_a_larger_alpha_finds_no_less_and_intervals_are_nested(problem, one, other, beta, interval):
    """The narrower interval lies in the wider one; counts, p-values and medians stay."""
    model, X, y = problem
    low, high = sorted([one, other])
    options = {"beta": beta, "test": sfit.SignTest(interval=interval), "max_order": 1}
    strict, lax = (up_to_pairs(model, X, y, alpha=alpha, **options) for alpha in (low, high))
    assert [
        (*c, t.p_value, t.statistic) for c, t in zip(counts(strict), strict.tests, strict=True)
    ] == [(*c, t.p_value, t.statistic) for c, t in zip(counts(lax), lax.tests, strict=True)]
    for wide, narrow in zip(strict.tests, lax.tests, strict=True):
        assert wide.ci_low <= narrow.ci_low <= narrow.statistic <= narrow.ci_high <= wide.ci_high
        assert wide.ci_lower <= narrow.ci_lower
        assert wide.significant <= narrow.significant
        assert np.isnan(wide.beta_max) or wide.beta_max <= narrow.beta_max


@settings(max_examples=8)
@given(problems(), ALPHAS, st.sampled_from([None, "fdr_by", "fdr_bh", "holm", "bonferroni"]))
def test_deciding_again_is_testing_again(problem, alpha, correction):
    """`.at` decides first order from stored counts as a new run does; intervals keep their level."""
    model, X, y = problem
    stored = up_to_pairs(model, X, y, max_order=1)
    again = stored.at(alpha=alpha, correction=correction)
    fresh = up_to_pairs(model, X, y, max_order=1, alpha=alpha, correction=correction)
    for name in ("term", "n_positive", "p_value", "p_adjusted", "significant"):
        assert [getattr(t, name) for t in again.tests] == [getattr(t, name) for t in fresh.tests]
    assert [t.ci_low for t in again.tests] == [t.ci_low for t in stored.tests]
