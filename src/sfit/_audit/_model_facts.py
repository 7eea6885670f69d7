"""Which model was audited: its class, library, parameters and fingerprint, as text."""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from sfit._audit._records import ModelFacts, Pairs
from sfit._text import printable, shortened
from sfit.models import ModelView

MOST_PARAMETERS = 40
MOST_CHARACTERS = 120
"""Characters of a parameter's value."""

HELD = "function", "model", "module", "booster"
"""Attributes of a view that hold the user's model."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def model_facts(model: Any, view: ModelView, name: str | None = None) -> ModelFacts:
    """The class, library, parameters and fingerprint of a model.

    `model` is what the user passed, `view` the view of it, `name` the user's name for it.
    """
    if isinstance(model, ModelView):
        held = (getattr(model, attribute, None) for attribute in HELD)
        model = next((one for one in held if one is not None), model)
    kind = _kind(model)
    fingerprint = view.fingerprint()
    if isinstance(fingerprint, str):
        seen, unseen = fingerprint, ""
    elif fingerprint is None:
        seen, unseen = "", "The adapter of this model gives no fingerprint."
    else:
        seen, unseen = "", f"sfit cannot inspect {fingerprint.what}."
    return ModelFacts(
        name=kind if name is None else name,
        kind=kind,
        library=_library(model),
        task=view.task,
        classes=() if view.classes is None else tuple(map(str, view.classes)),
        parameters=_parameters(model),
        fingerprint=seen,
        unseen=unseen,
    )


def _is_function(model: Any) -> bool:
    return isinstance(
        model, FunctionType | BuiltinFunctionType | MethodType | functools.partial | np.ufunc
    )


def _is_file(model: Any) -> bool:
    """Whether the model is the path or the content of a file, which can only be ONNX."""
    return isinstance(model, str | os.PathLike | bytes | bytearray)


def _kind(model: Any) -> str:
    if _is_file(model):
        return "ONNX model"
    if isinstance(model, functools.partial):
        return _kind(model.func)
    if _is_function(model):
        return printable(getattr(model, "__qualname__", model.__name__))
    return printable(type(model).__name__)


def _library(model: Any) -> str:
    """The distribution of the model's class, or of the nearest base class that has one."""
    if _is_function(model):
        return ""
    modules = ["onnxruntime"] if _is_file(model) else [c.__module__ for c in type(model).__mro__]
    owners = packages_distributions()
    for module in modules:
        for owner in owners.get(module.partition(".")[0], ()):
            try:
                return f"{owner} {version(owner)}"
            except PackageNotFoundError:  # half removed
                continue
    return ""


def _parameters(model: Any) -> Pairs:
    """Names and values, as text; at most `MOST_PARAMETERS`, and then the number of the others."""
    pairs = [(printable(name), _shown(value)) for name, value in _named_values(model)]
    left = len(pairs) - MOST_PARAMETERS
    return (*pairs[:MOST_PARAMETERS], *([("...", f"{left} more")] if left > 0 else ()))


def _named_values(model: Any) -> Iterator[tuple[str, Any]]:
    """The parameters of a model of any library."""
    if _is_file(model):
        return
    if _is_function(model):
        yield "module", getattr(getattr(model, "func", model), "__module__", None)
        return
    yield from _size(model)
    if hasattr(model, "layers") and hasattr(model, "count_params"):
        # Before torch: with the backend torch, a Keras model is also a torch module.
        yield from ((layer.name, _configured(layer)) for layer in model.layers)
    elif hasattr(model, "named_modules"):
        yield from _torch_layers(model)
    elif hasattr(model, "steps") and hasattr(model, "get_params"):
        yield from model.steps
        last, estimator = model.steps[-1]
        yield from ((f"{last}__{name}", value) for name, value in _settings(estimator))
    elif hasattr(model, "get_params"):
        yield from _settings(model)
    elif hasattr(model, "save_config"):
        yield from _leaves(json.loads(model.save_config()).get("learner", {}))
    elif isinstance(getattr(model, "params", None), dict):
        yield from model.params.items()


def _size(model: Any) -> Iterator[tuple[str, Any]]:
    """The number of trees or weights of a fitted model, if its library counts them."""
    booster = getattr(model, "booster_", model)  # LightGBM
    if hasattr(model, "get_booster"):
        booster = model.get_booster()  # XGBoost
    if hasattr(booster, "num_trees"):
        yield "number of trees", booster.num_trees()
    elif hasattr(booster, "num_boosted_rounds"):
        yield "boosting rounds", booster.num_boosted_rounds()
    elif isinstance(getattr(model, "tree_count_", None), int):
        yield "number of trees", model.tree_count_
    if hasattr(model, "count_params"):
        yield "number of weights", model.count_params()
    elif hasattr(model, "named_modules"):
        yield "number of weights", sum(weights.numel() for weights in model.parameters())


def _settings(estimator: Any) -> list[tuple[str, Any]]:
    """Parameters of an estimator in scikit-learn's form; those that differ from a default first."""
    if not hasattr(estimator, "get_params"):
        return []
    defaults = inspect.signature(type(estimator)).parameters

    def is_default(pair: tuple[str, Any]) -> bool:
        name, value = pair
        return name in defaults and repr(defaults[name].default) == repr(value)

    return sorted(estimator.get_params(deep=False).items(), key=is_default)


def _torch_layers(module: Any) -> Iterator[tuple[str, Any]]:
    for name, layer in module.named_modules():
        if not any(layer.children()):
            yield name or "module", layer


def _configured(layer: Any) -> str:
    """A Keras layer, by its class and the settings that identify it."""
    config = layer.get_config()
    kept = {key: config[key] for key in ("units", "rate", "activation") if key in config}
    return f"{type(layer).__name__}({', '.join(f'{key}={kept[key]}' for key in kept)})"


def _leaves(config: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The texts in nested dictionaries: XGBoost's configuration."""
    for key, value in config.items():
        if isinstance(value, dict):
            yield from _leaves(value)
        elif isinstance(value, str):
            yield key, value


def _shown(value: Any) -> str:
    """A value on one line. Addresses in memory differ in each run, so they are left out."""
    try:
        text = value if isinstance(value, str) else repr(value)
    except Exception:  # any class may have a broken repr
        text = type(value).__name__
    return shortened(printable(" ".join(_ADDRESS.sub("", text).split())), MOST_CHARACTERS)
