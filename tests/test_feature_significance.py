"""The paper's procedure as a whole: numbers of STATISTICS.md, orders, gates and all options."""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import sfit
from sfit.exceptions import ArgumentError, SFITWarning
from sfit.simulate import interactions, interactions_mean

ROWS = 400_000


@pytest.fixture(scope="module")
def many_rows():
    """Rows of section 3, enough to see population values."""
    return interactions(ROWS, random_state=20240601)


def find_test(result, *names):
    [test] = [test for test in result.tests if test.term == names]
    return test


def assert_share(n_positive, n, share):
    """Within 4 binomial standard errors of the share, which is itself rounded to four digits."""
    error = 4 * np.sqrt(share * (1 - share) / n) + 0.5e-4
    assert abs(n_positive / n - share) < error


# Medians and shares of STATISTICS.md: per set, per beta; Monte Carlo errors for beta <= 0.01.
POPULATION = {
    ("X1",): ({0.0: (1.1795, 0.6740), 1e-3: (1.1755, 0.6736), 1e-2: (1.1396, 0.6697)}, 0.004),
    ("X3",): ({0.0: (0.2274, 0.6166), 1e-3: (0.2240, 0.6040), 1e-2: (0.1932, 0.5764)}, 0.002),
    ("X1", "X2"): ({0.0: (0.0344, 0.5520), 1e-3: (0.0311, 0.5449), 1e-2: (0.0052, 0.5070)}, 4e-4),
    ("X4", "X5"): ({0.0: (0.0633, 0.5484), 1e-3: (0.0586, 0.5432), 1e-2: (0.0204, 0.5137)}, 7e-4),
}
AT_ONE_TENTH = {("X1",): (0.7890, 0.6283), ("X3",): (-0.0411, 0.4835)}
PAIRS_AT_ONE_TENTH = {("X1", "X2"): (-0.1992, 0.3437), ("X4", "X5"): (-0.3019, 0.3665)}


def assert_median(test, median, error):
    """The stated error is that of the table; ours comes from the interval of 95 %, taken twice."""
    own = test.ci_high - test.ci_low
    assert abs(test.statistic - median) < error + own


@pytest.mark.parametrize("beta", [0.0, 1e-3, 1e-2])
def test_population_values_of_the_perfect_model(many_rows, beta):
    """Medians, shares of positive differences, and both gates, at three betas."""
    X, y = many_rows
    result = sfit.feature_significance(interactions_mean, X, y, reference=0, beta=beta, max_order=3)
    assert result.significant[1] == [("X1",), ("X3",)]
    assert {("X1", "X2"), ("X4", "X5")} <= set(result.significant[2])
    if beta:
        assert result.significant[2] == [("X1", "X2"), ("X4", "X5")]
    for names, (numbers, error) in POPULATION.items():
        test = find_test(result, *names)
        median, share = numbers[beta]
        assert_median(test, median, error)
        assert_share(test.n_positive, ROWS, share)
        assert test.base == (("X1",) if names == ("X1", "X2") else ())
    to_two, to_three = result.gates
    assert to_two.found == ("X1", "X3")
    assert to_two.is_open
    assert to_two.statistic == pytest.approx(1.0224, abs=0.01)
    assert_share(to_two.n_positive, ROWS, 0.9946)
    assert to_three.found == ("X1", "X2", "X3", "X4", "X5")
    assert not to_three.is_open
    assert (to_three.n_positive, to_three.statistic, to_three.p_value) == (0, 0.0, 1.0)
    assert max(test.order for test in result.tests) == 2


