"""Prepare rows: check the target, encode into the masked space, survey, find the reference.

The rows come in pieces. Rows in memory are one piece; rows in files are one piece per tile, and are
read again by whoever needs them. Everything else is the same for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from sfit._array import Array
from sfit._losses import Loss
from sfit.exceptions import ArgumentError, DataError, ModelError
from sfit.models import ModelView
from sfit.rows import (
    HeldRows,
    Rows,
    Table,
    Tile,
    as_table,
    as_vector,
    column_numbers,
    column_values,
    is_frame,
    select_columns,
    to_native,
)
from sfit.rows._stored import Store, StoredRows, raw_tiles
from sfit.rows._survey import ProbeRows, Span, Survey
from sfit.sample._clusters import ClusterLabels, cluster_codes
from sfit.sample._columns import (
    checked_numbers,
    class_codes,
    count_parts,
    part_codes,
    plain_labels,
    sorted_parts,
    with_classes,
)
from sfit.sample._provenance import Provenance, mixes_with
from sfit.sample._reference import given_rows, holds_any, match_reference, reference_rows


class Piece(NamedTuple):
    """Some of the user's rows."""

    features: Table
    target: Array
    by: Array | None
    """The label of each row's part; None without parts, or if the classes are the parts."""
    first: int | None = None
    """The number of the first row; None if these are all rows, in memory."""
    clusters: Array | None = None
    """The label of each row's cluster; None without clusters."""


class Source(Protocol):
    """The user's rows, in pieces that can be read again."""

    @property
    def held(self) -> bool:
        """Whether all rows are in memory, as one piece."""

    @property
    def tile_rows(self) -> int:
        """The size of a tile."""

    def __iter__(self) -> Iterator[Piece]: ...

    def targets(self) -> Iterable[tuple[Array, int | None]]:
        """The target of each piece, and the number of its first row."""

    def rows(self, encoder: PieceEncoder, found: Overview) -> Rows:
        """The rows of the masked space."""


@dataclass(frozen=True)
class HeldSource:
    """Rows in memory: one piece."""

    piece: Piece
    tile_rows: int

    held = True

    def __iter__(self) -> Iterator[Piece]:
        return iter((self.piece,))

    def targets(self) -> Iterable[tuple[Array, int | None]]:
        """The target of all rows."""
        return [(self.piece.target, None)]

    def rows(self, encoder: PieceEncoder, found: Overview) -> Rows:
        """The rows that the overview has encoded."""
        tile = encoder.tile(0, self.piece, found)
        labels = () if encoder.parts is None else plain_labels(encoder.parts)
        return HeldRows(
            tile.X,
            tile.y,
            tile.part,
            labels,
            tile_rows=self.tile_rows,
            cluster=tile.cluster,
            n_clusters=0 if encoder.clusters is None else len(encoder.clusters),
        )


