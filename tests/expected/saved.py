"""The saved models, ready to be tested."""

import os
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegression

from expected.data import NUMBERS

# Read when Keras is first imported.
os.environ.setdefault("KERAS_BACKEND", "torch")

FOLDER = Path(__file__).with_name("models")
CLASSES = {"label": ["no", "yes"], "kind": ["high", "low", "mid"]}


@cache
def linear(name: str, named: bool = True) -> Any:
    """A linear model ("value", "two") or a logistic one ("label", "kind")."""
    arrays = np.load(FOLDER / "linear.npz")
    model = LogisticRegression() if name in CLASSES else LinearRegression()
    model.coef_, model.intercept_ = arrays[f"{name}_coef"], arrays[f"{name}_intercept"]
    if named:
        model.feature_names_in_ = np.array(NUMBERS, dtype=object)
    model.n_features_in_ = len(NUMBERS)
    if name in CLASSES:
        model.classes_ = np.array(CLASSES[name])
    return model


@cache
def skops(name: str) -> Any:
    """A scikit-learn estimator, or one of LightGBM's."""
    import skops.io

    file = FOLDER / f"{name}.skops"
    # We wrote the files, and trust all that is in them.
    trusted = skops.io.get_untrusted_types(file=file)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Trying to unpickle estimator")
        return skops.io.load(file, trusted=trusted)


@cache
def lightgbm(name: str) -> Any:
    """A booster."""
    import lightgbm

    return lightgbm.Booster(model_file=FOLDER / f"lightgbm_{name}.txt")


@cache
def xgboost(name: str) -> Any:
    """An estimator, or a plain booster for "linear"."""
    import xgboost

    kinds = {"label": xgboost.XGBClassifier, "kind": xgboost.XGBClassifier}
    kinds["linear"] = xgboost.Booster
    model = kinds.get(name, xgboost.XGBRegressor)()
    [file] = FOLDER.glob(f"xgboost_{name}.*")
    model.load_model(file)
    return model


@cache
def catboost(name: str) -> Any:
    """An estimator."""
    import catboost

    kind = catboost.CatBoostClassifier if name in CLASSES else catboost.CatBoostRegressor
    return kind().load_model(str(FOLDER / f"catboost_{name}.cbm"))


def onnx(name: str) -> str:
    """A path: sfit opens it."""
    return str(FOLDER / f"onnx_{name}.onnx")


def weights(name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Weights and biases of each layer of a network: "value", "label" or "kind"."""
    arrays = np.load(FOLDER / f"network_{name}.npz")
    return [(arrays[f"weights{k}"], arrays[f"biases{k}"]) for k in range(len(arrays) // 2)]


def torch_chain(name: str, *ending: Any, dtype: str = "float64") -> Any:
    """The network as a `Sequential`; of classes it returns logits."""
    import torch

    layers: list[Any] = []
    for W, b in weights(name):
        layer = torch.nn.Linear(*W.shape).to(getattr(torch, dtype))
        with torch.no_grad():
            layer.weight.copy_(torch.from_numpy(W.T.copy()))
            layer.bias.copy_(torch.from_numpy(b))
        layers += [layer, torch.nn.Tanh() if name == "label" else torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1], *ending)


def skorch(name: str) -> Any:
    """A fitted net around the same network."""
    import skorch
    import torch

    kind, settings = {
        "value": (skorch.NeuralNetRegressor, {}),
        "label": (skorch.NeuralNetBinaryClassifier, {}),
        "kind": (
            skorch.NeuralNetClassifier,
            {"criterion": torch.nn.CrossEntropyLoss, "classes": CLASSES["kind"]},
        ),
    }[name]
    return kind(torch_chain(name), verbose=0, **settings).initialize()


def keras(name: str, dtype: str = "float32") -> Any:
    """The network in Keras, with a closing activation where it tells classes apart."""
    import keras

    inner = "tanh" if name == "label" else "relu"
    closing = {"value": None, "label": "sigmoid", "kind": "softmax"}[name]
    arrays = weights(name)
    dense = [
        keras.layers.Dense(
            W.shape[1], activation=closing if k == len(arrays) - 1 else inner, dtype=dtype
        )
        for k, (W, _) in enumerate(arrays)
    ]
    model = keras.Sequential([keras.Input((len(NUMBERS),), dtype=dtype), *dense])
    model.set_weights([part for pair in arrays for part in pair])
    return model
