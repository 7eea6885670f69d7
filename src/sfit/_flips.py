"""Random sign flips: how far a mean difference lies from those of differences without a direction.

If the differences of the units are symmetric about zero, flipping the signs of any of them changes
nothing, so the observed sum and its flipped copies are exchangeable. The studentised mean

    t = S / sqrt((Q - S^2 / n) / (n - 1) * n)

rises with the sum S, because no flip changes the sum of squares Q: comparing sums compares
studentised means. That makes the test asymptotically valid for any differences with mean zero.

Rows are dealt to 2,048 slots, which are flipped as a whole. Up to 2,048 rows every row has its own
slot. Flips of slots are a group of flips of rows, so the test stays exact, and a tile is summed up
in 2,048 numbers however many rows there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t

from sfit._array import Array
from sfit._blas import blas_threads
from sfit.exceptions import DataError

SLOTS = 2_048
"""Units that are flipped; more rows share slots."""

DRAWN_TOGETHER = 1_024
"""Flips drawn at a time, each batch from a stream that depends on its number only."""

COLUMNS_TOGETHER = 16
"""Columns of one matrix product; fewer are padded, so its shape, and its bits, are fixed."""

TOLERANCE = 1e-10
"""Two sums tie if they differ by less than this share of the sums' standard deviation."""

ROUNDING = 1e-13
"""Rounding of a total, as a share of the root of its sum of squares."""


class Slots(NamedTuple):
    """Differences of units, dealt to slots."""

    sums: Array
    counts: Array
    """Number of units in each slot."""


class Mean(NamedTuple):
    """A mean difference with its asymptotic interval."""

    mean: float
    low: float
    high: float


class Extreme(NamedTuple):
    """How many flips, the observed signs included, are at least as extreme; one entry per sum."""

    above: Array
    below: Array
    either: Array


