"""A tree ensemble is constant on cells: values between the same thresholds predict the same.

With all other features at the values of a background row, only few splits of a feature are still
reachable. Collect their thresholds over all background rows, predict one representative of each
cell, and look up the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np

from sfit._array import Array
from sfit._contrast import Reveal
from sfit._features import Features
from sfit.models import ModelView, Trees
from sfit.restrict._cells import Cells, Grid, SparseCells, mean_of_cells, representatives
from sfit.restrict._direct import STACK_ROWS
from sfit.restrict._forest import TreeByTree, make_tree_by_tree
from sfit.restrict._lookup import make_lookup
from sfit.restrict._prediction import Restricted
from sfit.restrict._tables import table_size
from sfit.rows import Table, column_values, is_frame, is_number

SIDES_AT_ONCE = 1_024
"""Sides that are walked down the trees together."""

ROWS_PER_CELL = 4
"""All cells are predicted in advance if there are at least this many rows per cell."""
CELLS_PER_ROW = 16
"""A table with more cells per row than this costs more than it saves."""
PREDICTED_AT_ONCE = 1 << 20
"""Predictions in memory at once, before they are averaged over the background rows."""


class _Plan(NamedTuple):
    side: Reveal
    grid: Grid


class Splits(NamedTuple):
    """Reachable splits of a column, and the background row with which a row can reach each."""

    nodes: Array
    background: Array


def make_cells(
    view: ModelView,
    trees: Trees,
    features: Features,
    sides: Sequence[Reveal],
    n: int,
    budget: int,
    tabulates: bool = False,
) -> dict[Reveal, Restricted]:
    """Cell tables for n rows, for sides without categorical splits and with few enough cells.

    `budget` is the number of values that all large tables together may hold. `tabulates`: leave out
    averages whose cells cost more predictions than a table of a few values (`make_tables`).
    """
    plans: list[_Plan] = []
    ignored: dict[int, list[Reveal]] = {}
    tables: dict[Reveal, Restricted] = {}
    background, is_numeric = _numeric_background(trees, features.reference)
    for side, splits, grid in _grids(trees, features, background, is_numeric, sides, tabulates):
        size = grid.n_background
        if not grid.columns:
            ignored.setdefault(size, []).append(side)
            continue
        # A table with fewer cells than this is smaller than the rows.
        held = 0 if grid.n_cells * ROWS_PER_CELL <= n else grid.n_cells
        fits = held <= min(CELLS_PER_ROW * n, budget)
        if fits and grid.n_predictions * ROWS_PER_CELL <= n * size:
            plans.append(_Plan(side, grid))
            budget -= held
            continue
        large: SparseCells | TreeByTree | None = None
        alone = trees.members and is_numeric.all() and not features.missing.intersection(splits)
        if size == 1 and n > STACK_ROWS and alone:
            nodes = {column: of_column.nodes for column, of_column in splits.items()}
            large = make_tree_by_tree(trees, background[0], grid, nodes, n // ROWS_PER_CELL, budget)
        elif n * size > STACK_ROWS and fits:
            large = SparseCells(side, grid, view, features)
        if large is not None:
            tables[side] = large
            budget -= large.size
    return tables | _filled(view, features.reference, plans, ignored)


def _grids(
    trees: Trees,
    features: Features,
    background: Array,
    is_numeric: Array,
    sides: Sequence[Reveal],
    tabulates: bool,
) -> Iterator[tuple[Reveal, dict[int, Splits], Grid]]:
    """Each side with its reachable splits and its cells; a grid without columns meets no split.

    Sides with categorical splits, or with columns that are not numeric, have no cells. Those whose
    table costs fewer predictions are left out if that is allowed.
    """
    shown = [features.shown(side.shown) for side in sides]
    sizes = [features.background(columns).shape[0] for columns in shown]
    reached = reachable_splits(trees, background, is_numeric, shown, sizes)
    for side, splits, size in zip(sides, reached, sizes, strict=True):
        if splits is None:
            continue
        if not any(len(of_column.nodes) for of_column in splits.values()):
            yield side, splits, Grid(n_background=size)
        elif is_numeric[list(splits)].all():
            grid = _grid(trees, features, splits, size, len(sides) * len(splits))
            most = size * table_size(features, [*splits])
            if not (tabulates and size > 1 and grid.n_predictions > most):
                yield side, splits, grid


def _grid(
    trees: Trees, features: Features, splits: Mapping[int, Splits], n_background: int, together: int
) -> Grid:
    """The cells of the columns of some splits; `together` lookups share the bins."""
    lookups, values, coarser = [], [], []
    for column, (nodes, background) in splits.items():
        missing = column in features.missing
        edges, edge = np.unique(trees.threshold[nodes], return_inverse=True)
        with np.errstate(over="ignore"):
            span = np.asarray(features.spans[column], dtype=trees.dtype)
        unbounded = bool(np.isinf(span).any())
        lookups.append(make_lookup(edges, strict=trees.strict, missing=missing, together=together))
        values.append(representatives(edges, trees.strict, missing, unbounded=unbounded))
        if n_background > 1:
            coarser.append(_first_steps(background, edge, n_background, len(edges), missing))
    return Grid(tuple(splits), tuple(lookups), tuple(values), n_background, tuple(coarser))


def _first_steps(
    background: Array, edge: Array, n_background: int, n_edges: int, missing: bool
) -> Array:
    """For each background row and step, the first step that no edge of that row separates from it.

    `background` and `edge` are pairs: with that background row, a row can reach the edge.
    """
    starts = np.zeros((n_background, n_edges + 1 + missing), dtype=bool)
    starts[background, edge + 1] = True
    # Missing values, the last step, are never joined with others.
    starts[:, n_edges + 1 :] = True
    steps = np.where(starts, np.arange(starts.shape[1]), 0)
    return np.maximum.accumulate(steps, axis=1)


def reachable_splits(
    trees: Trees,
    background: Array,
    is_numeric: Array,
    sides: Sequence[Sequence[int]],
    sizes: Sequence[int],
) -> list[dict[int, Splits] | None]:
    """For each side and each of its columns, the splits that a row can reach.

    `sizes` gives the number of background rows that each side needs. All trees and many sides are
    walked at once, level by level. None: a reachable split on a revealed column is categorical, and
    its threshold has no meaning.
    """
    n_columns = background.shape[1]
    # A side without a split on any of its columns reaches none and is not walked.
    is_split = np.zeros(n_columns, dtype=bool)
    is_split[trees.feature[trees.left >= 0]] = True
    nothing = Splits(np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp))
    splits: list[dict[int, Splits] | None] = [dict.fromkeys(columns, nothing) for columns in sides]
    walked = [number for number, columns in enumerate(sides) if is_split[list(columns)].any()]
    for start in range(0, len(walked), SIDES_AT_ONCE):
        batch = walked[start : start + SIDES_AT_ONCE]
        some = [sides[number] for number in batch]
        met_side, met_node, met_background = _met(
            trees, background, is_numeric, some, [sizes[number] for number in batch]
        )
        categorical = np.zeros(len(some), dtype=bool)
        categorical[met_side[trees.categorical[met_node]]] = True
        key = met_side * n_columns + trees.feature[met_node]
        order = np.argsort(key, kind="stable")
        key, met_node, met_background = key[order], met_node[order], met_background[order]
        for number, columns in enumerate(some):
            bounds = [
                slice(*np.searchsorted(key, number * n_columns + np.array([c, c + 1])))
                for c in columns
            ]
            splits[batch[number]] = (
                None
                if categorical[number]
                else {
                    column: Splits(met_node[of_column], met_background[of_column])
                    for column, of_column in zip(columns, bounds, strict=True)
                }
            )
    return splits


def _met(
    trees: Trees,
    background: Array,
    is_numeric: Array,
    sides: Sequence[Sequence[int]],
    sizes: Sequence[int],
) -> tuple[Array, Array, Array]:
    """Triples (side, node, background row): the reachable splits on revealed columns."""
    # One entry for each column that these sides reveal, and one for all others.
    revealed = np.unique(np.concatenate(sides))
    place = np.full(background.shape[1], len(revealed))
    place[revealed] = np.arange(len(revealed))
    is_revealed = np.zeros((len(sides), len(revealed) + 1), dtype=bool)
    for number, columns in enumerate(sides):
        is_revealed[number, place[columns]] = True
    column_of_node = np.maximum(trees.feature, 0)
    # The branch of a hidden category is unknown: taking both only makes more cells.
    either = trees.categorical | ~is_numeric[column_of_node]
    met = []
    for number, row in enumerate(background[: max(sizes)]):
        at_node = row[column_of_node]
        with np.errstate(invalid="ignore"):
            below = at_node < trees.threshold if trees.strict else at_node <= trees.threshold
        below = np.where(np.isnan(at_node), trees.missing_left, below)
        walkers = np.flatnonzero(np.asarray(sizes) > number)
        side, node = _walk(
            trees, is_revealed[walkers], place[trees.feature], below | either, ~below | either
        )
        met.append((walkers[side], node, np.full(len(node), number)))
    side, node, number_of = (np.concatenate(of) for of in zip(*met, strict=True))
    return side, node, number_of


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


def _filled(
    view: ModelView,
    background: Table,
    plans: Sequence[_Plan],
    ignored: Mapping[int, Sequence[Reveal]],
) -> dict[Reveal, Cells]:
    """Complete cell tables of some sides.

    Sides whose columns meet no split, `ignored` by the number of background rows that they need,
    all predict these rows, which are one cell.
    """
    tables: dict[Reveal, Cells] = {}
    alone = [_Plan(some[0], Grid(n_background=size)) for size, some in ignored.items()]
    for some in _batches([*plans, *alone]):
        wanted = [(plan.grid, np.arange(plan.grid.n_cells)) for plan in some]
        values = mean_of_cells(view, background, wanted)
        tables |= {
            plan.side: Cells(plan.grid, of_side)
            for plan, of_side in zip(some, values, strict=True)
            if np.isfinite(of_side).all()
        }
    for first, *others in ignored.values():
        tables |= dict.fromkeys(others, tables[first]) if first in tables else {}
    return tables


def _batches(plans: Sequence[_Plan]) -> Iterator[list[_Plan]]:
    """The plans, as many at a time as fit into memory; at least one."""
    some: list[_Plan] = []
    size = 0
    for plan in plans:
        if some and size + plan.grid.n_predictions > PREDICTED_AT_ONCE:
            yield some
            some, size = [], 0
        some.append(plan)
        size += plan.grid.n_predictions
    if some:
        yield some


def _numeric_background(trees: Trees, background: Table) -> tuple[Array, Array]:
    """The background rows in the trees' float dtype, and which of their columns are numeric.

    Only the library knows the number that stands for a category or a string.
    """
    if is_frame(background):
        numeric = [is_number(dtype) for dtype in background.schema.values()]
    elif background.dtype == object:
        numeric = [all(isinstance(value, Real) for value in column) for column in background.T]
    else:
        numeric = [True] * background.shape[1]
    values = np.full(background.shape, np.nan, dtype=trees.dtype)
    with np.errstate(over="ignore"):  # the trees, too, take overflow as infinity
        for column in np.flatnonzero(numeric).tolist():
            values[:, column] = column_values(background, column).astype(np.float64)
    return values, np.asarray(numeric, dtype=bool)
