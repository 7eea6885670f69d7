"""The target of each row, checked and encoded, and the part that each row belongs to.

If the rows are a tile, `first` is the number of its first row, so messages can name a row of X.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfit.exceptions import ArgumentError, DataError
from sfit.models import ModelView
from sfit.rows import Table
from sfit.sample._columns import column_or_vector

Array = npt.NDArray[Any]


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


def partition(
    by: Any, table: Table, view: ModelView, target: Array
) -> tuple[Array | None, tuple[Any, ...]]:
    """The index of each row's part, and the sorted labels of the parts."""
    if by is None:
        return None, ()
    if isinstance(by, str) and by == "class":
        if view.task != "classification" or view.classes is None:
            raise ArgumentError(
                "by='class' needs a classification model; this one is for regression."
            )
        values = np.asarray(view.classes)[target]
    else:
        values, _ = column_or_vector(by, table, "by")
    check_parts(values)
    codes, labels = sorted_parts(values)
    return codes, plain_labels(labels)


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
