"""The subject of an audit: a model, held-out rows in memory, and the arguments of all tests."""

from __future__ import annotations

import inspect
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sfit._array import Array
from sfit._audit._request import AuditRequest
from sfit._average import Average
from sfit._contrast import Reveal, Term
from sfit._differences import Evaluation
from sfit._feature_significance import feature_significance, significance
from sfit._request import Request
from sfit._session import Session
from sfit.exceptions import ArgumentError
from sfit.rows import as_table, as_vector, every_tile, take_rows, to_native
from sfit.rows._stored import open_store
from sfit.sample import Sample, prepare

TIMED_ROWS = 10_000
"""Rows whose prediction is timed, at most."""

DEFAULTS = {
    name: one.default
    for name, one in inspect.signature(feature_significance).parameters.items()
    if one.default is not one.empty
}


@dataclass(frozen=True)
class Subject:
    """A model and its held-out rows."""

    request: AuditRequest
    model: Any
    X: Any
    y: Any
    seed: int
    n_background: int
    warnings: list[str]
    """Every warning so far: the tests of an audit repeat none of them."""

    @property
    def reference(self) -> Average:
        """Hidden features are averaged over training rows, or else over the rows under test."""
        train = self.X if self.request.train is None else self.request.train
        return Average(train, n_rows=self.n_background)

    def prepared(self) -> Sample:
        """The sample whose predictions the audit uses beside its tests."""
        return prepare(
            self.model,
            self.X,
            self.y,
            reference=self.reference,
            clusters=self.request.clusters,
            seed=self.seed,
            **self.request.subject,
        )

    def subset(self, row_ids: Array) -> Subject:
        """The same subject with some of the rows, not divided into groups."""
        table = as_table(self.X)

        def taken(values: Any, argument: str) -> Any:
            if values is None or isinstance(values, str):
                return values
            return as_vector(values, argument, table.shape[0])[row_ids]

        clusters = taken(self.request.clusters, "clusters")
        return replace(
            self,
            X=to_native(take_rows(table, row_ids)),
            y=taken(self.y, "y"),
            request=replace(self.request, clusters=clusters, by=None),
        )

    def test(self, checkpoint: Any = None, **options: Any) -> Any:
        """A test of this subject, without gates; `options` as in `feature_significance`."""
        request = self.request
        arguments = {
            **DEFAULTS,
            **request.subject,
            "alpha": request.alpha,
            "correction": "fdr_by",
            "clusters": request.clusters,
            "reference": self.reference,
            "n_jobs": request.n_jobs,
            "progress": request.progress,
            "checkpoint": checkpoint,
            "checkpoint_key": request.checkpoint_key,
            "random_state": self.seed,
            **options,
        }
        checked = Request.checked(**arguments)
        session = Session.of(checked, self.warnings)
        return significance(checked, self.model, self.X, self.y, session, gates=False)

    def rematched(self, checkpoint: Any = None, **options: Any) -> Any:
        """A permutation test, which allows for rows that depend on each other in time."""
        order = self.request.row_order
        return self.test(checkpoint, test="permutation", row_order=order, **options)

    def warn(self, text: str) -> None:
        """Issue a warning that is new."""
        Session(warnings=self.warnings).warn(text)


def check_in_memory(rows: Any, argument: str) -> None:
    """Refuse rows that are read from files: an audit goes over them many times."""
    if rows is not None and open_store(rows) is not None:
        raise ArgumentError(
            f"{argument} must be rows in memory, because an audit describes and resamples them: "
            "read the files first, for example with pandas.read_parquet. feature_significance "
            "tests files of any size."
        )


@dataclass(frozen=True)
class RowPredictions:
    """The outcome of every row, with the predictions and losses of one side."""

    y: Array
    predictions: Array
    losses: Array


def predict_rows(sample: Sample, evaluation: Evaluation, term: Term) -> RowPredictions:
    """Predictions and losses of all rows with a term revealed."""
    outcomes, predictions, losses = [], [], []
    for tile in every_tile(sample.rows):
        prediction = evaluation.predictions.one(tile, Reveal(term)).by_row()
        outcomes.append(tile.y)
        predictions.append(prediction)
        losses.append(sample.loss(tile.y, prediction, tile.number, signed=True))
    return RowPredictions(*map(np.concatenate, (outcomes, predictions, losses)))


def seconds_per_row(sample: Sample) -> float:
    """The time of one prediction in a batch; the best of two batches."""
    rows = sample.rows.first.X[:TIMED_ROWS]
    times = []
    for _ in range(2):
        started = time.perf_counter()
        sample.view.predict(rows)
        times.append(time.perf_counter() - started)
    return min(times) / len(sample.rows.first.y[:TIMED_ROWS])
