"""Prepare rows that are read tile by tile, from files or from a sequence of frames.

A first pass over all tiles collects ranges, centres and classes. Some Pipelines, and medians, need
another pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from sfit.exceptions import ArgumentError, DataError
from sfit.models import ModelView
from sfit.rows import (
    Table,
    Tile,
    as_vector,
    column_numbers,
    column_values,
    is_frame,
    select_columns,
)
from sfit.rows._store import Store
from sfit.rows._stored_rows import StoredRows, raw_tiles
from sfit.rows._survey import ProbeRows, Survey, medians
from sfit.sample._columns import check_class
from sfit.sample._observed import (
    check_parts,
    check_target,
    encode_classes,
    plain_labels,
    sorted_parts,
)
from sfit.sample._prepared import PreparedRows, check_finite, encode, mixes_with_given
from sfit.sample._provenance import Provenance
from sfit.sample._reference import given_rows, holds_any, match_reference, reference_rows

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class RawTileEncoder:
    """Encodes a table of the user's columns as a tile of the masked space."""

    view: ModelView
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    target: str
    by: str | None
    of_counts: bool = False
    """Whether the loss needs a target without negative values."""
    parts: Any = None
    """The labels of `by`, sorted."""
    reference: Table | None = None
    numeric: frozenset[int] = frozenset()
    """Numeric columns that are entirely missing in some tile, where their type is unknown."""

    def __call__(self, index: int, table: Table, first: int, row_ids: Array | None) -> Tile:
        """Encode one tile."""
        encoded = self.encoded(table)
        if self.reference is not None:
            encoded = match_reference(encoded, self.reference)
        y = self.observed(table, first)
        part = None
        if self.by is not None and self.parts is not None:
            part = pd.Index(self.parts).get_indexer(pd.Index(self.part_labels(table, y)))
        return Tile(index, encoded, y, part, row_ids)

    def undivided(self) -> RawTileEncoder:
        """The same, without parts."""
        return replace(self, by=None)

    def column_roles(self) -> tuple[Any, ...]:
        """The columns of the features, the target and the parts."""
        return self.labels, self.target, self.by

    def encoded(self, table: Table) -> Table:
        """The rows in the masked space."""
        return encode(self.view, self.features(table))

    def features(self, table: Table) -> Table:
        """The feature columns of the user's rows."""
        place = {name: position for position, name in enumerate(self.columns)}
        chosen = select_columns(table, [place[label] for label in self.labels])
        names = chosen.columns
        blank = [
            nw.col(names[position]).cast(nw.Float64)
            for position in self.numeric
            if column_numbers(chosen, position) is None and not self._keeps_objects(position)
        ]
        return chosen.with_columns(*blank) if blank else chosen

    def _keeps_objects(self, position: int) -> bool:
        """Whether a column holds objects as a whole: then None stays None in every tile."""
        reference = self.reference
        if reference is None or not is_frame(reference):
            return False
        return holds_any(reference.columns[position], reference)

    def observed(self, table: Table, first: int) -> Array:
        """The checked target: class codes for classification, numbers for regression."""
        _, y = encode_classes(self.view, self.column(table, self.target), first)
        check_target(self.view, y, self.of_counts, first)
        y.flags.writeable = False
        return y

    def part_labels(self, table: Table, y: Array) -> Array:
        """The label of each row's part."""
        if self.by == "class":
            return np.asarray(self.view.classes)[y]
        return self.column(table, str(self.by))

    def column(self, table: Table, name: str) -> Array:
        series = table.get_column(table.columns[self.columns.index(name)]).to_native()
        return as_vector(series, name, table.shape[0])


