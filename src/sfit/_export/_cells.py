"""A cell of a table as a number or plain text, for files that hold nothing else."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from sfit._text import printable

FORMULA = "=+-@＝＋－＠"  # noqa: RUF001 - spreadsheets in East Asia accept the wide forms, too
"""A text that begins with one of these is a formula to a spreadsheet, if nothing prevents it."""


def plain(value: Any) -> str | int | float | None:
    """A finite number, text on one line, or None; sets of features as `a + b`."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, tuple | list):
        return " + ".join(printable(plain(item)) for item in value)
    return printable(value)


def looks_like_formula(text: str) -> bool:
    """Whether a spreadsheet could take a text for a formula."""
    return text.lstrip()[:1] in tuple(FORMULA)
