"""Fitted models of any library, behind one seam.

One file per library, each with a function ``view(model, loss)`` that returns a `ModelView`, or None
where the model is not one of its own. A library's file is imported only when the user has that
library loaded already. Third parties add theirs through the entry-point group ``sfit.models``: the
entry's name is the library's import name, its value such a function.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from sfit.exceptions import ModelError
from sfit.models._function import FunctionView, function_model
from sfit.models._network import task_of
from sfit.models._torch_model import torch_model
from sfit.models._view import Dense, ModelView, Trees

__all__ = ["Dense", "ModelView", "Trees", "as_view", "function_model", "torch_model"]

# In the order they are asked: wrappers before what they wrap.
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
    """Find the view of a model: its own, its library's, or that of a plain function.

    Parameters
    ----------
    model : object
        A fitted model of any supported library, a callable ``rows -> predictions``, or a view.
    loss : str or callable, default="auto"
        The loss of the test; for a bare callable it tells regression from classification.

    Returns
    -------
    ModelView
        What the test needs of the model.

    Examples
    --------
    >>> from sfit.models import as_view
    >>> as_view(lambda rows: rows[:, 0]).task
    'regression'
    """
    if isinstance(model, ModelView):
        return model
    if isinstance(model, type):
        raise ModelError(f"model is the class {model.__name__}; pass a fitted instance of it.")
    if isinstance(model, str | os.PathLike | bytes | bytearray):
        # A path or bytes can only be ONNX, whose library need not be loaded yet.
        return import_module(LIBRARIES["onnx"]).view(model, loss)
    for library, adapter in LIBRARIES.items():
        if sys.modules.get(library) is not None:
            found: ModelView | None = import_module(adapter).view(model, loss)
            if found is not None:
                return found
    for entry in entry_points(group="sfit.models"):
        if entry.name in sys.modules:
            found = entry.load()(model, loss)
            if found is not None:
                return found
    if callable(model):
        return FunctionView(task=task_of(loss) or "regression", function=model)
    raise ModelError(
        f"model must be a fitted model of a supported library or a callable rows -> predictions; "
        f"got {type(model).__name__}."
    )
