"""Tallies as a file holds them: as numbers, no pickles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._select import Counted, Window
from sfit._tally import Tally

Array = npt.NDArray[Any]


def pack(tallies: Sequence[Tally]) -> bytes:
    """Tallies as bytes: how many whole numbers, these, and then the others."""
    whole: list[Array] = []
    other: list[Array] = []
    for tally in tallies:
        whole.append(np.array(tally[:4]))
        for counted in (tally.delta, tally.rho):
            weighed = counted.counts is not None
            whole.append(np.array([counted.below, len(counted.values), weighed]))
            if counted.counts is not None:
                whole.append(counted.counts)
            other += [np.array(counted.window), counted.values]
    numbers = np.concatenate(whole).astype("<i8")
    values = np.concatenate(other).astype("<f8")
    return np.array([len(numbers)], dtype="<i8").tobytes() + numbers.tobytes() + values.tobytes()


def unpack(data: bytes, n_tallies: int) -> list[Tally]:
    """So many tallies from bytes; a ValueError where these hold anything else."""
    n_whole = int(np.frombuffer(data, dtype="<i8", count=1)[0])
    whole = _Reader(np.frombuffer(data, dtype="<i8", count=n_whole, offset=8))
    other = _Reader(np.frombuffer(data, dtype="<f8", offset=8 * (n_whole + 1)))
    tallies = []
    for _ in range(n_tallies):
        n, n_positive, n_better, n_improvable = whole.take(4).tolist()
        counted = []
        for _side in range(2):
            below, size, weighed = whole.take(3).tolist()
            counts = whole.take(size) if weighed else None
            low, high = other.take(2).tolist()
            counted.append(Counted(Window(low, high), below, other.take(size), counts))
        tallies.append(Tally(n, n_positive, n_better, n_improvable, *counted))
    if whole.left or other.left:
        raise ValueError(f"there is more than {n_tallies} tallies")
    return tallies


class _Reader:
    """Takes numbers off the front of an array."""

    def __init__(self, values: Array):
        self.values = values
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.values) - self.at

    def take(self, n: int) -> Array:
        if not 0 <= n <= self.left:
            raise ValueError(f"{n} numbers are asked for where {self.left} are left")
        self.at += n
        return self.values[self.at - n : self.at].copy()
