"""Dummies are frozen at their mean, between 0 and 1: what trees take that for."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._features import Features, shorten
from sfit.models import Trees
from sfit.rows import Table, column_values

Array = npt.NDArray[Any]


def base_of_dummies(trees: Trees, features: Features, rows: Table) -> str | None:
    """What is wrong with a base that has more dummies at 1 than any row; None if nothing is.

    Most libraries split a dummy halfway. LightGBM does so next to 0: to its trees every mean is 1,
    and one base has all categories, unlike any row that they have learned from.
    """
    columns = taken_for_one(trees, features, rows)
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
        for name, own in zip(features.names, features.columns, strict=True)
        if columns.intersection(own)
    ]
    return (
        f"these trees take {len(columns)} hidden dummies for 1, though a row has {most} of them at "
        "most: they are frozen between 0 and 1, and LightGBM splits a dummy next to 0. Against "
        f"such a base they may look better than they are: {shorten(names)}. Pass "
        "reference='median', or the values of a row that could be."
    )


def taken_for_one(trees: Trees, features: Features, rows: Table) -> set[int]:
    """Columns of zeros and ones, most of them 0, whose frozen value is 1 to some split."""
    frozen = np.zeros(len(features.spans))
    for column, (low, high) in enumerate(features.spans):
        if low == 0 and high == 1 and column not in features.always_on:
            value = float(column_values(features.reference, column)[0])
            # Zero is on the same side of every split as itself: it asks nothing.
            frozen[column] = value if value < 0.5 else 0.0
    at_node = frozen[trees.feature].astype(trees.dtype)
    compare = np.less if trees.strict else np.less_equal
    crossed = compare(at_node, trees.threshold) != compare(0, trees.threshold)
    columns = set(trees.feature[crossed & (trees.left >= 0) & ~trees.categorical].tolist())
    return {column for column in columns if np.isin(column_values(rows, column), (0, 1)).all()}