@pytest.mark.parametrize("beta", [0.0, 1e-3, 1e-2, 1e-1])
def test_ignored_and_paired_features_alone_are_never_positive(many_rows, beta):
    """delta of X2, X4, X5, X6, X7 alone is exactly -beta * loss."""
    X, y = many_rows
    result = sfit.feature_significance(interactions_mean, X, y, reference=0, beta=beta)
    loss = np.abs(y - 3)
    for name in ("X2", "X4", "X5", "X6", "X7"):
        test = find_test(result, name)
        assert (test.n_positive, test.p_value) == (0, 1.0)
        assert np.isnan(test.beta_max)
        assert test.statistic == pytest.approx(-beta * np.median(loss), rel=1e-9)
        assert test.statistic == pytest.approx(-3.84 * beta, rel=0.01)
        assert test.ci_high <= 0


def test_population_values_at_beta_one_tenth(many_rows):
    """At 0.1 only X1 is found alone; X3 only given X1, where more of the loss is its own."""
    X, y = many_rows
    result = sfit.feature_significance(interactions_mean, X, y, reference=0, beta=0.1, max_order=2)
    assert result.significant == {1: [("X1",)], 2: [("X1", "X3")]}
    for names, (median, share) in (AT_ONE_TENTH | PAIRS_AT_ONE_TENTH).items():
        test = find_test(result, *names)
        assert_median(test, median, 5e-4)
        assert_share(test.n_positive, ROWS, share)


def test_the_remainder_is_reported_when_a_gate_stays_open():
    """A product of three searched to order 2: the summary says in words that something is left."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3_000, 3))

    def mu(z):
        return z[:, 0] * z[:, 1] * z[:, 2]

    result = sfit.feature_significance(mu, X, mu(X), reference=0, max_order=2)
    assert result.remainder
    assert [gate.is_open for gate in result.gates] == [True, True]
    assert result.significant == {1: [], 2: []}
    assert "Unexplained remainder: order 2 found nothing new" in result.summary()
    assert "Unexplained remainder" in result._repr_html_()
    complete = sfit.feature_significance(mu, X, mu(X), reference=0, max_order=3)
    assert not complete.remainder
    assert complete.gates[:2] == result.gates
    assert "nexplained" not in complete.summary()


def test_an_open_last_gate_without_a_search_beyond_it():
    """max_order = 1 still asks whether there is more, and calls a find no remainder in words."""
    X, y = interactions(5_000, random_state=1)
    result = sfit.feature_significance(interactions_mean, X, y)
    assert [gate.after_order for gate in result.gates] == [1]
    assert result.remainder
    assert "Gate after order 1" in result.summary()
    assert "Unexplained" not in result.summary()


def test_beta_per_order():
    """Each order is tested at its own beta; the gate always at 0."""
    X, y = interactions(10_000, random_state=2)
    result = sfit.feature_significance(
        interactions_mean, X, y, reference=0, beta=(0.01, 0.001), max_order=2
    )
    assert {(test.order, test.beta) for test in result.tests} == {(1, 0.01), (2, 0.001)}
    assert result.significant == {1: [("X1",), ("X3",)], 2: [("X1", "X2"), ("X4", "X5")]}
    assert not result.remainder


def test_mu_of_statistics_md():
    """mu = 1 + x1 x2 + 2 x3 gives S1 = {3} and S2 = {1, 2}."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(20_000, 3)), columns=["X1", "X2", "X3"])

    def mu(rows):
        x = np.asarray(rows)
        return 1 + x[:, 0] * x[:, 1] + 2 * x[:, 2]

    y = mu(X) + 0.01 * rng.normal(size=len(X))
    result = sfit.feature_significance(mu, X, y, reference=0, beta=0.001, max_order=3)
    assert result.significant == {1: [("X3",)], 2: [("X1", "X2")]}
    assert find_test(result, "X1", "X2").base == ()
    assert find_test(result, "X1", "X3").base == ("X3",)
    assert [gate.is_open for gate in result.gates] == [True, False]


