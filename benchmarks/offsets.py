"""Counts along the fast routes of networks beside `fast=False`, for inputs far from zero.

    make offsets                            # writes benchmarks/OFFSETS.md, in some minutes
    python benchmarks/offsets.py --rows 20000 --page build/OFFSETS.md

Every column is offset + z with z standard normal. A network is trained on z and then moved: its
first layer takes the offset off again, as a network trained on such columns must.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "torch")

import numpy as np
import torch
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import nn

import sfit

FEATURES, HIDDEN, TRAIN_ROWS = 8, (32, 16), 20_000
OFFSETS = (0.0, 1.0, 1e2, 1e4, 1e6)
BETAS = (0.0, 0.01)
HERE = Path(__file__).parent


def draw(n: int, seed: int) -> tuple[Any, Any]:
    """Standard normal columns; the first four carry signal, the last four are noise."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, FEATURES))
    signal = Z[:, 0] + Z[:, 1] * Z[:, 2] + np.sin(2 * Z[:, 3])
    return Z, signal + 0.5 * rng.normal(size=n)


def train(*, norm: str = "", dtype: torch.dtype = torch.float32) -> nn.Sequential:
    """A network in torch, trained on z; `norm`: where batch normalisation stands."""
    torch.manual_seed(0)
    layers: list[nn.Module] = [nn.BatchNorm1d(FEATURES)] if norm == "first" else []
    before = FEATURES
    for units in HIDDEN:
        layers += [nn.Linear(before, units), *([nn.BatchNorm1d(units)] if norm == "inside" else [])]
        layers.append(nn.ReLU())
        before = units
    module = nn.Sequential(*layers, nn.Linear(before, 1)).to(dtype)
    Z, y = draw(TRAIN_ROWS, seed=0)
    rows, target = torch.tensor(Z, dtype=dtype), torch.tensor(y, dtype=dtype)[:, None]
    optimizer = torch.optim.Adam(module.parameters(), lr=3e-3)
    for _ in range(3):
        for start in range(0, TRAIN_ROWS, 256):
            optimizer.zero_grad()
            some = slice(start, start + 256)
            nn.functional.mse_loss(module(rows[some]), target[some]).backward()
            optimizer.step()
    return module.eval()


def moved(module: nn.Sequential, offset: float) -> nn.Sequential:
    """The network for columns that are further from zero, as exact as its type allows."""
    first: Any = module[0]
    with torch.no_grad():
        if isinstance(first, nn.BatchNorm1d):
            first.running_mean += offset  # type: ignore[operator]
        else:
            shift = offset * first.weight.double().sum(dim=1)
            first.bias.copy_(first.bias.double() - shift)
    return module


def constructed(offset: float) -> nn.Sequential:
    """The network of issue 18: its effect is a small part of a large prediction."""
    module = nn.Sequential(nn.Linear(FEATURES, 1), nn.ReLU(), nn.Linear(1, 1))
    with torch.no_grad():
        module[0].weight[:] = torch.arange(FEATURES) / FEATURES
        module[0].bias[:] = 8 - offset * float(module[0].weight.sum())
        module[2].weight[:], module[2].bias[:] = 0.02, 100.0
    return module


def in_keras(offset: float) -> Any:
    """A Normalization layer that takes the offset off, and the trained layers behind it."""
    import keras

    module = train()
    linear = [layer for layer in module if isinstance(layer, nn.Linear)]
    scaled = keras.layers.Normalization(mean=[offset] * FEATURES, variance=[1.0] * FEATURES)
    dense = [keras.layers.Dense(units, activation="relu") for units in HIDDEN]
    model = keras.Sequential([keras.Input((FEATURES,)), scaled, *dense, keras.layers.Dense(1)])
    for layer, own in zip(model.layers[1:], linear, strict=True):
        layer.set_weights([own.weight.detach().numpy().T, own.bias.detach().numpy()])
    return model


def in_skorch(offset: float) -> Any:
    from skorch import NeuralNetRegressor

    return NeuralNetRegressor(moved(train(), offset)).initialize()


