"""The format of a model file, by its content; by its name only if the content is ambiguous.

Nothing is unpacked before a check of its size.
"""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path, PurePosixPath, PureWindowsPath

from sfit.exceptions import ModelError

FORMATS = (
    "skops (.skops), ONNX (.onnx), XGBoost (.json, .ubj), LightGBM (.txt), CatBoost (.cbm), Keras "
    "(.keras), and with --allow-pickle pickle, joblib and torch files (.pkl, .joblib, .pt, .pt2)"
)

PICKLES = (".pkl", ".pickle", ".joblib", ".jbl", ".dill", ".pt", ".pth", ".pt2")

# First bytes of the formats. Of these formats, only joblib compresses whole files.
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
"""Bytes that any archive may unpack to; beyond this, at most `MOST_RATIO` times its size."""
MOST_RATIO = 20


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
            f"{str(path)!r} is an HDF5 file, in which Keras cannot exclude programs: save the "
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
    raise ModelError(f"{str(path)!r} is not a model file that sfit reads: {FORMATS}.")


def _json_kind(path: Path, head: bytes) -> str:
    if b'"learner"' in head:
        return "xgboost"
    if b'"SFITResult"' in head or b'"PartitionedResult"' in head:
        raise ModelError(
            f"{str(path)!r} is a result of sfit, not a model: use sfit report {path.name}."
        )
    raise ModelError(
        f"{str(path)!r} is JSON, but not of XGBoost: save a CatBoost model as .cbm, any other "
        f"model in one of these formats: {FORMATS}."
    )


def _archive_kind(path: Path) -> str:
    """The format of a zip archive, after checks of its unpacked size and its paths."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise ModelError(f"{str(path)!r} is damaged ({error}): save the model again.") from error
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > most_unpacked(path):
        raise ModelError(
            f"{str(path)!r} would unpack to {unpacked / 2**30:,.1f} GB, more than {MOST_RATIO} "
            "times its size: no model is saved like that."
        )
    names = {entry.filename for entry in entries}
    for entry in entries:
        if _points_outside(entry):
            raise ModelError(
                f"{str(path)!r} holds an entry that points outside it, {entry.filename!r}: do not "
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
    raise ModelError(f"{str(path)!r} is an archive, but not a model that sfit reads: {FORMATS}.")


def most_unpacked(path: Path) -> int:
    """Bytes that a packed file may unpack to."""
    return max(MOST_UNPACKED, MOST_RATIO * path.stat().st_size)


def _points_outside(entry: zipfile.ZipInfo) -> bool:
    posix, windows = PurePosixPath(entry.filename), PureWindowsPath(entry.filename)
    outside = posix.is_absolute() or windows.anchor != "" or ".." in windows.parts
    return outside or stat.S_ISLNK(entry.external_attr >> 16)