def test_a_pure_product_of_three_is_found_at_order_three():
    """x1 x2 x3 shows nothing alone or in pairs: the gates stay open until all are found."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(20_000, 4))

    def mu(z):
        return z[:, 0] * z[:, 1] * z[:, 2]

    y = mu(X) + 0.01 * rng.normal(size=len(X))
    result = sfit.feature_significance(mu, X, y, reference=0, beta=0.001, max_order=4)
    assert result.significant == {1: [], 2: [], 3: [("x0", "x1", "x2")]}
    assert [gate.is_open for gate in result.gates] == [True, True, False]
    assert result.features["order"].tolist() == [3, 3, 3, 0]
    assert all(test.n_positive == 0 for test in result.tests if test.order < 3)


@pytest.mark.parametrize("beta", [0.0, 1e-6, 0.01])
def test_a_float32_network_never_finds_a_feature_without_weights(beta):
    """The rounding rule: 20 float32 networks, base predicted as one row, none wrong."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5_000, 8)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=5_000).astype(np.float32)
    for _ in range(20):
        first = rng.normal(size=(8, 64)).astype(np.float32)
        first[5:] = 0
        bias, last = rng.normal(size=64).astype(np.float32), rng.normal(size=64).astype(np.float32)

        def network(z, first=first, bias=bias, last=last):
            return np.tanh(z @ first + bias) @ last

        result = sfit.feature_significance(network, X, y, beta=beta)
        assert [result.tests[j].n_positive for j in (5, 6, 7)] == [0, 0, 0]
        assert [result.tests[j].p_value for j in (5, 6, 7)] == [1.0, 1.0, 1.0]
        if beta == 0:
            assert max(result.tests[j].n_positive for j in range(5)) > 0


