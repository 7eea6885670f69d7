"""Read a model file, check it and predict a few rows, in a process where it can do no harm.

`_rehearsal` runs this module as a program. Its exit code decides whether sfit reads the file too.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from sfit.cli.model_files._rehearsal import DAMAGED, REFUSED
from sfit.exceptions import SFITError

MEMORY = 4 * 2**30
"""Bytes for any file (libraries alone take half a GB), plus `MEMORY_PER_BYTE` times its size."""
MEMORY_PER_BYTE = 20
ROWS = 256


def main(kind: str, path: str, *trust: str) -> int:
    """Read, check and try out one file; print any fault to the standard output."""
    _limit(Path(path))
    # Libraries write to the standard output too.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
    os.dup2(2, 1)
    with answer:
        try:
            if kind == "skops":
                _import_skops()
            _try(kind, Path(path), trust)
        except SFITError as error:
            answer.write(str(error))
            return REFUSED
        except BaseException as error:
            answer.write(" ".join(f"{type(error).__name__}: {error}".split())[:300])
            return DAMAGED
    return 0


def _import_skops() -> None:
    """Import skops without torch, which would take most of the time.

    skops imports all modules of scikit-learn, one of which imports torch.
    """

    def find_spec(name: str, *_: Any) -> None:
        if name == "torch":
            raise ImportError("not now")

    hidden: Any = SimpleNamespace(find_spec=find_spec)
    sys.meta_path.insert(0, hidden)
    with contextlib.suppress(ImportError):
        import_module("skops.io")
    sys.meta_path.remove(hidden)


def _limit(path: Path) -> None:
    """Limit the memory of this process, and write no core dump if it crashes."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = MEMORY + MEMORY_PER_BYTE * path.stat().st_size
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _try(kind: str, path: Path, trust: Sequence[str]) -> None:
    from sfit.cli.model_files._data_formats import read

    model = read(kind, path, trust)
    if kind in ("keras", "onnx"):
        _try_view(model)
        return
    from sfit.cli.model_files._checks import check_part, parts

    all_parts = list(parts(model))
    for part in all_parts:
        check_part(part)
    _try_view(model)
    for part in all_parts:
        _try_part(part)


def _try_view(model: Any) -> None:
    """Read the structure of the model and predict with it, as the test will."""
    from sfit.models import as_view

    view: Any = None
    for loss in ("auto", "zero_one"):
        with _harmless():
            view = as_view(model, loss)
            break
    with _harmless():
        _ = view.structure
    shape: Any = None
    with _harmless():
        shape = _shape(model, view)
    for rows in _rows(shape):
        with _harmless():
            view.predict(rows)


def _shape(model: Any, view: Any) -> Any:
    """The shape of one row, from the view or the library's object."""
    if view.names or view.width:
        return (view.width or len(view.names),)
    if hasattr(view, "session"):
        return tuple(view.session.get_inputs()[0].shape[1:])
    if hasattr(view, "booster"):
        booster = view.booster
        return (
            booster.num_features() if hasattr(booster, "num_features") else booster.num_feature(),
        )
    return tuple(model.input_shape[1:])


def _try_part(part: Any) -> None:
    """Predict with one estimator inside the model, without the steps before it."""
    if isinstance(part, type):
        return
    for rows in _rows((getattr(part, "n_features_in_", None),)):
        for method in ("predict_proba", "predict", "transform"):
            if hasattr(type(part), method):
                with _harmless():
                    getattr(part, method)(rows)


def _rows(shape: Any) -> Iterator[Any]:
    """Ordinary rows, outliers, and missing values; nothing if the shape is unknown."""
    import numpy as np

    if not shape or not all(isinstance(n, int | np.integer) and n > 0 for n in shape):
        return
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(ROWS, *map(int, shape)))
    rows[ROWS // 2 :] *= 1_000
    yield rows
    yield np.where(rng.uniform(size=rows.shape) < 0.5, np.nan, rows)


@contextlib.contextmanager
def _harmless() -> Iterator[None]:
    """Ignore errors except out of memory, because only this process has a memory limit."""
    try:
        yield
    except Exception as error:
        message = f"{type(error).__name__} {error}".lower()
        if isinstance(error, MemoryError) or "alloc" in message or "out of memory" in message:
            raise MemoryError(f"predicting takes too much memory: {error}") from error


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
