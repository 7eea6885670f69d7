"""The comparison of parts as STATISTICS.md, "Comparisons", defines it: loops over rows, nothing shared.

A *labelling* gives the part of every row. The three statistics are written from their formulas, with
Welch's t where two groups are compared; a part without spread is treated as the limit of small spread.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import permutations

SMALL = 1e-10
"""Share of the total sum of squares below which no part's sum of squares may fall."""


def groups(gains: Sequence[float], labels: Sequence[int]) -> list[list[float]]:
    """The gains of each part, in the order of the labels."""
    return [
        [gain for gain, label in zip(gains, labels, strict=True) if label == part]
        for part in sorted(set(labels))
    ]


def squares(values: Sequence[float]) -> float:
    """Sum of squared distances from the mean."""
    mean = math.fsum(values) / len(values)
    return math.fsum((value - mean) ** 2 for value in values)


def mean_and_error(values: Sequence[float], floor: float) -> tuple[float, float]:
    """The mean, and its squared standard error."""
    n = len(values)
    return math.fsum(values) / n, max(squares(values), floor) / (n - 1) / n


def all_parts(gains: Sequence[float], labels: Sequence[int]) -> float:
    """The sum over parts of w (m - centre)^2; w is one over the squared standard error."""
    floor = SMALL * squares(gains)
    if floor == 0:
        return 0.0
    found = [mean_and_error(group, floor) for group in groups(gains, labels)]
    centre = sum(m / e for m, e in found) / sum(1 / e for _, e in found)
    return sum((m - centre) ** 2 / e for m, e in found)


def against_rest(gains: Sequence[float], labels: Sequence[int], part: int) -> float:
    """Welch's t of one part and all other rows, squared."""
    floor = SMALL * squares(gains)
    if floor == 0:
        return 0.0
    pairs = list(zip(gains, labels, strict=True))
    inside = mean_and_error([g for g, label in pairs if label == part], floor)
    outside = mean_and_error([g for g, label in pairs if label != part], floor)
    return (inside[0] - outside[0]) ** 2 / (inside[1] + outside[1])


def trend(gains: Sequence[float], labels: Sequence[int]) -> float:
    """The sum of c m over its standard error, squared; c are equally spaced and centred."""
    floor = SMALL * squares(gains)
    if floor == 0:
        return 0.0
    found = [mean_and_error(group, floor) for group in groups(gains, labels)]
    c = [place - (len(found) - 1) / 2 for place in range(len(found))]
    total = sum(score * m for score, (m, _) in zip(c, found, strict=True))
    return total**2 / sum(score**2 * e for score, (_, e) in zip(c, found, strict=True))


def statistics(gains: Sequence[float], labels: Sequence[int]) -> list[float]:
    """All parts, each part against the rest, the trend."""
    each = [against_rest(gains, labels, part) for part in sorted(set(labels))]
    return [all_parts(gains, labels), *each, trend(gains, labels)]


def every_labelling(labels: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All distinct labellings with the same number of rows in every part."""
    yield from sorted(set(permutations(labels)))


def as_extreme(drawn: float, seen: float) -> bool:
    """Whether a statistic is at least as large as the observed one, but for rounding."""
    return drawn >= seen - 1e-8 * (1 + abs(seen))


def p_values(
    gains: Sequence[float], labels: Sequence[int], labellings: Sequence[Sequence[int]]
) -> list[float]:
    """Share of some labellings, which include the observed one, whose statistics are as extreme."""
    seen = statistics(gains, labels)
    drawn = [statistics(gains, labelling) for labelling in labellings]
    return [
        sum(as_extreme(one[place], seen[place]) for one in drawn) / len(drawn)
        for place in range(len(seen))
    ]
