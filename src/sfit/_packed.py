"""Tallies as bytes for a file: numbers only, no pickles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._select import Counted, Window
from sfit._tally import Tally

Array = npt.NDArray[Any]


def pack(tallies: Sequence[Tally]) -> bytes:
    """Tallies as bytes: the number of integers, the integers, then the floats."""
    integers: list[Array] = []
    floats: list[Array] = []
    for tally in tallies:
        integers.append(np.array(tally[:4]))
        for counted in (tally.delta, tally.rho):
            weighed = counted.counts is not None
            integers.append(np.array([counted.below, len(counted.values), weighed]))
            if counted.counts is not None:
                integers.append(counted.counts)
            floats += [np.array(counted.window), counted.values]
    whole = np.concatenate(integers).astype("<i8")
    real = np.concatenate(floats).astype("<f8")
    return np.array([len(whole)], dtype="<i8").tobytes() + whole.tobytes() + real.tobytes()


def unpack(data: bytes, n_tallies: int) -> list[Tally]:
    """`n_tallies` tallies from bytes; raise ValueError if the bytes hold anything else."""
    n_whole = int(np.frombuffer(data, dtype="<i8", count=1)[0])
    integers = _Reader(np.frombuffer(data, dtype="<i8", count=n_whole, offset=8))
    floats = _Reader(np.frombuffer(data, dtype="<f8", offset=8 * (n_whole + 1)))
    tallies = []
    for _ in range(n_tallies):
        n, n_positive, n_better, n_improvable = integers.take(4).tolist()
        counted = []
        for _side in range(2):
            below, size, weighed = integers.take(3).tolist()
            counts = integers.take(size) if weighed else None
            low, high = floats.take(2).tolist()
            counted.append(Counted(Window(low, high), below, floats.take(size), counts))
        tallies.append(Tally(n, n_positive, n_better, n_improvable, *counted))
    if integers.left or floats.left:
        raise ValueError(f"more data than {n_tallies} tallies")
    return tallies


class _Reader:
    """Takes numbers from the front of an array."""

    def __init__(self, values: Array):
        self.values = values
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.values) - self.at

    def take(self, n: int) -> Array:
        if not 0 <= n <= self.left:
            raise ValueError(f"{n} numbers expected, but {self.left} left")
        self.at += n
        return self.values[self.at - n : self.at].copy()
