"""The permutation test as STATISTICS.md, part 2, defines it: slow, and meant to be obviously correct.

Nothing is shared with the library: loops, full n x n tables of losses, and all permutations one by one.
An *arrangement* says which prediction meets which outcome: outcome i meets the prediction of row
``arrangement[i]``. Rows that are not permuted with each other lie in different *tiles*; everything below
takes a list of tiles and one arrangement per tile.

Three things the golden numbers settle, where the words leave them open: the standard error of the rise
divides by n - 1 (sample standard deviation), the permutation variance divides by the number of
permutations, and a cyclic shift by s lets outcome i meet the prediction of row i + s.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from typing import Any

import numpy as np
from scipy import stats

from .slow import losses

Matrix = list[list[float]]
Arrangement = Sequence[int]
Loss = str | Callable[[Any, Any], Any]

# --------------------------------------------------------------------------------------- arrangements


def cyclic_shifts(n: int) -> list[tuple[int, ...]]:
    """All n shifts of n rows; the first is the identity."""
    return [tuple((i + s) % n for i in range(n)) for s in range(n)]


def every_permutation(n: int) -> list[tuple[int, ...]]:
    """All n! permutations of n rows; the first is the identity."""
    return list(permutations(range(n)))


def within(blocks: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """All arrangements that permute rows within blocks only; the first is the identity."""
    n = sum(len(block) for block in blocks)
    for choice in product(*(permutations(block) for block in blocks)):
        arrangement = [-1] * n
        for block, moved in zip(blocks, choice, strict=True):
            for place, source in zip(block, moved, strict=True):
                arrangement[place] = source
        yield tuple(arrangement)


# ------------------------------------------------------------------------------------- given features


def strata(values: Sequence[Any], smallest: int = 8) -> tuple[list[list[int]], int]:
    """The rows of each combination of given values, by first appearance; rows in small strata.

    Each stratum is permuted by itself, as a tile is. Rows of strata with fewer than `smallest` rows
    stay as they are and leave the statistic.
    """
    groups: dict[Any, list[int]] = {}
    for row, value in enumerate(values):
        groups.setdefault(value, []).append(row)
    large = [rows for rows in groups.values() if len(rows) >= smallest]
    return large, len(values) - sum(len(rows) for rows in large)


def blocks(values: Sequence[float]) -> tuple[list[list[int]], list[list[int]], int]:
    """Strata, blocks of neighbours and the number of rows that stay, of rows sorted by value.

    A value with 8 or more rows is a stratum. The other rows are cut into blocks of four. A last row
    alone is not moved, so five last rows make blocks of three and two. NaN has no neighbours.
    """
    large, _ = strata(["nan" if v != v else v for v in values])
    inside = {row for rows in large for row in rows}
    left = [row for row, v in enumerate(values) if row not in inside and v == v]
    cut = []
    while left:
        n = 3 if len(left) == 5 else 4
        cut.append(left[:n])
        left = left[n:]
    cut = [rows for rows in cut if len(rows) > 1]
    moved = len(inside) + sum(len(rows) for rows in cut)
    return large, cut, len(values) - moved


def moved_matrix(loss: Loss, y: Any, x: Any, z: Any, model: Callable[[Any, Any], Any]) -> Matrix:
    """L[a][b] = loss(y_a, g(x_b, z_a)): x comes from another row, the given value stays."""
    n = len(y)
    return [
        losses(loss, np.stack([y[a]] * n), np.array([model(x[b], z[a]) for b in range(n)]))
        for a in range(n)
    ]


# ------------------------------------------------------------------------------- the sum of the losses


def loss_matrix(loss: Loss, y: Any, prediction: Any) -> Matrix:
    """L[a][b] = loss(y_a, g_b)."""
    y, prediction = np.asarray(y), np.asarray(prediction)
    n = len(y)
    return [losses(loss, np.stack([y[a]] * n), prediction) for a in range(n)]


def log_loss_matrix(y: Sequence[int], logits: Sequence[float]) -> Matrix:
    """L[a][b] of the log loss of outcomes 0 and 1, from log-odds."""
    return [[math.log1p(math.exp(eta)) - a * eta for eta in logits] for a in y]


def total(matrix: Matrix, arrangement: Arrangement) -> float:
    """T: the sum of the losses that meet."""
    return math.fsum(matrix[i][b] for i, b in enumerate(arrangement))


def total_of(matrices: Sequence[Matrix], arrangements: Sequence[Arrangement]) -> float:
    """T over several tiles."""
    return math.fsum(total(m, a) for m, a in zip(matrices, arrangements, strict=True))


def class_total(matrix: Matrix, y: Sequence[int], k: int, arrangement: Arrangement) -> float:
    """T_k of ``by="class"``: only outcomes of class k count; all predictions are permuted."""
    return math.fsum(matrix[i][b] for i, b in enumerate(arrangement) if y[i] == k)


def moments(sums: Sequence[float]) -> tuple[float, float]:
    """Mean and variance over the permutations."""
    mean = math.fsum(sums) / len(sums)
    return mean, math.fsum((t - mean) ** 2 for t in sums) / len(sums)


# -------------------------------------------------------------------------------------- the rise


def rise(matrices: Sequence[Matrix]) -> float:
    """By how much the mean loss rises when the prediction comes from another row of the tile.

    Each tile counts with its number of rows.
    """
    n = sum(len(matrix) for matrix in matrices)
    return math.fsum(len(matrix) * _rise_of_tile(matrix) for matrix in matrices) / n


def _rise_of_tile(matrix: Matrix) -> float:
    n = len(matrix)
    others = [matrix[a][b] for a in range(n) for b in range(n) if a != b]
    own = [matrix[i][i] for i in range(n)]
    return math.fsum(others) / (n * (n - 1)) - math.fsum(own) / n


def influences(matrix: Matrix) -> list[float]:
    """A_i + B_i - L_ii: the means of row and column i without the diagonal, less the diagonal."""
    n = len(matrix)
    values = []
    for i in range(n):
        row = math.fsum(matrix[i][b] for b in range(n) if b != i) / (n - 1)
        column = math.fsum(matrix[a][i] for a in range(n) if a != i) / (n - 1)
        values.append(row + column - matrix[i][i])
    return values


def rise_se(matrices: Sequence[Matrix]) -> float:
    """Root of sum_t n_t s_t^2 / n^2, s_t the standard deviation of the influences in tile t."""
    n = sum(len(matrix) for matrix in matrices)
    return math.sqrt(math.fsum(tile_of(matrix)[2] for matrix in matrices)) / n


Tile = tuple[int, float, float]
"""Of one tile: rows that count, their total rise, and the variance of this total from its rows."""


def tile_of(matrix: Matrix) -> Tile:
    """n_t, n_t times the rise, and n_t s_t^2."""
    n = len(matrix)
    return n, n * _rise_of_tile(matrix), n * sample_variance(influences(matrix))


def class_tile_of(matrix: Matrix, y: Sequence[int], k: int) -> Tile:
    """The same for the outcomes of class k, m of n rows, under the predictions of all rows.

    The total varies with the m outcomes and with the n predictions. Each of both has its sample
    variance; a row of the class is in both, which gives the covariance.
    """
    n, own = len(matrix), [i for i, label in enumerate(y) if label == k]
    m = len(own)
    gaps = {
        a: math.fsum(matrix[a][b] for b in range(n) if b != a) / (n - 1) - matrix[a][a] for a in own
    }
    columns = []
    for b in range(n):
        met = [matrix[a][b] for a in own if a != b]
        columns.append(math.fsum(met) / len(met) if met else 0.0)
    variance = m * m * sample_variance(columns) / n
    if m > 1:
        variance += m * sample_variance(list(gaps.values()))
        gap, column = math.fsum(gaps.values()) / m, math.fsum(columns) / n
        together = math.fsum((gaps[i] - gap) * (columns[i] - column) for i in own)
        variance += 2 * together * m / math.sqrt(n * (n - 1)) * math.sqrt(m / (m - 1))
    return m, math.fsum(gaps.values()), variance


def sample_variance(values: Sequence[float]) -> float:
    """Divided by n - 1."""
    return sum_of_squares(values) / (len(values) - 1)


def rise_interval(tiles: Sequence[Tile], alpha: float) -> tuple[float, float]:
    """Centre and half width; the half width is infinite if nothing shows how much the rise varies.

    STATISTICS.md: the rows of a tile show its variance, but tiles under 30 rows are compared with
    each other. Few such tiles cannot be compared: fewer than five, and fewer than the rows in one,
    where both are the effective numbers of tiles of unequal size.
    """
    n = sum(rows for rows, _, _ in tiles)
    centre = math.fsum(total for _, total, _ in tiles) / n
    small = [tile for tile in tiles if tile[0] < 30]
    in_small = sum(rows for rows, _, _ in small)
    effective = in_small**2 / sum(rows**2 for rows, _, _ in small) if small else 0.0
    if not small or effective < min(5, in_small / effective):
        variances = [(math.fsum(v for _, _, v in tiles), sum(rows - 1 for rows, _, _ in tiles))]
    else:
        large = [tile for tile in tiles if tile[0] >= 30]
        variances = [(math.fsum(v for _, _, v in large), sum(rows - 1 for rows, _, _ in large))]
        mean = math.fsum(total for _, total, _ in small) / in_small
        apart = math.fsum((total - rows * mean) ** 2 for rows, total, _ in small)
        bias = 1 - 1 / effective  # the expected share of the variance that `apart` shows
        variances.append((apart / bias if bias > 0 else 0.0, effective - 1))
    variances = [(v, freedom) for v, freedom in variances if v > 0] or variances[-1:]
    whole = math.fsum(v for v, _ in variances)
    freedom = sum(freedom for _, freedom in variances)
    if len(variances) == 2:  # Welch and Satterthwaite
        freedom = whole**2 / math.fsum(v * v / freedom for v, freedom in variances)
    if freedom <= 0:
        return centre, math.inf
    return centre, float(stats.t.isf(alpha / 2, freedom)) * math.sqrt(whole) / n


def class_rise(matrix: Matrix, y: Sequence[int], k: int) -> float:
    """Rise of ``by="class"``: outcomes a of class k, predictions b of any other row."""
    n, own = len(matrix), [i for i, label in enumerate(y) if label == k]
    others = [matrix[a][b] for a in own for b in range(n) if b != a]
    return math.fsum(others) / len(others) - math.fsum(matrix[i][i] for i in own) / len(own)


# ---------------------------------------------------------------------- p-values of sums, small is good


def p_value(observed: float, permuted: Sequence[float], tolerance: float = 0.0) -> float:
    """(1 + #{T_b <= T}) / (B + 1): the permuted sums do not contain the observed one."""
    return (1 + sum(t <= observed + tolerance for t in permuted)) / (len(permuted) + 1)


def p_of_group(observed: float, sums: Sequence[float], tolerance: float = 0.0) -> float:
    """#{T_b <= T} / size: the sums are those of a whole group, the identity among them."""
    return sum(t <= observed + tolerance for t in sums) / len(sums)


def n_sequences(values: Sequence[Any]) -> int:
    """Number of distinct orders of some values; all are equally likely."""
    repeats = [math.factorial(values.count(value)) for value in set(values)]
    return math.factorial(len(values)) // math.prod(repeats)


def smallest_p(pieces: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> float:
    """No p-value of free permutations is smaller, for outcomes and predictions in several tiles.

    Permuting equal outcomes among each other, or equal predictions, changes nothing. So at least
    this share of all permutations gives exactly the observed pairs.
    """
    return math.prod(1 / min(n_sequences(y), n_sequences(g)) for y, g in pieces)


def z_score(observed: float, permuted: Sequence[float]) -> float:
    """(mean of T_b - T) / sd of T_b, the sample standard deviation; NaN where nothing moves."""
    mean, variance = moments(permuted)
    deviation = math.sqrt(variance * len(permuted) / (len(permuted) - 1))
    return (mean - observed) / deviation if variance > 0 else math.nan


def scale(outcome_scores: Sequence[float], predictions: Sequence[float]) -> float:
    """Sums within 1e-10 of this scale are equal."""
    return math.sqrt(sum_of_squares(outcome_scores) * sum_of_squares(predictions))


# ----------------------------------------------------------- statistic="auto": large is good, one-sided


def centred(values: Sequence[float]) -> list[float]:
    """Each value less the mean."""
    mean = math.fsum(values) / len(values)
    return [value - mean for value in values]


def sum_of_squares(values: Sequence[float]) -> float:
    """Around the mean."""
    return math.fsum(v * v for v in centred(values))


def mid_ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 1 to n, the mean rank for ties, divided by n + 1."""
    n = len(values)
    ranks = []
    for value in values:
        below = sum(other < value for other in values)
        equal = sum(other == value for other in values)
        ranks.append((below + (equal + 1) / 2) / (n + 1))
    return ranks


Score = list[tuple[list[float], list[float]]]
"""Pairs (u, v) whose products are added up: one pair, or one per class."""


def regression_scores(y: Sequence[float], prediction: Sequence[float]) -> tuple[Score, Score]:
    """The outcome with the prediction, and its rank with the prediction."""
    y, g = [float(v) for v in y], [float(v) for v in np.ravel(prediction)]
    return [(y, g)], [(mid_ranks(y), g)]


def classification_scores(y: Sequence[int], probabilities: Any) -> tuple[Score, Score]:
    """The log scale and the probabilities of the observed class.

    Two classes: log-odds and probabilities of class 1. More: one pair per class. Probabilities are
    kept away from 0 and 1 by the unit of their type, as in the log loss.
    """
    table = np.asarray(probabilities)
    eps = float(np.finfo(table.dtype).eps)
    rows = [[float(q) for q in row] for row in table]
    n_classes = len(rows[0])
    if n_classes == 2:
        positive = [float(label == 1) for label in y]
        clipped = [[max(q, eps) for q in row] for row in rows]
        odds = [math.log(row[1]) - math.log(row[0]) for row in clipped]
        return [(positive, odds)], [(positive, [row[1] for row in rows])]
    logs, plain = [], []
    for k in range(n_classes):
        observed = [float(label == k) for label in y]
        logs.append((observed, [math.log(max(row[k], eps)) for row in rows]))
        plain.append((observed, [row[k] for row in rows]))
    return logs, plain


def class_scores(y: Sequence[int], probabilities: Any, k: int) -> tuple[Score, Score]:
    """``by="class"``: [y = k] with the log-odds (two classes) or log-probability, and the probability, of k."""
    table = np.asarray(probabilities)
    eps = float(np.finfo(table.dtype).eps)
    observed = [float(label == k) for label in y]
    logs = []
    for row in table:
        log_k = math.log(max(float(row[k]), eps))
        other = math.log(max(float(row[1 - k]), eps)) if len(row) == 2 else 0.0
        logs.append(log_k - other)
    return [(observed, logs)], [(observed, [float(row[k]) for row in table])]


def sum_of_products(score: Score, arrangement: Arrangement) -> float:
    """S of a tile: sum over classes and rows of (u - mean u)(v - mean v), v rearranged."""
    parts = []
    for u, v in score:
        outcome, predicted = centred(u), centred(v)
        parts += [outcome[i] * predicted[b] for i, b in enumerate(arrangement)]
    return math.fsum(parts)


def variance_of_products(score: Score) -> float:
    """V of a tile: SS_u SS_v / (n - 1), per class, added."""
    return math.fsum(sum_of_squares(u) * sum_of_squares(v) / (len(u) - 1) for u, v in score)


def auto(
    tiles: Sequence[tuple[Score, Score]], arrangements: Sequence[Arrangement]
) -> tuple[float, tuple[float, float]]:
    """The larger of the two standardised sums, and both: S and V are added up over tiles first.

    A score whose V is 0 says nothing and is left out; where both are 0, so is the maximum.
    """
    standardised = []
    for place in (0, 1):
        scores = [tile[place] for tile in tiles]
        pairs = zip(scores, arrangements, strict=True)
        s = math.fsum(sum_of_products(score, arrangement) for score, arrangement in pairs)
        v = math.fsum(variance_of_products(score) for score in scores)
        standardised.append(s / math.sqrt(v) if v > 0 else -math.inf)
    largest = max(standardised)
    return (largest if largest > -math.inf else 0.0), (standardised[0], standardised[1])


def auto_p_value(observed: float, permuted: Sequence[float], tolerance: float = 1e-10) -> float:
    """(1 + #{M_b >= M}) / (B + 1), M the maximum; equal within 1e-10 of sqrt(V) is equal."""
    return p_value(-observed, [-m for m in permuted], tolerance)


def auto_p_of_group(observed: float, values: Sequence[float], tolerance: float = 1e-10) -> float:
    """#{M_b >= M} / size, over a whole group."""
    return p_of_group(-observed, [-m for m in values], tolerance)
