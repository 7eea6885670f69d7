"""Everything that is settled before the first contrast: the view, the rows, the features, the loss.

Arguments and data are checked before the model predicts anything, and the model's output on a probe
of at most 1,000 rows before the real work starts.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfit._contrast import Reveal
from sfit._differences import Evaluation
from sfit._features import (
    Features,
    check_reference,
    constant_features,
    group_columns,
    has_no_names,
    match_reference,
    positions_of,
    reference_row,
    survey,
    with_reference,
)
from sfit._losses import Loss, check_loss, choose_loss
from sfit._provenance import NO_ORIGIN, origins
from sfit._rows import (
    HeldRows,
    Rows,
    Table,
    Tile,
    as_table,
    as_vector,
    column_names,
    column_values,
    select_columns,
    to_native,
)
from sfit._stored import Store, StoredRows, head_of, open_store, raw_tiles
from sfit._survey import Survey, TellingRows, medians
from sfit.exceptions import ArgumentError, DataError, ModelError, SFITWarning
from sfit.models import ModelView, Trees, as_view
from sfit.models._sklearn import PipelineView
from sfit.restrict import SidePredictions, rounding_noise

Array = npt.NDArray[Any]

PROBE_ROWS = 1_000


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
        for side in (Reveal(frozenset()), Reveal(self.features.everything)):
            output = direct.one(head, side).by_row()
            _check_output(self.view, head.y, output)
            self.loss(head.y, output, head.number, signed=True)
        again = direct.one(head, side).by_row()
        differ = (again != output).reshape(len(head), -1).any(axis=1)
        if differ.any():
            warnings.warn(
                f"the model's predictions differ from call to call, for {differ.mean():.0%} of "
                f"{len(head)} rows: what they differ by counts as rounding, and hides features.",
                SFITWarning,
                stacklevel=3,
            )
        unit = float(np.finfo(output.dtype).eps)
        structure = self.view.structure
        # Trees add up leaf by leaf, each row for itself: what else is in the batch cannot matter.
        exact = isinstance(structure, Trees)
        noise = 0.0 if exact else rounding_noise(self.view, self.features, head)
        if noise > unit**0.5 * np.abs(output).max() and not differ.any():
            warnings.warn(
                "the model's predictions depend on which rows are predicted together: alone they "
                f"differ by up to {noise:.2g}, which counts as rounding, and hides features. Let "
                "the model predict each row for itself, without means or ranks of the batch.",
                SFITWarning,
                stacklevel=3,
            )
        return Evaluation(
            predictions=SidePredictions(self.view, self.features, structure if fast else None),
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
    target, target_column = _column_or_vector(y, whole, "y")
    labels, positions = _used_columns(view, whole, features, _asides(target_column, by, whole))
    unnamed = column_names(whole) is None
    asked["features"] = features if unnamed else labels
    shown_always = positions_of(always_on, labels, "always_on", unnamed)
    owners = group_columns(labels, groups, shown_always, unnamed)
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
    posed: _Settled
    if store is None:
        table = select_columns(whole, positions)
        posed = _settle_held(view, table, target, by, whole, labels, reference)
    else:
        posed = _settle_stored(view, store, y, by, labels, reference)
    view, rows, row, origin, spans, missing, sample = posed
    always = [column for column, source in enumerate(origin) if source in shown_always]
    # A column that is never hidden and never changes (an intercept) is frozen where it is.
    constant = {c: spans[c][0] for c in always if c not in missing and spans[c][0] == spans[c][1]}
    row = with_reference(row, sample, constant)
    settled = Features(
        names=tuple(owners),
        columns=tuple(
            tuple(c for c, source in enumerate(origin) if source in members)
            for members in owners.values()
        ),
        always_on=tuple(column for column in always if column not in constant),
        reference=row,
        space="encoded" if isinstance(view, PipelineView) and view.encoded else "original",
        origin="test rows" if isinstance(reference, str) else "given",
        missing=missing,
        spans=spans,
    )
    caveats = []
    at_reference, elsewhere = constant_features(settled, sample)
    if at_reference:
        caveats.append(f"constant over these rows, so never significant: {_few(at_reference)}.")
    if elsewhere:
        caveats.append(
            f"constant over these rows, but not at their reference, so that revealing them moves "
            f"all predictions alike: {_few(elsewhere)}."
        )
    if settled.origin == "test rows":
        caveats.append(
            "reference values were taken from the test rows; pass the training set as reference to "
            "keep the test exact."
        )
    return Problem(
        view=view,
        rows=rows,
        features=settled,
        loss=chosen,
        always_on=tuple(labels[position] for position in shown_always),
        caveats=tuple(caveats),
        asked=asked,
    )


class _Settled(NamedTuple):
    """What is known of the rows once they have been looked at."""

    view: ModelView
    rows: Rows
    reference: Table
    origin: tuple[int, ...]
    """The original column behind each masked one."""
    spans: tuple[tuple[float, float], ...]
    missing: frozenset[int]
    sample: Table
    """The rows, or some that show every column as it is."""


def _settle_held(
    view: ModelView,
    table: Table,
    target: Array,
    by: Any,
    whole: Table,
    labels: Sequence[str],
    reference: Any,
) -> _Settled:
    """Rows in memory, all at once."""
    view, target = _settle_classes(view, target)
    _check_target(view, target)
    part, parts = _partition(by, whole, view, target)
    # The user's own rows of y: no loss may change them.
    target = target.view()
    target.flags.writeable = False
    view, encoded, origin = _masked_space(view, table)
    row = reference_row(reference, view, table, encoded, labels, origin)
    _check_finite(row, encoded, [labels[source] for source in origin], reference)
    encoded = match_reference(encoded, row)
    spans, missing = survey(encoded)
    rows = HeldRows(encoded, target, part, parts)
    return _Settled(view, rows, row, origin, spans, missing, encoded)


@dataclass(frozen=True)
class Settler:
    """From a table of the user's columns to a tile of the masked space."""

    view: ModelView
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    target: str
    by: str | None
    parts: Any = None
    """The labels of `by`, sorted."""
    reference: Table | None = None

    def __call__(self, index: int, table: Table, first: int, numbers: Array | None) -> Tile:
        """One tile, as it is tested."""
        encoded = self.encoded(table)
        if self.reference is not None:
            encoded = match_reference(encoded, self.reference)
        y = self.observed(table, first)
        part = None
        if self.by is not None and self.parts is not None:
            part = pd.Index(self.parts).get_indexer(pd.Index(self.part_labels(table, y)))
        return Tile(index, encoded, y, part, numbers)

    def undivided(self) -> Settler:
        """The same, without parts."""
        return replace(self, by=None)

    def told(self) -> tuple[Any, ...]:
        """Which columns are what."""
        return self.labels, self.target, self.by

    def encoded(self, table: Table) -> Table:
        """The masked space."""
        return _encode(self.view, self.features(table))

    def features(self, table: Table) -> Table:
        """The user's columns of features."""
        return select_columns(table, [self.columns.index(label) for label in self.labels])

    def observed(self, table: Table, first: int) -> Array:
        """What was observed, checked: class numbers, or numbers."""
        _, y = _settle_classes(self.view, self._column(table, self.target), first)
        _check_target(self.view, y, first)
        y.flags.writeable = False
        return y

    def part_labels(self, table: Table, y: Array) -> Array:
        """The label of each row's part."""
        if self.by == "class":
            return np.asarray(self.view.classes)[y]
        return self._column(table, str(self.by))

    def _column(self, table: Table, name: str) -> Array:
        series = table.get_column(table.columns[self.columns.index(name)]).to_native()
        return as_vector(series, name, table.shape[0])


