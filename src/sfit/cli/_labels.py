"""Class labels: model files and data files often name the classes differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sfit.exceptions import ArgumentError
from sfit.models import ModelView


def match_labels(
    view: ModelView, rows: pd.DataFrame, target: str, classes: Sequence[str] | None
) -> tuple[ModelView, pd.DataFrame]:
    """The view and the rows, with the same names for the classes.

    `classes` are the user's names, in the order of the model's classes. CSV files have no types: if
    the labels of the model are text, values that look like numbers become text too.
    """
    if classes is not None:
        view = _named(view, classes)
    if view.task != "classification" or view.classes is None:
        return view, rows
    classes_of_model, column = view.classes, rows[target]
    if all(isinstance(label, str) for label in classes_of_model.tolist()):
        return view, rows.assign(**{target: column.map(str, na_action="ignore")})
    if classes_of_model.dtype.kind in "iuf" and _is_text(column):
        labels = sorted(map(str, column.dropna().unique()))
        suggestion = ",".join(labels[:20])
        raise ArgumentError(
            f"column {target!r} holds labels ({', '.join(labels[:5])}), but the model file stores "
            f"its {len(classes_of_model)} classes as numbers: name them in the model's order with "
            f"--classes ({suggestion}, if they were numbered in sorted order, as is usual)."
        )
    return view, rows


def labels_match(view: ModelView, column: pd.Series[Any]) -> bool:
    """Whether the labels of the model and of the column are both text, or both not."""
    if view.task != "classification" or view.classes is None:
        return True
    return _is_text(column) == all(isinstance(label, str) for label in view.classes.tolist())


def _is_text(column: pd.Series[Any]) -> bool:
    return not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))


def _named(view: ModelView, classes: Sequence[str]) -> ModelView:
    if view.task != "classification":
        raise ArgumentError("--classes is for classification, but the model is a regression model.")
    if len(set(classes)) < len(classes) or len(classes) < 2:
        raise ArgumentError(f"--classes must name two or more classes; got {','.join(classes)}.")
    if view.classes is not None and len(view.classes) != len(classes):
        raise ArgumentError(
            f"--classes names {len(classes)} classes, but the model has {len(view.classes)}: "
            f"{', '.join(map(str, view.classes[:8]))}."
        )
    return replace(view, classes=np.asarray(classes))
