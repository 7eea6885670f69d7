"""A piecewise linear network along one feature is a polyline.

With all other inputs frozen, every unit is piecewise linear in the revealed input. Knots are
propagated layer by layer, a new one wherever a unit bends; rows are looked up between knots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from sfit._array import Array
from sfit._blas import blas_threads
from sfit.models import Dense
from sfit.restrict._activations import finish, slope_below_zero
from sfit.restrict._inputs import as_entered
from sfit.restrict._lookup import Lookup, make_lookup
from sfit.restrict._prediction import Constant, Prediction
from sfit.rows import Tile, column_values

BATCH_VALUES = 1 << 17
"""Values of units at knots that are computed together: 1 MB, which fits the cache."""

NEAR = 1e-12
"""A value below this share of its range counts as rounding error."""


def is_piecewise_linear(network: Dense) -> bool:
    """Whether every activation bends only at zero."""
    return all(slope_below_zero(activation) is not None for *_, activation in network.layers)


@dataclass(frozen=True)
class Polyline:
    """The network along one column: on each piece an intercept and a slope per raw output."""

    column: int
    origin: float
    """The reference value; x is measured from it, which limits cancellation."""
    ends: tuple[float, float]
    """The smallest and the largest x."""
    lookup: Lookup
    intercepts: Array
    slopes: Array
    output: str
    dtype: np.dtype[Any]
    input_dtype: np.dtype[Any] | None

    def __call__(self, tile: Tile) -> Prediction:
        """Look up the rows of a tile and interpolate; a dummy has only two values."""
        x = np.subtract(self.entered(tile), self.origin, dtype=np.float64)
        if self._is_dummy(x):
            codes = (x == self.ends[1]).astype(np.intp)
            return Prediction(self._at(np.array(self.ends)), codes, len(tile))
        return Prediction(self._at(x), None, len(tile))

    def entered(self, tile: Tile) -> Array:
        """The column's values as they enter the network."""
        return as_entered(column_values(tile.X, self.column), self.input_dtype)

    def along(self, entered: Array) -> Array:
        """Predictions for some values of the column."""
        return self._at(np.subtract(entered, self.origin, dtype=np.float64))

    def rounding(self) -> float:
        """How far a raw output may be off: knots that are close, beside the range, are one."""
        edges = self.lookup.edges
        if not len(edges):
            return 0.0
        least, most = self.ends
        x = np.concatenate([[min(least, 0.0)], edges, [max(most, 0.0)]])
        x = x if self.slopes.ndim == 1 else x[:, None]
        raw = self.intercepts + self.slopes * x[:-1], self.intercepts + self.slopes * x[1:]
        return NEAR * float(np.abs(raw).max())

    def _is_dummy(self, x: Array) -> bool:
        low, high = self.ends
        # For most columns the first row decides.
        return float(x[0]) in self.ends and bool(((x == low) | (x == high)).all())

    def _at(self, x: Array) -> Array:
        piece = self.lookup(x)
        if self.intercepts.ndim == 1:
            raw = self.slopes.take(piece)
            raw *= x
            raw += self.intercepts.take(piece)
        else:
            raw = self.intercepts[piece] + self.slopes[piece] * x[:, None]
        return finish(raw, self.output, self.dtype)


class _Layer(NamedTuple):
    """A layer in double precision; `share` is the slope of its activation below zero."""

    weights: Array
    bias: Array
    share: float


class _Knots(NamedTuple):
    """Knots of several columns, column after column, and the values of some units there."""

    bounds: Array
    """Start of each column's knots, and the end of the last."""
    x: Array
    values: Array


