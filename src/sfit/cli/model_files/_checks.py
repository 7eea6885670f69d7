"""The parts of a loaded model, and checks of their arrays.

Compiled code uses the arrays of a fitted model without bounds checks: an index out of range reads
or writes anywhere, perhaps unnoticed. The checks cover arrays that scikit-learn, SciPy, LightGBM
and XGBoost trust.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

CHECKS = {
    "sklearn": "sfit.cli.model_files._sklearn_checks",
    "lightgbm": "sfit.cli.model_files._booster_checks",
    "xgboost": "sfit.cli.model_files._booster_checks",
    "scipy": "sfit.cli.model_files._scipy_checks",
}


def check_part(part: Any) -> None:
    """Refuse a part whose arrays would lead compiled code out of bounds."""
    for owner in type(part).__mro__:
        name = owner.__module__.partition(".")[0]
        if name in CHECKS and sys.modules.get(name) is not None:
            import_module(CHECKS[name]).check(part)
            return


def parts(model: Any) -> Iterator[Any]:
    """The model and all objects that it holds, each once."""
    pending, seen = [model], {}
    while pending:
        part = pending.pop()
        if id(part) in seen or isinstance(part, str | bytes | bytearray | int | float | type):
            continue
        seen[id(part)] = part  # kept alive, or another object could get its id
        yield part
        if isinstance(part, Mapping):
            pending.extend(part.keys())
            pending.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            pending.extend(part)
        elif isinstance(part, np.ndarray):
            if part.dtype.hasobject:
                pending.extend(part.ravel().tolist())
        else:
            pending.extend(getattr(part, "__dict__", {}).values())
