"""skorch nets: torch modules with a task, classes and a defined output."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from skorch import NeuralNet, NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from torch import nn

from sfit._array import Array
from sfit.exceptions import ModelError
from sfit.models._function import FunctionView
from sfit.models._network import task_of
from sfit.models._torch import TorchView, as_tensor, in_evaluation, needs_threads
from sfit.models._view import Dense, ModelView, Task

REMEDY = (
    "Let predict_proba of the net return probabilities: see its criterion and predict_nonlinearity."
)

# The supported nets, and their methods between rows and predictions.
NETS = (NeuralNetClassifier, NeuralNetBinaryClassifier, NeuralNetRegressor, NeuralNet)
PATH = ("evaluation_step", "forward", "forward_iter", "infer", "predict", "predict_proba")


@dataclass(frozen=True, kw_only=True)
class SkorchView(TorchView):
    """The module of a net, followed by the net's nonlinearity.

    The net itself is not called: its `predict_proba` collates rows one by one, draws from torch's
    global generator and leaves the module in evaluation mode.
    """

    nonlinearity: Callable[[torch.Tensor], torch.Tensor]
    flat: bool
    """Whether a single column becomes a vector, as for a binary classifier."""

    @property
    def structure(self) -> Dense | None:
        """The structure of the module, unless a custom nonlinearity follows it."""
        return None if self.output == "unknown" else super().structure

    def _finish(self, returned: Any) -> torch.Tensor:
        # skorch uses the first of several outputs.
        values = as_tensor(returned[0] if isinstance(returned, tuple) else returned)
        return self.nonlinearity(values.reshape(-1) if self.flat else values)


def view(model: Any, loss: Any) -> ModelView | None:
    """View a skorch net; None if it is not one."""
    if not isinstance(model, NeuralNet):
        return None
    if not model.initialized_:
        raise ModelError(f"model {type(model).__name__} is not fitted: fit it first.")
    task = _task(model, loss)
    classes = getattr(model, "classes_", None) if task == "classification" else None
    classes = None if classes is None else np.asarray(classes)
    base = next(net for net in NETS if isinstance(model, net))
    if any(getattr(type(model), name) is not getattr(base, name) for name in PATH):
        predict = partial(_predict, copy.deepcopy(model), task)
        return FunctionView(task=task, classes=classes, remedy=REMEDY, function=predict)
    module = in_evaluation(model.module_)
    return SkorchView(
        task=task,
        classes=classes,
        threads_only=needs_threads(module),
        remedy=REMEDY,
        module=module,
        output=_output(model, task),
        nonlinearity=model._get_predict_nonlinearity(),
        flat=isinstance(model, NeuralNetBinaryClassifier),
    )


def _predict(net: NeuralNet, task: Task, rows: Any) -> Array:
    """Predictions of a net with custom prediction methods."""
    predict = net.predict if task == "regression" else net.predict_proba
    values = np.asarray(predict(np.asarray(rows, dtype=np.float32)))
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _task(net: NeuralNet, loss: Any) -> Task:
    if isinstance(net, NeuralNetClassifier | NeuralNetBinaryClassifier):
        return "classification"
    if isinstance(net, NeuralNetRegressor):
        return "regression"
    return task_of(loss) or "regression"


def _output(net: NeuralNet, task: Task) -> str:
    """The kind of output of the module, by skorch's rule for the nonlinearity."""
    if net.predict_nonlinearity not in (None, "auto"):
        return "unknown"
    criterion = getattr(net.criterion_, "_orig_mod", net.criterion_)
    logits = isinstance(criterion, nn.CrossEntropyLoss | nn.BCEWithLogitsLoss)
    if net.predict_nonlinearity == "auto" and logits:
        return "logits"
    return "values" if task == "regression" else "probabilities"