def prepare_stored_rows(
    view: ModelView,
    store: Store,
    target: str,
    by: str | None,
    labels: Sequence[str],
    reference: Any,
    of_counts: bool,
) -> PreparedRows:
    """Prepare rows that are read tile by tile, after a survey of all tiles."""
    check_class(by, [name for name in store.names if name != target])
    if by == "class" and view.task != "classification":
        raise ArgumentError("by='class' needs a classification model; this one is for regression.")
    asides = [target, *([by] if by not in (None, "class") else [])]
    columns = tuple(dict.fromkeys([*labels, *map(str, asides)]))
    encoder = RawTileEncoder(view, columns, tuple(labels), target, by, of_counts)
    if view.task == "classification" and view.classes is None:
        classes = [
            np.asarray(
                encode_classes(view, encoder.column(table, target), first)[0].classes, object
            )
            for first, table in raw_tiles(store, columns)
        ]
        view, _ = encode_classes(view, np.concatenate(classes))
        encoder = replace(encoder, view=view)
    modes = reference == "mode" if isinstance(reference, str) else False
    probe, parts = ProbeRows(), _Parts()
    survey, provenance = Survey(view.categorical, modes), Provenance(view.encode)
    for first, table in raw_tiles(store, columns):
        features = encoder.features(table)
        probe.add(features)
        y = encoder.observed(table, first)
        if by is not None:
            parts.add(encoder.part_labels(table, y), first)
        encoded = encode(view, features)
        if view.encoded:
            provenance.add(features, encoded)
        if not provenance.unclear:
            survey.add(encoded)
    origin = tuple(range(len(labels)))
    if view.encoded:
        given = given_rows(reference, probe.table, labels)
        if given is not None:
            provenance.add_given(given.rows)
        traced, pairs = provenance.traced, _tile_pairs(encoder, store)
        if traced is not None and mixes_with_given(view, traced, given, pairs):
            origin = traced
        else:
            view = view.whole()
            encoder = replace(encoder, view=view)
            survey = _survey_again(encoder, store, modes)
    else:
        encoder = replace(encoder, numeric=frozenset(survey.blank & survey.numeric))
        for column in survey.words.intersection(survey.sums):
            raise DataError(
                f"X has both numbers and words in column {labels[column]!r}: convert the column to "
                "one type."
            )
    sample = encode(view, probe.table)
    centre = survey.centre
    if isinstance(reference, str) and reference == "median":
        median_of = medians(partial(_encoded_tiles, encoder, store), survey)

        def centre(how: str, column: int) -> Any:
            has_median = column in median_of and column not in view.categorical
            return median_of[column] if has_median else survey.centre(how, column)

    row = reference_rows(reference, view, probe.table, sample, labels, origin, centre)
    if not isinstance(reference, str):
        check_finite(row, sample, [labels[source] for source in origin], reference)
    for c, span in enumerate(survey.spans):
        if isinstance(reference, str) and np.isinf(span).any():
            value = column_values(row, c)[0]
            if not np.isfinite(value):
                raise DataError(
                    f"X is infinite in column {labels[origin[c]]!r}, so its {reference} cannot be "
                    "the reference: remove or clip these values, or pass values as reference."
                )
    encoder = replace(encoder, reference=row, parts=parts.index if by is not None else None)
    rows = StoredRows(store, encoder, len(store), parts.sizes, parts.labels)
    sample = match_reference(sample, row)
    return PreparedRows(view, rows, row, origin, survey.spans, frozenset(survey.missing), sample)


def _tile_pairs(encoder: RawTileEncoder, store: Store) -> Iterator[tuple[Table, Table]]:
    """Each tile, before and after encoding."""
    for _, table in raw_tiles(store, encoder.columns):
        features = encoder.features(table)
        yield features, encode(encoder.view, features)


def _survey_again(encoder: RawTileEncoder, store: Store, modes: bool) -> Survey:
    survey = Survey(encoder.view.categorical, modes)
    for tile in _encoded_tiles(encoder, store):
        survey.add(tile)
    return survey


def _encoded_tiles(encoder: RawTileEncoder, store: Store) -> Iterator[Table]:
    return (encoder.encoded(table) for _, table in raw_tiles(store, encoder.columns))


class _Parts:
    """Labels and sizes of the parts, collected tile by tile."""

    def __init__(self) -> None:
        self.counts: pd.Series[int] = pd.Series(dtype=np.int64)

    def add(self, values: Array, first: int) -> None:
        check_parts(values, first)
        codes, labels = sorted_parts(values)
        self.counts = self.counts.add(pd.Series(np.bincount(codes), index=labels), fill_value=0)

    @property
    def index(self) -> Any:
        return sorted_parts(np.asarray(self.counts.index))[1]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(self.counts[label]) for label in self.index) if len(self.counts) else ()

    @property
    def labels(self) -> tuple[Any, ...]:
        return plain_labels(self.index) if len(self.counts) else ()
