"""The additive prediction of a set of features, from predictions with only some of them revealed.

A set T has an interaction if revealing it predicts something that its parts do not add up to. The
parts are added on the link scale of the model,

    eta(additive) = - sum over proper subsets S of T of (-1)^(|T| - |S|) eta(S),

the empty set included. For a pair that is eta(j) + eta(k) - eta(nothing). The coefficients add up
to 1.

Each prediction is known only up to rounding, so its link value lies in an interval. If the interval
of the sum holds the prediction of T, the additive prediction *is* the prediction of T: nothing but
rounding separates them, and a row must not count because of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Any, Literal, NamedTuple

import numpy as np

from sfit._array import Array
from sfit._contrast import Reveal, Rounding, Term, rounding
from sfit._losses import Loss

CLIP = 1e-6
"""Probabilities below this are set to it before their logarithm is taken.

A forest predicts exactly 0 if none of its trees saw the class: that means rare, not impossible. No
realistic number of rows tells a probability below one in a million from 0, and in single precision
1 - p is wrong by about 1e-7. A clipped probability may stand for any smaller one, so a row whose
additive prediction depends on it counts only if no smaller probability would explain the row.
"""

Scale = Literal["identity", "log", "log_probability"]


class Interval(NamedTuple):
    """Link values of some predictions, and bounds that hold despite rounding."""

    value: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class Additive:
    """The additive prediction of a term from its proper subsets, on the link scale of the model."""

    term: Term
    given: Term
    scale: Scale

    def visible(self, everything: Term) -> Term:
        """The features that this side reveals: all of them, but never the whole term at once."""
        return self.term | self.given

    def identity(self) -> tuple[Any, ...]:
        """Identifies this side in a checkpoint; the same in every process."""
        return self.scale, tuple(sorted(self.term)), tuple(sorted(self.given))

    def needs(self) -> tuple[Reveal, ...]:
        """All subsets of the term, from the empty one to the term itself."""
        sizes = range(len(self.term) + 1)
        subsets = chain.from_iterable(combinations(sorted(self.term), size) for size in sizes)
        return tuple(Reveal(self.given.union(subset)) for subset in subsets)

    def combine(self, predictions: Sequence[Any], tolerance: Rounding) -> Any:
        """Add up the parts; where only rounding separates the sum from the term, the term's own.

        The term itself is the last of the predictions. It enters the sum like the others, with a
        coefficient of -1, which leaves the interaction.
        """
        whole, link = predictions[-1], LINKS[self.scale]
        at = _distinct_rows(predictions)
        additive: Any = 0.0
        low: Any = 0.0
        high: Any = 0.0
        for side, prediction in zip(self.needs(), predictions, strict=True):
            # Link values of distinct predictions, then of rows.
            of_values = link.forward(prediction.values, tolerance)
            value, least, most = (_taken(part, prediction.codes, at) for part in of_values)
            # -(-1)^(|T| - |S|); given features are in both sets.
            n_hidden = len(self.term | self.given) - len(side.shown)
            if n_hidden % 2:
                additive, low, high = additive + value, low + least, high + most
            else:
                additive = additive - value if n_hidden else additive
                low, high = low - most, high - least
        same = link.is_zero(low, high)
        of_whole = _taken(whole.values, whole.codes, at)
        values = link.inverse(additive).astype(of_whole.dtype)
        values = np.where(same if values.ndim == 1 else same[:, None], of_whole, values)
        return replace(whole, values=values, codes=None if at is None else whole.codes)


def _distinct_rows(predictions: Sequence[Any]) -> Array | None:
    """One row for each distinct prediction of the whole term, if it determines all the others.

    So it does for trees: a cell of the whole term lies in one cell of each part. None: every row.
    """
    *parts, whole = predictions
    if whole.codes is None or 2 * len(whole.values) > whole.n_rows:
        return None
    rows = np.zeros(len(whole.values), dtype=np.intp)
    rows[whole.codes] = np.arange(whole.n_rows)
    of_rows = rows.take(whole.codes)
    for part in parts:
        if part.is_constant:
            continue
        if part.codes is None or (part.codes.take(of_rows) != part.codes).any():
            return None
    return rows


def _taken(values: Array, codes: Array | None, at: Array | None) -> Array:
    """Values for some rows, or for every row. Without codes there is one per row, or for all."""
    if codes is None:
        return values
    return values.take(codes if at is None else codes.take(at), axis=0)


# --- links --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Link:
    """From predictions to the scale on which the parts of a set are added, and back."""

    forward: Callable[[Array, Rounding], Interval]
    inverse: Callable[[Array], Array]
    is_zero: Callable[[Array, Array], Array]
    """Whether bounds of an interaction admit none, row by row."""


def _identity(values: Array, tolerance: Rounding) -> Interval:
    value = values.astype(np.float64)
    error = rounding(np.abs(value), *tolerance)
    return Interval(value, value - error, value + error)


def _log(values: Array, tolerance: Rounding) -> Interval:
    value = values.astype(np.float64)
    # A prediction that is not positive has no finite loss either; the loss names its row.
    with np.errstate(divide="ignore", invalid="ignore"):
        eta = np.log(value)
        # The model's own exp() turns rounding of eta into a relative error of that size.
        error = rounding(value * (1 + np.abs(eta)), *tolerance)
        return Interval(eta, np.log(np.maximum(value - error, 0.0)), np.log(value + error))


def _log_probability(values: Array, tolerance: Rounding) -> Interval:
    value = values.astype(np.float64)
    clipped = np.maximum(value, CLIP)
    # A model may compute the probability of one class as 1 minus that of the other, so a small
    # probability is no more precise than a large one.
    error = rounding(1.0, *tolerance)
    with np.errstate(divide="ignore"):
        low = np.log(np.where(value < CLIP, 0.0, np.maximum(value - error, 0.0)))
    return Interval(np.log(clipped), low, np.log(clipped + error))


def _exp(eta: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(eta)


def _softmax(eta: Array) -> Array:
    odds = np.exp(eta - eta.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _holds_zero(low: Array, high: Array) -> Array:
    """Whether every output may be without an interaction."""
    inside = (low <= 0) & (high >= 0)
    return inside if inside.ndim == 1 else np.asarray(inside.all(axis=1))


def _holds_a_constant(low: Array, high: Array) -> Array:
    """Whether all classes may differ by one constant, which softmax removes."""
    return np.asarray(low.max(axis=1) <= high.min(axis=1))


LINKS: dict[Scale, Link] = {
    "identity": Link(_identity, np.asarray, _holds_zero),
    "log": Link(_log, _exp, _holds_zero),
    "log_probability": Link(_log_probability, _softmax, _holds_a_constant),
}
"""The links by name. For two classes, `log_probability` adds log-odds."""


def scale_of(task: str, loss: Loss) -> Scale:
    """The link scale of a model: its own for probabilities and positive predictions, else none."""
    if task == "classification":
        return "identity" if loss.output == "scores" else "log_probability"
    return "log" if loss.positive else "identity"
