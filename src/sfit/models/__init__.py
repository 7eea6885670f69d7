"""Fitted models of any library, behind one interface.

There is one file per library, with a function ``view(model, loss)`` that returns a `ModelView`, or
None if the model belongs to another library. The file is imported only if the user has already
loaded that library. Third parties add adapters through the entry-point group ``sfit.models``: the
name of an entry is the library's import name, its value such a function.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from sfit.exceptions import ModelError
from sfit.models._function import FunctionView, function_model
from sfit.models._network import needs_scores, task_of
from sfit.models._torch_model import torch_model
from sfit.models._view import Dense, ModelView, Trees

__all__ = ["Dense", "ModelView", "Trees", "as_view", "function_model", "torch_model"]

# In the order of the search: wrappers come before the libraries that they wrap.
LIBRARIES = {
    "keras": "sfit.models._keras",
    "skorch": "sfit.models._skorch",
    "torch": "sfit.models._torch",
    "xgboost": "sfit.models._xgboost",
    "lightgbm": "sfit.models._lightgbm",
    "catboost": "sfit.models._catboost",
    "onnx": "sfit.models._onnx",
    "onnxruntime": "sfit.models._onnx",
    "sklearn": "sfit.models._sklearn",
}


def as_view(model: Any, loss: Any = "auto") -> ModelView:
    """View a model through its library's adapter, or as a plain function.

    Parameters
    ----------
    model : object
        A fitted model of any supported library, a callable ``rows -> predictions``, or a view.
    loss : str or callable, default="auto"
        The loss of the test; for a bare callable it decides between regression and classification.

    Returns
    -------
    ModelView
        The model's predictions and metadata, in the form that the test needs.

    Examples
    --------
    >>> from sfit.models import as_view
    >>> as_view(lambda rows: rows[:, 0]).task
    'regression'
    """
    scores = needs_scores(loss)
    if isinstance(model, FunctionView) and model.task == "classification":
        return replace(model, scores=scores)
    if isinstance(model, ModelView):
        return model
    if isinstance(model, type):
        raise ModelError(f"model is the class {model.__name__}; pass a fitted instance of it.")
    if isinstance(model, str | os.PathLike | bytes | bytearray):
        # A path or bytes can only be ONNX, whose library need not be loaded yet.
        return import_module(LIBRARIES["onnx"]).view(model, loss)
    for library, adapter in LIBRARIES.items():
        if sys.modules.get(library) is not None:
            view: ModelView | None = import_module(adapter).view(model, loss)
            if view is not None:
                return view
    for entry in entry_points(group="sfit.models"):
        if entry.name in sys.modules:
            view = entry.load()(model, loss)
            if view is not None:
                return view
    if callable(model):
        return FunctionView(task=task_of(loss) or "regression", function=model, scores=scores)
    raise ModelError(
        f"model must be a fitted model of a supported library or a callable rows -> predictions; "
        f"got {type(model).__name__}."
    )
