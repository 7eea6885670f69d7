"""Slopes of piecewise linear activations, and the transformation of the last layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from sfit._array import Array


def slope_below_zero(activation: str) -> float | None:
    """Slope of a piecewise linear activation below zero (above, it is 1); None for others."""
    if activation == "identity":
        return 1.0
    if activation == "relu":
        return 0.0
    if activation.startswith("leaky_relu"):
        slope = float(activation.partition(":")[2] or 0.01)
        return slope if 0 <= slope <= 1 else None
    return None


def finish(raw: Array, output: str, dtype: np.dtype[Any]) -> Array:
    """Turn the raw outputs of the last layer into predictions."""
    if output == "sigmoid":
        # Not 1 - p, which loses the digits of a small probability.
        finished = np.empty((len(raw), 2), dtype=dtype)
        finished[:, 0] = expit(-raw)
        finished[:, 1] = expit(raw)
        return finished
    if output == "softmax":
        raw = softmax(raw, axis=1)
    elif output == "exp":
        raw = np.exp(raw)
    return raw.astype(dtype, copy=False)