def _settle_stored(
    view: ModelView,
    store: Store,
    target: str,
    by: str | None,
    labels: Sequence[str],
    reference: Any,
) -> _Settled:
    """Rows that are read tile by tile: what must be known of all of them is gathered first."""
    _check_class(by, [name for name in store.names if name != target])
    if by == "class" and view.task != "classification":
        raise ArgumentError("by='class' is for classification; the model is of regression.")
    asides = [target, *([by] if by not in (None, "class") else [])]
    columns = tuple(dict.fromkeys([*labels, *map(str, asides)]))
    settle = Settler(view, columns, tuple(labels), target, by)
    if view.task == "classification" and view.classes is None:
        found = [pd.unique(settle._column(table, target)) for _, table in raw_tiles(store, columns)]
        view, _ = _settle_classes(view, np.concatenate(found))
        settle = replace(settle, view=view)
    modes = reference == "mode" if isinstance(reference, str) else False
    probing = isinstance(view, PipelineView) and view.encoded
    telling, parts = TellingRows(ends=probing), _Parts()
    known = Survey(view.categorical, modes)
    for first, table in raw_tiles(store, columns):
        telling.add(settle.features(table))
        y = settle.observed(table, first)
        if by is not None:
            parts.add(settle.part_labels(table, y), first)
        if not probing:
            known.add(settle.encoded(table))
    view, sample, origin = _masked_space(view, telling.table)
    settle = replace(settle, view=view)
    if probing:
        known = _survey_again(settle, store, modes)
        unseen = [c for c, source in enumerate(origin) if source == NO_ORIGIN]
        if any(known.spans[c][0] != known.spans[c][1] for c in unseen):
            # A column that never changed over the sample does so elsewhere: mask the originals.
            view = view.whole()  # type: ignore[attr-defined]
            sample, origin = _encode(view, telling.table), tuple(range(len(labels)))
            settle = replace(settle, view=view)
            known = _survey_again(settle, store, modes)
    centre = known.centre
    if isinstance(reference, str) and reference == "median":
        exact = medians(lambda: (settle.encoded(t) for _, t in raw_tiles(store, columns)), known)

        def centre(how: str, column: int) -> Any:
            known_exactly = column in exact and column not in view.categorical
            return exact[column] if known_exactly else known.centre(how, column)

    row = reference_row(reference, view, telling.table, sample, labels, origin, centre)
    if not isinstance(reference, str):
        _check_finite(row, sample, [labels[source] for source in origin], reference)
    for c, span in enumerate(known.spans):
        if isinstance(reference, str) and np.isinf(span).any():
            value = column_values(row, c)[0]
            if not np.isfinite(value):
                raise DataError(
                    f"X is infinite in column {labels[origin[c]]!r}, so that its {reference} is no "
                    "reference: remove or clip these values, or pass values as reference."
                )
    settle = replace(settle, reference=row, parts=parts.found if by is not None else None)
    rows = StoredRows(store, settle, len(store), parts.sizes, parts.labels)
    sample = match_reference(sample, row)
    return _Settled(view, rows, row, origin, known.spans, frozenset(known.missing), sample)


