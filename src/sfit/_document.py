"""Results as JSON documents: the part `result` is identical, byte for byte, for equal runs.

A checksum over the content detects a changed digit.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from hashlib import blake2b
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sfit.exceptions import ArgumentError, DataError

SCHEMA_VERSION = 3

Record = TypeVar("Record")


def write(kind: str, content: dict[str, Any], run: dict[str, Any], path: str | Path | None) -> str:
    """The document of a result, as text."""
    document = {"schema_version": SCHEMA_VERSION, "kind": kind, "result": content, "run": run}
    return save(json.dumps(sealed(storable(document)), indent=1, allow_nan=False), path)


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document with the checksum of its values; their layout does not count."""
    content = {name: value for name, value in document.items() if name != "checksum"}
    written = json.dumps(content, sort_keys=True).encode()
    return {**content, "checksum": blake2b(written, digest_size=16).hexdigest()}


def save(text: str, path: str | Path | None) -> str:
    """Return the text; write it to `path` too, unless that is None."""
    if path is not None:
        with _blame_path(path):
            Path(path).write_text(text + "\n", encoding="utf-8")
    return text


def save_bytes(content: bytes, path: str | Path) -> None:
    """Write a file that is not text."""
    with _blame_path(path):
        Path(path).write_bytes(content)


def check_path(path: str | Path) -> None:
    """Refuse a path that cannot be written, before the work begins."""
    with _blame_path(path):
        if Path(path).is_dir():
            raise IsADirectoryError("it is a folder")
        if not Path(path).parent.is_dir():
            raise FileNotFoundError("there is no such folder")


@contextmanager
def _blame_path(path: Any) -> Iterator[None]:
    try:
        yield
    except (OSError, TypeError, ValueError) as error:
        raise ArgumentError(
            f"path {path!r} cannot be written ({error}): name a file in a folder that exists."
        ) from error


def read(source: str | Path, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts `result` and `run` of a document, from a file or from text."""
    if not isinstance(source, str | PathLike):
        raise DataError(f"expected a path, or JSON written by to_json; got {source!r}.")
    text = str(source)
    try:
        if isinstance(source, PathLike) or not text.lstrip().startswith("{"):
            text = Path(source).read_text(encoding="utf-8")
        document = json.loads(text)
        head = document if isinstance(document, dict) else {}
        checksum = sealed(head)["checksum"]
    except (OSError, ValueError, RecursionError) as error:
        start = text if len(text) < 100 else f"{text[:97]}..."
        raise DataError(f"{start!r} is not JSON written by to_json: {error}.") from error
    if head.get("schema_version") != SCHEMA_VERSION or head.get("kind") != kind:
        raise DataError(
            f"expected a {kind} of schema version {SCHEMA_VERSION}; got {head.get('kind')!r} of "
            f"version {head.get('schema_version')!r}."
        )
    result, run = head.get("result"), head.get("run")
    if not isinstance(result, dict) or not isinstance(run, dict):
        raise DataError(f"this {kind} lacks its part 'result' or 'run': it is incomplete.")
    if head.get("checksum") != checksum:
        raise DataError(
            f"the checksum of this {kind} does not match: the document was damaged or edited after "
            "to_json wrote it. Write it again, or use an undamaged copy."
        )
    return result, run


@contextmanager
def blame_document() -> Iterator[None]:
    """Turn errors about missing fields or wrong types into a DataError about the document."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"this was not written by to_json, or was edited: {error!r}.") from error


# JSON has no infinities and no NaN; stored as text they are restored exactly.
_WORDS = {math.inf: "inf", -math.inf: "-inf"}
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def storable(value: Any) -> Any:
    """A value that JSON can store."""
    if isinstance(value, Mapping):
        return {str(key): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if isinstance(value, np.generic):
        return storable(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return _WORDS.get(value, "nan")
    return value if isinstance(value, str | int | float | bool | None) else str(value)


# The JSON values of each type of field; anything else was not written by sfit.
_KINDS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "None": lambda value: value is None,
}


# Bounds of the fields of these names, in any record; other fields are unbounded.
_BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("order", "after_order", "max_order"), (1, 1_000)),
    "n_rows": (1, 10**15),
    "n": (0, 10**15),
    **dict.fromkeys(("fold", "n_folds"), (2, 10**9)),
    "n_train": (1, 10**15),
    **dict.fromkeys(("n_positive", "n_negative", "n_better", "n_worse"), (0, math.inf)),
    **dict.fromkeys(("n_partners", "seed"), (0, math.inf)),
    "n_fixed": (0, math.inf),
    **dict.fromkeys(("p_value", "p_adjusted", "alpha", "coverage", "beta", "grid"), (0, 1)),
    **dict.fromkeys(("p_resolution", "share_moved", "p_sign", "share_largest"), (0, 1)),
    **dict.fromkeys(("planned_alpha", "alpha_by_order"), (0, 1)),
}


def _is_kind(value: Any, kind: str) -> bool:
    if " | " in kind:
        return any(_is_kind(value, one) for one in kind.split(" | "))
    if kind.startswith("tuple["):
        inner = kind.removeprefix("tuple[").removesuffix(", ...]")
        return isinstance(value, tuple) and all(_is_kind(item, inner) for item in value)
    return _KINDS[kind](value)


def record_from(owner: type[Record], stored: Mapping[str, Any]) -> Record:
    """The dataclass that was stored: lists become tuples, "inf" and "nan" become numbers."""
    kinds = {about.name: str(about.type) for about in fields(owner)}  # type: ignore[arg-type]
    numeric = {name for name, kind in kinds.items() if "float" in kind}
    given: dict[str, Any] = {}
    for name, value in stored.items():
        try:
            given[name] = _restored(value, name in numeric)
        except OverflowError as error:
            raise ValueError(f"{name} must be a float, not {brief(value)}") from error
    made = owner(**given)
    for name, kind in kinds.items():
        value = getattr(made, name)
        if not _is_kind(value, kind):
            raise TypeError(f"{name} must be {kind}, not {brief(value)}")
        low, high = _BOUNDS.get(name, (-math.inf, math.inf))
        for number in value if isinstance(value, tuple) else (value,):
            if name in _BOUNDS and number is not None and not low <= number <= high:
                raise ValueError(
                    f"{name} must lie between {low:g} and {high:g}, not {brief(value)}"
                )
    return made


def brief(value: Any) -> str:
    """A value for a message, shortened: a file may hold anything."""
    return reprlib.repr(value)


def texts(stored: Any) -> tuple[str, ...]:
    """A stored list of texts, as a tuple."""
    if not isinstance(stored, list) or not all(isinstance(text, str) for text in stored):
        raise TypeError(f"expected a list of texts, not {brief(stored)}")
    return tuple(stored)


def _restored(value: Any, numeric: bool) -> Any:
    if isinstance(value, list):
        return tuple(_restored(item, numeric) for item in value)
    if numeric and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _NUMBERS.get(value, value) if numeric and isinstance(value, str) else value
