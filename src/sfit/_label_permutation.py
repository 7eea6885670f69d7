r"""Permutations of the labels of parts: how far apart the mean gains of the parts lie.

With n_k gains in part k, their mean m_k and standard deviation s_k, and w_k = n_k / s_k^2, three
statistics are compared with those of permuted labels:

    all parts at once      sum_k w_k (m_k - m)^2, m the mean of the m_k weighted by w_k
    part k, and the rest   (m_k - m_r)^2 / (s_k^2 / n_k + s_r^2 / n_r)
    trend                  (sum_k c_k m_k)^2 / sum_k c_k^2 s_k^2 / n_k, c_k equally spaced

If the gains of all parts have the same distribution, every permutation of labels is equally likely,
and the p-values are exact. Because the statistics are studentised, the p-values are asymptotically
valid for parts with equal means, whatever their variances (Chung and Romano 2013).

All three are functions of the sums of gains and of squared gains of each part. Sums over permuted
labels are sums of products, of the indicator of a part and a score: `_permutations` computes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import NamedTuple

import numpy as np

from sfit._array import Array
from sfit._part_gains import PartGains
from sfit._permutations import FREE_ROWS, TERMS_TOGETHER, ProductSums, Rematchings

TOLERANCE = 1e-8
"""Two statistics tie if they differ by less than this, absolutely or relatively."""

SMALLEST_SPREAD = 1e-10
"""Smallest sum of squares of a part, as a share of that of all parts: rounding is far smaller."""

ROUNDING = 1e-12
"""Gains that differ by a smaller share of the largest are equal but for rounding."""

NUMBERS_TOGETHER = 1 << 24
"""Sums of this many permutations, parts and features are held at a time."""

MOST_BLOCKS = 8
"""Blocks of units that are shifted: each permutation adds up one number per block and part."""

DRAWS_TOGETHER = 4_096
"""Statistics of this many permutations are computed at a time."""


class Moments(NamedTuple):
    """The gains of some parts: sizes, sums and sums of squares, over any further axes."""

    n: Array
    sums: Array
    squares: Array

    def mean(self) -> Array:
        """The mean gain of each part."""
        return np.asarray(self.sums / self.n)

    def squared_error(self, smallest: float) -> Array:
        """The squared standard error of each mean; no sum of squares is below `smallest`."""
        squares = np.maximum(self.squares - self.sums * (self.sums / self.n), smallest)
        return np.asarray(squares / ((self.n - 1) * self.n))


class Statistics(NamedTuple):
    """Squared, so large values speak against equal means."""

    overall: Array
    """All parts at once."""
    each: Array
    """Each part and the rest; one row per part."""
    trend: Array


class Counts(NamedTuple):
    """How many permutations, the observed labels included, are at least as extreme."""

    overall: Array
    """One number per feature."""
    each: Array
    """One row per feature, one column per part."""
    trend: Array


def statistics(parts: Moments, spread: float) -> Statistics:
    """The three statistics; `spread` is the sum of squares of all gains about their mean."""
    if spread == 0:
        nothing = np.zeros(parts.sums.shape)
        return Statistics(nothing[0], nothing, nothing[0])
    smallest = SMALLEST_SPREAD * spread
    mean, error = parts.mean(), parts.squared_error(smallest)
    weight = 1 / error
    centre = (weight * mean).sum(axis=0) / weight.sum(axis=0)
    overall = (weight * np.square(mean - centre)).sum(axis=0)
    rest = Moments(*(column.sum(axis=0) - column for column in parts))
    each = np.square(mean - rest.mean()) / (error + rest.squared_error(smallest))
    score = scores(len(mean)).reshape((-1,) + (1,) * (mean.ndim - 1))
    trend = np.square((score * mean).sum(axis=0)) / (np.square(score) * error).sum(axis=0)
    return Statistics(overall, each, trend)


def scores(n_parts: int) -> Array:
    """The equally spaced scores of a trend; they add up to 0."""
    return np.arange(n_parts) - (n_parts - 1) / 2


class Scaled(NamedTuple):
    """The gains of one feature about their mean, divided by the largest: sums of units."""

    sums: Array
    squares: Array
    fixed: Moments
    """Of the rows of each part that keep their label."""
    unit: float
    """The divisor; 0 if all gains are equal but for rounding."""
    centre: float

    @property
    def spread(self) -> float:
        """The sum of squares of all gains."""
        return float(self.squares.sum() + self.fixed.squares.sum())

    def of(self, labels: Array, size: int) -> Moments:
        """The moments of each part, if the units have these labels."""
        n_parts = len(self.fixed.n)
        n_units = np.bincount(labels, minlength=n_parts)
        sums, squares = (
            np.bincount(labels, column, n_parts) for column in (self.sums, self.squares)
        )
        return Moments(
            n_units * size + self.fixed.n, sums + self.fixed.sums, squares + self.fixed.squares
        )


def scaled(parts: Sequence[PartGains], size: int) -> Scaled:
    """The gains of one feature in all parts, on a common scale.

    Centring keeps the digits of small differences between large gains.
    """
    means, roots, rest = (np.concatenate(column) for column in zip(*parts, strict=True))
    n = size * len(means) + len(rest)
    centre = float((means * (size / n)).sum() + (rest / n).sum())
    largest = np.abs(np.concatenate([means, rest])).max()
    means, rest = means - centre, rest - centre
    unit = float(max(np.abs(column).max(initial=0.0) for column in (means, roots, rest)))
    if unit <= ROUNDING * largest:
        unit = 0.0
    # Without a difference worth the name, all gains equal their mean.
    means, roots, rest = (
        column / unit if unit else np.zeros(len(column)) for column in (means, roots, rest)
    )
    of_rest = np.repeat(np.arange(len(parts)), [len(part.rest) for part in parts])
    fixed = [np.bincount(of_rest, column, len(parts)) for column in (rest, np.square(rest))]
    n_fixed = np.bincount(of_rest, minlength=len(parts))
    squares = np.square(roots) + size * np.square(means)
    return Scaled(size * means, squares, Moments(n_fixed, *fixed), unit, centre)


@dataclass(frozen=True)
class LabelPermutations:
    """Permutations of the labels of the same units for all features."""

    labels: Array
    """The part of each unit; every part has at least two."""
    size: int
    """Rows of a unit."""
    n_draws: int
    """Permutations, the observed labels included."""
    seed: int

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return int(self.labels.max()) + 1

    @cached_property
    def rematchings(self) -> Rematchings:
        """The permutations: free for few units, else shifts within blocks of shuffled units."""
        n = len(self.labels)
        return Rematchings(n, self.n_draws, n <= FREE_ROWS, (self.seed,), MOST_BLOCKS)

    @property
    def resolution(self) -> float:
        """The smallest possible p-value: of one permutation, or of all of few units."""
        return max(1 / self.n_draws, exp(-self.rematchings.log_distinct(self.labels)))

    def count(self, features: Sequence[Sequence[PartGains]]) -> Counts:
        """Compare the statistics of each feature with those of permuted labels."""
        indicators = [(self.labels == part).astype(np.float64)[:, None] for part in self.parts]
        products = ProductSums(self.rematchings, indicators)
        # A feature is two terms of a product: the gains and their squares.
        held = 2 * self.n_parts * self.n_draws
        together = max(1, min(TERMS_TOGETHER // 2, NUMBERS_TOGETHER // held))
        counts = []
        for first in range(0, len(features), together):
            some = [scaled(parts, self.size) for parts in features[first : first + together]]
            terms = [[column[:, None]] * self.n_parts for one in some for column in one[:2]]
            sums = products.of(terms)
            counts += [
                self._extreme(one, *sums[2 * place : 2 * place + 2])
                for place, one in enumerate(some)
            ]
        return Counts(*(np.array(column) for column in zip(*counts, strict=True)))

    @property
    def parts(self) -> range:
        """The numbers of the parts."""
        return range(self.n_parts)

    def _extreme(self, gains: Scaled, sums: Array, squares: Array) -> tuple[Array, Array, Array]:
        """Count the permutations of one feature, from its sums by part and permutation."""
        n = gains.of(self.labels, self.size).n[:, None]
        fixed = gains.fixed
        observed: Statistics | None = None
        counts: list[Array] = [np.zeros((), int), np.zeros(self.n_parts, int), np.zeros((), int)]
        for first in range(0, self.n_draws, DRAWS_TOGETHER):
            some = slice(first, first + DRAWS_TOGETHER)
            moments = Moments(
                np.broadcast_to(n, sums[:, some].shape),
                sums[:, some] + fixed.sums[:, None],
                squares[:, some] + fixed.squares[:, None],
            )
            drawn = statistics(moments, gains.spread)
            # The first permutation changes no label: equal arithmetic gives an equal statistic.
            observed = Statistics(*(s[..., :1] for s in drawn)) if observed is None else observed
            for place, (one, seen) in enumerate(zip(drawn, observed, strict=True)):
                as_far = one >= seen * (1 - TOLERANCE) - TOLERANCE
                counts[place] = counts[place] + np.count_nonzero(as_far, axis=-1)
        return counts[0], counts[1], counts[2]
