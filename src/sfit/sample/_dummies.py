"""Columns of zeros and ones, frozen at their mean: which value trees take that mean for.

A mean lies between 0 and 1, and a tree knows two sides of a threshold only. Where the threshold of
a dummy lies depends on the library: scikit-learn and CatBoost split halfway, LightGBM next to 0 and
XGBoost at 1. So the thresholds of the model itself decide.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from sfit._array import Array
from sfit._features import Features, shorten
from sfit.models import Trees
from sfit.rows import Table, column_values

REMEDY = "Pass reference='median', or the values of a possible row."


def dummies_warning(trees: Trees, features: Features, rows: Table) -> str | None:
    """A warning if the trees read frozen dummies as the rarer of their two values; else None."""
    as_one, as_zero = read_as_rarer(trees, features, rows)
    together = np.zeros(rows.shape[0])
    for column in as_one:
        together += column_values(rows, column)
    if as_one and together.max() < len(as_one):
        return (
            f"the trees read {len(as_one)} frozen dummies as 1, but no row has more than "
            f"{int(together.max())} of them at 1: dummies are frozen between 0 and 1, and these "
            "trees split them next to 0. Against such a base, these features may look better than "
            f"they are: {shorten(_named(features, as_one))}. {REMEDY}"
        )
    rarer = as_one | as_zero
    if not rarer:
        return None
    return (
        "these columns of zeros and ones are frozen between 0 and 1, and the trees read that as "
        f"the value that fewer rows have: {shorten(_named(features, rarer))}. Against such a base "
        f"they may look better than they are. {REMEDY}"
    )


def read_as_rarer(trees: Trees, features: Features, rows: Table) -> tuple[set[int], set[int]]:
    """Columns of zeros and ones whose frozen value some split reads as the rarer value.

    Those below a half that are read as 1, and those above a half that are read as 0.
    """
    low, high = np.zeros(len(features.spans)), np.ones(len(features.spans))
    for column, (least, most) in enumerate(features.spans):
        if least == 0 and most == 1 and column not in features.always_on:
            values = column_values(features.reference, column)
            # A frozen 0 or 1 is on its own side of every split: never reported.
            low[column] = values[values < 0.5].max(initial=0.0)
            high[column] = values[values > 0.5].min(initial=1.0)
    return _crossed(trees, low, 0, rows), _crossed(trees, high, 1, rows)


def _crossed(trees: Trees, frozen: Array, common: int, rows: Table) -> set[int]:
    """Columns of zeros and ones whose frozen value and common value some split separates."""
    compare = np.less if trees.strict else np.less_equal
    at_node = frozen[trees.feature].astype(trees.dtype)
    split = (trees.left >= 0) & ~trees.categorical
    apart = compare(at_node, trees.threshold) != compare(common, trees.threshold)
    columns = set(trees.feature[apart & split].tolist())
    return {column for column in columns if np.isin(column_values(rows, column), (0, 1)).all()}


def _named(features: Features, columns: Collection[int]) -> list[str]:
    """The features that some columns belong to."""
    pairs = zip(features.names, features.columns, strict=True)
    return [name for name, of_feature in pairs if set(columns).intersection(of_feature)]
