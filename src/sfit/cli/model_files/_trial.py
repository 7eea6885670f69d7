"""Read a model file, check it and predict a few rows, in a process where it can do no harm.

Run by `_rehearsal` as a program. How it ends says whether the real process may read the file too.
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
"""Bytes for any file (libraries alone take half a GB), beside `MEMORY_PER_BYTE` times its size."""
MEMORY_PER_BYTE = 20
ROWS = 256


def main(kind: str, path: str, *trust: str) -> int:
    """Read, check and try out one file; what is wrong with it goes to the standard output."""
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
    """Import skops without torch, which takes longer to import than all else.

    skops imports all modules of scikit-learn, and one of them is a bridge to torch.
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
    """Bound the memory of this process, and leave no image of it where it crashes."""
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

    found = list(parts(model))
    for part in found:
        check_part(part)
    _try_view(model)
    for part in found:
        _try_part(part)


def _try_view(model: Any) -> None:
    """Read the inside of the model and predict with it, as the test will."""
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
    """The shape of one row, by whoever knows it."""
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
    """Predict with every estimator inside, whatever stands before it."""
    if isinstance(part, type):
        return
    for rows in _rows((getattr(part, "n_features_in_", None),)):
        for method in ("predict_proba", "predict", "transform"):
            if hasattr(type(part), method):
                with _harmless():
                    getattr(part, method)(rows)


def _rows(shape: Any) -> Iterator[Any]:
    """Ordinary rows, far ones, and missing values; none where nobody knows the columns."""
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
    """Let pass what the real process can raise too, but for memory, which is limited here only."""
    try:
        yield
    except Exception as error:
        told = f"{type(error).__name__} {error}".lower()
        if isinstance(error, MemoryError) or "alloc" in told or "out of memory" in told:
            raise MemoryError(f"predicting takes too much memory: {error}") from error


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