def in_onnx(offset: float) -> Any:
    from onnx import TensorProto, helper, numpy_helper

    linear = [layer for layer in moved(train(), offset) if isinstance(layer, nn.Linear)]
    nodes, constants, name = [], [], "rows"
    for k, layer in enumerate(linear):
        arrays = (layer.weight.detach().numpy(), layer.bias.detach().numpy())
        names = [f"w{k}", f"b{k}"]
        constants += [numpy_helper.from_array(a, n) for a, n in zip(arrays, names, strict=True)]
        nodes.append(helper.make_node("Gemm", [name, *names], [f"z{k}"], transB=1))
        name = f"z{k}"
        if layer is not linear[-1]:
            nodes.append(helper.make_node("Relu", [name], [f"a{k}"]))
            name = f"a{k}"
    ends = [
        helper.make_tensor_value_info(end, TensorProto.FLOAT, [None, width])
        for end, width in (("rows", FEATURES), (name, 1))
    ]
    graph = helper.make_graph(nodes, "network", ends[:1], ends[1:], constants)
    opset = [helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opset, ir_version=9)


def in_sklearn(offset: float) -> Any:
    Z, y = draw(TRAIN_ROWS, seed=0)
    model = MLPRegressor(hidden_layer_sizes=HIDDEN, max_iter=5, random_state=0).fit(Z, y)
    model.intercepts_[0] = model.intercepts_[0] - offset * model.coefs_[0].sum(axis=0)
    return model


def in_pipeline(offset: float) -> Any:
    Z, y = draw(TRAIN_ROWS, seed=0)
    network = MLPRegressor(hidden_layer_sizes=HIDDEN, max_iter=5, random_state=0)
    return make_pipeline(StandardScaler(), network).fit(Z + offset, y)


NETWORKS: dict[str, Callable[[float], Any]] = {
    "torch, constructed": constructed,
    "torch": lambda offset: moved(train(), offset),
    "torch, float64": lambda offset: moved(train(dtype=torch.float64), offset),
    "torch, BatchNorm first": lambda offset: moved(train(norm="first"), offset),
    "torch, BatchNorm inside": lambda offset: moved(train(norm="inside"), offset),
    "Keras, Normalization first": in_keras,
    "skorch": in_skorch,
    "ONNX": in_onnx,
    "scikit-learn MLP": in_sklearn,
    "StandardScaler and MLP": in_pipeline,
}


def compare(model: Any, X: Any, y: Any) -> tuple[int, str]:
    """The largest difference of a count, over features and betas, and the route that was taken."""
    differences, routes = [0], set()
    for beta in BETAS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fast, slow = (
                sfit.feature_significance(model, X, y, beta=beta, fast=fast)
                for fast in (True, False)
            )
        routes.add(fast.run["stages"][0]["route"])
        differences += [
            abs(a.n_positive - b.n_positive) for a, b in zip(fast.tests, slow.tests, strict=True)
        ]
    return max(differences), ", ".join(sorted(routes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--page", type=Path, default=HERE / "OFFSETS.md")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    Z, y = draw(given.rows, seed=1)
    lines = [
        "# Networks whose inputs are far from zero",
        "",
        f"`make offsets`: the largest difference of a count between the fast route and `fast=False`, over {FEATURES}",
        f"features and beta = {' and '.join(map(str, BETAS))}, on {given.rows:,} rows, and the route that was taken at first order. A column is",
        'offset + z with z standard normal. "direct": the route was given up, and the model was asked for every row;',
        '"polyline and direct": it was given up for some of the features.',
        "",
        "| network | " + " | ".join(f"{offset:g} sd" for offset in OFFSETS) + " |",
        "| --- |" + " --- |" * len(OFFSETS),
    ]
    for name, make in NETWORKS.items():
        if given.only not in name:
            continue
        cells = []
        for offset in OFFSETS:
            scale = 0.02 if name.endswith("constructed") else 1.0
            target = 100.16 + scale * 0.3 * y if name.endswith("constructed") else y
            found, route = compare(make(offset), Z + offset, target)
            cells.append(f"{found}, {route}")
            print(name, offset, cells[-1], flush=True)
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    given.page.parent.mkdir(parents=True, exist_ok=True)
    given.page.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
