"""Corrections for testing many sets at once, within one order (section 2.2)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import false_discovery_control

Array = npt.NDArray[Any]

CORRECTIONS = (None, "fdr_by", "fdr_bh", "holm", "bonferroni")


def adjust(p_values: Array, correction: str | None) -> Array:
    """Adjusted p-values: a set is significant when its adjusted p-value is below alpha."""
    p = np.asarray(p_values, dtype=float)
    m = len(p)
    if correction is None:
        return p.copy()
    if correction == "bonferroni":
        return np.minimum(p * m, 1.0)
    if correction == "holm":
        order = np.argsort(p)
        stepped = np.maximum.accumulate(p[order] * np.arange(m, 0, -1))
        adjusted = np.empty(m)
        adjusted[order] = np.minimum(stepped, 1.0)
        return adjusted
    # The paper suggests Benjamini and Yekutieli (2001), because the tests are dependent.
    return np.asarray(false_discovery_control(p, method=correction.removeprefix("fdr_")))


def smallest_threshold(alpha: float, correction: str | None, m: int) -> float:
    """The smallest level with which a p-value is compared when m sets are decided together."""
    if correction is None:
        return alpha
    harmonic = sum(1 / k for k in range(1, m + 1)) if correction == "fdr_by" else 1.0
    return alpha / (m * harmonic)
