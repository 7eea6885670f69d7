"""Where the held-out rows lie: features that do not vary, and values that training never saw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfit._array import Array
from sfit._audit._matching import MatchedColumn, matched_columns
from sfit.rows import as_table, column_values


@dataclass(frozen=True)
class Outside:
    """Held-out rows whose value of a feature training never saw."""

    feature: str
    n: int
    """Rows below the smallest or above the largest number, with a new category, or with a missing
    value if the training rows have none."""
    share: float


def constant_features(
    X: Any, labels: Sequence[str], positions: Sequence[int] | None = None
) -> tuple[str, ...]:
    """Features with one value in all rows, or with missing values only.

    `labels` are the features and `positions` their columns in X, by default 0, 1, ...
    """
    table = as_table(X)
    positions = range(len(labels)) if positions is None else positions
    return tuple(
        label
        for label, position in zip(labels, positions, strict=True)
        if _is_constant(column_values(table, position))
    )


def _is_constant(column: Array) -> bool:
    codes = pd.factorize(column)[0]  # -1 for missing values
    return len(codes) > 0 and bool((codes == codes[0]).all())


def outside_training(
    X: Any, train: Any, labels: Sequence[str], positions: Sequence[int] | None = None
) -> tuple[Outside, ...]:
    """Features with values that training never saw, the largest share of rows first."""
    found = []
    for column in matched_columns(X, train, labels, positions):
        n = int(_is_outside(column).sum()) if len(column.training) else 0
        if n:
            found.append(Outside(column.label, n, n / len(column.held)))
    return tuple(sorted(found, key=lambda outside: -outside.n))


def _is_outside(column: MatchedColumn) -> Array:
    held, training = column.held, column.training
    if not column.is_numeric:
        return ~np.isin(held, np.unique(training))
    known = training[~np.isnan(training)]
    missing = np.isnan(held)
    if not len(known):
        return ~missing
    outside = (held < known.min()) | (held > known.max())
    return outside if len(known) < len(training) else outside | missing
