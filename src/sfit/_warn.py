"""Warnings that point at the user's line, wherever in the package they arise."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from sfit.exceptions import SFITWarning

PACKAGE = str(Path(__file__).parent)


def warn_user(text: str) -> None:
    """Issue a warning that points at the first line outside the package."""
    frame, stacklevel = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, stacklevel = frame.f_back, stacklevel + 1
    warnings.warn(text, SFITWarning, stacklevel=stacklevel)
