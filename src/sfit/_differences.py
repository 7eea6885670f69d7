"""From the predictions of two sides to losses that can be compared: row by row, or all at once.

Where both sides take few values and the target is a class, the losses take one value per (cell,
class): these are counted, and no row is looked at twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfit._contrast import same_prediction
from sfit._losses import Loss
from sfit._rows import Tile
from sfit.restrict import SidePredictions
from sfit.restrict._prediction import Prediction

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Evaluation:
    """How the losses of two sides are computed and compared."""

    predictions: SidePredictions
    loss: Loss
    n_classes: int
    """0 for regression."""
    unit: float
    """Rounding unit of the model's float type."""
    noise: float
    """What the model's own arithmetic can change in a prediction; see `rounding_noise`."""
    stages: list[dict[str, Any]] = field(default_factory=list)
    """Of each order and gate: its name, the route its sides were predicted by, and the seconds."""


class Losses(NamedTuple):
    """Losses of two sides; one entry per row, or per distinct pair with its number of rows."""

    base: Array
    full: Array
    counts: Array | None


class Base:
    """The base side on one tile, and its losses by row, which are computed once if at all."""

    def __init__(self, evaluation: Evaluation, tile: Tile, prediction: Prediction, signed: bool):
        self.evaluation, self.tile, self.prediction, self.signed = (
            evaluation,
            tile,
            prediction,
            signed,
        )
        self._by_row: Array | None = None
        self._losses: Array | None = None

    def against(self, full: Prediction, parts: Sequence[int]) -> Iterator[Losses]:
        """Losses of the base and of a full side, for each of some parts of the rows."""
        n_cells = _cells(self.prediction, full) * self.evaluation.n_classes
        if self.evaluation.loss.task == "classification" and n_cells <= len(self.tile):
            yield from self._counted(self._equalised(full), parts)
            return
        prediction = self._equalised(full).by_row()
        tile, loss = self.tile, self.evaluation.loss
        base = self._loss_by_row()
        losses = loss(tile.y, prediction, tile.number, self.signed)
        for part in parts:
            if tile.part is None:
                yield Losses(base, losses, None)
            else:
                own = tile.part == part
                yield Losses(base[own], losses[own], None)

    def _loss_by_row(self) -> Array:
        if self._losses is None:
            by_row = self.prediction.by_row()
            self._losses = self.evaluation.loss(self.tile.y, by_row, self.tile.number, self.signed)
        return self._losses

    def _equalised(self, full: Prediction) -> Prediction:
        """The full side, with predictions that differ from the base by rounding only set to it."""
        unit, noise = self.evaluation.unit, self.evaluation.noise
        if self.prediction.is_constant:
            base, values, codes = self.prediction.values, full.values, full.codes
        else:
            if self._by_row is None:
                self._by_row = self.prediction.by_row()
            base, values, codes = self._by_row, full.by_row(), None
        same = same_prediction(base, values, unit, noise)
        if not same.any():
            return full
        values = np.where(same if values.ndim == 1 else same[:, None], base, values)
        return Prediction(values, codes, full.n_rows)

    def _counted(self, full: Prediction, parts: Sequence[int]) -> Iterator[Losses]:
        n_classes, tile = self.evaluation.n_classes, self.tile
        base_losses = _loss_table(self.evaluation, self.prediction.values)
        full_losses = _loss_table(self.evaluation, full.values)
        pair = np.zeros(len(tile), dtype=np.int32) if full.codes is None else full.codes
        n_base = len(self.prediction.values)
        if self.prediction.codes is not None:
            pair = pair * np.int32(n_base) + self.prediction.codes
        cell = pair * np.int32(n_classes) + tile.y
        for part in parts:
            own = cell if tile.part is None else cell[tile.part == part]
            counts = np.bincount(own)
            seen = np.flatnonzero(counts)
            pairs, classes = np.divmod(seen, n_classes)
            of_full, of_base = np.divmod(pairs, n_base)
            yield Losses(base_losses[of_base, classes], full_losses[of_full, classes], counts[seen])


def _cells(base: Prediction, full: Prediction) -> float:
    """Number of distinct pairs of predictions; infinite where a side has one per row."""
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