def test_one_row_alone_and_in_a_batch_really_differ():
    """The test above can fail: float32 matrix products do depend on the batch here."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(5_000, 8)).astype(np.float32)
    differ = 0
    for _ in range(20):
        first = rng.normal(size=(8, 64)).astype(np.float32)
        last = rng.normal(size=64).astype(np.float32)
        together = np.tanh(X[:64] @ first) @ last
        alone = np.concatenate([np.tanh(X[i : i + 1] @ first) @ last for i in range(64)])
        differ += bool((together != alone).any())
    assert differ > 0


# ------------------------------------------------------------------------------ strict, exhaustive


def noisy(n=4_000, seed=6):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    y = 2 * X["a"] + X["a"] * X["b"] + X["b"] + 0.1 * X["c"] + rng.normal(size=n)
    return X, y.to_numpy()


def product_model(rows):
    """Uses a, b and their product, and a little of c; never d."""
    x = rows[list("abcd")].to_numpy()
    return 2 * x[:, 0] + x[:, 0] * x[:, 1] + x[:, 1] + 0.1 * x[:, 2]


def test_exhaustive_plans_every_set_and_gates_do_not_stop_it():
    """All subsets up to max_order are tested, a closed gate or not; gates are reported."""
    X, y = noisy()

    def model(rows):
        return product_model(rows.assign(c=0.0))

    result = sfit.feature_significance(model, X, y, max_order=3, exhaustive=True)
    for order in (1, 2, 3):
        terms = [test.term for test in result.tests if test.order == order]
        assert terms == list(combinations("abcd", order))
    assert [gate.after_order for gate in result.gates] == [1, 2, 3]
    assert result.significant == {1: [("a",), ("b",)], 2: [("a", "b")], 3: []}
    plain = sfit.feature_significance(model, X, y, max_order=3)
    assert plain.significant == {1: [("a",), ("b",)]}
    assert len(plain.gates) == 1
    assert plain.gates[0] == result.gates[0]
    assert not plain.gates[0].is_open


def test_a_set_of_found_features_must_beat_each_part_of_it():
    """Both a and b are found alone: (a, b) reports the worse of its two contrasts."""
    X, y = noisy()
    result = sfit.feature_significance(product_model, X, y, beta=0.01, max_order=2, exhaustive=True)
    assert result.significant[1] == [("a",), ("b",)]
    pair = find_test(result, "a", "b")
    singles = {
        base: sfit.feature_significance(product_model, X, y, beta=0.01, given=[base])
        for base in "ab"
    }
    counts = {base: find_test(singles[base], *set("ab") - {base}).n_positive for base in "ab"}
    assert pair.n_positive == min(counts.values())
    assert pair.base == (min(counts, key=counts.get),)
    assert pair.beta_max == min(
        find_test(singles["a"], "b").beta_max, find_test(singles["b"], "a").beta_max
    )


def test_strict_takes_the_worst_subset():
    """(c, d) improves over nothing through c alone; strict asks that it beat c, too."""
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.normal(size=(10_000, 4)), columns=list("abcd"))

    def model(rows):
        return (3 * rows["a"] + 2 * rows["b"] + 0.5 * rows["c"]).to_numpy()

    y = model(X) + rng.normal(size=len(X))
    options = {"beta": (0.1, 0.0), "max_order": 2}
    plain = sfit.feature_significance(model, X, y, **options)
    strict = sfit.feature_significance(model, X, y, strict=True, **options)
    assert plain.significant[1] == strict.significant[1] == [("a",), ("b",)]
    assert find_test(plain, "c", "d").significant
    assert not find_test(strict, "c", "d").significant
    assert find_test(strict, "c", "d").base == ("c",)
    assert find_test(strict, "c", "d").n_positive == 0
    assert find_test(strict, "a", "c").significant
    for one, other in zip(plain.tests, strict.tests, strict=True):
        assert one.term == other.term
        assert other.p_value >= one.p_value


# ---------------------------------------------------------------------------- given and always_on


def test_given_features_are_shown_on_both_sides():
    """`given` equals a model whose given column is never hidden; they are not tested."""
    X, y = noisy()
    result = sfit.feature_significance(product_model, X, y, given=["a"], max_order=2)
    assert result.feature_names == ("b", "c", "d")
    assert all(test.base[:1] == ("a",) for test in result.tests)
    assert all("a" not in test.term for test in result.tests)
    shown = sfit.feature_significance(product_model, X, y, always_on=["a"], max_order=2)
    for one, other in zip(result.tests, shown.tests, strict=True):
        assert one.term == other.term
        assert (one.n_positive, one.statistic) == (other.n_positive, other.statistic)
    assert [g.n_positive for g in result.gates] == [g.n_positive for g in shown.gates]


def test_given_the_rest_is_drop_one_by_hand():
    """Base: all but j; full: all. One order, no gate."""
    X, y = noisy()
    result = sfit.feature_significance(product_model, X, y, given="rest", reference=0.5)
    assert result.gates == ()
    full = np.abs(y - product_model(X))
    for name, test in zip("abcd", result.tests, strict=True):
        base = np.abs(y - product_model(X.assign(**{name: 0.5})))
        assert test.term == (name,)
        assert test.base == tuple(other for other in "abcd" if other != name)
        assert test.statistic == pytest.approx(np.median(0.99 * base - full), abs=1e-12)
        assert test.n_positive == np.count_nonzero(0.99 * base > full)


def test_a_column_of_ones_always_on_is_a_bias_inside_the_model():
    """Counts, statistics and gates are the same as with the constant in the model."""
    X, y = noisy()
    with_ones = X.assign(one=1.0)

    def biased(rows):
        return product_model(rows) + 0.7

    def explicit(rows):
        return product_model(rows) + 0.7 * rows["one"].to_numpy()

    inside = sfit.feature_significance(biased, X, y, max_order=2)
    outside = sfit.feature_significance(explicit, with_ones, y, max_order=2, always_on=["one"])
    pd.testing.assert_frame_equal(inside.table, outside.table, check_exact=True)
    assert inside.gates == outside.gates
    assert outside.settings.always_on == ("one",)
    hidden = sfit.feature_significance(explicit, with_ones, y, reference=0)
    assert hidden.tests[0].n_positive != outside.tests[0].n_positive


# ----------------------------------------------------------------------------------- parts of rows


def classes(n=3_000, seed=7):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    score = 2 * X["a"] + X["a"] * X["b"]
    y = np.array(["lo", "mid", "up"])[np.digitize(score + rng.logistic(size=n), [-1.5, 1])]

    def function(rows):
        x = rows[["a", "b"]].to_numpy()
        score = 2 * x[:, 0] + x[:, 0] * x[:, 1]
        below = 1 / (1 + np.exp(score[:, None] - np.array([-1.5, 1.0])))
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    return sfit.models.function_model(function, "classification", ["lo", "mid", "up"]), X, y


def assert_parts_equal_subsets(result, run, labels, X, y):
    assert list(result) == sorted(set(labels.tolist()))
    for part in result:
        rows = labels == part
        alone = run(X[rows], y[rows])
        pd.testing.assert_frame_equal(result[part].table, alone.table, check_exact=True)
        assert result[part].gates == alone.gates


def test_by_class_column_and_labels_equal_runs_on_the_rows():
    """Each part is the whole procedure on its rows, with the same fixed reference."""
    model, X, y = classes()
    options = {"reference": [0.1, 0.0, -0.1], "max_order": 2, "correction": "holm"}

    def run(X, y, **more):
        return sfit.feature_significance(model, X, y, **options, **more)

    assert_parts_equal_subsets(run(X, y, by="class"), run, y, X, y)
    labels = np.where(X["c"] > 0.3, "large", "small")
    assert_parts_equal_subsets(run(X, y, by=labels), run, labels, X, y)
    assert_parts_equal_subsets(run(X, y, by=list(labels)), run, labels, X, y)
    assert_parts_equal_subsets(run(X.assign(size=labels), y, by="size"), run, labels, X, y)
    assert run(X.assign(size=labels), y, by="size").by == "size"


def test_parts_may_stop_at_different_orders():
    """A part whose gate is closed stops while the others go on; tables have `part` first."""
    X, y = interactions(8_000, random_state=8)
    labels = np.where(np.arange(len(X)) < 4_000, "easy", "hard")
    X.loc[labels == "easy", ["X2", "X4"]] = 0.0
    y = np.where(labels == "easy", interactions_mean(X), y)
    by_part = sfit.feature_significance(
        interactions_mean, X, y, by=labels, reference=0, beta=(0.01, 0.001), max_order=2
    )
    assert [len(by_part[part].gates) for part in ("easy", "hard")] == [1, 2]
    assert by_part.table.columns[0] == "part"
    assert set(by_part.table["part"]) == {"easy", "hard"}
    assert by_part["hard"].significant[2] == [("X1", "X2"), ("X4", "X5")]


def test_the_reference_is_that_of_all_rows():
    """Under `by`, a mean is the mean of all rows, not of the part."""
    X, y = noisy()
    labels = X["a"] > 0
    result = sfit.feature_significance(product_model, X, y, by=labels.to_numpy())
    fixed = sfit.feature_significance(
        product_model, X[labels], y[labels], reference=X.mean().to_list()
    )
    pd.testing.assert_frame_equal(result[True].table, fixed.table)
    own = sfit.feature_significance(product_model, X[labels], y[labels])
    assert own.tests[0].n_positive != fixed.tests[0].n_positive


# ---------------------------------------------------------------------------------- same features


def by_term(result):
    table = result.table.copy()
    for column in ("term", "base"):
        table[column] = [tuple(sorted(names)) for names in table[column]]
    # The text of a set has its names in the order of the columns.
    return table.drop(columns="set").sort_values(["order", "term"]).reset_index(drop=True)


@pytest.mark.parametrize("options", [{}, {"exhaustive": True}, {"strict": True}])
def test_the_order_of_the_columns_does_not_matter(options):
    """A model that knows names gives the same table up to the order of its rows."""
    X, y = interactions(3_000, random_state=9)

    def by_name(rows):
        return interactions_mean(rows[[f"X{j}" for j in range(1, 8)]])

    common = {"beta": (0.01, 0.001), "max_order": 2, "correction": "fdr_by", **options}
    plain = sfit.feature_significance(by_name, X, y, **common)
    rng = np.random.default_rng(0)
    for _ in range(3):
        shuffled = X[rng.permutation(X.columns)]
        result = sfit.feature_significance(by_name, shuffled, y, **common)
        pd.testing.assert_frame_equal(by_term(result), by_term(plain), check_exact=True)
        assert [(g.n_positive, g.p_value) for g in result.gates] == [
            (g.n_positive, g.p_value) for g in plain.gates
        ]
        assert dict(zip(result.features.feature, result.features.order, strict=True)) == dict(
            zip(plain.features.feature, plain.features.order, strict=True)
        )


def test_a_copy_that_the_model_ignores_changes_nothing():
    """Duplicating a column: the others keep their tests, the copy is never positive."""
    X, y = noisy()
    plain = sfit.feature_significance(product_model, X, y)
    doubled = sfit.feature_significance(product_model, X.assign(copy=X["a"]), y)
    pd.testing.assert_frame_equal(doubled.table.iloc[:4], plain.table, check_exact=True)
    assert doubled.tests[4].n_positive == 0


def test_a_copy_that_shares_the_weight_is_tested_in_its_own_right():
    """Half the weight on each of two equal columns: both have the same test."""
    X, y = noisy()

    def shared(rows):
        half = (rows["a"] + rows["copy"]) / 2
        return product_model(rows.assign(a=half)[list("abcd")])

    result = sfit.feature_significance(
        shared, X.assign(copy=X["a"]), y, reference=0, groups={"both": ["a", "copy"]}
    )
    plain = sfit.feature_significance(product_model, X, y, reference=0)
    assert find_test(result, "both").n_positive == find_test(plain, "a").n_positive
    apart = sfit.feature_significance(shared, X.assign(copy=X["a"]), y, reference=0)
    assert find_test(apart, "a").n_positive == find_test(apart, "copy").n_positive


def test_a_constant_feature_is_allowed_flagged_and_harmless():
    """It is never significant, the others keep their tests, and a caveat names it."""
    X, y = noisy()

    def with_constant(rows):
        return product_model(rows) + 0.5 * rows["five"].to_numpy() - 2.5

    plain = sfit.feature_significance(product_model, X, y)
    result = sfit.feature_significance(with_constant, X.assign(five=5.0), y)
    pd.testing.assert_frame_equal(result.table.iloc[:4], plain.table)
    assert result.tests[4].n_positive == 0
    assert any("five" in caveat for caveat in result.caveats)
    assert "five" in result.summary()


def test_a_constant_feature_away_from_its_reference_is_not_called_harmless():
    """Revealing 5 where the reference is 0 can matter: no note may say that it cannot."""
    X, y = noisy()

    def with_constant(rows):
        return product_model(rows) + rows["five"].to_numpy()

    result = sfit.feature_significance(with_constant, X.assign(five=5.0), y + 5, reference=0)
    assert result.tests[4].significant
    assert not any("never significant" in caveat for caveat in result.caveats)


# ------------------------------------------------------------------------------------ few rows


def test_too_few_rows_warn_with_the_number_needed():
    """4 rows cannot be significant at 5 %, 5 rows have no exact interval."""
    X = np.arange(1.0, 6.0)[:, None]
    with pytest.warns(SFITWarning, match="use at least 5") as seen:
        few = sfit.feature_significance(lambda z: z[:, 0], X[:4], X[:4, 0], reference=0)
    # At the user's line, and kept with the result.
    assert {warning.filename for warning in seen} == {__file__}
    assert few.run["warnings"] == [str(warning.message) for warning in seen]
    assert not few.tests[0].significant
    assert few.tests[0].ci_lower == -np.inf
    with pytest.warns(SFITWarning, match="too few for an exact interval"):
        five = sfit.feature_significance(lambda z: z[:, 0], X, X[:, 0], reference=0)
    assert five.tests[0].significant
    assert (five.tests[0].ci_low, five.tests[0].ci_high) == (-np.inf, np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ten = np.vstack([X, X])
        sfit.feature_significance(lambda z: z[:, 0], ten, ten[:, 0], reference=0)


def test_zero_one_loss_with_nothing_to_gain_says_so():
    """A base that errs on at most half of the rows: nothing can be significant, and a warning."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(500, 2))
    y = (X[:, 0] > 0.5).astype(int)
    model = sfit.models.function_model(
        lambda z: np.where(z[:, 0] > 0.5, 0.9, 0.1), "classification", [0, 1]
    )
    with pytest.warns(SFITWarning, match="nothing can be significant"):
        result = sfit.feature_significance(model, X, y, loss="zero_one", beta=0.0)
    assert result.significant == {1: []}
    assert any("nothing can be significant" in caveat for caveat in result.caveats)
    assert any("such as 'log_loss'" in caveat for caveat in result.caveats)


