"""A side as a function of a tile: what the model predicts when only some features are revealed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from sfit._contrast import Contrast, Reveal, Side
from sfit._features import Features
from sfit.exceptions import ModelError, SFITWarning
from sfit.models import Dense, ModelView, Trees
from sfit.restrict._direct import Memory, predict_directly, rounding_noise
from sfit.restrict._prediction import Constant, Prediction, Restricted
from sfit.restrict._route import Route, fast_route, without
from sfit.restrict._verify import Precision, not_reproduced, repeats
from sfit.rows import Tile

__all__ = [
    "Constant",
    "Precision",
    "Prediction",
    "Restricted",
    "SidePredictions",
    "fast_route",
    "rounding_noise",
]

NOTICEABLE = 0.1
"""The model may be asked about this share of the terms, or one of several, without a warning."""


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
    trusted: dict[tuple[Side, Side], bool] = field(default_factory=dict)
    """Whether a route was close enough to the model, of the contrasts that it was compared on."""

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
        self, contrasts: Sequence[Contrast], tile: Tile, precision: Precision
    ) -> tuple[str, list[Contrast]]:
        """Make the functions that a fast route has for some contrasts.

        Gives the route's name, and the contrasts with the arithmetic that computes their sides. On
        a sample of the first tile's rows the route must give what the model gives: the model itself
        is asked about contrasts for which it does not.
        """
        route = fast_route(
            self.view, self.features, self.structure, contrasts, precision.n, self.prepared
        )
        route = self._verified(route, tile, precision)
        for served, function in route.functions.items():
            self.prepared[served] = function
        for side in dict.fromkeys(side for c in route.contrasts for side in (c.base, c.full)):
            if not isinstance(side, Reveal) or side in self.prepared:
                continue
            if not self.features.shown(side.shown):
                self.prepared[side] = Constant(self.one(tile, side).values)
        return route.name, route.contrasts

    def _verified(self, route: Route, tile: Tile, precision: Precision) -> Route:
        """The route without the contrasts that it cannot be trusted with."""
        asked = dict.fromkeys(route.contrasts)
        try:
            failed = self._failed(route, [*asked], tile, precision)
        except ModelError:
            # Asked for every row, the model tells which of them it fails at.
            return without(route, asked.keys())
        slow = len(failed) == len(asked) or len(failed) > max(1, NOTICEABLE * len(asked))
        if failed and slow and all(self.trusted.values()):
            _warn(route.name, len(failed), len(asked))
        if isinstance(self.structure, Dense):
            self.trusted.update({(c.base, c.full): c not in failed for c in asked})
        return without(route, failed)

    def _failed(
        self, route: Route, asked: Sequence[Contrast], tile: Tile, precision: Precision
    ) -> Set[Contrast]:
        """The contrasts for which the route is not what the model is."""
        if not isinstance(self.structure, Dense):
            functions = route.functions
            right = not functions or repeats(self.view, self.features, functions, tile)
            return set() if right else set(asked)
        new = [c for c in asked if (c.base, c.full) not in self.trusted]
        made: dict[Side, Restricted] = dict(route.functions.items())
        known = self.prepared | made
        wrong = not_reproduced(
            self.view, self.features, self.structure, new, known, tile, precision
        )
        return wrong | {c for c in asked if not self.trusted.get((c.base, c.full), True)}


def _warn(name: str, n_failed: int, n_asked: int) -> None:
    which = "every row" if n_failed == n_asked else f"every row of {n_failed} terms of {n_asked}"
    warnings.warn(
        f"the fast route {name!r} does not reproduce this model's predictions closely enough: the "
        f"model itself is asked for {which}, which is slower but right. A float32 network "
        "loses digits where columns are far from zero beside their spread: standardise them before "
        "you train it.",
        SFITWarning,
        stacklevel=4,
    )
