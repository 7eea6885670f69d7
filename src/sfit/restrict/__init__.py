"""A side as a function of a tile: what the model predicts when only some features are revealed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sfit._contrast import Contrast, Reveal, Side
from sfit._features import Features
from sfit.exceptions import ModelError
from sfit.models import Dense, ModelView, Trees
from sfit.restrict._direct import Memory, predict_directly, rounding_noise
from sfit.restrict._prediction import Constant, Prediction, Restricted
from sfit.restrict._route import Route, fast_route
from sfit.restrict._verify import reproduces
from sfit.rows import Tile

__all__ = [
    "Constant",
    "Prediction",
    "Restricted",
    "SidePredictions",
    "fast_route",
    "rounding_noise",
]


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

    def prepare(
        self,
        contrasts: Sequence[Contrast],
        tile: Tile,
        n: int,
        unit: float,
        warn: Callable[[str], None],
    ) -> tuple[str, list[Contrast]]:
        """Make the functions that a fast route has for some contrasts.

        Gives the route's name, and the contrasts with the arithmetic that computes their sides. On
        a sample of the first tile's rows the route must give what the model gives.
        """
        route = fast_route(self.view, self.features, self.structure, contrasts, n, self.prepared)
        if route.functions and not self._can_take(route, tile, unit, warn):
            route = Route("direct", list(contrasts), {})
        for served, function in route.functions.items():
            self.prepared[served] = function
        for side in dict.fromkeys(side for c in route.contrasts for side in (c.base, c.full)):
            if not isinstance(side, Reveal) or side in self.prepared:
                continue
            if not self.features.shown(side.shown):
                self.prepared[side] = Constant(self.one(tile, side).values)
        return route.name, route.contrasts

    def _can_take(self, route: Route, tile: Tile, unit: float, warn: Callable[[str], None]) -> bool:
        try:
            right = reproduces(self.view, self.features, route.functions, tile, unit)
        except ModelError:
            # Asked for every row, the model tells which of them it fails at.
            return False
        if not right:
            warn(
                f"the fast route {route.name!r} does not reproduce this model's predictions: the "
                "model itself is asked for every row, which is slower but right."
            )
        return right
