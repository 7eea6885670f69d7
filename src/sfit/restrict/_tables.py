"""Any model as a table: predictions at a few values of a column, interpolated between numbers.

The permutation test is exact for any function of the revealed values, so a coarse function costs
power at most, never validity. The number of predictions does not depend on the number of rows.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import inf

import numpy as np

from sfit._array import Array
from sfit._contrast import Reveal
from sfit._features import Features
from sfit.exceptions import ModelError
from sfit.models import ModelView
from sfit.restrict._direct import Memory, predict_directly
from sfit.restrict._prediction import Prediction, Restricted
from sfit.rows import (
    Tile,
    column_numbers,
    column_of,
    column_values,
    first_of,
    identity,
    mixed_rows,
    value_codes,
)

ONE_COLUMN, TWO_COLUMNS = 64, 16
"""Most values of a column in a table of one column, and of each column in a table of two."""


@dataclass(frozen=True)
class Curve:
    """A function of one column: linear between knots, constant beyond them."""

    column: int
    knots: Array
    values: Array
    """The prediction at each knot, one column per output."""
    missing: Array | None
    """The prediction where the column is missing."""
    is_vector: bool
    """Whether a prediction is one number."""

    def __call__(self, tile: Tile) -> Prediction:
        """Interpolate the rows of a tile."""
        x = _numbers(tile, self.column)
        predictions = np.stack([np.interp(x, self.knots, f) for f in self.values.T], axis=1)
        if self.missing is not None:
            predictions[np.isnan(x)] = self.missing
        return Prediction(predictions[:, 0] if self.is_vector else predictions, None, len(tile))


@dataclass(frozen=True)
class Words:
    """A function of one column of words: a prediction for each of them."""

    column: int
    places: Mapping[Hashable, int]
    """The place of each word among the predictions."""
    values: Array
    """The predictions; the last is that of other words, with the column hidden."""

    def __call__(self, tile: Tile) -> Prediction:
        """Look up the rows of a tile."""
        codes = value_codes(column_of(tile.X, self.column))
        words = column_values(tile.X, self.column)[first_of(codes)]
        places = [self.places.get(identity(word), -1) for word in words]
        return Prediction(self.values[places], codes, len(tile))


@dataclass(frozen=True)
class Surface:
    """A function of two columns: bilinear between knots, constant beyond them."""

    columns: tuple[int, int]
    knots: tuple[Array, Array]
    values: Array
    """The prediction at each pair of knots, of shape (knots, knots, outputs)."""
    is_vector: bool

    def __call__(self, tile: Tile) -> Prediction:
        """Interpolate the rows of a tile."""
        (i, s), (j, t) = (
            _between(_numbers(tile, column), knots)
            for column, knots in zip(self.columns, self.knots, strict=True)
        )
        s, t = s[:, None], t[:, None]
        near = self.values[i, j] * (1 - t) + self.values[i, j + 1] * t
        far = self.values[i + 1, j] * (1 - t) + self.values[i + 1, j + 1] * t
        predictions = near * (1 - s) + far * s
        return Prediction(predictions[:, 0] if self.is_vector else predictions, None, len(tile))


def table_size(features: Features, columns: Sequence[int]) -> float:
    """Most predictions of the table of some columns, per background row; inf if it has none."""
    if len(columns) == 2 and not features.missing.intersection(columns):
        return TWO_COLUMNS**2
    return ONE_COLUMN if len(columns) == 1 else inf


def make_tables(
    view: ModelView, features: Features, tile: Tile, sides: Iterable[Reveal]
) -> dict[Reveal, Restricted]:
    """Tables of the sides that reveal one column, or two numeric columns with many values."""
    tables: dict[Reveal, Restricted] = {}
    of_one: dict[Reveal, tuple[int, Array]] = {}
    for side in sides:
        columns = features.shown(side.shown)
        if len(columns) == 1:
            rows = _knots(features, tile, columns[0], ONE_COLUMN)
            if rows is None:
                rows = _words(tile, columns[0], ONE_COLUMN)
            if rows is not None:
                of_one[side] = columns[0], rows
        elif len(columns) == 2:
            with suppress(ModelError):  # the direct route names the failing row
                surface = _surface(view, features, tile, side)
                tables |= {} if surface is None else {side: surface}
    with suppress(ModelError):
        tables |= _of_one_column(view, features, tile, of_one)
    return tables


def _of_one_column(
    view: ModelView, features: Features, tile: Tile, of_side: dict[Reveal, tuple[int, Array]]
) -> dict[Reveal, Restricted]:
    """Tables of one column; the knots of all columns share the rows of one small tile."""
    if not of_side:
        return {}
    most = max(len(rows) for _, rows in of_side.values())
    # A column with fewer knots repeats its last one.
    picked = {
        column: np.append(rows, np.full(most - len(rows), rows[-1]))
        for column, rows in of_side.values()
    }
    small = _small_tile(tile, picked)
    nothing = Reveal(frozenset())
    predictions = predict_directly(view, features, small, [*of_side, nothing], Memory())
    hidden = predictions[nothing].by_row()[:1]
    tables: dict[Reveal, Restricted] = {}
    for side, (column, rows) in of_side.items():
        predicted = predictions[side].by_row()[: len(rows)]
        if column_numbers(tile.X, column) is None:
            words = column_values(small.X, column)[: len(rows)]
            places = {identity(word): place for place, word in enumerate(words)}
            tables[side] = Words(column, places, np.concatenate([predicted, hidden]))
        else:
            tables[side] = _curve(_numbers(small, column)[: len(rows)], predicted, column)
    return tables


def _curve(knots: Array, predicted: Array, column: int) -> Curve:
    """A function that is linear between knots; NaN among them stands for missing values."""
    values = predicted.reshape(len(knots), -1).astype(np.float64)
    known = ~np.isnan(knots)
    missing = None if known.all() else values[~known][0]
    return Curve(column, knots[known], values[known], missing, predicted.ndim == 1)


def _surface(view: ModelView, features: Features, tile: Tile, side: Reveal) -> Surface | None:
    """The table of two columns; None if one is not numeric, lacks values or has only one."""
    first, second = features.shown(side.shown)
    rows = [_knots(features, tile, column, TWO_COLUMNS) for column in (first, second)]
    if rows[0] is None or rows[1] is None or features.missing.intersection((first, second)):
        return None
    n, m = len(rows[0]), len(rows[1])
    if min(n, m) < 2 or n * m >= len(tile):
        return None
    small = _small_tile(tile, {first: np.repeat(rows[0], m), second: np.tile(rows[1], n)})
    predicted = predict_directly(view, features, small, [side], Memory())[side].by_row()
    values = predicted.reshape(n, m, -1).astype(np.float64)
    knots = _numbers(small, first)[::m], _numbers(small, second)[:m]
    return Surface((first, second), knots, values, predicted.ndim == 1)


def _small_tile(tile: Tile, picked: dict[int, Array]) -> Tile:
    """A tile whose rows take each picked column from rows of another tile."""
    some = next(iter(picked.values()))
    return Tile(0, mixed_rows(tile.X, picked), tile.y[some], None, some)


def _knots(features: Features, tile: Tile, column: int, most: int) -> Array | None:
    """Rows of a tile whose values are the knots, by rising value; None if the column has no table.

    These are all distinct values if they are few. Else they are the values of evenly spaced ranks
    and, where many rows share a value, evenly spaced distinct values as well. The last row is one
    whose value is missing, if the column has such rows.
    """
    if column_numbers(tile.X, column) is None:
        return None
    x = _numbers(tile, column)
    known = np.flatnonzero(np.isfinite(x))
    if not len(known):
        return None
    order = known[np.argsort(x[known], kind="stable")]
    ordered = x[order]
    first = order[np.append(True, ordered[1:] != ordered[:-1])]
    if len(first) > most:
        place = np.cumsum(np.append(0, ordered[1:] != ordered[:-1]))
        places = np.unique(place[_spaced(len(order), most)])
        # Ranks that meet one value leave knots over.
        others = np.setdiff1d(np.arange(len(first)), places)
        free = most - len(places)
        first = first[np.sort(np.append(places, others[_spaced(len(others), free)]))]
    missing = np.flatnonzero(np.isnan(x))[:1]
    if column in features.missing and not len(missing):
        return None
    return np.concatenate([first, missing])


def _words(tile: Tile, column: int, most: int) -> Array | None:
    """The first row with each word of a column; None for numbers, and if there are too many."""
    if column_numbers(tile.X, column) is not None:
        return None
    rows = first_of(value_codes(column_of(tile.X, column)))
    if not 0 < len(rows) <= most:
        return None
    try:
        {identity(word) for word in column_values(tile.X, column)[rows]}
    except TypeError:  # a list, say, which no table can look up
        return None
    return rows


def _spaced(n: int, most: int) -> Array:
    """At most so many of n positions, evenly spaced, with both ends."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def _numbers(tile: Tile, column: int) -> Array:
    """A column as doubles; `_knots` refuses columns that are not numeric."""
    return np.asarray(column_numbers(tile.X, column), dtype=np.float64)


def _between(x: Array, knots: Array) -> tuple[Array, Array]:
    """The knot below each number, and how far it lies on the way to the next, from 0 to 1."""
    below = np.clip(np.searchsorted(knots, x, side="right") - 1, 0, len(knots) - 2)
    share = (x - knots[below]) / (knots[below + 1] - knots[below])
    return below, np.clip(share, 0.0, 1.0)
