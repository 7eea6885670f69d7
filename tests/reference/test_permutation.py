"""The slow permutation test against STATISTICS.md, numbers computed by hand, and SciPy."""

import math
from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from . import permutation as slow

Y = [1, 2, 4, 7, 3, 9, 5]
G = [2, 1, 5, 6, 3, 8, 8]
BINARY = [0, 0, 1, 0, 1, 1, 0, 0]
LOGITS = [-1, -0.5, 0.2, 0.1, 0.8, -0.2, -1, 0]

GOLDEN = {  # T, p * 5040, rise, se, permutation mean and variance, sums over the cyclic shifts
    "absolute_error": (
        (8, 72, 2.190476, 0.604687, 21.142857, 30.122449),
        [8, 18, 26, 20, 24, 28, 24],
    ),
    "squared_error": (
        (14, 44, 13.619048, 4.829344, 95.714286, 1508.680272),
        [14, 64, 124, 108, 102, 142, 116],
    ),
}


# ------------------------------------------------------------------------------------- golden numbers


@pytest.mark.parametrize("loss", GOLDEN)
def test_golden_numbers(loss):
    """STATISTICS.md, all 5,040 permutations, to the last digit given."""
    matrix = slow.loss_matrix(loss, Y, G)
    sums = [slow.total(matrix, one) for one in slow.every_permutation(7)]
    count = slow.p_of_group(sums[0], sums) * 5040
    mean, variance = slow.moments(sums)
    numbers = (sums[0], count, slow.rise([matrix]), slow.rise_se([matrix]), mean, variance)
    expected, shifts = GOLDEN[loss]
    assert tuple(round(number, 6) for number in numbers) == expected
    assert [slow.total(matrix, one) for one in slow.cyclic_shifts(7)] == shifts


def test_golden_numbers_of_the_log_loss():
    """STATISTICS.md: rise .2 and p = 2880/40320, from log-odds and from probabilities alike."""
    probability = 1 / (1 + np.exp(-np.array(LOGITS)))
    both = np.column_stack([1 - probability, probability])
    from_logits = slow.log_loss_matrix(BINARY, LOGITS)
    for matrix in (from_logits, slow.loss_matrix("log_loss", BINARY, both)):
        assert matrix == pytest.approx(np.array(from_logits), abs=1e-14)
        assert slow.rise([matrix]) == pytest.approx(0.2, abs=1e-12)
        sums = [slow.total(matrix, one) for one in slow.every_permutation(8)]
        tolerance = 1e-10 * slow.scale(BINARY, LOGITS)
        assert slow.p_of_group(sums[0], sums, tolerance) == 2880 / 40320


# -------------------------------------------------------------------------------------------- p-values


def test_the_list_of_permutations_counts_the_identity_once_more():
    """(1 + #) / (B + 1)."""
    assert slow.p_value(3.0, [3.0, 4.0, 2.0]) == 3 / 4
    assert slow.p_value(3.0, []) == 1.0
    assert slow.p_value(3.0, [3.0 + 1e-12], 1e-10) == 1.0
    assert slow.p_value(3.0, [3.0 + 1e-12]) == 1 / 2


@pytest.mark.parametrize("loss", ["absolute_error", "squared_error"])
def test_p_is_valid_for_every_small_problem(loss):
    """Over all outcomes that are permutations of each other, at most a share u has p <= u."""
    g = [0.0, 1.0, 1.0, 2.5, 4.0]
    group = slow.every_permutation(5)
    p_values = []
    for order in group:
        matrix = slow.loss_matrix(loss, [[0.0, 1.0, 3.0, 3.0, 5.0][i] for i in order], g)
        sums = [slow.total(matrix, one) for one in group]
        p_values.append(slow.p_of_group(sums[0], sums, 1e-10))
    for u in set(p_values):
        assert np.mean(np.array(p_values) <= u) <= u + 1e-12


def test_a_constant_prediction_has_p_one_and_no_rise():
    """STATISTICS.md: a feature the model ignores."""
    matrix = slow.loss_matrix("squared_error", Y, [2.0] * 7)
    sums = [slow.total(matrix, one) for one in slow.cyclic_shifts(7)]
    assert slow.p_of_group(sums[0], sums) == 1.0
    assert slow.rise([matrix]) == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(slow.z_score(sums[0], sums[1:]))
    tiles = [slow.regression_scores(Y, [2.0] * 7)]
    assert [slow.auto(tiles, [one])[0] for one in slow.cyclic_shifts(7)] == [0.0] * 7


