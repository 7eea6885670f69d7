"""Re-matchings over all rows of a part: whole clusters change places, or time is shifted.

Both are values of one idea, `Exchange`: which rows count, in which order, and which re-matchings of
these rows are allowed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import NamedTuple, Protocol

import numpy as np

from sfit._array import Array
from sfit._blas import blas_threads
from sfit._permutations import DRAWN_TOGETHER, FREE_ROWS, ProductSums, Rematchings

ROUNDING = 1e-24
"""Squared products below this share of the product of squares are rounding, not spread."""


class Exchange(Protocol):
    """Allowed re-matchings of predictions with outcomes; the first leaves everything in place."""

    @property
    def order(self) -> Array:
        """The rows that count, in the order of all arrays below."""

    @property
    def size(self) -> int:
        """Number of re-matchings."""

    @property
    def key(self) -> tuple[int, ...]:
        """Seed of everything that is drawn."""

    @property
    def is_exact(self) -> bool:
        """Whether the units are exchangeable under the null hypothesis, without approximation."""

    @property
    def units(self) -> Array:
        """The unit of each row of the part, also of rows that do not count."""

    def outcomes(self) -> Iterator[Array]:
        """Batches of re-matchings: for each, the row whose outcome each prediction meets."""

    def sums(self, u: Array, v: Array) -> tuple[Array, float]:
        """Sums of products for each re-matching, less their mean; and their variance.

        Outcome scores `u` and prediction scores `v` have one column per product.
        """

    def log_distinct(self, *values: Array) -> float:
        """Logarithm of the number of distinct sequences that re-matching makes of some values.

        Of several arrays, the one that changes least counts.
        """


class Cycle(Rematchings):
    """Cyclic shifts of all rows in their order: all of them, or some that are drawn."""

    is_exact = False

    @cached_property
    def order(self) -> Array:
        """All rows."""
        return np.arange(self.m)

    @cached_property
    def units(self) -> Array:
        """Runs of consecutive rows: as many runs as a run has rows."""
        return self.order * int(np.sqrt(self.m)) // max(self.m, 1)

    def outcomes(self) -> Iterator[Array]:
        """One shift at a time, because the rows may be many."""
        for first in range(0, self.size, DRAWN_TOGETHER):
            for shift in self._shifts(first)[: self.size - first, 0]:
                yield np.roll(self.order, shift)[None]

    def sums(self, u: Array, v: Array) -> tuple[Array, float]:
        """All shifts by one Fourier transform, then those that were drawn."""
        u, v = _centred(u), _centred(v)
        [[sums]] = ProductSums(self, [u]).of([[v]])
        squares = np.square(u).sum(axis=0) @ np.square(v).sum(axis=0)
        return sums, float(squares) / (self.m - 1)

    def log_distinct(self, *values: Array) -> float:
        """An upper bound: a series may repeat itself."""
        return log(self.m)

    @cached_property
    def _shuffled(self) -> Array:
        return self.order

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        return [(0, self.m)]

    def _shifts(self, first: int) -> Array:
        if self.size == self.m:
            return np.arange(first, first + DRAWN_TOGETHER)[:, None]
        return super()._shifts(first)


class Group(NamedTuple):
    """Clusters that are exchanged with each other, `n_rows` rows of each."""

    start: int
    """Position of the first row."""
    n_rows: int
    rematchings: Rematchings
    """Of clusters, not of rows."""

    def matrix(self, scores: Array) -> Array:
        """The centred scores of the group, one line per cluster."""
        m = self.rematchings.m
        return _centred(scores[self.start : self.start + m * self.n_rows].reshape(m, -1))

    def sums(self, u: Array, v: Array) -> tuple[Array, float]:
        """Sums of products for each re-matching of the clusters, and their variance."""
        u, v = self.matrix(u), self.matrix(v)
        m = len(u)
        if m < 2:
            return np.zeros(self.rematchings.size), 0.0
        # One thread: how a product is divided among threads must not show in its last bits.
        with blas_threads(1):
            products = u @ v.T if self.rematchings.free else None
            squares = (u.T @ u) * (v.T @ v) if products is None else np.square(products)
        squared = float(squares.sum())
        if squared <= ROUNDING * float(np.square(u).sum()) * float(np.square(v).sum()):
            return np.zeros(self.rematchings.size), 0.0
        if products is None:
            [[sums]] = ProductSums(self.rematchings, [u]).of([[v]])
        else:
            met = self.rematchings.outcomes()
            sums = np.concatenate([products[some, np.arange(m)].sum(axis=1) for some in met])
        return sums, squared / (m - 1)

    def log_distinct(self, values: Array) -> float:
        """Logarithm of the number of distinct sequences that re-matching makes of some values."""
        stop = self.start + self.rematchings.m * self.n_rows
        return self.rematchings.log_distinct(values[self.start : stop])

    def met(self) -> Iterator[Array]:
        """For each re-matching, the row whose outcome each prediction of the group meets."""
        rows = np.arange(self.n_rows)
        for some in self.rematchings.outcomes():
            for clusters in some:
                yield (self.start + clusters[:, None] * self.n_rows + rows).ravel()


@dataclass(frozen=True)
class Clusters:
    """Whole clusters change places with clusters of equal size.

    A size that occurs once is paired with a neighbouring size: of both, as many rows as the smaller
    has are exchanged, in random order. The other rows do not count.
    """

    units: Array
    """The cluster of each row, numbered from 0."""
    size: int
    key: tuple[int, ...]

    @cached_property
    def _members(self) -> list[Array]:
        """The rows of each cluster, in their order."""
        order = np.argsort(self.units, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.units))[:-1])

    @cached_property
    def _chosen(self) -> list[list[Array]]:
        """For each group the rows of its clusters, as many of each."""
        rng = np.random.default_rng([*self.key, 0])
        groups = []
        for clusters in paired_sizes([len(rows) for rows in self._members], rng):
            members = [self._members[cluster] for cluster in clusters]
            n_rows = min(map(len, members))
            if any(len(rows) > n_rows for rows in members):
                members = [rng.permutation(rows)[:n_rows] for rows in members]
            groups.append(members)
        return groups

    @cached_property
    def order(self) -> Array:
        """The rows that count: group by group, cluster by cluster."""
        return np.concatenate([rows for members in self._chosen for rows in members])

    @cached_property
    def is_exact(self) -> bool:
        """Whether clusters change places only with clusters of equal size: then all rows count."""
        return len(self.order) == len(self.units)

    @cached_property
    def _groups(self) -> list[Group]:
        groups, start = [], 0
        for number, members in enumerate(self._chosen):
            m, n_rows = len(members), len(members[0])
            key = (*self.key, 1, number)
            groups.append(Group(start, n_rows, Rematchings(m, self.size, m <= FREE_ROWS, key)))
            start += m * n_rows
        return groups

    def outcomes(self) -> Iterator[Array]:
        """One re-matching at a time, because the rows may be many."""
        for of_groups in zip(*(group.met() for group in self._groups), strict=True):
            yield np.concatenate(of_groups)[None]

    def sums(self, u: Array, v: Array) -> tuple[Array, float]:
        """The sums of all groups, added in their order."""
        total, variance = np.zeros(self.size), 0.0
        for group in self._groups:
            sums, of_group = group.sums(u, v)
            total += sums
            variance += of_group
        return total, variance

    def log_distinct(self, *values: Array) -> float:
        """The sum over the groups; equal clusters count once."""
        return sum(min(map(group.log_distinct, values)) for group in self._groups)


def paired_sizes(sizes: Sequence[int], rng: np.random.Generator) -> list[list[int]]:
    """Groups of clusters of equal size; a cluster whose size occurs once borrows a partner.

    The partner comes from the nearer of the two neighbouring sizes, and leaves the group of its
    size. The size below lends only if it keeps two clusters.
    """

    def take(clusters: list[int]) -> int:
        return clusters.pop(int(rng.integers(len(clusters))))

    by_size: dict[int, list[int]] = {}
    for cluster, size in sorted(enumerate(sizes), key=lambda pair: pair[1]):
        by_size.setdefault(size, []).append(cluster)
    following = dict(zip(by_size, [*list(by_size)[1:], np.inf], strict=True))
    groups: list[list[int]] = []
    lender: tuple[float, list[int]] = (-np.inf, [])
    single: int | None = None
    for size, clusters in by_size.items():
        if single is not None:
            groups.append([single, take(clusters)])
            single = None
        if len(clusters) == 1:
            below, others = lender
            if len(others) > 2 and size - below <= following[size] - size:
                groups.append([take(others), *clusters])
            else:
                [single] = clusters
        elif clusters:
            groups.append(clusters)
            lender = size, clusters
    if single is not None:
        # Nobody is left above, and below no size has a cluster to spare.
        groups = [*groups[:-1], [*groups[-1], single]] if groups else [[single]]
    return groups


def _centred(scores: Array) -> Array:
    # The mean of equal numbers may differ from them in the last bit.
    return np.where(np.ptp(scores, axis=0) == 0, 0.0, scores - scores.mean(axis=0))
