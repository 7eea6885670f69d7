"""Verification of fast routes: on a sample of rows they must reproduce the model's predictions.

A route can change whether a row counts only if the row is closer to the threshold than the error of
the route. The error is measured on a few rows, beside the model; how dense rows lie near the
threshold, on many, along the route alone. Error times density is the share of the rows that are
expected to count differently. The size of the prediction is no guide: if a column is far from zero,
single precision rounds a prediction by little and its change by much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from sfit._array import Array
from sfit._contrast import Contrast, Reveal, Rounding, Side, rounding, same_prediction
from sfit._features import Features
from sfit.models import Dense, ModelView
from sfit.restrict._direct import Memory, predict_directly
from sfit.restrict._first_layer import make_updates
from sfit.restrict._inputs import inputs_of
from sfit.restrict._mean_polyline import MeanOfPolylines
from sfit.restrict._prediction import Arithmetic, Computed, Prediction, Restricted
from sfit.restrict._relu import Polyline
from sfit.rows import Tile, reveal, take_rows

VERIFIED_ROWS, VERIFIED_CELLS = 16, 32
"""Rows of each side that are compared with the model; of cell tables, only this many sides."""

VERIFIED_VALUES, LEAST_SIDES = 1 << 22, 16
"""Values in all rows that the model predicts for verification, and its smallest number of sides.

All sides are compared up to 470 columns; beyond, the work no longer grows with their square."""

SHARE_OF_ROWS, DENSITY_ROWS = 1e-5, 1_024
"""Share of the rows that may be expected to count differently, and rows for its estimate.

