"""The losses of every row when one feature is revealed, and the feature's own values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from sfit._arguments import check_unit
from sfit._array import Array
from sfit._contrast import Contrast, Question, Reveal, delta, relative_improvement
from sfit._differences import Ask, Evaluation
from sfit._features import positions_of
from sfit._statistic import Scored
from sfit._warn import warn_user
from sfit.models import ModelView
from sfit.rows import (
    Table,
    Tile,
    as_table,
    column_names,
    column_numbers,
    column_values,
    every_tile,
)
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
    labels = column_labels(sample.view, table)
    unnamed = range(len(labels)) if column_names(table) is None else ()
    [column] = positions_of([feature], labels, "feature", unnamed)
    [position] = positions_of([labels[column]], names, "feature")
    numeric = column_numbers(table, column)
    values = column_values(table, column) if numeric is None else numeric
    return names[position], values, row_deltas(sample, position, beta)


def column_labels(view: ModelView, table: Table) -> tuple[str, ...]:
    """Names of the columns of X: from X, else from the model, else by position."""
    width = table.shape[1]
    fitted = view.names if view.names is not None and len(view.names) == width else None
    return column_names(table) or fitted or tuple(f"x{position}" for position in range(width))


def alone(feature: int, beta: float = 0.0) -> Contrast:
    """One feature revealed, over no feature."""
    term = frozenset({feature})
    return Contrast(term, Reveal(frozenset()), Reveal(term), beta=beta)


def row_deltas(sample: Sample, feature: int, beta: float) -> Array:
    """One difference per row: the feature revealed alone, over no feature."""
    evaluation = sample.evaluation()
    contrast = alone(feature, beta)
    arithmetic = evaluation.prepare([contrast], warn_user, False).arithmetic
    differences = []
    for _, scored in losses_by_row(evaluation, asks_of(evaluation, arithmetic)):
        base, full, *_ = scored.losses
        rho = relative_improvement(base, full)
        differences.append(delta(base, full, rho > beta, beta))
    return np.concatenate(differences)


def asks_of(evaluation: Evaluation, arithmetic: Mapping[Contrast, Any]) -> list[Ask]:
    """Each contrast as a question about all rows."""
    n = len(evaluation.rows)
    return [Ask(Question(contrast, 0, n), kind) for contrast, kind in arithmetic.items()]


def losses_by_row(evaluation: Evaluation, asks: Sequence[Ask]) -> Iterator[tuple[Tile, Scored]]:
    """The losses of every row of each tile, for each question; all questions share one base."""
    for tile in every_tile(evaluation.rows):
        for scored in evaluation.scored(tile, asks, by_row=True):
            yield tile, scored
