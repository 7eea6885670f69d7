"""Join the trees of any library into one `Trees`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sfit._array import Array
from sfit.models._view import Trees


class Tree(NamedTuple):
    """The nodes of one tree, numbered from its root 0; leaves have ``left < 0``."""

    feature: Array
    threshold: Array
    left: Array
    right: Array
    missing_left: Array
    categorical: Array


def join(trees: Sequence[Tree], dtype: npt.DTypeLike, *, strict: bool) -> Trees:
    """Concatenate trees; feature, threshold and children of leaves are blanked."""
    sizes = [len(tree.left) for tree in trees]
    roots = np.cumsum([0, *sizes])[:-1]
    offset = np.repeat(roots, sizes)
    whole = [np.concatenate([np.empty(0), *column]) for column in zip(*trees, strict=True)]
    feature, threshold, left, right, missing_left, categorical = whole or [np.empty(0)] * 6
    leaf = left < 0
    return Trees(
        roots=roots,
        feature=np.where(leaf, -1, feature).astype(np.intp),
        threshold=np.where(leaf, np.nan, threshold).astype(dtype),
        left=np.where(leaf, -1, left + offset).astype(np.intp),
        right=np.where(leaf, -1, right + offset).astype(np.intp),
        missing_left=~leaf & missing_left.astype(bool),
        categorical=~leaf & categorical.astype(bool),
        dtype=np.dtype(dtype),
        strict=strict,
    )
