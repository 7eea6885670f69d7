"""The one idea: every test compares, row by row, the losses of two sides.

A *term* is a set of features. To *reveal* a term is to predict rows in which the features of the
term are as observed and every other feature is frozen at its reference value. A contrast is

    delta_i = (1 - beta) * loss_i(base side) - loss_i(full side)          (section 2.1)

and everything reported about it follows from `delta` and from

    rho_i = (loss_i(base) - loss_i(full)) / loss_i(base),

the relative improvement of row i: the row counts as positive when rho_i > beta.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from sfit._array import Array

Term = frozenset[int]
"""Indices of features, never of columns."""


class Rounding(NamedTuple):
    """How precise single predictions are."""

    unit: float
    """Rounding unit of the model's float type."""
    noise: float
    """Error of a prediction that its size does not show."""


EXACT = Rounding(0.0, 0.0)
"""Predictions without rounding errors."""


class Side(Protocol):
    """A way to predict rows; hashable."""

    def visible(self, everything: Term) -> Term:
        """The features that this side reveals."""

    def identity(self) -> tuple[Any, ...]:
        """Identifies this side in a checkpoint; the same in every process."""

    def needs(self) -> tuple[Reveal, ...]:
        """The sides of the fitted model from which the predictions of this side follow."""

    def combine(self, predictions: Sequence[Any], tolerance: Rounding) -> Any:
        """The predictions of this side, from those of the sides that it needs.

        A side that does arithmetic must not differ from another by rounding alone.
        """

    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class Reveal:
    """The fitted model with the features in `shown` revealed and all others hidden."""

    shown: Term

    def visible(self, everything: Term) -> Term:
        """The features that this side reveals."""
        return self.shown

    def identity(self) -> tuple[Any, ...]:
        """Identifies this side in a checkpoint; the same in every process."""
        return tuple(sorted(self.shown))

    def needs(self) -> tuple[Reveal, ...]:
        """The side itself."""
        return (self,)

    def combine(self, predictions: Sequence[Any], tolerance: Rounding) -> Any:
        """The predictions themselves."""
        [prediction] = predictions
        return prediction


@dataclass(frozen=True)
class Refit:
    """The model refitted without one feature (LOCO, Lei et al. 2018)."""

    without: int

    def visible(self, everything: Term) -> Term:
        """The features that this side reveals."""
        return everything - {self.without}

    def identity(self) -> tuple[Any, ...]:
        """Identifies this side in a checkpoint; the same in every process."""
        return (self.without,)

    def needs(self) -> tuple[Reveal, ...]:
        """Nothing of the fitted model: the predictions come from a refit, which is stored."""
        return ()

    def combine(self, predictions: Sequence[Any], tolerance: Rounding) -> Any:
        """Refuse: the stored predictions of a refit must be passed to the predictor."""
        raise RuntimeError(f"no predictions are stored for the model without {self.without}")


@dataclass(frozen=True)
class Contrast:
    """Two sides to compare: whether `full` improves on `base` by more than beta."""

    term: Term
    base: Side
    full: Side
    order: int = 1
    beta: float = 0.0
    role: Literal["test", "subset", "gate"] = "test"


class Question(NamedTuple):
    """A contrast, evaluated on one part of the rows."""

    contrast: Contrast
    part: int
    n: int
    """Number of rows in the part."""
    threshold: float = 1.0
    """The smallest level with which a p-value of its order is compared."""


class Losses(NamedTuple):
    """Losses of two sides: one entry per row, or per distinct pair with its row count."""

    base: Array
    full: Array
    counts: Array | None
    moved: Array | None = None
    """Entries whose prediction differs by more than rounding; None: all of them."""


@dataclass(frozen=True)
class Effects:
    """Figures that describe a contrast, whatever the test."""

    loss_base: float
    """Mean loss of the base side."""
    loss_full: float
    """Mean loss of the full side."""
    share_moved: float
    """Share of rows whose prediction differs between the sides."""
    n_better: int
    """Rows whose loss is smaller on the full side."""
    n_worse: int
    """Rows whose loss is larger on the full side."""
    share_nonadditive: float = field(default=math.nan, kw_only=True)
    """Share of the gain of the whole set that its parts do not add up to.

    The gain over the additive base, divided by the gain over the features given. NaN if the base is
    not additive, or if revealing the whole set does not lower the mean loss.
    """

    @property
    def gain(self) -> float:
        """Mean loss saved by the full side."""
        return self.loss_base - self.loss_full


@dataclass(frozen=True)
class Evidence:
    """The result of a contrast over all rows; everything reported about it comes from here."""

    n: int
    """Number of units that count."""
    effects: Effects


def same_prediction(a: Array, b: Array, unit: float, noise: float) -> Array:
    """Rows whose two predictions differ by no more than rounding, in every raw output.

    `unit` is the rounding unit of the model's float type and `noise` the largest difference seen
    between predicting rows one at a time and in a batch. Without this rule, a feature that the
    model ignores can appear significant, because its base is a single row, predicted alone.
    """
    gap = np.abs(a - b)
    # Usually all rows differ by more than the tolerance of the largest prediction.
    most = np.abs(a).max(initial=0.0) + gap.max(initial=0.0)
    if (gap > rounding(most, unit, noise)).all():
        return np.zeros(len(gap), dtype=bool)
    close: Array = gap <= rounding(np.maximum(np.abs(a), np.abs(b)), unit, noise)
    return close if close.ndim == 1 else np.asarray(close.all(axis=1))


def rounding(size: Any, unit: float, noise: float) -> Any:
    """The tolerance within which two predictions of a given size count as equal."""
    return np.maximum(8 * unit * size, 4 * noise)


def relative_improvement(base: Array, full: Array) -> Array:
    """rho, one number per row; minus infinity if the base loss is 0 and cannot improve.

    Negative losses are admitted only at beta = 0, where only the sign of base - full matters;
    dividing by the absolute base loss preserves it.
    """
    rho = np.asarray(base - full)
    if base.min(initial=np.inf) > 0:
        with np.errstate(over="ignore"):
            rho /= base
        return rho
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        rho /= np.abs(base)
    no_base = base == 0
    rho[no_base] = np.where(full[no_base] < 0, np.inf, -np.inf)
    return rho


def delta(base: Array, full: Array, positive: Array, beta: float) -> Array:
    """Loss differences, positive exactly where rho > beta, despite rounding."""
    difference = (1 - beta) * base
    difference -= full
    wrong = positive != (difference > 0)
    if wrong.any():
        difference[wrong] = np.where(positive[wrong], np.nextafter(0.0, np.inf), 0.0)
    return np.asarray(difference)
