"""Results as JSON documents: the part `result` is equal to the byte for equal runs.

A checksum over the content tells a document with a changed digit from the one that was written.
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

SCHEMA_VERSION = 2

Record = TypeVar("Record")


def write(kind: str, content: dict[str, Any], run: dict[str, Any], path: str | Path | None) -> str:
    """A document of a kind of result, as text."""
    document = {"schema_version": SCHEMA_VERSION, "kind": kind, "result": content, "run": run}
    return save(json.dumps(sealed(storable(document)), indent=1, allow_nan=False), path)


def sealed(document: Mapping[str, Any]) -> dict[str, Any]:
    """A document with the checksum of its content: of the values, not of how they are laid out."""
    content = {name: value for name, value in document.items() if name != "checksum"}
    written = json.dumps(content, sort_keys=True).encode()
    return {**content, "checksum": blake2b(written, digest_size=16).hexdigest()}


def save(text: str, path: str | Path | None) -> str:
    """The text, written to a file where there is one."""
    if path is not None:
        try:
            Path(path).write_text(text + "\n", encoding="utf-8")
        except (OSError, TypeError, ValueError) as error:
            raise ArgumentError(
                f"path {path!r} cannot be written ({error}): name a file in a folder that exists."
            ) from error
    return text


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
        shown = text if len(text) < 100 else f"{text[:97]}..."
        raise DataError(f"{shown!r} is no JSON written by to_json: {error}.") from error
    if head.get("schema_version") != SCHEMA_VERSION or head.get("kind") != kind:
        raise DataError(
            f"expected a {kind} of schema version {SCHEMA_VERSION}; got {head.get('kind')!r} of "
            f"version {head.get('schema_version')!r}."
        )
    result, run = head.get("result"), head.get("run")
    if not isinstance(result, dict) or not isinstance(run, dict):
        raise DataError(f"this {kind} lacks its part 'result' or 'run': it was not written whole.")
    if head.get("checksum") != checksum:
        raise DataError(
            f"the checksum of this {kind} does not match: the document was damaged or edited since "
            "it was written by to_json. Write it again, or take an undamaged copy."
        )
    return result, run


@contextmanager
def as_written() -> Iterator[None]:
    """What is missing or of another kind in a document is the document's fault."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DataError(f"this was not written by to_json, or was changed: {error!r}.") from error


# JSON has no infinities and no NaN; written as text they come back exactly.
_WORDS = {math.inf: "inf", -math.inf: "-inf"}
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def storable(value: Any) -> Any:
    """A value as JSON holds it."""
    if isinstance(value, Mapping):
        return {str(key): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if isinstance(value, np.generic):
        return storable(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return _WORDS.get(value, "nan")
    return value if isinstance(value, str | int | float | bool | None) else str(value)


# How each kind of field is written; what is neither was not written by us.
_KINDS: dict[str, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "str": lambda value: isinstance(value, str),
    "None": lambda value: value is None,
}


# Between which numbers a field of this name lies, in whatever record; all others may hold any.
_BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("order", "after_order", "max_order"), (1, 1_000)),
    **dict.fromkeys(("n", "n_rows"), (1, 10**15)),
    **dict.fromkeys(("n_positive", "n_partners", "seed"), (0, math.inf)),
    **dict.fromkeys(("p_value", "p_adjusted", "alpha", "coverage", "beta", "grid"), (0, 1)),
    "planned_alpha": (0, 1),
}


def _is_kind(value: Any, kind: str) -> bool:
    if " | " in kind:
        return any(_is_kind(value, one) for one in kind.split(" | "))
    if kind.startswith("tuple["):
        inner = kind.removeprefix("tuple[").removesuffix(", ...]")
        return isinstance(value, tuple) and all(_is_kind(item, inner) for item in value)
    return _KINDS[kind](value)


def revived(owner: type[Record], stored: Mapping[str, Any]) -> Record:
    """A dataclass as it was: lists are tuples, words in fields of numbers are numbers."""
    kinds = {about.name: str(about.type) for about in fields(owner)}  # type: ignore[arg-type]
    numeric = {name for name, kind in kinds.items() if "float" in kind}
    given: dict[str, Any] = {}
    for name, value in stored.items():
        try:
            given[name] = _as_it_was(value, name in numeric)
        except OverflowError as error:
            raise ValueError(f"{name} must be a float, not {shown(value)}") from error
    made = owner(**given)
    for name, kind in kinds.items():
        value = getattr(made, name)
        if not _is_kind(value, kind):
            raise TypeError(f"{name} must be {kind}, not {shown(value)}")
        low, high = _BOUNDS.get(name, (-math.inf, math.inf))
        for number in value if isinstance(value, tuple) else (value,):
            if name in _BOUNDS and number is not None and not low <= number <= high:
                raise ValueError(
                    f"{name} must lie between {low:g} and {high:g}, not {shown(value)}"
                )
    return made


def shown(value: Any) -> str:
    """A value in a message: what a file holds may be long."""
    return reprlib.repr(value)


def texts(stored: Any) -> tuple[str, ...]:
    """A list of texts as the tuple it was."""
    if not isinstance(stored, list) or not all(isinstance(text, str) for text in stored):
        raise TypeError(f"expected a list of texts, not {shown(stored)}")
    return tuple(stored)


def _as_it_was(value: Any, numeric: bool) -> Any:
    if isinstance(value, list):
        return tuple(_as_it_was(item, numeric) for item in value)
    if numeric and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return _NUMBERS.get(value, value) if numeric and isinstance(value, str) else value
