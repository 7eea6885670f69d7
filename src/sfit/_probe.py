"""Predictions for a few rows, from which a resumed run sees whether the model has changed.

Every checkpoint stores them, and a resumed run compares them: users forget to change the key with
the model, and no fingerprint covers the whole state of a process. They are compared, not hashed,
because rounding must not make a run fail.
"""

from __future__ import annotations

from io import BytesIO

import numpy as np

from sfit._array import Array
from sfit._checkpoint import Checkpoint
from sfit._contrast import Reveal, same_prediction
from sfit.exceptions import CheckpointError, ModelError
from sfit.restrict import Computed, SidePredictions, rounding_noise
from sfit.rows import Tile, take_rows
from sfit.sample import Sample

WHOLE_ROWS = MASKED_ROWS = 128
"""Number of rows predicted unmasked, and number predicted with one feature revealed."""


def confirm(checkpoint: Checkpoint, sample: Sample, name: str) -> None:
    """Store a model's predictions for a few rows, or compare them with the stored ones."""
    now = _predictions(sample)
    stage = f"predictions of {name}"
    before = checkpoint.get(stage, 0, 0, decoded)
    if before is None:
        checkpoint.put(stage, 0, 0, encoded(now))
        checkpoint.commit()
    elif before.shape != now.shape:
        raise changed(
            checkpoint, name, f"with shape {now.shape[1:]} per row instead of {before.shape[1:]}"
        )
    elif not _same(before, now, 0.0).all():
        # A difference that also occurs between two calls is no change of the model.
        noise = float(np.max(np.abs(_predictions(sample) - now)))
        noise = max(noise, rounding_noise(sample.view, sample.features, _spread(sample, 64)))
        same = _same(before, now, noise)
        if not same.all():
            gap = float(np.max(np.abs(before - now)))
            raise changed(
                checkpoint, name, f"by up to {gap:.3g} for {np.mean(~same):.0%} of {len(same)} rows"
            )


def changed(checkpoint: Checkpoint, name: str, how: str) -> CheckpointError:
    """The error for a model whose predictions have changed."""
    return CheckpointError(
        f"checkpoint {str(checkpoint.path)!r} belongs to another model: {name} predicts "
        f"differently now, {how}. Choose another file, delete this one to start over, or restore "
        "the model."
    )


def _same(before: Array, now: Array, noise: float) -> Array:
    unit = max(float(np.finfo(values.dtype).eps) for values in (before, now))
    return same_prediction(before, now, unit, noise)


def _predictions(sample: Sample) -> Array:
    """Predictions for fixed rows: some unmasked, some with one feature revealed, and the base."""
    features = sample.features
    direct = SidePredictions(sample.view, features)
    p = len(features.names)
    some = np.unique(np.linspace(0, p - 1, min(p, MASKED_ROWS)).astype(np.intp)).tolist()
    alone = [Reveal(frozenset()), *(Reveal(frozenset({feature})) for feature in some)]
    whole = direct.one(_spread(sample, WHOLE_ROWS), Reveal(features.everything)).by_row()
    try:
        rows = _spread(sample, max(1, MASKED_ROWS // len(some)))
        masked = direct.on(rows, map(Computed, alone))
    except ModelError:
        # If the test needs these rows, it raises this error itself and names the row.
        return whole
    return np.concatenate([whole, *(masked[Computed(side)].by_row() for side in alone)])


def _spread(sample: Sample, n: int) -> Tile:
    """Rows spread over the first tile, at most n."""
    first = sample.rows.first
    rows = np.unique(np.linspace(0, len(first) - 1, n).astype(np.intp))
    row_ids = np.array([first.number(row) for row in rows.tolist()])
    return Tile(first.index, take_rows(first.X, rows), first.y[rows], None, row_ids)


def encoded(values: Array) -> bytes:
    """Predictions as bytes for a file, without pickle."""
    data = BytesIO()
    np.save(data, values, allow_pickle=False)
    return data.getvalue()


def decoded(data: bytes) -> Array:
    """Predictions from the bytes of a file."""
    values: Array = np.load(BytesIO(data), allow_pickle=False)
    return values
