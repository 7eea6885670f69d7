"""A side as a function of a tile: what the model predicts when only some features are revealed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._contrast import Reveal, Side
from sfit._features import Features
from sfit.exceptions import SFITWarning
from sfit.models import Dense, ModelView, Trees
from sfit.restrict._cells import SparseCells
from sfit.restrict._direct import CALL_BYTES, Memory, predict_directly, rounding_noise
from sfit.restrict._forest import TreeByTree
from sfit.restrict._prediction import Constant, Prediction, Restricted
from sfit.restrict._relu import (
    FirstLayerUpdate,
    Polyline,
    is_computable,
    is_piecewise_linear,
    make_polylines,
    make_update,
)
from sfit.restrict._trees import make_cells
from sfit.rows import Tile, is_frame, reveal, take_rows

__all__ = ["SidePredictions", "fast_route", "rounding_noise"]

Array = npt.NDArray[Any]

VERIFIED_ROWS, VERIFIED_SIDES = 32, 16
"""A fast route is compared with the model itself on so many rows, and cells of so many sides."""

ROUNDING_POWER = 0.6
"""A network computed in other steps may differ from itself by this power of the rounding unit, as
a share of the largest prediction: 4e-10 in double precision, 7e-5 in single. A wrong structure
differs by more.
"""


@dataclass(frozen=True)
class SidePredictions:
    """Predictions of any side for any tile, each by the cheapest exact route."""

    view: ModelView
    features: Features
    structure: Dense | Trees | None = None
    """The inside of the model, where fast routes may use it."""
    prepared: dict[Side, Restricted] = field(default_factory=dict)
    """Sides that have a function of their own; the model itself is asked for all others."""
    memory: Memory = field(default_factory=Memory)

    def __call__(self, tile: Tile, sides: Sequence[Side]) -> Iterator[tuple[Side, Prediction]]:
        """Each distinct side with its predictions."""
        distinct = list(dict.fromkeys(sides))
        for side in distinct:
            if side in self.prepared:
                yield side, self.prepared[side](tile)
        direct = [s for s in distinct if isinstance(s, Reveal) and s not in self.prepared]
        yield from predict_directly(self.view, self.features, tile, direct, self.memory)

    def one(self, tile: Tile, side: Side) -> Prediction:
        """Predictions of a single side."""
        return next(self(tile, [side]))[1]

    def prepare(self, sides: Sequence[Side], tile: Tile, n: int, unit: float) -> str:
        """Make the functions of sides that a fast route serves; say which route it is.

        The first tile is only used to verify: on a sample of its rows the route must give what the
        model gives, but for rounding.
        """
        asked = [
            s for s in dict.fromkeys(sides) if isinstance(s, Reveal) and s not in self.prepared
        ]
        new = [side for side in asked if self.features.shown(side.shown)]
        for side in asked:
            if side not in new:
                self.prepared[side] = Constant(self.one(tile, side).values)
        route, functions = fast_route(self, new, n)
        if not functions:
            return "direct"
        largest, apart = self._compared(functions, tile)
        # Cells repeat the model's own predictions; a network is computed anew, in other steps.
        room = 0.0 if isinstance(self.structure, Trees) else unit**ROUNDING_POWER * largest
        if max(apart.values()) > room:
            warnings.warn(
                f"the fast route {route!r} does not reproduce this model's predictions: the model "
                "itself is asked for every row, which is slower but right.",
                SFITWarning,
                stacklevel=2,
            )
            return "direct"
        for served, function in functions.items():
            if isinstance(function, Polyline | FirstLayerUpdate):
                function = replace(function, noise=apart[served])
            self.prepared[served] = function
        return route

    def _compared(
        self, functions: dict[Side, Restricted], tile: Tile
    ) -> tuple[float, dict[Side, float]]:
        """The model's largest prediction on a sample, and how far each function is from the model.

        Functions that compute anew are compared one and all, at the reference too: what they are
        off by is rounding, and must not count. Of cells some are enough: they repeat the model.
        """
        rows = np.unique(np.linspace(0, len(tile) - 1, VERIFIED_ROWS).astype(np.intp))
        shown, sides = take_rows(tile.X, rows), list(functions)
        if isinstance(self.structure, Trees):
            sides = sides[:: max(1, len(sides) // VERIFIED_SIDES)]
        else:
            columns = range(self.features.reference.shape[1])
            shown = np.concatenate(
                [self.features.reference, reveal(self.features.reference, shown, columns, None)]
            )
        sample = Tile(tile.index, shown, np.zeros(shown.shape[0]), None)
        asked = [side for side in sides if isinstance(side, Reveal)]
        largest = 0.0
        apart: dict[Side, float] = {}
        for side, own in predict_directly(self.view, self.features, sample, asked, Memory()):
            a, b = functions[side](sample).by_row(), own.by_row()
            largest = max(largest, float(np.abs(b).max()))
            gap = float(np.abs(a - b).max()) if a.shape == b.shape else np.inf
            apart[side] = np.inf if np.isnan(gap) else gap
        return largest, apart


def fast_route(
    predictions: SidePredictions, sides: Sequence[Reveal], n: int
) -> tuple[str, dict[Side, Restricted]]:
    """The route that the model's structure allows, and its functions.

    What a side costs, in rows that the model predicts: directly, one per distinct row, at most n;
    with cells, one per cell, or per cell that holds rows; tree by tree, or along a polyline, none.
    An updated first layer saves the inputs that are not revealed: it pays when these are most of
    the network's work.
    """
    structure, features = predictions.structure, predictions.features
    functions: dict[Side, Restricted] = {}
    if isinstance(structure, Trees):
        outputs = 1 if predictions.view.classes is None else len(predictions.view.classes)
        large = [
            f for f in predictions.prepared.values() if isinstance(f, SparseCells | TreeByTree)
        ]
        room = CALL_BYTES // (8 * outputs) - sum(function.size for function in large)
        cells = make_cells(predictions.view, structure, features, sides, n, room)
        functions.update((side, function) for side, function in cells.items())
        return "cells", functions
    numeric = not is_frame(features.reference) and features.reference.dtype != object
    if not isinstance(structure, Dense) or not numeric:
        return "direct", functions
    reference = np.asarray(features.reference[0], dtype=np.float64)
    dtype = np.dtype(structure.layers[0][0].dtype)
    sizes = [weights.shape for weights, *_ in structure.layers]
    later = sum(inputs * units for inputs, units in sizes[1:])
    along: dict[Side, int] = {}
    used = set()
    for side in sides:
        columns = tuple(features.shown(side.shown))
        if features.missing.intersection(columns):
            continue
        if len(columns) == 1 and is_piecewise_linear(structure):
            along[side] = columns[0]
            used.add("polyline")
        elif is_computable(structure):
            update, whole = (k * sizes[0][1] + later for k in (len(columns), sizes[0][0]))
            if 2 * update < whole:
                functions[side] = make_update(structure, reference, columns, dtype)
                used.add("update")
    spans = [features.spans[column] for column in along.values()]
    lines = make_polylines(structure, reference, list(along.values()), spans, dtype)
    functions.update(zip(along, lines, strict=True))
    return " and ".join(sorted(used)) or "direct", functions
