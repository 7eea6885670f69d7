"""The route that any model allows: assemble masked rows and ask the model, but each row only once.

The base is one row. A side has as many distinct rows as the revealed columns have: a dummy costs
two predictions, not n. Sides with few distinct rows share one call.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from sfit._contrast import Reveal
from sfit._features import Features
from sfit._masked import as_array
from sfit.exceptions import ModelError
from sfit.models import ModelView
from sfit.restrict._prediction import Prediction
from sfit.rows import Table, Tile, distinct_rows, is_frame, reveal, to_native

Array = npt.NDArray[Any]

CALL_BYTES = 256 * 2**20
"""Memory budget for the rows of one call of the model, and for the predictions that are kept."""

STACK_ROWS = 1_024
"""Sides with at most so many distinct rows share a call; larger ones have one of their own.

Of rows so wide that these would not fit the memory budget, as many as do.

A prediction may depend, in its last bit, on the rows it is computed with. So a side is stacked or
not by this rule alone, never by what else is cached or who computes it.
"""

FEW_ROWS = 64
"""So few rows are predicted as they are: to look for equal ones takes longer."""


@dataclass
class Memory:
    """Predictions of large sides, kept from one order to the next while they fit the budget."""

    held: dict[tuple[int, Reveal], Prediction] = field(default_factory=dict)
    used: int = 0

    def keep(self, tile: Tile, side: Reveal, prediction: Prediction) -> None:
        """Keep what fits; what does not is computed again, to the same bits."""
        key = tile.index, side
        size = prediction.values.nbytes
        size += 0 if prediction.codes is None else prediction.codes.nbytes
        if key not in self.held and self.used + size <= CALL_BYTES:
            self.held[key] = prediction
            self.used += size

    def __getstate__(self) -> dict[str, Any]:
        """Another process starts with an empty memory: it is not worth sending."""
        return {"held": {}, "used": 0}


@dataclass(frozen=True)
class _Small:
    """A side with few distinct rows: which, and the one that each row of the tile equals."""

    side: Reveal
    rows: Array
    codes: Array | None
    """None where all rows are distinct, or are one row."""


def predict_directly(
    view: ModelView, features: Features, tile: Tile, sides: Sequence[Reveal], memory: Memory
) -> Iterator[tuple[Reveal, Prediction]]:
    """Each side with its predictions for the rows of the tile."""
    small: list[_Small] = []
    for side in sides:
        if (tile.index, side) in memory.held:
            yield side, memory.held[tile.index, side]
            continue
        columns = features.shown(side.shown)
        if not columns:
            small.append(_Small(side, np.zeros(1, dtype=np.intp), None))
            continue
        found = None if len(tile) <= FEW_ROWS else distinct_rows(tile.X, columns)
        rows = None if found is None else found[0]
        if (len(tile) if rows is None else len(rows)) <= _rows_per_call(features, STACK_ROWS):
            rows = np.arange(len(tile)) if rows is None else rows
            small.append(_Small(side, rows, None if found is None else found[1]))
            continue
        values = _large(view, features, tile, side, rows)
        prediction = Prediction(values, None if found is None else found[1], len(tile))
        memory.keep(tile, side, prediction)
        yield side, prediction
    yield from _stacked(view, features, tile, small)


def _large(
    view: ModelView, features: Features, tile: Tile, side: Reveal, rows: Array | None
) -> Array:
    """Predictions of one side for some rows (all: None), in calls that fit the memory budget."""
    columns = features.shown(side.shown)
    numbers = np.arange(len(tile)) if rows is None else rows
    per_call = _rows_per_call(features, len(numbers))
    answers = []
    for first in range(0, len(numbers), per_call):
        some = numbers[first : first + per_call]
        whole = rows is None and len(some) == len(tile)
        block = reveal(features.reference, tile.X, columns, None if whole else some)
        answers.append(_call(view, features, tile, block, [(side, some)]))
    return answers[0] if len(answers) == 1 else np.concatenate(answers)


def _rows_per_call(features: Features, most: int) -> int:
    """Rows that fit the memory budget of a call, at most so many."""
    return max(1, min(most, CALL_BYTES // (8 * features.reference.shape[1])))


def _stacked(
    view: ModelView, features: Features, tile: Tile, small: Sequence[_Small]
) -> Iterator[tuple[Reveal, Prediction]]:
    """Predictions of sides with few distinct rows, as many of them in one call as may share it."""
    start, most = 0, _rows_per_call(features, STACK_ROWS)
    while start < len(small):
        stop, total = start, 0
        while stop < len(small) and (stop == start or total + len(small[stop].rows) <= most):
            total += len(small[stop].rows)
            stop += 1
        stack = small[start:stop]
        blocks = (
            reveal(features.reference, tile.X, features.shown(item.side.shown), item.rows)
            for item in stack
        )
        owners = [(item.side, item.rows) for item in stack]
        predictions = _call(view, features, tile, _concatenate(blocks, total), owners)
        for item in stack:
            own, predictions = predictions[: len(item.rows)], predictions[len(item.rows) :]
            yield item.side, Prediction(own, item.codes, len(tile))
        start = stop


def _call(
    view: ModelView,
    features: Features,
    tile: Tile,
    block: Table,
    owners: Sequence[tuple[Reveal, Array]],
) -> Array:
    """One call of the model; what goes wrong is told with the row and what was revealed."""
    m = block.shape[0]
    try:
        predictions = _ask(view, block)
    except ModelError:
        raise
    except Exception as error:
        alone = threading.current_thread() is threading.main_thread()
        advice = "" if alone else " (Is it safe with several threads? If not, use n_jobs=1.)"
        shown = features.named(owners[0][0].shown)
        raise ModelError(
            f"the model failed on {m} masked rows of rows {tile.number(0)} to "
            f"{tile.number(len(tile) - 1)}, with {shown!r} revealed: {type(error).__name__}: "
            f"{error}{advice}"
        ) from error
    predictions = checked(predictions, m)
    finite = np.isfinite(predictions)
    if not finite.all():
        row, shown = _whose(~finite, features, tile, owners)
        raise ModelError(
            f"the model's prediction for row {row} is not finite with {shown!r} revealed and all "
            "other features at their reference: choose another reference, or remove the row."
        )
    if view.task == "classification" and predictions.ndim == 2:
        wrong = (predictions < 0) | (predictions > 1)
        wrong |= np.abs(predictions.sum(axis=1, keepdims=True) - 1) > 1e-3
        if wrong.any():
            row, shown = _whose(wrong, features, tile, owners)
            first = predictions[wrong.any(axis=1).argmax()]
            raise ModelError(
                f"the model's output is not probabilities: row {row} has {first.tolist()!r} with "
                f"{shown!r} revealed. Convert logits first: sfit.models.torch_model(module, "
                "output='logits') for torch, scipy.special.softmax in a function otherwise. "
                f"{view.remedy}".rstrip()
            )
    return predictions


def rounding_noise(view: ModelView, features: Features, tile: Tile) -> float:
    """Largest difference between predicting 64 fixed rows one at a time and in a batch.

    It is what a library's own arithmetic can change in a prediction without any feature changing.
    """
    columns = features.shown(features.everything)
    n = min(64, len(tile))
    # Rows anew for each call: a model may write to them.
    whole, single = (reveal(features.reference, tile.X[:n], columns, None) for _ in range(2))
    together = checked(_ask(view, whole), n)
    alone = [checked(_ask(view, single[row : row + 1]), 1) for row in range(n)]
    return float(np.max(np.abs(together - np.concatenate(alone))))


def _ask(view: ModelView, block: Table) -> Any:
    """Ask the model; where it cannot take a single row (a squeeze, say), ask for the row twice."""
    if block.shape[0] > 1:
        return view.predict(to_native(block))
    with suppress(Exception):
        predictions = view.predict(to_native(block))
        if len(predictions) == 1:
            return predictions
    return checked(view.predict(to_native(_concatenate([block, block], 2))), 2)[:1]


def _whose(
    wrong: Array, features: Features, tile: Tile, owners: Sequence[tuple[Reveal, Array]]
) -> tuple[int, tuple[str, ...]]:
    """Global number of the first row that is wrong, and what was revealed of it."""
    first = int((wrong if wrong.ndim == 1 else wrong.any(axis=1)).argmax())
    for side, rows in owners:
        if first < len(rows):
            return tile.number(int(rows[first])), features.named(side.shown)
        first -= len(rows)
    raise IndexError(first)


def checked(answer: Any, m: int) -> Array:
    """Predictions as floats, one row of them per row; anything else is refused."""
    # A copy: some models use one array for all answers, and a view would keep its rows alive.
    predictions: Array = np.array(as_array(answer))
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
    """Blocks of m rows in all, as one; those of an array are never held all at once."""
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
