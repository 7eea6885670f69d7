"""Formats that can hold a program: read only if the user trusts the author of the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sfit.cli.model_files._libraries import library
from sfit.exceptions import ModelError


class Program(NamedTuple):
    """A format that can hold a program."""

    name: str
    read: Callable[[Path], Any]


def _pickle(path: Path) -> Any:
    joblib = library("joblib", "all")
    try:
        return joblib.load(path)
    except (AttributeError, ModuleNotFoundError) as error:
        raise ModelError(
            f"{str(path)!r} needs code that is missing ({error}): install the library, or define "
            "the class in an importable module and save the model again."
        ) from error


def _torch(path: Path) -> Any:
    torch = library("torch", "torch")
    try:
        model = torch.load(path, map_location="cpu", weights_only=False)
    except AttributeError as error:
        raise ModelError(
            f"{str(path)!r} needs code that is missing ({error}): export the model instead, with "
            "torch.export.save or to ONNX."
        ) from error
    if not isinstance(model, torch.nn.Module):
        raise ModelError(
            f"{str(path)!r} holds a {type(model).__name__}, not a module; weights alone are not a "
            "model: use torch.export.save, or ONNX."
        )
    return model


def _script(path: Path) -> Any:
    return library("torch", "torch").jit.load(str(path), map_location="cpu")


def _exported(path: Path) -> Callable[[Any], Any]:
    """A graph saved by torch.export, which can be called but has no training mode."""
    torch = library("torch", "torch")
    module = torch.export.load(path).module()
    tensors = (*module.parameters(), *module.buffers())
    double = any(tensor.dtype == torch.float64 for tensor in tensors)

    def predict(rows: Any) -> Any:
        values = np.asarray(rows, dtype=np.float64 if double else np.float32)
        with torch.no_grad():
            return module(torch.from_numpy(np.ascontiguousarray(values))).numpy()

    return predict


PROGRAMS = {
    "pickle": Program("a pickle (or joblib) file", _pickle),
    "torch": Program("a torch file, which holds a pickle", _torch),
    "script": Program("a TorchScript file", _script),
    "exported": Program("an exported torch program, which can hold pickles", _exported),
}
