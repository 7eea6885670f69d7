"""Rows that occur in the training set and in the held-out set.

Rows are compared by a 64-bit hash of the columns that the model uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfit._array import Array
from sfit._audit._matching import matched_columns
from sfit.rows import as_table

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)


@dataclass(frozen=True)
class Overlap:
    """Counts of rows that occur more than once."""

    n_rows: int
    """Held-out rows."""
    n_shared: int
    """Held-out rows that also occur in the training set."""
    n_repeated: int
    """Held-out rows that equal another held-out row."""
    n_training: int
    n_training_repeated: int
    """Training rows that equal another training row."""

    @property
    def expected(self) -> float:
        """Shared rows to expect by chance if both sets are random draws from one population.

        A training row then equals some other training row as often as a held-out row does. If the
        training set was freed of duplicates, those of the held-out rows give a second estimate.
        """
        from_training = self.n_rows * self.n_training_repeated / max(self.n_training, 1)
        from_held = self.n_repeated * min(1.0, self.n_training / max(self.n_rows, 1))
        return max(from_training, from_held)


def overlap(
    X: Any, train: Any, labels: Sequence[str], positions: Sequence[int] | None = None
) -> Overlap:
    """Count the held-out rows that also occur in the training set.

    `labels` are the columns that the model uses; `matched_columns` says where they are found.
    """
    held = np.zeros(as_table(X).shape[0], dtype=np.uint64)
    training = np.zeros(as_table(train, "train").shape[0], dtype=np.uint64)
    for column in matched_columns(X, train, labels, positions):
        held, training = _mixed(held, column.held), _mixed(training, column.training)
    return Overlap(
        len(held),
        int(np.isin(held, training).sum()),
        _repeated(held),
        len(training),
        _repeated(training),
    )


def _mixed(so_far: Array, column: Array) -> Array:
    """A hash of the columns so far and one more; the order of the columns matters."""
    mixed = (so_far ^ _hashed(column)) * _MULTIPLIER
    return np.asarray(mixed ^ (mixed >> _SHIFT))


def _hashed(column: Array) -> Array:
    if column.dtype != object:
        column = column + 0.0  # -0.0 becomes 0.0
        column[np.isnan(column)] = np.nan  # NaNs may differ in their bits
    return np.asarray(pd.util.hash_array(column))


def _repeated(hashes: Array) -> int:
    _, counts = np.unique(hashes, return_counts=True)
    return int(counts[counts > 1].sum())