def test_within_blocks_lists_the_product_of_the_permutations():
    """2! x 3! arrangements, the identity first, each row within its block."""
    found = list(slow.within([(0, 3), (1, 2, 4)]))
    assert len(found) == len(set(found)) == 12
    assert found[0] == (0, 1, 2, 3, 4)
    for arrangement in found:
        assert {arrangement[0], arrangement[3]} == {0, 3}
        assert {arrangement[i] for i in (1, 2, 4)} == {1, 2, 4}


def test_blocks_are_tiles():
    """Permuting within two blocks of one sample is permuting two tiles, sum for sum."""
    matrix = slow.loss_matrix("absolute_error", Y, G)
    blocks = [(0, 1, 2), (3, 4, 5, 6)]
    matrices = [[[matrix[a][b] for b in block] for a in block] for block in blocks]
    pairs = product(slow.every_permutation(3), slow.every_permutation(4))
    by_tiles = [slow.total_of(matrices, pair) for pair in pairs]
    assert by_tiles == [slow.total(matrix, one) for one in slow.within(blocks)]


def test_z_is_the_distance_from_the_mean_in_standard_deviations():
    """Of (3, 6, 9), mean 6 and sample deviation 3."""
    assert slow.z_score(1.5, [3.0, 6.0, 9.0]) == pytest.approx(1.5)


# ------------------------------------------------------------------------------------------ the rise


def test_the_rise_by_hand():
    """Two rows: the losses off the diagonal less those on it; three influences by hand."""
    assert slow.rise([[[1.0, 5.0], [3.0, 2.0]]]) == 4.0 - 1.5
    matrix = [[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 1.0]]
    assert slow.influences(matrix) == [1.5 + 4.0, 3.5 + 3.5, 5.5 + 3.0 - 1.0]
    deviation = np.std([5.5, 7.0, 7.5], ddof=1)
    assert slow.rise_se([matrix]) == pytest.approx(deviation / math.sqrt(3))


def test_tiles_of_the_same_rows_halve_the_variance():
    """Two equal tiles: the same rise, the standard error smaller by sqrt(2)."""
    matrix = slow.loss_matrix("absolute_error", Y, G)
    assert slow.rise([matrix, matrix]) == pytest.approx(slow.rise([matrix]))
    assert slow.rise_se([matrix] * 2) == pytest.approx(slow.rise_se([matrix]) / math.sqrt(2))


def test_squared_error_in_closed_form():
    """The rise is twice the sample covariance of outcomes and predictions."""
    matrix = slow.loss_matrix("squared_error", Y, G)
    assert slow.rise([matrix]) == pytest.approx(2 * np.cov(Y, G)[0, 1])


# --------------------------------------------------------------------------------- statistic="auto"


def test_mid_ranks_are_scipys():
    """Ties get their mean rank."""
    values = [3.0, 1.0, 3.0, 2.0, 3.0, 1.0]
    assert slow.mid_ranks(values) == pytest.approx(stats.rankdata(values) / 7)


def test_one_tile_of_regression_is_two_correlations():
    """S / sqrt(V) = r sqrt(n - 1): Pearson's with the outcomes, and with their ranks."""
    value, both = slow.auto([slow.regression_scores(Y, G)], [tuple(range(7))])
    plain = np.corrcoef(Y, G)[0, 1] * math.sqrt(6)
    ranked = np.corrcoef(stats.rankdata(Y), G)[0, 1] * math.sqrt(6)
    assert both == pytest.approx((plain, ranked))
    assert value == max(both)


def test_v_is_the_permutation_variance_of_one_score():
    """Over all permutations S has mean 0 and variance V; tiles add up."""
    first = slow.regression_scores(Y[:4], G[:4])
    second = slow.regression_scores(Y[4:], G[4:])
    pairs = list(product(slow.every_permutation(4), slow.every_permutation(3)))
    for place in (0, 1):
        scores = [first[place], second[place]]
        sums = [sum(map(slow.sum_of_products, scores, pair)) for pair in pairs]
        mean, variance = slow.moments(sums)
        assert mean == pytest.approx(0.0, abs=1e-12)
        assert variance == pytest.approx(sum(map(slow.variance_of_products, scores)))


def test_the_maximum_is_taken_after_the_tiles_are_merged():
    """Tile 1 speaks through y, tile 2 through its ranks: the maximum of sums, not a sum of maxima."""
    tiles = [slow.regression_scores([0, 1, 2, 9], [0, 1, 2, 9])]
    tiles += [slow.regression_scores([0, 1, 2, -90], [0, 1, 2, 1])]
    identity = [tuple(range(4))] * 2
    value, both = slow.auto(tiles, identity)
    alone = [slow.auto([tile], identity[:1]) for tile in tiles]
    covariance = (
        np.cov([0, 1, 2, 9], ddof=0) * 4 + 4 * np.cov([0, 1, 2, -90], [0, 1, 2, 1], ddof=0)[0, 1]
    )
    assert both[0] * math.sqrt(
        sum(slow.variance_of_products(t[0]) for t in tiles)
    ) == pytest.approx(covariance)
    assert value == max(both) < sum(one[0] for one in alone)