def _survey_again(settle: Settler, store: Store, modes: bool) -> Survey:
    known = Survey(settle.view.categorical, modes)
    for _, table in raw_tiles(store, settle.columns):
        known.add(settle.encoded(table))
    return known


class _Parts:
    """The parts that rows fall into, counted a tile at a time."""

    def __init__(self) -> None:
        self.counts: pd.Series[int] = pd.Series(dtype=np.int64)

    def add(self, values: Array, first: int) -> None:
        _check_parts(values, first)
        self.counts = self.counts.add(pd.Series(values).value_counts(), fill_value=0)

    @property
    def found(self) -> Any:
        return _sorted_parts(np.asarray(self.counts.index))[1]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(self.counts[label]) for label in self.found) if len(self.counts) else ()

    @property
    def labels(self) -> tuple[Any, ...]:
        return _plain_labels(self.found) if len(self.counts) else ()


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _column_or_vector(values: Any, table: Table, argument: str) -> tuple[Array, int | None]:
    """A vector given as such, or as the name of a column of X."""
    if isinstance(values, str):
        names = column_names(table)
        if names is None:
            raise ArgumentError(f"{argument}={values!r} names a column, but X has no names.")
        [position] = positions_of([values], names, argument)
        column = table.get_column(table.columns[position]).to_native()
        return as_vector(column, argument, table.shape[0]), position
    return as_vector(values, argument, table.shape[0]), None