@dataclass(frozen=True)
class StoredSource:
    """Rows in files or frames: one piece per tile."""

    store: Store
    labels: tuple[str, ...]
    """The columns of the features."""
    target: str
    by: str | None
    tile_rows: int
    clusters: str | None = None

    held = False

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns to read, those of the features first."""
        by = None if self.by == "class" else self.by
        others = (name for name in (by, self.clusters) if name is not None)
        return tuple(dict.fromkeys((*self.labels, self.target, *others)))

    def __iter__(self) -> Iterator[Piece]:
        for first, table in raw_tiles(self.store, self.columns, tile_rows=self.tile_rows):
            yield self.piece(table, first)

    def piece(self, table: Table, first: int) -> Piece:
        """A table of the columns to read, as a piece."""
        features = select_columns(table, range(len(self.labels)))
        target = _vector(table, self.columns.index(self.target), self.target)
        by = None
        if self.by is not None and self.by != "class":
            by = _vector(table, self.columns.index(self.by), self.by)
        clusters = None
        if self.clusters is not None:
            clusters = _vector(table, self.columns.index(self.clusters), "clusters")
        return Piece(features, target, by, first, clusters)

    def targets(self) -> Iterator[tuple[Array, int | None]]:
        """The target of each tile, read alone."""
        for first, table in raw_tiles(self.store, [self.target], tile_rows=self.tile_rows):
            yield _vector(table, 0, self.target), first

    def rows(self, encoder: PieceEncoder, found: Overview) -> Rows:
        """Rows that are read again tile by tile, except for the first."""
        labels: tuple[Any, ...] = ()
        sizes: tuple[int, ...] = ()
        if encoder.parts is not None:
            labels = plain_labels(encoder.parts)
            # Pieces may spell missing labels in different ways, which are one part.
            codes = part_codes(encoder.parts, np.asarray(found.parts.index))
            sizes = tuple(np.bincount(codes, weights=found.parts).astype(int).tolist())
        return StoredRows(
            self.store,
            TableEncoder(self, encoder),
            len(self.store),
            sizes,
            labels,
            tile_rows=self.tile_rows,
            n_clusters=0 if encoder.clusters is None else len(encoder.clusters),
            kept=encoder.tile(0, found.first),
        )


def _vector(table: Table, position: int, name: str) -> Array:
    return as_vector(table.get_column(table.columns[position]).to_native(), name, table.shape[0])


@dataclass(frozen=True)
class PieceEncoder:
    """Turns pieces of the user's rows into tiles of the masked space."""

    view: ModelView
    by_class: bool
    """Whether the classes are the parts."""
    loss: Loss
    """The loss, which may restrict the target."""
    parts: Any = None
    """The sorted labels of the parts; None without parts."""
    clusters: Any = None
    """The labels of the clusters, in the order of their numbers; None without clusters."""
    reference: Table | None = None
    numeric: frozenset[int] = frozenset()
    """Numeric columns that are entirely missing in some piece, where their type is unknown."""

    def tile(
        self,
        index: int,
        piece: Piece,
        found: Overview | None = None,
        row_ids: Array | None = None,
    ) -> Tile:
        """The tile of a piece; `found` may hold the piece encoded already."""
        encoded = self.encoded(piece) if found is None else found.encoded
        y = self.observed(piece) if found is None else found.y
        if self.reference is not None:
            encoded = match_reference(encoded, self.reference)
        part = None
        if self.parts is not None:
            part = part_codes(self.parts, self.part_labels(piece, y))
        cluster = None
        if self.clusters is not None:
            cluster = cluster_codes(self.clusters, piece.clusters)
        return Tile(index, encoded, y, part, row_ids, piece.first or 0, cluster)

    def encoded(self, piece: Piece) -> Table:
        """The rows in the masked space."""
        table = piece.features
        for position in self.numeric:
            if column_numbers(table, position) is None and not self._keeps_objects(position):
                table = table.with_columns(nw.col(table.columns[position]).cast(nw.Float64))
        return encode(self.view, table)

    def _keeps_objects(self, position: int) -> bool:
        """Whether a column holds objects as a whole: then None stays None in every tile."""
        reference = self.reference
        if reference is None or not is_frame(reference):
            return False
        return holds_any(reference.columns[position], reference)

    def observed(self, piece: Piece) -> Array:
        """The checked target: class codes for classification, numbers for regression."""
        if self.view.task == "regression":
            y = checked_numbers(piece.target, self.loss, piece.first)
        else:
            y = class_codes(np.asarray(self.view.classes), piece.target, piece.first)
        # In memory, this array is the user's y: no loss may change it.
        y = y.view()
        y.flags.writeable = False
        return y

    def part_labels(self, piece: Piece, y: Array) -> Any:
        """The label of each row's part; None without parts."""
        return np.asarray(self.view.classes)[y] if self.by_class else piece.by


@dataclass(frozen=True)
class TableEncoder:
    """Turns tables that are read from a store into tiles of the masked space."""

    source: StoredSource
    encoder: PieceEncoder

    @property
    def columns(self) -> Sequence[str]:
        """The columns to read."""
        return self.source.columns

    def __call__(self, index: int, table: Table, first: int, row_ids: Array | None) -> Tile:
        """Encode one tile."""
        return self.encoder.tile(index, self.source.piece(table, first), row_ids=row_ids)

    def undivided(self) -> TableEncoder:
        """The same, without parts."""
        return TableEncoder(replace(self.source, by=None), replace(self.encoder, parts=None))

    def column_roles(self) -> tuple[Any, ...]:
        """The columns of the features, the target, the parts and the clusters."""
        source = self.source
        return source.labels, source.target, source.by, source.clusters


