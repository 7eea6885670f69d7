"""Tests of dependent rows, slowly: loops over clusters, exact fractions for their means."""

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction

from . import slow


def members(clusters: Sequence[Hashable]) -> dict[Hashable, list[int]]:
    """The rows of each cluster, in their order."""
    rows: dict[Hashable, list[int]] = {}
    for row, label in enumerate(clusters):
        rows.setdefault(label, []).append(row)
    return rows


def sign_test(
    clusters: Sequence[Hashable],
    base: Sequence[float],
    full: Sequence[float],
    beta: float,
    alpha: float,
    drop: bool,
) -> dict[str, float]:
    """The sign test whose units are clusters: the losses of a cluster are means over its rows.

    ``base`` and ``full`` are the losses of the rows; with ``drop``, a cluster counts if any of its rows
    has two different losses.
    """
    base_means, full_means = [], []
    for rows in members(clusters).values():
        if drop and all(base[row] == full[row] for row in rows):
            continue
        base_means.append(sum(Fraction(base[row]) for row in rows) / len(rows))
        full_means.append(sum(Fraction(full[row]) for row in rows) / len(rows))
    n = len(base_means)
    if n == 0:
        return {"n": 0, "n_positive": 0, "p_value": 1.0}
    same = [a == b for a, b in zip(base_means, full_means, strict=True)]
    rhos, deltas = slow.rho_delta(
        list(map(float, base_means)), list(map(float, full_means)), same, beta
    )
    n_positive = sum(rho > beta for rho in rhos)
    low, high, _ = slow.exact_interval(deltas, alpha)
    return {
        "n": n,
        "n_positive": n_positive,
        "p_value": slow.p_value(n_positive, n),
        "statistic": slow.median(deltas),
        "ci_low": low,
        "ci_high": high,
        "ci_lower": slow.lower_bound(deltas, alpha),
        "beta_max": slow.beta_max(rhos, alpha),
        "loss_base": math.fsum(base) / len(base),
        "loss_full": math.fsum(full) / len(full),
        "n_better": sum(b < a for a, b in zip(base, full, strict=True)),
        "n_worse": sum(b > a for a, b in zip(base, full, strict=True)),
    }
