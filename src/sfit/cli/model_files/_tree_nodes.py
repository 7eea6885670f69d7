"""Checks of the nodes of a tree, which predictions follow without bounds checks."""

from __future__ import annotations

import numpy as np

from sfit._array import Array


def check_nodes(left: Array, right: Array, leaf: Array, feature: Array, n_columns: int) -> None:
    """Refuse children that do not exist, cycles, and splits on columns that do not exist.

    The root is node 0. Pruning may leave leaves without a parent.
    """
    n, inner = len(leaf), np.flatnonzero(~leaf)
    if not n:
        raise ValueError("a tree has no nodes")
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    if len(children) and not (children.min() > 0 and children.max() < n):
        raise ValueError("a node of a tree has a child that does not exist")
    if np.bincount(children, minlength=n).max() > 1:
        raise ValueError("a node of a tree has two parents")
    # With one parent per node, only a cycle apart from the root leaves a split unreached.
    n_reached, level = 0, np.zeros(1, dtype=np.int64)
    while len(level := level[~leaf[level]]):
        n_reached += len(level)
        level = np.concatenate([left[level], right[level]]).astype(np.int64)
    if n_reached < len(inner):
        raise ValueError("nodes of a tree cannot be reached from its root")
    split = feature[inner]
    if len(split) and not (split.min() >= 0 and split.max() < n_columns):
        raise ValueError(f"a tree splits on a column that does not exist (there are {n_columns})")


def check_segments(starts: Array, sizes: Array, n: int) -> None:
    """Refuse sets of categories beyond the stored ones."""
    starts, sizes = np.asarray(starts, dtype=np.int64), np.asarray(sizes, dtype=np.int64)
    inside = len(starts) == len(sizes) and (starts >= 0) & (sizes >= 0) & (starts + sizes <= n)
    if not np.all(inside):
        raise ValueError("a tree refers to categories that do not exist")
