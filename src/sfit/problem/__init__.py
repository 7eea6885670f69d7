"""Everything that is settled before the first contrast: the view, the rows, the features, the loss.

Arguments and data are checked before the model predicts anything, and the model's output on a probe
of at most 256 rows before the real work starts.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._contrast import Reveal, Side
from sfit._differences import Evaluation
from sfit._features import Features, constant_features, group_columns, positions_of, shorten
from sfit._losses import Loss, check_loss, choose_loss
from sfit.exceptions import ArgumentError, DataError, ModelError, SFITWarning
from sfit.models import Dense, ModelView, Trees, as_view
from sfit.models._network import computed_in
from sfit.problem._columns import asides, column_or_vector, used_columns
from sfit.problem._dummies import base_of_dummies
from sfit.problem._reference import check_reference, has_no_names, with_reference
from sfit.problem._settled import Settled, settle_held
from sfit.problem._settled_stored import settle_stored
from sfit.restrict import Constant, Restricted, SidePredictions, rounding_noise
from sfit.rows import Rows, Tile, as_table, column_names, select_columns
from sfit.rows._ranges import is_one_number
from sfit.rows._store import open_store
from sfit.rows._stored_rows import head_of

Array = npt.NDArray[Any]

PROBE_ROWS = 256


@dataclass(frozen=True)
class Problem:
    """A model, held-out rows in the masked space, and what is tested on them."""

    view: ModelView
    rows: Rows
    features: Features
    loss: Loss
    always_on: tuple[str, ...]
    caveats: tuple[str, ...]
    asked: Mapping[str, Any]
    """The arguments that posed the problem, to pose it again for another model."""

    def subset(self, numbers: Array) -> Problem:
        """The same problem on some of the rows; the reference stays."""
        return replace(self, rows=self.rows.subset(numbers))

    def for_model(self, model: Any) -> Problem:
        """The same problem for another model."""
        problem = pose(model, **self.asked)
        return problem if self.rows.chosen is None else problem.subset(self.rows.chosen)

    def evaluation(self, fast: bool = True) -> Evaluation:
        """How sides are predicted and compared, after a look at the model's output on a probe."""
        first = self.rows.first
        numbers = None if first.numbers is None else first.numbers[:PROBE_ROWS]
        head = Tile(0, first.X[:PROBE_ROWS], first.y[:PROBE_ROWS], None, numbers)
        direct = SidePredictions(self.view, self.features)
        nothing, side = Reveal(frozenset()), Reveal(self.features.everything)
        base = direct.one(head, nothing)
        for prediction in (base, direct.one(head, side)):
            output = prediction.by_row()
            _check_output(self.view, head.y, output)
            self.loss(head.y, output, head.number, signed=True)
        unit = float(np.finfo(output.dtype).eps)
        again = direct.one(head, side).by_row()
        apart = np.abs(again - output).reshape(len(head), -1).max(axis=1)
        # Threads may add up in another order each time: that is rounding, not randomness.
        differ = apart > 8 * unit * max(np.abs(again).max(), np.abs(output).max())
        if differ.any():
            warnings.warn(
                "the model's predictions differ from call to call, for "
                f"{100 * differ.mean():.3g}% of {len(head)} rows, by up to {apart.max():.2g}: what "
                "they differ by counts as rounding, and hides features.",
                SFITWarning,
                stacklevel=3,
            )
        structure = self.view.structure
        if isinstance(structure, Dense):
            structure = computed_in(structure, output.dtype)
        known: dict[Side, Restricted] = {}
        if not self.features.shown(nothing.shown):
            known[nothing] = Constant(base.values)
        if isinstance(structure, Trees):
            # They add up leaf by leaf, each row for itself: the batch cannot matter.
            noise = 0.0
            doubt = base_of_dummies(structure, self.features, first.X)
            if doubt:
                warnings.warn(doubt, SFITWarning, stacklevel=3)
        else:
            noise = rounding_noise(self.view, self.features, head)
        if noise > unit**0.5 * np.abs(output).max() and not differ.any():
            warnings.warn(
                "the model's predictions depend on which rows are predicted together: alone they "
                f"differ by up to {noise:.2g}, which counts as rounding, and hides features. Let "
                "the model predict each row for itself, without means or ranks of the batch.",
                SFITWarning,
                stacklevel=3,
            )
        return Evaluation(
            predictions=SidePredictions(
                self.view, self.features, structure if fast else None, known
            ),
            loss=self.loss,
            n_classes=0 if self.view.classes is None else len(self.view.classes),
            unit=unit,
            noise=noise,
        )


