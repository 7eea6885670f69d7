"""Predictions of a few rows, by which a checkpoint sees whether its model is still the same.

They are stored with every checkpoint and compared when it is continued: users forget to change a
key with the model, and no fingerprint sees the whole state of a process. They are compared and not
hashed, because a run must not be refused for rounding.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._checkpoint import Checkpoint
from sfit._contrast import Reveal, same_prediction
from sfit.exceptions import CheckpointError, ModelError
from sfit.problem import Problem
from sfit.restrict import SidePredictions, rounding_noise
from sfit.rows import Tile, take_rows

Array = npt.NDArray[Any]

WHOLE_ROWS = MASKED_ROWS = 128
"""Rows that are predicted as they are, and with one feature revealed each."""


def confirm(checkpoint: Checkpoint, problem: Problem, name: str) -> None:
    """Store what a model predicts for a few rows; where it is stored, it must be the same."""
    now = _predictions(problem)
    stage = f"predictions of {name}"
    before = checkpoint.get(stage, 0, 0, decoded)
    if before is None:
        checkpoint.put(stage, 0, 0, encoded(now))
        checkpoint.commit()
    elif before.shape != now.shape:
        raise changed(checkpoint, name, f"{now.shape[1:]} values per row for {before.shape[1:]}")
    elif not _same(before, now, 0.0).all():
        # What differs from call to call is no change.
        noise = float(np.max(np.abs(_predictions(problem) - now)))
        noise = max(noise, rounding_noise(problem.view, problem.features, _spread(problem, 64)))
        same = _same(before, now, noise)
        if not same.all():
            gap = float(np.max(np.abs(before - now)))
            raise changed(
                checkpoint, name, f"by up to {gap:.3g} for {np.mean(~same):.0%} of {len(same)} rows"
            )


def changed(checkpoint: Checkpoint, name: str, how: str) -> CheckpointError:
    """What the user is told about a model that is no longer the same."""
    return CheckpointError(
        f"checkpoint {str(checkpoint.path)!r} is of another model: {name} predicts differently "
        f"now, {how}. Choose another file, or delete this one to start anew; or restore the model."
    )


def _same(before: Array, now: Array, noise: float) -> Array:
    unit = max(float(np.finfo(values.dtype).eps) for values in (before, now))
    return same_prediction(before, now, unit, noise)


def _predictions(problem: Problem) -> Array:
    """Predictions for fixed rows: some whole, some with a single feature revealed, and the base."""
    features = problem.features
    direct = SidePredictions(problem.view, features)
    p = len(features.names)
    some = np.unique(np.linspace(0, p - 1, min(p, MASKED_ROWS)).astype(np.intp)).tolist()
    alone = [Reveal(frozenset()), *(Reveal(frozenset({feature})) for feature in some)]
    whole = direct.one(_spread(problem, WHOLE_ROWS), Reveal(features.everything)).by_row()
    try:
        masked = dict(direct(_spread(problem, max(1, MASKED_ROWS // len(some))), alone))
    except ModelError:
        # If the test needs these rows, it says so itself, with the row.
        return whole
    return np.concatenate([whole, *(masked[side].by_row() for side in alone)])


def _spread(problem: Problem, n: int) -> Tile:
    """So many rows from all over the first tile."""
    first = problem.rows.first
    rows = np.unique(np.linspace(0, len(first) - 1, n).astype(np.intp))
    numbers = np.array([first.number(row) for row in rows.tolist()])
    return Tile(first.index, take_rows(first.X, rows), first.y[rows], None, numbers)


def encoded(values: Array) -> bytes:
    """Predictions as a file holds them: no pickle."""
    data = BytesIO()
    np.save(data, values, allow_pickle=False)
    return data.getvalue()


def decoded(data: bytes) -> Array:
    """Predictions from a file."""
    values: Array = np.load(BytesIO(data), allow_pickle=False)
    return values
