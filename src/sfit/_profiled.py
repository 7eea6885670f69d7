"""Profiles of features: each is revealed alone, on the routes of the permutation test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sfit import _effects
from sfit._arguments import as_seed, check_level
from sfit._array import Array
from sfit._differences import Ask, Evaluation
from sfit._features import positions_of
from sfit._profile import FeatureProfile
from sfit._profile_parts import Outputs, Rows, Values, categories, numbers, profile_of
from sfit._row_deltas import alone, asks_of, column_labels, losses_by_row
from sfit._warn import warn_user
from sfit.restrict import Computed, Restricted
from sfit.restrict._tables import Curve, Surface, Words
from sfit.rows import (
    Table,
    Tile,
    as_table,
    column_names,
    column_numbers,
    column_of,
    column_values,
    every_tile,
    first_of,
    identity,
    value_codes,
)
from sfit.sample import Sample, prepare

MOST_OUTPUTS = 4
"""Most outputs whose restricted functions are recorded."""
HELD_NUMBERS = 2**24
"""Numbers held at once: gains and predictions of all rows, for several features."""


def profiles(
    model: Any,
    X: Any,
    y: Any,
    names: Sequence[Any] | None = None,
    *,
    features: Sequence[Any] | None = None,
    loss: str | Callable[[Any, Any], Any] = "auto",
    alpha: float = 0.05,
    reference: Any = "mean",
    groups: Mapping[str, Sequence[Any]] | None = None,
    always_on: Sequence[Any] = (),
    fast: bool = True,
    random_state: Any = None,
    warn: Callable[[str], None] = warn_user,
) -> tuple[FeatureProfile, ...]:
    """The profiles of some features, in the order of their names.

    A model without a known structure, and trees averaged over background rows, are predicted at a
    few values and interpolated between them, by the rule of the permutation test; such a profile
    says so (`exact`). The other arguments are those of `feature_significance`.

    Parameters
    ----------
    names : sequence of names, optional
        Features or groups to describe; by default, all. If X has no column names, positions are
        accepted too.
    alpha : float, default=0.05
        The intervals have level 1 - alpha.
    fast : bool, default=True
        False: the model predicts every row, so every profile is exact.
    warn : callable
        Receives the warnings about the model.
    """
    alpha = check_level(alpha, "alpha")
    table = as_table(X)
    sample = prepare(
        model,
        X,
        y,
        features=features,
        loss=loss,
        reference=reference,
        groups=groups,
        always_on=always_on,
        seed=as_seed(random_state),
    )
    columns = _columns(sample, table, groups or {})
    positions = _positions(names, sample, columns, table)
    evaluation = sample.evaluation(fast, warn)
    plan = evaluation.prepare([alone(position) for position in positions], warn, True)
    shown = _outputs(sample)
    size = max(1, HELD_NUMBERS // (len(sample.rows) * (1 + len(shown.names))))
    profiled: dict[int, FeatureProfile] = {}
    for asks in _batches(asks_of(evaluation, plan.arithmetic), size):
        base = _base(evaluation, asks[0].base, shown)
        for ask, rows, effects in _gathered(evaluation, asks, base, shown):
            [position] = ask.question.contrast.term
            column = None if sample.features.always_on else columns[position]
            profiled[position] = profile_of(
                sample.features.names[position],
                None if column is None else _values(sample, table, position, column),
                rows,
                base.mean(axis=0),
                shown,
                effects,
                alpha,
                _n_knots(evaluation.predictions.prepared.get(ask.full)),
            )
    return tuple(profiled[position] for position in positions)


def _positions(
    names: Sequence[Any] | None, sample: Sample, columns: Sequence[int | None], table: Table
) -> list[int]:
    """The positions of the features asked for."""
    known = sample.features.names
    if names is None:
        return list(range(len(known)))
    if column_names(table) is None and isinstance(names, list | tuple):
        # Numbers of columns are accepted, because the columns have no names.
        by_column = dict(zip(columns, known, strict=True))
        whole = int | np.integer
        names = [
            by_column.get(int(one), one)
            if isinstance(one, whole) and not isinstance(one, bool)
            else one
            for one in names
        ]
    return positions_of(names, known, "names")


def _columns(sample: Sample, table: Table, groups: Mapping[str, Any]) -> list[int | None]:
    """The column of X of each feature; None if it has several."""
    labels = column_labels(sample.view, table)
    unnamed = range(len(labels)) if column_names(table) is None else ()
    members = {
        str(name): positions_of(columns, labels, "groups", unnamed)
        for name, columns in groups.items()
    }
    of_feature = [members.get(name) or [labels.index(name)] for name in sample.features.names]
    return [columns[0] if len(columns) == 1 else None for columns in of_feature]


def _values(sample: Sample, table: Table, position: int, column: int) -> Values:
    """The user's values, before any encoding."""
    view, masked = sample.view, sample.features.columns[position]
    x = column_numbers(table, column)
    coded = bool(masked) and not view.encoded and view.categorical.issuperset(masked)
    if x is not None and not coded:
        return numbers(x)
    held = column_values(table, column)
    codes = value_codes(column_of(table, column))
    distinct = held[first_of(codes)].tolist()
    names = [f"{one:.15g}" if isinstance(one, float) else str(one) for one in distinct]
    if len(set(names)) < len(names):
        names = list(map(repr, distinct))
    return categories(codes, tuple(names), np.asarray(pd.isna(held)))


