"""Which way a side is predicted: the one place where that is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sfit._contrast import Reveal, Side
from sfit._features import Features
from sfit.models import Dense, ModelView, Trees
from sfit.restrict._cells import SparseCells
from sfit.restrict._direct import CALL_BYTES
from sfit.restrict._first_layer import is_computable, make_update
from sfit.restrict._forest import TreeByTree
from sfit.restrict._prediction import Restricted
from sfit.restrict._relu import is_piecewise_linear, make_polylines
from sfit.restrict._trees import make_cells
from sfit.rows import is_frame

Functions = dict[Reveal, Restricted]


def fast_route(
    view: ModelView,
    features: Features,
    structure: Dense | Trees | None,
    sides: Sequence[Reveal],
    n: int,
    prepared: Mapping[Side, Restricted],
) -> tuple[str, Functions]:
    """The route that the model's structure allows, and its functions; none: "direct".

    What a side costs, in rows that the model predicts: directly, one per distinct row, at most n;
    with cells, one per cell, or per cell that holds rows; tree by tree, or along a polyline, none.
    An updated first layer saves the inputs that are not revealed: it pays when these are most of
    the network's work. Tables of sides that are `prepared` share the memory budget.
    """
    if isinstance(structure, Trees):
        outputs = 1 if view.classes is None else len(view.classes)
        large = [f for f in prepared.values() if isinstance(f, SparseCells | TreeByTree)]
        budget = CALL_BYTES // (8 * outputs) - sum(function.size for function in large)
        cells = make_cells(view, structure, features, sides, n, budget)
        return ("cells" if cells else "direct"), cells
    numeric = not is_frame(features.reference) and features.reference.dtype != object
    if isinstance(structure, Dense) and numeric:
        return _network(structure, features, sides)
    return "direct", {}


def _network(network: Dense, features: Features, sides: Sequence[Reveal]) -> tuple[str, Functions]:
    reference = np.asarray(features.reference[0], dtype=np.float64)
    dtype: np.dtype[Any] = np.dtype(network.layers[0][0].dtype)
    sizes = [weights.shape for weights, *_ in network.layers]
    later = sum(inputs * units for inputs, units in sizes[1:])
    along: dict[Reveal, int] = {}
    functions: Functions = {}
    for side in sides:
        columns = tuple(features.shown(side.shown))
        if features.missing.intersection(columns):
            continue
        if len(columns) == 1 and is_piecewise_linear(network):
            along[side] = columns[0]
        elif is_computable(network):
            update, whole = (k * sizes[0][1] + later for k in (len(columns), sizes[0][0]))
            if 2 * update < whole:
                functions[side] = make_update(network, reference, columns, dtype)
    used = ["update"] if functions else []
    if along:
        used.insert(0, "polyline")
        spans = [features.spans[column] for column in along.values()]
        lines = make_polylines(network, reference, list(along.values()), spans, dtype)
        functions.update(zip(along, lines, strict=True))
    return " and ".join(used) or "direct", functions
