"""Interactions as they are defined: slow, with loops over subsets, rows and background rows.

Nothing is shared with the library. A set T improves on its additive base if its prediction is better
than the one whose link value is - sum over proper subsets S of T of (-1)^(|T| - |S|) eta(S).
"""

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from reference import slow

CLIP = 1e-6  # of probabilities, before their logarithm


def revealed(predict: Callable[[Any], Any], X: Any, background: Any, shown: set[int]) -> np.ndarray:
    """The prediction of each row with some columns as observed, averaged over the background rows."""
    total = None
    for hidden in background:
        rows = np.array([hidden] * len(X), dtype=float)
        for column in shown:
            rows[:, column] = X[:, column]
        prediction = np.asarray(predict(rows), dtype=float)
        total = prediction if total is None else total + prediction
    return np.asarray(total).reshape(len(X), -1) / len(background)


def to_link(scale: str, prediction: Sequence[float]) -> list[float]:
    """Predictions of one row on the link scale."""
    if scale == "identity":
        return list(prediction)
    if scale == "log":
        return [math.log(value) for value in prediction]
    return [math.log(max(value, CLIP)) for value in prediction]


def from_link(scale: str, eta: Sequence[float]) -> list[float]:
    """Link values of one row as predictions; probabilities add up to 1."""
    if scale == "identity":
        return list(eta)
    odds = [math.exp(value) for value in eta]
    if scale == "log":
        return odds
    return [value / math.fsum(odds) for value in odds]


def additive_base(
    by_subset: dict[frozenset[int], np.ndarray], term: frozenset[int], scale: str
) -> Any:
    """The additive prediction of each row, from the predictions with each proper subset revealed."""
    n = len(by_subset[frozenset()])
    base = []
    for row in range(n):
        link_values = []
        for output in range(by_subset[frozenset()].shape[1]):
            parts = []
            for size in range(len(term)):
                for subset in combinations(sorted(term), size):
                    eta = to_link(scale, by_subset[frozenset(subset)][row])
                    parts.append(-((-1) ** (len(term) - size)) * eta[output])
            link_values.append(math.fsum(parts))
        base.append(from_link(scale, link_values))
    return np.array(base)


def explained(parts: dict[frozenset[int], Any], term: frozenset[int], tolerance: float) -> bool:
    """Whether smaller probabilities than the clip could make the row additive, class by class.

    The interaction of a class is sum over all S of -(-1)^(|T| - |S|) log p(S). A clipped log p may be
    any smaller number: where it counts positively, the interaction may be smaller, otherwise larger.
    The interactions of all classes must be able to be one constant, which normalising removes.
    """
    lows, highs = [], []
    for output in range(len(parts[term])):
        value, may_fall, may_rise = 0.0, False, False
        for subset, prediction in parts.items():
            coefficient = -((-1) ** (len(term) - len(subset)))
            value += coefficient * math.log(max(prediction[output], CLIP))
            if prediction[output] < CLIP:
                may_fall, may_rise = may_fall or coefficient > 0, may_rise or coefficient < 0
        lows.append(-math.inf if may_fall else value - tolerance)
        highs.append(math.inf if may_rise else value + tolerance)
    return max(lows) <= min(highs)


def set_over_parts(
    predict: Callable[[Any], Any],
    X: Any,
    y: Any,
    background: Any,
    columns: Sequence[Sequence[int]],
    term: Sequence[int],
    given: Sequence[int],
    scale: str,
    loss: str,
    beta: float,
    tolerance: float = 1e-9,
) -> dict[str, Any]:
    """What is reported of a set over its additive base; differences up to `tolerance` are rounding."""
    on = {column for feature in given for column in columns[feature]}
    by_subset = {}
    for size in range(len(term) + 1):
        for subset in combinations(sorted(term), size):
            shown = on | {column for feature in subset for column in columns[feature]}
            by_subset[frozenset(subset)] = revealed(predict, X, background, shown)
    full = by_subset[frozenset(term)]
    base = additive_base(by_subset, frozenset(term), scale)
    for row in range(len(base)):
        parts = {subset: values[row] for subset, values in by_subset.items()}
        clipped = scale == "log_probability" and explained(parts, frozenset(term), tolerance)
        if max(abs(base[row] - full[row])) <= tolerance or clipped:
            base[row] = full[row]
    before, after = slow.losses(loss, y, base), slow.losses(loss, y, full)
    nothing = slow.losses(loss, y, by_subset[frozenset()])
    n = len(before)
    whole = math.fsum(nothing) / n - math.fsum(after) / n
    gain = math.fsum(before) / n - math.fsum(after) / n
    pairs = list(zip(before, after, strict=True))
    return {
        "n_positive": sum(b > 0 and (b - a) / b > beta for b, a in pairs),
        "n_better": sum(a < b for b, a in pairs),
        "n_worse": sum(a > b for b, a in pairs),
        "n_moved": sum(list(b) != list(a) for b, a in zip(base, full, strict=True)),
        "loss_base": math.fsum(before) / n,
        "loss_full": math.fsum(after) / n,
        "share_nonadditive": gain / whole if whole > 0 else math.nan,
    }
