"""Displays as PNG, for documents that cannot hold SVG."""

from __future__ import annotations

import io
import warnings
from typing import Any

from sfit.exceptions import MissingDependencyError

DOTS_PER_INCH = 200
MOST_DOTS = 30_000
"""Pixels of the longer side; a taller picture is coarser."""


def as_png(display: Any, width: float) -> bytes:
    """A display, drawn this many inches wide in matplotlib's default style, without pyplot."""
    try:
        import matplotlib.figure
        import matplotlib.style
    except ImportError as error:
        raise MissingDependencyError(
            'pictures need matplotlib: pip install "sfit[word]".'
        ) from error
    buffer = io.BytesIO()
    with matplotlib.style.context("default"), warnings.catch_warnings():
        # Names in scripts that matplotlib's own font lacks; the tables show them in full.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        size = width, display.height
        figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
        display.plot(figure.subplots())
        dots = min(DOTS_PER_INCH, MOST_DOTS / max(size))
        figure.savefig(buffer, format="png", dpi=dots, metadata={"Software": None})
    return buffer.getvalue()
