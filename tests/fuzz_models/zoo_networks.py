"""Networks of torch, skorch, Keras and ONNX, and plain functions."""

from __future__ import annotations

import warnings
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd

import sfit
from fuzz_models.kinds import BOTH, CannotFitError, Kind, as_array, by_class
from fuzz_models.rows import Takes
from fuzz_models.zoo_sklearn import KINDS as SKLEARN


def _module(rng: np.random.Generator, X: Any, outputs: int, double: bool) -> Any:
    """Flat or deep, with every activation that a route knows; some residual or ending in ReLU."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(int(rng.integers(2**31)))
    nn = torch.nn
    units = int(rng.choice([2, 5, 16]))
    bends = [nn.ReLU, nn.ReLU, lambda: nn.LeakyReLU(0.1), nn.Tanh, nn.Sigmoid, nn.SiLU]
    bend = bends[int(rng.integers(len(bends)))]
    width = np.shape(X)[1]
    layers: list[Any] = [nn.BatchNorm1d(width)] if rng.uniform() < 0.3 else []
    layers += [nn.Linear(width, units, bias=bool(rng.uniform() < 0.9))]
    layers += [nn.BatchNorm1d(units)] if rng.uniform() < 0.3 else []
    layers.append(bend())
    if rng.uniform() < 0.5:
        middle = nn.Sequential(nn.Linear(units, units), bend(), nn.Dropout(0.5))
        layers.append(_residual(middle) if rng.uniform() < 0.3 else middle)
    layers.append(nn.Linear(units, outputs))
    if outputs == 1 and rng.uniform() < 0.15:
        layers.append(nn.ReLU())
    module = nn.Sequential(*layers)
    module = module.double() if double else module
    rows = torch.from_numpy(as_array(X)).to(torch.float64 if double else torch.float32)
    with torch.no_grad():
        first = next(layer for layer in layers if isinstance(layer, nn.Linear))
        if rng.uniform() < 0.4:
            # Powers of two, few of them: sums that are not rounded, beside inputs that are.
            first.weight.copy_(torch.sign(first.weight) * 2.0 ** torch.round(first.weight * 3))
            first.weight *= torch.rand_like(first.weight) < 0.5
        if isinstance(layers[0], nn.Linear) and first.bias is not None and rng.uniform() < 0.5:
            # As training would: what columns far from zero add is taken away again.
            first.bias -= (first.weight @ rows.mean(dim=0)).to(first.bias.dtype)
        for layer in layers:
            if isinstance(layer, nn.BatchNorm1d):
                layer.momentum = None
        module.train()(rows)
    return module.eval()


def _residual(inside: Any) -> Any:
    import torch

    class Residual(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inside = inside

        def forward(self, rows: Any) -> Any:
            return rows + self.inside(rows)

    return Residual()


class Torch:
    """A module beside what it returns: the naive loop asks the module itself."""

    def __init__(self, module: Any, classes: Any, double: bool) -> None:
        self.module, self.classes, self.double = module, classes, double

    def for_sfit(self) -> Any:
        if self.classes is None:
            return self.module
        return sfit.models.torch_model(self.module, "logits", classes=self.classes)


def torch(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    """Not trained: random weights use every column."""
    double = bool(rng.uniform() < 0.3)
    if task == "outputs":
        return Torch(_module(rng, X, 2, double), None, double)
    if task == "regression":
        return Torch(_module(rng, X, 1, double), None, double)
    classes = np.unique(target)
    single = len(classes) == 2 and rng.uniform() < 0.5
    return Torch(_module(rng, X, 1 if single else len(classes), double), classes, double)


def predict_torch(model: Torch, rows: Any) -> np.ndarray:
    import torch as library

    dtype = library.float64 if model.double else library.float32
    with library.no_grad():
        values = model.module(library.from_numpy(as_array(rows)).to(dtype))
        if model.classes is None:
            return values.numpy()
        if values.shape[1] == 1:
            logit = values[:, 0]
            values = library.stack([library.sigmoid(-logit), library.sigmoid(logit)], dim=1)
            return values.numpy()
        return library.softmax(values, dim=1).numpy()


def skorch(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    import skorch as library
    import torch

    settings = {"max_epochs": 1, "verbose": 0, "train_split": None, "lr": 1e-9}
    rows = as_array(X).astype(np.float32)
    if task == "regression":
        module = _module(rng, X, 1, False)
        model = library.NeuralNetRegressor(module, **settings)
        return model.fit(rows, target[:, None].astype(np.float32))
    module = _module(rng, X, len(np.unique(target)), False)
    model = library.NeuralNetClassifier(module, criterion=torch.nn.CrossEntropyLoss, **settings)
    return model.fit(rows, target.astype(np.int64))


def predict_skorch(model: Any, rows: Any) -> np.ndarray:
    numbers = as_array(rows).astype(np.float32)
    if hasattr(model, "classes_"):
        return np.asarray(model.predict_proba(numbers))
    return np.asarray(model.predict(numbers))


def keras(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    import keras as library

    library.utils.set_random_seed(int(rng.integers(1000)))
    layers = library.layers
    bend = str(rng.choice(["relu", "tanh", "sigmoid", "leaky_relu", "elu"]))
    chain = [library.Input((np.shape(X)[1],)), layers.Dense(6, activation=bend)]
    if rng.uniform() < 0.4:
        chain += [layers.BatchNormalization(), layers.Dropout(0.3), layers.Dense(4, bend)]
    outputs = {"regression": 1, "outputs": 2}.get(task, len(np.unique(target)))
    chain.append(layers.Dense(outputs, activation="softmax" if task == "classes" else None))
    return library.Sequential(chain)


def predict_keras(model: Any, rows: Any) -> np.ndarray:
    import keras as library
    import torch

    with torch.no_grad():
        returned = model(as_array(rows).astype(np.float32), training=False)
    return np.asarray(library.ops.convert_to_numpy(returned))


class Onnx:
    """The bytes of a graph, and a session of the naive loop's own."""

    def __init__(self, content: bytes, classify: bool) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.content, self.classify = content, classify
        self.session = onnxruntime.InferenceSession(content, options)

    def for_sfit(self) -> Any:
        return self.content


