"""Tallies as bytes for a file: integers and floats only, no pickles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfit._array import Array


def pack(integers: Sequence[Any], floats: Sequence[Any]) -> bytes:
    """Arrays of numbers as bytes: the number of integers, the integers, then the floats."""
    whole = np.concatenate([np.zeros(0, "<i8"), *map(np.ravel, integers)]).astype("<i8")
    real = np.concatenate([np.zeros(0), *map(np.ravel, floats)]).astype("<f8")
    return np.array([len(whole)], dtype="<i8").tobytes() + whole.tobytes() + real.tobytes()


def unpack(data: bytes) -> tuple[Reader, Reader]:
    """Readers of the integers and of the floats; ValueError if the bytes hold anything else."""
    n_whole = int(np.frombuffer(data, dtype="<i8", count=1)[0])
    return (
        Reader(np.frombuffer(data, dtype="<i8", count=n_whole, offset=8)),
        Reader(np.frombuffer(data, dtype="<f8", offset=8 * (n_whole + 1))),
    )


class Reader:
    """Takes numbers from the front of an array."""

    def __init__(self, values: Array):
        self.values = values
        self.at = 0

    def take(self, n: int) -> Array:
        """The next n numbers."""
        left = len(self.values) - self.at
        if not 0 <= n <= left:
            raise ValueError(f"{n} numbers expected, but {left} left")
        self.at += n
        return self.values[self.at - n : self.at].copy()

    def finish(self) -> None:
        """Raise ValueError if numbers are left."""
        if self.at < len(self.values):
            raise ValueError(f"{len(self.values) - self.at} numbers too many")
