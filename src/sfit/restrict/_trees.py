"""A tree ensemble sees cells: it cannot tell two values apart that lie between the same thresholds.

With all other features at their reference only few splits of a feature can still be reached.
Collect their thresholds, ask the model for one representative of each cell, and look rows up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfit._contrast import Reveal
from sfit._features import Features
from sfit.models import ModelView, Trees
from sfit.restrict._cells import (
    NO_COLUMNS,
    Cells,
    Grid,
    SparseCells,
    ask_cells,
    representatives,
)
from sfit.restrict._direct import STACK_ROWS
from sfit.restrict._forest import TreeByTree, make_tree_by_tree
from sfit.restrict._lookup import make_lookup
from sfit.restrict._prediction import Restricted
from sfit.rows import Table, column_values, is_frame, is_number

Array = npt.NDArray[Any]

SIDES_AT_ONCE = 1_024
"""So many sides are walked down the trees together."""

ROWS_PER_CELL = 4
"""All cells are asked for where there are at least so many rows for each of them."""
CELLS_PER_ROW = 16
"""A table with more cells than this for each row costs more than it saves."""


class _Plan(NamedTuple):
    side: Reveal
    grid: Grid


def make_cells(
    view: ModelView, trees: Trees, features: Features, sides: Sequence[Reveal], n: int, room: int
) -> dict[Reveal, Restricted]:
    """Cell tables for n rows, of those sides that have no categorical split and not too many cells.

    `room` is the number of values that large tables may hold together.
    """
    plans: list[_Plan] = []
    still: list[Reveal] = []
    tables: dict[Reveal, Restricted] = {}
    reference, is_known = _numbers(trees, features.reference)
    reached = reachable_splits(
        trees, reference, is_known, [features.shown(side.shown) for side in sides]
    )
    for side, nodes in zip(sides, reached, strict=True):
        if nodes is not None and not any(map(len, nodes.values())):
            still.append(side)
            continue
        if nodes is None or not is_known[list(nodes)].all():
            continue
        grid = _grid(trees, features, nodes, len(sides) * len(nodes))
        if grid.n_cells * ROWS_PER_CELL <= n:
            plans.append(_Plan(side, grid))
            continue
        large: SparseCells | TreeByTree | None = None
        alone = trees.members and is_known.all() and not features.missing.intersection(nodes)
        if n > STACK_ROWS and alone:
            large = make_tree_by_tree(trees, reference, grid, nodes, n // ROWS_PER_CELL, room)
        elif n > STACK_ROWS and grid.n_cells <= min(CELLS_PER_ROW * n, room):
            large = SparseCells(side, grid, view, features)
        if large is not None:
            tables[side] = large
            room -= large.size

    # Sides that meet no split of theirs all are the row of the reference, which is one cell.
    plans += [_Plan(side, NO_COLUMNS) for side in still[:1]]
    tables |= _filled(view, features.reference, plans)
    tables |= {side: tables[still[0]] for side in still[1:] if still[0] in tables}
    return tables


def _grid(trees: Trees, features: Features, nodes: Mapping[int, Array], together: int) -> Grid:
    """The cells of the columns of some splits; so many searches are held `together`."""
    of_columns = [
        (np.unique(trees.threshold[own]), column in features.missing)
        for column, own in nodes.items()
    ]
    with np.errstate(over="ignore"):
        unbounded = [
            bool(np.isinf(np.asarray(features.spans[column], dtype=trees.dtype)).any())
            for column in nodes
        ]
    return Grid(
        columns=tuple(nodes),
        lookups=tuple(
            make_lookup(own, strict=trees.strict, missing=some, together=together)
            for own, some in of_columns
        ),
        values=tuple(
            representatives(own, trees.strict, some, unbounded=infinite)
            for (own, some), infinite in zip(of_columns, unbounded, strict=True)
        ),
    )


def reachable_splits(
    trees: Trees, reference: Array, is_known: Array, sides: Sequence[Sequence[int]]
) -> list[dict[int, Array] | None]:
    """For each side and each of its columns, the splits that a row can still meet.

    All trees and many sides are walked at once, a level at a time. None: a categorical split on a
    revealed column can be met, whose threshold means nothing.
    """
    n_columns = len(reference)
    at_node = reference[np.maximum(trees.feature, 0)]
    with np.errstate(invalid="ignore"):
        below = at_node < trees.threshold if trees.strict else at_node <= trees.threshold
    # Where a hidden category goes is not known: both ways only makes more cells.
    either = trees.categorical | ~is_known[np.maximum(trees.feature, 0)]
    goes_left = np.where(np.isnan(at_node), trees.missing_left, below) | either
    goes_right = ~np.where(np.isnan(at_node), trees.missing_left, below) | either

    # A side none of whose columns is ever split meets no split of its own, and is not walked.
    is_split = np.zeros(n_columns, dtype=bool)
    is_split[trees.feature[trees.left >= 0]] = True
    nothing = np.empty(0, dtype=np.intp)
    found: list[dict[int, Array] | None] = [dict.fromkeys(own, nothing) for own in sides]
    walked = [number for number, own in enumerate(sides) if is_split[list(own)].any()]
    for start in range(0, len(walked), SIDES_AT_ONCE):
        numbers = walked[start : start + SIDES_AT_ONCE]
        some = [sides[number] for number in numbers]
        # By the columns that these sides reveal, and one for all others.
        revealed = np.unique(np.concatenate(some))
        place = np.full(n_columns, len(revealed))
        place[revealed] = np.arange(len(revealed))
        shown = np.zeros((len(some), len(revealed) + 1), dtype=bool)
        for number, columns in enumerate(some):
            shown[number, place[columns]] = True
        met_side, met_node = _walk(trees, shown, place[trees.feature], goes_left, goes_right)
        categorical = np.zeros(len(some), dtype=bool)
        categorical[met_side[trees.categorical[met_node]]] = True
        key = met_side * n_columns + trees.feature[met_node]
        order = np.argsort(key, kind="stable")
        key, met_node = key[order], met_node[order]
        for number, columns in enumerate(some):
            bounds = [
                np.searchsorted(key, number * n_columns + np.array([c, c + 1])) for c in columns
            ]
            found[numbers[number]] = (
                None
                if categorical[number]
                else {
                    column: met_node[first:last]
                    for column, (first, last) in zip(columns, bounds, strict=True)
                }
            )
    return found


def _walk(
    trees: Trees, shown: Array, place: Array, goes_left: Array, goes_right: Array
) -> tuple[Array, Array]:
    """Pairs (side, node): the splits on revealed columns that rows of a side can meet.

    `place` is where in `shown` the column of each node is found.
    """
    n_sides = len(shown)
    sides = np.repeat(np.arange(n_sides), len(trees.roots))
    nodes = np.tile(trees.roots, n_sides)
    met: list[tuple[Array, Array]] = []
    while len(nodes):
        inner = trees.left[nodes] >= 0
        sides, nodes = sides[inner], nodes[inner]
        open_ = shown[sides, place[nodes]]
        met.append((sides[open_], nodes[open_]))
        left, right = open_ | goes_left[nodes], open_ | goes_right[nodes]
        sides = np.concatenate([sides[left], sides[right]])
        nodes = np.concatenate([trees.left[nodes[left]], trees.right[nodes[right]]])
    if not met:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    return np.concatenate([s for s, _ in met]), np.concatenate([n for _, n in met])


def _filled(view: ModelView, reference: Table, plans: Sequence[_Plan]) -> dict[Reveal, Cells]:
    """Tables of all cells of some sides."""
    if not plans:
        return {}
    asked = [(plan.grid, np.arange(plan.grid.n_cells)) for plan in plans]
    ends = np.cumsum([plan.grid.n_cells for plan in plans])
    values = np.split(ask_cells(view, reference, asked), ends[:-1])
    return {
        plan.side: Cells(plan.grid, own)
        for plan, own in zip(plans, values, strict=True)
        if np.isfinite(own).all()
    }


def _numbers(trees: Trees, reference: Table) -> tuple[Array, Array]:
    """The reference in the trees' float type, and which of its columns are numbers.

    What number a category or a text is to the model, its library knows.
    """
    if is_frame(reference):
        known = [is_number(dtype) for dtype in reference.schema.values()]
    elif reference.dtype == object:
        known = [isinstance(value, Real) for value in reference[0]]
    else:
        known = [True] * reference.shape[1]
    values = [
        float(column_values(reference, column)[0]) if own else np.nan
        for column, own in enumerate(known)
    ]
    with np.errstate(over="ignore"):  # beyond single precision lies infinity, to the trees as well
        return np.asarray(values, dtype=trees.dtype), np.asarray(known, dtype=bool)
