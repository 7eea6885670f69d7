"""The slow implementation against numbers computed by hand and the numbers of STATISTICS.md."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from . import slow

INF = math.inf
SIGNS = np.array(list(product([-1.0, 1.0], repeat=3)))  # all 8 sign patterns of three features


def run(predict, X, y, **options):
    """``slow.sfit`` with absolute error, reference 0 and one feature for each column, unless told."""
    p = np.shape(X)[1]
    defaults = {
        "loss": "absolute_error",
        "reference": np.zeros(p),
        "columns": [[c] for c in range(p)],
    }
    return slow.sfit(predict, X, y, **{**defaults, **options})


def by_term(result, order):
    """The tests of one order, by their sets."""
    return {t["term"]: t for t in result["tests"] if t["order"] == order}


def counts(result):
    """(term, base, n_positive) of every test, in order."""
    return [(t["term"], t["base"], t["n_positive"]) for t in result["tests"]]


# ---------------------------------------------------------------------------------------- the sign test


def test_p_value_by_hand():
    """8 of 10: (45 + 10 + 1) / 1024; everything: 2^-n; nothing: 1."""
    assert slow.p_value(8, 10) == 56 / 1024
    assert slow.p_value(10, 10) == 1 / 1024
    assert slow.p_value(0, 10) == 1.0
    assert slow.p_value(1, 1) == 0.5
    assert slow.p_value(12, 16) == 2517 / 65536


def test_p_value_is_the_sum_of_binomial_coefficients():
    """The recursion for the coefficients agrees with math.comb."""
    for n in (1, 2, 7, 30, 61):
        for k in range(n + 1):
            ways = sum(math.comb(n, i) for i in range(k, n + 1))
            assert slow.p_value(k, n) == float(Fraction(ways, 2**n))


@pytest.mark.parametrize("count", [-1, 11])
def test_p_value_refuses_impossible_counts(count):
    """A count outside 0..n is an error."""
    with pytest.raises(ValueError, match="between 0 and n"):
        slow.p_value(count, 10)


def test_critical_count():
    """By hand for few rows; 5083 for 10,000 rows (STATISTICS.md)."""
    assert slow.critical_count(10, 0.05) == 9  # P(B >= 9) = 11/1024, P(B >= 8) = 56/1024
    assert slow.critical_count(5, 0.05) == 5  # 1/32
    assert slow.critical_count(4, 0.05) == 5  # 1/16 is too large: none
    assert slow.critical_count(10, 56 / 1024) == 9  # strictly less
    assert slow.critical_count(10, 57 / 1024) == 8
    assert slow.critical_count(10_000, 0.05) == 5083


@pytest.mark.parametrize(
    ("n", "size"), [(50, 0.032), (200, 0.038), (1_000, 0.047), (10_000, 0.0495)]
)
def test_true_size(n, size):
    """True size of the 5 % test at the boundary (STATISTICS.md)."""
    assert round(slow.p_value(slow.critical_count(n, 0.05), n), 4 if n == 10_000 else 3) == size


def test_exact_interval_by_hand():
    """n = 10: [d_(2), d_(9)] with coverage 1 - 22/1024; n = 6 is the first with an interval."""
    deltas = [7.0, 1.0, 10.0, 3.0, 5.0, 9.0, 2.0, 8.0, 4.0, 6.0]
    assert slow.exact_interval(deltas, 0.05) == (2.0, 9.0, 1 - 22 / 1024)
    assert slow.exact_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.05) == (1.0, 6.0, 1 - 2 / 64)
    assert slow.exact_interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.05) == (-INF, INF, 1.0)
    assert slow.exact_interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.0625) == (
        1.0,
        5.0,
        0.9375,
    )  # 2/32 <= alpha


def test_ranks_at_ten_thousand_rows():
    """Ranks 4902 and 5099, exact and asymptotic; the bound has rank n - c + 1."""
    deltas = [float(i) for i in range(1, 10_001)]
    assert slow.exact_interval(deltas, 0.05)[:2] == (4902.0, 5099.0)
    assert slow.asymptotic_interval(deltas, 0.05) == (4902.0, 5099.0)
    assert slow.lower_bound(deltas, 0.05) == 10_000 - 5083 + 1


def test_asymptotic_interval_clips_its_ranks():
    """n = 4: ranks floor(0.54) = 0 and ceil(4.46) = 5 become 1 and 4."""
    assert slow.asymptotic_interval([3.0, 1.0, 4.0, 2.0], 0.05) == (1.0, 4.0)


def test_asymptotic_ranks_differ_where_stated():
    """The first differences are at n = 17, 44, 67: one rank wider on each side (STATISTICS.md)."""
    differing = []
    for n in range(6, 80):
        deltas = [float(i) for i in range(1, n + 1)]
        low, high, _ = slow.exact_interval(deltas, 0.05)
        if slow.asymptotic_interval(deltas, 0.05) != (low, high):
            differing.append(n)
            assert slow.asymptotic_interval(deltas, 0.05) == (low - 1, high + 1)
    assert differing == [17, 44, 67]


def test_lower_bound_is_the_dual_of_the_test():
    """p < alpha if and only if the bound is positive, for every count."""
    for alpha in (0.01, 0.05, 56 / 1024, 0.5):
        for n in range(1, 25):
            for positives in range(n + 1):
                deltas = [1.0] * positives + [0.0] * (n - positives)
                assert (slow.lower_bound(deltas, alpha) > 0) == (slow.p_value(positives, n) < alpha)
    assert slow.lower_bound([1.0, 2.0, 3.0, 4.0], 0.05) == -INF


def test_median():
    """Odd and even numbers of rows."""
    assert slow.median([3.0, 1.0, 2.0]) == 2.0
    assert slow.median([4.0, 1.0, 3.0, 2.0]) == 2.5


def test_beta_max_by_hand():
    """n = 10: the ninth largest; NaN when it is not positive or there are too few rows."""
    rhos = [0.1, 0.9, 0.5, 0.3, 0.7, 0.2, 0.8, 0.4, 0.6, -INF]
    assert slow.beta_max(rhos, 0.05) == 0.1
    assert math.isnan(slow.beta_max([*rhos[1:], -INF], 0.05))
    assert math.isnan(slow.beta_max([0.5] * 9 + [0.0] * 11, 0.05))
    assert math.isnan(slow.beta_max([0.5] * 4, 0.05))


# ----------------------------------------------------------------------------------------- corrections


def test_adjust_by_hand():
    """Dyadic p-values, so that the products are exact."""
    p = [4 / 64, 1 / 64, 3 / 64, 40 / 64]
    assert slow.adjust(p, None) == p
    assert slow.adjust(p, "bonferroni") == [16 / 64, 4 / 64, 12 / 64, 1.0]
    assert slow.adjust(p, "holm") == [9 / 64, 4 / 64, 9 / 64, 40 / 64]  # 4 * 2 = 8 is raised to 9
    bh = [Fraction(16, 3) / 64, Fraction(4, 64), Fraction(16, 3) / 64, Fraction(40, 64)]
    assert slow.adjust(p, "fdr_bh") == [float(v) for v in bh]  # 12 / 2 = 6 is lowered to 16 / 3
    harmonic = Fraction(25, 12)
    assert slow.adjust(p, "fdr_by") == [float(min(harmonic * v, Fraction(1))) for v in bh]


@pytest.mark.parametrize("method", [None, "bonferroni", "holm", "fdr_bh", "fdr_by"])
def test_adjust_edges(method):
    """No test, one test, ties: as they should be."""
    assert slow.adjust([], method) == []
    assert slow.adjust([0.25], method) == [0.25]
    assert len(set(slow.adjust([0.125, 0.125, 0.125], method))) == 1


def test_adjust_refuses_unknown_methods():
    """An unknown name is an error."""
    with pytest.raises(ValueError, match="unknown correction"):
        slow.adjust([0.5], "sidak")


# ---------------------------------------------------------------------------------------------- losses


def test_regression_losses_by_hand():
    """One output, one output as a column, two outputs."""
    assert slow.losses("absolute_error", [1.0, 2.0], np.array([3.0, 1.5])) == [2.0, 0.5]
    assert slow.losses("absolute_error", [1.0, 2.0], np.array([[3.0], [1.5]])) == [2.0, 0.5]
    assert slow.losses("squared_error", [1.0, 2.0], np.array([3.0, 1.5])) == [4.0, 0.25]
    assert slow.losses("squared_error", [[1.0, 0.0]], np.array([[3.0, 1.0]])) == [2.5]


def test_poisson_deviance_by_hand():
    """2 (y log(y / mu) - y + mu): 0 at mu = y, 2 mu at y = 0, never negative."""
    assert slow.losses("poisson", [3, 0, 0], np.array([3.0, 0.5, 0.0])) == [0.0, 1.0, 0.0]
    assert slow.losses("poisson", [2], np.array([1.0])) == pytest.approx([4 * math.log(2) - 2])
    y, mu = 13.0, 12.999999995660442
    assert 2 * (y * math.log(y / mu) - y + mu) < 0  # by rounding
    # The first term of its series: the others are smaller by a factor of 1e-10.
    assert slow.losses("poisson", [y], np.array([mu])) == pytest.approx(
        [(y - mu) ** 2 / y], rel=1e-5, abs=0
    )
    with pytest.raises(ValueError, match="not finite"):
        slow.losses("poisson", [1], np.array([0.0]))


def test_log_loss_is_clipped_by_the_type():
    """A probability of 0 is raised to eps of the type of the prediction, one above 1 lowered to 1."""
    assert slow.losses("log_loss", [1, 0], np.array([[0.75, 0.25], [0.5, 0.5]])) == [
        math.log(4),
        math.log(2),
    ]
    assert slow.losses("log_loss", [0], np.array([[0.0, 1.0]])) == [52 * math.log(2)]
    single = np.array([[0.0, 1.0000001]], dtype=np.float32)
    assert slow.losses("log_loss", [0], single) == pytest.approx([23 * math.log(2)])
    assert slow.losses("log_loss", [1], single) == [0.0]


def test_brier_and_zero_one_by_hand():
    """Two classes, three classes, and a tie."""
    assert slow.losses("brier", [1, 0], np.array([[0.75, 0.25], [0.75, 0.25]])) == [0.5625, 0.0625]
    assert slow.losses("brier", [2], np.array([[0.5, 0.25, 0.25]])) == [0.25 + 0.0625 + 0.5625]
    assert slow.losses("zero_one", [0, 1, 2], np.array([[0.5, 0.5, 0.0]] * 3)) == [0.0, 1.0, 1.0]
    with pytest.raises(ValueError, match="unknown loss"):
        slow.losses("focal", [0], np.array([[0.5, 0.5]]))


# --------------------------------------------------------------------------------------- the contrast


def test_same_predictions():
    """8 units of the larger prediction, or 4 e; every output counts."""
    unit = 2.0**-52
    assert slow.same_predictions(1.0, 1.0 - 8 * unit, unit, 0.0)
    assert not slow.same_predictions(1.0, 1.0 - 9 * unit, unit, 0.0)
    assert slow.same_predictions(-1000.0, -1000.0 - 4000 * unit, unit, 0.0)
    assert slow.same_predictions(0.0, 0.0, unit, 0.0)
    assert not slow.same_predictions(0.0, 1e-300, unit, 0.0)
    assert slow.same_predictions(0.0, 4e-9, unit, 1e-9)
    assert not slow.same_predictions(
        1.0, 1.0 - 12 * unit, unit, 2 * unit
    )  # the larger, not the sum
    assert not slow.same_predictions([1.0, 2.0], [1.0, 2.5], unit, 1e-9)


def test_rho_delta_by_hand():
    """Ordinary rows, a row that is the same, and rows whose base loss is 0."""
    rhos, deltas = slow.rho_delta(
        [4.0, 4.0, 4.0, 0.0, 0.0], [1.0, 5.0, 3.9, 0.0, 1.0], [0, 0, 1, 0, 0], 0.5
    )
    assert rhos == [0.75, -0.25, 0.0, -INF, -INF]
    assert deltas == [1.0, -3.0, -2.0, 0.0, -1.0]


def test_sign_of_delta_is_the_comparison():
    """delta > 0 if and only if rho > beta, also where rounding would say otherwise."""
    rng = np.random.default_rng(0)
    base = rng.exponential(size=4000)
    beta = 0.1
    full = (1 - beta) * base * (1 + rng.integers(-2, 3, size=4000) * 2.0**-52)
    rhos, deltas = slow.rho_delta(base.tolist(), full.tolist(), [False] * 4000, beta)
    assert all((d > 0) == (r > beta) for r, d in zip(rhos, deltas, strict=True))
    raw = [(1 - beta) * b - f > 0 for b, f in zip(base, full, strict=True)]
    assert raw != [r > beta for r in rhos]  # the case does occur


# -------------------------------------------------------------- the procedure on data done by hand


def test_pure_interaction_of_three_is_found_at_order_three():
    """y = x1 x2 x3 on the 8 sign patterns: nothing at orders 1 and 2, all 8 rows at order 3."""
    result = run(lambda Z: Z[:, 0] * Z[:, 1] * Z[:, 2], SIGNS, SIGNS.prod(axis=1), max_order=5)
    assert counts(result) == [
        ((0,), (), 0), ((1,), (), 0), ((2,), (), 0),
        ((0, 1), (), 0), ((0, 2), (), 0), ((1, 2), (), 0),
        ((0, 1, 2), (), 8),
    ]  # fmt: skip
    assert result["tests"][0] == {
        "order": 1, "term": (0,), "base": (), "n_positive": 0, "n": 8, "p_value": 1.0, "p_adjusted": 1.0,
        "significant": False, "statistic": 0.99 - 1, "ci_low": 0.99 - 1, "ci_high": 0.99 - 1,
        "ci_lower": 0.99 - 1, "beta": 0.01, "beta_max": pytest.approx(math.nan, nan_ok=True),
    }  # fmt: skip
    last = result["tests"][-1]
    assert (last["p_value"], last["statistic"], last["beta_max"]) == (1 / 256, 0.99, 1.0)
    assert result["found"] == {0: 3, 1: 3, 2: 3}
    assert [(g["after_order"], g["found"], g["n_positive"], g["p_value"], g["open"]) for g in result["gates"]] == [
        (1, (), 8, 1 / 256, True), (2, (), 8, 1 / 256, True), (3, (0, 1, 2), 0, 1.0, False),
    ]  # fmt: skip
    assert result["remainder"] is False
    short = run(lambda Z: Z[:, 0] * Z[:, 1] * Z[:, 2], SIGNS, SIGNS.prod(axis=1), max_order=2)
    assert short["found"] == {} and short["remainder"] is True


def test_second_order_base_is_the_feature_already_found():
    """y = 4 x1 + x1 x2 on signs: x1 takes the loss from 5 or 3 to 1, and (x1, x2) from 1 to 0."""
    y = 4 * SIGNS[:, 0] + SIGNS[:, 0] * SIGNS[:, 1]
    result = run(lambda Z: 4 * Z[:, 0] + Z[:, 0] * Z[:, 1], SIGNS, y, max_order=3)
    assert counts(result) == [
        ((0,), (), 8), ((1,), (), 0), ((2,), (), 0),
        ((0, 1), (0,), 8), ((0, 2), (0,), 0), ((1, 2), (), 0),
    ]  # fmt: skip
    first, pair = result["tests"][0], by_term(result, 2)[0, 1]
    assert first["statistic"] == pytest.approx(
        0.99 * 4 - 1
    )  # the mean of .99 * 3 - 1 and .99 * 5 - 1
    assert (first["ci_low"], first["ci_high"]) == pytest.approx((0.99 * 3 - 1, 0.99 * 5 - 1))
    assert first["ci_lower"] == pytest.approx(0.99 * 3 - 1)
    assert (
        first["beta_max"] == 2 / 3
    )  # n = 8, c = 7: the seventh largest of 4/5 and 2/3, four times each
    assert (pair["statistic"], pair["beta_max"]) == (0.99, 1.0)
    assert result["found"] == {0: 1, 1: 2}  # x3 is never found; the gate after order 2 is closed
    assert [g["open"] for g in result["gates"]] == [True, False]


def test_mu_of_section_2_3():
    """mu = 1 + x1 x2 + 2 x3 gives S1 = {3} and S2 = {1, 2}."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3000, 3))

    def mu(Z):
        return 1 + Z[:, 0] * Z[:, 1] + 2 * Z[:, 2]

    result = run(mu, X, mu(X) + 0.01 * rng.normal(size=3000), max_order=3)
    assert result["found"] == {0: 2, 1: 2, 2: 1}
    assert [t["base"] for t in result["tests"]] == [(), (), (), (), (2,), (2,)]
    assert [t["n_positive"] for t in result["tests"]][:2] == [0, 0]
    assert [g["open"] for g in result["gates"]] == [True, False]


