"""The inputs of a network as it sees them: rounded to its own type before anything is computed.

Far from zero, single precision drops most digits of a small change: next to 1,000,000 two numbers
differ by at least 1/16. A route that kept the digits would compute another function.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sfit.models import Dense

Array = npt.NDArray[Any]


def as_entered(values: Array, dtype: np.dtype[Any] | None) -> Array:
    """Values as they enter the first layer; without a type, as they are."""
    if dtype is None:
        return values
    # What is too large becomes infinite, as it does in the library's own conversion.
    with np.errstate(over="ignore"):
        return values.astype(dtype, copy=False)


def reference_of(network: Dense, reference: Array) -> Array:
    """A row of reference values as the network sees it, in doubles."""
    return as_entered(np.asarray(reference), network.input_dtype).astype(np.float64)