def test_a_base_that_is_certain_and_right_is_told_to_choose_another_reference():
    """Log loss grades predictions already: it is no remedy for itself."""
    X = np.zeros((300, 1))
    X[:100] = 1.0
    model = sfit.models.function_model(
        lambda z: np.where(z[:, 0] > 0.5, 1.0, 0.0), "classification", [0, 1]
    )
    with pytest.warns(SFITWarning, match="above zero on 100 rows.*choose another reference"):
        sfit.feature_significance(model, X, X[:, 0].astype(int), reference=0, loss="log_loss")


def test_numbers_are_those_of_the_columns_of_x():
    """Not of the columns among those that go to the model."""
    X = np.random.default_rng(0).normal(size=(500, 4))
    y = X[:, 1] + 4 * X[:, 2]

    def model(Z):
        return Z[:, 0] + 4 * Z[:, 1]

    result = sfit.feature_significance(model, X, y, features=[1, 2, 3], always_on=[1])
    assert result.feature_names == ("x2", "x3")
    result = sfit.feature_significance(model, X, y, features=[1, 2, 3], groups={"two": [2, 3]})
    assert result.feature_names == ("x1", "two")
    with pytest.raises(ArgumentError, match="always_on names 0, which is not one of 'x1', 'x2'"):
        sfit.feature_significance(model, X, y, features=[1, 2], always_on=[0])


