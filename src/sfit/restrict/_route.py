"""The route by which the sides of a contrast are predicted; it is chosen only here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfit._contrast import Arithmetic, Contrast, Reveal, Side
from sfit._features import Features
from sfit.models import Dense, ModelView, Trees
from sfit.restrict._cells import SparseCells
from sfit.restrict._direct import CALL_BYTES
from sfit.restrict._first_layer import is_computable, make_updates
from sfit.restrict._forest import TreeByTree
from sfit.restrict._inputs import as_entered, inputs_of
from sfit.restrict._mean_polyline import make_mean_polylines
from sfit.restrict._prediction import Restricted
from sfit.restrict._relu import is_piecewise_linear
from sfit.restrict._trees import make_cells
from sfit.rows import is_frame

Array = npt.NDArray[Any]


class Route(NamedTuple):
    """A way to predict some contrasts."""

    name: str
    contrasts: list[Contrast]
    """The given contrasts, with the arithmetic that computes their sides."""
    functions: dict[Reveal, Restricted]
    """Functions of the new sides; the model itself predicts sides without one."""


def fast_route(
    view: ModelView,
    features: Features,
    structure: Dense | Trees | None,
    contrasts: Sequence[Contrast],
    n: int,
    prepared: Mapping[Side, Restricted],
) -> Route:
    """The cheapest route that the model's structure allows.

    The cost of a side, in rows that the model predicts: directly, one per distinct row, at most n;
    with cells, one per cell, or per non-empty cell; tree by tree, or along a polyline, none. An
    updated first layer saves the work for inputs that are not revealed, and pays if that is most of
    the network's work. The tables of `prepared` sides share the memory budget. An averaged
    reference multiplies each of these costs by the number of its rows.
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
    return Route(_name(routed), routed, functions)


def without(route: Route, failed: Set[Contrast]) -> Route:
    """The route, with both sides of the failed contrasts predicted by the model itself."""
    if not failed:
        return route
    contrasts = [_computed(c, "model") if c in failed else c for c in route.contrasts]
    sides = {s for c in route.contrasts if c not in failed for s in (c.base, c.full)}
    functions = {side: function for side, function in route.functions.items() if side in sides}
    names = dict.fromkeys([_name(contrasts), "direct"])
    return Route(" and ".join(names), contrasts, functions)


def _name(contrasts: Sequence[Contrast]) -> str:
    used = {c.full.arithmetic for c in contrasts if isinstance(c.full, Reveal)} - {"model"}
    return " and ".join(sorted(used)) or "direct"


def _new(contrasts: Sequence[Contrast], prepared: Mapping[Side, Restricted]) -> Iterator[Reveal]:
    """The distinct sides that have no function yet."""
    sides = dict.fromkeys(side for c in contrasts for side in (c.base, c.full))
    return (s for s in sides if isinstance(s, Reveal) and s not in prepared)


def _with_arithmetic(network: Dense, features: Features, contrast: Contrast) -> Contrast:
    """The contrast with the best arithmetic for its full side, used for both sides.

    A column with infinite values, in the network's input dtype, has no polyline.
    """
    base, full = contrast.base, contrast.full
    if not (isinstance(base, Reveal) and isinstance(full, Reveal)):
        return contrast
    columns = features.shown(full.shown)
    if columns and not features.missing.intersection(columns):
        (inputs, units), *later = (weights.shape for weights, *_ in network.layers)
        rest = sum(before * after for before, after in later)
        if len(columns) == 1 and is_piecewise_linear(network):
            finite = np.isfinite(_spans(network, features, columns)).all()
            return _computed(contrast, "polyline" if finite else "model")
        if is_computable(network) and 2 * (len(columns) * units + rest) < inputs * units + rest:
            return _computed(contrast, "update")
    return _computed(contrast, "model")


def _computed(contrast: Contrast, arithmetic: Arithmetic) -> Contrast:
    """The contrast with both sides in one arithmetic."""
    base, full = (
        replace(side, arithmetic=arithmetic) if isinstance(side, Reveal) else side
        for side in (contrast.base, contrast.full)
    )
    return replace(contrast, base=base, full=full)


def _updates(
    network: Dense, features: Features, sides: Sequence[Reveal]
) -> dict[Reveal, Restricted]:
    functions: dict[Reveal, Restricted] = {}
    for background, shown in _by_background(network, features, sides):
        updates = make_updates(network, background, list(shown.values()), _dtype(network))
        functions.update(zip(shown, updates, strict=True))
    return functions


def _polylines(
    network: Dense, features: Features, sides: Sequence[Reveal]
) -> dict[Reveal, Restricted]:
    """Polylines of sides that reveal one column; the base, which reveals none, is constant."""
    functions: dict[Reveal, Restricted] = {}
    for background, shown in _by_background(network, features, sides):
        along = {side: columns[0] for side, columns in shown.items() if columns}
        columns = list(along.values())
        spans = _spans(network, features, columns)
        base, lines = make_mean_polylines(network, background, columns, spans, _dtype(network))
        functions |= dict.fromkeys(shown, base)
        functions.update(zip(along, lines, strict=True))
    return functions


def _by_background(
    network: Dense, features: Features, sides: Sequence[Reveal]
) -> Iterator[tuple[Array, dict[Reveal, list[int]]]]:
    """The sides that share their background rows: these rows, and the columns of each side."""
    if not sides:
        return
    background = inputs_of(network, features.reference)
    by_size: dict[int, dict[Reveal, list[int]]] = {}
    for side in sides:
        columns = features.shown(side.shown)
        by_size.setdefault(features.background(columns).shape[0], {})[side] = columns
    for size, shown in by_size.items():
        yield background[:size], shown


def _spans(network: Dense, features: Features, columns: Sequence[int]) -> Array:
    """Ranges of some columns, rounded to the network's input dtype, in doubles."""
    spans = np.array([features.spans[column] for column in columns], dtype=np.float64)
    return as_entered(spans.reshape(-1, 2), network.input_dtype).astype(np.float64)


def _dtype(network: Dense) -> np.dtype[Any]:
    """The float dtype in which the network computes."""
    return network.layers[0][0].dtype if network.dtype is None else network.dtype
