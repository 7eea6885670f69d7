"""Model files as model objects, safe by default.

A file is known by its content; its name decides only where the content says nothing. Formats that
hold data are read by their own library. Those that hold a program (pickles) are refused unless the
user allows them. Nothing is unpacked before its size has been looked at.
"""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from sfit.exceptions import MissingDependencyError, ModelError, SFITError
from sfit.models._keras_archive import check_archive

FORMATS = (
    "skops (.skops), ONNX (.onnx), XGBoost (.json, .ubj), LightGBM (.txt), CatBoost (.cbm), Keras "
    "(.keras), and with --allow-pickle pickle, joblib and torch files (.pkl, .joblib, .pt, .pt2)"
)

PICKLES = (".pkl", ".pickle", ".joblib", ".jbl", ".dill", ".pt", ".pth", ".pt2")

# How files begin. A joblib file may be compressed, and no other format here is.
MAGIC = {
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"CBM1": "catboost",
    b"tree\n": "lightgbm",
    b"tree\r\n": "lightgbm",
    b"{L": "xgboost",
    b"{l": "xgboost",
    b"{i": "xgboost",
    b"\x89HDF": "hdf5",
    b"\x1f\x8b": "pickle",
    b"BZh": "pickle",
    b"\xfd7zXZ": "pickle",
    b"]\x00\x00": "pickle",
    b"x\x01": "pickle",
    b"x\x5e": "pickle",
    b"x\x9c": "pickle",
    b"x\xda": "pickle",
    b"\x04\x22\x4d\x18": "pickle",
    **{bytes([0x80, protocol]): "pickle" for protocol in range(2, 6)},
}

MOST_UNPACKED = 2**30
"""Bytes that an archive may always unpack to; beyond, only `MOST_RATIO` times its own size."""
MOST_RATIO = 20

# What skops does not trust by itself, and we do: classes (never functions, which could be called
# with any argument) that hold a model's state. scipy.stats is not among them: its distributions run
# text that they are given.
OUR_TYPES = (
    "catboost.core.CatBoost",
    "collections.OrderedDict",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.",
    "scipy.interpolate.",
    "scipy.sparse.",
    "sklearn.",
    "xgboost.core.Booster",
    "xgboost.sklearn.",
)
NOT_OURS = ("sklearn.datasets.", "sklearn.externals.", "sklearn.utils._testing.")


def load_model(path: str | Path, *, trust: Sequence[str] = (), allow_pickle: bool = False) -> Any:
    """Read a model file of any supported format.

    Parameters
    ----------
    path : str or Path
        The file.
    trust : sequence of str
        Types in a skops file that are loaded although they are not on sfit's list.
    allow_pickle : bool, default=False
        Whether files are read that can run any program on loading.

    Returns
    -------
    object
        A model that `sfit.feature_significance` takes.
    """
    path = Path(path)
    if path.is_dir():
        raise ModelError(f"{str(path)!r} is a folder; pass a model file: {FORMATS}.")
    if not path.is_file():
        raise ModelError(f"there is no model file {str(path)!r}.")
    kind = recognise(path)
    if kind in PROGRAMS and not allow_pickle:
        raise ModelError(
            f"{str(path)!r} is {PROGRAMS[kind]}: such a file can run any program on loading. If "
            "you trust whoever wrote it, add --allow-pickle; or save the model as .skops or .onnx."
        )
    try:
        return _skops(path, trust) if kind == "skops" else READERS[kind](path)
    except SFITError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ModelError(
            f"{str(path)!r} cannot be read as {NAMES[kind]}, or is damaged ({reason}): save the "
            "model again."
        ) from error


def recognise(path: Path) -> str:
    """The format of a file, by its content."""
    with path.open("rb") as file:
        head = file.read(4_096)
    if not head:
        raise ModelError(f"{str(path)!r} is empty: save the model again.")
    suffix = path.suffix.lower()
    kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
    if kind == "zip":
        return _archive_kind(path)
    if kind == "pickle" and suffix in (".pt", ".pth"):
        return "torch"
    if kind == "hdf5":
        raise ModelError(
            f"{str(path)!r} is an HDF5 file, of which Keras cannot keep programs out: save the "
            "model again with model.save('model.keras')."
        )
    if kind is not None:
        return kind
    if head.lstrip().startswith(b"{"):
        return _json_kind(path, head)
    if suffix == ".onnx" or head.startswith(b"\x08"):
        return "onnx"
    if suffix in PICKLES:
        return "pickle"
    raise ModelError(f"{str(path)!r} is not a model file that sfit knows: {FORMATS}.")


