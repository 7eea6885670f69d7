"""Sparse matrices and splines whose indices and knots are in range."""

from __future__ import annotations

from typing import Any

from scipy import sparse
from scipy.interpolate import BSpline


def check(part: Any) -> None:
    """Refuse a matrix or a spline that SciPy would follow out of bounds."""
    if sparse.issparse(part):
        if part.format in ("csr", "csc", "bsr"):
            part.check_format(full_check=True)
        elif part.format == "coo":
            part._check()
        elif part.format != "dia":
            raise ValueError(f"a sparse matrix is of format {part.format!r}")
    elif isinstance(part, BSpline):
        BSpline(part.t, part.c, part.k, part.extrapolate, part.axis)  # checks what it is given