def _asides(target_column: int | None, by: Any, table: Table) -> set[int]:
    """Columns of X that are no features unless the model says so: the target and `by`."""
    asides = set() if target_column is None else {target_column}
    names = column_names(table)
    _check_class(by, [] if names is None else [n for i, n in enumerate(names) if i not in asides])
    if isinstance(by, str) and by != "class":
        if names is None:
            raise ArgumentError(f"by={by!r} names a column, but X has no names.")
        asides.update(positions_of([by], names, "by"))
    return asides


def _check_class(by: Any, columns: Sequence[str]) -> None:
    """The word "class" asks for a part per class; a column of that name makes it ambiguous."""
    if isinstance(by, str) and by == "class" and "class" in columns:
        raise ArgumentError(
            "by='class' asks for one part per class of y, but X has a column 'class' as well: "
            "rename it, or pass the values that you mean, by=y or by=X['class']."
        )


def _used_columns(
    view: ModelView, table: Table, features: Sequence[Any] | None, asides: set[int]
) -> tuple[list[str], list[int]]:
    """Names and positions of the columns that go to the model, in its order."""
    own = column_names(table)
    width = table.shape[1]
    if own is None:
        fitted = view.width if view.names is None else len(view.names)
        if fitted is not None and features is None and fitted != width:
            raise DataError(f"X has {width} columns, but the model was fitted on {fitted}.")
        names = view.names if fitted == width else None
        names = names or tuple(f"x{position}" for position in range(width))
    else:
        names = own
    if features is not None:
        positions = _asked_columns(view, features, names, own is None)
    elif own is not None and view.names is not None:
        # LightGBM keeps the names of its columns with spaces replaced.
        by_name = {name.replace(" ", "_"): name for name in names} | {name: name for name in names}
        fitted_on = [by_name.get(name, name) for name in view.names]
        missing = [name for name in fitted_on if name not in names]
        if missing:
            raise DataError(
                f"X lacks {len(missing)} of the columns that the model was fitted on: "
                f"{missing[:8]!r}."
            )
        positions = positions_of(fitted_on, names, "the model")
    else:
        positions = [position for position in range(width) if position not in asides]
        if own is not None and view.width not in (None, len(positions)):
            raise DataError(
                f"X has {len(positions)} columns of features, but the model was fitted on "
                f"{view.width}: name them with features=[...]."
            )
    if not positions:
        raise ArgumentError(f"features must name at least one column of X; got {features!r}.")
    return [names[position] for position in positions], positions


def _asked_columns(
    view: ModelView, features: Sequence[Any], names: Sequence[str], unnamed: bool
) -> list[int]:
    """Positions of the columns that the user asks for, in the order the model takes them."""
    if isinstance(features, Set):
        raise ArgumentError(
            f"features must be a sequence, in the order in which the model takes them; got the set "
            f"{features!r}."
        )
    positions = positions_of(features, names, "features", unnamed)
    if view.names is None:
        if view.width not in (None, len(positions)):
            raise ArgumentError(
                f"features must name {view.width} columns, as many as the model was fitted on; got "
                f"{list(features)!r}."
            )
        return positions
    asked = {names[position] for position in positions}
    known = asked.intersection(view.names)
    if len(known) == len(asked) == len(view.names):
        return positions_of(view.names, names, "features")
    # Columns of other names stand for the model's own, one by one; a mixture is a mistake.
    if known or len(asked) != len(view.names):
        raise ArgumentError(
            f"features must name the {len(view.names)} columns that the model was fitted on, "
            f"{list(view.names[:8])!r}; got {list(features)!r}."
        )
    return positions


