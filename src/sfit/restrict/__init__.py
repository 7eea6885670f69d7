"""A side as a function of a tile: what the model predicts when only some features are revealed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._contrast import Reveal, Side
from sfit._features import Features
from sfit._rows import Tile
from sfit.models import ModelView
from sfit.restrict._direct import Memory, predict_directly

Array = npt.NDArray[Any]
Restricted = Callable[[Tile], Array]
"""Predictions of one side for the rows of a tile."""


@dataclass(frozen=True)
class SidePredictions:
    """Predictions of any side for any tile, each by the cheapest exact route."""

    view: ModelView
    features: Features
    prepared: Mapping[Side, Restricted] = field(default_factory=dict)
    """Sides that have a function of their own; the model itself is asked for all others."""
    memory: Memory = field(default_factory=Memory)

    def __call__(self, tile: Tile, sides: Sequence[Side]) -> Iterator[tuple[Side, Array]]:
        """Each distinct side with its predictions, which are to be used before the next is asked."""
        distinct = list(dict.fromkeys(sides))
        for side in distinct:
            if side in self.prepared:
                yield side, self.prepared[side](tile)
        direct = [s for s in distinct if isinstance(s, Reveal) and s not in self.prepared]
        yield from predict_directly(self.view, self.features, tile, direct, self.memory)

    def one(self, tile: Tile, side: Side) -> Array:
        """Predictions of a single side."""
        return next(self(tile, [side]))[1]


def rounding_noise(view: ModelView, features: Features, tile: Tile) -> float:
    """Largest difference between predicting 64 fixed rows one at a time and in a batch.

    It is what a library's own arithmetic can change in a prediction without any feature changing.
    """
    everything = Reveal(features.everything)
    head = Tile(0, tile.X[:64], tile.y[:64], None)
    predictions = SidePredictions(view, features)
    together = predictions.one(head, everything)
    alone = np.concatenate(
        [
            predictions.one(Tile(0, head.X[i : i + 1], head.y[i : i + 1], None), everything)
            for i in range(len(head))
        ]
    )
    return float(np.max(np.abs(together - alone)))
