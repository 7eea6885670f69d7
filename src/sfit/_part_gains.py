"""Gains of the rows of one part, cut into units of equal size.

A unit is summed up by its mean and by its spread about that mean, so the rows of a part are summed
up in few numbers however many there are. If gains are identically distributed, so are units of
equal size, and labels of parts may be permuted over units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sfit._array import Array

MOST_UNITS = 65_536
"""About the largest number of units; with more rows than that, several rows make a unit."""


class PartGains(NamedTuple):
    """Some gains of one part, in units."""

    means: Array
    """The mean gain of each unit."""
    roots: Array
    """Of each unit, the root of the sum of squared distances from its mean."""
    rest: Array
    """Gains left over: fewer than a unit. They keep their label in every permutation."""


def unit_rows(n: int) -> int:
    """How many of n rows make a unit."""
    return max(1, n // MOST_UNITS)


def cut(gains: Array, size: int) -> PartGains:
    """Cut gains into units of `size` consecutive ones."""
    if size == 1:
        return PartGains(gains, np.zeros(len(gains)), gains[:0])
    n = len(gains) // size * size
    units = gains[:n].reshape(-1, size)
    means = units.mean(axis=1)
    distances = units - means[:, None]
    # Divide first: squares of very large or very small numbers leave the range of floats.
    largest = np.abs(distances).max(axis=1, initial=0.0)
    distances /= np.where(largest > 0, largest, 1.0)[:, None]
    return PartGains(means, largest * np.sqrt(np.square(distances).sum(axis=1)), gains[n:])


def joined(pieces: Sequence[PartGains], size: int) -> PartGains:
    """The units of consecutive pieces; gains left over in several of them make further units.

    Joining pieces one by one gives the same units as joining them all at once.
    """
    units, rest = [], pieces[0].rest[:0]
    for piece in pieces:
        more = cut(np.concatenate([rest, piece.rest]), size)
        units += [piece, more]
        rest = more.rest
    means, roots, _ = (np.concatenate(column) for column in zip(*units, strict=True))
    return PartGains(means, roots, rest)
