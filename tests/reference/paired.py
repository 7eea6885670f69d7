"""Paired comparisons, slowly: exact fractions, one flip at a time."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import stats

from . import slow
from .clusters import members

SLOTS = 2048
BATCH = 1024


def masked(X: Any, reference: Sequence[float], shown: Sequence[int]) -> Any:
    """Rows with only some columns as observed."""
    rows = np.tile(np.asarray(reference, dtype=float), (len(X), 1))
    for column in shown:
        rows[:, column] = X[:, column]
    return rows


def units(differences: Sequence[float], clusters: Sequence[Any] | None) -> list[Fraction]:
    """One difference per row, or the mean difference of each cluster."""
    exact = [Fraction(float(one)) for one in differences]
    if clusters is None:
        return exact
    rows = members(clusters)
    return [
        sum((exact[row] for row in rows[label]), Fraction(0)) / len(rows[label]) for label in rows
    ]


def slots(differences: Sequence[Fraction]) -> list[Fraction]:
    """The differences, dealt in turn."""
    sums = [Fraction(0)] * SLOTS
    for place, one in enumerate(differences):
        sums[place % SLOTS] += one
    return sums


def signs(seed: int, size: int) -> list[Any]:
    """The signs of each flip, of which the first changes none."""
    drawn: list[Any] = []
    for first in range(0, size, BATCH):
        bits = np.random.default_rng([seed, first]).bytes(BATCH * SLOTS // 8)
        batch = np.unpackbits(np.frombuffer(bits, np.uint8)).reshape(BATCH, SLOTS)
        drawn += [[1 if bit else -1 for bit in row] for row in batch[: size - first].tolist()]
    drawn[0] = [1] * SLOTS
    return drawn


def mean_test(
    differences: Sequence[float],
    alpha: float,
    seed: int,
    size: int,
    clusters: Sequence[Any] | None = None,
) -> dict[str, float]:
    """The paired test of the mean, and the sign test of the median beside it."""
    of_units = units(differences, clusters)
    n = len(of_units)
    dealt = slots(of_units)
    used = [place for place in range(SLOTS) if dealt[place]]
    observed = sum(dealt, Fraction(0))
    counts = {"above": 0, "below": 0, "either": 0}
    for flip in signs(seed, size):
        total = sum((flip[place] * dealt[place] for place in used), Fraction(0))
        counts["above"] += total >= observed
        counts["below"] += total <= observed
        counts["either"] += abs(total) >= abs(observed)
    mean = float(observed) / n
    values = sorted(float(one) for one in of_units)
    low, high, _ = slow.exact_interval(values, alpha)
    n_positive, n_negative = (sum(sign * one > 0 for one in of_units) for sign in (1, -1))
    p_sign = 1.0
    if n_positive + n_negative:
        p_sign = min(1.0, 2 * slow.p_value(max(n_positive, n_negative), n_positive + n_negative))
    found = {
        "mean": mean,
        "p_above": counts["above"] / size,
        "p_below": counts["below"] / size,
        "p_value": counts["either"] / size,
        "median": slow.median(values),
        "median_low": low,
        "median_high": high,
        "p_sign": p_sign,
        "n": n,
        "n_positive": n_positive,
        "n_negative": n_negative,
    }
    if 2 <= n <= SLOTS:
        spread = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
        half = float(stats.t.isf(alpha / 2, n - 1)) * math.sqrt(spread / n)
        found |= {"ci_low": mean - half, "ci_high": mean + half}
    return found
