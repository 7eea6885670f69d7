"""The loss difference of every row when one feature is revealed."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfit._arguments import check_unit
from sfit._array import Array
from sfit._contrast import Reveal, delta, relative_improvement
from sfit._differences import Base
from sfit._features import positions_of
from sfit.models import ModelView
from sfit.rows import Table, as_table, column_names, column_numbers, column_values, every_tile
from sfit.sample import Sample, prepare


def deltas_by_value(
    model: Any, X: Any, y: Any, feature: Any, beta: float, **problem_args: Any
) -> tuple[str, Array, Array]:
    """The name of a feature, its value in each row, and the loss difference when it is revealed.

    `problem_args` are the remaining arguments that define the sample.
    """
    beta = check_unit(beta, "beta")
    sample = prepare(model, X, y, **problem_args)
    names, table = sample.features.names, as_table(X)
    # The user's value, before any encoding.
    labels = _labels(sample.view, table)
    unnamed = range(len(labels)) if column_names(table) is None else ()
    [column] = positions_of([feature], labels, "feature", unnamed)
    [position] = positions_of([labels[column]], names, "feature")
    numeric = column_numbers(table, column)
    values = column_values(table, column) if numeric is None else numeric
    return names[position], values, row_deltas(sample, position, beta)


def _labels(view: ModelView, table: Table) -> tuple[str, ...]:
    """Names of the columns of X: from X, else from the model, else by position."""
    width = table.shape[1]
    fitted = view.names if view.names is not None and len(view.names) == width else None
    return column_names(table) or fitted or tuple(f"x{position}" for position in range(width))


def row_deltas(sample: Sample, feature: int, beta: float) -> Array:
    """One difference per row: the feature revealed alone, over no feature."""
    evaluation = sample.evaluation()
    nothing, alone = Reveal(frozenset()), Reveal(frozenset({feature}))
    differences = []
    for tile in every_tile(sample.rows):
        base = Base(evaluation, tile, evaluation.predictions.one(tile, nothing), signed=beta == 0)
        losses = base.losses_by_row(evaluation.predictions.one(tile, alone))
        rho = relative_improvement(losses.base, losses.full)
        differences.append(delta(losses.base, losses.full, rho > beta, beta))
    return np.concatenate(differences)
