"""The parts of a profile, from the values, the predictions and the gains of all rows."""

from __future__ import annotations

from math import fsum, inf
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from sfit._array import Array
from sfit._contrast import Effects
from sfit._profile import FeatureProfile

MOST_VALUES = 120
"""Most values at which a restricted function is recorded."""
FEW_VALUES = 30
"""At most this many different numbers are counted one by one."""
FEW_BINS, MOST_BINS, FEWEST_IN_BIN = 12, 20, 30
"""Up to 12 different numbers are one bin each; more share bins of equal numbers of rows."""
DENSITY_BINS = 40
RIBBON_RANKS = 201
ONE_DIRECTION = 0.9
"""Share of the steps of a function that rise, from which on it is called rising."""


class Values(NamedTuple):
    """The values of one column."""

    distinct: Array
    """Ascending finite numbers, or positions of categories by frequency."""
    codes: Array
    """For each row, the position of its value in `distinct`; -1 if it is not among them."""
    missing: Array
    """Rows without a value."""
    labels: tuple[str, ...] | None
    """The categories; None for numbers."""


class Rows(NamedTuple):
    """What revealing the feature does to each row."""

    gain: Array
    prediction: Array
    """One column per output shown."""
    predicted: Array
    """Whether the model predicted the value of the row; else the prediction is interpolated."""


class Outputs(NamedTuple):
    """The outputs of the model that are recorded."""

    task: str
    names: tuple[str, ...]
    columns: tuple[int, ...]
    """Their columns in a prediction."""
    n_outputs: int

    def of(self, predictions: Array) -> Array:
        """The outputs shown, one column each, as doubles."""
        columns = predictions.reshape(len(predictions), -1)[:, list(self.columns)]
        return columns.astype(np.float64)


def numbers(x: Array) -> Values:
    """The values of a column of numbers; infinite numbers have no place."""
    x = np.asarray(x, dtype=np.float64)
    codes = np.full(len(x), -1, dtype=np.intp)
    finite = np.isfinite(x)
    distinct, codes[finite] = np.unique(x[finite], return_inverse=True)
    return Values(distinct, codes, np.isnan(x), None)


def categories(codes: Array, names: tuple[str, ...], missing: Array) -> Values:
    """The values of a column of categories, from their numbers and names; the most frequent first.

    Categories beyond the first 120 have no place.
    """
    n_rows = np.bincount(codes[~missing], minlength=len(names))
    order = np.argsort(-n_rows, kind="stable")
    order = order[n_rows[order] > 0][:MOST_VALUES]
    place = np.full(len(names), -1, dtype=np.intp)
    place[order] = np.arange(len(order))
    labels = tuple(names[position] for position in order.tolist())
    positions = np.arange(len(order), dtype=np.float64)
    return Values(positions, np.where(missing, -1, place[codes]), missing, labels)


def direction_of(response: Array, n_rows: Array) -> str:
    r"""The direction of a function along ascending values.

    Let :math:`d_k` be the step of the function from a value to the next, and :math:`F_k` the share
    of rows up to the first of both. A step counts by the share of pairs of rows that it separates:

    .. math:: U = \sum_k F_k (1 - F_k) \max(d_k, 0), \quad
       D = \sum_k F_k (1 - F_k) \max(-d_k, 0).

    The function is "rising" if U is at least 90 % of U + D, "falling" if D is, "mixed" if neither
    is, and has no direction (an empty text) if both are zero.

    Parameters
    ----------
    response : array of shape (m,)
        The function at each value.
    n_rows : array of shape (m,)
        Rows with each value.
    """
    below = np.cumsum(n_rows)[:-1] / max(1, n_rows.sum())
    steps = below * (1 - below) * np.diff(response)
    up, down = float(steps[steps > 0].sum()), float(-steps[steps < 0].sum())
    if up + down == 0:
        return ""
    if up >= ONE_DIRECTION * (up + down):
        return "rising"
    return "falling" if down >= ONE_DIRECTION * (up + down) else "mixed"


def mean_interval(gain: Array, alpha: float) -> tuple[float, float, float]:
    """The mean of some rows and its asymptotic interval, which is infinite for a single row."""
    n = len(gain)
    mean = fsum(gain.tolist()) / n
    if n == 1:
        return mean, -inf, inf
    half = -float(ndtri(alpha / 2)) * float(np.std(gain, ddof=1)) / n**0.5
    return mean, mean - half, mean + half


def ribbon_of(gain: Array) -> tuple[float, ...]:
    """Gains from the largest to the smallest, at evenly spaced ranks."""
    ranks = np.linspace(0, len(gain) - 1, min(len(gain), RIBBON_RANKS)).round().astype(np.intp)
    return tuple(np.sort(gain)[::-1][ranks].tolist())


def profile_of(
    feature: str,
    values: Values | None,
    rows: Rows,
    base: Array,
    outputs: Outputs,
    effects: Effects,
    alpha: float,
    n_knots: int,
) -> FeatureProfile:
    """The profile of a feature; without `values`, its predictions are no function of one column."""
    nothing = _Curve((), (), ("",) * len(outputs.names), (), ())
    curve = nothing if values is None else _curve(values, rows)
    return FeatureProfile(
        feature=feature,
        n=len(rows.gain),
        is_numeric=values is not None and values.labels is None,
        labels=() if values is None or values.labels is None else values.labels,
        task=outputs.task,
        outputs=outputs.names,
        n_outputs=outputs.n_outputs,
        base=tuple(base.tolist()),
        ribbon=ribbon_of(rows.gain),
        n_better=effects.n_better,
        n_worse=effects.n_worse,
        loss_base=effects.loss_base,
        mean_gain=effects.gain,
        alpha=alpha,
        n_knots=0 if rows.predicted.all() else n_knots,
        **curve._asdict(),
        **_missing(values, rows, alpha)._asdict(),
        **_bins(values, rows.gain, alpha)._asdict(),
    )


