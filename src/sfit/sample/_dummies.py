"""Dummies are frozen at their mean, between 0 and 1: which trees read it as 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._features import Features, shorten
from sfit.models import Trees
from sfit.rows import Table, column_values

Array = npt.NDArray[Any]


def dummies_warning(trees: Trees, features: Features, rows: Table) -> str | None:
    """A warning if the trees read more frozen dummies as 1 than any row has; else None.

    Most libraries split a dummy halfway between 0 and 1. LightGBM splits next to 0, so its trees
    read every mean as 1: the base then has all categories at once, unlike any training row.
    """
    columns = read_as_one(trees, features, rows)
    if not columns:
        return None
    together = np.zeros(rows.shape[0])
    for column in columns:
        together += column_values(rows, column)
    most = int(together.max())
    if most >= len(columns):
        return None
    names = [
        name
        for name, of_feature in zip(features.names, features.columns, strict=True)
        if columns.intersection(of_feature)
    ]
    return (
        f"the trees read {len(columns)} frozen dummies as 1, but no row has more than {most} of "
        "them at 1: dummies are frozen between 0 and 1, and LightGBM splits them next to 0. "
        f"Against such a base, these features may look better than they are: {shorten(names)}. "
        "Pass reference='median', or the values of a possible row."
    )


def read_as_one(trees: Trees, features: Features, rows: Table) -> set[int]:
    """Columns of zeros and ones, mostly 0, whose frozen value some split reads as 1."""
    frozen = np.zeros(len(features.spans))
    for column, (low, high) in enumerate(features.spans):
        if low == 0 and high == 1 and column not in features.always_on:
            values = column_values(features.reference, column)
            # A frozen value of 0 is on the same side of every split as 0: never reported.
            frozen[column] = values[values < 0.5].max(initial=0.0)
    at_node = frozen[trees.feature].astype(trees.dtype)
    compare = np.less if trees.strict else np.less_equal
    crossed = compare(at_node, trees.threshold) != compare(0, trees.threshold)
    columns = set(trees.feature[crossed & (trees.left >= 0) & ~trees.categorical].tolist())
    return {column for column in columns if np.isin(column_values(rows, column), (0, 1)).all()}
