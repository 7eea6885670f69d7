"""Losses that are products: loss(y, g) = a(y) + b(g) - u(y) . v(g).

Re-matching predictions with outcomes leaves the sums of a and of b alone, so only the products
change. Their sums over many re-matchings cost a matrix product or a Fourier transform.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

Array = npt.NDArray[Any]


class Products(NamedTuple):
    """A loss of n rows as products; `u` and `v` have shape (n, d)."""

    a: Array
    b: Array
    u: Array
    v: Array


def squared_error(y: Array, g: Array) -> Products:
    """(y - g)^2, averaged over the outputs."""
    y, g = columns(y), columns(g)
    # A common shift leaves the loss unchanged and saves digits where y is far from zero.
    centre = y.mean(axis=0)
    y, g = y - centre, g - centre
    d = y.shape[1]
    return Products(np.square(y).sum(axis=1) / d, np.square(g).sum(axis=1) / d, 2 * y / d, g)


def poisson(y: Array, g: Array) -> Products:
    """Poisson deviance: bilinear in y and the logarithm of the prediction."""
    y, g = columns(y), columns(g)
    d = y.shape[1]
    return Products(
        2 * (xlogy(y, y) - y).sum(axis=1) / d, 2 * g.sum(axis=1) / d, 2 * y / d, np.log(g)
    )


def log_loss(y: Array, g: Array) -> Products:
    """Cross entropy: bilinear in the indicators of the classes and the log-probabilities."""
    none = np.zeros(len(y))
    return Products(none, none, indicators(y, g.shape[1]), log_probabilities(g))


def brier(y: Array, g: Array) -> Products:
    """Brier score; for two classes, of the second only."""
    g = np.asarray(g, dtype=np.float64)
    u = indicators(y, g.shape[1])
    if g.shape[1] == 2:
        u, g = u[:, 1:], g[:, 1:]
    return Products(u.sum(axis=1), np.square(g).sum(axis=1), 2 * u, g)


def zero_one(y: Array, g: Array) -> Products:
    """Misclassification: 1 minus the product of two indicators."""
    n_classes = g.shape[1]
    ones = np.ones(len(y))
    return Products(ones, 0 * ones, indicators(y, n_classes), indicators(g.argmax(1), n_classes))


PRODUCTS: dict[str, Callable[[Array, Array], Products]] = {
    "squared_error": squared_error,
    "poisson": poisson,
    "log_loss": log_loss,
    "brier": brier,
    "zero_one": zero_one,
}
"""The built-in losses that are products, by name."""


def columns(values: Array) -> Array:
    """Outcomes or predictions as doubles with one column per output."""
    values = np.asarray(values, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


def indicators(y: Array, n_classes: int) -> Array:
    """One column of zeros and ones per class."""
    return np.asarray(y[:, None] == np.arange(n_classes), dtype=np.float64)


def log_probabilities(g: Array) -> Array:
    """Logarithms of probabilities, clipped as in the log loss."""
    return np.log(np.asarray(np.clip(g, np.finfo(g.dtype).eps, 1.0), dtype=np.float64))
