"""The one idea: every test compares, row by row, the losses of two sides.

A *term* is a set of features. To *reveal* a term is to show the model the rows with the features of
the term as observed and every other feature frozen at its reference value. A contrast is

    delta_i = (1 - beta) * loss_i(base side) - loss_i(full side)          (section 2.1)

and everything that is reported about it comes from `delta` and from

    rho_i = (loss_i(base) - loss_i(full)) / loss_i(base),

the relative improvement of row i: the row counts as positive when rho_i > beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Term = frozenset[int]
"""Indices of features, never of columns."""
Arithmetic = Literal["model", "polyline", "update"]


@dataclass(frozen=True)
class Reveal:
    """The fitted model, with the features of `shown` as observed and the others frozen."""

    shown: Term
    arithmetic: Arithmetic = "model"
    """The model's own, or that of a route which computes it anew, in other steps. Both sides of a
    contrast share it, so that rounding cannot tell them apart.
    """


@dataclass(frozen=True)
class Refit:
    """A model fitted anew without one feature (LOCO, Lei et al. 2018)."""

    without: int


Side = Reveal | Refit


@dataclass(frozen=True)
class Contrast:
    """Two sides to compare, to see whether `full` beats `base` by more than beta."""

    term: Term
    base: Side
    full: Side
    order: int = 1
    beta: float = 0.0
    role: Literal["test", "subset", "gate"] = "test"


class Losses(NamedTuple):
    """Losses of two sides; one entry per row, or per distinct pair with its number of rows."""

    base: Array
    full: Array
    counts: Array | None


@dataclass(frozen=True)
class Evidence:
    """What all rows say about a contrast: everything that is ever reported comes from here.

    The median and the ends of its interval are not numbers where beta_max alone was asked for.
    """

    n: int
    n_positive: int
    n_improvable: int
    """Rows whose base loss leaves anything to improve; no other row can count as positive."""
    statistic: float
    ci_low: float
    ci_high: float
    ci_lower: float
    beta_max: float


def shown_by(side: Side, everything: Term) -> Term:
    """The features that a side can see."""
    return side.shown if isinstance(side, Reveal) else everything - {side.without}


def same_prediction(a: Array, b: Array, unit: float, noise: float) -> Array:
    """Rows whose two predictions differ by no more than rounding, in every raw output.

    `unit` is the rounding unit of the model's float type and `noise` the largest difference seen
    between predicting rows one at a time and in a batch. Without this a feature that the model
    ignores can look significant, because its base is one row, predicted alone.
    """
    gap = np.abs(a - b)
    # Mostly all rows are further apart than the largest prediction would allow.
    most = np.abs(a).max(initial=0.0) + gap.max(initial=0.0)
    if (gap > rounding(most, unit, noise)).all():
        return np.zeros(len(gap), dtype=bool)
    close: Array = gap <= rounding(np.maximum(np.abs(a), np.abs(b)), unit, noise)
    return close if close.ndim == 1 else np.asarray(close.all(axis=1))


def rounding(size: Any, unit: float, noise: float) -> Any:
    """How far two predictions of some size may be apart, and be the same."""
    return np.maximum(8 * unit * size, 4 * noise)


def relative_improvement(base: Array, full: Array) -> Array:
    """rho, one number per row; minus infinity where there was no loss to improve on.

    Losses below zero are only admitted at beta = 0, where all that matters is the sign of
    base - full; dividing by the size of the base loss keeps it.
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
    """Loss differences, positive exactly where rho > beta (rounding must not disagree)."""
    difference = (1 - beta) * base
    difference -= full
    wrong = positive != (difference > 0)
    if wrong.any():
        difference[wrong] = np.where(positive[wrong], np.nextafter(0.0, np.inf), 0.0)
    return np.asarray(difference)
