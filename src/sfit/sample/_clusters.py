"""The clusters of the rows: any hashable labels, numbered in the order in which they appear."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from sfit._array import Array
from sfit.exceptions import DataError
from sfit.rows import Table
from sfit.sample._columns import column_or_vector


def cluster_labels(clusters: Any, table: Table) -> Array:
    """The label of each row's cluster, from labels or the name of a column of X."""
    if isinstance(clusters, list | tuple):
        # NumPy would turn numbers beside words into words, and tuples into columns.
        clusters = np.fromiter(clusters, dtype=object, count=len(clusters))
    return column_or_vector(clusters, table, "clusters")[0]


class ClusterLabels:
    """The labels of all clusters, collected piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[Any] = []
        self._n_distinct = 0

    def add(self, values: Array, first: int | None) -> None:
        """Add the labels of some rows; `first` is the number of the first row."""
        if values.ndim != 1:
            raise DataError(f"clusters must hold one label per row; got shape {values.shape}.")
        missing = np.asarray(pd.isna(values))
        if missing.any():
            raise DataError(
                f"clusters is missing at row {(first or 0) + missing.argmax()}: give every row a "
                "cluster."
            )
        self._pieces.append(_distinct(_index(values)))
        # Most labels may return in every piece: keep at most twice as many as are distinct.
        if sum(map(len, self._pieces)) > 2 * self._n_distinct:
            self._merge()

    @property
    def index(self) -> Any:
        """All labels, as they first appear; None if there are none."""
        if not self._pieces:
            return None
        self._merge()
        return self._pieces[0]

    def _merge(self) -> None:
        first, *others = self._pieces
        self._pieces = [_distinct(first.append(others)) if others else first]
        self._n_distinct = len(self._pieces[0])


def cluster_codes(index: Any, values: Any) -> Array:
    """The number of each row's cluster."""
    codes = np.asarray(index.get_indexer(_index(values)), dtype=np.int64)
    if (codes < 0).any():
        raise DataError("X holds other clusters than before: it changed while it was being read.")
    return codes


def _index(values: Any) -> Any:
    return pd.Index(values, tupleize_cols=False)


def _distinct(index: Any) -> Any:
    try:
        return index.unique()
    except TypeError as error:
        raise DataError(
            "clusters must hold hashable labels, such as text or whole numbers; the first is "
            f"{index[0]!r}: {error}."
        ) from error
