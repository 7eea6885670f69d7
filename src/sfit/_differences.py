"""From the predictions of two sides to comparable losses: row by row, or counted.

If both sides take few values and the target is a class, the losses take one value per (cell,
class). Rows are then only counted, once per combination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from sfit._array import Array
from sfit._contrast import Contrast, Losses, Question, Side, same_prediction
from sfit._diagnostics import base_is_far
from sfit._losses import Loss
from sfit._statistic import Scored
from sfit.restrict import Arithmetic, Computed, Plan, Precision, Prediction, SidePredictions
from sfit.rows import Rows, Strata, Tile

SPREAD_ROWS = 16_384
"""Rows whose values become the knots of tables, if there is more than one tile."""


class Ask(NamedTuple):
    """A question, and the arithmetic that the route computes both of its sides in."""

    question: Question
    arithmetic: Arithmetic

    @property
    def base(self) -> Computed:
        """The base side."""
        return Computed(self.question.contrast.base, self.arithmetic)

    @property
    def full(self) -> Computed:
        """The full side."""
        return Computed(self.question.contrast.full, self.arithmetic)


class Evaluated(Protocol):
    """Rows, and how the losses of contrasts are computed on their tiles."""

    @property
    def rows(self) -> Rows:
        """The rows to predict."""

    @property
    def threads_only(self) -> bool:
        """Whether a model cannot be sent to another process."""

    def prepare(
        self, contrasts: Sequence[Contrast], warn: Callable[[str], None], tabulate: bool
    ) -> Plan:
        """Choose the route of some contrasts."""

    def scored(self, tile: Any, asks: Sequence[Ask], by_row: bool) -> Iterator[Scored]:
        """The view of a tile for each question; all questions share one base."""

    def light(self, sides: Set[Computed]) -> Self:
        """Only what some sides need, for another process; without the rows."""

    def is_prepared(self, sides: Set[Computed]) -> bool:
        """Whether some sides need neither the model nor linear algebra."""


@dataclass(frozen=True)
class Evaluation:
    """How the losses of two sides are computed and compared."""

    rows: Rows
    """The rows to predict; cached predictions belong to them."""
    predictions: SidePredictions
    loss: Loss
    n_classes: int
    """0 for regression."""
    unit: float
    """Rounding unit of the model's float type."""
    noise: float
    """Variation of a prediction from the model's own arithmetic; see `rounding_noise`."""
    nonnegative: bool = False
    """Whether negative losses are refused even at beta = 0."""
    probe: tuple[Array, Array] | None = None
    """Predictions of some rows, with nothing and with everything revealed."""

    def of_rows(self, rows: Rows) -> Evaluation:
        """The same for other rows, of which no prediction is known yet."""
        memory = type(self.predictions.memory)()
        return replace(self, rows=rows, predictions=replace(self.predictions, memory=memory))

    def caveats(self) -> list[str]:
        """Sentences about a base prediction that is far from the predictions of the rows."""
        if self.probe is None:
            return []
        base, predictions = (values.reshape(len(values), -1) for values in self.probe)
        text = base_is_far(base[0], predictions)
        return [] if text is None else [text]

    def prepare(
        self, contrasts: Sequence[Contrast], warn: Callable[[str], None], tabulate: bool
    ) -> Plan:
        """Choose the route of some contrasts.

        `tabulate`: whether any function of the revealed values will do.
        """
        precision = Precision(self.unit, self.noise, len(self.rows))
        spread = self._spread_rows if tabulate else None
        return self.predictions.prepare(contrasts, self.rows.first, precision, warn, spread)

    @property
    def threads_only(self) -> bool:
        """Whether the model cannot be sent to another process."""
        return self.predictions.view.threads_only

    def light(self, sides: Set[Computed]) -> Evaluation:
        """Only what some sides need; without the rows, which each job brings."""
        predictions = self.predictions
        parts = predictions.parts_of(sides)
        prepared = {
            side: predictions.prepared[side] for side in parts & predictions.prepared.keys()
        }
        light = replace(predictions, structure=None, prepared=prepared, trusted={})
        if len(prepared) == len(parts):
            # No side needs the model.
            light = replace(light, view=None)  # type: ignore[arg-type]
        return replace(self, predictions=light, rows=None)  # type: ignore[arg-type]

    def is_prepared(self, sides: Set[Computed]) -> bool:
        """Whether some sides need neither the model nor linear algebra."""
        updates = any(side.arithmetic == "update" for side in sides)
        return self.predictions.parts_of(sides) <= self.predictions.prepared.keys() and not updates

    def scored(self, tile: Tile, asks: Sequence[Ask], by_row: bool) -> Iterator[Scored]:
        """The view of a tile for each question, one side at a time; all questions share one base.

        `by_row`: whether losses must have one entry per row.
        """
        of_base = self.predictions.on(tile, [asks[0].base])
        of_full = self.predictions.on(tile, [ask.full for ask in asks], of_base)
        signed = not self.nonnegative and all(ask.question.contrast.beta == 0 for ask in asks)
        base = Base(self, tile, of_base[asks[0].base], signed)
        strata = partial(self._strata, tile, asks[0].base.side)
        by_full: dict[Computed, list[int]] = {}
        for position, ask in enumerate(asks):
            by_full.setdefault(ask.full, []).append(position)
        for side, positions in by_full.items():
            full = of_full[side]
            parts = [asks[position].question.part for position in positions]
            compared = base.against(full, parts, by_row)
            for position, part, losses in zip(positions, parts, compared, strict=True):
                yield Scored(
                    position=position,
                    question=asks[position].question,
                    losses=losses,
                    y=tile.y,
                    full=full,
                    rows=None if tile.part is None else tile.part == part,
                    tile=tile.index,
                    is_ignored=partial(base.is_same, full),
                    strata=strata,
                    clusters=tile.cluster,
                )

    def _strata(self, tile: Tile, base: Side) -> Strata | None:
        """The rows of a tile by the values that the base reveals; None if it reveals nothing."""
        features = self.predictions.features
        return tile.strata(features.shown(base.visible(features.everything)))

    def _spread_rows(self) -> Tile:
        """Rows from all over the data; the first tile alone may hold other values."""
        first, n = self.rows.first, len(self.rows)
        # The number of its rows does not tell: a tile may hold moved copies.
        if self.rows.tile_runs[-1].tile_range.stop == 1:
            return first
        some = np.linspace(0, n - 1, min(SPREAD_ROWS, len(first))).astype(np.int64)
        return self.rows.undivided().subset(some).first


