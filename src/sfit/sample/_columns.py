"""The roles of the columns: features in the model's order, the target, and the parts of the rows.

If the rows are a piece of X, `first` is the number of its first row, so messages can name a row.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfit._features import positions_of
from sfit.exceptions import ArgumentError, DataError
from sfit.models import ModelView
from sfit.rows import Table, as_vector, column_names

Array = npt.NDArray[Any]


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


def asides(target_column: int | None, by: Any, table: Table) -> set[int]:
    """Columns of X that are features only if the model lists them: the target and `by`."""
    asides = set() if target_column is None else {target_column}
    names = column_names(table)
    check_class(by, [] if names is None else [n for i, n in enumerate(names) if i not in asides])
    if isinstance(by, str) and by != "class":
        if names is None:
            raise ArgumentError(f"by={by!r} names a column, but X has no column names.")
        asides.update(positions_of([by], names, "by"))
    return asides


def check_class(by: Any, columns: Sequence[str]) -> None:
    """Refuse by="class" if X has a column of that name: it could mean either."""
    if isinstance(by, str) and by == "class" and "class" in columns:
        raise ArgumentError(
            "by='class' means one part per class of y, but X also has a column 'class': rename the "
            "column, or pass the values that you mean, by=y or by=X['class']."
        )


def used_columns(
    view: ModelView, table: Table, features: Sequence[Any] | None, asides: set[int]
) -> tuple[list[str], list[int]]:
    """Names and positions of the columns that the model uses, in its order."""
    in_table = column_names(table)
    width = table.shape[1]
    if in_table is None:
        fitted = view.width if view.names is None else len(view.names)
        if fitted is not None and features is None and fitted != width:
            raise DataError(f"X has {width} columns, but the model was fitted on {fitted}.")
        names = view.names if fitted == width else None
        names = names or tuple(f"x{position}" for position in range(width))
    else:
        names = in_table
    if features is not None:
        positions = _listed_columns(view, features, names, in_table is None)
    elif in_table is not None and view.names is not None:
        # LightGBM replaces spaces in the names of its columns.
        by_name = {name.replace(" ", "_"): name for name in names} | {name: name for name in names}
        fitted_on = [by_name.get(name, name) for name in view.names]
        present = set(names)
        missing = [name for name in fitted_on if name not in present]
        if missing:
            raise DataError(
                f"X lacks {len(missing)} of the columns that the model was fitted on: "
                f"{missing[:8]!r}."
            )
        positions = positions_of(fitted_on, names, "the model")
    else:
        positions = [position for position in range(width) if position not in asides]
        if in_table is not None and view.width not in (None, len(positions)):
            raise DataError(
                f"X has {len(positions)} feature columns, but the model was fitted on "
                f"{view.width}: name the model's columns with features=[...]."
            )
    if not positions:
        raise ArgumentError(f"features must name at least one column of X; got {features!r}.")
    return [names[position] for position in positions], positions


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


def encode_classes(
    view: ModelView, target: Array, first: int | None = None
) -> tuple[ModelView, Array]:
    """Encode y as class codes; if the model does not list its classes, take them from y."""
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if view.task == "regression":
        return view, _as_numbers(target)
    if target.ndim != 1:
        raise DataError(f"y must hold one label per row; got shape {target.shape}.")
    missing = np.asarray(pd.isna(target))
    if missing.any():
        raise DataError(f"y is missing {_where(missing, first)}.")
    try:
        if view.classes is None:
            view = replace(view, classes=np.asarray(sorted(pd.unique(target).tolist())))
        classes = pd.Index(view.classes)  # type: ignore[arg-type]
        codes = classes.get_indexer(pd.Index(target))
    except TypeError as error:
        raise DataError(
            "y must hold labels of one type, such as text or whole numbers; got dtype "
            f"{target.dtype}, the first label is {target[0]!r}: {error}."
        ) from error
    if (codes < 0).any() and target.dtype == bool:
        codes = classes.get_indexer(pd.Index(target.astype(int)))
    if (codes < 0).any() and classes.dtype == bool and set(target.tolist()) <= {0, 1}:
        codes = classes.get_indexer(pd.Index(target.astype(bool)))
    if (codes < 0).any():
        unknown = pd.unique(target[codes < 0]).tolist()
        raise DataError(
            f"y holds {unknown[:5]!r}, first {_where(codes < 0, first or 0)}, but the model's "
            f"classes are {list(classes[:8])!r}."
        )
    return view, codes


def _where(bad: Array, first: int | None) -> str:
    if first is None:
        return f"at {int(bad.sum())} row(s), the first is row {bad.argmax()}"
    return f"at row {first + bad.argmax()}"


def _as_numbers(target: Array) -> Array:
    """Convert an object array of plain numbers to a numeric dtype; return others unchanged."""
    if target.dtype != object or target.ndim > 2:
        return target
    converted = pd.DataFrame(target).infer_objects().to_numpy()
    return converted if target.ndim == 2 else converted[:, 0]


def check_target(view: ModelView, target: Array, counts: bool, first: int | None = None) -> None:
    """Refuse a regression target that is not finite, or negative for a loss of counts."""
    if view.task == "classification":
        return
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
    if counts and (target < 0).any():
        bad = np.asarray(target < 0 if target.ndim == 1 else (target < 0).any(axis=1))
        raise DataError(
            f"y is below zero {_where(bad, first)}, but loss='poisson' is for counts and rates: "
            "leave these rows out, or use 'absolute_error' or 'squared_error'."
        )


class Parts:
    """The parts of the rows: their labels and sizes, collected piece by piece."""

    def __init__(self) -> None:
        self.counts: pd.Series[int] | None = None

    def add(self, values: Array | None, first: int | None) -> None:
        """Add the label of each row's part; None if the rows are not partitioned."""
        if values is None:
            return
        check_parts(values, first)
        codes, labels = sorted_parts(values)
        counts = pd.Series(np.bincount(codes), index=labels)
        self.counts = counts if self.counts is None else self.counts.add(counts, fill_value=0)

    @property
    def index(self) -> Any:
        """The sorted labels; None if the rows are not partitioned."""
        return None if self.counts is None else sorted_parts(np.asarray(self.counts.index))[1]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of rows in each part."""
        counts = self.counts
        return () if counts is None else tuple(int(counts[label]) for label in self.index)

    @property
    def labels(self) -> tuple[Any, ...]:
        """Labels that JSON can hold."""
        return () if self.counts is None else plain_labels(self.index)


def part_codes(index: Any, values: Array) -> Array:
    """The index of each row's part among the sorted labels."""
    return np.asarray(pd.Index(index).get_indexer(pd.Index(values)))


def check_parts(values: Array, first: int | None = None) -> None:
    """Refuse rows without a part."""
    if values.ndim != 1:
        raise ArgumentError(f"by must hold one label per row; got shape {values.shape}.")
    missing = np.asarray(pd.isna(values))
    if missing.any():
        raise DataError(
            f"by is missing at row {(first or 0) + missing.argmax()}: give every row a part."
        )


def sorted_parts(values: Array) -> tuple[Array, Any]:
    """The index of each row's part, and the sorted labels of the parts."""
    try:
        codes, labels = pd.factorize(values, sort=True)
    except TypeError as error:
        raise DataError(
            "by must hold labels such as text or whole numbers; the first is "
            f"{values[0]!r}: {error}."
        ) from error
    if len(labels) > 1_000:
        raise ArgumentError(f"by has {len(labels)} distinct labels; group them into at most 1,000.")
    return codes, labels


def plain_labels(index: Any) -> tuple[Any, ...]:
    """Labels that JSON can hold; labels of other types, such as dates, become text."""
    labels = np.asarray(index).tolist() if index.dtype.kind in "biufO" else map(str, index)
    return tuple(x if isinstance(x, str | int | float | bool) else str(x) for x in labels)