def pose(
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
) -> Problem:
    """Settle what is to be tested, or say what is wrong with it."""
    asked: dict[str, Any] = {
        "X": X,
        "y": y,
        "features": features,
        "loss": loss,
        "reference": reference,
        "groups": groups,
        "always_on": always_on,
    }
    check_loss(loss)
    view = as_view(model, loss)
    store = open_store(X)
    whole = as_table(X) if store is None else head_of(store)
    if whole.shape[0] == 0 or whole.shape[1] == 0:
        raise DataError(f"X must have rows and columns; got shape {tuple(whole.shape)}.")
    if store is not None:
        for argument, value in (("y", y), ("by", by)):
            if not isinstance(value, str) and not (argument == "by" and value is None):
                raise ArgumentError(
                    f"{argument} must be the name of a column where X is read from files or in "
                    f"frames; got {type(value).__name__}."
                )
    target, target_column = column_or_vector(y, whole, "y")
    labels, positions = used_columns(view, whole, features, asides(target_column, by, whole))
    unnamed = column_names(whole) is None
    asked["features"] = features if unnamed else labels
    numbers = positions if unnamed else ()
    shown_always = positions_of(always_on, labels, "always_on", numbers)
    owners = group_columns(labels, groups, shown_always, numbers)
    if not owners:
        raise ArgumentError("there is no feature left to test: every column is always_on.")
    check_reference(reference, labels)
    seen = [label for _, label in sorted(zip(positions, labels, strict=True))]
    if isinstance(features, list | tuple):
        seen = list(map(str, features))
    if not unnamed and seen != labels and has_no_names(reference, labels):
        raise ArgumentError(
            f"reference has values without names, in the order {seen[:8]!r} or in the model's, "
            f"{labels[:8]!r}? Pass a mapping, a Series or a frame with the names of the columns."
        )
    chosen = choose_loss(loss, view.task)
    settled: Settled
    if store is None:
        table = select_columns(whole, positions)
        settled = settle_held(view, table, target, by, whole, labels, reference, chosen.of_counts)
    else:
        settled = settle_stored(view, store, y, by, labels, reference, chosen.of_counts)
    view, rows, row, origin, spans, missing, sample = settled
    behind: dict[int, list[int]] = {}
    for column, source in enumerate(origin):
        behind.setdefault(source, []).append(column)
    always = sorted(column for source in shown_always for column in behind.get(source, ()))
    # A column that is never hidden and never changes (an intercept) is frozen where it is.
    constant = {c: spans[c][0] for c in always if c not in missing and is_one_number(spans[c])}
    row = with_reference(row, sample, constant, view.categorical)
    tested = Features(
        names=tuple(owners),
        columns=tuple(
            tuple(sorted(column for source in members for column in behind.get(source, ())))
            for members in owners.values()
        ),
        always_on=tuple(column for column in always if column not in constant),
        reference=row,
        space="encoded" if view.encoded else "original",
        origin="test rows" if isinstance(reference, str) else "given",
        missing=missing,
        spans=spans,
    )
    caveats = []
    dropped = [n for n, own in zip(tested.names, tested.columns, strict=True) if not own]
    if dropped:
        caveats.append(f"dropped before the model, so never significant: {shorten(dropped)}.")
    at_reference, elsewhere = constant_features(tested, sample)
    if at_reference:
        caveats.append(f"constant over these rows, so never significant: {shorten(at_reference)}.")
    if elsewhere:
        caveats.append(
            f"constant over these rows, but not at their reference, so that revealing them moves "
            f"all predictions alike: {shorten(elsewhere)}."
        )
    if tested.origin == "test rows":
        caveats.append(
            "reference values were taken from the test rows; pass the training set as reference to "
            "keep the test exact."
        )
    return Problem(
        view=view,
        rows=rows,
        features=tested,
        loss=chosen,
        always_on=tuple(labels[position] for position in shown_always),
        caveats=tuple(caveats),
        asked=asked,
    )


def _check_output(view: ModelView, y: Array, output: Array) -> None:
    """The model's output on the probe has the shape that the task asks for."""
    remedy = f" {view.remedy}" if view.remedy else ""
    if view.task == "regression":
        # One column has become a vector by now, of y and of the output.
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
            f"the model must return one probability per class, {len(classes)} of them "
            f"({shorten(classes)}); it returned shape {output.shape}. Say what the classes "
            f"are with sfit.models.function_model(f, task='classification', classes=...).{remedy}"
        )
