"""How closely two columns follow each other, and groups of features that move together.

Numbers are compared by Spearman's rank correlation, anything else by Cramer's V, corrected for its
bias in small samples (Bergsma 2013, Journal of the Korean Statistical Society 42, 323-328). Both
lie between 0 and 1 here: the sign of a correlation does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from scipy.stats import rankdata

from sfit._array import Array
from sfit._audit._records import CorrelatedGroup
from sfit.rows import as_table, column_numbers, column_values

RANKS, TABLE = "rank correlation", "Cramer's V"

BINS = 10
"""Numbers with more distinct values than this are cut into so many quantile bins."""

MOST_CATEGORIES = 50
"""Rarer categories than the most frequent ones are counted as one."""

MOST_ROWS = 20_000
"""More rows are sampled: a correlation then has a standard error of at most 0.007."""

MOST_CELLS = 20_000_000
"""Ranks that are held at once; with more than 1,000 columns fewer rows are sampled."""


@dataclass(frozen=True)
class Column:
    """The values of a column: doubles with NaN for missing, or objects."""

    values: Array
    is_numeric: bool

    @property
    def has_ranks(self) -> bool:
        """Whether there are more than two different numbers; two are categories."""
        return self.is_numeric and len(np.unique(self.values[~np.isnan(self.values)])) > 2

    def codes(self) -> Array:
        """The number of each row's category; missing values are one."""
        if self.is_numeric:
            return _bins(self.values)
        codes, labels = pd.factorize(self.values)
        if len(labels) > MOST_CATEGORIES:
            counts = np.bincount(codes[codes >= 0])
            rare = np.argsort(-counts, kind="stable")[MOST_CATEGORIES:]
            codes = np.where(np.isin(codes, rare), len(labels), codes)
        return pd.factorize(codes)[0]


def _bins(values: Array) -> Array:
    """Numbers as categories: each its own, or quantile bins whose bounds are observed values."""
    missing = np.isnan(values)
    present = values[~missing]
    bounds = np.unique(present)
    if len(bounds) > BINS:
        shares = np.arange(1, BINS) / BINS
        bounds = np.unique(np.quantile(present, shares, method="inverted_cdf"))
    codes = np.searchsorted(bounds, values, side="left")
    return pd.factorize(np.where(missing, -1, codes), use_na_sentinel=False)[0]


def column_at(table: Any, position: int, rows: Array | None = None) -> Column:
    """A column of a table, or some rows of it."""
    numbers = column_numbers(table, position)
    values = column_values(table, position) if numbers is None else numbers
    values = values if rows is None else values[rows]
    return Column(values, False) if numbers is None else Column(values.astype(np.float64), True)


def column_of(values: Any) -> Column:
    """A column from a vector of any kind."""
    values = values if isinstance(values, pd.Series) else np.asarray(values)
    return column_at(as_table(pd.DataFrame({"values": values})), 0)


