"""Checks of the indices of sparse matrices and of the knots of splines."""

from __future__ import annotations

from typing import Any

from scipy import sparse
from scipy.interpolate import BSpline


def check(part: Any) -> None:
    """Refuse a matrix or a spline that would lead SciPy out of bounds."""
    if sparse.issparse(part):
        if part.format in ("csr", "csc", "bsr"):
            part.check_format(full_check=True)
        elif part.format == "coo":
            part._check()
        elif part.format != "dia":
            raise ValueError(f"a sparse matrix has the format {part.format!r}")
    elif isinstance(part, BSpline):
        BSpline(part.t, part.c, part.k, part.extrapolate, part.axis)  # checks its arguments