def test_two_classes_are_log_odds_and_probabilities():
    """Neither is inflated by counting both classes."""
    p = 1 / (1 + np.exp(-np.array(LOGITS)))
    tile = slow.classification_scores(BINARY, np.column_stack([1 - p, p]))
    _, both = slow.auto([tile], [tuple(range(8))])
    expected = [np.corrcoef(BINARY, v)[0, 1] * math.sqrt(7) for v in (LOGITS, p)]
    assert both == pytest.approx(tuple(expected))


def test_several_classes_add_their_products_and_variances():
    """By hand, with numpy, for three classes; an outcome that is certain stays finite."""
    y = [0, 1, 2, 1, 0]
    q = np.array([[1, 0, 0], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]])
    tile = slow.classification_scores(y, q)
    arrangement = (4, 2, 0, 1, 3)
    _, both = slow.auto([tile], [arrangement])
    for value, v in zip(both, (np.log(np.maximum(q, 2.0**-52)), q), strict=True):
        u = np.eye(3)[y]
        s = ((u - u.mean(0)) * (v - v.mean(0))[list(arrangement)]).sum()
        variance = (5 * u.var(0) * 5 * v.var(0)).sum() / 4
        assert value == pytest.approx(s / math.sqrt(variance))


def test_the_p_value_of_the_maximum_counts_large_values():
    """And equal ones within the tolerance."""
    assert slow.auto_p_value(2.0, [1.0, 2.0, 3.0]) == 3 / 4
    assert slow.auto_p_value(2.0, [2.0 - 1e-11]) == 1.0
    assert slow.auto_p_of_group(2.0, [2.0, 1.0, 1.0, 3.0]) == 1 / 2


# ------------------------------------------------------------------------------------- by="class"


def test_one_class_counts_its_outcomes_and_permutes_all_rows():
    """T_k over all permutations, and the rise over a in class k, by hand."""
    matrix = [[0.0, 1.0, 2.0], [3.0, 0.0, 4.0], [5.0, 6.0, 1.0]]
    y = [0, 1, 0]
    sums = [slow.class_total(matrix, y, 0, one) for one in slow.every_permutation(3)]
    assert sums == [1.0, 6.0, 2.0, 6.0, 8.0, 7.0]
    assert slow.class_rise(matrix, y, 0) == (1.0 + 2.0 + 5.0 + 6.0) / 4 - 1 / 2
    assert slow.class_rise(matrix, y, 1) == (3.0 + 4.0) / 2


def test_the_scores_of_one_of_two_classes_are_those_of_the_other():
    """[y = 0] with the log-odds of 0 is [y = 1] with those of 1."""
    p = 1 / (1 + np.exp(-np.array(LOGITS)))
    q = np.column_stack([1 - p, p])
    identity = [tuple(range(8))]
    both = [slow.auto([slow.class_scores(BINARY, q, k)], identity)[1] for k in (0, 1)]
    assert both[0] == pytest.approx(both[1])
    assert both[1] == pytest.approx(slow.auto([slow.classification_scores(BINARY, q)], identity)[1])


@pytest.mark.parametrize("values", [[1, 2, 3, 4], [0, 0, 0, 1], [1, 1, 2, 2, 2], [5, 5, 5], [7]])
def test_the_number_of_distinct_orders(values):
    """The formula against all permutations, one by one."""
    assert slow.n_sequences(values) == len(set(permutations(values)))


def test_a_class_of_all_rows_is_no_class():
    """Outcomes and predictions of all rows: the variance of the influences."""
    matrix = slow.loss_matrix("squared_error", np.array(Y), np.array(G))
    assert slow.class_tile_of(matrix, [1] * len(Y), 1) == pytest.approx(slow.tile_of(matrix))


def test_small_tiles_are_compared_with_each_other():
    """Ten tiles of two rows, by hand: the variance of their totals, nine degrees of freedom."""
    totals = [1.0, 3.0, 2.0, 5.0, 4.0, 0.0, 2.0, 3.0, 1.0, 4.0]
    centre, half = slow.rise_interval([(2, total, 99.0) for total in totals], 0.05)
    assert centre == pytest.approx(sum(totals) / 20)
    se = math.sqrt(10 * np.var(totals, ddof=1)) / 20
    assert half == pytest.approx(stats.t.isf(0.025, 9) * se)
    # Two tiles of twenty rows are too few to be compared.
    _, few = slow.rise_interval([(20, 3.0, 8.0), (20, 9.0, 10.0)], 0.05)
    assert few == pytest.approx(stats.t.isf(0.025, 38) * math.sqrt(18) / 40)
