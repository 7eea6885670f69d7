"""A square-root scale for an axis, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfit._array import Array
from sfit.plotting._style import extent

if TYPE_CHECKING:
    from sfit._set_tests import AnySetTest


def set_root_scale(axes: Any, tests: Sequence[AnySetTest]) -> None:
    """Give the horizontal axis a square-root scale that contains zero and all finite ends."""
    ends = [end for test in tests for end in (test.estimate, test.ci_low, test.ci_high)]
    low, high = root(np.array(extent(ends)))
    pad = 0.03 * (high - low)
    axes.set_xscale("function", functions=(root, square))
    axes.set_xlim(square(np.array([low - pad, high + pad])))
    ticks = root_ticks(low - pad, high + pad)
    axes.set_xticks(ticks, labels=[f"{tick:g}".replace("-", "−") for tick in ticks])
    axes.minorticks_off()


def root(values: Array) -> Array:
    """The square root with the sign of each value."""
    return np.sign(values) * np.sqrt(np.abs(values))


def square(values: Array) -> Array:
    """The inverse of `root`."""
    return np.sign(values) * np.square(values)


def root_ticks(low: float, high: float, n: int = 7) -> list[float]:
    """Round numbers between the squares of `low` and `high`, about evenly spaced, with zero."""
    step = (high - low) / n
    places = [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    ticks = sorted({_rounded(math.copysign(place * place, place)) for place in places} | {0.0})
    return [tick for tick in ticks if low <= math.copysign(math.sqrt(abs(tick)), tick) <= high]


def _rounded(value: float) -> float:
    """The nearest of 1, 1.5, 2, 3, 4, 5, 6 and 8 times a power of ten."""
    if not value:
        return 0.0
    power = 10.0 ** math.floor(math.log10(abs(value)))
    leading = min((1, 1.5, 2, 3, 4, 5, 6, 8, 10), key=lambda one: abs(one - abs(value) / power))
    return float(f"{math.copysign(leading * power, value):.3g}")
