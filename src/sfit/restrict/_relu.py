"""A piecewise linear network along one feature is a polyline.

With all other inputs frozen, every unit is piecewise linear in the one that is revealed. Knots are
propagated layer by layer, a new one wherever a unit bends, and rows are looked up between them. For
terms of several features, and for smooth activations, only the first layer is cheap to update:
z = z0 + sum over the revealed inputs of (x_j - r_j) W_j.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from sfit.models import Dense
from sfit.restrict._lookup import Lookup, make_lookup
from sfit.restrict._prediction import Prediction
from sfit.rows import Tile, column_values

Array = npt.NDArray[Any]

BATCH_VALUES = 1 << 17
"""So many values of units at knots are computed together: 1 MB, which stays in the cache."""

WIDE = 1 << 14
"""From so many values on, sums down the rows are taken in blocks."""

FEW_VALUES = 64
"""Whether a column is a dummy is asked of so many rows first."""

NEAR = 1e-12
"""What is smaller than this, as a share of its range, is rounding."""

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
    origin: float
    """The reference value: x is measured from it, so that little is lost where sums cancel."""
    ends: tuple[float, float]
    """The smallest and the largest x."""
    lookup: Lookup
    intercepts: Array
    slopes: Array
    output: str
    dtype: np.dtype[Any]
    noise: float = 0.0

    def __call__(self, tile: Tile) -> Prediction:
        """Look the rows of a tile up and interpolate; those of a dummy are two."""
        x = np.subtract(column_values(tile.X, self.column), self.origin, dtype=np.float64)
        if _takes_two(x[:FEW_VALUES], self.ends) and _takes_two(x, self.ends):
            codes = (x == self.ends[1]).astype(np.intp)
            return Prediction(self._at(np.array(self.ends)), codes, len(tile), self.noise)
        return Prediction(self._at(x), None, len(tile), self.noise)

    def _at(self, x: Array) -> Array:
        piece = self.lookup(x)
        if self.intercepts.ndim == 1:
            raw = self.slopes.take(piece)
            raw *= x
            raw += self.intercepts.take(piece)
        else:
            raw = self.intercepts[piece] + self.slopes[piece] * x[:, None]
        return finish(raw, self.output, self.dtype)


def _takes_two(x: Array, ends: tuple[float, float]) -> bool:
    return bool(((x == ends[0]) | (x == ends[1])).all())


class _Layer(NamedTuple):
    """A layer in double precision; `share` is the slope of its activation below zero."""

    weights: Array
    bias: Array
    share: float


def make_polylines(
    network: Dense,
    reference: Array,
    columns: Sequence[int],
    spans: Sequence[tuple[float, float]],
    dtype: np.dtype[Any],
) -> list[Polyline]:
    """Propagate the knots of some columns through the network, in double precision.

    `spans` are the ranges of the columns: bends outside them do not matter. Knots of many columns
    go through a layer together, as many as the memory budget allows.
    """
    layers = [
        _Layer(np.asarray(weights, float), np.asarray(bias, float), _share(activation))
        for weights, bias, activation in network.layers
    ]
    start = reference @ layers[0].weights + layers[0].bias
    rows, units = (len(start) + 2, len(layers[min(1, len(layers) - 1)].bias))
    at_once = max(1, BATCH_VALUES // (rows * units))
    lines: list[Polyline] = []
    for first in range(0, len(columns), at_once):
        batch = columns[first : first + at_once]
        origins = reference[list(batch)].tolist()
        own = [
            (low - origin, high - origin)
            for (low, high), origin in zip(spans[first : first + at_once], origins, strict=True)
        ]
        # The reference is always within, wherever the column's values are.
        reached = [(min(low, 0.0), max(high, 0.0)) for low, high in own]
        begun = list(_first_layers(layers, start, batch, reached))
        owner = np.repeat(np.arange(len(batch)), [len(knots) for knots, _ in begun])
        knots = np.concatenate([knots for knots, _ in begun])
        values = np.concatenate([values for _, values in begun])
        for bent, layer in pairwise(layers[1:]):
            owner, knots, values = _next_layer(owner, knots, values, bent.share, layer)
        pieces = _pieces(owner, knots, values)
        for column, origin, ends, piece in zip(batch, origins, own, pieces, strict=True):
            lines.append(Polyline(column, origin, ends, *piece, network.output, dtype))
    return lines


def _share(activation: str) -> float:
    share = slope_below_zero(activation)
    return 1.0 if share is None else share


def _first_layers(
    layers: Sequence[_Layer],
    start: Array,
    columns: Sequence[int],
    spans: Sequence[tuple[float, float]],
) -> Iterator[tuple[Array, Array]]:
    """Knots of each column within its span, and what goes into the second layer's activation there.

    Each unit of the first layer bends once, and always upwards: between bends the slopes of the
    second layer add up, so there is no product of matrices.
    """
    low, high = np.array(spans).T[:, :, None]
    slope, share = layers[0].weights[list(columns)], layers[0].share
    at_low = start + low * slope
    if len(layers) == 1:
        for number, (first, last) in enumerate(spans):
            ends = np.array([first, last] if first < last else [first])
            yield ends, start + ends[:, None] * slope[number]
        return
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bends = low - at_low / slope
    bends[~((bends > low) & (bends < high)) | (share == 1)] = np.inf
    order = np.argsort(bends, axis=1)
    n_inside = np.isfinite(bends).sum(axis=1)
    active = (at_low > 0) | ((at_low == 0) & (slope > 0))
    following = layers[1].weights
    at_first = np.where(active, at_low, share * at_low) @ following + layers[1].bias
    first_slope = np.where(active, slope, share * slope) @ following
    turns = (1 - share) * np.abs(slope)
    for number, (first, last) in enumerate(spans):
        inside = order[number, : n_inside[number]]
        knots = np.concatenate([[first], bends[number, inside], [last] if first < last else []])
        values = np.empty((len(knots), following.shape[1]))
        slopes = values[1:]
        # Slopes between the knots, then their rises, then the values: all in the same place.
        if len(slopes):
            slopes[0] = first_slope[number]
            np.multiply(following[inside], turns[number, inside][:, None], out=slopes[1:])
            _run_down(slopes)
            slopes *= np.diff(knots)[:, None]
        values[0] = at_first[number]
        _run_down(values)
        yield knots, values


def _run_down(rows: Array) -> None:
    """Cumulative sums down the rows, in place.

    NumPy goes down one column after another, which is slow where rows are wide: sums within blocks
    of rows, all blocks at once, and then from block to block, take a tenth of the time.
    """
    n, width = rows.shape
    if rows.size < WIDE:
        np.cumsum(rows, axis=0, out=rows)
        return
    size = isqrt(n)
    blocks = rows[: n // size * size].reshape(-1, size, width)
    for number in range(1, size):
        blocks[:, number] += blocks[:, number - 1]
    for before, block in pairwise(blocks):
        block += before[-1]
    for number in range(n // size * size, n):
        rows[number] += rows[number - 1]


def _next_layer(
    owner: Array, knots: Array, values: Array, share: float, layer: _Layer
) -> tuple[Array, Array, Array]:
    """Bend the units of a layer, with a knot where one crosses zero, and apply the next layer."""
    # Rounding must not wake a unit that is dead where it only touches zero.
    size = np.abs(values)
    largest = np.maximum.reduceat(size, np.searchsorted(owner, np.arange(owner[-1] + 1)), axis=0)
    values[size <= NEAR * largest[owner]] = 0.0
    outputs = _bent(values, share) @ layer.weights + layer.bias
    negative = values < 0
    crosses = negative[:-1] != negative[1:]
    crosses[owner[:-1] != owner[1:]] = False
    interval, unit = np.nonzero(crosses)
    if share == 1 or not len(interval):
        return owner, knots, outputs
    a, b = values[interval, unit], values[interval + 1, unit]
    part = a / (a - b)
    new = knots[interval] + part * (knots[interval + 1] - knots[interval])
    at_new = values[interval] + part[:, None] * (values[interval + 1] - values[interval])
    at_new[np.arange(len(new)), unit] = 0.0
    outputs = np.concatenate([outputs, _bent(at_new, share) @ layer.weights + layer.bias])
    owner, knots = np.concatenate([owner, owner[interval]]), np.concatenate([knots, new])
    order = np.lexsort((knots, owner))
    return owner[order], knots[order], outputs[order]


def _pieces(owner: Array, knots: Array, values: Array) -> Iterator[tuple[Lookup, Array, Array]]:
    """The search among the knots of each column, and an intercept and a slope between them."""
    bounds = np.searchsorted(owner, np.arange(owner[-1] + 2))
    widths = knots[bounds[1:] - 1] - knots[bounds[:-1]]
    # Knots that all but coincide say the same, and a slope between them is noise.
    apart = np.diff(knots, prepend=-np.inf) > NEAR * widths[owner]
    apart[bounds[:-1]] = True
    owner, knots, values = owner[apart], knots[apart], values[apart]
    bounds = np.searchsorted(owner, np.arange(owner[-1] + 2))
    if values.shape[1] == 1:
        values = values[:, 0]
    gaps = np.diff(knots)
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.diff(values, axis=0) / (gaps if values.ndim == 1 else gaps[:, None])
        intercepts = values[:-1] - slopes * (knots[:-1] if values.ndim == 1 else knots[:-1, None])
    for first, last in pairwise(bounds):
        if last - first > 1:
            own = slice(first, last - 1)
            yield (
                make_lookup(knots[first + 1 : last - 1], strict=False),
                intercepts[own],
                slopes[own],
            )
        else:
            alone = values[first:last]
            yield make_lookup(knots[:0], strict=False), alone, np.zeros_like(alone)


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
    noise: float = 0.0

    def __call__(self, tile: Tile) -> Prediction:
        """Run the network on the rows of a tile."""
        weights, _, activation = self.network.layers[0]
        shown = np.column_stack([column_values(tile.X, column) for column in self.columns])
        moved = (shown - self.reference).astype(weights.dtype, copy=False)
        z = _activated(self.start + moved @ weights[list(self.columns)], activation)
        for weights, bias, activation in self.network.layers[1:]:
            z = _activated(z @ weights + bias, activation)
        raw = z[:, 0] if z.shape[1] == 1 else z
        finished = finish(raw, self.network.output, self.dtype)
        return Prediction(finished, None, len(tile), self.noise)


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
