"""A piecewise linear network along one feature is a polyline.

With all other inputs frozen, every unit is piecewise linear in the one that is revealed. Knots are
propagated layer by layer, a new one wherever a unit bends, and rows are looked up between them. For
terms of several features, and for smooth activations, only the first layer is cheap to update:
z = z0 + sum over the revealed inputs of (x_j - r_j) W_j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from sfit._rows import Tile, column_values
from sfit.models import Dense
from sfit.restrict._lookup import Lookup, make_lookup
from sfit.restrict._prediction import Prediction

Array = npt.NDArray[Any]

ACTIVATIONS = {
    "identity": lambda z: z,
    "relu": lambda z: np.maximum(z, 0),
    "tanh": np.tanh,
    "logistic": expit,
    "sigmoid": expit,
}


def slope_below_zero(activation: str) -> float | None:
    """Slope of a piecewise linear activation below zero (above it is 1); None if it is another."""
    if activation == "identity":
        return 1.0
    if activation == "relu":
        return 0.0
    if activation.startswith("leaky_relu"):
        slope = float(activation.partition(":")[2] or 0.01)
        return slope if 0 <= slope <= 1 else None
    return None


def is_piecewise_linear(network: Dense) -> bool:
    """Whether every layer bends at zero only."""
    return all(slope_below_zero(activation) is not None for *_, activation in network.layers)


def is_computable(network: Dense) -> bool:
    """Whether every activation is one that can be computed here."""
    return all(
        slope_below_zero(activation) is not None or activation in ACTIVATIONS
        for *_, activation in network.layers
    )


@dataclass(frozen=True)
class Polyline:
    """The network along one column: on each piece an intercept and a slope per raw output."""

    column: int
    lookup: Lookup
    intercepts: Array
    slopes: Array
    output: str
    dtype: np.dtype[Any]

    def __call__(self, tile: Tile) -> Prediction:
        """Look the rows of a tile up and interpolate."""
        x = column_values(tile.X, self.column).astype(np.float64, copy=False)
        piece = self.lookup(x)
        if self.intercepts.ndim == 1:
            raw = self.intercepts[piece]
            raw += self.slopes[piece] * x
        else:
            raw = self.intercepts[piece] + self.slopes[piece] * x[:, None]
        return Prediction(finish(raw, self.output, self.dtype), None, len(tile))


def make_polyline(
    network: Dense,
    reference: Array,
    column: int,
    span: tuple[float, float],
    dtype: np.dtype[Any],
) -> Polyline:
    """Propagate the knots of one column through the network, in double precision.

    `span` is the range of the column: bends outside it do not matter.
    """
    knots, values = _first_layers(network, reference, column, span)
    for number in range(2, len(network.layers)):
        activation = network.layers[number - 1][2]
        knots, values = _next_layer(knots, values, activation, *_weights(network, number))
    knots, values = _apart(knots, values)
    if len(knots) > 1:
        slopes = np.diff(values, axis=0) / np.diff(knots)[:, None]
        intercepts = values[:-1] - slopes * knots[:-1, None]
    else:
        slopes, intercepts = np.zeros_like(values), values
    if values.shape[1] == 1:
        intercepts, slopes = intercepts[:, 0], slopes[:, 0]
    lookup = make_lookup(knots[1:-1], strict=False)
    return Polyline(column, lookup, intercepts, slopes, network.output, dtype)


def _weights(network: Dense, number: int) -> tuple[Array, Array]:
    weights, bias, _ = network.layers[number]
    return np.asarray(weights, dtype=np.float64), np.asarray(bias, dtype=np.float64)


def _first_layers(
    network: Dense, reference: Array, column: int, span: tuple[float, float]
) -> tuple[Array, Array]:
    """Knots within the span, and what goes into the activation of the second layer there.

    Each unit of the first layer bends once, and always upwards: between bends the slopes of the
    second layer add up, so there is no product of matrices.
    """
    low, high = span
    weights, bias = _weights(network, 0)
    start, slope = reference @ weights + bias, weights[column]
    at_low = start + (low - reference[column]) * slope
    if len(network.layers) == 1:
        at_high = start + (high - reference[column]) * slope
        return (np.array([low, high]), np.array([at_low, at_high])) if low < high else (
            np.array([low]), at_low[None]
        )  # fmt: skip
    below = slope_below_zero(network.layers[0][2])
    share = 1.0 if below is None else below
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bends = low - at_low / slope
    inside = np.flatnonzero((bends > low) & (bends < high)) if share != 1 else np.empty(0, np.intp)
    inside = inside[np.argsort(bends[inside])]
    knots = np.concatenate([[low], bends[inside], [high] if low < high else []])
    active = (at_low > 0) | ((at_low == 0) & (slope > 0))
    following, following_bias = _weights(network, 1)
    first = np.where(active, at_low, share * at_low) @ following + following_bias
    slopes = np.empty((len(knots), following.shape[1]))
    slopes[0] = np.where(active, slope, share * slope) @ following
    slopes[1 : len(inside) + 1] = following[inside]
    slopes[1 : len(inside) + 1] *= ((1 - share) * np.abs(slope[inside]))[:, None]
    np.cumsum(slopes[:-1], axis=0, out=slopes[:-1])
    values = slopes
    values[1:] = slopes[:-1] * np.diff(knots)[:, None]
    values[0] = first
    np.cumsum(values, axis=0, out=values)
    return knots, values


def _next_layer(
    knots: Array, values: Array, activation: str, weights: Array, bias: Array
) -> tuple[Array, Array]:
    """Bend the units of a layer, with a knot where one crosses zero, and apply the next layer."""
    below = slope_below_zero(activation)
    share = 1.0 if below is None else below
    outputs = _bent(values, share) @ weights + bias
    negative = values < 0
    interval, unit = np.nonzero(negative[:-1] != negative[1:])
    if share == 1 or not len(interval):
        return knots, outputs
    a, b = values[interval, unit], values[interval + 1, unit]
    part = a / (a - b)
    new = knots[interval] + part * (knots[interval + 1] - knots[interval])
    at_new = values[interval] + part[:, None] * (values[interval + 1] - values[interval])
    at_new[np.arange(len(new)), unit] = 0.0
    outputs = np.concatenate([outputs, _bent(at_new, share) @ weights + bias])
    order = np.argsort(np.concatenate([knots, new]), kind="stable")
    return np.concatenate([knots, new])[order], outputs[order]


def _apart(knots: Array, values: Array) -> tuple[Array, Array]:
    """Leave out knots that all but coincide: they say the same, and a slope between is noise."""
    least = 1e-12 * (knots[-1] - knots[0])
    kept = np.concatenate([[True], np.diff(knots) > least])
    return knots[kept], values[kept]


def _bent(values: Array, share: float) -> Array:
    return np.maximum(values, share * values) if share else np.maximum(values, 0.0)


@dataclass(frozen=True)
class FirstLayerUpdate:
    """A network whose first layer is updated from the reference, the rest computed in full."""

    columns: tuple[int, ...]
    reference: Array
    start: Array
    network: Dense
    dtype: np.dtype[Any]

    def __call__(self, tile: Tile) -> Prediction:
        """Run the network on the rows of a tile."""
        weights, _, activation = self.network.layers[0]
        shown = np.column_stack([column_values(tile.X, column) for column in self.columns])
        moved = (shown - self.reference).astype(weights.dtype, copy=False)
        z = _activated(self.start + moved @ weights[list(self.columns)], activation)
        for weights, bias, activation in self.network.layers[1:]:
            z = _activated(z @ weights + bias, activation)
        raw = z[:, 0] if z.shape[1] == 1 else z
        return Prediction(finish(raw, self.network.output, self.dtype), None, len(tile))


def make_update(
    network: Dense, reference: Array, columns: tuple[int, ...], dtype: np.dtype[Any]
) -> FirstLayerUpdate:
    """Prepare the update of the first layer for some revealed columns."""
    weights, bias, _ = network.layers[0]
    start = (reference @ np.asarray(weights, dtype=np.float64) + bias).astype(weights.dtype)
    return FirstLayerUpdate(columns, reference[list(columns)], start, network, dtype)


def _activated(z: Array, activation: str) -> Array:
    below = slope_below_zero(activation)
    if below is None:
        return np.asarray(ACTIVATIONS[activation](z))
    if below == 1.0:
        return z
    return np.maximum(z, 0, out=z) if below == 0.0 else np.where(z > 0, z, z.dtype.type(below) * z)


def finish(raw: Array, output: str, dtype: np.dtype[Any]) -> Array:
    """From the raw outputs of the last layer to predictions."""
    if output == "sigmoid":
        probability = expit(raw)
        finished = np.empty((len(raw), 2), dtype=dtype)
        finished[:, 1] = probability
        finished[:, 0] = 1 - probability
        return finished
    if output == "softmax":
        raw = softmax(raw, axis=1)
    elif output == "exp":
        raw = np.exp(raw)
    return raw.astype(dtype, copy=False)
