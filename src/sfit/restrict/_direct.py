"""The direct route, for any model: assemble masked rows and predict each distinct row once.

The base is one row. A side has as many distinct rows as its revealed columns: a dummy costs two
predictions, not n. Sides with few distinct rows share one call. Each distinct row is predicted with
every background row, and the predictions are averaged.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from sfit._array import Array
from sfit._contrast import Reveal
from sfit._features import Features
from sfit.exceptions import ModelError
from sfit.models import ModelView
from sfit.restrict._prediction import Computed, Prediction, RunningMean, averaged
from sfit.rows import (
    Table,
    Tile,
    distinct_rows,
    is_frame,
    plain_array,
    reveal,
    scaled,
    take_rows,
    to_native,
)

CALL_BYTES = 256 * 2**20
"""Memory budget for the rows of one call of the model, and for the stored predictions."""

CALL_ROWS = 65_536
"""Rows predicted in one call, as many as a tile has; fewer if rows are wide."""

STACK_ROWS = 1_024
"""Sides with at most this many rows to predict share a call; each larger side has separate calls.

For very wide rows the number is reduced to fit the memory budget.

The last bit of a prediction may depend on the other rows of its call. So this rule alone decides
whether a side is stacked, never the state of a cache or the worker.
"""

MOVED_SIDES, MOVED_ROWS = 32, 16
"""Single columns, and rows of each, on which `computing_error` moves all numbers."""

JUMP_POWER = 0.25
"""A prediction that changes by more than this power of the unit, as a share of its size, jumps."""

FEW_ROWS = 64
"""At most this many rows are predicted without searching for duplicates, which takes longer."""


@dataclass
class Memory:
    """Predictions of large sides, stored from one order to the next within the budget.

    Those of the model are stored by their side, those of a function by side and arithmetic.
    """

    held: dict[tuple[int, Reveal | Computed], Prediction] = field(default_factory=dict)
    used: int = 0

    def keep(self, tile: Tile, side: Reveal | Computed, prediction: Prediction) -> None:
        """Store a prediction if it fits; otherwise it is recomputed later, bit-identically."""
        key = tile.index, side
        size = prediction.values.nbytes
        size += 0 if prediction.codes is None else prediction.codes.nbytes
        if key not in self.held and self.used + size <= CALL_BYTES:
            self.held[key] = prediction
            self.used += size

    def __getstate__(self) -> dict[str, Any]:
        """Another process starts with an empty memory: sending it does not pay."""
        return {"held": {}, "used": 0}


@dataclass(frozen=True)
class _Job:
    """The distinct rows of a side, and the one that each row of the tile equals."""

    side: Reveal
    columns: Sequence[int]
    background: Table
    rows: Array
    """Positions in the tile."""
    codes: Array | None
    """None if all rows are distinct, or all are equal."""

    @property
    def size(self) -> int:
        """Number of rows to predict."""
        return len(self.rows) * int(self.background.shape[0])

    def block(self, tile: Tile, rows: Array, hidden: Array) -> tuple[Table, Array]:
        """Some distinct rows with some background rows, which vary slower; and their positions."""
        positions, at = np.tile(rows, len(hidden)), np.repeat(hidden, len(rows))
        # A whole tile is not copied first.
        some = None if len(positions) == len(tile) == len(rows) else positions
        return reveal(self.background, tile.X, self.columns, some, at), positions


def predict_directly(
    view: ModelView, features: Features, tile: Tile, sides: Sequence[Reveal], memory: Memory
) -> dict[Reveal, Prediction]:
    """The predictions of each side for the rows of the tile."""
    predictions: dict[Reveal, Prediction] = {}
    small: list[_Job] = []
    for side in sides:
        if (tile.index, side) in memory.held:
            predictions[side] = memory.held[tile.index, side]
            continue
        job = _job(features, tile, side)
        if job.size <= _rows_per_call(features, STACK_ROWS):
            small.append(job)
            continue
        predictions[side] = Prediction(_large(view, features, tile, job), job.codes, len(tile))
        memory.keep(tile, side, predictions[side])
    for stack in _stacks(small, _rows_per_call(features, STACK_ROWS)):
        answers = _call(view, features, tile, *_stacked(tile, stack))
        for job in stack:
            of_side, answers = answers[: job.size], answers[job.size :]
            of_side = of_side.reshape(-1, len(job.rows), *of_side.shape[1:])
            predictions[job.side] = Prediction(averaged(of_side), job.codes, len(tile))
    return predictions


def _job(features: Features, tile: Tile, side: Reveal) -> _Job:
    """The rows that a side must predict."""
    columns = features.shown(side.shown)
    background = features.background(columns)
    if not columns:
        return _Job(side, columns, background, np.zeros(1, dtype=np.intp), None)
    few = len(tile) * background.shape[0] <= FEW_ROWS
    distinct = None if few else distinct_rows(tile.X, columns)
    rows, codes = (np.arange(len(tile)), None) if distinct is None else distinct
    return _Job(side, columns, background, rows, codes)


def _large(view: ModelView, features: Features, tile: Tile, job: _Job) -> Array:
    """Predictions of one side for its distinct rows, in calls within the memory budget."""
    per_call, n_background = _rows_per_call(features, CALL_ROWS), job.background.shape[0]
    answers = []
    for rows in _runs(job.rows, max(1, per_call // n_background)):
        mean = RunningMean()
        for hidden in _runs(np.arange(n_background), max(1, per_call // len(rows))):
            block, positions = job.block(tile, rows, hidden)
            predictions = _call(view, features, tile, block, [(job.side, positions)])
            for one in predictions.reshape(len(hidden), len(rows), *predictions.shape[1:]):
                mean.add(one)
        answers.append(mean.value)
    return answers[0] if len(answers) == 1 else np.concatenate(answers)


def _runs(numbers: Array, size: int) -> Iterator[Array]:
    return (numbers[first : first + size] for first in range(0, len(numbers), size))


def _rows_per_call(features: Features, most: int) -> int:
    """Number of rows that fit the memory budget of a call, at most `most`."""
    return max(1, min(most, CALL_BYTES // (8 * features.reference.shape[1])))


def _stacks(small: Sequence[_Job], most: int) -> Iterator[list[_Job]]:
    """Sides with few rows to predict, as many at a time as one call may predict."""
    stack: list[_Job] = []
    total = 0
    for job in small:
        if stack and total + job.size > most:
            yield stack
            stack, total = [], 0
        stack.append(job)
        total += job.size
    if stack:
        yield stack


def _stacked(tile: Tile, stack: Sequence[_Job]) -> tuple[Table, list[tuple[Reveal, Array]]]:
    """The rows of some sides in one block, and each side with the positions of its rows."""
    hidden = [np.arange(job.background.shape[0]) for job in stack]
    pairs = list(zip(stack, hidden, strict=True))
    blocks = (job.block(tile, job.rows, every)[0] for job, every in pairs)
    owners = [(job.side, np.tile(job.rows, len(every))) for job, every in pairs]
    return _concatenate(blocks, sum(job.size for job in stack)), owners


def _call(
    view: ModelView,
    features: Features,
    tile: Tile,
    block: Table,
    owners: Sequence[tuple[Reveal, Array]],
) -> Array:
    """One call of the model; errors name the row and the revealed features."""
    m = block.shape[0]
    try:
        predictions = view.predict(to_native(block)) if m > 1 else _predict(view, block)
    except ModelError:
        raise
    except Exception as error:
        alone = threading.current_thread() is threading.main_thread()
        advice = "" if alone else " (If the model is not thread-safe, use n_jobs=1.)"
        revealed = features.named(owners[0][0].shown)
        raise ModelError(
            f"the model failed on {m} masked rows of rows {tile.number(0)} to "
            f"{tile.number(len(tile) - 1)}, with {revealed!r} revealed: {type(error).__name__}: "
            f"{error}{advice}"
        ) from error
    predictions = checked(predictions, m)
    finite = np.isfinite(predictions)
    if not finite.all():
        row, revealed = _first_wrong(~finite, features, tile, owners)
        raise ModelError(
            f"the model's prediction for row {row} is not finite with {revealed!r} revealed and "
            "all other features at their reference: choose another reference, or remove the row."
        )
    if view.task == "classification" and predictions.ndim == 2 and not view.scores:
        wrong = (predictions < 0) | (predictions > 1)
        wrong |= np.abs(predictions.sum(axis=1, keepdims=True) - 1) > 1e-3
        if wrong.any():
            row, revealed = _first_wrong(wrong, features, tile, owners)
            first = predictions[wrong.any(axis=1).argmax()]
            raise ModelError(
                f"the model's outputs are not probabilities: row {row} has {first.tolist()!r} with "
                f"{revealed!r} revealed. Convert logits first: sfit.models.torch_model(module, "
                "output='logits') for torch, scipy.special.softmax in a function otherwise. "
                f"{view.remedy}".rstrip()
            )
    return predictions


def rounding_noise(view: ModelView, features: Features, tile: Tile) -> float:
    """Largest difference between predicting 64 fixed rows one at a time and in a batch.

    This is how much the library's arithmetic alone can change a prediction.
    """
    columns = features.shown(features.everything)
    n = min(64, len(tile))
    # Fresh rows for each call: a model may write to them.
    whole, single = (reveal(features.reference, tile.X[:n], columns, None) for _ in range(2))
    together = checked(_predict(view, whole), n)
    alone = [checked(_predict(view, single[row : row + 1]), 1) for row in range(n)]
    return float(np.max(np.abs(together - np.concatenate(alone))))


def computing_error(view: ModelView, features: Features, tile: Tile, unit: float) -> float:
    """How much a prediction may be off from exact arithmetic, measured on some rows.

    Every number is moved by one rounding unit, up or down. Large terms that cancel in a prediction,
    such as those of columns far from zero, show their rounding only then. A jump is not rounding:
    a step function may have a step exactly at a value.
    """
    columns = features.shown(features.everything)
    spread = np.unique(np.linspace(0, len(columns) - 1, MOVED_SIDES).astype(np.intp))
    sides: list[list[int]] = [[], columns, *([columns[place]] for place in spread.tolist())]
    rows = np.unique(np.linspace(0, len(tile) - 1, MOVED_ROWS).astype(np.intp))
    reference = features.reference[:1]
    blocks = [reveal(reference, tile.X, shown, rows) for shown in sides]
    m = len(sides) * len(rows)
    rng, width = np.random.default_rng(0), len(features.spans)
    patterns = [np.ones(width), *rng.choice([-1.0, 1.0], (3, width))]
    fixed = np.isin(np.arange(width), list(view.categorical))
    at_rest: Array | None = None
    largest = 0.0
    for signs in (None, *patterns):
        # Fresh rows for each call: a model may write to them.
        block = _concatenate(blocks, m)
        if signs is not None:
            block = scaled(block, np.where(fixed, 1.0, 1 + unit * signs))
        predictions = checked(_predict(view, block), m).astype(np.float64)
        if at_rest is None:
            at_rest = predictions
            continue
        gaps = np.abs(predictions - at_rest)
        smooth = gaps[gaps <= unit**JUMP_POWER * np.abs(at_rest).max()]
        largest = max(largest, float(smooth.max(initial=0.0)))
    return largest


def cancelled_size(view: ModelView, features: Features) -> float:
    """By how much a mean over the background rows is smaller than the predictions in it.

    Predictions of both signs cancel in their mean, but their rounding errors do not: the mean is
    rounded like a number of the predictions' size. It is 0 for a single row and for probabilities.
    """
    n = min(features.reference.shape[0], _rows_per_call(features, CALL_ROWS))
    if n == 1:
        return 0.0
    # A copy: a model may write to its rows.
    predictions = checked(_predict(view, take_rows(features.reference, np.arange(n))), n)
    return float(np.max(np.abs(predictions).mean(axis=0) - np.abs(predictions.mean(axis=0))))


def _predict(view: ModelView, block: Table) -> Any:
    """Call the model; if it cannot take a single row (a squeeze, say), pass the row twice."""
    if block.shape[0] > 1:
        return view.predict(to_native(block))
    with suppress(Exception):
        predictions = view.predict(to_native(block))
        if len(predictions) == 1:
            return predictions
    return checked(view.predict(to_native(_concatenate([block, block], 2))), 2)[:1]


def _first_wrong(
    wrong: Array, features: Features, tile: Tile, owners: Sequence[tuple[Reveal, Array]]
) -> tuple[int, tuple[str, ...]]:
    """Number of the first wrong row in the user's data, and its revealed features."""
    first = int((wrong if wrong.ndim == 1 else wrong.any(axis=1)).argmax())
    for side, rows in owners:
        if first < len(rows):
            return tile.number(int(rows[first])), features.named(side.shown)
        first -= len(rows)
    raise IndexError(first)