def test_perfect_model_of_section_3():
    """S1 = {X1, X3}, exactly the two right pairs, third gate closed; numbers of STATISTICS.md."""
    rng = np.random.default_rng(2)
    n = 5000
    X = rng.normal(size=(n, 7))

    def mu(Z):
        return 3 + 4 * Z[:, 0] + Z[:, 0] * Z[:, 1] + 3 * Z[:, 2] ** 2 + 2 * Z[:, 3] * Z[:, 4]

    y = mu(X) + 0.01 * rng.normal(size=n)
    result = run(mu, X, y, beta=(0.01, 0.001), max_order=3)
    assert result["found"] == {0: 1, 2: 1, 1: 2, 3: 2, 4: 2}
    significant = [t["term"] for t in result["tests"] if t["significant"]]
    assert significant == [(0,), (2,), (0, 1), (3, 4)]
    single = by_term(result, 1)
    stated = {(0,): (1.1396, 0.6697), (2,): (0.1932, 0.5764)}
    for term, (statistic, share) in stated.items():
        assert single[term]["statistic"] == pytest.approx(statistic, abs=0.15)
        assert single[term]["n_positive"] / n == pytest.approx(share, abs=4 * 0.5 / math.sqrt(n))
    for j in (1, 3, 4, 5, 6):
        assert single[j,]["n_positive"] == 0
        assert single[j,]["statistic"] == pytest.approx(-0.0384, abs=0.004)
    pairs = by_term(result, 2)
    for term, base, share in [((0, 1), (0,), 0.5449), ((3, 4), (), 0.5432)]:
        assert pairs[term]["base"] == base
        assert pairs[term]["n_positive"] / n == pytest.approx(share, abs=4 * 0.5 / math.sqrt(n))
    assert result["gates"][0]["n_positive"] / n == pytest.approx(0.9946, abs=0.005)
    assert result["gates"][1] == {
        "after_order": 2, "found": (0, 1, 2, 3, 4), "n_positive": 0, "n": n, "p_value": 1.0, "open": False
    }  # fmt: skip


