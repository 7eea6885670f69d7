"""Masked arrays, which models and losses may return."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def as_array(values: Any) -> npt.NDArray[Any]:
    """A plain array; masked entries become NaN, because the data behind a mask are undefined."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        filled = values.filled(0)
        return np.where(np.ma.getmaskarray(values), np.nan, filled)
    return np.asarray(values)
