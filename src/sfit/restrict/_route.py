"""The route by which the sides of a contrast are predicted; it is chosen only here."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from sfit._array import Array
from sfit._contrast import Contrast, Reveal
from sfit._features import Features
from sfit.models import Dense, ModelView, Trees
from sfit.restrict._cells import SparseCells
from sfit.restrict._direct import CALL_BYTES
from sfit.restrict._first_layer import is_computable, make_updates
from sfit.restrict._forest import TreeByTree
from sfit.restrict._inputs import as_entered, inputs_of
from sfit.restrict._mean_polyline import make_mean_polylines
from sfit.restrict._prediction import Arithmetic, Computed, Restricted
from sfit.restrict._relu import is_piecewise_linear
from sfit.restrict._trees import make_cells
from sfit.rows import is_frame


class Route(NamedTuple):
    """A way to predict some contrasts."""

    name: str
    arithmetic: dict[Contrast, Arithmetic]
    """The arithmetic that computes both sides of each contrast."""
    functions: dict[Computed, Restricted]
    """Functions of the new sides; the model itself predicts sides without one."""


def fast_route(
    view: ModelView,
    features: Features,
    structure: Dense | Trees | None,
    contrasts: Sequence[Contrast],
    n: int,
    prepared: Mapping[Computed, Restricted],
    tabulates: bool = False,
) -> Route:
    """The cheapest route that the model's structure allows.

    The cost of a side, in rows that the model predicts: directly, one per distinct row, at most n;
    with cells, one per cell, or per non-empty cell; tree by tree, or along a polyline, none. An
    updated first layer saves the work for inputs that are not revealed, and pays if that is most of
    the network's work. The tables of `prepared` sides share the memory budget. An averaged
    reference multiplies each of these costs by the number of its rows. `tabulates`: whether sides
    without a function can be tabulated.
    """
    if isinstance(structure, Trees):
        return _by_cells(view, features, structure, contrasts, n, prepared, tabulates)
    numeric = not is_frame(features.reference) and features.reference.dtype != object
    if not isinstance(structure, Dense) or not numeric:
        return Route("direct", dict.fromkeys(contrasts, "model"), {})
    arithmetic = {contrast: _arithmetic(structure, features, contrast) for contrast in contrasts}
    functions: dict[Computed, Restricted] = {}
    makers: dict[Arithmetic, Any] = {"update": _updates, "polyline": _polylines}
    for kind, make in makers.items():
        made = make(structure, features, _new(arithmetic, prepared, kind))
        functions |= {Computed(side, kind): function for side, function in made.items()}
    return Route(_name(arithmetic), arithmetic, functions)


def _by_cells(
    view: ModelView,
    features: Features,
    trees: Trees,
    contrasts: Sequence[Contrast],
    n: int,
    prepared: Mapping[Computed, Restricted],
    tabulates: bool,
) -> Route:
    """Cell tables of trees; the arithmetic is the model's."""
    outputs = 1 if view.classes is None else len(view.classes)
    large = [f for f in prepared.values() if isinstance(f, SparseCells | TreeByTree)]
    budget = CALL_BYTES // (8 * outputs) - sum(function.size for function in large)
    arithmetic: dict[Contrast, Arithmetic] = dict.fromkeys(contrasts, "model")
    sides = [side for side in _new(arithmetic, prepared, "model") if features.shown(side.shown)]
    made = make_cells(view, trees, features, sides, n, budget, tabulates)
    functions = {Computed(side): function for side, function in made.items()}
    return Route("cells" if made else "direct", arithmetic, functions)


def without(route: Route, failed: Set[Contrast]) -> Route:
    """The route, with both sides of the failed contrasts predicted by the model itself."""
    if not failed:
        return route
    arithmetic: dict[Contrast, Arithmetic] = {
        contrast: "model" if contrast in failed else kind
        for contrast, kind in route.arithmetic.items()
    }
    kept = {
        computed
        for contrast, kind in route.arithmetic.items()
        if contrast not in failed
        for computed in needed_by(contrast, kind)
    }
    functions = {side: function for side, function in route.functions.items() if side in kept}
    names = dict.fromkeys([_name(arithmetic), "direct"])
    return Route(" and ".join(names), arithmetic, functions)


def needed_by(contrast: Contrast, arithmetic: Arithmetic) -> list[Computed]:
    """The sides of the model that both sides of a contrast need."""
    sides = (*contrast.base.needs(), *contrast.full.needs())
    return [Computed(side, arithmetic) for side in sides]


def _name(arithmetic: Mapping[Contrast, Arithmetic]) -> str:
    return " and ".join(sorted(set(arithmetic.values()) - {"model"})) or "direct"


def _new(
    arithmetic: Mapping[Contrast, Arithmetic],
    prepared: Mapping[Computed, Restricted],
    kind: Arithmetic,
) -> list[Reveal]:
    """The distinct sides of one arithmetic that have no function yet."""
    sides = dict.fromkeys(
        side
        for contrast, of_contrast in arithmetic.items()
        if of_contrast == kind
        for side in (*contrast.base.needs(), *contrast.full.needs())
    )
    return [side for side in sides if Computed(side, kind) not in prepared]


def _arithmetic(network: Dense, features: Features, contrast: Contrast) -> Arithmetic:
    """The best arithmetic for the full side of a contrast, used for both sides.

    A column with infinite values, in the network's input dtype, has no polyline.
    """
    if not (contrast.base.needs() and contrast.full.needs()):
        return "model"
    columns = features.shown(frozenset().union(*(side.shown for side in contrast.full.needs())))
    if columns and not features.missing.intersection(columns):
        (inputs, units), *later = (weights.shape for weights, *_ in network.layers)
        rest = sum(before * after for before, after in later)
        if len(columns) == 1 and is_piecewise_linear(network):
            finite = np.isfinite(_spans(network, features, columns)).all()
            return "polyline" if finite else "model"
        if is_computable(network) and 2 * (len(columns) * units + rest) < inputs * units + rest:
            return "update"
    return "model"


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
