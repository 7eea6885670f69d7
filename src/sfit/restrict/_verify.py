"""Verification of fast routes: on a sample of rows they must reproduce the model's predictions.

A route can change the sign of a row's difference only if its two losses are closer than the error
of the route. The share of such rows depends on the error relative to the *effect*: how far the full
side of a contrast moves from its base. The size of the prediction is no guide: if a column is far
from zero, single precision rounds a prediction by little and its change by much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from sfit._contrast import Contrast, Reveal, Side, rounding, same_prediction
from sfit._features import Features
from sfit.models import Dense, ModelView
from sfit.restrict._direct import Memory, predict_directly
from sfit.restrict._first_layer import make_updates
from sfit.restrict._inputs import inputs_of
from sfit.restrict._mean_polyline import MeanOfPolylines
from sfit.restrict._prediction import Restricted
from sfit.restrict._relu import NEAR, Polyline
from sfit.rows import Tile, reveal, take_rows

Array = npt.NDArray[Any]

VERIFIED_ROWS, VERIFIED_CELLS = 16, 32
"""Rows of each side that are compared with the model; of cell tables, only this many sides."""

VERIFIED_VALUES, LEAST_SIDES = 1 << 22, 16
"""Values in all rows that the model predicts for verification, and its smallest number of sides.

All sides are compared up to 470 columns; beyond, the work no longer grows with their square."""

SHARE_OF_ROWS = 1e-5
"""Share of the rows that a route may count differently from the model; at least one row."""

FLIPPED = 0.5
"""Of n rows with mean error e and typical effect m, about 0.5 n e / m are counted differently.

0.5 is the density of a standardised normal effect at zero, where a row begins to count, plus that
of the target halfway between two predictions, where it ceases to.
"""

ROUNDINGS, TOGETHER = 4.0, 16.0
"""Any computation has a mean error of up to 4 rounding units of the prediction. A larger error
means that the network loses digits because columns are far from zero. Such a column has few
distinct values left, and rows of one value change together: 16 of them.
"""

CROWD_ROWS, CROWD_SHARE, CROWD, WIDER = 1_024, 16, 4, 8
"""To estimate how many rows lie near the rounding threshold, the route predicts 1,024 rows, or
one in 16 of a short tile. More than `CROWD` are too many. They are counted in a window 8 times
wider, which makes the estimate stable.
"""

NO_CROWD = 1e-4
"""If the error is below this share of the largest that passes, only a crowd 10,000 times denser
than usual would matter, so none is looked for. In double precision this is the usual case.
"""

LOST = 1e-5
"""A polyline rounds by a share of the largest raw output along its column. That may be this share
of what a row is moved by. If it is more, as where one value is 1e20 and others are 1, rows are
counted by rounding, and the few that are compared with the model need not show it.
"""

ROUNDING_POWER = 0.4
"""No row's error may exceed this power of the rounding unit as a share of the effect: 6e-7 in
double precision, 2e-3 in single. A wrong structure is further from the model.
"""


@dataclass(frozen=True)
class Precision:
    """The required accuracy of a route: the rounding rule and the number of rows."""

    unit: float
    noise: float
    n: int

    @property
    def share(self) -> float:
        """Share of the rows that may be counted differently: at least one row."""
        return max(SHARE_OF_ROWS, 1 / self.n)

    def are_small(
        self, errors: Array, mean: Array, effects: Array, sizes: Array, usual: float
    ) -> Array:
        """Whether errors are small relative to effects: (contrasts, rows, outputs) -> contrasts.

        The error of every row must be small, or the structure is wrong; so must their mean, which
        changes the counts. `sizes` are the sizes of the predictions, `usual` the typical one. If no
        row counts, no count can be wrong, but losses are still reported: the error must then be
        small relative to the prediction.
        """
        beside = np.where(np.isinf(effects), np.maximum(sizes, usual), effects)
        flipped = FLIPPED * np.where(mean > ROUNDINGS * self.unit * usual, TOGETHER, 1.0)
        few = flipped * mean <= self.share * effects.min(axis=1)
        return np.asarray(self.is_right(errors, beside) & few.all(axis=1))

    def is_right(self, errors: Array, effects: Array) -> Array:
        """Whether every row's error is within rounding."""
        return np.asarray((errors <= self.unit**ROUNDING_POWER * effects).all(axis=(1, 2)))


