"""Whether the nodes of a tree are one: predicting follows them without looking."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def check_nodes(left: Array, right: Array, leaf: Array, feature: Array, n_columns: int) -> None:
    """Refuse children that are not there, circles, and splits on columns that are not there.

    The root is node 0. Nodes without a parent may stay behind from pruning, if they are leaves.
    """
    n, inner = len(leaf), np.flatnonzero(~leaf)
    if not n:
        raise ValueError("a tree has no nodes")
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    if len(children) and not (children.min() > 0 and children.max() < n):
        raise ValueError("a node of a tree has a child that is not there")
    if np.bincount(children, minlength=n).max() > 1:
        raise ValueError("a node of a tree has two parents")
    # With one parent each, the only way to miss a split is a circle apart from the root.
    n_reached, level = 0, np.zeros(1, dtype=np.int64)
    while len(level := level[~leaf[level]]):
        n_reached += len(level)
        level = np.concatenate([left[level], right[level]]).astype(np.int64)
    if n_reached < len(inner):
        raise ValueError("nodes of a tree are not reached from its root")
    asked = feature[inner]
    if len(asked) and not (asked.min() >= 0 and asked.max() < n_columns):
        raise ValueError(f"a tree asks for a column that is not there ({n_columns} are)")


def check_segments(starts: Array, sizes: Array, n: int) -> None:
    """Refuse sets of categories that reach beyond those stored."""
    starts, sizes = np.asarray(starts, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    inside = len(starts) == len(sizes) and (starts >= 0) & (sizes >= 0) & (starts + sizes <= n)
    if not np.all(inside):
        raise ValueError("a tree asks for categories that are not there")