def test_too_few_rows_are_those_of_every_set_if_ties_are_dropped():
    """The first column moves 3 rows, the second all: something can be significant."""
    rng = np.random.default_rng(0)
    X = np.c_[np.arange(200) < 3, rng.normal(size=200)].astype(float)
    y = X @ [1.0, 1.0] + 0.1 * rng.normal(size=200)
    options = {"test": sfit.SignTest(ties="drop"), "reference": 0.0}
    result = sfit.feature_significance(lambda rows: np.asarray(rows) @ [1.0, 1.0], X, y, **options)
    assert [test.n for test in result.tests] == [3, 200]
    assert "x1" in result.selected
    assert not any("too few" in text for text in result.caveats)
    few = sfit.feature_significance(
        lambda rows: np.asarray(rows)[:, 0], X, y, features=["x0"], **options
    )
    assert any("3 rows are too few" in text for text in few.caveats)


def test_207_of_215_moved_rows():
    """Of 2,000 rows 215 move, and 207 of these improve: nothing by all rows, much by those that move."""
    x = (np.arange(2_000) < 215).astype(float)
    y = np.where(np.arange(2_000) < 207, 1.0, -1.0)
    keep, drop = (
        sfit.feature_significance(
            lambda rows: np.asarray(rows)[:, 0],
            x[:, None],
            y,
            test=sfit.SignTest(ties=ties),
            reference=0.0,
            beta=0.0,
        ).tests[0]
        for ties in ("keep", "drop")
    )
    assert (keep.n, keep.n_positive, keep.p_value) == (2_000, 207, 1.0)
    assert (drop.n, drop.n_positive) == (215, 207)
    assert drop.p_value == pytest.approx(binom.sf(206, 215, 0.5))
    assert drop.significant
    assert not keep.significant