# ------------------------------------------------------------------------------- options, by hand


def test_strict_drops_a_pair_with_a_noise_feature():
    """rho of x1 is exactly 1/2: not more than beta_1 = 1/2, but more than beta_2. x2 adds nothing."""
    y, options = 2 * SIGNS[:, 0], {"beta": (0.5, 0.01), "max_order": 2}
    loose = run(lambda Z: Z[:, 0], SIGNS, y, **options)
    assert loose["found"] == {0: 2, 1: 2, 2: 2}
    assert (
        by_term(loose, 1)[0,]["beta_max"] == 0.5
    )  # a supremum: at beta = 0.5 it is not significant
    strict = run(lambda Z: Z[:, 0], SIGNS, y, strict=True, **options)
    assert strict["found"] == {} and strict["remainder"] is True
    assert counts(strict)[3:] == [((0, 1), (0,), 0), ((0, 2), (0,), 0), ((1, 2), (), 0)]


def test_exhaustive_tests_found_sets_over_each_subset():
    """x1 and x2 are found at order 1, x3 x4 keeps the gate open: (x1, x2) is tested over x1 and over x2."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1000, 4))

    def mu(Z):
        return 3 * Z[:, 0] + 2 * Z[:, 1] + Z[:, 2] * Z[:, 3]

    y = mu(X) + rng.normal(size=1000)
    plain = run(mu, X, y, max_order=2)
    full = run(mu, X, y, max_order=2, exhaustive=True)
    assert (0, 1) not in by_term(plain, 2)
    assert len(by_term(full, 2)) == 6
    only = {j: abs(y - c * X[:, j]) for j, c in ((0, 3), (1, 2))}
    both = abs(y - 3 * X[:, 0] - 2 * X[:, 1])
    positive = {j: int(((1 - 0.01) * only[j] > both).sum()) for j in (0, 1)}
    smaller = min(positive, key=positive.get)
    row = by_term(full, 2)[0, 1]
    assert (row["base"], row["n_positive"]) == ((smaller,), positive[smaller])
    assert (
        full["found"] == plain["found"] == {0: 1, 1: 1}
    )  # x3 x4 over nothing drowns in x1 and x2:
    assert full["remainder"] is True  # nothing found and yet an open gate


def test_ties_report_the_earliest_base():
    """y = x1 x2: (x1, x2) over nothing, over x2 and over x1 all have 8 of 8: the base comes first."""
    y = SIGNS[:, 0] * SIGNS[:, 1]
    result = run(lambda Z: Z[:, 0] * Z[:, 1], SIGNS, y, max_order=2, strict=True)
    assert counts(result)[3] == ((0, 1), (), 8)
    # found members only: over {x2} (x1 removed) comes before over {x1}
    assert slow._bases((0, 1), {0: 1, 1: 1}, False) == [(1,), (0,)]
    assert slow._bases((0, 1, 2), {1: 1}, True) == [(1,), (1, 2), (0, 2), (0, 1)]
    assert slow._bases((0, 1, 2), {0: 1, 1: 1}, True) == [(0, 1), (1, 2), (0, 2)]
    assert slow._bases((3,), {}, True) == [()]


def test_given_features_are_in_every_side():
    """y = x1 x2 given x1: x2 is found at order 1, x1 is not tested, the gate is closed."""
    y = SIGNS[:, 0] * SIGNS[:, 1]
    result = run(lambda Z: Z[:, 0] * Z[:, 1], SIGNS, y, given=(0,), max_order=2)
    assert counts(result) == [((1,), (), 8), ((2,), (), 0)]
    assert result["found"] == {1: 1}
    assert result["gates"][0]["found"] == (1,) and not result["gates"][0]["open"]


def test_given_the_rest():
    """y = x1 x2 given the rest: each of x1 and x2 takes the loss from 1 to 0; no gate."""
    y = SIGNS[:, 0] * SIGNS[:, 1]
    result = run(lambda Z: Z[:, 0] * Z[:, 1], SIGNS, y, given="rest", max_order=3)
    assert counts(result) == [((0,), (1, 2), 8), ((1,), (0, 2), 8), ((2,), (0, 1), 0)]
    assert result["found"] == {0: 1, 1: 1}
    assert result["gates"] == [] and result["remainder"] is False


def test_partners_limit_the_sets():
    """Ordered candidates, the first l of them; {j, k} is planned once when either asks for it."""
    y = SIGNS.prod(axis=1)

    def mu(Z):
        return Z.prod(axis=1)

    def pairs(**options):
        return sorted(by_term(run(mu, SIGNS, y, max_order=2, **options), 2))

    assert pairs() == [(0, 1), (0, 2), (1, 2)]
    assert pairs(n_partners=1) == [(0, 1), (0, 2)]  # 0: 1; 1: 0; 2: 0
    assert pairs(partners=[[2, 1], [2, 0], [1]], n_partners=1) == [(0, 2), (1, 2)]
    assert pairs(partners=[[1], [], []]) == [(0, 1)]
    assert pairs(partners=[[1, 2], [0, 2], [0, 1]], n_partners=1, given=(0,)) == [(1, 2)]


def test_an_order_without_sets_still_has_its_gate():
    """One partner each makes no set of three: order 3 tests nothing, its gate repeats that of order 2."""
    result = run(lambda Z: Z.prod(axis=1), SIGNS, SIGNS.prod(axis=1), max_order=3, n_partners=1)
    assert by_term(result, 3) == {}
    assert [(g["after_order"], g["n_positive"]) for g in result["gates"]] == [
        (1, 8),
        (2, 8),
        (3, 8),
    ]
    assert result["found"] == {} and result["remainder"] is True


def test_groups_of_columns():
    """Two columns revealed together are one feature."""
    y = SIGNS[:, 0] * SIGNS[:, 1]
    result = run(lambda Z: Z[:, 0] * Z[:, 1], SIGNS, y, columns=[[0, 1], [2]])
    assert counts(result) == [((0,), (), 8), ((1,), (), 0)]


def test_a_column_of_ones_always_on_equals_a_bias():
    """The explicit intercept of the paper."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2))
    y = 1 + 2 * X[:, 0] + rng.normal(size=60)
    inside = run(lambda Z: 1 + 2 * Z[:, 0], X, y, max_order=2)
    ones = np.column_stack([np.ones(60), X])
    outside = run(
        lambda Z: Z[:, 0] + 2 * Z[:, 1], ones, y, columns=[[1], [2]], always_on=[0], max_order=2
    )
    assert str(inside) == str(outside)


