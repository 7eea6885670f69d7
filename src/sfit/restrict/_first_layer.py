"""If few inputs of a network change, its first layer is updated instead of recomputed.

z = z0 + sum over the revealed inputs of (x_j - r_j) W_j; later layers are computed in full. This
serves terms of several features, and smooth activations. Only z0 differs between background rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from sfit._array import Array
from sfit.models import Dense
from sfit.restrict._activations import finish, slope_below_zero
from sfit.restrict._inputs import as_entered
from sfit.restrict._prediction import Prediction, averaged
from sfit.rows import Tile, column_values

ROWS_AT_ONCE = 8_192
"""Rows per block: a whole tile would take too much memory in wide layers."""

SMOOTH = {"tanh": np.tanh, "logistic": expit}


def is_computable(network: Dense) -> bool:
    """Whether every activation can be computed here."""
    return all(
        slope_below_zero(activation) is not None or activation in SMOOTH
        for *_, activation in network.layers
    )


@dataclass(frozen=True)
class FirstLayerUpdate:
    """A network whose first layer is updated from its value at an origin, then averaged."""

    columns: tuple[int, ...]
    origin: Array
    """Values of the columns."""
    starts: Array
    """For each background row, the first layer with the columns at their origin."""
    network: Dense
    """Its weights have the dtype of the computation."""

    def __call__(self, tile: Tile) -> Prediction:
        """Run the network on the rows of a tile, block by block."""
        # What overflows is infinite in the network's own arithmetic as well.
        with np.errstate(over="ignore", invalid="ignore"):
            finished = [self._block(tile, first) for first in range(0, len(tile), ROWS_AT_ONCE)]
        return Prediction(np.concatenate(finished), None, len(tile))

    def _block(self, tile: Tile, first: int) -> Array:
        weights, _, activation = self.network.layers[0]
        rows = slice(first, min(first + ROWS_AT_ONCE, len(tile)))
        # The base is a product with no columns: the same steps give the same rounding.
        moved = np.empty((rows.stop - first, len(self.columns)), dtype=weights.dtype)
        for number, column in enumerate(self.columns):
            entered = as_entered(column_values(tile.X, column)[rows], self.network.input_dtype)
            np.subtract(entered, self.origin[number], out=moved[:, number], casting="same_kind")
        update = moved @ weights[list(self.columns)]
        return averaged(
            self._later_layers(_activated(start + update, activation)) for start in self.starts
        )

    def _later_layers(self, z: Array) -> Array:
        for weights, bias, activation in self.network.layers[1:]:
            z = _activated(z @ weights + bias, activation)
        raw = z[:, 0] if z.shape[1] == 1 else z
        return finish(raw, self.network.output, z.dtype)


def make_updates(
    network: Dense, background: Array, sides: Sequence[Sequence[int]], dtype: np.dtype[Any]
) -> list[FirstLayerUpdate]:
    """For each side, the network with its columns revealed, computed in `dtype`.

    The background rows are in the network's input dtype. The first layer's values there are summed
    in doubles, with all digits of the weights. The first row is the origin of the columns.
    """
    weights, bias, _ = network.layers[0]
    wide = np.asarray(weights, dtype=np.float64)
    # Row by row: the rounding of a start does not depend on the other rows.
    starts = np.stack([row @ wide + bias for row in background])
    apart = background[0] - background
    layers = tuple(
        (weights.astype(dtype, copy=False), bias.astype(dtype, copy=False), activation)
        for weights, bias, activation in network.layers
    )
    narrow = replace(network, layers=layers)
    updates = []
    for shown in map(list, sides):
        moved = starts + apart[:, shown] @ wide[shown] if len(background) > 1 else starts
        origin = background[0, shown]
        updates.append(FirstLayerUpdate(tuple(shown), origin, moved.astype(dtype), narrow))
    return updates


def _activated(z: Array, activation: str) -> Array:
    below = slope_below_zero(activation)
    if below is None:
        return np.asarray(SMOOTH[activation](z))
    if below == 1.0:
        return z
    return np.maximum(z, 0, out=z) if below == 0.0 else np.where(z > 0, z, z.dtype.type(below) * z)