class Base:
    """The base side on one tile; its predictions and losses by row are computed at most once."""

    def __init__(self, evaluation: Evaluation, tile: Tile, prediction: Prediction, signed: bool):
        self.evaluation = evaluation
        self.tile = tile
        self.prediction = prediction
        self.signed = signed

    def against(
        self, full: Prediction, parts: Sequence[int], by_row: bool = False
    ) -> Iterator[Losses]:
        """Losses of the base and of a full side, for each of some parts of the rows.

        `by_row`: one entry per row, even if the losses take few values.
        """
        n_losses = _n_pairs(self.prediction, full) * self.evaluation.n_classes
        few = n_losses <= len(self.tile) and self.tile.cluster is None and not by_row
        # A table skips the checks of losses, so only built-in losses may use it.
        if self.evaluation.loss.task == "classification" and few:
            return self._counted(full, parts)
        return self._row_by_row(full, parts)

    def losses_by_row(self, full: Prediction) -> Losses:
        """Losses of the base and of a full side, one entry for every row of the tile.

        If two predictions differ only by rounding, the full side is set to the base.
        """
        if self.prediction.is_constant:
            # Compare each distinct value once for all its rows.
            base = self.prediction.values
        else:
            base, full = self._predicted, Prediction(full.by_row(), None, full.n_rows)
        same = self._same(base, full.values)
        n_same = np.count_nonzero(same)
        if n_same == len(same):
            # The model ignores this feature: return the identical array, which callers recognise.
            nowhere = np.zeros(len(self.tile), dtype=bool)
            return Losses(self._base_losses, self._base_losses, None, nowhere)
        # The dtype in which losses are computed must not depend on other rows.
        values = full.values.astype(np.result_type(base, full.values), copy=False)
        moved = None
        if n_same:
            values = np.where(_like(same, values), base, values)
            moved = Prediction(~same, full.codes, full.n_rows).by_row()
        by_row = Prediction(values, full.codes, full.n_rows).by_row()
        return Losses(self._base_losses, self._loss(by_row), None, moved)

    def is_same(self, full: Prediction) -> bool:
        """Whether the full side equals the base everywhere, but for rounding."""
        if self.prediction.is_constant:
            return bool(self._same(self.prediction.values, full.values).all())
        return bool(self._same(self._predicted, full.by_row()).all())

    @cached_property
    def _predicted(self) -> Array:
        return self.prediction.by_row()

    @cached_property
    def _base_losses(self) -> Array:
        # All questions of a tile share this array: no statistic may write to it.
        losses = self._loss(self._predicted).view()
        losses.flags.writeable = False
        return losses

    def _loss(self, by_row: Array) -> Array:
        return self.evaluation.loss(self.tile.y, by_row, self.tile.number, self.signed)

    def _same(self, base: Array, full: Array) -> Array:
        return same_prediction(base, full, self.evaluation.unit, self.evaluation.noise)

    def _row_by_row(self, full: Prediction, parts: Sequence[int]) -> Iterator[Losses]:
        base, losses, _, moved = everywhere = self.losses_by_row(full)
        for part in parts:
            if self.tile.part is None:
                yield everywhere
            else:
                mask = self.tile.part == part
                of_part = base[mask]
                of_full = of_part if losses is base else losses[mask]
                yield Losses(of_part, of_full, None, None if moved is None else moved[mask])

    def _counted(self, full: Prediction, parts: Sequence[int]) -> Iterator[Losses]:
        """Both sides take few values: count the rows of each (full cell, base cell, class)."""
        base, n_classes, tile = self.prediction, self.evaluation.n_classes, self.tile
        base_losses = _loss_table(self.evaluation, base.values)
        full_losses = _loss_table(self.evaluation, full.values)
        n_base = len(base.values)
        cell = np.zeros(len(tile), dtype=np.int64)
        for prediction, size in ((full, len(full.values)), (base, n_base)):
            cell *= size
            if prediction.codes is not None:
                cell += prediction.codes
        cell = cell * n_classes + tile.y
        for part in parts:
            counts = np.bincount(cell if tile.part is None else cell[tile.part == part])
            seen = np.flatnonzero(counts)
            pairs, classes = np.divmod(seen, n_classes)
            of_full, of_base = np.divmod(pairs, n_base)
            same = self._same(base.values[of_base], full.values[of_full])
            lost = base_losses[of_base, classes]
            of_full_side = np.where(same, lost, full_losses[of_full, classes])
            yield Losses(lost, of_full_side, counts[seen], ~same)


def _like(mask: Array, values: Array) -> Array:
    """A row mask that broadcasts over values with one or several outputs."""
    return mask if values.ndim == 1 else mask[:, None]


def _n_pairs(base: Prediction, full: Prediction) -> float:
    """Number of distinct pairs of predictions; infinite if a side has one per row."""
    for side in (base, full):
        if side.codes is None and not side.is_constant:
            return np.inf
    return len(base.values) * len(full.values)


def _loss_table(evaluation: Evaluation, values: Array) -> Array:
    """Loss of each prediction for each class."""
    n_classes = evaluation.n_classes
    classes = np.tile(np.arange(n_classes), len(values))
    losses = evaluation.loss.per_row(classes, np.repeat(values, n_classes, axis=0))
    return np.asarray(losses).reshape(len(values), n_classes)
