"""A tree ensemble is constant on cells: values between the same thresholds predict the same.

With all other features at their reference, only few splits of a feature are still reachable.
Collect their thresholds, predict one representative of each cell, and look up the rows.
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
    predict_cells,
    representatives,
)
from sfit.restrict._direct import STACK_ROWS
from sfit.restrict._forest import TreeByTree, make_tree_by_tree
from sfit.restrict._lookup import make_lookup
from sfit.restrict._prediction import Restricted
from sfit.rows import Table, column_values, is_frame, is_number

Array = npt.NDArray[Any]

SIDES_AT_ONCE = 1_024
"""Sides that are walked down the trees together."""

ROWS_PER_CELL = 4
"""All cells are predicted in advance if there are at least this many rows per cell."""
CELLS_PER_ROW = 16
"""A table with more cells per row than this costs more than it saves."""


class _Plan(NamedTuple):
    side: Reveal
    grid: Grid


def make_cells(
    view: ModelView, trees: Trees, features: Features, sides: Sequence[Reveal], n: int, budget: int
) -> dict[Reveal, Restricted]:
    """Cell tables for n rows, for sides without categorical splits and with few enough cells.

    `budget` is the number of values that all large tables together may hold.
    """
    plans: list[_Plan] = []
    ignored: list[Reveal] = []
    tables: dict[Reveal, Restricted] = {}
    reference, is_numeric = _numeric_reference(trees, features.reference)
    reached = reachable_splits(
        trees, reference, is_numeric, [features.shown(side.shown) for side in sides]
    )
    for side, nodes in zip(sides, reached, strict=True):
        if nodes is not None and not any(map(len, nodes.values())):
            ignored.append(side)
            continue
        if nodes is None or not is_numeric[list(nodes)].all():
            continue
        grid = _grid(trees, features, nodes, len(sides) * len(nodes))
        if grid.n_cells * ROWS_PER_CELL <= n:
            plans.append(_Plan(side, grid))
            continue
        large: SparseCells | TreeByTree | None = None
        alone = trees.members and is_numeric.all() and not features.missing.intersection(nodes)
        if n > STACK_ROWS and alone:
            large = make_tree_by_tree(trees, reference, grid, nodes, n // ROWS_PER_CELL, budget)
        elif n > STACK_ROWS and grid.n_cells <= min(CELLS_PER_ROW * n, budget):
            large = SparseCells(side, grid, view, features)
        if large is not None:
            tables[side] = large
            budget -= large.size

    # Sides whose columns meet no split all predict the reference row, which is one cell.
    plans += [_Plan(side, NO_COLUMNS) for side in ignored[:1]]
    tables |= _filled(view, features.reference, plans)
    tables |= {side: tables[ignored[0]] for side in ignored[1:] if ignored[0] in tables}
    return tables


def _grid(trees: Trees, features: Features, nodes: Mapping[int, Array], together: int) -> Grid:
    """The cells of the columns of some splits; `together` lookups share the bins."""
    of_columns = [
        (np.unique(trees.threshold[splits]), column in features.missing)
        for column, splits in nodes.items()
    ]
    with np.errstate(over="ignore"):
        unbounded = [
            bool(np.isinf(np.asarray(features.spans[column], dtype=trees.dtype)).any())
            for column in nodes
        ]
    return Grid(
        columns=tuple(nodes),
        lookups=tuple(
            make_lookup(edges, strict=trees.strict, missing=missing, together=together)
            for edges, missing in of_columns
        ),
        values=tuple(
            representatives(edges, trees.strict, missing, unbounded=infinite)
            for (edges, missing), infinite in zip(of_columns, unbounded, strict=True)
        ),
    )


def reachable_splits(
    trees: Trees, reference: Array, is_numeric: Array, sides: Sequence[Sequence[int]]
) -> list[dict[int, Array] | None]:
    """For each side and each of its columns, the splits that a row can reach.

    All trees and many sides are walked at once, level by level. None: a reachable split on a
    revealed column is categorical, and its threshold has no meaning.
    """
    n_columns = len(reference)
    at_node = reference[np.maximum(trees.feature, 0)]
    with np.errstate(invalid="ignore"):
        below = at_node < trees.threshold if trees.strict else at_node <= trees.threshold
    # The branch of a frozen category is unknown: taking both only makes more cells.
    either = trees.categorical | ~is_numeric[np.maximum(trees.feature, 0)]
    goes_left = np.where(np.isnan(at_node), trees.missing_left, below) | either
    goes_right = ~np.where(np.isnan(at_node), trees.missing_left, below) | either

    # A side without a split on any of its columns reaches none and is not walked.
    is_split = np.zeros(n_columns, dtype=bool)
    is_split[trees.feature[trees.left >= 0]] = True
    nothing = np.empty(0, dtype=np.intp)
    splits: list[dict[int, Array] | None] = [dict.fromkeys(columns, nothing) for columns in sides]
    walked = [number for number, columns in enumerate(sides) if is_split[list(columns)].any()]
    for start in range(0, len(walked), SIDES_AT_ONCE):
        batch = walked[start : start + SIDES_AT_ONCE]
        some = [sides[number] for number in batch]
        # One entry for each column that these sides reveal, and one for all others.
        revealed = np.unique(np.concatenate(some))
        place = np.full(n_columns, len(revealed))
        place[revealed] = np.arange(len(revealed))
        is_revealed = np.zeros((len(some), len(revealed) + 1), dtype=bool)
        for number, columns in enumerate(some):
            is_revealed[number, place[columns]] = True
        met_side, met_node = _walk(trees, is_revealed, place[trees.feature], goes_left, goes_right)
        categorical = np.zeros(len(some), dtype=bool)
        categorical[met_side[trees.categorical[met_node]]] = True
        key = met_side * n_columns + trees.feature[met_node]
        order = np.argsort(key, kind="stable")
        key, met_node = key[order], met_node[order]
        for number, columns in enumerate(some):
            bounds = [
                np.searchsorted(key, number * n_columns + np.array([c, c + 1])) for c in columns
            ]
            splits[batch[number]] = (
                None
                if categorical[number]
                else {
                    column: met_node[first:last]
                    for column, (first, last) in zip(columns, bounds, strict=True)
                }
            )
    return splits


def _walk(
    trees: Trees, is_revealed: Array, place: Array, goes_left: Array, goes_right: Array
) -> tuple[Array, Array]:
    """Pairs (side, node): the splits on revealed columns that rows of a side can reach.

    `place` gives the position of each node's column in `is_revealed`.
    """
    n_sides = len(is_revealed)
    sides = np.repeat(np.arange(n_sides), len(trees.roots))
    nodes = np.tile(trees.roots, n_sides)
    met: list[tuple[Array, Array]] = []
    while len(nodes):
        inner = trees.left[nodes] >= 0
        sides, nodes = sides[inner], nodes[inner]
        open_ = is_revealed[sides, place[nodes]]
        met.append((sides[open_], nodes[open_]))
        left, right = open_ | goes_left[nodes], open_ | goes_right[nodes]
        sides = np.concatenate([sides[left], sides[right]])
        nodes = np.concatenate([trees.left[nodes[left]], trees.right[nodes[right]]])
    if not met:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    return np.concatenate([s for s, _ in met]), np.concatenate([n for _, n in met])


def _filled(view: ModelView, reference: Table, plans: Sequence[_Plan]) -> dict[Reveal, Cells]:
    """Complete cell tables of some sides."""
    if not plans:
        return {}
    wanted = [(plan.grid, np.arange(plan.grid.n_cells)) for plan in plans]
    ends = np.cumsum([plan.grid.n_cells for plan in plans])
    values = np.split(predict_cells(view, reference, wanted), ends[:-1])
    return {
        plan.side: Cells(plan.grid, of_side)
        for plan, of_side in zip(plans, values, strict=True)
        if np.isfinite(of_side).all()
    }


def _numeric_reference(trees: Trees, reference: Table) -> tuple[Array, Array]:
    """The reference in the trees' float dtype, and which of its columns are numeric.

    Only the library knows the number that stands for a category or a string.
    """
    if is_frame(reference):
        numeric = [is_number(dtype) for dtype in reference.schema.values()]
    elif reference.dtype == object:
        numeric = [isinstance(value, Real) for value in reference[0]]
    else:
        numeric = [True] * reference.shape[1]
    values = [
        float(column_values(reference, column)[0]) if is_numeric else np.nan
        for column, is_numeric in enumerate(numeric)
    ]
    with np.errstate(over="ignore"):  # the trees, too, take overflow as infinity
        return np.asarray(values, dtype=trees.dtype), np.asarray(numeric, dtype=bool)
