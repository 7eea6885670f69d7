"""Preparation before the first contrast: the model view, the rows, the features and the loss.

Arguments and data are checked before the model predicts anything. The model's output is then
checked on a probe of at most 256 rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from sfit._array import Array
from sfit._average import Average
from sfit._contrast import Reveal, Rounding
from sfit._differences import Evaluation
from sfit._features import Features, constant_features, group_columns, positions_of, shorten
from sfit._losses import Loss, check_loss, choose_loss
from sfit._warn import warn_user
from sfit.exceptions import ArgumentError, DataError, ModelError
from sfit.models import Dense, ModelView, Trees, as_view
from sfit.models._network import computed_in
from sfit.restrict import (
    Computed,
    Constant,
    Restricted,
    SidePredictions,
    cancelled_size,
    computing_error,
    rounding_noise,
)
from sfit.rows import Rows, Table, Tile, as_table, column_names, select_columns
from sfit.rows._stored import Store, open_store
from sfit.rows._survey import is_one_number
from sfit.rows._tiles import TILE_ROWS
from sfit.sample._background import draw_background
from sfit.sample._clusters import cluster_labels
from sfit.sample._columns import asides, column_or_vector, used_columns
from sfit.sample._dummies import dummies_warning
from sfit.sample._prepared import (
    HeldSource,
    Piece,
    PreparedRows,
    Source,
    StoredSource,
    prepare_rows,
)
from sfit.sample._reference import (
    check_reference,
    has_no_names,
    takes_own_values,
    with_reference,
)

PROBE_ROWS = 256


@dataclass(frozen=True)
class Sample:
    """A model, held-out rows in the masked space, and the features under test."""

    view: ModelView
    rows: Rows
    features: Features
    loss: Loss
    always_on: tuple[str, ...]
    caveats: tuple[str, ...]
    asked: Mapping[str, Any]
    """The arguments of `prepare`, to prepare the same problem for another model."""
    seed: int | None = None
    """The seed with which background rows were drawn; None if none were."""

    def subset(self, row_ids: Array) -> Sample:
        """The same problem on some of the rows; the reference stays."""
        return replace(self, rows=self.rows.subset(row_ids))

    def for_model(self, model: Any) -> Sample:
        """The same problem for another model."""
        sample = prepare(model, **self.asked)
        return sample if self.rows.chosen is None else sample.subset(self.rows.chosen)

    def evaluation(
        self,
        fast: bool = True,
        warn: Callable[[str], None] = warn_user,
        *,
        additive: bool = False,
    ) -> Evaluation:
        """Check the model's output on a probe, and choose how sides are predicted and compared.

        `additive`: whether some sides add predictions up, which needs to know their precision.
        """
        first = self.rows.first
        row_ids = None if first.row_ids is None else first.row_ids[:PROBE_ROWS]
        head = Tile(0, first.X[:PROBE_ROWS], first.y[:PROBE_ROWS], None, row_ids)
        direct = SidePredictions(self.view, self.features)
        nothing, side = Reveal(frozenset()), Reveal(self.features.everything)
        base = direct.one(head, nothing)
        for prediction in (base, direct.one(head, side)):
            output = prediction.by_row()
            _check_output(self.view, self.loss, head.y, output)
            self.loss(head.y, output, head.number, signed=True)
        unit = float(np.finfo(output.dtype).eps)
        again = direct.one(head, side).by_row()
        apart = np.abs(again - output).reshape(len(head), -1).max(axis=1)
        # Threads may sum in a different order in each call: that is rounding, not randomness.
        differ = apart > 8 * unit * max(np.abs(again).max(), np.abs(output).max())
        if differ.any():
            warn(
                "the model's predictions differ from call to call, for "
                f"{100 * differ.mean():.3g}% of {len(head)} rows, by up to {apart.max():.2g}: "
                "differences up to this size count as rounding, and features may go undetected."
            )
        structure = self.view.structure
        if isinstance(structure, Dense):
            structure = computed_in(structure, output.dtype)
        computed: dict[Computed, Restricted] = {}
        if not self.features.shown(nothing.shown):
            computed[Computed(nothing)] = Constant(base.values)
        if isinstance(structure, Trees):
            # Trees sum leaf values row by row, so the batch does not matter.
            noise = 0.0
            warning = dummies_warning(structure, self.features, first.X)
            if warning:
                warn(warning)
        else:
            noise = rounding_noise(self.view, self.features, head)
        if noise > unit**0.5 * np.abs(output).max() and not differ.any():
            warn(
                "the model's predictions depend on which rows are predicted together: a row alone "
                f"differs by up to {noise:.2g}. Differences up to this size count as rounding, and "
                "features may go undetected. Let the model predict each row independently, without "
                "means or ranks over the batch."
            )
        if noise > 0:
            noise = max(noise, 2 * unit * cancelled_size(self.view, self.features))
        error = self._error(unit, base.values, output) if additive else 0.0
        return Evaluation(
            rows=self.rows,
            predictions=SidePredictions(
                self.view,
                self.features,
                structure if fast else None,
                computed,
                tabulates=fast,
                tolerance=Rounding(unit, max(noise, error)),
            ),
            loss=self.loss,
            n_classes=0 if self.view.classes is None else len(self.view.classes),
            unit=unit,
            noise=noise,
            probe=(base.values, output) if self.features.reference.shape[0] == 1 else None,
        )

    def _error(self, unit: float, *predictions: Array) -> float:
        """How much a prediction may be off from exact arithmetic, beyond what its size shows."""
        averaging = 2 * unit * cancelled_size(self.view, self.features)
        structure = self.view.structure
        if isinstance(structure, Trees):
            # Sums over the trees, which round once per tree, in random directions.
            largest = max(float(np.abs(some).max()) for some in predictions)
            return max(averaging, len(structure.roots) ** 0.5 * unit * largest)
        return max(averaging, computing_error(self.view, self.features, self.rows.first, unit))


def prepare(
    model: Any,
    X: Any,
    y: Any,
    *,
    features: Sequence[Any] | None = None,
    loss: Any = "auto",
    reference: Any = "mean",
    groups: Mapping[str, Sequence[Any]] | None = None,
    always_on: Sequence[Any] = (),
    by: Any = None,
    clusters: Any = None,
    seed: int = 0,
    tile_rows: int = TILE_ROWS,
) -> Sample:
    """Check all arguments and data, and prepare the rows, the features and the loss.

    The rows of an averaged reference are drawn with `seed`.
    """
    loss = check_loss(loss)
    view = as_view(model, loss)
    store, table = open_rows(X, y, by, clusters)
    target, target_column = column_or_vector(y, table, "y")
    not_features = asides(target_column, by, clusters, table)
    labels, positions = used_columns(view, table, features, not_features)
    unnamed = column_names(table) is None
    column_ids = positions if unnamed else ()
    revealed = positions_of(always_on, labels, "always_on", column_ids)
    owners = group_columns(labels, groups, revealed, column_ids)
    if not owners:
        raise ArgumentError("there is no feature left to test: every column is always_on.")
    check_reference(reference, labels)
    own, drawn = takes_own_values(reference, len(labels), X), False
    if isinstance(reference, Average):
        reference, drawn = draw_background(reference, labels, seed)
    if not unnamed:
        check_order(reference, labels, positions, features)
    chosen = choose_loss(loss, view.task)
    check_scores(view, chosen)
    by_class = isinstance(by, str) and by == "class"
    source: Source
    if store is None:
        part = None if by is None or by_class else column_or_vector(by, table, "by")[0]
        of_clusters = None if clusters is None else cluster_labels(clusters, table)
        used = select_columns(table, positions)
        source = HeldSource(Piece(used, target, part, clusters=of_clusters), tile_rows)
    else:
        source = StoredSource(store, tuple(labels), y, by, tile_rows, clusters)
    rows = prepare_rows(
        view,
        source,
        labels,
        reference,
        by_class=by_class,
        loss=chosen,
    )
    tested = masked_features(rows, owners, revealed, own)
    return Sample(
        view=rows.view,
        rows=rows.rows,
        features=tested,
        loss=chosen,
        always_on=tuple(map(labels.__getitem__, revealed)),
        caveats=tuple(caveats_of(tested, rows.sample)),
        asked={
            "X": X,
            "y": y,
            "features": features if unnamed else labels,
            "loss": loss,
            "reference": reference,
            "groups": groups,
            "always_on": always_on,
            "tile_rows": tile_rows,
        },
        seed=seed if drawn else None,
    )


def open_rows(X: Any, y: Any, by: Any, clusters: Any) -> tuple[Store | None, Table]:
    """Rows in memory as a table; for files, their store and a table of their columns."""
    store = open_store(X)
    if store is None:
        table = as_table(X)
        shape = table.shape
    else:
        table = store.head if len(store) else np.empty((0, 0))
        shape = len(store), table.shape[1]
    if shape[0] == 0 or shape[1] == 0:
        raise DataError(f"X must have rows and columns; got shape {tuple(shape)}.")
    if store is not None:
        for argument, value in (("y", y), ("by", by), ("clusters", clusters)):
            if not isinstance(value, str) and not (argument != "y" and value is None):
                raise ArgumentError(
                    f"{argument} must be the name of a column if X is read from files or from a "
                    f"sequence of frames; got {type(value).__name__}."
                )
    return store, table


def check_order(
    reference: Any, labels: Sequence[str], positions: Sequence[int], features: Any
) -> None:
    """Refuse reference values without names if the user's order is not the model's."""
    if not has_no_names(reference, labels):
        return
    user_order = [label for _, label in sorted(zip(positions, labels, strict=True))]
    if isinstance(features, list | tuple):
        user_order = list(map(str, features))
    if user_order != labels:
        raise ArgumentError(
            f"reference has values without names: are they in the order {user_order[:8]!r}, or in "
            f"the model's order {labels[:8]!r}? Pass a mapping, a Series or a frame with column "
            "names."
        )


def masked_features(
    rows: PreparedRows, owners: Mapping[str, Sequence[int]], revealed: Sequence[int], own: bool
) -> Features:
    """The features under test in the masked space; `own`: the reference is of these rows."""
    behind: dict[int, list[int]] = defaultdict(list)
    for column, source in enumerate(rows.origin):
        behind[source].append(column)
    columns = [
        tuple(sorted(chain(*map(behind.__getitem__, sources)))) for sources in owners.values()
    ]
    always_on, constant = [], {}
    for column in sorted(chain(*map(behind.__getitem__, revealed))):
        if column not in rows.missing and is_one_number(rows.spans[column]):
            # A constant column that is always revealed (an intercept) is frozen at its value.
            constant[column] = [rows.spans[column][0]]
        else:
            always_on.append(column)
    return Features(
        names=tuple(owners),
        columns=tuple(columns),
        always_on=tuple(always_on),
        reference=with_reference(rows.reference, rows.sample, constant, rows.view.categorical),
        space="encoded" if rows.view.encoded else "original",
        origin="test rows" if own else "given",
        missing=rows.missing,
        spans=rows.spans,
    )


def caveats_of(features: Features, sample: Table) -> Iterator[str]:
    """What the reader of a result should know about these features and their reference."""
    if () in features.columns:
        pairs = zip(features.names, features.columns, strict=True)
        dropped = [name for name, columns in pairs if not columns]
        yield f"dropped before the model, so never significant: {shorten(dropped)}."
    at_reference, elsewhere = constant_features(features, sample)
    if at_reference:
        yield f"constant over these rows, so never significant: {shorten(at_reference)}."
    if elsewhere:
        yield (
            "constant over these rows, but not at their reference, so revealing them moves all "
            f"predictions in the same way: {shorten(elsewhere)}."
        )
    if features.origin == "test rows":
        yield (
            "reference values were taken from the test rows; pass the training set as reference to "
            "keep the test exact."
        )


def check_scores(view: ModelView, loss: Loss) -> None:
    """Refuse a loss of scores beside a model that gives probabilities, and the reverse."""
    if loss.output == "scores" and not view.scores:
        raise ModelError(
            f"loss={loss.name!r} needs decision values, but sfit reads probabilities from this "
            "model: use loss='log_loss', or pass a function that returns decision values, one per "
            "row for two classes: sfit.models.function_model(lambda rows: "
            "model.decision_function(rows), task='classification')."
        )
    if view.scores and loss.task is not None and loss.output != "scores":
        raise ModelError(
            f"loss={loss.name!r} needs probabilities, but this view of the model was made for "
            "decision values: pass the model itself."
        )


def _check_output(view: ModelView, loss: Loss, y: Array, output: Array) -> None:
    """Refuse output on the probe whose shape does not fit the task."""
    remedy = f" {view.remedy}" if view.remedy else ""
    if loss.output == "distribution":
        _check_distribution(loss, y, output)
        return
    if view.task == "regression":
        # A single column is a vector by now, in y and in the output.
        given, observed = (1 if values.ndim == 1 else values.shape[1] for values in (output, y))
        if given != observed:
            raise ModelError(
                f"the model returns {given} value{'' if given == 1 else 's'} per row, but y has "
                f"{observed}: they must agree.{remedy}"
            )
        return
    classes = [] if view.classes is None else view.classes.tolist()
    if output.ndim != 2 or output.shape[1] != len(classes):
        raise ModelError(
            f"the model must return one {'score' if view.scores else 'probability'} per class, "
            f"{len(classes)} of them "
            f"({shorten(classes)}); it returned shape {output.shape}. Name the classes with "
            f"sfit.models.function_model(f, task='classification', classes=...).{remedy}"
        )


def _check_distribution(loss: Loss, y: Array, output: Array) -> None:
    """Refuse a prediction that is not a distribution of one outcome."""
    if y.ndim != 1:
        raise DataError(
            f"loss={loss.name!r} compares one outcome per row with a distribution, but y has "
            f"{y.shape[1]} columns: test one of them."
        )
    given, levels = 1 if output.ndim == 1 else output.shape[1], len(loss.parameters)
    if levels and given != levels:
        raise ModelError(
            f"the model returns {given} value{'' if given == 1 else 's'} per row, but loss="
            f"{loss.name!r} names {levels} level{'' if levels == 1 else 's'}: they must agree."
        )
