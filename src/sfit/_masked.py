"""Masked arrays, as models and losses may return them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def as_array(values: Any) -> npt.NDArray[Any]:
    """An array in which masked numbers are not a number: there is nothing behind the mask."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        kept = values.filled(0)
        return np.where(np.ma.getmaskarray(values), np.nan, kept)
    return np.asarray(values)
