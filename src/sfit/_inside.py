"""Interaction scores of a model, from its weights or trees; nothing is tested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._features import Features
from sfit._partners import interaction_scores
from sfit.exceptions import ArgumentError, ModelError
from sfit.models import Dense, ModelView, as_view
from sfit.sample import prepare


def inside_scores(
    model: Any, names: Sequence[str], X: Any = None, y: Any = None, groups: Any = None
) -> npt.NDArray[Any]:
    """``|W|^T |W|`` of a network or shared paths of trees, for the features of a result.

    Only Pipelines and groups need rows, to map the columns inside the model to features.
    """
    if X is None:
        view = as_view(model)
        features = _one_column_each(view, names)
    else:
        sample = prepare(model, X, y, groups=groups)
        view, features = sample.view, sample.features
    scores = interaction_scores(view.structure, features)
    if scores is None:
        raise ModelError(
            f"model is a {type(model).__name__}, whose structure sfit cannot read: leave it out."
        )
    unknown = [name for name in names if name not in features.names]
    if unknown:
        raise ArgumentError(
            f"the model and its rows lack the features {unknown[:8]!r} of this result: pass the X, "
            "y and groups that were tested."
        )
    kept = [features.names.index(name) for name in names]
    return np.asarray(scores[np.ix_(kept, kept)])


def _one_column_each(view: ModelView, names: Sequence[str]) -> Features:
    if view.encoded:
        raise ArgumentError("model is a Pipeline: pass X and y too, which show its encoding.")
    structure = view.structure
    if isinstance(structure, Dense):
        width = structure.layers[0][0].shape[0]
    else:
        width = view.width or len(view.names or names)
    fitted = view.names or (tuple(names) if width == len(names) else ())
    columns = tuple((column,) for column in range(len(fitted)))
    return Features(fitted, columns, (), np.zeros((1, width)), "original", "given")
