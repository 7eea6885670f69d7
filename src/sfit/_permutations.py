"""Random re-matchings of predictions with outcomes, reproducible from a seed.

Up to 2,048 rows are permuted freely. More rows are shuffled once per tile, cut into blocks and
shifted cyclically within each block. The shifts form a group, so a p-value from random elements of
it is exact, and one Fourier transform gives the sums of all shifts of a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import lgamma, log

import numpy as np
from scipy.fft import irfft, rfft
from scipy.special import gammaln

from sfit._array import Array
from sfit._blas import blas_threads

FREE_ROWS = 2_048
"""Up to this many rows are permuted freely; more are shifted within blocks."""

BLOCK_ROWS = 1_024
"""Fewest rows of a block; two blocks already have a million shifts."""

DRAWN_TOGETHER = 256
"""Re-matchings drawn at a time, each batch from a stream that depends on its number only."""

KEPT_SHIFTS = 1 << 22
"""Up to this many drawn shifts are kept from term to term; more are drawn again."""

TERMS_TOGETHER = 16
"""Columns of one matrix product; fewer terms are padded, so its shape, and its bits, are fixed."""


@dataclass(frozen=True)
class Rematchings:
    """`size` re-matchings of m rows; the first leaves every prediction with its outcome."""

    m: int
    size: int
    free: bool
    """Whether rows are permuted freely, not shifted within blocks."""
    key: tuple[int, ...]
    """Seed of the run, and the numbers of the tile and the part."""
    most_blocks: int | None = None
    """Fewer and longer blocks cost less if many sums are drawn; None: as many as possible."""

    @property
    def log_group(self) -> float:
        """Logarithm of the number of distinct re-matchings from which these are drawn."""
        if self.free:
            return lgamma(self.m + 1)
        return sum(log(max(stop - start, 1)) for start, stop in self._blocks)

    def log_distinct(self, values: Array) -> float:
        """Logarithm of the number of distinct sequences that re-matching makes of some values.

        All of them are equally likely. If blocks are shifted, this is an upper bound: it ignores
        equal values.
        """
        if not self.free or not self.m:
            return self.log_group
        rows = np.ascontiguousarray(values)
        # Rows are compared by their bits: a negative zero counts as another value.
        bits = rows.reshape(-1).view(f"V{rows.nbytes // self.m}")
        _, counts = np.unique(bits, return_counts=True)
        return self.log_group - float(gammaln(counts + 1).sum())

    def outcomes(self) -> Iterator[Array]:
        """Batches of re-matchings: for each, the row whose outcome each prediction meets."""
        for first in range(0, self.size, DRAWN_TOGETHER):
            n = min(DRAWN_TOGETHER, self.size - first)
            if self.free:
                yield self._permutations(first)[:n]
                continue
            shifts = self._shifts(first)[:n]
            met = np.empty((n, self.m), dtype=np.intp)
            for number, (start, stop) in enumerate(self._blocks):
                places = np.arange(stop - start) - shifts[:, number, None]
                met[:, self._shuffled[start:stop]] = self._shuffled[start:stop][
                    places % (stop - start)
                ]
            yield met

    def _stream(self, *number: int) -> np.random.Generator:
        return np.random.default_rng([*self.key, *number])

    def _permutations(self, first: int) -> Array:
        identity = np.broadcast_to(np.arange(self.m), (DRAWN_TOGETHER, self.m))
        drawn = self._stream(1, first).permuted(identity, axis=1)
        if first == 0:
            drawn[0] = identity[0]
        return drawn

    @cached_property
    def _shuffled(self) -> Array:
        return self._stream(0).permutation(self.m)

    @property
    def _block_rows(self) -> int:
        """Rows of every block but the last, which may have more."""
        return (
            BLOCK_ROWS if self.most_blocks is None else max(BLOCK_ROWS, self.m // self.most_blocks)
        )

    @cached_property
    def _blocks(self) -> list[tuple[int, int]]:
        """Positions in the shuffled order where each block starts and stops."""
        n_blocks = max(1, self.m // self._block_rows)
        starts = [self._block_rows * number for number in range(n_blocks)]
        return list(zip(starts, [*starts[1:], self.m], strict=True))

    def _shifts(self, first: int) -> Array:
        """One shift for each re-matching of a batch and each block."""
        lengths = [stop - start for start, stop in self._blocks]
        size = (DRAWN_TOGETHER, len(lengths))
        drawn = self._stream(1, first).integers(0, lengths, size=size)
        if first == 0:
            drawn[0] = 0
        return drawn

    def _places(self, first: int) -> Array:
        """For each re-matching of a batch and block, the place of its shift among all shifts."""
        starts = np.array([start for start, _ in self._blocks])
        return (self._shifts(first) + starts)[: self.size - first]

    @cached_property
    def _pieces(self) -> list[_Piece]:
        """The blocks, in runs of equal length: all but the last, and the last."""
        start, stop = self._blocks[-1]
        last = _Piece(self._shuffled[start:stop], stop - start)
        if start == 0:
            return [last]
        return [_Piece(self._shuffled[:start], self._block_rows), last]


@dataclass(frozen=True)
class ProductSums:
    """Sums over re-matchings of the products of outcome scores and prediction scores.

    Scores are centred and have shape (m, d): a product is a sum over d columns. A statistic may
    have several components, each with separate scores.
    """

    rematchings: Rematchings
    outcomes: Sequence[Array]
    """The outcome scores of each component."""
    kept: dict[int, Array] = field(default_factory=dict)
    """Drawn shifts, by batch."""

    def of(self, terms: Sequence[Sequence[Array]]) -> Array:
        """Sums for each of at most 16 terms, component and re-matching.

        A term has one array per component.
        """
        if self.rematchings.free:
            return self._matrix_sums(terms)
        return np.array([self._shifted_sums(term) for term in terms])

    def _matrix_sums(self, terms: Sequence[Sequence[Array]]) -> Array:
        """The sums of at most 16 terms, by matrix products of one shape."""
        m, size = self.rematchings.m, self.rematchings.size
        d = self.outcomes[0].shape[1]
        padded = np.zeros((len(self.outcomes), d, m, TERMS_TOGETHER))
        for place, of_term in enumerate(terms):
            padded[..., place] = np.transpose(of_term, (0, 2, 1))
        sums = np.empty((len(terms), len(self.outcomes), size))
        # One thread: how a product is divided among threads must not show in its last bits.
        with blas_threads(1):
            for first in range(0, size, DRAWN_TOGETHER):
                met = self.rematchings._permutations(first)
                n = min(DRAWN_TOGETHER, size - first)
                for component, scores in enumerate(self.outcomes):
                    total = np.zeros((len(met), TERMS_TOGETHER))
                    for column, predicted in zip(scores.T, padded[component], strict=True):
                        total += column[met] @ predicted
                    sums[:, component, first : first + n] = total[:n, : len(terms)].T
        return sums

    def _shifted_sums(self, term: Sequence[Array]) -> Array:
        """The sums of one term: every shift of every block, then those that were drawn."""
        pieces, size = self.rematchings._pieces, self.rematchings.size
        every_shift = []
        transforms: dict[int, list[Array]] = {}
        for component, scores in enumerate(term):
            # Components may share their prediction scores.
            if id(scores) not in transforms:
                transforms[id(scores)] = [rfft(piece(scores)) for piece in pieces]
            met = zip(self._transforms[component], transforms[id(scores)], pieces, strict=True)
            every_shift.append(
                np.concatenate(
                    [irfft((y * g).sum(axis=0), n=piece.length).ravel() for y, g, piece in met]
                )
            )
        sums = np.empty((len(term), size))
        for first in range(0, size, DRAWN_TOGETHER):
            places = self._places(first)
            for component, of_shift in enumerate(every_shift):
                batch = slice(first, first + DRAWN_TOGETHER)
                sums[component, batch] = of_shift[places].sum(axis=1)
        return sums

    def _places(self, first: int) -> Array:
        """The drawn shifts of a batch, kept for the next term if they are few."""
        if self.rematchings.size * len(self.rematchings._blocks) > KEPT_SHIFTS:
            return self.rematchings._places(first)
        if first not in self.kept:
            self.kept[first] = self.rematchings._places(first)
        return self.kept[first]

    @cached_property
    def _transforms(self) -> list[list[Array]]:
        """Conjugate transforms of the outcome scores, by component and piece."""
        pieces = self.rematchings._pieces
        return [[np.conj(rfft(piece(scores))) for piece in pieces] for scores in self.outcomes]


@dataclass(frozen=True)
class _Piece:
    """Blocks of one length, as rows of the tile."""

    rows: Array
    length: int

    def __call__(self, scores: Array) -> Array:
        """Scores of shape (m, d) as (d, blocks, length)."""
        return scores[self.rows].T.reshape(scores.shape[1], -1, self.length)
