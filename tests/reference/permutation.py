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
    within_tiles = []
    for matrix in matrices:
        values = influences(matrix)
        mean = math.fsum(values) / len(values)
        variance = math.fsum((v - mean) ** 2 for v in values) / (len(values) - 1)
        within_tiles.append(len(values) * variance)
    return math.sqrt(math.fsum(within_tiles)) / n


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
