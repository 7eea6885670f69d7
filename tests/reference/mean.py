"""The mean test as STATISTICS.md, "Comparisons", defines it: slow, and meant to be obviously correct.

It shares no code with the package. Differences of the losses of two sides, unit by unit; their signs are
flipped one flip at a time, from the bits that the seed gives.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import t as student

from reference import slow

SLOTS = 2048
BATCH = 1024


def differences(
    predict: Callable[[Any], Any],
    X: Any,
    y: Any,
    base: Sequence[int],
    full: Sequence[int],
    reference: Sequence[float],
    loss: str,
) -> list[float]:
    """The loss that the full side saves in each row; columns that a side does not reveal are frozen."""

    def side(shown: Sequence[int]) -> list[float]:
        rows = [
            [x if j in shown else reference[j] for j, x in enumerate(row)]
            for row in np.asarray(X, dtype=float).tolist()
        ]
        return slow.losses(loss, y, predict(np.array(rows)))

    return [b - f for b, f in zip(side(base), side(full), strict=True)]


def cluster_means(values: Sequence[float], clusters: Sequence[Hashable]) -> list[float]:
    """The mean of each cluster, in the order in which they appear."""
    return [
        float(np.mean([v for v, c in zip(values, clusters, strict=True) if c == label]))
        for label in dict.fromkeys(clusters)
    ]


def signs(seed: int, number: int) -> list[int]:
    """The signs of one flip: flip 0 changes none, any other takes its bits from the stream of its batch."""
    if number == 0:
        return [1] * SLOTS
    first = number // BATCH * BATCH
    stream = np.random.default_rng([seed, first]).bytes(BATCH * SLOTS // 8)
    start = (number - first) * SLOTS // 8
    own = stream[start : start + SLOTS // 8]
    return [1 if byte >> (7 - bit) & 1 else -1 for byte in own for bit in range(8)]


def p_value(values: Sequence[float], seed: int, size: int) -> float:
    """The share of `size` flips, the observed signs included, with at least the observed sum.

    Unit i has the sign of slot i modulo 2,048. Sums are exact, so ties are ties.
    """
    exact = [Fraction(value) for value in values]
    slots = [sum(exact[start::SLOTS], Fraction(0)) for start in range(min(SLOTS, len(exact)))]
    seen, reached = sum(slots), 0
    for number in range(size):
        flipped = sum(s * v for s, v in zip(signs(seed, number), slots, strict=False))
        reached += flipped >= seen
    return max(reached / size, 0.5 ** len(slots))


def share_of_all_flips(values: Sequence[float]) -> float:
    """The p-value from all flips of all units, written out."""
    exact = [Fraction(value) for value in values]
    sums = [
        sum(s * v for s, v in zip(flip, exact, strict=True))
        for flip in product((1, -1), repeat=len(exact))
    ]
    return float(np.mean([total >= sum(exact) for total in sums]))


def mean_and_interval(values: Sequence[float], alpha: float) -> tuple[float, float, float, float]:
    """The mean, Student's interval and the t ratio, for at most 2,048 units."""
    n, mean = len(values), float(np.mean(values))
    error = float(np.std(values, ddof=1)) / sqrt(n)
    half = float(student.isf(alpha / 2, n - 1)) * error
    return mean, mean - half, mean + half, mean / error if error else float("nan")