def checked(answer: Any, m: int) -> Array:
    """Predictions as floats, one (or one vector) per row; refuse anything else."""
    # A copy: some models reuse one array for all calls, and a view would keep it alive.
    predictions: Array = np.array(plain_array(answer))
    if predictions.ndim == 2 and predictions.shape[1] == 1:
        predictions = predictions[:, 0]
    if predictions.ndim not in (1, 2) or len(predictions) != m:
        raise ModelError(
            f"the model must return one prediction per row: for {m} rows it returned shape "
            f"{predictions.shape}."
        )
    if predictions.dtype.kind in "biu":
        predictions = predictions.astype(np.float64)
    if predictions.dtype.kind != "f":
        raise ModelError(f"the model must predict numbers; got dtype {predictions.dtype}.")
    predictions.flags.writeable = False
    return predictions


def _concatenate(blocks: Iterable[Table], m: int) -> Table:
    """Concatenate blocks of m rows in total; array blocks are never all in memory at once."""
    blocks = iter(blocks)
    first = next(blocks)
    if is_frame(first):
        return nw.concat([first, *blocks])
    if len(first) == m:
        return first
    whole = np.empty((m, first.shape[1]), dtype=first.dtype)
    whole[: len(first)] = first
    start = len(first)
    for block in blocks:
        whole[start : start + len(block)] = block
        start += len(block)
    return whole
