"""Protected attributes: features that follow them, and outcomes of their groups."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t

from sfit._array import Array
from sfit._audit._association import Column, association, column_at, column_of, sampled_rows
from sfit._audit._records import GroupOutcome, Proxy
from sfit.rows import as_table

MOST_GROUPS = 12
"""Numbers with more distinct values are cut into quartiles; rarer words are merged."""

OTHERS, MISSING = "other values", "missing"


def proxies(
    attribute: str,
    values: Any,
    X: Any,
    names: Sequence[str],
    significant: Collection[str] = (),
    *,
    positions: Sequence[int] | None = None,
    seed: int = 0,
) -> tuple[Proxy, ...]:
    """How closely each feature follows a protected attribute, the closest first.

    `values` holds the attribute, one value per row. `names` are the features, and `positions` their
    columns in X, by default 0, 1, ... The attribute itself is left out if it is a feature.
    """
    table = as_table(X)
    positions = range(len(names)) if positions is None else positions
    rows = sampled_rows(table.shape[0], 1, seed)
    whole = column_of(values)
    protected = whole if rows is None else Column(whole.values[rows], whole.is_numeric)
    found = []
    for name, position in zip(names, positions, strict=True):
        if name != attribute:
            value, measure = association(protected, column_at(table, position, rows))
            found.append(Proxy(attribute, name, value, measure, name in significant))
    return tuple(sorted(found, key=lambda proxy: -proxy.association))


def group_outcomes(
    attribute: str,
    values: Any,
    y: Array,
    prediction: Array,
    losses: Array,
    task: str,
    *,
    units: Array | None = None,
    alpha: float = 0.05,
) -> tuple[GroupOutcome, ...]:
    """Outcome, prediction and loss for each value of a protected attribute.

    For classification, `y` holds class codes and `prediction` probabilities (n, classes), or (n,)
    of the second of two; outcome and prediction are those of the last class. Several outputs of a
    regression are averaged. The interval of the mean loss is a t interval over rows, or over
    `units`, labels of rows that belong together.
    """
    if task == "classification":
        last = prediction.shape[1] - 1 if prediction.ndim == 2 else 1
        outcome, predicted = np.asarray(y == last, dtype=float), _last(prediction)
    else:
        outcome, predicted = _mean_over_outputs(y), _mean_over_outputs(prediction)
    unit = np.arange(len(losses)) if units is None else pd.factorize(units)[0]
    found = []
    for label, rows in _groups(column_of(values)):
        low, high = mean_interval(losses[rows], unit[rows], alpha)
        found.append(
            GroupOutcome(
                attribute,
                label,
                int(rows.sum()),
                float(outcome[rows].mean()),
                float(predicted[rows].mean()),
                float(losses[rows].mean()),
                low,
                high,
            )
        )
    return tuple(found)


def mean_interval(losses: Array, unit: Array, alpha: float) -> tuple[float, float]:
    """A t interval of a mean; the sums of the units' deviations are independent.

    If every row is a unit, this is the usual interval.
    """
    codes = pd.factorize(unit)[0]
    n_units, mean = int(codes.max(initial=-1)) + 1, float(losses.mean())
    if n_units < 2:
        return math.nan, math.nan
    sums = np.bincount(codes, losses - mean)
    error = math.sqrt(n_units / (n_units - 1) * float(np.square(sums).sum())) / len(losses)
    margin = float(t.isf(alpha / 2, n_units - 1)) * error
    return mean - margin, mean + margin


def _last(prediction: Array) -> Array:
    return prediction[:, -1] if prediction.ndim == 2 else prediction


def _mean_over_outputs(values: Array) -> Array:
    values = np.asarray(values, dtype=float)
    return values.mean(axis=1) if values.ndim == 2 else values


def _groups(column: Column) -> Iterator[tuple[str, Array]]:
    """Labels and rows of the groups: in the order of numbers or words, then the others."""
    missing = np.asarray(pd.isna(column.values))
    distinct = pd.unique(column.values[~missing])
    if column.is_numeric and len(distinct) + missing.any() > MOST_GROUPS:
        yield from _quartiles(column.values, missing)
    elif column.is_numeric:
        for value in np.sort(distinct):
            yield f"{value:.12g}", column.values == value
    else:
        yield from _words(column.values, missing)
    if missing.any():
        yield MISSING, missing


def _quartiles(values: Array, missing: Array) -> Iterator[tuple[str, Array]]:
    """Groups between the quartiles, which are observed values; ties stay together."""
    bounds = np.quantile(values[~missing], [0.25, 0.5, 0.75], method="inverted_cdf")
    codes = np.where(missing, -1, np.searchsorted(np.unique(bounds), values, side="left"))
    groups = [codes == code for code in np.unique(codes[~missing])]
    ends = [(float(values[rows].min()), float(values[rows].max())) for rows in groups]
    yield from zip(_range_labels(ends), groups, strict=True)


def _range_labels(ends: Sequence[tuple[float, float]]) -> list[str]:
    """Labels of ranges, with as few digits as tell all of them apart."""
    labels: list[str] = []
    for digits in range(4, 18):
        texts = [(f"{low:.{digits}g}", f"{high:.{digits}g}") for low, high in ends]
        labels = [low if low == high else f"{low} to {high}" for low, high in texts]
        if len(set(labels)) == len(ends) and not any("e" in label for label in labels):
            break
    return labels


def _words(values: Array, missing: Array) -> Iterator[tuple[str, Array]]:
    """One group per word; the rarest are merged if there are too many."""
    codes, labels = pd.factorize(values)
    # A place is kept for the missing values and one for the others.
    most = MOST_GROUPS - int(missing.any())
    most = most if len(labels) <= most else most - 1
    counts = np.bincount(codes[codes >= 0], minlength=len(labels))
    largest = np.argsort(-counts, kind="stable")[:most]
    for code in sorted(largest.tolist(), key=lambda code: str(labels[code])):
        yield str(labels[code]), codes == code
    others = ~missing & ~np.isin(codes, largest)
    if others.any():
        yield OTHERS, others
