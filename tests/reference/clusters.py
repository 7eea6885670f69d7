"""Tests of dependent rows, slowly: loops over clusters, exact fractions for their means."""

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction

from scipy import stats

from . import permutation, slow


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


# ------------------------------------------------------------------------------ the permutation test
#
# A group is a list of clusters that change places, each a list of as many rows. An arrangement of a group
# says for each cluster whose outcomes its predictions meet.

Group = list[list[int]]
Arrangement = Sequence[int]


def groups_by_size(clusters: Sequence[Hashable]) -> list[Group]:
    """Clusters of equal size, where every size occurs at least twice."""
    by_size: dict[int, Group] = {}
    for rows in members(clusters).values():
        by_size.setdefault(len(rows), []).append(rows)
    assert all(len(group) > 1 for group in by_size.values())
    return [by_size[size] for size in sorted(by_size)]


def total_loss(
    matrix: permutation.Matrix,
    groups: list[Group],
    ways: list[Arrangement],
    counted: set[int] | None = None,
) -> float:
    """T: the losses that meet when whole clusters change places.

    Only outcomes of the rows ``counted`` are added up, if they are named: those of one class.
    """
    met = []
    for group, way in zip(groups, ways, strict=True):
        for cluster, other in zip(group, way, strict=True):
            pairs = zip(group[other], cluster, strict=True)
            met += [matrix[a][b] for a, b in pairs if counted is None or a in counted]
    return math.fsum(met)


def cluster_products(u: Sequence[float], v: Sequence[float], group: Group) -> list[list[float]]:
    """M[a][b]: outcomes of cluster a with predictions of cluster b, centred place by place."""
    places = range(len(group[0]))

    def centred(scores: Sequence[float]) -> list[list[float]]:
        columns = [permutation.centred([scores[rows[place]] for rows in group]) for place in places]
        return [[column[cluster] for column in columns] for cluster in range(len(group))]

    of_u, of_v = centred(u), centred(v)
    return [[math.fsum(x * y for x, y in zip(a, b, strict=True)) for b in of_v] for a in of_u]


def standardised(
    components: list[list[tuple[Sequence[float], Sequence[float]]]],
    groups: list[Group],
    all_ways: list[list[Arrangement]],
) -> list[float]:
    """For each arrangement, the largest of the standardised sums of the components.

    A component is a list of pairs of outcome scores and prediction scores, one per class. The variance is
    that over all permutations of the clusters of each group.
    """
    sums: list[list[float]] = []
    for pairs in components:
        tables, squares = [], 0.0
        for group in groups:
            rows = [row for cluster in group for row in cluster]
            squares += math.fsum(
                u[row] ** 2 * v[other] ** 2 for u, v in pairs for row in rows for other in rows
            )
            of_pairs = [cluster_products(u, v, group) for u, v in pairs]
            size = range(len(group))
            tables.append([[math.fsum(m[a][b] for m in of_pairs) for b in size] for a in size])
        variance = math.fsum(
            math.fsum(x * x for line in table for x in line) / max(len(table) - 1, 1)
            for table in tables
        )
        if variance <= 1e-26 * squares:  # rounding
            continue
        sums.append(
            [
                math.fsum(
                    table[other][cluster]
                    for table, way in zip(tables, ways, strict=True)
                    for cluster, other in enumerate(way)
                )
                / math.sqrt(variance)
                for ways in all_ways
            ]
        )
    if not sums:  # nothing varies
        return [0.0] * len(all_ways)
    return [max(of_way) for of_way in zip(*sums, strict=True)]


def smallest_p(y: Sequence[object], g: Sequence[object], groups: list[Group]) -> float:
    """At least this share of all arrangements gives exactly the observed pairs."""
    pieces = [
        tuple([tuple(values[row] for row in rows) for rows in group] for values in (y, g))
        for group in groups
    ]
    return permutation.smallest_p(pieces)


def rise_between(
    matrix: permutation.Matrix, clusters: Sequence[Hashable], alpha: float
) -> tuple[float, float]:
    """The rise over all rows, and half the width of its interval: the spread between clusters."""
    influences = permutation.centred(permutation.influences(matrix))
    sums = [math.fsum(influences[row] for row in rows) for rows in members(clusters).values()]
    n, m = len(matrix), len(sums)
    if m < 2:
        return permutation.rise([matrix]), math.inf
    spread = math.fsum(total * total for total in sums) * m / (m - 1)
    half = float(stats.t.isf(alpha / 2, m - 1)) * math.sqrt(spread) / n
    return permutation.rise([matrix]), half