def _outputs(sample: Sample) -> Outputs:
    """The second of two classes, the most frequent of several, or the first few outputs."""
    task, classes = sample.view.task, sample.view.classes
    if task == "regression" or classes is None:
        n = 1 if sample.rows.first.y.ndim == 1 else sample.rows.first.y.shape[1]
        columns = tuple(range(min(n, MOST_OUTPUTS)))
        names = tuple(f"prediction {k + 1}" for k in columns) if n > 1 else ("prediction",)
        return Outputs(task, names, columns, n)
    if len(classes) == 2:
        return Outputs(task, (str(classes[1]),), (1,), 1)
    n_rows = sum(np.bincount(tile.y, minlength=len(classes)) for tile in every_tile(sample.rows))
    columns = tuple(np.argsort(-np.asarray(n_rows), kind="stable")[:MOST_OUTPUTS].tolist())
    return Outputs(task, tuple(str(classes[k]) for k in columns), columns, len(classes))


def _batches(asks: Sequence[Ask], size: int) -> Iterator[list[Ask]]:
    """Questions of one base, at most `size` together."""
    by_base: dict[Computed, list[Ask]] = {}
    for ask in asks:
        by_base.setdefault(ask.base, []).append(ask)
    for same_base in by_base.values():
        for start in range(0, len(same_base), size):
            yield same_base[start : start + size]


def _base(evaluation: Evaluation, base: Computed, shown: Outputs) -> Array:
    """Predictions with every feature hidden: one row, or one per row if some are always on."""
    predicted = []
    for tile in every_tile(evaluation.rows):
        prediction = evaluation.predictions.on(tile, [base])[base]
        if prediction.is_constant:
            return shown.of(prediction.values)
        predicted.append(shown.of(prediction.by_row()))
    return np.concatenate(predicted)


def _gathered(
    evaluation: Evaluation, asks: Sequence[Ask], base: Array, shown: Outputs
) -> Iterator[tuple[Ask, Rows, Any]]:
    """Each question with the gains and predictions of all rows."""
    seen: list[list[Rows]] = [[] for _ in asks]
    tallies: list[list[_effects.EffectTally]] = [[] for _ in asks]
    for tile, scored in losses_by_row(evaluation, asks):
        losses, full = scored.losses, scored.full.by_row()
        prediction = shown.of(full)
        if losses.moved is not None:
            # Predictions that differ only by rounding are the same, as in every test.
            hidden = base if len(base) == 1 else base[tile.start : tile.start + len(tile)]
            prediction = np.where(losses.moved[:, None], prediction, hidden)
        function = evaluation.predictions.prepared.get(asks[scored.position].full)
        predicted = _predicted(function, tile)
        seen[scored.position].append(Rows(losses.base - losses.full, prediction, predicted))
        tallies[scored.position].append(_effects.describe(losses))
    for ask, pieces, of_ask in zip(asks, seen, tallies, strict=True):
        rows = Rows(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))
        yield ask, rows, _effects.conclude(_effects.merge(of_ask))


def _predicted(function: Restricted | None, tile: Tile) -> Array:
    """Rows of a tile whose value the model predicted; others are interpolated."""
    if isinstance(function, Curve):
        x = np.asarray(column_numbers(tile.X, function.column), dtype=np.float64)
        return np.isin(x, function.knots) | np.isnan(x)
    if isinstance(function, Words):
        words = column_values(tile.X, function.column)
        codes = value_codes(column_of(tile.X, function.column))
        known = [identity(word) in function.places for word in words[first_of(codes)]]
        return np.array(known, dtype=bool)[codes]
    return np.full(len(tile), not isinstance(function, Surface))


def _n_knots(function: Restricted | None) -> int:
    """Number of values that a table holds; 0 for an exact function."""
    if isinstance(function, Curve):
        return len(function.knots)
    if isinstance(function, Words):
        return len(function.places)
    return function.values[..., 0].size if isinstance(function, Surface) else 0