def _masked_space(view: ModelView, table: Table) -> tuple[ModelView, Table, tuple[int, ...]]:
    """The view that masks where it is cheapest, its rows, and the original column of each."""
    identity = tuple(range(table.shape[1]))
    encoded = _encode(view, table)
    if not (isinstance(view, PipelineView) and view.encoded):
        return view, encoded, identity
    found = origins(view.encode, table, encoded)
    if found is not None and any(source != NO_ORIGIN for source in found):
        return view, encoded, found
    view = view.whole()
    return view, _encode(view, table), identity


def _check_finite(row: Table, encoded: Table, labels: Sequence[str], reference: Any) -> None:
    """Nothing is frozen at infinity, be it the user's choice or the mean of such values."""
    for position, label in enumerate(labels):
        value = column_values(row, position)[0]
        if not isinstance(value, float | np.floating) or np.isfinite(value):
            continue
        if not isinstance(reference, str):
            if np.isinf(value):
                raise ArgumentError(f"reference for column {label!r} must be finite; got {value}.")
            continue
        values = column_values(encoded, position)
        infinite = np.isinf(values)
        if not infinite.any() and not np.isnan(values).all():
            raise DataError(
                f"X has numbers in column {label!r} whose {reference} is beyond what a float can "
                "hold: scale the column, or pass values as reference."
            )
        if infinite.any():
            raise DataError(
                f"X is infinite in column {label!r} at {int(infinite.sum())} row(s), the first is "
                f"row {infinite.argmax()}, so that its {reference} is no reference: remove or clip "
                "these values, or pass values as reference."
            )


def _encode(view: ModelView, table: Table) -> Table:
    try:
        encoded = as_table(view.encode(to_native(table)))
    except (DataError, ModelError):
        raise
    except Exception as error:
        raise ModelError(
            f"the model's own preprocessing failed on X: {type(error).__name__}: {error}"
        ) from error
    if encoded.shape[0] != table.shape[0]:
        raise ModelError(
            f"the model's own preprocessing changed the number of rows from {table.shape[0]} to "
            f"{encoded.shape[0]}: each row must stay one row."
        )
    return encoded


def _settle_classes(view: ModelView, target: Array, first: int = 0) -> tuple[ModelView, Array]:
    """Class indices for classification, and the classes where only y knows them."""
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if view.task == "regression":
        return view, _as_numbers(target)
    if target.ndim != 1:
        raise DataError(f"y must hold one label per row; got shape {target.shape}.")
    missing = np.asarray(pd.isna(target))
    if missing.any():
        raise DataError(
            f"y is missing at {int(missing.sum())} row(s), the first is row "
            f"{first + missing.argmax()}."
        )
    try:
        if view.classes is None:
            view = replace(view, classes=np.asarray(sorted(pd.unique(target).tolist())))
        classes = pd.Index(view.classes)  # type: ignore[arg-type]
        numbers = classes.get_indexer(pd.Index(target))
    except TypeError as error:
        raise DataError(
            "y must hold labels of one kind, such as text or whole numbers; got "
            f"dtype {target.dtype}, of which the first is {target[0]!r}: {error}."
        ) from error
    if (numbers < 0).any() and target.dtype == bool:
        numbers = classes.get_indexer(pd.Index(target.astype(int)))
    if (numbers < 0).any() and classes.dtype == bool and set(target.tolist()) <= {0, 1}:
        numbers = classes.get_indexer(pd.Index(target.astype(bool)))
    if (numbers < 0).any():
        unknown = pd.unique(target[numbers < 0]).tolist()
        raise DataError(
            f"y holds {unknown[:5]!r}, first at row {first + int((numbers < 0).argmax())}, but the "
            f"model's classes are {list(classes[:8])!r}."
        )
    return view, numbers


