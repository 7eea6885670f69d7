"""What was observed of each row: its target, checked and as numbers, and the part it falls into.

`first` is the number of the first of some rows, where they are not all: messages name a row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfit.exceptions import ArgumentError, DataError
from sfit.models import ModelView
from sfit.problem._columns import column_or_vector
from sfit.rows import Table

Array = npt.NDArray[Any]


def settle_classes(
    view: ModelView, target: Array, first: int | None = None
) -> tuple[ModelView, Array]:
    """Class indices for classification, and the classes where only y knows them."""
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
            f"y holds {unknown[:5]!r}, first {_where(numbers < 0, first or 0)}, but the model's "
            f"classes are {list(classes[:8])!r}."
        )
    return view, numbers


def _where(bad: Array, first: int | None) -> str:
    if first is None:
        return f"at {int(bad.sum())} row(s), the first is row {bad.argmax()}"
    return f"at row {first + bad.argmax()}"


def _as_numbers(target: Array) -> Array:
    """Objects that are all plain numbers, as numbers; anything else as it is."""
    if target.dtype != object or target.ndim > 2:
        return target
    numbers = pd.DataFrame(target).infer_objects().to_numpy()
    return numbers if target.ndim == 2 else numbers[:, 0]


def check_target(view: ModelView, target: Array, counts: bool, first: int | None = None) -> None:
    """A regression is judged by finite numbers; with a loss of counts, from zero on."""
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
        bad = np.asarray(~finite if finite.ndim == 1 else ~finite.all(axis=1))
        raise DataError(f"y is missing or infinite {_where(bad, first)}.")
    if counts and (target < 0).any():
        bad = np.asarray(target < 0 if target.ndim == 1 else (target < 0).any(axis=1))
        raise DataError(
            f"y is below zero {_where(bad, first)}, but loss='poisson' is for counts and rates: "
            "leave these rows out, or use 'absolute_error' or 'squared_error'."
        )


def partition(
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
        values, _ = column_or_vector(by, table, "by")
    check_parts(values)
    codes, found = sorted_parts(values)
    return codes, plain_labels(found)


def check_parts(values: Array, first: int | None = None) -> None:
    """Every row has a part."""
    if values.ndim != 1:
        raise ArgumentError(f"by must hold one label per row; got shape {values.shape}.")
    missing = np.asarray(pd.isna(values))
    if missing.any():
        raise DataError(
            f"by is missing at row {(first or 0) + missing.argmax()}: give every row a part."
        )


def sorted_parts(values: Array) -> tuple[Array, Any]:
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


def plain_labels(found: Any) -> tuple[Any, ...]:
    """Labels that JSON can hold: those of other kinds (dates) go by their text."""
    labels = np.asarray(found).tolist() if found.dtype.kind in "biufO" else map(str, found)
    return tuple(x if isinstance(x, str | int | float | bool) else str(x) for x in labels)
