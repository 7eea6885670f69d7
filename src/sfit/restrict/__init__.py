"""A side as a function of a tile: predictions of the model with only some features revealed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sfit._contrast import Contrast, Reveal, Side
from sfit._features import Features
from sfit.exceptions import ModelError
from sfit.models import Dense, ModelView, Trees
from sfit.restrict._direct import Memory, cancelled_size, predict_directly, rounding_noise
from sfit.restrict._prediction import Constant, Prediction, Restricted
from sfit.restrict._route import Route, fast_route, without
from sfit.restrict._tables import make_tables
from sfit.restrict._verify import Precision, not_reproduced, repeats
from sfit.rows import Tile

__all__ = [
    "Constant",
    "Precision",
    "Prediction",
    "Restricted",
    "SidePredictions",
    "cancelled_size",
    "fast_route",
    "rounding_noise",
]

NOTICEABLE = 0.5
"""Up to this share of the terms may fall back to the model without a warning.

A float32 network gives up the route of a few weak features as a matter of course: the result is the
same, and the user can do nothing about it.
"""


@dataclass(frozen=True)
class SidePredictions:
    """Predictions of any side for any tile, each by the cheapest exact route."""

    view: ModelView
    features: Features
    structure: Dense | Trees | None = None
    """The structure of the model, if fast routes may use it."""
    prepared: dict[Side, Restricted] = field(default_factory=dict)
    """The functions of sides on a fast route; the model itself predicts all others."""
    tabulates: bool = False
    """Whether a model without structure may be tabulated, for a test of any function."""
    memory: Memory = field(default_factory=Memory)
    trusted: dict[tuple[Side, Side], bool] = field(default_factory=dict)
    """For each verified contrast, whether its route was close enough to the model."""

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
        precision: Precision,
        warn: Callable[[str], None],
        spread: Callable[[], Tile] | None = None,
    ) -> tuple[str, list[Contrast]]:
        """Prepare the functions of the fast route for some contrasts.

        Returns the route's name, and the contrasts with the arithmetic that computes their sides.
        The route is verified on a sample of the first tile's rows; contrasts that it does not
        reproduce are predicted by the model itself; or at a few values only, which are those of
        the rows `spread` returns, if any function of the revealed values will do.
        """
        route = fast_route(
            self.view, self.features, self.structure, contrasts, precision.n, self.prepared
        )
        route = self._verified(route, tile, precision, warn)
        for served, function in route.functions.items():
            self.prepared[served] = function
        sides = dict.fromkeys(side for c in route.contrasts for side in (c.base, c.full))
        direct = [s for s in sides if isinstance(s, Reveal) and s not in self.prepared]
        for side in direct:
            if not self.features.shown(side.shown):
                self.prepared[side] = Constant(self.one(tile, side).values)
        if spread is None or not (self.tabulates and self.structure is None and direct):
            return route.name, route.contrasts
        tables = make_tables(self.view, self.features, spread(), direct)
        self.prepared.update(tables)
        names = [] if route.name == "direct" else [route.name]
        names += ["table"] if tables else []
        return " and ".join(names) or "direct", route.contrasts

    def _verified(
        self, route: Route, tile: Tile, precision: Precision, warn: Callable[[str], None]
    ) -> Route:
        """The route without the contrasts that fail verification."""
        contrasts = dict.fromkeys(route.contrasts)
        try:
            failed = self._failed(route, [*contrasts], tile, precision)
        except ModelError:
            # The direct route names the failing row.
            return without(route, contrasts.keys())
        n_wrong = sum(failed.values())
        if n_wrong > NOTICEABLE * len(contrasts) and all(self.trusted.values()):
            warn(_fallback_warning(route.name, n_wrong, len(contrasts)))
        if isinstance(self.structure, Dense):
            self.trusted.update({(c.base, c.full): c not in failed for c in contrasts})
        return without(route, failed.keys())

    def _failed(
        self, route: Route, contrasts: Sequence[Contrast], tile: Tile, precision: Precision
    ) -> dict[Contrast, bool]:
        """The contrasts for which the route is not used; whether the user should know about it."""
        if not isinstance(self.structure, Dense):
            functions = route.functions
            right = not functions or repeats(self.view, self.features, functions, tile)
            return {} if right else dict.fromkeys(contrasts, True)
        new = [c for c in contrasts if (c.base, c.full) not in self.trusted]
        made: dict[Side, Restricted] = dict(route.functions.items())
        functions_of = self.prepared | made
        wrong = not_reproduced(
            self.view, self.features, self.structure, new, functions_of, tile, precision
        )
        again = [c for c in contrasts if not self.trusted.get((c.base, c.full), True)]
        return dict.fromkeys(again, False) | wrong


def _fallback_warning(name: str, n_failed: int, n_contrasts: int) -> str:
    """The warning that the model itself predicts, and why."""
    which = "every row"
    if n_failed < n_contrasts:
        which += f" for {n_failed} of {n_contrasts} terms"
    return (
        f"the fast route {name!r} does not reproduce this model's predictions closely enough: the "
        f"model itself predicts {which}, which is slower but correct. A float32 network loses "
        "digits if columns are far from zero relative to their spread: standardise them before "
        "training."
    )
