"""The roles of the columns: features in the model's order, the target, and the parts of the rows.

If the rows are a piece of X, `first` is the number of its first row, so messages can name a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sfit._array import Array
from sfit._features import positions_of
from sfit._losses import Loss
from sfit.exceptions import ArgumentError, DataError
from sfit.models import ModelView
from sfit.rows import Table, as_vector, column_names


def column_or_vector(values: Any, table: Table, argument: str) -> tuple[Array, int | None]:
    """A vector, passed as an array or as the name of a column of X."""
    if isinstance(values, str):
        names = column_names(table)
        if names is None:
            raise ArgumentError(f"{argument}={values!r} names a column, but X has no column names.")
        [position] = positions_of([values], names, argument)
        column = table.get_column(table.columns[position]).to_native()
        return as_vector(column, argument, table.shape[0]), position
    return as_vector(values, argument, table.shape[0]), None


def asides(target_column: int | None, by: Any, clusters: Any, table: Table) -> set[int]:
    """Columns of X that are features only if the model lists them: target, `by`, `clusters`."""
    asides = set() if target_column is None else {target_column}
    names = column_names(table)
    if isinstance(clusters, str):
        if names is None:
            raise ArgumentError(f"clusters={clusters!r} names a column, but X has no column names.")
        asides.update(positions_of([clusters], names, "clusters"))
    if not isinstance(by, str):
        return asides
    if by != "class":
        if names is None:
            raise ArgumentError(f"by={by!r} names a column, but X has no column names.")
        asides.update(positions_of([by], names, "by"))
    elif names is not None and "class" in names and names.index("class") not in asides:
        raise ArgumentError(
            "by='class' means one part per class of y, but X also has a column 'class': rename the "
            "column, or pass the values that you mean, by=y or by=X['class']."
        )
    return asides


def used_columns(
    view: ModelView, table: Table, features: Sequence[Any] | None, asides: set[int]
) -> tuple[list[str], list[int]]:
    """Names and positions of the columns that the model uses, in its order."""
    in_table = column_names(table)
    if in_table is None:
        names = _made_names(view, table.shape[1], listed=features is not None)
    else:
        names = in_table
    if features is not None:
        positions = _listed_columns(view, features, names, in_table is None)
    elif in_table is not None and view.names is not None:
        positions = _fitted_columns(view.names, names)
    else:
        positions = [position for position in range(table.shape[1]) if position not in asides]
        if in_table is not None and view.width not in (None, len(positions)):
            raise DataError(
                f"X has {len(positions)} feature columns, but the model was fitted on "
                f"{view.width}: name the model's columns with features=[...]."
            )
    if not positions:
        raise ArgumentError(f"features must name at least one column of X; got {features!r}.")
    return [names[position] for position in positions], positions


def _made_names(view: ModelView, width: int, *, listed: bool) -> tuple[str, ...]:
    """Names for columns without any: the model's if they fit, else their positions."""
    fitted = view.width if view.names is None else len(view.names)
    if fitted is not None and not listed and fitted != width:
        raise DataError(f"X has {width} columns, but the model was fitted on {fitted}.")
    names = view.names if fitted == width else None
    return names or tuple(f"x{position}" for position in range(width))


def _fitted_columns(fitted: Sequence[str], names: Sequence[str]) -> list[int]:
    """Positions of the columns that the model was fitted on."""
    # LightGBM replaces spaces in the names of its columns.
    by_name = {name.replace(" ", "_"): name for name in names} | {name: name for name in names}
    fitted_on = [by_name.get(name, name) for name in fitted]
    present = set(names)
    missing = [name for name in fitted_on if name not in present]
    if missing:
        raise DataError(
            f"X lacks {len(missing)} of the columns that the model was fitted on: {missing[:8]!r}."
        )
    return positions_of(fitted_on, names, "the model")


def _listed_columns(
    view: ModelView, features: Sequence[Any], names: Sequence[str], unnamed: bool
) -> list[int]:
    """Positions of the columns listed in `features`, in the order that the model expects."""
    if isinstance(features, Set):
        raise ArgumentError(
            "features must be a sequence, in the order that the model expects; got the set "
            f"{features!r}."
        )
    positions = positions_of(features, names, "features", range(len(names)) if unnamed else ())
    if view.names is None:
        if view.width not in (None, len(positions)):
            raise ArgumentError(
                f"features must name {view.width} columns, as many as the model was fitted on; got "
                f"{list(features)!r}."
            )
        return positions
    listed = {names[position] for position in positions}
    shared = listed.intersection(view.names)
    if len(shared) == len(listed) == len(view.names):
        return positions_of(view.names, names, "features")
    # If no name matches, columns are matched by position; a partial match is a mistake.
    if shared or len(listed) != len(view.names):
        raise ArgumentError(
            f"features must name the {len(view.names)} columns that the model was fitted on, "
            f"{list(view.names[:8])!r}; got {list(features)!r}."
        )
    return positions


def with_classes(view: ModelView, targets: Iterable[tuple[Array, int | None]]) -> ModelView:
    """The view of a model that does not list its classes, with those that occur in y."""
    classes = [
        np.asarray(_classes_in(_labels(target, first)), dtype=object) for target, first in targets
    ]
    return replace(view, classes=_classes_in(np.concatenate(classes)))


def check_labels(target: Array) -> None:
    """Refuse a target whose labels are missing or cannot be sorted."""
    _classes_in(_labels(target, None))


def _classes_in(labels: Array) -> Array:
    try:
        return np.asarray(sorted(pd.unique(labels).tolist()))
    except TypeError as error:
        raise _not_of_one_type(labels, error) from error