def onnx(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    import skl2onnx

    kind = str(rng.choice(["linear", "tree", "forest", "gradient", "perceptron"]))
    model = SKLEARN[kind].fit(rng, X, target, task)
    while task == "classes" and not hasattr(model, "predict_proba"):
        model = SKLEARN["linear"].fit(rng, X, target, task)
    options = {"zipmap": False} if task == "classes" else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        proto = skl2onnx.to_onnx(model, as_array(X)[:1].astype(np.float32), options=options)
    try:
        return Onnx(proto.SerializeToString(), task == "classes")
    except Exception as error:  # the runtime does not take every graph of the converter
        raise CannotFitError(str(error)) from error


def predict_onnx(model: Onnx, rows: Any) -> np.ndarray:
    [entry] = model.session.get_inputs()
    answers = model.session.run(None, {entry.name: as_array(rows).astype(np.float32)})
    return by_class(answers[-1]) if model.classify else np.asarray(answers[0])


def _column(rows: Any, name: str, position: int) -> Any:
    if hasattr(rows, "toarray"):
        return rows[:, [position]].toarray()[:, 0]
    if isinstance(rows, np.ndarray):
        return rows[:, position]
    return np.asarray(rows[name])


class Function:
    """An opaque function, row by row. Some look at more than ``==`` sees: type, sign of zero."""

    def __init__(self, rng: np.random.Generator, names: list[str], n_classes: int, exotic: bool):
        self.names, self.n_classes, self.exotic = names, n_classes, exotic
        self.weights = rng.normal(size=len(names))

    def __call__(self, rows: Any) -> np.ndarray:
        total = 0.25
        last: Any = 1.0
        for position, name in enumerate(self.names):
            values = self._numbers(_column(rows, name, position))
            total = total + self.weights[position] * values + 0.5 * values * last
            last = values
        values = np.round(np.asarray(total), 3)
        if not self.n_classes:
            return values
        scores = np.exp(np.outer(values, np.linspace(-1, 1, self.n_classes)))
        return scores / scores.sum(axis=1, keepdims=True)

    def _numbers(self, column: Any) -> np.ndarray:
        if column.dtype == object or column.dtype.kind not in "biuf":
            return np.array([self._of_object(value) for value in column])
        values = column.astype(float)
        if self.exotic:
            values = np.where(values == 0, np.copysign(0.7, values), values)
        values = np.nan_to_num(values, nan=0.3, posinf=2.0, neginf=-2.0)
        return np.arctan(values) if self.exotic else np.clip(values, -3, 3)

    def _of_object(self, value: Any) -> float:
        if self.exotic:
            return crc32(f"{type(value).__name__} {value!r}".encode()) % 7 / 3
        return -1.0 if pd.isna(value) else float(value)

    def for_sfit(self) -> Any:
        if not self.n_classes:
            return self
        return sfit.models.function_model(self, "classification", list(range(self.n_classes)))


def function(rng: np.random.Generator, X: Any, target: np.ndarray, task: str) -> Any:
    names = [f"x{j}" for j in range(np.shape(X)[1])]
    n_classes = len(np.unique(target)) if task == "classes" else 0
    return Function(rng, names, n_classes, bool(rng.uniform() < 0.5))


OFFSETS = Takes(offsets=True)

KINDS = {
    "torch": Kind(
        torch,
        predict_torch,
        False,
        ("torch",),
        tasks=(*BOTH, "outputs"),
        fitted_on="array",
        takes=OFFSETS,
    ),
    "skorch": Kind(
        skorch, predict_skorch, False, ("torch", "skorch"), fitted_on="array", takes=OFFSETS
    ),
    "keras": Kind(
        keras,
        predict_keras,
        False,
        ("torch", "keras"),
        tasks=(*BOTH, "outputs"),
        fitted_on="array",
        takes=OFFSETS,
    ),
    "onnx": Kind(onnx, predict_onnx, False, ("onnx", "onnxruntime", "skl2onnx"), fitted_on="array"),
    "function": Kind(
        function,
        lambda model, rows: model(rows),
        True,
        takes=Takes(missing=True, infinite=True, huge=True, objects=True),
        fitted_on="frame",
    ),
}
