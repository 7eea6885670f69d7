"""Estimators that name their columns, made ready for a table that lacks some of them."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer


def cloned_without(estimator: Any, removed: Set[str]) -> Any:
    """A clone whose ColumnTransformers, at any depth, no longer name the removed columns.

    Columns chosen by type, position or function need no change. A transformer that is left without
    columns does nothing.
    """
    copied = clone(estimator)
    for part in (copied, *copied.get_params(deep=True).values()):
        if removed and isinstance(part, ColumnTransformer):
            part.set_params(
                transformers=[
                    (name, transformer, _others(columns, removed))
                    for name, transformer, columns in part.transformers
                ]
            )
    return copied


def _others(columns: Any, removed: Set[str]) -> Any:
    """The columns of a transformer without the removed ones."""
    if isinstance(columns, str):
        return [] if columns in removed else columns
    named = isinstance(columns, list | tuple | np.ndarray) or hasattr(columns, "tolist")
    if not named or not all(isinstance(column, str) for column in columns):
        return columns
    # scikit-learn refuses a list of NumPy strings.
    return [str(column) for column in columns if column not in removed]