def repeats(
    view: ModelView, features: Features, functions: Mapping[Reveal, Restricted], tile: Tile
) -> bool:
    """Whether cells hold the model's predictions to the bit, checked on some of the sides."""
    sides = list(functions)[:: max(1, len(functions) // VERIFIED_CELLS)]
    sample = _sample(features, tile, with_ends=False)
    return all(
        np.array_equal(functions[side](sample).by_row(), prediction.by_row())
        for side, prediction in predict_directly(view, features, sample, sides, Memory())
    )


def not_reproduced(
    view: ModelView,
    features: Features,
    network: Dense,
    contrasts: Sequence[Contrast],
    functions: Mapping[Side, Restricted],
    tile: Tile,
    precision: Precision,
) -> set[Contrast]:
    """The contrasts of a network whose route is not close enough to the model.

    A route computes the network in different steps. A polyline is also compared at the reference
    and at the ends of the column, where units may bend that no other row reaches.
    """
    failed: set[Contrast] = set()
    for arithmetic in ("polyline", "update"):
        some = [
            c for c in contrasts if isinstance(c.full, Reveal) and c.full.arithmetic == arithmetic
        ]
        if some:
            ends = arithmetic == "polyline"
            wrong = _wrong(
                view, features, network, some, functions, tile, precision, with_ends=ends
            )
            failed.update(c for c, is_wrong in zip(some, wrong.tolist(), strict=True) if is_wrong)
    return failed


def _wrong(
    view: ModelView,
    features: Features,
    network: Dense,
    contrasts: Sequence[Contrast],
    functions: Mapping[Side, Restricted],
    tile: Tile,
    precision: Precision,
    *,
    with_ends: bool,
) -> Array:
    """For each contrast, whether the route is too far from the model."""
    sample = _sample(features, tile, with_ends=with_ends)
    sides = list(dict.fromkeys(side for c in contrasts for side in _sides(c)))
    number = {side: k for k, side in enumerate(sides)}
    base, full = np.array([[number[side] for side in _sides(c)] for c in contrasts]).T
    ours = _stacked([functions[side](sample).by_row() for side in sides])
    checked = _checked_sides(sides, len(sample) * features.reference.size)
    answers = dict(predict_directly(view, features, sample, checked, Memory()))
    theirs = _stacked([answers[side].by_row() for side in checked])
    if ours.shape[1:] != theirs.shape[1:]:
        return np.ones(len(contrasts), dtype=bool)
    which = np.array([number[side] for side in checked])
    if len(checked) < len(sides) and not _agrees(view, features, network, sides, tile, precision):
        return np.ones(len(contrasts), dtype=bool)
    gaps = np.abs(ours[which] - theirs)
    # The error of an unchecked side is taken as the largest of the checked ones.
    errors: Array = np.broadcast_to(gaps.max(axis=0), ours.shape).copy()
    errors[which] = gaps
    best = ours.copy()
    best[which] = theirs
    effects = np.minimum(
        _effects(best[base], best[full], precision), _effects(ours[base], ours[full], precision)
    )
    errors = np.maximum(errors[base], errors[full])
    sizes = np.abs(best[full])
    # Even if all sampled rows agree to the bit, another may differ by a rounding unit.
    mean = np.maximum(errors.mean(axis=1), precision.unit * sizes.max(axis=1) / len(sample))
    wrong = ~precision.are_small(errors, mean, effects, sizes, _usual(view, sizes, tile))
    if with_ends:
        rows = _rows(tile, CROWD_ROWS)
        for k in np.flatnonzero(~wrong & _may_be_coarse(features, network, contrasts)).tolist():
            one, other = (functions[side](rows).by_row() for side in _sides(contrasts[k]))
            same = same_prediction(one, other, precision.unit, precision.noise)
            line = cast(Polyline | MeanOfPolylines, functions[contrasts[k].full])
            wrong[k] = _is_coarse(network, line, one, other, same)
    # If no row counts, as for an ignored feature, no row is near the threshold either.
    near = mean > NO_CROWD * precision.share * effects.min(axis=1)
    doubtful: list[int] = np.flatnonzero(~wrong & near.any(axis=1)).tolist()
    many = _rows(tile, min(CROWD_ROWS, max(VERIFIED_ROWS, len(tile) // CROWD_SHARE)))
    bases = {side: functions[side](many).by_row() for side in {contrasts[k].base for k in doubtful}}
    for k in doubtful:
        revealed = functions[contrasts[k].full](many).by_row()
        error = float(mean[k].max())
        wrong[k] = _is_crowded(bases[contrasts[k].base], revealed, error, precision)
    return np.asarray(wrong)


def _may_be_coarse(features: Features, network: Dense, contrasts: Sequence[Contrast]) -> Array:
    """Whether the raw outputs may be so large along a column that its polyline rounds visibly.

    An upper bound, from the range of the column and the size of the weights.
    """
    (weights, *_), *later = network.layers
    gain = float(np.prod([np.abs(w).sum(axis=0).max() for w, *_ in later], dtype=np.float64))
    columns = [features.shown(_sides(c)[1].shown)[0] for c in contrasts]
    low, high = np.array([features.spans[column] for column in columns]).T
    origins = np.asarray(features.reference[:, columns], dtype=np.float64)
    with np.errstate(over="ignore"):
        width = np.maximum(high, origins.max(axis=0)) - np.minimum(low, origins.min(axis=0))
        reach = width * np.abs(weights[columns]).max(axis=1).astype(np.float64) * gain
        return np.asarray(NEAR * reach > LOST)


def _is_coarse(
    network: Dense, line: Polyline | MeanOfPolylines, base: Array, shown: Array, same: Array
) -> bool:
    """Whether a polyline rounds by more than a small share of what it moves some row.

    Probabilities are decided by raw outputs of size one, whatever larger ones there are.
    """
    rounding = line.rounding()
    if network.output != "identity":
        return rounding > LOST
    moved = np.abs(shown - base).reshape(len(shown), -1).max(axis=1)
    return bool((~same & (moved < rounding / LOST)).any())


def _usual(view: ModelView, sizes: Array, tile: Tile) -> float:
    """Typical size of predictions or targets; an outlier must not widen the tolerance."""
    usual = float(np.median(sizes, axis=1).max())
    if view.task == "classification":
        return usual
    return max(usual, float(np.median(np.abs(tile.y))))


def _is_crowded(base: Array, full: Array, error: float, precision: Precision) -> bool:
    """Whether too many rows move by barely more than the rounding tolerance.

    On an almost flat piece of a network, the route's error decides whether these rows count. A
    sample is too small to show a share of 1 in 100,000, so the window is widened in proportion.
    """
    size = np.maximum(np.abs(base), np.abs(full))
    beyond = np.abs(full - base) - rounding(size, precision.unit, precision.noise)
    beyond = beyond.reshape(len(beyond), -1).max(axis=1)
    window = WIDER * error / (len(beyond) * precision.share)
    return bool(np.count_nonzero((beyond > 0) & (beyond <= window)) > WIDER * CROWD)


def _agrees(
    view: ModelView,
    features: Features,
    network: Dense,
    sides: Sequence[Reveal],
    tile: Tile,
    precision: Precision,
) -> bool:
    """Whether network and model agree with the features of all sides revealed, in one call."""
    union = Reveal(frozenset().union(*(side.shown for side in sides)))
    columns = features.shown(union.shown)
    sample = _sample(features, tile, with_ends=False)
    # Make sparse rows dense first: otherwise their columns would be extracted one by one.
    sample = replace(sample, X=reveal(features.reference, sample.X, columns, None))
    background = inputs_of(network, features.background(columns))
    [function] = make_updates(network, background, [columns], np.dtype(float))
    answers = dict(predict_directly(view, features, sample, [Reveal(frozenset()), union], Memory()))
    ours = _stacked([function(sample).by_row()])
    base, theirs = (_stacked([prediction.by_row()]) for prediction in answers.values())
    if ours.shape != theirs.shape:
        return False
    effects = _effects(base, theirs, precision)
    # With all columns revealed, only the structure is checked, not the counts.
    return bool(precision.is_right(np.abs(ours - theirs), effects).all())


def _effects(base: Array, full: Array, precision: Precision) -> Array:
    """How far a contrast moves each output of each row, but at least the typical movement.

    Rows that move only by rounding do not count and are excluded from the typical movement. If no
    row counts, no error matters, and the effect is infinite.
    """
    shape = full.shape
    same = same_prediction(
        base.reshape(-1, shape[2]), full.reshape(-1, shape[2]), precision.unit, precision.noise
    ).reshape(shape[:2])
    moved = np.abs(full - base)
    ordered = np.sort(np.where(same[:, :, None], np.inf, moved), axis=1)
    n_counted = shape[1] - np.count_nonzero(same, axis=1)
    middle = np.maximum(n_counted - 1, 0) // 2
    usual = np.take_along_axis(ordered, middle[:, None, None], axis=1)
    return np.maximum(moved, usual)


def _sides(contrast: Contrast) -> tuple[Reveal, Reveal]:
    """Both sides; a refitted model has no route."""
    return cast(Reveal, contrast.base), cast(Reveal, contrast.full)


def _checked_sides(sides: Sequence[Reveal], values_per_side: int) -> list[Reveal]:
    """The sides that the model predicts: all, or some spread evenly, including the first."""
    most = max(LEAST_SIDES, VERIFIED_VALUES // values_per_side)
    if len(sides) <= most:
        return list(sides)
    spread = np.unique(np.linspace(0, len(sides) - 1, most).astype(np.intp))
    return [sides[number] for number in spread.tolist()]


def _stacked(predictions: Sequence[Array]) -> Array:
    """Predictions of several sides: (sides, rows, outputs)."""
    stacked = np.stack(predictions)
    return stacked.reshape(*stacked.shape[:2], -1)


def _rows(tile: Tile, n: int) -> Tile:
    """Rows spread over a tile, at most n."""
    rows = np.unique(np.linspace(0, len(tile) - 1, n).astype(np.intp))
    row_ids = np.array([tile.number(row) for row in rows.tolist()])
    # Only the number of targets is used: it is the number of rows.
    return Tile(tile.index, take_rows(tile.X, rows), np.zeros(len(rows)), None, row_ids)


def _sample(features: Features, tile: Tile, *, with_ends: bool) -> Tile:
    """The rows for the comparison; `with_ends`, preceded by reference, minimum and maximum."""
    rows = _rows(tile, VERIFIED_ROWS)
    if not with_ends:
        return rows
    # Make sparse rows dense, like the reference.
    dense = reveal(features.reference, rows.X, range(rows.X.shape[1]), None)
    ends = np.array(features.spans).T.astype(dense.dtype)
    # A column with infinite values has no polyline.
    ends = np.where(np.isfinite(ends), ends, features.reference[:1])
    X = np.concatenate([features.reference[:1], ends, dense])
    row_ids = np.concatenate([[rows.number(0)] * 3, [rows.number(k) for k in range(len(rows))]])
    return Tile(tile.index, X, np.zeros(len(X)), None, row_ids)
