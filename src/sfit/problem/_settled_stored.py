"""From the user's rows to those of the masked space where they are read tile by tile.

What must be known of all of them is gathered first, in one pass (another for some Pipelines and for
medians).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from sfit.exceptions import ArgumentError, DataError
from sfit.models import ModelView
from sfit.problem._columns import check_class
from sfit.problem._observed import (
    check_parts,
    check_target,
    plain_labels,
    settle_classes,
    sorted_parts,
)
from sfit.problem._provenance import Provenance
from sfit.problem._reference import given_row, match_reference, reference_row
from sfit.problem._settled import Settled, check_finite, encode, mixes_with_given
from sfit.rows import Table, Tile, as_vector, column_numbers, column_values, select_columns
from sfit.rows._store import Store
from sfit.rows._stored_rows import StoredRows, raw_tiles
from sfit.rows._survey import Survey, TellingRows, medians

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Settler:
    """From a table of the user's columns to a tile of the masked space."""

    view: ModelView
    columns: tuple[str, ...]
    labels: tuple[str, ...]
    target: str
    by: str | None
    of_counts: bool = False
    """Whether the loss asks for a target from zero on."""
    parts: Any = None
    """The labels of `by`, sorted."""
    reference: Table | None = None
    numeric: frozenset[int] = frozenset()
    """Columns of objects that are numbers, or missing in a whole tile, which does not tell."""

    def __call__(self, index: int, table: Table, first: int, numbers: Array | None) -> Tile:
        """One tile, as it is tested."""
        encoded = self.encoded(table)
        if self.reference is not None:
            encoded = match_reference(encoded, self.reference)
        y = self.observed(table, first)
        part = None
        if self.by is not None and self.parts is not None:
            part = pd.Index(self.parts).get_indexer(pd.Index(self.part_labels(table, y)))
        return Tile(index, encoded, y, part, numbers)

    def undivided(self) -> Settler:
        """The same, without parts."""
        return replace(self, by=None)

    def told(self) -> tuple[Any, ...]:
        """Which columns are what."""
        return self.labels, self.target, self.by

    def encoded(self, table: Table) -> Table:
        """The masked space."""
        return encode(self.view, self.features(table))

    def features(self, table: Table) -> Table:
        """The user's columns of features."""
        place = {name: position for position, name in enumerate(self.columns)}
        chosen = select_columns(table, [place[label] for label in self.labels])
        names = chosen.columns
        blank = [
            nw.col(names[position]).cast(nw.Float64)
            for position in self.numeric
            if column_numbers(chosen, position) is None
        ]
        return chosen.with_columns(*blank) if blank else chosen

    def observed(self, table: Table, first: int) -> Array:
        """What was observed, checked: class numbers, or numbers."""
        _, y = settle_classes(self.view, self.column(table, self.target), first)
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


def settle_stored(
    view: ModelView,
    store: Store,
    target: str,
    by: str | None,
    labels: Sequence[str],
    reference: Any,
    of_counts: bool,
) -> Settled:
    """Rows that are read tile by tile: what must be known of all of them is gathered first."""
    check_class(by, [name for name in store.names if name != target])
    if by == "class" and view.task != "classification":
        raise ArgumentError("by='class' is for classification; the model is of regression.")
    asides = [target, *([by] if by not in (None, "class") else [])]
    columns = tuple(dict.fromkeys([*labels, *map(str, asides)]))
    settle = Settler(view, columns, tuple(labels), target, by, of_counts)
    if view.task == "classification" and view.classes is None:
        found = [
            np.asarray(settle_classes(view, settle.column(table, target), first)[0].classes, object)
            for first, table in raw_tiles(store, columns)
        ]
        view, _ = settle_classes(view, np.concatenate(found))
        settle = replace(settle, view=view)
    modes = reference == "mode" if isinstance(reference, str) else False
    telling, parts = TellingRows(), _Parts()
    known, provenance = Survey(view.categorical, modes), Provenance(view.encode)
    for first, table in raw_tiles(store, columns):
        features = settle.features(table)
        telling.add(features)
        y = settle.observed(table, first)
        if by is not None:
            parts.add(settle.part_labels(table, y), first)
        encoded = encode(view, features)
        if view.encoded:
            provenance.add(features, encoded)
        if not provenance.unclear:
            known.add(encoded)
    origin = tuple(range(len(labels)))
    if view.encoded:
        given = given_row(reference, telling.table, labels)
        traced = provenance.found
        if traced is not None and mixes_with_given(view, traced, given, _both(settle, store)):
            origin = traced
        else:
            view = view.whole()
            settle = replace(settle, view=view)
            known = _survey_again(settle, store, modes)
    else:
        settle = replace(settle, numeric=frozenset(known.blank & known.numeric))
        for column in known.words.intersection(known.sums):
            raise DataError(
                f"X holds numbers in some rows of column {labels[column]!r} and words in others: "
                "make it one kind."
            )
    sample = encode(view, telling.table)
    centre = known.centre
    if isinstance(reference, str) and reference == "median":
        exact = medians(lambda: (settle.encoded(t) for _, t in raw_tiles(store, columns)), known)

        def centre(how: str, column: int) -> Any:
            known_exactly = column in exact and column not in view.categorical
            return exact[column] if known_exactly else known.centre(how, column)

    row = reference_row(reference, view, telling.table, sample, labels, origin, centre)
    if not isinstance(reference, str):
        check_finite(row, sample, [labels[source] for source in origin], reference)
    for c, span in enumerate(known.spans):
        if isinstance(reference, str) and np.isinf(span).any():
            value = column_values(row, c)[0]
            if not np.isfinite(value):
                raise DataError(
                    f"X is infinite in column {labels[origin[c]]!r}, so that its {reference} is no "
                    "reference: remove or clip these values, or pass values as reference."
                )
    settle = replace(settle, reference=row, parts=parts.found if by is not None else None)
    rows = StoredRows(store, settle, len(store), parts.sizes, parts.labels)
    sample = match_reference(sample, row)
    return Settled(view, rows, row, origin, known.spans, frozenset(known.missing), sample)


def _both(settle: Settler, store: Store) -> Iterator[tuple[Table, Table]]:
    """The tiles, as the user has them and encoded."""
    for _, table in raw_tiles(store, settle.columns):
        features = settle.features(table)
        yield features, encode(settle.view, features)


def _survey_again(settle: Settler, store: Store, modes: bool) -> Survey:
    known = Survey(settle.view.categorical, modes)
    for _, table in raw_tiles(store, settle.columns):
        known.add(settle.encoded(table))
    return known


class _Parts:
    """The parts that rows fall into, counted a tile at a time."""

    def __init__(self) -> None:
        self.counts: pd.Series[int] = pd.Series(dtype=np.int64)

    def add(self, values: Array, first: int) -> None:
        check_parts(values, first)
        codes, found = sorted_parts(values)
        self.counts = self.counts.add(pd.Series(np.bincount(codes), index=found), fill_value=0)

    @property
    def found(self) -> Any:
        return sorted_parts(np.asarray(self.counts.index))[1]

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(self.counts[label]) for label in self.found) if len(self.counts) else ()

    @property
    def labels(self) -> tuple[Any, ...]:
        return plain_labels(self.found) if len(self.counts) else ()