def dealt(differences: Array, places: Array | None = None) -> Slots:
    """Deal differences to slots in turn, or by their places.

    Every round begins one slot further: each 512th row would otherwise have four slots in all.
    """
    n = len(differences)
    slot = (np.arange(n) if places is None else places + places // SLOTS) % SLOTS
    sums = np.bincount(slot, differences, SLOTS)
    return Slots(sums, np.bincount(slot, minlength=SLOTS))


def mean_of(slots: Slots, alpha: float) -> Mean:
    """The mean over all units, and its asymptotic interval from the spread between slots."""
    mean, error = float(slots.sums.sum() / slots.counts.sum()), standard_error(slots)
    half = error
    if 0 < error < np.inf:
        half *= float(t.isf(alpha / 2, np.count_nonzero(slots.counts) - 1))
    return Mean(mean, mean - half, mean + half)


def standard_error(slots: Slots) -> float:
    """The standard error of the mean, from the spread between slots; infinite for one unit."""
    n_used = int(np.count_nonzero(slots.counts))
    if n_used < 2:
        return np.inf
    largest, scaled = _residuals(slots)
    return float(largest * np.sqrt(scaled @ scaled * n_used / (n_used - 1)))


def t_ratio(slots: Slots) -> float:
    """The mean in standard errors; NaN if nothing differs from zero."""
    mean, error = float(slots.sums.sum() / slots.counts.sum()), standard_error(slots)
    if error > 0:
        return mean / error
    return float(np.copysign(np.inf, mean)) if mean else np.nan


def largest_share(slots: Slots) -> float:
    """Share of the squared deviations from the mean that one slot holds."""
    largest, scaled = _residuals(slots)
    return float(1 / (scaled @ scaled)) if largest else 0.0


def _residuals(slots: Slots) -> tuple[float, Array]:
    """The largest deviation of a slot from the mean, and all of them in this unit."""
    n = int(slots.counts.sum())
    # Divide first: squares of very large or very small numbers leave the range of floats.
    residuals = (slots.sums - slots.counts * float(slots.sums.sum() / n)) / n
    largest = float(np.abs(residuals).max())
    return largest, residuals / largest if largest else residuals


def resolution(size: int, n_units: int, sides: int) -> float:
    """The smallest possible p-value: of one flip, or of all flips of few units."""
    return max(1 / size, sides * 0.5 ** min(n_units, SLOTS))


def flipped(sums: Array, size: int, seed: int) -> Iterator[Array]:
    """Batches of flips: for each flip, the flipped total of each row of `sums`."""
    n_columns = -(-len(sums) // COLUMNS_TOGETHER) * COLUMNS_TOGETHER
    padded = np.zeros((n_columns, SLOTS))
    padded[: len(sums)] = sums
    for first in range(0, size, DRAWN_TOGETHER):
        signs = _signs(seed, first)
        totals = np.empty((DRAWN_TOGETHER, n_columns))
        # One thread: how a product is divided among threads must not show in its last bits.
        with blas_threads(1):
            for start in range(0, n_columns, COLUMNS_TOGETHER):
                columns = slice(start, start + COLUMNS_TOGETHER)
                totals[:, columns] = signs @ padded[columns].T
        yield totals[: size - first, : len(sums)]


def count_extreme(sums: Array, size: int, seed: int) -> Extreme:
    """Compare the total of each row of `sums` with its flipped totals."""
    check_finite(sums)
    scaled, tolerance = _scaled(sums)
    observed = None
    counts = np.zeros((3, len(sums)), dtype=np.int64)
    for totals in flipped(scaled, size, seed):
        # The first flip changes no sign: equal arithmetic gives an equal total.
        observed = totals[0].copy() if observed is None else observed
        counts[0] += np.count_nonzero(totals >= observed - tolerance, axis=0)
        counts[1] += np.count_nonzero(totals <= observed + tolerance, axis=0)
        counts[2] += np.count_nonzero(np.abs(totals) >= np.abs(observed) - tolerance, axis=0)
    return Extreme(*counts)


def count_pairs(
    sums: Array, size: int, seed: int, advance: Callable[[int], Any] = lambda n: None
) -> Array:
    """For rows j and k of `sums`, how many flips of their difference are at least as large.

    `advance` is called with the number of flips that have been compared.
    """
    check_finite(sums)
    m = len(sums)
    largest = float(np.abs(sums).max(initial=0.0))
    scaled = sums / largest if largest > 0 else sums
    norms = np.sqrt(np.square(scaled).sum(axis=1))
    tolerance = np.empty((m, m))
    for j in range(m):
        apart = TOLERANCE * np.sqrt(np.square(scaled - scaled[j]).sum(axis=1))
        tolerance[j] = apart + ROUNDING * np.maximum(norms, norms[j])
    counts = np.zeros((m, m), dtype=np.int64)
    observed: Array | None = None
    for totals in flipped(scaled, size, seed):
        observed = totals[0].copy() if observed is None else observed
        for j in range(m - 1):
            others = slice(j + 1, m)
            apart = totals[:, j, None] - totals[:, others]
            seen, close = observed[j] - observed[others], tolerance[j, others]
            counts[j, others] += np.count_nonzero(apart >= seen - close, axis=0)
            counts[others, j] += np.count_nonzero(apart <= seen + close, axis=0)
        advance(len(totals))
    return counts


def check_finite(sums: Array) -> None:
    """Refuse sums beyond the range of floats: no flip would reach NaN, and p would be 0."""
    with np.errstate(over="ignore"):
        total = 2 * np.abs(sums).sum()
    if not np.isfinite(total):
        raise DataError(
            "the losses are too large to be added up: their sum exceeds the largest float, "
            f"{np.finfo(np.float64).max:.2g}. Divide y and the predictions by a large number, or "
            "use another loss."
        )


def _signs(seed: int, first: int) -> Array:
    """One row of signs per flip; the first flip of all changes no sign."""
    bits = np.random.default_rng([seed, first]).bytes(DRAWN_TOGETHER * SLOTS // 8)
    signs = np.unpackbits(np.frombuffer(bits, np.uint8)).reshape(-1, SLOTS).astype(np.float64)
    signs *= 2
    signs -= 1
    if first == 0:
        signs[0] = 1
    return signs


def _scaled(sums: Array) -> tuple[Array, Array]:
    """Each row of sums divided by its largest, and the tolerance for its totals."""
    largest = np.abs(sums).max(axis=1, initial=0.0)
    scaled = sums / np.where(largest > 0, largest, 1.0)[:, None]
    return scaled, TOLERANCE * np.sqrt(np.square(scaled).sum(axis=1))
