"""The inputs of a network, rounded to its input dtype before anything is computed.

Far from zero, single precision drops most digits of a small change: near 1,000,000 two distinct
numbers differ by at least 1/16. A route that kept the digits would compute a different function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfit._array import Array
from sfit.models import Dense


def as_entered(values: Array, dtype: np.dtype[Any] | None) -> Array:
    """Values in the dtype in which they enter the first layer; unchanged without a dtype."""
    if dtype is None:
        return values
    # Values that are too large become infinite, as in the library's conversion.
    with np.errstate(over="ignore"):
        return values.astype(dtype, copy=False)


def inputs_of(network: Dense, rows: Array) -> Array:
    """Rows as they enter the network, rounded to its input dtype, in doubles."""
    return as_entered(np.asarray(rows), network.input_dtype).astype(np.float64)