class PreparedRows(NamedTuple):
    """Rows in the masked space, with their reference and the ranges of their columns."""

    view: ModelView
    rows: Rows
    reference: Table
    """The background rows; one row, unless the reference is an average."""
    origin: tuple[int, ...]
    """The original column behind each masked one."""
    spans: tuple[Span, ...]
    missing: frozenset[int]
    sample: Table
    """All rows, or a few that show the type and the categories of every column."""


def prepare_rows(
    view: ModelView,
    source: Source,
    labels: Sequence[str],
    reference: Any,
    *,
    by_class: bool,
    loss: Loss,
) -> PreparedRows:
    """Prepare rows in memory or in files."""
    if by_class and view.task != "classification":
        raise ArgumentError("by='class' needs a classification model; this one is for regression.")
    encoded = view.encoded
    if view.task == "classification" and view.classes is None:
        view = with_classes(view, source.targets())
    encoder = PieceEncoder(view, by_class, loss)
    encoder, found, origin = masked_space(encoder, source, labels, reference)
    view, survey, held = encoder.view, found.survey, source.held
    if not held and not encoded:
        encoder = replace(encoder, numeric=numeric_but_blank(survey, labels))
    if survey.how == "median":
        survey.find_medians(lambda: map(encoder.encoded, source))
    sample = found.encoded if held else encode(view, found.probe)
    background = reference_rows(
        reference,
        view,
        found.probe,
        sample,
        labels,
        origin,
        None if held else survey.centre,
        source.tile_rows,
    )
    spans = survey.spans
    check_finite(
        background, labels, origin, reference, spans, sample if held else None, view.encoded
    )
    parts = None if found.parts is None else sorted_parts(np.asarray(found.parts.index))[1]
    encoder = replace(encoder, reference=background, parts=parts, clusters=found.clusters)
    rows = source.rows(encoder, found)
    sample = rows.table if isinstance(rows, HeldRows) else match_reference(sample, background)
    missing = frozenset(survey.missing)
    return PreparedRows(view, rows, background, origin, spans, missing, sample)


class Overview(NamedTuple):
    """What one pass over all rows has found."""

    first: Piece
    y: Array
    """The target of the first piece."""
    encoded: Table
    """The first piece in the masked space."""
    probe: Table
    """All rows of the user, or a few that show the type and the categories of every column."""
    survey: Survey
    parts: Any
    """Number of rows of each part, by label; None without parts."""
    clusters: Any
    """The labels of all clusters, as they first appear; None without clusters."""


def masked_space(
    encoder: PieceEncoder, source: Source, labels: Sequence[str], reference: Any
) -> tuple[PieceEncoder, Overview, tuple[int, ...]]:
    """Choose where to mask, look at all rows there, and trace each column to its original one.

    A Pipeline is masked after its head if each encoded column comes from one original column.
    """
    view, how = encoder.view, reference if isinstance(reference, str) else "mean"
    if view.encoded:
        provenance = Provenance(view.encode)
        found = look_over(encoder, source, how, provenance)
        # The probe is complete only if the pass was.
        given = None if provenance.unclear else given_rows(reference, found.probe, labels)
        if given is not None:
            provenance.add_given(given.rows)
        origin = provenance.traced
        if origin is not None:
            if given is None or not given.columns:
                return encoder, found, origin
            tiles = encoded_tiles(view, source, found)
            if all(
                mixes_with(view.encode, origin, tile, given.rows, given.columns, index)
                for index, tile in enumerate(tiles)
            ):
                return encoder, found, origin
        encoder = replace(encoder, view=view.whole())
    return encoder, look_over(encoder, source, how), tuple(range(len(labels)))


