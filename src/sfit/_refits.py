"""Models fitted without some of the columns, and their predictions for the test rows.

Only the predictions are stored: losses, differences and tests follow from them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.base import clone

from sfit._array import Array
from sfit._checkpoint import Checkpoint
from sfit._contrast import Reveal
from sfit._features import positions_in, positions_of
from sfit._named_columns import cloned_without
from sfit._probe import changed, decoded, encoded
from sfit._workers import Payload, open_payload
from sfit.exceptions import ArgumentError, DataError, ModelError
from sfit.models._fingerprint import Unseen, fingerprint_of
from sfit.restrict import Prediction, SidePredictions
from sfit.rows import (
    Table,
    Tile,
    as_table,
    as_vector,
    column_names,
    every_tile,
    hash_table,
    select_columns,
    to_native,
)
from sfit.rows._stored import open_store
from sfit.sample import Sample, prepare

ALL_FEATURES = -1
"""Key of the model fitted on all features, in a checkpoint."""


@dataclass(frozen=True)
class HeldTest:
    """Test rows in memory."""

    table: Table
    observed: Any
    rows: Table
    """The rows to pass on: with all columns if these have numbers instead of names."""
    chosen: Sequence[Any] | None

    def whole(self) -> dict[str, Any]:
        """Arguments of `prepare` for all columns."""
        return {"X": to_native(self.rows), "y": self.observed, "features": self.chosen}

    def some(self, positions: Sequence[int]) -> dict[str, Any]:
        """Arguments of `prepare` for some columns."""
        return {"X": to_native(select_columns(self.table, positions)), "y": self.observed}

    def fingerprint(self) -> str:
        return _digest(self.table, self.observed)


@dataclass(frozen=True)
class StoredTest:
    """Test rows that are read in pieces."""

    rows: Any
    observed: str
    labels: tuple[str, ...]

    def whole(self) -> dict[str, Any]:
        """Arguments of `prepare` for all columns."""
        return self.some(range(len(self.labels)))

    def some(self, positions: Sequence[int]) -> dict[str, Any]:
        """Arguments of `prepare` for some columns."""
        labels = [self.labels[position] for position in positions]
        return {"X": self.rows, "y": self.observed, "features": labels}

    def fingerprint(self) -> str:
        store = open_store(self.rows)
        return repr((store and store.fingerprint(), self.observed))


@dataclass(frozen=True)
class Refits:
    """Everything needed for a refit without some columns; sent to a worker once."""

    estimator: Any
    train: Table
    target: Any
    test: HeldTest | StoredTest
    loss: Any

    def fingerprint(self) -> str | Unseen:
        """Text that identifies the estimator: its parameters, not its fitted state."""
        return fingerprint_of(clone(self.estimator))

    def data(self) -> dict[str, str]:
        """Texts that identify the rows."""
        names = column_names(self.train)
        return {
            "the training rows": f"{names} {_digest(self.train, self.target)}",
            "the test rows": self.test.fingerprint(),
        }


def leave_out(payload: Payload, feature: int, members: Sequence[int]) -> tuple[int, list[Array]]:
    """Refit without some columns; only predictions, no model, leave the worker."""
    job: Refits = open_payload(payload)
    others = [position for position in range(job.train.shape[1]) if position not in members]
    names = column_names(job.train) or ()
    removed = {names[position] for position in members} if names else set()
    model = fit(job.estimator, select_columns(job.train, others), job.target, removed)
    return feature, predictions_of(prepare(model, **job.test.some(others), loss=job.loss))


def predictions_of(sample: Sample) -> list[Array]:
    """Predictions for each tile with everything revealed."""
    sides = SidePredictions(sample.view, sample.features)
    everything = Reveal(sample.features.everything)
    return [sides.one(tile, everything).by_row() for tile in every_tile(sample.rows)]


@dataclass(frozen=True)
class StoredPredictions:
    """A side whose predictions exist already, tile by tile."""

    by_tile: Sequence[Array]

    def __call__(self, tile: Tile) -> Prediction:
        return Prediction(self.by_tile[tile.index], None, len(tile))


def keep(saved: Checkpoint | None, feature: int, by_tile: Sequence[Array]) -> None:
    """Store all tiles or none: an unseeded estimator does not give the same model twice."""
    if saved is None:
        return
    for number, values in enumerate(by_tile):
        saved.put("LOCO", number, feature, encoded(values))
    saved.put("LOCO, all tiles", 0, feature, _digest(*by_tile).encode())
    saved.commit()


def recall(saved: Checkpoint | None, feature: int, n_tiles: int) -> list[Array] | None:
    """The stored predictions of a feature; None unless all tiles are stored."""
    if saved is None:
        return None
    stored = [saved.get("LOCO", number, feature, decoded) for number in range(n_tiles)]
    complete = [values for values in stored if values is not None]
    whole = saved.get("LOCO, all tiles", 0, feature, bytes.decode)
    return complete if len(complete) == n_tiles and _digest(*complete) == whole else None


def check_same(saved: Checkpoint, refits: Refits, before: Sequence[Array], full: Sample) -> None:
    """Refuse a checkpoint if the estimator's fit has changed.

    An unseeded estimator gives a different fit each time. So the stored fit counts as changed only
    if two fits agree now, and differ from it.
    """
    now = _on_first_tile(full)
    if _alike(before[0], now):
        return
    again = full.for_model(fit(refits.estimator, refits.train, refits.target))
    if _alike(_on_first_tile(again), now):
        gap = float(np.max(np.abs(before[0] - now)))
        raise changed(saved, "the estimator fitted on all columns", f"by up to {gap:.3g}")


def _on_first_tile(sample: Sample) -> Array:
    sides = SidePredictions(sample.view, sample.features)
    return sides.one(sample.rows.first, Reveal(sample.features.everything)).by_row()


def _alike(a: Array, b: Array) -> bool:
    """Whether two fits agree in half of their digits: fitting amplifies rounding."""
    unit = max(float(np.finfo(values.dtype).eps) for values in (a, b))
    return a.shape == b.shape and bool(np.abs(a - b).max() <= unit**0.5 * np.abs(b).max())


def _digest(*tables: Table) -> str:
    digest = blake2b(digest_size=16)
    for table in tables:
        hash_table(digest, table)
    return digest.hexdigest()


def fit(estimator: Any, table: Table, target: Any, removed: Set[str] = frozenset()) -> Any:
    """A clone fitted on a table, from which some columns that it may name were removed."""
    try:
        return cloned_without(estimator, removed).fit(to_native(table), target)
    except Exception as error:
        raise ModelError(
            f"{type(estimator).__name__} could not be fitted on {table.shape[1]} columns: "
            f"{type(error).__name__}: {error}. A step that names its columns, other than a "
            "ColumnTransformer, cannot be fitted without one of them: select columns by dtype."
        ) from error


def check_estimator(estimator: Any) -> None:
    """Refuse an estimator that cannot be cloned and fitted."""
    if isinstance(estimator, type) or not (
        hasattr(estimator, "fit") and hasattr(estimator, "get_params")
    ):
        raise ArgumentError(
            "estimator must be an instance of a scikit-learn estimator, to be cloned and fitted; "
            f"got {estimator!r}."
        )


def training_rows(
    X: Any, y: Any, features: Sequence[Any] | None, suffix: str = "_train"
) -> tuple[Table, Any, list[str], Sequence[int]]:
    """The training table, its target, its column labels, and the column ids if unnamed."""
    train = as_table(X, f"X{suffix}")
    check_shape(f"X{suffix}", train)
    names = column_names(train)
    labels = list(names or (f"x{position}" for position in range(train.shape[1])))
    column_ids: Sequence[int] = range(len(labels)) if names is None else ()
    if features is not None:
        chosen = positions_of(features, labels, "features", column_ids)
        train, labels = select_columns(train, chosen), [labels[position] for position in chosen]
        column_ids = chosen if names is None else ()
    return train, as_vector(y, f"y{suffix}", train.shape[0]), labels, column_ids


def held_out_rows(
    X_test: Any, y_test: Any, train: Table, labels: list[str], features: Sequence[Any] | None
) -> HeldTest | StoredTest:
    """The rows on which losses are compared, in memory or read in pieces."""
    named = column_names(train) is not None
    if open_store(X_test) is None:
        return _held_test(X_test, y_test, labels, named, features)
    if not named:
        raise ArgumentError("X_train must have named columns if X_test is read in pieces.")
    return StoredTest(X_test, y_test, tuple(labels))


def _held_test(
    X_test: Any, y_test: Any, labels: Sequence[str], named: bool, features: Sequence[Any] | None
) -> HeldTest:
    whole = as_table(X_test, "X_test")
    check_shape("X_test", whole)
    test = _same_columns(whole, labels, named, features)
    observed = as_vector(y_test, "y_test", test.shape[0])
    # Columns without names keep their positions among all columns.
    numbered = not named and column_names(test) is None
    rows, chosen = (whole, features) if numbered else (test, None)
    return HeldTest(test, observed, rows, chosen)


def check_shape(argument: str, table: Table) -> None:
    if 0 in table.shape:
        raise DataError(f"{argument} must have rows and columns; got shape {table.shape}.")


def _same_columns(
    test: Table, labels: Sequence[str], named: bool, features: Sequence[Any] | None
) -> Table:
    names = column_names(test)
    if named and names is not None:
        remedy = " of X_train: add them, or name the columns that both have with features=[...]."
        return select_columns(test, positions_in(names, labels, "X_test", remedy))
    if features is not None and not named:
        default = [f"x{position}" for position in range(test.shape[1])]
        positions = positions_of(features, default, "features", range(len(default)))
        return select_columns(test, positions)
    if test.shape[1] != len(labels):
        raise DataError(
            f"X_test has {test.shape[1]} columns, but X_train has {len(labels)}: they must agree."
        )
    return test
