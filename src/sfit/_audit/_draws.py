"""The time that the random draws of a permutation test take, measured on a few of them.

The draws of many features outlast their predictions: the correction asks for more draws, and each
feature meets all of them.
"""

from __future__ import annotations

import time
from math import ceil

import numpy as np

from sfit._multiplicity import n_draws, smallest_threshold
from sfit._permutations import (
    DRAWN_TOGETHER,
    FREE_ROWS,
    TERMS_TOGETHER,
    ProductSums,
    Rematchings,
)

COMPONENTS = 2
"""Sums of a statistic, at most."""


def seconds_of_draws(n_features: int, n_rows: int, alpha: float) -> float:
    """Expected seconds of the draws of all features.

    Up to 16 features share the draws of free permutations, whose time is proportional to their
    number. Shifts of blocks serve one feature, and begin with a Fourier transform.
    """
    size = n_draws(smallest_threshold(alpha, "fdr_by", n_features))
    if n_rows <= FREE_ROWS:
        batch = _timed(n_rows, DRAWN_TOGETHER, free=True)
        return ceil(n_features / TERMS_TOGETHER) * batch * size / DRAWN_TOGETHER
    few, more = (_timed(n_rows, n * DRAWN_TOGETHER, free=False) for n in (1, 3))
    per_draw = max(0.0, more - few) / (2 * DRAWN_TOGETHER)
    return n_features * (few + per_draw * (size - DRAWN_TOGETHER))


def _timed(n_rows: int, size: int, free: bool) -> float:
    """Seconds of some draws, the best of two runs: the first fills caches."""
    scores = np.linspace(-1.0, 1.0, n_rows)[:, None]
    products = ProductSums(Rematchings(n_rows, size, free, (0,)), [scores] * COMPONENTS)
    times = []
    for _ in range(2):
        started = time.perf_counter()
        products.of([[scores] * COMPONENTS])
        times.append(time.perf_counter() - started)
    return min(times)
