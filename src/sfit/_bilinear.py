"""Losses that are products: loss(y, g) = a(y) + b(g) - u(y) . v(g).

Re-matching predictions with outcomes leaves the sums of a and of b alone, so only the products
change. Their sums over many re-matchings cost a matrix product or a Fourier transform.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from sfit._array import Array
from sfit._losses import Loss
from sfit._row_losses import hinge_of_classes


class Products(NamedTuple):
    """The two sides of a loss; u and v have shape (rows, d)."""

    outcome: Callable[[Array, int], tuple[Array, Array]]
    """From the outcomes and the number of columns of a prediction to (a, u)."""
    prediction: Callable[[Array], tuple[Array, Array]]
    """From the predictions to (b, v)."""


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


def _squared_outcome(y: Array, d: int) -> tuple[Array, Array]:
    y = columns(y)
    return np.square(y).sum(axis=1) / d, 2 * y / d


def _squared_prediction(g: Array) -> tuple[Array, Array]:
    g = columns(g)
    return np.square(g).sum(axis=1) / g.shape[1], g


def _poisson_outcome(y: Array, d: int) -> tuple[Array, Array]:
    y = columns(y)
    return 2 * (xlogy(y, y) - y).sum(axis=1) / d, 2 * y / d


def _poisson_prediction(g: Array) -> tuple[Array, Array]:
    g = columns(g)
    return 2 * g.sum(axis=1) / g.shape[1], np.log(g)


def _gamma_outcome(y: Array, d: int) -> tuple[Array, Array]:
    y = columns(y)
    return -2 * (np.log(y) + 1).sum(axis=1) / d, 2 * y / d


def _gamma_prediction(g: Array) -> tuple[Array, Array]:
    g = columns(g)
    return 2 * np.log(g).sum(axis=1) / g.shape[1], -1 / g


def _tweedie_outcome(power: float, y: Array, d: int) -> tuple[Array, Array]:
    y = columns(y)
    a = -2 * (y ** (2 - power)).sum(axis=1) / ((power - 1) * (2 - power) * d)
    return a, 2 * y / ((power - 1) * d)


def _tweedie_prediction(power: float, g: Array) -> tuple[Array, Array]:
    g = columns(g)
    return 2 * (g ** (2 - power)).sum(axis=1) / ((2 - power) * g.shape[1]), -(g ** (1 - power))


def _class(y: Array, d: int) -> tuple[Array, Array]:
    return np.zeros(len(y)), indicators(y, d)


def _logs(g: Array) -> tuple[Array, Array]:
    return np.zeros(len(g)), log_probabilities(g)


def _brier_outcome(y: Array, d: int) -> tuple[Array, Array]:
    # For two classes, the score of the second only.
    u = indicators(y, d)[:, int(d == 2) :]
    return u.sum(axis=1), 2 * u


def _brier_prediction(g: Array) -> tuple[Array, Array]:
    v = columns(g)[:, int(g.shape[1] == 2) :]
    return np.square(v).sum(axis=1), v


def _error(y: Array, d: int) -> tuple[Array, Array]:
    return np.ones(len(y)), indicators(y, d)


def _guess(g: Array) -> tuple[Array, Array]:
    return np.zeros(len(g)), indicators(g.argmax(axis=1), g.shape[1])


def _hinge_prediction(g: Array) -> tuple[Array, Array]:
    return np.zeros(len(g)), -hinge_of_classes(g)


PRODUCTS: dict[str, Products] = {
    "squared_error": Products(_squared_outcome, _squared_prediction),
    "poisson": Products(_poisson_outcome, _poisson_prediction),
    "log_loss": Products(_class, _logs),
    "brier": Products(_brier_outcome, _brier_prediction),
    "zero_one": Products(_error, _guess),
    "gamma": Products(_gamma_outcome, _gamma_prediction),
    "hinge": Products(_class, _hinge_prediction),
}
"""The built-in losses that are products and have no parameter, by name."""


def products_of(loss: Loss) -> Products | None:
    """The two sides of a loss; None if it is not a product, or a user's callable."""
    if loss.task is None:
        return None
    if loss.family == "tweedie":
        [power] = loss.parameters
        return Products(partial(_tweedie_outcome, power), partial(_tweedie_prediction, power))
    return PRODUCTS.get(loss.name)
