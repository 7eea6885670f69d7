"""A side as a function of a tile: what the model predicts when only some features are revealed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sfit._contrast import Reveal, Side
from sfit._features import Features
from sfit.exceptions import SFITWarning
from sfit.models import Dense, ModelView, Trees
from sfit.restrict._direct import Memory, predict_directly, rounding_noise
from sfit.restrict._prediction import Constant, Prediction, Restricted
from sfit.restrict._route import fast_route
from sfit.restrict._verify import verified
from sfit.rows import Tile

__all__ = ["SidePredictions", "fast_route", "rounding_noise"]


@dataclass(frozen=True)
class SidePredictions:
    """Predictions of any side for any tile, each by the cheapest exact route."""

    view: ModelView
    features: Features
    structure: Dense | Trees | None = None
    """The inside of the model, where fast routes may use it."""
    prepared: dict[Side, Restricted] = field(default_factory=dict)
    """Sides that have a function of their own; the model itself is asked for all others."""
    memory: Memory = field(default_factory=Memory)

    def __call__(self, tile: Tile, sides: Sequence[Side]) -> Iterator[tuple[Side, Prediction]]:
        """Each distinct side with its predictions."""
        distinct = list(dict.fromkeys(sides))
        for side in distinct:
            if side in self.prepared:
                yield side, self.prepared[side](tile)
        direct = [s for s in distinct if isinstance(s, Reveal) and s not in self.prepared]
        yield from predict_directly(self.view, self.features, tile, direct, self.memory)

    def one(self, tile: Tile, side: Side) -> Prediction:
        """Predictions of a single side."""
        return next(self(tile, [side]))[1]

    def prepare(self, sides: Sequence[Side], tile: Tile, n: int, unit: float) -> str:
        """Make the functions of sides that a fast route serves; say which route it is.

        On a sample of the first tile's rows the route must give what the model gives; what a
        network's route is off by there counts as rounding.
        """
        asked = [
            s for s in dict.fromkeys(sides) if isinstance(s, Reveal) and s not in self.prepared
        ]
        new = [side for side in asked if self.features.shown(side.shown)]
        for side in asked:
            if side not in new:
                self.prepared[side] = Constant(self.one(tile, side).values)
        route, functions = fast_route(
            self.view, self.features, self.structure, new, n, self.prepared
        )
        if not functions:
            return route
        trusted = verified(self.view, self.features, functions, tile, unit)
        if trusted is None:
            warnings.warn(
                f"the fast route {route!r} does not reproduce this model's predictions: the model "
                "itself is asked for every row, which is slower but right.",
                SFITWarning,
                stacklevel=2,
            )
            return "direct"
        for served, function in trusted.items():
            self.prepared[served] = function
        return route
