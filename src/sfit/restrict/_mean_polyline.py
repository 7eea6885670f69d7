"""A piecewise linear network along one feature, averaged over background rows.

Raw outputs that are the predictions average to one polyline, which bends wherever one of the rows
does. Probabilities are averaged row by row: their mean is not a function of mean raw outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sfit._array import Array
from sfit.models import Dense
from sfit.restrict._activations import finish
from sfit.restrict._lookup import make_lookup
from sfit.restrict._prediction import Constant, Prediction, averaged
from sfit.restrict._relu import Polyline, make_polylines
from sfit.rows import Tile


@dataclass(frozen=True)
class ParallelLines:
    """A linear model along one column: with each background row a line of the same slope."""

    line: Polyline
    intercepts: Array

    def __iter__(self) -> Iterator[Polyline]:
        return (replace(self.line, intercepts=intercept) for intercept in self.intercepts)


@dataclass(frozen=True)
class MeanOfPolylines:
    """The mean of the predictions along several polylines of one column."""

    lines: tuple[Polyline, ...] | ParallelLines
    dtype: np.dtype[Any]

    def __call__(self, tile: Tile) -> Prediction:
        """Interpolate along each line, each distinct value once, and average."""
        values, codes = np.unique(next(iter(self.lines)).entered(tile), return_inverse=True)
        means = averaged(line.along(values) for line in self.lines).astype(self.dtype, copy=False)
        if len(values) == len(tile):
            return Prediction(means.take(codes, axis=0), None, len(tile))
        return Prediction(means, codes, len(tile))

    def rounding(self) -> float:
        """How far the mean of the raw outputs may be off."""
        return float(np.mean([line.rounding() for line in self.lines]))


def make_mean_polylines(
    network: Dense,
    background: Array,
    columns: Sequence[int],
    spans: npt.ArrayLike,
    dtype: np.dtype[Any],
) -> tuple[Constant, list[Polyline | MeanOfPolylines]]:
    """As `make_polylines`, averaged over background rows, in doubles until the mean is taken."""
    n_rows, double = len(background), np.dtype(np.float64)
    if n_rows == 1:
        base, single = make_polylines(network, background[0], columns, spans, dtype)
        return base, [*single]
    if len(network.layers) == 1:
        _, single = make_polylines(network, background[0], columns, spans, double)
        return _linear(network, background, single, dtype)
    made = [
        make_polylines(network, row, columns, spans, double, together=n_rows) for row in background
    ]
    base = Constant(averaged(base.values for base, _ in made).astype(dtype, copy=False))
    by_column = zip(*(lines for _, lines in made), strict=True)
    if network.output == "identity":
        return base, [_merged(lines, len(columns), dtype) for lines in by_column]
    return base, [MeanOfPolylines(lines, dtype) for lines in by_column]


def _linear(
    network: Dense, background: Array, lines: Sequence[Polyline], dtype: np.dtype[Any]
) -> tuple[Constant, list[Polyline | MeanOfPolylines]]:
    """The same for one layer, whose lines are those of the first row but for their intercepts."""
    [(weights, bias, _)] = network.layers
    weights = np.asarray(weights, dtype=np.float64)
    raw = np.stack([row @ weights + bias for row in background])
    finished = (
        finish(row if len(bias) == 1 else row[None], network.output, raw.dtype) for row in raw
    )
    base = Constant(averaged(finished).astype(dtype, copy=False))
    means: list[Polyline | MeanOfPolylines] = []
    for line in lines:
        slope = weights[line.column]
        moved = line.origin - background[:, line.column]
        intercepts = raw + moved[:, None] * slope
        if len(bias) > 1:
            slope, intercepts = slope[None], intercepts[:, None]
        line = replace(line, slopes=slope)
        if network.output == "identity":
            means.append(replace(line, intercepts=averaged(intercepts), dtype=dtype))
        else:
            means.append(MeanOfPolylines(ParallelLines(line, intercepts), dtype))
    return base, means


def _merged(lines: Sequence[Polyline], together: int, dtype: np.dtype[Any]) -> Polyline:
    """The mean of polylines, which is one: it has the knots of all of them."""
    first = lines[0]
    shifts = [line.origin - first.origin for line in lines]
    intercepts = [
        line.intercepts - line.slopes * shift for line, shift in zip(lines, shifts, strict=True)
    ]
    knots = np.concatenate(
        [line.lookup.edges + shift for line, shift in zip(lines, shifts, strict=True)]
    )
    order = np.argsort(knots, kind="stable")
    knots = knots[order]
    # Of knots at the same place, the piece behind the last of them counts.
    kept = np.append(knots[1:] != knots[:-1], True)[: len(knots)]
    pieces = []
    for of_lines in (intercepts, [line.slopes for line in lines]):
        start = averaged(pieces_of_line[:1] for pieces_of_line in of_lines)
        bends = np.concatenate([np.diff(pieces_of_line, axis=0) for pieces_of_line in of_lines])
        after = start + np.cumsum(bends[order], axis=0) / len(lines)
        pieces.append(np.concatenate([start, after[kept]]))
    lookup = make_lookup(knots[kept], strict=False, together=together)
    return replace(first, lookup=lookup, intercepts=pieces[0], slopes=pieces[1], dtype=dtype)