def _json_kind(path: Path, head: bytes) -> str:
    if b'"learner"' in head:
        return "xgboost"
    if b'"SFITResult"' in head or b'"PartitionedResult"' in head:
        raise ModelError(
            f"{str(path)!r} is a result of sfit, not a model: see sfit report {path.name}."
        )
    raise ModelError(
        f"{str(path)!r} is JSON, but not of XGBoost: save a CatBoost model as .cbm, any other in "
        f"one of these formats: {FORMATS}."
    )


def _archive_kind(path: Path) -> str:
    """The format of a zip archive, after a look at what it would unpack to and where."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ModelError(f"{str(path)!r} is damaged ({error}): save the model again.") from error
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > most_unpacked(path):
        raise ModelError(
            f"{str(path)!r} would unpack to {unpacked / 2**30:,.1f} GB, {MOST_RATIO} times its "
            "size and more: no model is saved like that."
        )
    names = {entry.filename for entry in entries}
    for entry in entries:
        if _leads_outside(entry):
            raise ModelError(
                f"{str(path)!r} holds an entry that leads out of it, {entry.filename!r}: do not "
                "trust this file."
            )
    if "schema.json" in names:
        return "skops"
    if {"config.json", "metadata.json"} <= names:
        return "keras"
    last = {name.rpartition("/")[2] for name in names}
    if "archive_format" in last:
        return "exported"
    if "data.pkl" in last:
        return "script" if any("/code/" in name for name in names) else "torch"
    raise ModelError(f"{str(path)!r} is an archive, but not of a model that sfit knows: {FORMATS}.")


def most_unpacked(path: Path) -> int:
    """Bytes that a packed file may unpack to."""
    return max(MOST_UNPACKED, MOST_RATIO * path.stat().st_size)


def _leads_outside(entry: zipfile.ZipInfo) -> bool:
    posix, windows = PurePosixPath(entry.filename), PureWindowsPath(entry.filename)
    outside = posix.is_absolute() or windows.anchor != "" or ".." in windows.parts
    return outside or stat.S_ISLNK(entry.external_attr >> 16)


def _library(module: str, extra: str) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f'this model file needs {extra} ({error}): pip install "sfit[{extra}]".'
        ) from error


# --- formats that hold data ---------------------------------------------------------------


def _skops(path: Path, trust: Sequence[str]) -> Any:
    skops = _library("skops.io", "skops")
    found = skops.get_untrusted_types(file=path)
    refused = [name for name in found if name not in trust and not _is_ours(name)]
    if refused:
        flags = " ".join(f"--trust {name}" for name in refused)
        raise ModelError(
            f"{str(path)!r} holds types that are not on sfit's list, and loading them runs their "
            f"code: {', '.join(refused)}. If you trust them, add {flags}"
        )
    return skops.load(path, trusted=found)


def _is_ours(name: str) -> bool:
    """Whether a type in a skops file is a class of a library that we take models from."""
    if not name.startswith(OUR_TYPES) or name.startswith(NOT_OURS):
        return False
    module, _, attribute = name.rpartition(".")
    try:
        return isinstance(getattr(import_module(module), attribute, None), type)
    except ImportError:
        return False


def _onnx(path: Path) -> Any:
    # By its path, where it has its proper name: large weights lie in files beside it.
    return path if path.suffix.lower() == ".onnx" else path.read_bytes()


def _xgboost(path: Path) -> Any:
    xgboost = _library("xgboost", "xgboost")
    _rehearse("xgboost", path)
    booster = xgboost.Booster()
    booster.load_model(bytearray(path.read_bytes()))
    # Written by the scikit-learn interface, which stops predicting where training stopped early.
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
    lightgbm = _library("lightgbm", "lightgbm")
    _check_parameters(path.read_text(encoding="utf-8", errors="replace"))
    _rehearse("lightgbm", path)
    return lightgbm.Booster(model_file=path)


def _check_parameters(text: str) -> None:
    """LightGBM looks behind the colon of every parameter, also where there is none.

    What it finds there is chance: it may crash now, or only the next time.
    """
    for section in text.split("\nparameters:")[1:]:
        for line in section.partition("\nend of parameters")[0].split("\n"):
            if line and not re.fullmatch(r"\[\w+: .*\]", line):
                raise ValueError(f"a line of its parameters is damaged: {line[:60]!r}")


def _catboost(path: Path) -> Any:
    catboost = _library("catboost", "catboost")
    _rehearse("catboost", path)
    classes = catboost.CatBoost().load_model(str(path)).classes_
    # The base class would not turn the scores of a Poisson model into counts.
    owner = catboost.CatBoostClassifier if len(classes) else catboost.CatBoostRegressor
    return owner().load_model(str(path))


def _rehearse(library: str, path: Path) -> None:
    """Let another process read the file first: a damaged one may crash the library."""
    size = path.stat().st_size
    command = [sys.executable, "-P", str(Path(__file__).with_name("_rehearsal.py"))]
    try:
        ended = subprocess.run(  # noqa: S603  (our own script)
            [*command, library, str(path.resolve())],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=60 + size / 2**20,
        )
    except subprocess.TimeoutExpired as error:
        raise ModelError(f"{library} does not come to an end with {str(path)!r}.") from error
    if ended.returncode:
        # Without a traceback Python had no say in how it ended.
        _, raised, traceback = ended.stderr.rpartition("Traceback (most recent call last):")
        own = (line for line in traceback.splitlines() if line and not line.startswith(" "))
        raise ValueError(next(own, "no reason given") if raised else f"{library} crashes on it")


def _keras(path: Path) -> Any:
    keras = _library("keras", "keras")
    check_archive(path, most_unpacked(path))
    return keras.saving.load_model(path, compile=False, safe_mode=True)


# --- formats that can hold a program ------------------------------------------------------


def _pickle(path: Path) -> Any:
    joblib = _library("joblib", "all")
    try:
        return joblib.load(path)
    except (AttributeError, ModuleNotFoundError) as error:
        raise ModelError(
            f"{str(path)!r} needs code that is not here ({error}): install the library, or define "
            "the class in a module that can be imported, and save the model again."
        ) from error


def _torch(path: Path) -> Any:
    torch = _library("torch", "torch")
    try:
        model = torch.load(path, map_location="cpu", weights_only=False)
    except AttributeError as error:
        raise ModelError(
            f"{str(path)!r} needs code that is not here ({error}): export the model instead, with "
            "torch.export.save or to ONNX."
        ) from error
    if not isinstance(model, torch.nn.Module):
        raise ModelError(
            f"{str(path)!r} holds a {type(model).__name__}, not a module; weights alone are not a "
            "model: use torch.export.save, or ONNX."
        )
    return model


def _script(path: Path) -> Any:
    return _library("torch", "torch").jit.load(str(path), map_location="cpu")


def _exported(path: Path) -> Callable[[Any], Any]:
    """What torch.export saved: a graph, which can be called but has no modes."""
    torch = _library("torch", "torch")
    module = torch.export.load(path).module()
    tensors = (*module.parameters(), *module.buffers())
    double = any(tensor.dtype == torch.float64 for tensor in tensors)

    def predict(rows: Any) -> Any:
        values = np.asarray(rows, dtype=np.float64 if double else np.float32)
        with torch.no_grad():
            return module(torch.from_numpy(np.ascontiguousarray(values))).numpy()

    return predict


READERS: dict[str, Callable[[Path], Any]] = {
    "catboost": _catboost,
    "exported": _exported,
    "keras": _keras,
    "lightgbm": _lightgbm,
    "onnx": _onnx,
    "pickle": _pickle,
    "script": _script,
    "torch": _torch,
    "xgboost": _xgboost,
}

PROGRAMS = {
    "pickle": "a pickle (or joblib) file",
    "torch": "a torch file, which holds a pickle",
    "script": "a TorchScript file",
    "exported": "an exported torch program, which can hold pickles",
}

NAMES = {
    **PROGRAMS,
    "catboost": "a CatBoost model",
    "keras": "a Keras model",
    "lightgbm": "a LightGBM model",
    "onnx": "an ONNX model",
    "skops": "a skops file",
    "xgboost": "an XGBoost model",
}
