"""Forward chaining as STATISTICS.md, part 2, "Small data", defines it: slow, and meant to be obviously correct.

Nothing is shared with the library. The folds, the re-matchings and the uniform numbers (one per fold, for all features)
are given; models are fitted and asked one row at a time.
"""

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from sklearn.base import clone

from . import permutation, slow


def folds_of(
    order: Sequence[int], n_folds: int, labels: Sequence[Any] | None = None
) -> list[list[int]]:
    """Rows cut in a given order into folds of nearly equal size, the larger ones first.

    With labels, the rows of one label after another are dealt out like cards.
    """
    if labels is None:
        size, larger = divmod(len(order), n_folds)
        folds, start = [], 0
        for fold in range(n_folds):
            stop = start + size + (fold < larger)
            folds.append(sorted(order[start:stop]))
            start = stop
        return folds
    folds = [[] for _ in range(n_folds)]
    seen = list(dict.fromkeys(labels))
    dealt = 0
    for label in seen:
        for row in order:
            if labels[row] == label:
                folds[dealt % n_folds].append(row)
                dealt += 1
    return [sorted(fold) for fold in folds]


def ask(model: Any, row: Sequence[float]) -> Any:
    """The prediction of one row: a number, or one probability per class."""
    method = getattr(model, "predict_proba", model.predict)
    return method(np.array([row]))[0]


def revealed(model: Any, background: Any, row: Any, columns: Sequence[int]) -> Any:
    """The mean prediction when these columns are as in the row, the others as in each background row."""
    answers = []
    for other in background:
        mixed = list(other)
        for column in columns:
            mixed[column] = row[column]
        answers.append(ask(model, mixed))
    return np.mean(answers, axis=0)


def predictions(
    estimator: Any, X: Any, y: Any, folds: Sequence[Sequence[int]], columns: Sequence[int]
) -> list[Any]:
    """For each fold but the first: its outcomes, and its predictions with these columns revealed."""
    answers = []
    for k in range(1, len(folds)):
        past = [row for fold in folds[:k] for row in fold]
        model = clone(estimator).fit(X[past], y[past])
        g = np.array([revealed(model, X[past], X[row], columns) for row in folds[k]])
        answers.append((y[folds[k]], g))
    return answers


def randomised_p(observed: float, permuted: Sequence[float], u: float, tolerance: float) -> float:
    """(#better + U (1 + #tied)) / (B + 1); large is good."""
    better = sum(t > observed + tolerance for t in permuted)
    tied = sum(abs(t - observed) <= tolerance for t in permuted)
    return (better + u * (1 + tied)) / (len(permuted) + 1)


def fold_p(
    y: Any, g: Any, arrangements: Sequence[Sequence[int]], u: float, scores: Callable[..., Any]
) -> float:
    """The randomised p-value of one fold; the first arrangement is the identity."""
    scored = [scores(y, g)]
    observed, *copies = [permutation.auto(scored, [way])[0] for way in arrangements]
    return randomised_p(observed, copies, u, 1e-10)


def stouffer(p_values: Sequence[float], sizes: Sequence[int]) -> float:
    """Weights sqrt(n_k)."""
    normal = NormalDist()
    added = sum(math.sqrt(n) * -normal.inv_cdf(p) for p, n in zip(p_values, sizes, strict=True))
    return normal.cdf(-added / math.sqrt(sum(sizes)))


def is_ignored(g: Any) -> bool:
    """Whether all predictions of a fold are the same, but for rounding."""
    return bool((np.abs(g - g[0]) <= 1e-12 * np.abs(g).max()).all())


def sign_test(
    folds: Sequence[Any], bases: Sequence[Any], loss: str, beta: float, alpha: float
) -> dict[str, Any]:
    """The pooled count, its p-value, the median and the exact interval of the pooled differences."""
    rhos, deltas = [], []
    for (y, g), (_, base) in zip(folds, bases, strict=True):
        without, with_it = slow.losses(loss, y, base), slow.losses(loss, y, g)
        for a, b in zip(without, with_it, strict=True):
            rhos.append((a - b) / a if a > 0 else -math.inf)
            deltas.append((1 - beta) * a - b)
    n_positive = sum(rho > beta for rho in rhos)
    low, high, _ = slow.exact_interval(deltas, alpha)
    return {
        "n_positive": n_positive,
        "n": len(rhos),
        "p_value": slow.p_value(n_positive, len(rhos)),
        "statistic": slow.median(deltas),
        "ci_low": low,
        "ci_high": high,
    }
