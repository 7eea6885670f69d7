"""Versions of Python and of the libraries that a result was computed with."""

from __future__ import annotations

import platform
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version

_LIBRARIES = ("sfit", "numpy", "scipy", "scikit-learn", "pandas", "narwhals", "joblib")
_OPTIONAL = (
    ("xgboost", ("xgboost", "xgboost-cpu")),
    ("lightgbm", ("lightgbm",)),
    ("catboost", ("catboost",)),
    ("torch", ("torch",)),
    ("keras", ("keras",)),
    ("skorch", ("skorch",)),
    ("onnxruntime", ("onnxruntime",)),
    ("polars", ("polars",)),
    ("pyarrow", ("pyarrow",)),
)


def versions() -> dict[str, str]:
    """Versions of Python, of the required libraries, and of the optional ones that are loaded."""
    by_library = {"python": platform.python_version(), "platform": platform.platform(terse=True)}
    for library in _LIBRARIES:
        by_library[library] = version_of(library)
    for module, distributions in _OPTIONAL:
        if module in sys.modules:
            numbers = [version_of(name) for name in distributions]
            by_library[module] = next((n for n in numbers if n != "unknown"), "unknown")
    return by_library


def show_versions() -> None:
    """Print the versions that a bug report needs.

    Examples
    --------
    >>> import sfit
    >>> sfit.show_versions()  # doctest: +ELLIPSIS
    python: 3...
    """
    for library, number in versions().items():
        print(f"{library}: {number}")


@cache
def version_of(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"