def test_reference_is_what_the_model_sees():
    """Integer columns and a reference of 0.5: nothing is truncated, each set is predicted once."""
    seen = []

    def predict(Z):
        seen.append(Z.copy())
        return Z[:, 0] + Z[:, 1]

    run(predict, [[0, 3], [1, 4]], [1.0, 2.0], reference=[0.5, 2])
    assert [Z.tolist() for Z in seen] == [
        [[0.5, 2], [0.5, 2]], [[0, 2], [1, 2]], [[0.5, 3], [0.5, 4]], [[0, 3], [1, 4]],
    ]  # fmt: skip


def test_rounding_of_an_ignored_feature():
    """A model that answers 1e-7 off when x2 is shown: positive without the rule, never with it."""
    X = np.column_stack([SIGNS[:, 0], np.arange(1.0, 9.0)])

    def predict(Z):
        return 1 + 1e-7 * (Z[:, 1] != 0)

    assert counts(run(predict, X, np.full(8, 2.0), beta=0.0)) == [((0,), (), 0), ((1,), (), 8)]
    for rule in ({"unit": 2.0**-23}, {"e": 1e-7}):
        assert counts(run(predict, X, np.full(8, 2.0), beta=0.0, **rule)) == [
            ((0,), (), 0),
            ((1,), (), 0),
        ]


