"""Fast routes verify themselves: on a sample of rows they must give what the model gives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._contrast import Reveal
from sfit._features import Features
from sfit.models import ModelView
from sfit.restrict._direct import Memory, predict_directly
from sfit.restrict._prediction import Restricted
from sfit.rows import Tile, reveal, take_rows

Array = npt.NDArray[Any]

VERIFIED_ROWS, VERIFIED_CELLS = 16, 32
"""Compared with the model are so many rows of every side, or of so many that have cells."""

ROUNDING_POWER = 0.6
"""A network computed in other steps may differ from itself by this power of the rounding unit, as
a share of the prediction, or of what is usual where it is small: 4e-10 in double precision, 7e-5
in single. A wrong structure differs by more.
"""


def reproduces(
    view: ModelView,
    features: Features,
    functions: Mapping[Reveal, Restricted],
    tile: Tile,
    unit: float,
) -> bool:
    """Whether the functions of a route give what the model gives, but for rounding.

    Cells repeat the model's own predictions: some of them tell of all, and there is no rounding. A
    network is computed anew: each of its functions is compared; along a polyline also at the
    reference and at the ends of the column, where units may bend that no other row reaches.
    """
    for arithmetic in dict.fromkeys(side.arithmetic for side in functions):
        sides = [side for side in functions if side.arithmetic == arithmetic]
        own = arithmetic == "model"
        if own:
            sides = sides[:: max(1, len(sides) // VERIFIED_CELLS)]
        sample = _sample(features, tile, with_ends=arithmetic == "polyline")
        pairs = [
            (functions[side](sample).by_row(), prediction.by_row())
            for side, prediction in predict_directly(view, features, sample, sides, Memory())
        ]
        if len({predictions.shape for pair in pairs for predictions in pair}) > 1:
            return False
        ours, theirs = map(np.stack, zip(*pairs, strict=True))
        gaps, sizes = _size(ours - theirs), _size(theirs)
        room = 0.0 if own else unit**ROUNDING_POWER * np.maximum(sizes, _usual(view, sizes, tile))
        if not (gaps <= room).all():
            return False
    return True


def _usual(view: ModelView, sizes: Array, tile: Tile) -> float:
    """What the model usually predicts, or has to.

    One row that is far out must not excuse the others; nor must all be right to the last bit where
    the model predicts next to nothing beside what it is to predict.
    """
    usual = float(np.median(sizes, axis=1).max())
    if view.task == "classification":
        return usual
    return max(usual, float(np.median(np.abs(tile.y))))


def _size(values: Array) -> Array:
    """The largest output of each row of each side."""
    return np.abs(values).reshape(*values.shape[:2], -1).max(axis=2)


def _sample(features: Features, tile: Tile, *, with_ends: bool) -> Tile:
    """Some rows from all over a tile; with ends, first the reference, the least, the largest."""
    rows = np.unique(np.linspace(0, len(tile) - 1, VERIFIED_ROWS).astype(np.intp))
    shown, numbers = take_rows(tile.X, rows), [tile.number(row) for row in rows.tolist()]
    if with_ends:
        # Sparse rows become dense on the way, as the reference is.
        dense = reveal(features.reference, shown, range(shown.shape[1]), None)
        ends = np.array(features.spans).T.astype(dense.dtype)
        # Along a column that is infinite somewhere there is no polyline.
        ends = np.where(np.isfinite(ends), ends, features.reference)
        shown = np.concatenate([features.reference, ends, dense])
        numbers = [numbers[0]] * 3 + numbers
    # Only the number of targets matters: it is the number of rows.
    return Tile(tile.index, shown, np.zeros(len(numbers)), None, np.array(numbers))