def make_polylines(
    network: Dense,
    reference: Array,
    columns: Sequence[int],
    spans: npt.ArrayLike,
    dtype: np.dtype[Any],
    together: int = 1,
) -> tuple[Constant, list[Polyline]]:
    """A piecewise linear network at the reference and along some columns, in doubles.

    The reference and the `spans`, the ranges of the columns, are in the network's input dtype.
    Bends outside the spans do not matter. The knots of several columns pass through a layer
    together, as many as fit the cache. The polylines of `together` references share the bins.
    """
    layers = [
        _Layer(
            # Contiguous by row, as they are read: libraries store them transposed.
            np.ascontiguousarray(weights, float),
            np.asarray(bias, float),
            cast(float, slope_below_zero(activation)),
        )
        for weights, bias, activation in network.layers
    ]
    start = reference @ layers[0].weights + layers[0].bias
    base = _bent(start.copy(), layers[0].share)
    for layer in layers[1:]:
        base = _bent(base @ layer.weights + layer.bias, layer.share)
    # Knots after the first layer, and the units of the next layer.
    n_knots, n_units = len(start) + 2, len(layers[min(1, len(layers) - 1)].bias)
    at_once = max(1, BATCH_VALUES // (n_knots * n_units))
    origins = reference[list(columns)]
    ends = np.reshape(spans, (-1, 2)) - origins[:, None]
    # The reference is always inside, even if the column's values are not around it.
    low, high = np.minimum(ends[:, 0], 0.0), np.maximum(ends[:, 1], 0.0)
    batches: list[_Knots] = []
    # The products are small; BLAS threads would spin long afterwards and slow the model down.
    with blas_threads(1):
        for first in range(0, len(columns), at_once):
            batch = slice(first, first + at_once)
            knots = _first_layers(layers, start, list(columns[batch]), low[batch], high[batch])
            for bent, layer in pairwise(layers[1:]):
                knots = _bend(knots, bent.share, layer)
            batches.append(_bend(knots, layers[-1].share, None))
    lines = [
        Polyline(column, origin, (least, most), *piece, network.output, dtype, network.input_dtype)
        for column, origin, (least, most), piece in zip(
            columns, origins.tolist(), ends.tolist(), _pieces(batches, base, together), strict=True
        )
    ]
    raw = base if len(base) == 1 else base[None]
    return Constant(finish(raw, network.output, dtype)), lines


def _first_layers(
    layers: Sequence[_Layer], start: Array, columns: Sequence[int], low: Array, high: Array
) -> _Knots:
    """Knots of each column from low to high, and the inputs of the second layer's activation.

    Each unit of the first layer bends once, and always upwards. The slopes of the second layer are
    therefore cumulative sums over the bends, without a matrix product. A bend outside the range is
    placed at the high end.
    """
    n_columns = len(columns)
    slope, share = layers[0].weights[columns], layers[0].share
    if len(layers) == 1:
        x = np.column_stack([low, high])
        values = start + x[:, :, None] * slope[:, None]
        return _Knots(_even_bounds(x), x.ravel(), values.reshape(-1, len(start)))
    at_low = start + low[:, None] * slope
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        bends = low[:, None] - at_low / slope
    inside = (bends > low[:, None]) & (bends < high[:, None])
    bends = np.where(inside & (share != 1), bends, high[:, None])
    order = np.argsort(bends, axis=1)
    bends = np.take_along_axis(bends, order, axis=1)
    x = np.concatenate([low[:, None], bends, high[:, None]], axis=1)
    active = (at_low > 0) | ((at_low == 0) & (slope > 0))
    following = layers[1].weights
    turns = (1 - share) * np.take_along_axis(np.abs(slope), order, axis=1)
    # Indexed by knot, then column: cumulative sums run over all columns at once.
    values = np.empty((x.shape[1], n_columns, following.shape[1]))
    slopes = values[1:]
    # The same memory holds the slopes between knots, then the rises, then the values.
    slopes[0] = np.where(active, slope, share * slope) @ following
    # All indices are valid; mode="clip" saves NumPy a copy.
    following.take(order.T, axis=0, out=slopes[1:], mode="clip")
    slopes[1:] *= turns.T[:, :, None]
    _run_down(slopes.reshape(len(slopes), -1))
    slopes *= np.diff(x, axis=1).T[:, :, None]
    values[0] = np.where(active, at_low, share * at_low) @ following + layers[1].bias
    _run_down(values.reshape(len(values), -1))
    return _Knots(_even_bounds(x), x.ravel(), values.swapaxes(0, 1).reshape(-1, following.shape[1]))


def _even_bounds(x: Array) -> Array:
    """Bounds of columns with equally many knots, one column per row of x."""
    return np.arange(len(x) + 1) * x.shape[1]


def _run_down(rows: Array) -> None:
    """Cumulative sums down the rows, in place.

    NumPy proceeds column by column, which is slow for wide rows. Sums within blocks of rows, all
    blocks at once, and then from block to block, take a tenth of the time.
    """
    n, width = rows.shape
    size = isqrt(n)
    blocks = rows[: n // size * size].reshape(-1, size, width)
    for number in range(1, size):
        blocks[:, number] += blocks[:, number - 1]
    for before, block in pairwise(blocks):
        block += before[-1]
    for number in range(n // size * size, n):
        rows[number] += rows[number - 1]


def _bend(knots: _Knots, share: float, following: _Layer | None) -> _Knots:
    """Apply a layer's activation, adding a knot at each zero crossing, then the next layer."""
    bounds, x, values = knots
    weights, bias = (np.eye(values.shape[1]), 0.0) if following is None else following[:2]
    if share == 1:
        return _Knots(bounds, x, values if following is None else values @ weights + bias)
    _zero_rounding(bounds, values)
    negative = values < 0
    crosses = negative[:-1] != negative[1:]
    crosses[bounds[1:-1] - 1] = False
    interval, unit = np.divmod(np.flatnonzero(crosses), values.shape[1])
    before, behind = values[interval, unit], values[interval + 1, unit]
    part = before / (before - behind)
    order = np.lexsort((part, interval))
    interval, unit, part = interval[order], unit[order], part[order]
    between, rise = values.take(interval, axis=0), values.take(interval + 1, axis=0)
    rise -= between
    rise *= part[:, None]
    between += rise
    between[np.arange(len(unit)), unit] = 0.0
    low, high = x[interval], x[interval + 1]
    # Rounding must not move a knot past the next.
    new = np.minimum(low + part * (high - low), high)
    outputs, others = (_bent(some, share) @ weights for some in (values, between))
    outputs = np.insert(outputs, interval + 1, others, axis=0)
    outputs += bias
    bounds = bounds + np.searchsorted(interval, bounds)
    return _Knots(bounds, np.insert(x, interval + 1, new), outputs)


def _zero_rounding(bounds: Array, values: Array) -> None:
    """Set to zero values that are rounding errors of their unit's largest value along a column.

    Rounding must not activate a dead unit that only touches zero.
    """
    size = np.abs(values)
    # Few values are small relative to the largest of all, and only those are examined.
    near = np.flatnonzero(size <= NEAR * size.max())
    if len(near):
        knot, unit = np.divmod(near, values.shape[1])
        largest = np.maximum.reduceat(size, bounds[:-1], axis=0)
        column = np.searchsorted(bounds, knot, "right") - 1
        rounding = size[knot, unit] <= NEAR * largest[column, unit]
        values[knot[rounding], unit[rounding]] = 0.0


def _pieces(
    batches: Sequence[_Knots], base: Array, together: int
) -> Iterator[tuple[Lookup, Array, Array]]:
    """For each column, the lookup among its knots, and the intercept and slope of each piece.

    Every polyline passes through the base: a row at the reference must equal it to the last bit.
    """
    if not batches:
        return
    x, values = (np.concatenate(of) for of in ([k.x for k in batches], [k.values for k in batches]))
    bounds = np.cumsum(np.concatenate([[0], *(np.diff(knots.bounds) for knots in batches)]))
    near = NEAR * np.repeat(x[bounds[1:] - 1] - x[bounds[:-1]], np.diff(bounds))
    # Rounding moves a bend off the reference, and a flat piece behind it would miss the base.
    here = np.abs(x) <= near
    x[here], values[here] = 0.0, base
    # Drop knots that almost coincide: the slope between them is noise.
    apart = np.diff(x, prepend=-np.inf) > near
    apart[bounds[:-1]] = True
    bounds = np.append(0, np.cumsum(apart))[bounds]
    x, values = x[apart], values[apart]
    firsts, lasts = bounds[:-1], bounds[1:] - 1
    # A constant column has a single knot; any other column needs no piece after its last knot.
    slopes, intercepts = np.zeros_like(values), values
    inner = np.delete(np.arange(len(x)), lasts)
    slopes[inner] = (values[inner + 1] - values[inner]) / (x[inner + 1] - x[inner])[:, None]
    # From the end nearer to the reference: nothing is rounded if that is there.
    nearer = inner + (np.abs(x[inner + 1]) < np.abs(x[inner]))
    intercepts[inner] = values[nearer] - slopes[inner] * x[nearer, None]
    below = np.append(0, np.cumsum(x < 0))
    at_reference = firsts + np.maximum(below[lasts] - below[firsts + 1], 0)
    intercepts += np.repeat(base - intercepts[at_reference], np.diff(bounds), axis=0)
    intercepts[at_reference] = base
    if len(base) == 1:
        slopes, intercepts = slopes[:, 0], intercepts[:, 0]
    for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
        pieces = slice(first, max(last, first + 1))
        lookup = make_lookup(x[first + 1 : last], strict=False, together=together * len(firsts))
        yield lookup, intercepts[pieces], slopes[pieces]


def _bent(values: Array, share: float) -> Array:
    """Apply an activation in place."""
    return np.maximum(values, share * values if share else 0.0, out=values)
