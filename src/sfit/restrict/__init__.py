"""A side as a function of a tile: predictions of the model with only some features revealed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sfit._contrast import EXACT, Contrast, Reveal, Rounding, Side
from sfit._features import Features
from sfit.exceptions import ModelError
from sfit.models import Dense, ModelView, Trees
from sfit.restrict._direct import (
    Memory,
    cancelled_size,
    computing_error,
    predict_directly,
    rounding_noise,
)
from sfit.restrict._prediction import Arithmetic, Computed, Constant, Prediction, Restricted
from sfit.restrict._route import Route, fast_route, needed_by, without
from sfit.restrict._tables import make_tables
from sfit.restrict._verify import Precision, not_reproduced, repeats
from sfit.rows import Tile

__all__ = [
    "Arithmetic",
    "Computed",
    "Constant",
    "OnTile",
    "Plan",
    "Precision",
    "Prediction",
    "Restricted",
    "SidePredictions",
    "cancelled_size",
    "computing_error",
    "fast_route",
    "rounding_noise",
]

NOTICEABLE = 0.5
"""Up to this share of the terms may fall back to the model without a warning.

A float32 network gives up the route of a few weak features as a matter of course: the result is the
same, and the user can do nothing about it.
"""


class Plan(NamedTuple):
    """How some contrasts are predicted."""

    route: str
    arithmetic: Mapping[Contrast, Arithmetic]
    """The arithmetic that computes both sides of each contrast."""


@dataclass(frozen=True)
class OnTile:
    """The sides of one tile. The model has predicted its sides; functions are evaluated late."""

    tile: Tile
    functions: Mapping[Computed, Restricted]
    direct: Mapping[Reveal, Prediction]
    tolerance: Rounding
    memory: Memory
    evaluated: dict[Computed, Prediction] = field(default_factory=dict)
    """What functions gave for the parts of a side that is combined from several."""

    def __getitem__(self, computed: Computed) -> Prediction:
        """The predictions of a side."""
        if computed in self.evaluated:
            return self.evaluated[computed]
        if computed in self.functions:
            return self.functions[computed](self.tile)
        needed = computed.side.needs()
        whole = max((len(part.shown) for part in needed), default=0)
        parts = [self._part(part, computed.arithmetic, whole) for part in needed]
        prediction: Prediction = computed.side.combine(parts, self.tolerance)
        return prediction

    def _part(self, part: Reveal, arithmetic: Arithmetic, whole: int) -> Prediction:
        """A part of a side; one that reveals less than the `whole` serves other sides, too."""
        computed = Computed(part, arithmetic)
        if computed not in self.functions:
            return self.direct[part]
        if computed not in self.evaluated:
            held = self.memory.held.get((self.tile.index, computed))
            if held is None:
                held = self.functions[computed](self.tile)
                if len(part.shown) < whole:
                    self.memory.keep(self.tile, computed, held)
            self.evaluated[computed] = held
        return self.evaluated[computed]


@dataclass(frozen=True)
class SidePredictions:
    """Predictions of any side for any tile, each by the cheapest exact route."""

    view: ModelView
    features: Features
    structure: Dense | Trees | None = None
    """The structure of the model, if fast routes may use it."""
    prepared: dict[Computed, Restricted] = field(default_factory=dict)
    """The functions of sides on a fast route; the model itself predicts all others."""
    tabulates: bool = False
    """Whether a model without structure, or an average of trees, may be tabulated."""
    tolerance: Rounding = EXACT
    """How precise a prediction is, for sides that add predictions up."""
    memory: Memory = field(default_factory=Memory)
    trusted: dict[tuple[Computed, Computed], bool] = field(default_factory=dict)
    """For each verified contrast, whether its route was close enough to the model."""

    def on(self, tile: Tile, sides: Iterable[Computed], before: OnTile | None = None) -> OnTile:
        """The predictions of some sides for a tile; those made `before` are not made again."""
        known, evaluated = ({}, {}) if before is None else (before.direct, before.evaluated)
        missing = [side for side in self._unprepared(sides) if side not in known]
        direct = predict_directly(self.view, self.features, tile, missing, self.memory)
        return OnTile(
            tile, self.prepared, {**known, **direct}, self.tolerance, self.memory, evaluated
        )

    def one(self, tile: Tile, side: Side) -> Prediction:
        """Predictions of a single side, in the model's arithmetic."""
        return self.on(tile, [Computed(side)])[Computed(side)]

    def _unprepared(self, sides: Iterable[Computed]) -> list[Reveal]:
        """The sides that the model itself must predict."""
        return [
            part
            for computed in dict.fromkeys(sides)
            if computed not in self.prepared
            for part in computed.side.needs()
            if Computed(part, computed.arithmetic) not in self.prepared
        ]

    def parts_of(self, sides: Iterable[Computed]) -> set[Computed]:
        """What the predictions of some sides follow from: functions, or predicted sides."""
        return {
            part
            for computed in sides
            for part in (
                [computed]
                if computed in self.prepared
                else [Computed(part, computed.arithmetic) for part in computed.side.needs()]
            )
        }

    def prepare(
        self,
        contrasts: Sequence[Contrast],
        tile: Tile,
        precision: Precision,
        warn: Callable[[str], None],
        spread: Callable[[], Tile] | None = None,
    ) -> Plan:
        """Prepare the functions of the fast route for some contrasts.

        The route is verified on a sample of the first tile's rows; contrasts that it does not
        reproduce are predicted by the model itself; or at a few values only, which are those of
        the rows `spread` returns, if any function of the revealed values will do.
        """
        tabulates = spread is not None and self._may_tabulate()
        route = fast_route(
            self.view,
            self.features,
            self.structure,
            contrasts,
            precision.n,
            self.prepared,
            tabulates,
        )
        route = self._verified(route, tile, precision, warn)
        self.prepared.update(route.functions)
        needed = [n for c, kind in route.arithmetic.items() for n in needed_by(c, kind)]
        direct = self._unprepared(needed)
        for side in direct:
            if not self.features.shown(side.shown):
                self.prepared[Computed(side)] = Constant(self.one(tile, side).values)
        names = [] if route.name == "direct" else [route.name]
        if spread is not None and tabulates and direct:
            tables = make_tables(self.view, self.features, spread(), direct)
            self.prepared.update({Computed(side): table for side, table in tables.items()})
            names += ["table"] if tables else []
        return Plan(" and ".join(names) or "direct", route.arithmetic)

    def _may_tabulate(self) -> bool:
        """Whether sides without a function may be tabulated, for a test of any function."""
        averaged = self.features.reference.shape[0] > 1
        is_known = isinstance(self.structure, Dense) or (
            self.structure is not None and not averaged
        )
        return self.tabulates and not is_known

    def _verified(
        self, route: Route, tile: Tile, precision: Precision, warn: Callable[[str], None]
    ) -> Route:
        """The route without the contrasts that fail verification."""
        try:
            failed = self._failed(route, tile, precision)
        except ModelError:
            # The direct route names the failing row.
            return without(route, route.arithmetic.keys())
        n_wrong = sum(failed.values())
        if n_wrong > NOTICEABLE * len(route.arithmetic) and all(self.trusted.values()):
            warn(_fallback_warning(route.name, n_wrong, len(route.arithmetic)))
        if isinstance(self.structure, Dense):
            for contrast, kind in route.arithmetic.items():
                self.trusted[_sides(contrast, kind)] = contrast not in failed
        return without(route, failed.keys())

    def _failed(self, route: Route, tile: Tile, precision: Precision) -> dict[Contrast, bool]:
        """The contrasts for which the route is not used; whether the user should know about it."""
        functions = route.functions
        if not isinstance(self.structure, Dense):
            right = not functions or repeats(self.view, self.features, functions, tile)
            return {} if right else dict.fromkeys(route.arithmetic, True)
        new: dict[Contrast, Arithmetic] = {}
        failed: dict[Contrast, bool] = {}
        for contrast, kind in route.arithmetic.items():
            before = self.trusted.get(_sides(contrast, kind))
            if before is None:
                new[contrast] = kind
            elif not before:
                failed[contrast] = False
        return failed | not_reproduced(
            self.view,
            self.features,
            self.structure,
            new,
            self.prepared | functions,
            tile,
            precision,
            self.tolerance,
        )


def _sides(contrast: Contrast, arithmetic: Arithmetic) -> tuple[Computed, Computed]:
    return Computed(contrast.base, arithmetic), Computed(contrast.full, arithmetic)


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
