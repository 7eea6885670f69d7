"""A small model of each format, saved to a file, with the rows that it is tested on.

`save` gives the file and what Python would be handed for the same test: the model,
and the options that the command line needs beyond MODEL, DATA and --target.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sfit.models import as_view

NEEDS = {
    "skops": ("skops",),
    "onnx": ("onnx", "onnxruntime", "skl2onnx"),
    "json": ("xgboost",),
    "ubj": ("xgboost",),
    "txt": ("lightgbm",),
    "cbm": ("catboost",),
    "keras": ("keras", "torch"),
    "joblib": (),
    "pt": ("torch",),
    "pt2": ("torch",),
}


class Saved(NamedTuple):
    file: Path
    model: Any
    target: str
    options: tuple[str, ...] = ()


def rows(n: int = 600) -> pd.DataFrame:
    """Three features, of which `a` matters most and `c` not at all; a label, a value, a part."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    score = 3 * X[:, 0] + X[:, 1]
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["label"] = np.where(score + rng.logistic(size=n) > 0, "yes", "no")
    table["value"] = (score + rng.normal(scale=0.1, size=n)).round(6)
    table["part"] = np.where(rng.uniform(size=n) < 0.5, "east", "west")
    return table


def missing(name: str) -> list[str]:
    """The libraries of a format that are not installed."""
    return [library for library in NEEDS[name] if find_spec(library) is None]


def save(name: str, folder: Path) -> Saved:
    """Fit and save the model of one format."""
    data = rows()
    X, label, value = data[["a", "b", "c"]], data["label"], data["value"]
    file = folder / f"model.{name}"
    number = (label == "yes").astype(int)
    if name == "skops":
        import skops.io

        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, label)
        skops.io.dump(model, file)
        return Saved(file, model, "label")
    if name == "joblib":
        import joblib

        model = LogisticRegression().fit(X, label)
        joblib.dump(model, file)
        return Saved(file, model, "label", ("--allow-pickle",))
    if name == "onnx":
        import skl2onnx

        model = LogisticRegression().fit(X.to_numpy(), label)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            proto = skl2onnx.to_onnx(model, X.to_numpy(np.float32)[:1], options={"zipmap": False})
        file.write_bytes(proto.SerializeToString())
        return Saved(file, proto, "label", ("--features", "a,b,c"))
    if name == "json":
        import xgboost

        # Stops early: the file holds more trees than the model predicts with.
        model = xgboost.XGBClassifier(n_estimators=40, max_depth=2, early_stopping_rounds=2)
        model.fit(X[:100], number[:100], eval_set=[(X[100:200], number[100:200])], verbose=False)
        model.save_model(file)
        named = replace(as_view(model), classes=np.array(["no", "yes"]))
        return Saved(file, named, "label", ("--classes", "no,yes"))
    if name == "ubj":
        import xgboost

        model = xgboost.XGBRegressor(n_estimators=8, max_depth=2).fit(X, value)
        model.get_booster().save_model(file)
        return Saved(file, model.get_booster(), "value")
    if name == "txt":
        import lightgbm

        model = lightgbm.LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1).fit(X, label)
        model.booster_.save_model(file)
        return Saved(file, model, "label", ("--classes", "no,yes"))
    if name == "cbm":
        import catboost

        model = catboost.CatBoostClassifier(iterations=8, verbose=0, allow_writing_files=False)
        model.fit(X, label).save_model(str(file))
        return Saved(file, model, "label")
    if name == "keras":
        import keras

        keras.utils.set_random_seed(0)
        layers = [keras.layers.Dense(4, activation="relu"), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((3,)), *layers, keras.layers.Activation("sigmoid")])
        model.save(file)
        return Saved(file, model, "label", ("--features", "a,b,c"))
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 1))
    module = torch.nn.Sequential(*model, torch.nn.Flatten(0)).eval()
    options = ("--features", "a,b,c", "--allow-pickle")
    if name == "pt":
        torch.save(module, file)
        return Saved(file, module, "value", options)
    batch = torch.export.Dim("batch")
    program = torch.export.export(module, (torch.zeros(2, 3),), dynamic_shapes=({0: batch},))
    torch.export.save(program, file)
    return Saved(file, module, "value", options)