def _as_numbers(target: Array) -> Array:
    """Objects that are all plain numbers, as numbers; anything else as it is."""
    if target.dtype != object or target.ndim > 2:
        return target
    numbers = pd.DataFrame(target).infer_objects().to_numpy()
    return numbers if target.ndim == 2 else numbers[:, 0]


def _check_target(view: ModelView, target: Array, first: int = 0) -> None:
    if view.task == "classification":
        return
    if target.dtype.kind not in "biuf":
        raise DataError(
            f"y must hold numbers for a model of regression; got dtype {target.dtype}. Use "
            "y.astype(float) where they are numbers of another kind."
        )
    if target.ndim > 2:
        raise DataError(f"y must have one or two dimensions; got shape {target.shape}.")
    finite = np.isfinite(target)
    if not finite.all():
        bad = ~finite if finite.ndim == 1 else ~finite.all(axis=1)
        raise DataError(
            f"y is missing or infinite at {int(bad.sum())} row(s), the first is row "
            f"{first + bad.argmax()}."
        )


def _partition(
    by: Any, table: Table, view: ModelView, target: Array
) -> tuple[Array | None, tuple[Any, ...]]:
    """Number of the part of each row, and the parts' labels in sorted order."""
    if by is None:
        return None, ()
    if isinstance(by, str) and by == "class":
        if view.task != "classification" or view.classes is None:
            raise ArgumentError("by='class' is for classification; the model is of regression.")
        values = np.asarray(view.classes)[target]
    else:
        values, _ = _column_or_vector(by, table, "by")
    _check_parts(values)
    codes, found = _sorted_parts(values)
    return codes, _plain_labels(found)


def _check_parts(values: Array, first: int = 0) -> None:
    if values.ndim != 1:
        raise ArgumentError(f"by must hold one label per row; got shape {values.shape}.")
    missing = np.asarray(pd.isna(values))
    if missing.any():
        raise DataError(f"by is missing at row {first + missing.argmax()}: give every row a part.")


def _sorted_parts(values: Array) -> tuple[Array, Any]:
    """Number of each row's part, and the parts in sorted order."""
    try:
        codes, found = pd.factorize(values, sort=True)
    except TypeError as error:
        raise DataError(
            "by must hold labels such as text or whole numbers; the first is "
            f"{values[0]!r}: {error}."
        ) from error
    if len(found) > 1_000:
        raise ArgumentError(f"by has {len(found)} distinct labels; group them into at most 1,000.")
    return codes, found


def _plain_labels(found: Any) -> tuple[Any, ...]:
    """Labels that JSON can hold: those of other kinds (dates) go by their text."""
    labels = np.asarray(found).tolist() if found.dtype.kind in "biufO" else map(str, found)
    return tuple(x if isinstance(x, str | int | float | bool) else str(x) for x in labels)


def _shorten(classes: Array | None) -> str:
    labels = [] if classes is None else classes.tolist()
    return ", ".join(map(repr, labels[:8])) + (", ..." if len(labels) > 8 else "")


def _check_output(view: ModelView, y: Array, output: Array) -> None:
    """The model's output on the probe has the shape that the task asks for."""
    remedy = f" {view.remedy}" if view.remedy else ""
    if view.task == "regression":
        expected = y.shape[1:]
        if output.shape[1:] != expected:
            raise ModelError(
                f"the model returns {output.shape[1:] or 'one value'} per row, but y has "
                f"{expected or 'one value'}: they must agree.{remedy}"
            )
        return
    n_classes = len(view.classes) if view.classes is not None else 0
    if output.ndim != 2 or output.shape[1] != n_classes:
        raise ModelError(
            f"the model must return one probability per class, {n_classes} of them "
            f"({_shorten(view.classes)}); it returned shape {output.shape}. Say what the classes "
            f"are with sfit.models.function_model(f, task='classification', classes=...).{remedy}"
        )