class _Missing(NamedTuple):
    n_missing: int = 0
    missing_response: tuple[float, ...] = ()
    missing_gain: tuple[float, ...] = ()


def _missing(values: Values | None, rows: Rows, alpha: float) -> _Missing:
    """The prediction and the gain of the rows without a value."""
    if values is None or not values.missing.any():
        return _Missing()
    response = rows.prediction[values.missing][0]
    gain = rows.gain[values.missing]
    return _Missing(len(gain), tuple(response.tolist()), mean_interval(gain, alpha))


class _Curve(NamedTuple):
    values: tuple[float, ...]
    responses: tuple[tuple[float, ...], ...]
    directions: tuple[str, ...]
    edges: tuple[float, ...]
    counts: tuple[int, ...]


def _curve(values: Values, rows: Rows) -> _Curve:
    """The restricted function, its direction, and how many rows have which values."""
    known = np.flatnonzero(values.codes >= 0)
    codes = values.codes[known]
    n_rows = np.bincount(codes, minlength=len(values.distinct))
    # Any row with a value shows its prediction; one that the model predicted, if there is one.
    first = np.empty(len(values.distinct), dtype=np.intp)
    order = np.argsort(rows.predicted[known], kind="stable")
    first[codes[order]] = known[order]
    responses = rows.prediction[first]
    edges = _edges(values, n_rows)
    counts = n_rows
    shown = np.arange(len(values.distinct))
    if edges is not None:
        counts = np.histogram(values.distinct, edges, weights=n_rows)[0]
        shown = _shown(values.distinct, responses, n_rows, rows.predicted[first], edges)
    directions = ("",) * responses.shape[1]
    if values.labels is None:
        directions = tuple(direction_of(response, n_rows) for response in responses.T)
    return _Curve(
        values=tuple(values.distinct[shown].tolist()),
        responses=tuple(tuple(one) for one in responses[shown].T.tolist()) if len(shown) else (),
        directions=directions,
        edges=() if edges is None else tuple(edges.tolist()),
        counts=tuple(map(int, counts.tolist())),
    )


def _edges(values: Values, n_rows: Array) -> Array | None:
    """Edges of bins of equal width; None if every value is counted by itself.

    Few rows that are far out do not widen the bins: these end half the range of the middle 98 % of
    the rows beyond it.
    """
    x = values.distinct
    if values.labels is not None or len(x) <= FEW_VALUES:
        return None
    share = np.cumsum(n_rows) / n_rows.sum()
    low, high = x[np.searchsorted(share, [0.01, 0.99])]
    reach = (high - low) / 2 or inf
    ends = max(x[0], low - reach), min(x[-1], high + reach)
    return np.linspace(*ends, DENSITY_BINS + 1)


def _shown(x: Array, responses: Array, n_rows: Array, predicted: Array, edges: Array) -> Array:
    """Positions of the values at which the function is recorded.

    If the model predicted only some values, these. Else all, if they are few; or, of a function
    with few steps, the values on both sides of every step. Otherwise, evenly spaced ranks and
    evenly spaced values.
    """
    some = np.arange(len(x)) if predicted.all() else np.flatnonzero(predicted)
    if len(some) <= MOST_VALUES:
        return some
    step = (responses[some][1:] != responses[some][:-1]).any(axis=1)
    ends = some[np.append(True, step) | np.append(step, True)]
    if len(ends) <= MOST_VALUES:
        return ends
    half = MOST_VALUES // 2
    rows_below = np.cumsum(n_rows[some]) - 1
    by_rank = np.searchsorted(rows_below, np.linspace(0, rows_below[-1], half))
    inside = np.linspace(edges[0], edges[-1], half)
    by_value = np.clip(np.searchsorted(x[some], inside), 0, len(some) - 1)
    return some[np.union1d(by_rank, by_value)]


class _Bins(NamedTuple):
    bin_values: tuple[float, ...] = ()
    bin_n: tuple[int, ...] = ()
    bin_gain: tuple[float, ...] = ()
    bin_low: tuple[float, ...] = ()
    bin_high: tuple[float, ...] = ()


def _bins(values: Values | None, gain: Array, alpha: float) -> _Bins:
    """The median value, the rows and the mean gain of each bin; equal values stay together."""
    if values is None or not len(values.distinct):
        return _Bins()
    known = np.flatnonzero(values.codes >= 0)
    of_row = codes = values.codes[known]
    if values.labels is None and len(values.distinct) > FEW_BINS:
        n_bins = max(1, min(MOST_BINS, len(known) // FEWEST_IN_BIN))
        cuts = np.sort(codes)[np.arange(1, n_bins) * len(codes) // n_bins]
        of_row = np.searchsorted(np.unique(cuts), codes, side="right")
    order = np.argsort(of_row, kind="stable")
    starts = np.flatnonzero(np.diff(of_row[order]))
    bins = [
        (
            float(np.median(values.distinct[codes[rows]])),
            len(rows),
            *mean_interval(gain[known[rows]], alpha),
        )
        for rows in np.split(order, starts + 1)
    ]
    return _Bins(*zip(*bins, strict=True))
