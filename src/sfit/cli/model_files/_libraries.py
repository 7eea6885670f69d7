"""The libraries that read model files, imported when a file needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sfit.exceptions import MissingDependencyError


def library(module: str, extra: str) -> Any:
    """Import a module; if it is missing, the error names the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f'this model file needs {extra} ({error}): pip install "sfit[{extra}]".'
        ) from error