def look_over(
    encoder: PieceEncoder, source: Source, how: str, provenance: Provenance | None = None
) -> Overview:
    """Look at all rows once, or up to an encoded column without a single origin."""
    first: list[tuple[Piece, Array, Table]] = []
    probe: ProbeRows | None = None if source.held else ProbeRows()
    survey = Survey(encoder.view.categorical, None if source.held else how)
    parts = None
    clusters = ClusterLabels()
    for piece in source:
        if probe is not None:
            probe.add(piece.features)
        y = encoder.observed(piece)
        labels = encoder.part_labels(piece, y)
        if labels is not None:
            parts = count_parts(labels, parts)
        if piece.clusters is not None:
            clusters.add(piece.clusters, piece.first)
        encoded = encoder.encoded(piece)
        if not first:
            first.append((piece, y, encoded))
        if provenance is not None:
            for tile in cut(piece.features, encoded, source.tile_rows):
                provenance.add(*tile)
            if provenance.unclear:
                break
        survey.add(encoded)
    [(piece, y, encoded)] = first
    table = piece.features if probe is None else probe.table
    return Overview(piece, y, encoded, table, survey, parts, clusters.index)


def encoded_tiles(
    view: ModelView, source: Source, found: Overview
) -> Iterator[tuple[Table, Table]]:
    """Each tile, before and after encoding."""
    for piece in source:
        encoded = found.encoded if piece is found.first else encode(view, piece.features)
        yield from cut(piece.features, encoded, source.tile_rows)


def cut(table: Table, encoded: Table, tile_rows: int) -> Iterator[tuple[Table, Table]]:
    """Cut the rows of two tables into tiles."""
    for start in range(0, table.shape[0], tile_rows):
        rows = slice(start, start + tile_rows)
        yield table[rows], encoded[rows]


def numeric_but_blank(survey: Survey, labels: Sequence[str]) -> frozenset[int]:
    """Numeric columns that some piece does not show; refuse columns of numbers and words."""
    for column in survey.words.intersection(survey.sums):
        raise DataError(
            f"X has both numbers and words in column {labels[column]!r}: convert the column to "
            "one type."
        )
    return frozenset(survey.blank & survey.numeric)


def check_finite(
    background: Table,
    labels: Sequence[str],
    origin: Sequence[int],
    reference: Any,
    spans: Sequence[Span],
    held: Table | None,
    encoded: bool,
) -> None:
    """Refuse an infinite reference, whether given by the user or computed from the rows.

    `held` are all rows, if they are in memory: the message can then name one. If rows are
    encoded, the first steps of a Pipeline, such as a scaler, have changed the user's value.
    """
    for column, source in enumerate(origin):
        hidden, label = column_values(background, column), labels[source]
        if not isinstance(reference, str):
            for value in hidden:
                if isinstance(value, float | np.floating) and np.isinf(value):
                    made = " after the first steps of the Pipeline" if encoded else ""
                    raise ArgumentError(
                        f"reference for column {label!r} must be finite{made}; got {value}."
                        + (" A scaler may divide it by a tiny spread." if made else "")
                    )
            continue
        if not isinstance(hidden[0], float | np.floating) or np.isfinite(hidden[0]):
            continue
        values = np.array(spans[column]) if held is None else column_numbers(held, column)
        if values is None or np.isnan(values).all():
            continue
        infinite = np.isinf(values)
        if not infinite.any():
            raise DataError(
                f"X has values in column {label!r} whose {reference} is too large for a float: "
                "scale the column, or pass values as reference."
            )
        where = f" at {int(infinite.sum())} row(s), the first is row {infinite.argmax()}"
        raise DataError(
            f"X is infinite in column {label!r}{'' if held is None else where}, so its {reference} "
            "cannot be the reference: remove or clip these values, or pass values as reference."
        )


def encode(view: ModelView, table: Table) -> Table:
    """Encode rows into the masked space."""
    try:
        encoded = as_table(view.encode(to_native(table)))
    except (DataError, ModelError):
        raise
    except Exception as error:
        raise ModelError(
            f"the model's own preprocessing failed on X: {type(error).__name__}: {error}"
        ) from error
    if encoded.shape[0] != table.shape[0]:
        raise ModelError(
            f"the model's own preprocessing changed the number of rows from {table.shape[0]} to "
            f"{encoded.shape[0]}: each row must stay one row."
        )
    return encoded
