"""Class labels: files of models and of rows often disagree on what a class is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from sfit.exceptions import ArgumentError
from sfit.models import ModelView


def settle_labels(
    view: ModelView, rows: pd.DataFrame, target: str, classes: Sequence[str] | None
) -> tuple[ModelView, pd.DataFrame]:
    """A view and rows that call the classes by the same names.

    `classes` are the user's, in the order of the model's own. CSV files know no types: where the
    model has labels of text, values that look like numbers are text too.
    """
    if classes is not None:
        view = _named(view, classes)
    if view.task != "classification" or view.classes is None:
        return view, rows
    known, found = view.classes, rows[target]
    if all(isinstance(label, str) for label in known.tolist()):
        return view, rows.assign(**{target: found.map(str, na_action="ignore")})
    text = not (pd.api.types.is_numeric_dtype(found) or pd.api.types.is_bool_dtype(found))
    if known.dtype.kind in "iuf" and text:
        labels = sorted(map(str, found.dropna().unique()))
        listed = ",".join(labels[:20])
        raise ArgumentError(
            f"column {target!r} holds labels ({', '.join(labels[:5])}), but the model file knows "
            f"its {len(known)} classes as numbers only: name them in the model's order with "
            f"--classes ({listed}, if they were numbered in sorted order, as is usual)."
        )
    return view, rows


def speak_the_same(view: ModelView, example: pd.Series[Any]) -> bool:
    """Whether the model and the column call the classes alike, so that no label must change."""
    if view.task != "classification" or view.classes is None:
        return True
    text = not (pd.api.types.is_numeric_dtype(example) or pd.api.types.is_bool_dtype(example))
    return text == all(isinstance(label, str) for label in view.classes.tolist())


def _named(view: ModelView, classes: Sequence[str]) -> ModelView:
    if view.task != "classification":
        raise ArgumentError("--classes is for classification, but the model is of regression.")
    if len(set(classes)) < len(classes) or len(classes) < 2:
        raise ArgumentError(f"--classes must name two or more classes; got {','.join(classes)}.")
    if view.classes is not None and len(view.classes) != len(classes):
        raise ArgumentError(
            f"--classes names {len(classes)} classes, but the model has {len(view.classes)}: "
            f"{', '.join(map(str, view.classes[:8]))}."
        )
    return replace(view, classes=np.asarray(classes))