def test_correction_decides():
    """7 of 8 rows: p = 9/256 < .05, but twice that is not."""
    X = np.column_stack([[1.0] * 7 + [-1.0], np.zeros(8)])
    for correction, adjusted in [(None, 9 / 256), ("bonferroni", 18 / 256), ("fdr_by", 27 / 256)]:
        result = run(lambda Z: Z[:, 0], X, np.full(8, 2.0), correction=correction)
        row = result["tests"][0]
        assert (row["n_positive"], row["p_value"], row["p_adjusted"]) == (7, 9 / 256, adjusted)
        assert row["significant"] == (correction is None)
        assert result["found"] == ({0: 1} if correction is None else {})


def test_asymptotic_interval_option():
    """n = 17: one rank wider on each side than the exact interval."""
    X = np.arange(1.0, 18.0)[:, None]
    exact = run(lambda Z: Z[:, 0], X, X[:, 0], beta=0.0)["tests"][0]
    wide = run(lambda Z: Z[:, 0], X, X[:, 0], beta=0.0, interval="asymptotic")["tests"][0]
    assert (exact["ci_low"], exact["ci_high"]) == (5.0, 13.0)
    assert (wide["ci_low"], wide["ci_high"]) == (4.0, 14.0)
    with pytest.raises(ValueError, match="unknown interval"):
        run(lambda Z: Z[:, 0], X, X[:, 0], interval="wald")


