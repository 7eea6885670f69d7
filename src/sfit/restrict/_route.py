"""Which way the sides of a contrast are predicted: the one place where that is decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from sfit._contrast import Contrast, Reveal, Side
from sfit._features import Features
from sfit.models import Dense, ModelView, Trees
from sfit.restrict._cells import SparseCells
from sfit.restrict._direct import CALL_BYTES
from sfit.restrict._first_layer import FirstLayerUpdate, first_layer_at, is_computable
from sfit.restrict._forest import TreeByTree
from sfit.restrict._prediction import Restricted
from sfit.restrict._relu import is_piecewise_linear, make_polylines
from sfit.restrict._trees import make_cells
from sfit.rows import is_frame


class Route(NamedTuple):
    """A way to predict some contrasts."""

    name: str
    contrasts: list[Contrast]
    """As asked, each side with the arithmetic that computes it."""
    functions: dict[Reveal, Restricted]
    """Of sides that were not prepared before; without one, the model itself is asked."""


def fast_route(
    view: ModelView,
    features: Features,
    structure: Dense | Trees | None,
    contrasts: Sequence[Contrast],
    n: int,
    prepared: Mapping[Side, Restricted],
) -> Route:
    """The cheapest way that the model's structure allows.

    What a side costs, in rows that the model predicts: directly, one per distinct row, at most n;
    with cells, one per cell, or per cell that holds rows; tree by tree, or along a polyline, none.
    An updated first layer saves the inputs that are not revealed: it pays when these are most of
    the network's work. Tables of sides that are `prepared` share the memory budget.
    """
    if isinstance(structure, Trees):
        outputs = 1 if view.classes is None else len(view.classes)
        large = [f for f in prepared.values() if isinstance(f, SparseCells | TreeByTree)]
        budget = CALL_BYTES // (8 * outputs) - sum(function.size for function in large)
        sides = [side for side in _new(contrasts, prepared) if features.shown(side.shown)]
        cells = make_cells(view, structure, features, sides, n, budget)
        return Route("cells" if cells else "direct", list(contrasts), cells)
    numeric = not is_frame(features.reference) and features.reference.dtype != object
    if not isinstance(structure, Dense) or not numeric:
        return Route("direct", list(contrasts), {})
    routed = [_with_arithmetic(structure, features, contrast) for contrast in contrasts]
    sides = list(_new(routed, prepared))
    functions = _updates(structure, features, [s for s in sides if s.arithmetic == "update"])
    functions |= _polylines(structure, features, [s for s in sides if s.arithmetic == "polyline"])
    used = {c.full.arithmetic for c in routed if isinstance(c.full, Reveal)} - {"model"}
    return Route(" and ".join(sorted(used)) or "direct", routed, functions)


def _new(contrasts: Sequence[Contrast], prepared: Mapping[Side, Restricted]) -> Iterator[Reveal]:
    """The distinct sides that have no function yet."""
    sides = dict.fromkeys(side for c in contrasts for side in (c.base, c.full))
    return (s for s in sides if isinstance(s, Reveal) and s not in prepared)


def _with_arithmetic(network: Dense, features: Features, contrast: Contrast) -> Contrast:
    """The contrast with the arithmetic that suits its full side in both.

    Along a column that is infinite somewhere there is no polyline.
    """
    base, full = contrast.base, contrast.full
    if not (isinstance(base, Reveal) and isinstance(full, Reveal)):
        return contrast
    arithmetic: Literal["model", "polyline", "update"] = "model"
    columns = features.shown(full.shown)
    if columns and not features.missing.intersection(columns):
        (inputs, units), *later = (weights.shape for weights, *_ in network.layers)
        rest = sum(before * after for before, after in later)
        if len(columns) == 1 and is_piecewise_linear(network):
            arithmetic = "polyline" if np.isfinite(features.spans[columns[0]]).all() else "model"
        elif is_computable(network) and 2 * (len(columns) * units + rest) < inputs * units + rest:
            arithmetic = "update"
    base, full = (replace(side, arithmetic=arithmetic) for side in (base, full))
    return replace(contrast, base=base, full=full)


def _updates(
    network: Dense, features: Features, sides: Sequence[Reveal]
) -> dict[Reveal, Restricted]:
    reference, dtype = _reference_and_dtype(network, features)
    start = first_layer_at(network, reference)
    columns = [tuple(features.shown(side.shown)) for side in sides]
    return {
        side: FirstLayerUpdate(own, reference[list(own)], start, network, dtype)
        for side, own in zip(sides, columns, strict=True)
    }


def _polylines(
    network: Dense, features: Features, sides: Sequence[Reveal]
) -> dict[Reveal, Restricted]:
    """Each side reveals one column, or it is their base and reveals none."""
    if not sides:
        return {}
    reference, dtype = _reference_and_dtype(network, features)
    along = {side: column for side in sides for column in features.shown(side.shown)}
    columns = list(along.values())
    spans = [features.spans[column] for column in columns]
    base, lines = make_polylines(network, reference, columns, spans, dtype)
    functions: dict[Reveal, Restricted] = dict.fromkeys(sides, base)
    functions.update(zip(along, lines, strict=True))
    return functions


def _reference_and_dtype(
    network: Dense, features: Features
) -> tuple[np.ndarray[Any, Any], np.dtype[Any]]:
    """The reference in doubles, and the float type of the network."""
    return np.asarray(features.reference[0], dtype=np.float64), network.layers[0][0].dtype
