"""The record of a run, written to JSON and read back: settings, numbers and provenance.

A page is always made from its record, so it can be made again without another run.
"""

from __future__ import annotations

import math
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from sfit._for_studies import versions


def record(study: str, settings: Any, result: Any, run: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a run, in JSON's types."""
    return {
        "study": study,
        "settings": storable(asdict(settings)),
        "result": storable(asdict(result)),
        "run": storable(run),
    }


def storable(value: Any) -> Any:
    """The value in JSON's types; numbers that are not finite become null."""
    if isinstance(value, Mapping):
        return {str(key): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return storable(value.tolist())
    if isinstance(value, float):
        # No number here is accurate to more than seven digits.
        return float(f"{value:.7g}") if math.isfinite(value) else None
    return value


def restored(kind: Any, value: Any) -> Any:
    """The inverse of `storable` for a type: dataclasses, tuples, lists, dicts and numbers."""
    if is_dataclass(kind):
        types = get_type_hints(kind)
        values = {one.name: restored(types[one.name], value[one.name]) for one in fields(kind)}
        return kind(**values)  # type: ignore[operator]
    of, inner = get_origin(kind), get_args(kind)
    if of is dict:
        return {inner[0](key): restored(inner[1], item) for key, item in value.items()}
    if of is list:
        return [restored(inner[0], item) for item in value]
    if of is tuple:
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(restored(one, item) for one, item in zip(kinds, value, strict=True))
    if kind is float:
        return math.nan if value is None else float(value)
    return value


def provenance(command: str, seconds: float, commit: str | None) -> dict[str, Any]:
    """How the numbers were made: command, time, threads, commit and versions."""
    threads = os.environ.get("OMP_NUM_THREADS")
    cores = os.cpu_count() or 1
    return {
        "command": command,
        "seconds": seconds,
        "threads": f"{threads} thread" if threads == "1" else f"{threads or cores} threads",
        "platform": platform.machine(),
        "commit": commit,
        "versions": {"python": platform.python_version(), **versions()},
    }


def commit() -> str | None:
    """The commit of this code if it runs from its repository; marked if files have changed."""
    git = shutil.which("git")
    if git is None:
        return None

    def run_git(*words: str) -> str:
        done = subprocess.run(  # noqa: S603  (git, with fixed arguments)
            [git, *words], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    try:
        # An installed copy may lie inside a repository that does not track it.
        run_git("ls-files", "--error-unmatch", Path(__file__).name)
        changed = run_git("status", "--porcelain", "--", "..")
        return run_git("rev-parse", "--short=10", "HEAD") + (" with changes" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None
