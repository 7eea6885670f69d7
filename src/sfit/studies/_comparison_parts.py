"""Parts of the rows in the study of comparisons: equal mean gains, unequal sizes and variances.

The model predicts its only column x, and y is a multiple of x plus noise. The gain of x over a
prediction of 0 is 2 x y - x^2, so its mean depends on the multiple only, and the noise of a part
decides its variance.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import sfit
from sfit._for_studies import LabelPermutations, adjust, cut, n_draws
from sfit.studies._comparison_cases import ALPHA, Array, Rng, Sample, column, gain_of
from sfit.studies._comparison_tests import AGREES, Decisions

OVERALL, EACH, TREND = "all parts at once", "any part against the rest", "trend"
RECIPE = "without studentisation"
N_PERMUTATIONS = 999
"""Of the recipe."""


@dataclass(frozen=True)
class PartsCase:
    """Parts by their shares of the rows, in time order."""

    shares: tuple[float, ...]
    noise: tuple[float, ...]
    """Standard deviation of the noise in each part."""
    guarantee: str
    skewed: tuple[int, ...] = ()
    """Parts whose column is exponential, with the same mean square."""
    gains: tuple[float, ...] = field(default=())
    """Mean gains of the parts; by default 1 in all of them."""

    def labels(self, n: int) -> Array:
        """The part of each row."""
        ends = np.rint(np.cumsum(self.shares) * n).astype(int)
        return np.searchsorted(ends, np.arange(n), side="right")

    def draw(self, rng: Rng, n: int) -> Sample:
        """One data set."""
        labels = self.labels(n)
        x = np.where(
            np.isin(labels, self.skewed),
            rng.exponential(size=n) / np.sqrt(2),
            rng.normal(size=n),
        )
        slope = (1 + np.array(self.gains or (1.0,) * len(self.shares))) / 2
        noise = np.array(self.noise)[labels] * rng.normal(size=n)
        return Sample(x[:, None], slope[labels] * x + noise)


QUARTERS = (0.4, 0.3, 0.2, 0.1)

PARTS = {
    "two parts, equal distributions": PartsCase((0.8, 0.2), (1.0, 1.0), "exact"),
    "four parts, equal distributions": PartsCase(QUARTERS, (1.0,) * 4, "exact"),
    "two parts, the small one noisy": PartsCase((0.8, 0.2), (0.5, 3.0), "asymptotic"),
    "two parts, the large one noisy": PartsCase((0.8, 0.2), (3.0, 0.5), "asymptotic"),
    "four parts, small ones noisy": PartsCase(QUARTERS, (0.5, 1.0, 2.0, 3.0), "asymptotic"),
    "two parts, the small one skewed": PartsCase((0.8, 0.2), (1.0, 1.0), "asymptotic", (1,)),
}
"""Parts with equal mean gains."""


def one_part_less(effect: float) -> PartsCase:
    """Two parts; the smaller gains less, by the effect."""
    return PartsCase((0.8, 0.2), (1.0, 1.0), "asymptotic", gains=(1.0, 1.0 - effect))


def falling(effect: float) -> PartsCase:
    """Four parts of equal size; the mean gain falls by the effect from the first to the last."""
    gains = tuple(1 - effect * place / 3 for place in range(4))
    return PartsCase((0.25,) * 4, (1.0,) * 4, "asymptotic", gains=gains)


def decide_parts(case: PartsCase, n: int, seed: list[int], count: int, n_asked: int) -> Decisions:
    """The decisions about some data sets with the same parts."""
    rng, labels = np.random.default_rng(seed), case.labels(n)
    samples = [case.draw(rng, n) for _ in range(count)]
    permuted = int(rng.integers(2**31))
    gains = np.array([gain_of(one.X[:, 0], one.y) for one in samples])
    p_values = parts_p_values(gains, labels, permuted)
    answers = [_asked(one, labels, permuted) for one in samples[:n_asked]]
    agrees = [
        all(np.isclose(answer[test], p_values[test][place], rtol=0, atol=1e-12) for test in answer)
        for place, answer in enumerate(answers)
    ]
    decisions = {test: (p < ALPHA)[:, None] for test, p in p_values.items()}
    decisions[RECIPE] = (recipe_p_values(gains, labels, rng) < ALPHA)[:, None]
    return decisions | {AGREES: np.array(agrees, dtype=bool)[:, None]}


def parts_p_values(gains: Array, labels: Array, seed: int) -> dict[str, Array]:
    """The p-values of the library's tests, one data set per row of gains."""
    n_parts = int(labels.max()) + 1
    size = n_draws(ALPHA / n_parts if n_parts > 2 else ALPHA)
    permutations = LabelPermutations(labels, 1, size, seed)
    counts = permutations.count(
        [[cut(row[labels == part], 1) for part in range(n_parts)] for row in gains]
    )
    p_values = {OVERALL: counts.overall / size, TREND: counts.trend / size}
    if n_parts > 2:
        p_values[EACH] = np.array([adjust(row, "holm").min() for row in counts.each / size])
    return p_values


def _asked(one: Sample, labels: Array, seed: int) -> dict[str, float]:
    """The answers of the public function."""
    compared = sfit.compare_parts(
        column(0),
        one.X,
        one.y,
        by=labels,
        trend=True,
        loss="squared_error",
        reference=0.0,
        random_state=seed,
        fast=False,
    )
    answer = {OVERALL: compared.features[0].p_value, TREND: compared.trends[0].p_value}
    of_parts = [part.p_adjusted for part in compared.gains if part.p_adjusted is not None]
    return answer | ({EACH: min(of_parts)} if of_parts else {})


def recipe_p_values(gains: Array, labels: Array, rng: Rng) -> Array:
    """What the library does not do: compare sums of squares between parts, not studentised."""
    sizes = np.bincount(labels)
    draws = np.array(
        [labels, *(rng.permutation(labels) for _ in range(N_PERMUTATIONS))], dtype=np.int8
    )
    centred = (gains - gains.mean(axis=1, keepdims=True)).T
    between = sum(
        np.square((draws == part).astype(float) @ centred) / size for part, size in enumerate(sizes)
    )
    between = np.asarray(between)
    return np.asarray(np.mean(between >= between[0] * (1 - 1e-10), axis=0))
