"""Prepare rows in memory: encode them into the masked space, check them, find their reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sfit.exceptions import ArgumentError, DataError, ModelError
from sfit.models import ModelView
from sfit.rows import (
    HeldRows,
    Rows,
    Table,
    _tiles,
    as_table,
    column_numbers,
    column_values,
    to_native,
)
from sfit.rows._ranges import ranges
from sfit.sample._observed import check_target, encode_classes, partition
from sfit.sample._provenance import Provenance, mixes_with
from sfit.sample._reference import Given, given_rows, match_reference, reference_rows

Array = npt.NDArray[Any]


class PreparedRows(NamedTuple):
    """Rows in the masked space, with their reference and the ranges of their columns."""

    view: ModelView
    rows: Rows
    reference: Table
    origin: tuple[int, ...]
    """The original column behind each masked one."""
    spans: tuple[tuple[float, float], ...]
    missing: frozenset[int]
    sample: Table
    """All rows, or a few that show the type and the categories of every column."""


def prepare_rows(
    view: ModelView,
    table: Table,
    target: Array,
    by: Any,
    whole: Table,
    labels: Sequence[str],
    reference: Any,
    of_counts: bool,
) -> PreparedRows:
    """Prepare rows in memory."""
    view, target = encode_classes(view, target)
    check_target(view, target, of_counts)
    part, parts = partition(by, whole, view, target)
    # This array is the user's y: no loss may change it.
    target = target.view()
    target.flags.writeable = False
    view, encoded, origin = masked_space(view, table, given_rows(reference, table, labels))
    background = reference_rows(reference, view, table, encoded, labels, origin)
    check_finite(background, encoded, [labels[source] for source in origin], reference)
    encoded = match_reference(encoded, background)
    spans, missing = ranges(encoded)
    rows = HeldRows(encoded, target, part, parts)
    return PreparedRows(view, rows, background, origin, spans, missing, encoded)


def masked_space(
    view: ModelView, table: Table, given: Given | None
) -> tuple[ModelView, Table, tuple[int, ...]]:
    """Choose where to mask; return the view, its rows and the original column of each column."""
    identity = tuple(range(table.shape[1]))
    encoded = encode(view, table)
    if not view.encoded:
        return view, encoded, identity
    starts = range(0, table.shape[0], _tiles.TILE_ROWS)
    tiles = [(table[s : s + _tiles.TILE_ROWS], encoded[s : s + _tiles.TILE_ROWS]) for s in starts]
    provenance = Provenance(view.encode)
    for tile in tiles:
        provenance.add(*tile)
    if given is not None:
        provenance.add_given(given.rows)
    origin = provenance.traced
    if origin is not None and mixes_with_given(view, origin, given, tiles):
        return view, encoded, origin
    view = view.whole()
    return view, encode(view, table), identity


def mixes_with_given(
    view: ModelView,
    origin: tuple[int, ...],
    given: Given | None,
    tiles: Iterable[tuple[Table, Table]],
) -> bool:
    """Whether freezing at the user's values gives the same before and after encoding."""
    if given is None or not given.columns:
        return True
    return all(
        mixes_with(view.encode, origin, tile, given.rows, given.columns, index)
        for index, tile in enumerate(tiles)
    )


def check_finite(background: Table, encoded: Table, labels: Sequence[str], reference: Any) -> None:
    """Refuse an infinite reference, whether given by the user or computed from the rows."""
    for position, label in enumerate(labels):
        hidden = column_values(background, position)
        if not isinstance(reference, str):
            for value in hidden:
                if isinstance(value, float | np.floating) and np.isinf(value):
                    raise ArgumentError(
                        f"reference for column {label!r} must be finite; got {value}."
                    )
            continue
        if not isinstance(hidden[0], float | np.floating) or np.isfinite(hidden[0]):
            continue
        values = column_numbers(encoded, position)
        if values is None:
            continue
        infinite = np.isinf(values)
        if not infinite.any() and not np.isnan(values).all():
            raise DataError(
                f"X has values in column {label!r} whose {reference} is too large for a float: "
                "scale the column, or pass values as reference."
            )
        if infinite.any():
            raise DataError(
                f"X is infinite in column {label!r} at {int(infinite.sum())} row(s), the first is "
                f"row {infinite.argmax()}, so its {reference} cannot be the reference: remove or "
                "clip these values, or pass values as reference."
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
