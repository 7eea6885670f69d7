"""Which versions of what a result was computed with."""

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
    found = {"python": platform.python_version(), "platform": platform.platform(terse=True)}
    for library in _LIBRARIES:
        found[library] = version_of(library)
    for module, distributions in _OPTIONAL:
        if module in sys.modules:
            known = [version_of(name) for name in distributions]
            found[module] = next((number for number in known if number != "unknown"), "unknown")
    return found


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