Of 1,000 rows that is a hundredth of a row, of 100,000 rows one.
"""

CONTRASTS_AT_ONCE, DENSITY_AT_ONCE = 512, 1 << 14
"""Contrasts that are compared with the model at a time, and rows of contrasts along the route."""

ROUNDING_POWER = 0.4
"""No row's error may exceed this power of the rounding unit as a share of the effect: 6e-7 in
double precision, 2e-3 in single. A wrong structure is further from the model.
"""


@dataclass(frozen=True)
class Precision:
    """What the accuracy of a route depends on: the rounding rule and the number of rows."""

    unit: float
    noise: float
    n: int

    def tolerated(self, effects: Any) -> Any:
        """The largest error that is still rounding, beside some effects."""
        return self.unit**ROUNDING_POWER * effects

    def flips(self, base: Array, full: Array, drift: Array, error: Array) -> Array:
        """For each contrast, whether too many rows are expected to count differently.

        Predictions are (contrasts, rows, outputs), errors (contrasts, outputs).

        A row begins to count where it moves by the rounding tolerance, if that improves its loss.
        If k of N rows are closer to that point than w, k / N * drift / w of the rows are closer
        than the `drift`, the error of a movement; a quarter of them have an error towards that
        point and an improvement. The densest window w decides, with two standard deviations off k.
        Rows that move by less than half of the tolerance are out of reach.

        A row ceases to count where its target is halfway between the two predictions. Targets there
        are taken to be as dense as half of the moving rows within the typical movement.
        """
        moved = np.abs(full - base)
        n = moved.shape[1]
        tolerance = rounding(np.maximum(np.abs(base), np.abs(full)), self.unit, self.noise)
        moves = 2 * moved > tolerance
        windows = np.sort(np.where(moves, np.abs(moved - tolerance), np.inf), axis=1)
        k = np.arange(1, n + 1)[:, None]
        begin = (k - 2 * np.sqrt(k)) / n * drift[:, None] / 4 <= SHARE_OF_ROWS * windows
        n_moves = np.count_nonzero(moves, axis=1)
        ordered = np.sort(np.where(moves, moved, np.inf), axis=1)
        usual = np.take_along_axis(ordered, n_moves[:, None] // 2, axis=1)[:, 0]
        cease = n_moves / 2 / n * error <= SHARE_OF_ROWS * usual
        return ~(begin.all(axis=(1, 2)) & cease.all(axis=1))


def repeats(
    view: ModelView, features: Features, functions: Mapping[Computed, Restricted], tile: Tile
) -> bool:
    """Whether cells hold the model's predictions to the bit, checked on some of the sides."""
    some = list(functions)[:: max(1, len(functions) // VERIFIED_CELLS)]
    sample = _sample(features, tile, with_ends=False)
    sides = [side for computed in some for side in computed.side.needs()]
    direct = predict_directly(view, features, sample, sides, Memory())
    return all(
        np.array_equal(functions[Computed(side)](sample).by_row(), prediction.by_row())
        for side, prediction in direct.items()
    )


def not_reproduced(
    view: ModelView,
    features: Features,
    network: Dense,
    contrasts: Mapping[Contrast, Arithmetic],
    functions: Mapping[Computed, Restricted],
    tile: Tile,
    precision: Precision,
    tolerance: Rounding,
) -> dict[Contrast, bool]:
    """The contrasts of a network whose route is not close enough to the model.

    True: its error is more than rounding. False: it is rounding, but too many rows are so close to
    the threshold that it could decide about them.

    A route computes the network in different steps. A polyline is also compared at the reference
    and at the ends of the column, where units may bend that no other row reaches. `tolerance` is
    for sides that add predictions up.
    """
    failed: dict[Contrast, bool] = {}
    kinds: tuple[Arithmetic, ...] = ("polyline", "update")
    for kind in kinds:
        some = [contrast for contrast, of_contrast in contrasts.items() if of_contrast == kind]
        if some:
            made = {computed.side: f for computed, f in functions.items() if computed[1] == kind}
            wrong, close = _wrong(
                view,
                features,
                network,
                some,
                made,
                tile,
                precision,
                tolerance,
                with_ends=kind == "polyline",
            )
            for contrast, is_wrong, is_close in zip(some, wrong, close, strict=True):
                if is_wrong or is_close:
                    failed[contrast] = bool(is_wrong)
    return failed


def _wrong(
    view: ModelView,
    features: Features,
    network: Dense,
    contrasts: Sequence[Contrast],
    functions: Mapping[Side, Restricted],
    tile: Tile,
    precision: Precision,
    tolerance: Rounding,
    *,
    with_ends: bool,
) -> tuple[Array, Array]:
    """For each contrast, whether the error is more than rounding, and whether rounding decides."""
    sample = _sample(features, tile, with_ends=with_ends)
    sides = _needed(contrasts)
    checked = _checked_sides(sides, len(sample) * features.reference.size)
    answers = predict_directly(view, features, sample, checked, Memory())
    theirs = _stacked([answers[side].by_row() for side in checked])
    ours = _stacked([functions[side](sample).by_row() for side in checked])
    all_wrong = np.ones(len(contrasts), dtype=bool)
    if ours.shape != theirs.shape:
        return all_wrong, all_wrong
    if len(checked) < len(sides) and not _agrees(view, features, network, sides, tile, precision):
        return all_wrong, all_wrong
    gaps = np.abs(ours - theirs)
    known = {side: (gaps[k], theirs[k]) for k, side in enumerate(checked)}
    batches = [
        contrasts[first : first + CONTRASTS_AT_ONCE]
        for first in range(0, len(contrasts), CONTRASTS_AT_ONCE)
    ]
    # The error of an unchecked side is taken as the largest of the checked ones.
    compared = _together(
        _compared(some, functions, sample, known, gaps.max(axis=0), precision, tolerance)
        for some in batches
    )
    tolerated = precision.tolerated(_usual(view, compared.usual.max(), tile))
    wrong = ~(compared.is_right & (compared.excess <= tolerated))
    drift, error = (
        # Where no row moves, none shows the error of a row that does: it is taken as the largest.
        np.maximum(np.where(compared.moves[:, None], mean, mean.max(axis=0)), compared.least)
        for mean in (compared.drift, compared.error)
    )
    close = np.zeros(len(contrasts), dtype=bool)
    right = np.flatnonzero(~wrong)
    along = _on_rows([contrasts[k] for k in right.tolist()], functions, tile, tolerance)
    for coarse, base, full in along:
        some, right = right[: len(full)], right[len(full) :]
        close[some] = precision.flips(
            base, full, drift[some] + coarse[:, None], error[some] + coarse[:, None]
        )
    return wrong, close


class _Compared(NamedTuple):
    """Contrasts along the route, beside the model, on the sampled rows: one entry for each."""

    is_right: Array
    """Whether all errors are within rounding, beside the effects."""
    excess: Array
    """Of contrasts without an effect, the largest error that is large beside the prediction."""
    usual: Array
    """Typical size of a prediction."""
    moves: Array
    """Whether a row moves."""
    drift: Array
    """Mean error of a movement, by output."""
    error: Array
    """Mean error of a prediction, by output."""
    least: Array
    """The smallest error that may be expected, by output."""


def _together(compared: Iterable[_Compared]) -> _Compared:
    return _Compared(*map(np.concatenate, zip(*compared, strict=True)))


def _compared(
    contrasts: Sequence[Contrast],
    functions: Mapping[Side, Restricted],
    sample: Tile,
    known: Mapping[Reveal, tuple[Array, Array]],
    largest: Array,
    precision: Precision,
    tolerance: Rounding,
) -> _Compared:
    """Compare some contrasts; `known` holds the errors and the model's predictions of some sides.

    The error of a side that the model has not predicted is taken as the `largest`.
    """
    sides = _needed(contrasts)
    number = {side: k for k, side in enumerate(sides)}
    ours = _stacked([functions[side](sample).by_row() for side in sides])
    errors: Array = np.broadcast_to(largest, ours.shape).copy()
    best = ours.copy()
    which = np.array([number[side] for side in sides if side in known], dtype=np.intp)
    for place in which.tolist():
        errors[place], best[place] = known[sides[place]]
    of_base = _Combined([one.base for one in contrasts], number, tolerance)
    of_full = _Combined([one.full for one in contrasts], number, tolerance)
    errors = np.maximum(of_base.errors(errors, ours, best), of_full.errors(errors, ours, best))
    base, full = of_base(ours), of_full(ours)
    best_base, best_full = of_base(best), of_full(best)
    movement, own_movement = full - base, best_full - best_base
    is_known = of_base.are_among(which) & of_full.are_among(which)
    drifts = np.where(is_known[:, None, None], np.abs(movement - own_movement), errors)
    moves = _moves(best_base, best_full, precision) | _moves(base, full, precision)
    effects = _effects(np.minimum(np.abs(movement), np.abs(own_movement)), moves)
    sizes = np.abs(best_full)
    # If no row counts, no count can be wrong, but losses are still reported.
    nothing = np.isinf(effects)
    beside_effects = np.where(nothing, errors, precision.tolerated(effects))
    is_large = nothing & ~(errors <= precision.tolerated(sizes))
    return _Compared(
        is_right=np.asarray((errors <= beside_effects).all(axis=(1, 2))),
        excess=np.where(is_large, errors, 0.0).max(axis=(1, 2)),
        usual=np.median(sizes, axis=1).max(axis=1),
        moves=np.asarray(moves.any(axis=1)),
        drift=_mean(drifts, moves),
        error=_mean(errors, moves),
        # Even if all sampled rows agree to the bit, another may differ by a rounding unit.
        least=precision.unit * sizes.max(axis=1) / len(sample),
    )


def _needed(contrasts: Sequence[Contrast]) -> list[Reveal]:
    """The sides of the network that both sides of some contrasts need, each once."""
    sides = [side for contrast in contrasts for side in (contrast.base, contrast.full)]
    return list(dict.fromkeys(part for side in sides for part in side.needs()))


def _on_rows(
    contrasts: Sequence[Contrast],
    functions: Mapping[Side, Restricted],
    tile: Tile,
    tolerance: Rounding,
) -> Iterator[tuple[Array, Array, Array]]:
    """Both sides of contrasts along the route, some contrasts at a time.

    Before them, by how much the pieces of their polylines may be off. What bases need is held: the
    same parts serve many contrasts.
    """
    rows = _rows(tile, DENSITY_ROWS)
    at_once = max(1, DENSITY_AT_ONCE // len(rows))
    held: dict[Reveal, Prediction] = {}
    for first in range(0, len(contrasts), at_once):
        coarse, bases, fulls = [], [], []
        for contrast in contrasts[first : first + at_once]:
            needed, [revealed] = contrast.base.needs(), contrast.full.needs()
            for part in needed:
                if part not in held and part != revealed:
                    held[part] = functions[part](rows)
            whole = functions[revealed](rows)
            combined = contrast.base.combine([held.get(part, whole) for part in needed], tolerance)
            coarse.append(_coarse(functions[revealed]))
            bases.append(combined.by_row())
            fulls.append(whole.by_row())
        yield np.array(coarse), _stacked(bases), _stacked(fulls)


def _coarse(function: Restricted) -> float:
    """How far a raw output may be off because a polyline joins knots that are close."""
    return function.rounding() if isinstance(function, Polyline | MeanOfPolylines) else 0.0


@dataclass(frozen=True)
class _Combined:
    """Some sides, from the stacked predictions of the parts that they need."""

    sides: Sequence[Side]
    number: Mapping[Reveal, int]
    """The place of each part in the stack."""
    tolerance: Rounding

    @cached_property
    def _plain(self) -> Array | None:
        """The place of each side, if all of them are parts; None if some are made of parts."""
        if any(side not in self.number for side in self.sides):
            return None
        return np.array([self.number[cast(Reveal, side)] for side in self.sides])

    def __call__(self, stack: Array) -> Array:
        """The predictions of the sides: (sides, rows, outputs)."""
        if self._plain is not None:
            return np.asarray(stack[self._plain])
        return np.stack([self._one(side, stack) for side in self.sides])

    def _one(self, side: Side, stack: Array) -> Array:
        parts = [Prediction(stack[place], None, stack.shape[1]) for place in self._places(side)]
        combined: Prediction = side.combine(parts, self.tolerance)
        return combined.by_row()

    def _places(self, side: Side) -> list[int]:
        return [self.number[part] for part in side.needs()]

    def errors(self, errors: Array, ours: Array, best: Array) -> Array:
        """The errors of the sides: those of their parts together, or what is seen of them."""
        if self._plain is not None:
            return np.maximum(errors[self._plain], np.abs(self(ours) - self(best)))
        of_parts = np.stack([errors[self._places(side)].sum(axis=0) for side in self.sides])
        return np.maximum(of_parts, np.abs(self(ours) - self(best)))

    def are_among(self, places: Array) -> Array:
        """Whether all parts of each side are among some places of the stack."""
        if self._plain is not None:
            return np.isin(self._plain, places)
        return np.array([np.isin(self._places(side), places).all() for side in self.sides])


def _mean(errors: Array, moves: Array) -> Array:
    """Mean error of the rows that a contrast moves, or of all rows if it moves none.

    (contrasts, rows, outputs), (contrasts, rows) -> (contrasts, outputs)
    """
    some = moves.any(axis=1, keepdims=True)
    weights = (moves | ~some)[:, :, None]
    return np.asarray((errors * weights).sum(axis=1) / weights.sum(axis=1))


def _usual(view: ModelView, usual: float, tile: Tile) -> float:
    """Typical size of predictions or targets; an outlier must not widen the tolerance."""
    if view.task == "classification":
        return usual
    return max(usual, float(np.median(np.abs(tile.y))))


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
    nothing = Reveal(frozenset())
    answers = predict_directly(view, features, sample, [nothing, union], Memory())
    ours = _stacked([function(sample).by_row()])
    base, theirs = (_stacked([answers[side].by_row()]) for side in (nothing, union))
    if ours.shape != theirs.shape:
        return False
    effects = _effects(np.abs(theirs - base), _moves(base, theirs, precision))
    # With all columns revealed, only the structure is checked, not the counts.
    return bool((np.abs(ours - theirs) <= precision.tolerated(effects)).all())


def _moves(base: Array, full: Array, precision: Precision) -> Array:
    """Which rows a contrast moves by more than rounding: (contrasts, rows)."""
    shape = full.shape
    pairs = base.reshape(-1, shape[2]), full.reshape(-1, shape[2])
    return ~same_prediction(*pairs, precision.unit, precision.noise).reshape(shape[:2])


def _effects(moved: Array, moves: Array) -> Array:
    """How far a contrast moves each output of each row, but at least the typical movement.

    Rows that move only by rounding do not count and are excluded from the typical movement. If no
    row counts, no error matters, and the effect is infinite.
    """
    ordered = np.sort(np.where(moves[:, :, None], moved, np.inf), axis=1)
    middle = np.maximum(np.count_nonzero(moves, axis=1) - 1, 0) // 2
    return np.maximum(moved, np.take_along_axis(ordered, middle[:, None, None], axis=1))


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
