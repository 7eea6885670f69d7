"""Fast routes verify themselves: on a sample of rows they must give what the model gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfit._contrast import Reveal
from sfit._features import Features
from sfit.models import ModelView
from sfit.restrict._direct import Memory, predict_directly
from sfit.restrict._first_layer import FirstLayerUpdate
from sfit.restrict._prediction import Restricted
from sfit.restrict._relu import Polyline
from sfit.rows import Tile, reveal, take_rows

VERIFIED_ROWS, VERIFIED_CELLS = 16, 32
"""Compared with the model are so many rows of every side, or of so many that have cells."""

ROUNDING_POWER = 0.6
"""A network computed in other steps may differ from itself by this power of the rounding unit, as
a share of the largest prediction: 4e-10 in double precision, 7e-5 in single. A wrong structure
differs by more.
"""


def verified(
    view: ModelView,
    features: Features,
    functions: dict[Reveal, Restricted],
    tile: Tile,
    unit: float,
) -> dict[Reveal, Restricted] | None:
    """The functions of a route, as far as they give what the model gives; None: one does not.

    Cells repeat the model's own predictions: some of them tell of all. A network is computed anew,
    in other steps: each of its functions is compared, at the reference too, and learns what it is
    off by. That is rounding, and must not count.
    """
    anew = {s: f for s, f in functions.items() if isinstance(f, Polyline | FirstLayerUpdate)}
    compared = list(anew) or list(functions)[:: max(1, len(functions) // VERIFIED_CELLS)]
    sample = _sample(features, tile, with_reference=bool(anew))
    largest, gaps = 0.0, {}
    for side, own in predict_directly(view, features, sample, compared, Memory()):
        ours, theirs = functions[side](sample).by_row(), own.by_row()
        largest = max(largest, float(np.abs(theirs).max()))
        gap = np.inf
        if ours.shape == theirs.shape:
            gap = float(np.nan_to_num(np.abs(ours - theirs).max(), nan=np.inf))
        gaps[side] = gap
    tolerance = unit**ROUNDING_POWER * largest if anew else 0.0
    if max(gaps.values()) > tolerance:
        return None
    return functions | {side: replace(f, noise=gaps[side]) for side, f in anew.items()}


def _sample(features: Features, tile: Tile, *, with_reference: bool) -> Tile:
    """Some rows from all over a tile, behind the reference where that is asked for, too."""
    rows = np.unique(np.linspace(0, len(tile) - 1, VERIFIED_ROWS).astype(np.intp))
    shown, numbers = take_rows(tile.X, rows), [tile.number(row) for row in rows.tolist()]
    if with_reference:
        # Sparse rows become dense on the way, as the reference is.
        dense = reveal(features.reference, shown, range(shown.shape[1]), None)
        shown, numbers = np.concatenate([features.reference, dense]), [numbers[0], *numbers]
    # Only the number of targets matters: it is the number of rows.
    return Tile(tile.index, shown, np.zeros(len(numbers)), None, np.array(numbers))