def test_classification():
    """Probabilities that follow x1: the sign of x1 is the class."""

    def predict(Z):
        p1 = 0.5 + 0.25 * np.sign(Z[:, 0])
        return np.column_stack([1 - p1, p1])

    labels = (SIGNS[:, 0] > 0).astype(int)
    for loss, statistic in [
        ("log_loss", 0.99 * math.log(2) - math.log(4 / 3)),
        ("brier", 0.99 / 4 - 1 / 16),
    ]:
        result = run(predict, SIGNS, labels, loss=loss)
        assert counts(result) == [((0,), (), 8), ((1,), (), 0), ((2,), (), 0)]
        assert result["tests"][0]["statistic"] == pytest.approx(statistic)
    # zero_one: a tie at the base chooses class 0, which errs on half of the rows only
    assert counts(run(predict, SIGNS, labels, loss="zero_one"))[0] == ((0,), (), 4)


# ------------------------------------------------------------------------------------------ invariants


@pytest.fixture(scope="module")
def noisy():
    """A model that is not perfect on 200 rows of three features."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 3))

    def predict(Z):
        return 1 + 0.8 * Z[:, 0] + 0.3 * Z[:, 1] - 0.1 * Z[:, 2]

    return predict, X, 1 + X[:, 0] + 0.5 * X[:, 1] + 0.5 * rng.normal(size=200)


def test_n_positive_never_grows_with_beta(noisy):
    """... and is 0 at beta = 1."""
    betas = [0.0, 1e-3, 1e-2, 0.1, 0.3, 0.6, 0.9, 1.0]
    by_beta = [[t["n_positive"] for t in run(*noisy, beta=b)["tests"]] for b in betas]
    for feature in zip(*by_beta, strict=True):
        assert list(feature) == sorted(feature, reverse=True)
    assert by_beta[0] != by_beta[-1] == [0, 0, 0]


def test_beta_max_is_the_boundary(noisy):
    """Significant if and only if beta < beta_max."""
    for j, test in enumerate(run(*noisy, beta=0.0)["tests"]):
        assert test["significant"] == (not math.isnan(test["beta_max"]))
        if test["significant"]:
            below, above = math.nextafter(test["beta_max"], 0), test["beta_max"]
            assert run(*noisy, beta=below)["tests"][j]["significant"]
            assert not run(*noisy, beta=above)["tests"][j]["significant"]


def test_absolute_and_squared_error_agree(noisy):
    """The same counts at beta = 0, and squared at 1 - (1 - b)^2 those of absolute at b."""
    for b in (0.0, 0.01, 0.1):
        squared = run(*noisy, beta=1 - (1 - b) ** 2, loss="squared_error")
        assert counts(squared) == counts(run(*noisy, beta=b))


def test_scaling(noisy):
    """Scaling y and the predictions by c > 0 scales the statistic and the interval by c."""
    predict, X, y = noisy
    one, four = run(predict, X, y), run(lambda Z: 4 * predict(Z), X, 4 * y)
    assert counts(one) == counts(four)
    for a, b in zip(one["tests"], four["tests"], strict=True):
        for key in ("statistic", "ci_low", "ci_high", "ci_lower"):
            assert 4 * a[key] == b[key]
        assert a["beta_max"] == b["beta_max"] or math.isnan(a["beta_max"])
