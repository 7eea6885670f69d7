"""The rise: by how much the mean loss rises when a prediction comes from another row.

With L_ab the loss of outcome a under prediction b, the rise is the mean of L_ab over a != b, minus
the mean of L_aa. It is zero if predictions and outcomes are independent.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from sfit._array import Array
from sfit._bilinear import Products, products_of
from sfit._losses import Loss
from sfit.exceptions import DataError

SAMPLED_SHIFTS = 64
"""Shifts that estimate the rise of a loss without a closed form."""

SMALL_TILE = 30
"""Fewer rows share too many of their pairs to show how much their rise varies."""

COMPARED = 5
"""This many small tiles are compared with each other, however many rows each has."""


class CrossLosses(NamedTuple):
    """Losses of n outcomes and predictions with each other; n is at least 2."""

    own: Array
    """L_ii: each outcome under its own prediction."""
    of_outcome: Array
    """A_i: mean loss of outcome i under the predictions of other rows."""
    of_prediction: Array
    """B_i: mean loss of the outcomes of other rows under prediction i."""


class Rise(NamedTuple):
    """The rise of the rows of one tile."""

    n: int
    """Rows over which the rise is averaged."""
    total: float
    """Sum of A_i - L_ii over these rows."""
    spread: float
    """Variance of the total."""


NO_RISE = Rise(0, 0.0, 0.0)
"""The rise of rows without others."""


class RiseSums(NamedTuple):
    """The rises of some tiles; all but the first two numbers hold either large or small tiles.

    A small tile has fewer than 30 rows. They share most of their pairs, so they say little about
    the variance of their total; many small tiles are compared with each other instead.
    """

    n: float = 0.0
    total: float = 0.0
    spread: float = 0.0
    freedom: float = 0.0
    """Degrees of freedom of the spread."""
    small_n: float = 0.0
    small_n_squares: float = 0.0
    small_total: float = 0.0
    small_total_squares: float = 0.0
    small_products: float = 0.0
    """Sum of the products of number of rows and total."""
    small_spread: float = 0.0
    small_freedom: float = 0.0


def rise(loss: Loss, y: Array, g: Array, rng: np.random.Generator, of: Array | None = None) -> Rise:
    """The rise of the rows `of` (a mask; None: all) under the predictions of all rows."""
    n_rows = len(y)
    n = n_rows if of is None else int(np.count_nonzero(of))
    if n_rows < 2 or n == 0:
        return NO_RISE
    own, of_outcome, of_prediction = cross_losses(loss, y, g, rng, of)
    gaps = of_outcome - own
    if of is None:
        contributions = gaps + of_prediction
        return Rise(n, float(gaps.sum()), n * float(np.var(contributions, ddof=1)))
    total = float(gaps[of].sum())
    # Outcomes come from the n rows, predictions from all rows: each has its sample variance.
    contributions = (of_prediction - of_prediction.mean()) * (n / sqrt(n_rows * (n_rows - 1)))
    if n > 1:
        contributions[of] += (gaps[of] - total / n) * sqrt(n / (n - 1))
    return Rise(n, total, float(np.square(contributions).sum()))


def rise_between(
    loss: Loss,
    y: Array,
    g: Array,
    units: Array,
    rng: np.random.Generator,
    of: Array | None = None,
) -> RiseSums:
    """The rise of rows that depend on each other within units; its spread is that between units."""
    n_rows = len(y)
    n = n_rows if of is None else int(np.count_nonzero(of))
    if n_rows < 2 or n == 0:
        return RiseSums()
    own, of_outcome, of_prediction = cross_losses(loss, y, g, rng, of)
    counted = np.ones(n_rows, dtype=bool) if of is None else of
    gaps = of_outcome - own
    total = float(gaps[counted].sum())
    contributions = (of_prediction - of_prediction.mean()) * (n / n_rows)
    contributions[counted] += gaps[counted] - total / n
    of_units = np.bincount(units, contributions)
    freedom = len(of_units) - 1
    spread = float(np.square(of_units).sum()) * len(of_units) / max(freedom, 1)
    return RiseSums(n, total, spread, freedom)


def rise_sums(of_tile: Rise) -> Array:
    """The sums of one tile, which may be added up in the order of the tiles."""
    n, total, spread = of_tile
    if n == 0:
        return np.array(RiseSums())
    if n >= SMALL_TILE:
        return np.array(RiseSums(n, total, spread, n - 1))
    squares = n * n, total, total * total, n * total
    return np.array(RiseSums(n, total, 0.0, 0.0, n, *squares, spread, n - 1))


def interval(sums: RiseSums, alpha: float) -> tuple[float, float, float]:
    """The rise and its asymptotic interval: lower end, estimate, upper end.

    Large tiles give the variance of their totals from their rows. Small tiles are compared with
    each other if there are enough of them: at least five, or as many as a tile has rows.
    """
    if sums.n == 0:
        return 0.0, 0.0, 0.0
    centre = sums.total / sums.n
    spread, freedom = sums.spread + sums.small_spread, sums.freedom + sums.small_freedom
    if sums.small_n and _n_tiles(sums) >= min(COMPARED, sums.small_n / _n_tiles(sums)):
        spread, freedom = _added(sums.spread, sums.freedom, *_between(sums))
    if freedom <= 0:
        return -np.inf, centre, np.inf
    half = float(student.isf(alpha / 2, freedom)) * sqrt(spread) / sums.n
    return centre - half, centre, centre + half


def _n_tiles(sums: RiseSums) -> float:
    """Number of small tiles; of tiles of unequal size, the effective number."""
    return sums.small_n**2 / sums.small_n_squares


def _between(sums: RiseSums) -> tuple[float, float]:
    """Variance of the total of the small tiles, from their distances to the mean rise of them all.

    If the variance of a tile's total is proportional to its rows, this is unbiased.
    """
    mean = sums.small_total / sums.small_n
    products, n_squares = mean * sums.small_products, mean**2 * sums.small_n_squares
    apart = max(sums.small_total_squares - 2 * products + n_squares, 0.0)
    freedom = _n_tiles(sums) - 1
    return (apart * _n_tiles(sums) / freedom if freedom > 0 else 0.0), freedom


def _added(
    first: float, freedom: float, second: float, other_freedom: float
) -> tuple[float, float]:
    """The sum of two independent variances, and its degrees of freedom (Welch, Satterthwaite)."""
    spread = first + second
    if first == 0 or second == 0:
        return spread, freedom if second == 0 and first > 0 else other_freedom
    return spread, spread**2 / (first**2 / freedom + second**2 / other_freedom)


def cross_losses(
    loss: Loss, y: Array, g: Array, rng: np.random.Generator, of: Array | None = None
) -> CrossLosses:
    """Row and column means of the matrix L without its diagonal; columns over the rows `of`."""
    if is_sampled(loss, 1 if y.ndim == 1 else y.shape[1]):
        return _sampled(loss, y, g, rng, of)
    products = products_of(loss)
    if products is not None:
        return _of_products(loss, products, y, g, of)
    if loss.family == "pinball":
        return _of_pinball(loss.parameters[0], y, g)
    return _of_absolute_error(y, g)


def is_sampled(loss: Loss, n_outputs: int) -> bool:
    """Whether the rise of this loss is estimated from random shifts."""
    by_sorting = loss.name == "absolute_error" or loss.family == "pinball"
    closed = products_of(loss) is not None or (by_sorting and n_outputs == 1)
    return loss.task is None or not closed


def _of_products(
    loss: Loss, products: Products, y: Array, g: Array, of: Array | None
) -> CrossLosses:
    n, d = len(y), 1 if g.ndim == 1 else g.shape[1]
    if loss.name == "squared_error":
        # A common shift leaves the loss unchanged and saves digits where y is far from zero.
        centre = y.mean(axis=0)
        y, g = y - centre, g - centre
    (a, u), (b, v) = products.outcome(y, d), products.prediction(g)
    own = a + b - np.einsum("ij,ij->i", u, v)
    of_outcome = (n * (a + b.mean() - u @ v.mean(axis=0)) - own) / (n - 1)
    if of is None:
        return CrossLosses(
            own, of_outcome, (n * (a.mean() + b - v @ u.mean(axis=0)) - own) / (n - 1)
        )
    m = np.count_nonzero(of)
    column = m * (a[of].mean() + b - v @ u[of].mean(axis=0)) - np.where(of, own, 0.0)
    return CrossLosses(own, of_outcome, column / np.maximum(m - of, 1))


def _of_absolute_error(y: Array, g: Array) -> CrossLosses:
    """|y - g| by sorting: the sum of distances to all values on either side of a number."""
    n = len(y)
    # Distances do not change with the origin; one in the middle of the data saves digits.
    centre = np.median(y)
    y, g = np.asarray(y - centre, dtype=np.float64), np.asarray(g - centre, dtype=np.float64)
    own = np.abs(y - g)
    of_y, of_g = np.argsort(y), np.argsort(g)
    of_outcome, of_prediction = np.empty(n), np.empty(n)
    of_outcome[of_y] = _distances(y[of_y], g[of_g])
    of_prediction[of_g] = _distances(g[of_g], y[of_y])
    return CrossLosses(own, (of_outcome - own) / (n - 1), (of_prediction - own) / (n - 1))


def _of_pinball(quantile: float, y: Array, g: Array) -> CrossLosses:
    """Half the absolute error, plus a multiple of y - g that tilts it."""
    n, centre = len(y), np.median(y)
    y, g = np.asarray(y - centre, dtype=np.float64), np.asarray(g - centre, dtype=np.float64)
    halves = (0.5 * part for part in _of_absolute_error(y, g))
    mean_y, mean_g = ((n * values.mean() - values) / (n - 1) for values in (y, g))
    tilts = ((quantile - 0.5) * gap for gap in (y - g, y - mean_g, mean_y - g))
    return CrossLosses(*(half + tilt for half, tilt in zip(halves, tilts, strict=True)))


def _distances(points: Array, values: Array) -> Array:
    """Sum of the distances of each point to all values; both are sorted."""
    upto = np.concatenate([[0.0], np.cumsum(values)])
    below = np.searchsorted(values, points)
    return points * (2 * below - len(values)) + (upto[-1] - 2 * upto[below])


def _sampled(
    loss: Loss, y: Array, g: Array, rng: np.random.Generator, of: Array | None
) -> CrossLosses:
    """Means over random cyclic shifts of the rows in random order; over all if they are few."""
    n = len(y)
    order = rng.permutation(n)
    y, g = y[order], g[order]
    counted = np.ones(n, dtype=bool) if of is None else of[order]
    shifts = 1 + rng.permutation(n - 1)[:SAMPLED_SHIFTS]
    rows, columns, n_columns = np.zeros(n), np.zeros(n), np.zeros(n)
    own = loss_of_any_pair(loss, y, g)
    for shift in shifts:
        met = loss_of_any_pair(loss, y, np.roll(g, -shift, axis=0))
        rows += met
        columns += np.roll(np.where(counted, met, 0.0), shift)
        n_columns += np.roll(counted, shift)
    back = np.empty_like(order)
    back[order] = np.arange(n)
    columns /= np.maximum(n_columns, 1)
    return CrossLosses(own[back], rows[back] / len(shifts), columns[back])


def loss_of_any_pair(loss: Loss, y: Array, g: Array) -> Array:
    """Losses of outcomes under predictions of other rows."""
    try:
        return loss(y, g, int, signed=True)
    except DataError as error:
        raise DataError(
            f"loss {loss.name!r} cannot be computed for the outcome of one row and the prediction "
            "of another, which the permutation test pairs: it must return a finite number for "
            f"every such pair, or use test='sign'. ({error})"
        ) from error
