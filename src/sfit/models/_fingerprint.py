"""What a model is known by in another process: a hash of its parts."""

from __future__ import annotations

from copyreg import dispatch_table
from hashlib import blake2b
from io import BytesIO
from pickle import DEFAULT_PROTOCOL, Pickler, loads
from sys import modules
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def stable_hash(value: Any) -> str | None:
    """A hash of what is pickled, the same before and after; None where nothing can be.

    Arrays that a model shares among its parts while it is fitted are apart once it was pickled.
    """
    data = BytesIO()
    pickler = Pickler(data)
    pickler.dispatch_table = {
        **dispatch_table,
        np.ndarray: _without_gaps,
        **dict.fromkeys(_search_trees(), _points),
    }
    try:
        pickler.dump(value)
        return str(joblib.hash(loads(data.getvalue())))  # noqa: S301 - pickled a moment ago
    except Exception:  # a model may refuse in any way it likes
        return None


def _without_gaps(array: Array) -> Any:
    """An array whose records have nothing between their fields but zeros.

    The nodes of scikit-learn's trees have room there, where anything may lie after loading.
    """
    if array.dtype.names is not None:
        records = np.zeros(array.shape, array.dtype)
        for field in array.dtype.names:
            records[field] = array[field]
        array = records
    return array.__reduce_ex__(DEFAULT_PROTOCOL)


def _search_trees() -> tuple[Any, ...]:
    """The trees in which nearest neighbours are looked up, if there can be any."""
    neighbors = modules.get("sklearn.neighbors")
    return () if neighbors is None else (neighbors.KDTree, neighbors.BallTree)


def _points(tree: Any) -> tuple[Any, ...]:
    """A search tree as its arrays: it also counts how often it was asked."""
    return list, (tree.get_arrays(),)


def digest_of(*parts: Any) -> str:
    """One text for arrays and texts that make a model."""
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(part if isinstance(part, bytes) else _bytes(part))
    return digest.hexdigest()


def _bytes(part: Any) -> bytes:
    if isinstance(part, str):
        return part.encode()
    array = np.asarray(part)
    return f"{array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes()
