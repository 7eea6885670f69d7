"""Formats that hold data: their library reads them without running code from the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sfit.cli.model_files._formats import most_unpacked
from sfit.cli.model_files._keras_archive import check_archive
from sfit.cli.model_files._libraries import library
from sfit.cli.model_files._lightgbm_text import check_parameters
from sfit.cli.model_files._skops import read_skops


class DataFormat(NamedTuple):
    """A format that holds data, with the module that reads it and the extra that installs it."""

    name: str
    module: str
    extra: str
    read: Callable[[Path], Any] | None = None


def _onnx(path: Path) -> Any:
    # By path if it has the proper suffix: large weights are stored in files beside it.
    return path if path.suffix.lower() == ".onnx" else path.read_bytes()


def _xgboost(path: Path) -> Any:
    xgboost = library("xgboost", "xgboost")
    booster = xgboost.Booster()
    booster.load_model(bytearray(path.read_bytes()))
    # Written by the scikit-learn interface, which predicts up to the best round of early stopping.
    about = json.loads(booster.attr("scikit_learn") or "{}")
    owner = {"classifier": xgboost.XGBClassifier, "regressor": xgboost.XGBRegressor}.get(
        about.get("_estimator_type")
    )
    if owner is None:
        return booster
    model = owner()
    model.load_model(bytearray(path.read_bytes()))
    return model


def _lightgbm(path: Path) -> Any:
    lightgbm = library("lightgbm", "lightgbm")
    check_parameters(path.read_text(encoding="utf-8", errors="replace"))
    return lightgbm.Booster(model_file=path)


def _catboost(path: Path) -> Any:
    catboost = library("catboost", "catboost")
    classes = catboost.CatBoost().load_model(str(path)).classes_
    # The base class would return the raw scores of a Poisson model, not counts.
    owner = catboost.CatBoostClassifier if len(classes) else catboost.CatBoostRegressor
    return owner().load_model(str(path))


def _keras(path: Path) -> Any:
    check_archive(path, most_unpacked(path))
    return library("keras", "keras").saving.load_model(path, compile=False, safe_mode=True)


DATA_FORMATS = {
    "catboost": DataFormat("a CatBoost model", "catboost", "catboost", _catboost),
    "keras": DataFormat("a Keras model", "keras", "keras", _keras),
    "lightgbm": DataFormat("a LightGBM model", "lightgbm", "lightgbm", _lightgbm),
    "onnx": DataFormat("an ONNX model", "", "onnx", _onnx),
    "skops": DataFormat("a skops file", "skops.io", "skops"),
    "xgboost": DataFormat("an XGBoost model", "xgboost", "xgboost", _xgboost),
}


def find_library(kind: str) -> None:
    """Import the library of a format, or say how to install it."""
    module, extra = DATA_FORMATS[kind].module, DATA_FORMATS[kind].extra
    if module:  # the view of an ONNX model imports its library
        library(module, extra)


def read(kind: str, path: Path, trust: Sequence[str]) -> Any:
    """The model in a file."""
    reader = DATA_FORMATS[kind].read
    return read_skops(path, trust) if reader is None else reader(path)