def sampled_rows(n: int, n_columns: int, seed: int) -> Array | None:
    """Sorted numbers of randomly chosen rows; None if all rows are used."""
    most = min(MOST_ROWS, MOST_CELLS // max(n_columns, 1))
    if n <= most:
        return None
    return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def association(first: Column, second: Column) -> tuple[float, str]:
    """How closely two columns follow each other, from 0 to 1, and the name of the measure.

    Both are numeric with more than two values: the rank correlation of the rows where both are
    present. Otherwise Cramer's V, where missing values are a category.
    """
    if first.has_ranks and second.has_ranks:
        return rank_correlation(first.values, second.values), RANKS
    return cramers_v(first.codes(), second.codes()), TABLE


def rank_correlation(first: Array, second: Array) -> float:
    """The absolute value of Spearman's correlation of the complete pairs; 0 if one is constant."""
    both = ~(np.isnan(first) | np.isnan(second))
    if not both.any():
        return 0.0
    ranks = _standardized(np.column_stack([rankdata(first[both]), rankdata(second[both])]))
    return min(abs(float(ranks[:, 0] @ ranks[:, 1])), 1.0)


def cramers_v(first: Array, second: Array) -> float:
    """Cramer's V of two vectors of category numbers, corrected for its bias.

    The correction subtracts the expectation under independence, and shrinks the number of
    categories by the same principle.
    """
    n = len(first)
    if n < 2:
        return 0.0
    r, c = int(first.max()) + 1, int(second.max()) + 1
    counts = np.bincount(first * c + second, minlength=r * c).reshape(r, c)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    phi2 = float((np.square(counts - expected) / expected).sum()) / n
    phi2 = max(0.0, phi2 - (r - 1) * (c - 1) / (n - 1))
    smaller = min(k - 1 - (k - 1) ** 2 / (n - 1) for k in (r, c))
    return min(math.sqrt(phi2 / smaller), 1.0) if smaller > 0 else 0.0


def _standardized(columns: Array) -> Array:
    """Columns with mean 0 and sum of squares 1; constant ones are 0."""
    centred = columns - columns.mean(axis=0)
    norms = np.sqrt(np.square(centred).sum(axis=0))
    return np.divide(centred, norms, out=np.zeros_like(centred), where=norms > 0)


def correlated_groups(
    X: Any,
    names: Sequence[str],
    significant: Collection[str] = (),
    *,
    positions: Sequence[int] | None = None,
    threshold: float = 0.7,
    seed: int = 0,
) -> tuple[CorrelatedGroup, ...]:
    """Groups of features whose mean association with each other is at least the threshold.

    `names` are the features and `positions` their columns in X, by default 0, 1, ... Average
    linkage merges the groups. Single linkage would chain features that have nothing in common but
    neighbours, and complete linkage would split a group for the sake of one pair.

    Numeric features are compared by ranks, also those with two values, for which ranks give the
    phi coefficient: all pairs are then one product of matrices. A missing value leaves its pairs
    out; the ranks are those among the other values of the column. Pairs with a categorical feature
    are compared by Cramer's V, one by one.
    """
    table = as_table(X)
    positions = range(len(names)) if positions is None else positions
    rows = sampled_rows(table.shape[0], len(names), seed)
    columns = [partial(column_at, table, position, rows) for position in positions]
    matrix = _associations(columns, table.shape[0] if rows is None else len(rows))
    groups = []
    for members in _clusters(matrix, threshold):
        inside = matrix[np.ix_(members, members)]
        np.fill_diagonal(inside, 0.0)
        nearest = inside.max(axis=1)
        features = tuple(names[member] for member in members)
        groups.append(
            CorrelatedGroup(
                features,
                float(nearest.min()),
                float(nearest.max()),
                tuple(name for name in features if name in significant),
            )
        )
    return tuple(groups)


def _associations(columns: Sequence[Callable[[], Column]], n: int) -> Array:
    """The matrix of associations. Columns are read one by one; their ranks are held in single."""
    p = len(columns)
    ranks = np.zeros((n, p), dtype=np.float32, order="F")
    present = np.ones((n, p), dtype=bool, order="F")
    words: list[int] = []
    for k, read in enumerate(columns):
        column = read()
        if not column.is_numeric:
            words.append(k)
            continue
        present[:, k] = ~np.isnan(column.values)
        ranked = rankdata(column.values[present[:, k]]).reshape(-1, 1)
        if len(ranked):
            ranks[present[:, k], k] = _standardized(ranked)[:, 0]
    matrix = _rank_correlations(ranks, present)
    of_words = {word: columns[word]().codes() for word in words}
    for k in range(p if words else 0):
        codes = of_words[k] if k in of_words else columns[k]().codes()
        for word in words:
            matrix[word, k] = matrix[k, word] = cramers_v(of_words[word], codes)
    return matrix


def _rank_correlations(ranks: Array, present: Array) -> Array:
    """Absolute correlations of all columns, over the rows where both of a pair are present."""
    products = np.asarray(ranks.T @ ranks, dtype=np.float64)
    if present.all():
        return np.clip(np.abs(products), 0.0, 1.0)
    # Missing entries are 0 in `ranks`, so every sum runs over the common rows.
    known = present.astype(np.float32)
    n = np.asarray(known.T @ known, dtype=np.float64)
    sums = np.asarray(ranks.T @ known, dtype=np.float64)
    squares = np.asarray(np.square(ranks).T @ known, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = squares - sums**2 / n
        found = np.abs(products - sums * sums.T / n) / np.sqrt(spread * spread.T)
    # Sums of single precision: what is left of a constant column is rounding error.
    usable = (n > 2) & (spread > 1e-5 * squares) & (spread.T > 1e-5 * squares.T)
    return np.clip(np.where(usable, found, 0.0), 0.0, 1.0)


def _clusters(matrix: Array, threshold: float) -> list[Array]:
    """Members of the groups with at least two features: large groups first, then by column."""
    if len(matrix) < 2:
        return []
    distance = 1 - matrix
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average")
    labels = fcluster(tree, 1 - threshold, "distance")
    groups = (np.flatnonzero(labels == label) for label in np.unique(labels))
    several = [members for members in groups if len(members) > 1]
    return sorted(several, key=lambda members: (-len(members), members[0]))