def class_codes(classes: Array, target: Array, first: int | None = None) -> Array:
    """The number of each row's class."""
    target = _labels(target, first)
    try:
        index = pd.Index(classes)
        codes = index.get_indexer(pd.Index(target))
    except TypeError as error:
        raise _not_of_one_type(target, error) from error
    if (codes < 0).any() and target.dtype == bool:
        codes = index.get_indexer(pd.Index(target.astype(int)))
    if (codes < 0).any() and index.dtype == bool and set(target.tolist()) <= {0, 1}:
        codes = index.get_indexer(pd.Index(target.astype(bool)))
    if (codes < 0).any():
        unknown = pd.unique(target[codes < 0]).tolist()
        raise DataError(
            f"y holds {unknown[:5]!r}, first {_where(codes < 0, first or 0)}, but the model's "
            f"classes are {list(index[:8])!r}."
        )
    return np.asarray(codes)


def _labels(target: Array, first: int | None) -> Array:
    """The label of each row; a target with missing labels is refused."""
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1:
        raise DataError(f"y must hold one label per row; got shape {target.shape}.")
    missing = np.asarray(pd.isna(target))
    if missing.any():
        raise DataError(f"y is missing {_where(missing, first)}.")
    return target


def _not_of_one_type(target: Array, error: TypeError) -> DataError:
    return DataError(
        "y must hold labels of one type, such as text or whole numbers; got dtype "
        f"{target.dtype}, the first label is {target[0]!r}: {error}."
    )


def _where(bad: Array, first: int | None) -> str:
    if first is None:
        return f"at {int(bad.sum())} row(s), the first is row {bad.argmax()}"
    return f"at row {first + bad.argmax()}"


def checked_numbers(target: Array, loss: Loss, first: int | None = None) -> Array:
    """The target of a regression: finite, and in the range of the loss."""
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.dtype == object and target.ndim <= 2:
        # Plain numbers get a numeric dtype.
        converted = pd.DataFrame(target).infer_objects().to_numpy()
        target = converted if target.ndim == 2 else converted[:, 0]
    if target.dtype.kind not in "biuf":
        raise DataError(
            f"y must hold numbers for a regression model; got dtype {target.dtype}. Use "
            "y.astype(float) if they are numbers of another type."
        )
    if target.ndim > 2:
        raise DataError(f"y must have one or two dimensions; got shape {target.shape}.")
    finite = np.isfinite(target)
    if not finite.all():
        bad = np.asarray(~finite if finite.ndim == 1 else ~finite.all(axis=1))
        raise DataError(f"y is missing or infinite {_where(bad, first)}.")
    if loss.target == "any":
        return target
    outside = target < 0 if loss.target == "nonnegative" else target <= 0
    if outside.any():
        bad = np.asarray(outside if outside.ndim == 1 else outside.any(axis=1))
        found, needed = ("below zero", "never negative")
        if loss.target == "positive":
            found, needed = ("zero or less", "positive")
        raise DataError(
            f"y is {found} {_where(bad, first)}, but loss={loss.name!r} is for outcomes that are "
            f"{needed}: leave these rows out, or use 'absolute_error' or 'squared_error'."
        )
    return target


MISSING = "missing"
"""The name of the part of the rows without a label."""


def count_parts(values: Array, before: Any) -> pd.Series[int]:
    """Number of rows of each part, up to and with a piece; `before` are the counts so far."""
    if values.ndim != 1:
        raise ArgumentError(f"by must hold one label per row; got shape {values.shape}.")
    codes, labels = sorted_parts(values)
    counts = pd.Series(np.bincount(codes), index=labels)
    return counts if before is None else before.add(counts, fill_value=0)


def sorted_parts(values: Array) -> tuple[Array, Any]:
    """The index of each row's part, and the sorted labels; those of missing labels come last."""
    try:
        codes, labels = pd.factorize(values, sort=True)
    except TypeError as error:
        raise DataError(
            "by must hold labels such as text or whole numbers; the first is "
            f"{values[0]!r}: {error}."
        ) from error
    if len(labels) > 1_000:
        raise ArgumentError(f"by has {len(labels)} distinct labels; group them into at most 1,000.")
    if (codes < 0).any():
        absent = np.array(["NaT" if labels.dtype.kind in "mM" else np.nan], dtype=labels.dtype)
        codes[codes < 0] = len(labels)
        labels = np.concatenate([labels, absent])
    return codes, labels


def part_codes(index: Any, values: Array) -> Array:
    """The index of each row's part among the sorted labels; missing ones are one part."""
    codes = np.array(pd.Index(index).get_indexer(pd.Index(values)))
    missing = np.asarray(pd.isna(values))
    if missing.any():
        # None, NaN, NaT and NA are one label, whichever of them the index holds.
        codes[missing] = int(np.asarray(pd.isna(index)).argmax())
    return codes


def plain_labels(index: Any) -> tuple[Any, ...]:
    """Labels that JSON can hold; labels of other types, such as dates, become text."""
    missing = pd.isna(index)
    labels = np.asarray(index).tolist() if index.dtype.kind in "biufO" else map(str, index)
    plain = [x if isinstance(x, str | int | float | bool) else str(x) for x in labels]
    if missing.any() and MISSING in plain:
        raise DataError(
            f"by has missing labels, which are the part {MISSING!r}, and the label {MISSING!r} as "
            "well: rename the label, or give every row one."
        )
    return tuple(MISSING if absent else label for absent, label in zip(missing, plain, strict=True))
