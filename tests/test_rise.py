"""The interval of the rise: how often it holds the true rise, by simulation."""

from math import sqrt

import numpy as np
import pytest

from sfit._losses import LOSSES
from sfit._rise import NO_RISE, RiseSums, interval, rise, rise_sums

REPEATS = 200
ALPHA = 0.05

REGRESSIONS = {
    # slope of the true line, and the true rise under squared error: 2 cov(y, g)
    "nothing": (0.0, 0.0),
    "weak": (0.5, 0.5),
    "strong": (2.0, 8.0),
}

TILES = {
    "one tile": [400],
    "a short last tile": [300, 4],
    "pairs": [2] * 120,
    "blocks of four": [4] * 80,
    "twenty rows": [20] * 12,
    "unequal": [3, 5, 8, 12, 20, 25] * 4,
    "one large, many small": [100] + [5] * 20,
}


def holds(draw, tiles, truth, loss, seed):
    """How often the interval holds the truth; data without a row that counts are drawn again."""
    rng = np.random.default_rng(seed)
    n_held = 0
    for _ in range(REPEATS):
        sums = np.zeros(len(RiseSums._fields))
        while not sums[0]:
            for n in tiles:
                y, g, of = draw(rng, n)
                sums += rise_sums(rise(LOSSES[loss], y, g, rng, of))
        low, centre, high = interval(RiseSums(*sums), ALPHA)
        assert low <= centre <= high
        n_held += low <= truth <= high
    return n_held / REPEATS


def error(share):
    """Three binomial standard errors of a measured share."""
    return 3 * sqrt(share * (1 - share) / REPEATS)


@pytest.mark.parametrize("tiles", TILES)
@pytest.mark.parametrize("effect", REGRESSIONS)
def test_intervals_of_tiles_with_few_rows_cover(effect, tiles):
    """Coverage .93 to .97 but for simulation error, however the rows are cut into tiles."""
    slope, truth = REGRESSIONS[effect]

    def draw(rng, n):
        x = rng.normal(size=n)
        return slope * x + rng.normal(size=n), (slope or 0.5) * x, None

    share = holds(draw, TILES[tiles], truth, "squared_error", [len(effect), len(tiles)])
    assert 0.93 - error(0.93) <= share <= 0.97 + error(0.97)


CLASSES = {
    # tiles, and the logit of class 1 at x = 0
    "half of 200 rows": ([200], 0.0),
    "5 of 200 rows": ([200], -4.0),
    "10 of 1,000 rows": ([1_000], -5.0),
    "3 in each of 10 tiles": ([200] * 10, -4.5),
    "3 in each of 3 tiles": ([150] * 3, -4.5),
}


@pytest.mark.parametrize("rows", CLASSES)
@pytest.mark.parametrize("slope", [0.5, 1.5])
def test_intervals_of_classes_with_few_rows_cover(slope, rows):
    """Log loss, outcomes of a rare class, predictions of all rows."""
    tiles, logit = CLASSES[rows]
    x = np.linspace(-8, 8, 20_001)
    weight = np.exp(-x * x / 2)
    p = 1 / (1 + np.exp(-(logit + slope * x)))
    truth = np.average(np.log(p), weights=weight * p) - np.average(np.log(p), weights=weight)

    def draw(rng, n):
        x = rng.normal(size=n)
        p = 1 / (1 + np.exp(-(logit + slope * x)))
        y = (rng.random(n) < p).astype(int)
        return y, np.column_stack([1 - p, p]), y == 1

    share = holds(draw, tiles, truth, "log_loss", [7, len(rows)])
    assert share >= 0.93 - error(0.93)


def test_without_comparison_there_is_no_finite_interval():
    """One row of a class, or nothing at all."""
    rng = np.random.default_rng(0)
    y = np.arange(50) == 7
    p = rng.uniform(0.1, 0.9, size=50)
    one = rise(LOSSES["log_loss"], y.astype(int), np.column_stack([1 - p, p]), rng, y)
    low, centre, high = interval(RiseSums(*rise_sums(one)), ALPHA)
    assert (low, high) == (-np.inf, np.inf)
    assert centre == one.total
    assert interval(RiseSums(*rise_sums(NO_RISE)), ALPHA) == (0, 0, 0)


def test_a_class_of_all_rows_has_the_interval_of_all_rows():
    """The two definitions of the variance agree where both apply."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=60)
    p = rng.uniform(0.1, 0.9, size=60)
    g = np.column_stack([1 - p, p])
    every = np.ones(60, dtype=bool)
    one = rise(LOSSES["brier"], y, g, rng)
    other = rise(LOSSES["brier"], y, g, rng, every)
    assert other == pytest.approx(one)
