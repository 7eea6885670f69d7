"""Two models on the same rows, as one evaluation: the losses of a tile are differences.

Each model has rows of its own, in its own masked space, cut into the same tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sfit._array import Array
from sfit._contrast import Contrast, Losses, Reveal, Rounding, Side, Term, same_prediction
from sfit._differences import Ask, Evaluation
from sfit._statistic import Scored
from sfit.restrict import Arithmetic, Computed, Plan
from sfit.rows import Rows, Tile, TileRun


@dataclass(frozen=True)
class OfModel:
    """One of the models with everything revealed."""

    number: int

    def visible(self, everything: Term) -> Term:
        """All features."""
        return everything

    def identity(self) -> tuple[Any, ...]:
        """Identifies this side in a checkpoint."""
        return "model", self.number

    def needs(self) -> tuple[Reveal, ...]:
        """Nothing of a single model: `BetweenModels` predicts it."""
        return ()

    def combine(self, predictions: Sequence[Any], tolerance: Rounding) -> Any:
        """Refuse: only `BetweenModels` predicts this side."""
        raise RuntimeError(f"model {self.number} is compared with another, not alone")


WHOLE = Contrast(frozenset(), OfModel(0), OfModel(1))
"""The loss of the first model minus that of the second."""


class PairTile(NamedTuple):
    """The same rows, in the masked spaces of both models."""

    first: Tile
    second: Tile


@dataclass(frozen=True)
class PairRun:
    """Consecutive tiles of both models."""

    first: TileRun
    second: TileRun

    @property
    def tile_range(self) -> range:
        """Indices of the tiles."""
        return self.first.tile_range

    def tiles(self, shared: tuple[Any, Any]) -> Iterable[PairTile]:
        """Read the tiles."""
        both = zip(self.first.tiles(shared[0]), self.second.tiles(shared[1]), strict=True)
        return (PairTile(*tiles) for tiles in both)


@dataclass(frozen=True)
class PairRows:
    """The rows of both models."""

    first: Rows
    second: Rows

    def __len__(self) -> int:
        return len(self.first)

    @property
    def tile_runs(self) -> list[PairRun]:
        """All tiles, in order; both models have the same."""
        runs = zip(self.first.tile_runs, self.second.tile_runs, strict=True)
        return [PairRun(*both) for both in runs]

    @property
    def shared(self) -> tuple[Any, Any]:
        """The argument of `PairRun.tiles`."""
        return self.first.shared, self.second.shared

    @property
    def read_once(self) -> bool:
        """Whether reading is expensive."""
        return self.first.read_once


@dataclass(frozen=True)
class Between:
    """What both kinds of comparison of two models share."""

    first: Evaluation
    second: Evaluation

    @property
    def rows(self) -> Any:
        """The rows of both models."""
        return PairRows(self.first.rows, self.second.rows)

    @property
    def threads_only(self) -> bool:
        """Whether one of the models cannot be sent to another process."""
        return self.first.threads_only or self.second.threads_only

    def _scored(self, tile: PairTile, ask: Ask, position: int, losses: Losses) -> Scored:
        """What the paired test sees of a tile."""
        return Scored(
            position=position,
            question=ask.question,
            losses=losses,
            y=tile.first.y,
            full=_Unused(),
            rows=None,
            tile=tile.first.index,
            is_ignored=lambda: losses.full is losses.base,
            strata=lambda: None,
            clusters=tile.first.cluster,
        )

    def _same(self, tile: PairTile, first: Array, second: Array) -> Array:
        """Rows for which both models predict the same, but for rounding."""
        if first.shape != second.shape:
            return np.zeros(len(first), dtype=bool)
        unit = max(self.first.unit, self.second.unit)
        # A model whose predictions are random does not predict what another does.
        most = unit**0.5 * np.abs(first).max(initial=0.0)
        noise = min(max(self.first.noise, self.second.noise), float(most))
        same = same_prediction(first, second, unit, noise)
        # Two models may list the classes in another order: equal probabilities are then of others.
        return same & (tile.first.y == tile.second.y) if self.first.n_classes else same


def _compared(base: Array, full: Array, same: Array) -> Losses:
    """Two numbers per row, made equal where both models predict the same."""
    return Losses(base, np.where(same, base, full), None, ~same)


@dataclass(frozen=True)
class BetweenModels(Between):
    """The losses of two whole models: base is the first, full the second."""

    def prepare(
        self, contrasts: Sequence[Contrast], warn: Callable[[str], None], tabulate: bool
    ) -> Plan:
        """The models themselves predict."""
        return Plan("direct", dict.fromkeys(contrasts, "model"))

    def light(self, sides: Set[Computed]) -> BetweenModels:
        """Both models, without their rows."""
        first, second = (
            replace(one, rows=None, predictions=replace(one.predictions, structure=None))  # type: ignore[arg-type]
            for one in (self.first, self.second)
        )
        return BetweenModels(first, second)

    def is_prepared(self, sides: Set[Computed]) -> bool:
        """Whether some sides need neither a model nor linear algebra."""
        return False

    def scored(self, tile: PairTile, asks: Sequence[Ask], by_row: bool) -> Iterator[Scored]:
        """The losses of both models, by row."""
        both = list(zip((self.first, self.second), tile, strict=True))
        first, second = predicted = [whole_prediction(*one) for one in both]
        base, full = (
            evaluation.loss(one.y, by_row, one.number, signed=True)
            for (evaluation, one), by_row in zip(both, predicted, strict=True)
        )
        losses = _compared(base, full, self._same(tile, first, second))
        for position, ask in enumerate(asks):
            yield self._scored(tile, ask, position, losses)


def whole_prediction(evaluation: Evaluation, tile: Tile) -> Array:
    """The predictions of a model with everything revealed, by row."""
    everything = Reveal(evaluation.predictions.features.everything)
    return evaluation.predictions.one(tile, everything).by_row()


class _Gain(NamedTuple):
    """A feature in one model, by row."""

    gain: Array
    base: Array
    """Predictions without the feature."""
    full: Array


@dataclass(frozen=True)
class BetweenGains(Between):
    """The gains of features in two models: base is the second model's gain, full the first's.

    A positive difference then means that the second model gains more. A feature that a model does
    not have gains nothing in it.
    """

    places: tuple[Mapping[int, int], Mapping[int, int]]
    """For each model, the positions of the features that it has."""

    def prepare(
        self, contrasts: Sequence[Contrast], warn: Callable[[str], None], tabulate: bool
    ) -> Plan:
        """The route of each model."""
        routes, kinds = [], []
        for evaluation, place in zip((self.first, self.second), self.places, strict=True):
            own = [_in_model(contrast, place) for contrast in contrasts]
            present = [contrast for contrast in dict.fromkeys(own) if contrast.term]
            plan = Plan("none", {})
            if present:
                plan = evaluation.prepare(present, warn, tabulate)
            routes.append(plan.route)
            kinds.append([plan.arithmetic.get(contrast, "model") for contrast in own])
        both: Any = dict(zip(contrasts, zip(*kinds, strict=True), strict=True))
        return Plan(" against ".join(routes), both)

    def light(self, sides: Set[Computed]) -> BetweenGains:
        """What some sides need of both models, without their rows."""
        first, second = (
            one.light(self._sides_of(number, sides))
            for number, one in enumerate((self.first, self.second))
        )
        return replace(self, first=first, second=second)

    def is_prepared(self, sides: Set[Computed]) -> bool:
        """Whether some sides need neither a model nor linear algebra."""
        return all(
            one.is_prepared(self._sides_of(number, sides))
            for number, one in enumerate((self.first, self.second))
        )

    def scored(self, tile: PairTile, asks: Sequence[Ask], by_row: bool) -> Iterator[Scored]:
        """The gains in both models, by row, feature by feature."""
        first, second = (
            self._gains(number, evaluation, one, asks)
            for number, (evaluation, one) in enumerate(
                zip((self.first, self.second), tile, strict=True)
            )
        )
        nothing, nowhere = np.zeros(len(tile.first)), np.zeros(len(tile.first), dtype=bool)
        for position, ask in enumerate(asks):
            same = nowhere
            if position in first and position in second:
                one, two = first[position], second[position]
                same = self._same(tile, one.base, two.base) & self._same(tile, one.full, two.full)
            base, full = (
                of[position].gain if position in of else nothing for of in (second, first)
            )
            yield self._scored(tile, ask, position, _compared(base, full, same))

    def _gains(
        self, number: int, evaluation: Evaluation, tile: Tile, asks: Sequence[Ask]
    ) -> dict[int, _Gain]:
        """The gains of the features that a model has, by position."""
        place = self.places[number]
        own, positions = [], []
        for position, (question, arithmetic) in enumerate(asks):
            contrast = _in_model(question.contrast, place)
            if contrast.term:
                kind: Arithmetic = arithmetic[number]  # type: ignore[assignment]
                own.append(Ask(question._replace(contrast=contrast), kind))
                positions.append(position)
        if not own:
            return {}
        side = own[0].base
        base = evaluation.predictions.on(tile, [side])[side].by_row()
        return {
            positions[one.position]: _Gain(
                one.losses.base - one.losses.full, base, one.full.by_row()
            )
            for one in evaluation.scored(tile, own, by_row=True)
        }

    def _sides_of(self, number: int, sides: Set[Computed]) -> set[Computed]:
        """The sides of one model."""
        place = self.places[number]
        return {
            Computed(_side_in_model(side, place), arithmetic[number])  # type: ignore[arg-type]
            for side, arithmetic in sides
        }


def _in_model(contrast: Contrast, place: Mapping[int, int]) -> Contrast:
    """A contrast in the features of one model; its term is empty if the model has none of it."""
    return replace(
        contrast,
        term=frozenset(place[j] for j in contrast.term if j in place),
        base=_side_in_model(contrast.base, place),
        full=_side_in_model(contrast.full, place),
    )


def _side_in_model(side: Side, place: Mapping[int, int]) -> Reveal:
    return Reveal(frozenset(place[j] for j in side.visible(frozenset()) if j in place))


class _Unused:
    """The paired test looks at losses only."""

    def by_row(self) -> Array:
        raise RuntimeError("a comparison of two models has no single prediction")
