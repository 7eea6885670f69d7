"""The decisions of the study of comparisons: thousands of data sets through the tests themselves.

A job draws some data sets. The library's own test of sign flips or label permutations gives their
p-values, for all of them at once. The public functions answer for the first few, and must agree.
"""

from __future__ import annotations

import numpy as np

from sfit._for_studies import count_extreme, dealt, n_draws, p_value, two_sided_p_value
from sfit.studies._comparison_cases import (
    ALPHA,
    Array,
    Case,
    Family,
    Paired,
    compare_features,
)

Decisions = dict[str, Array]
"""Decisions by test, one row per data set. `AGREES` holds the data sets asked twice."""

SFIT, SIGN, AGREES = "sfit", "sign test of the median", "the public function agrees"


def decide_paired(case: Case, n: int, seed: list[int], count: int, n_asked: int) -> Decisions:
    """The decisions about some data sets of one setting, by the paired test and the sign test."""
    rng = np.random.default_rng(seed)
    samples = [case.draw(rng, n) for _ in range(count)]
    flips = int(rng.integers(2**31))
    differences = np.array([case.compared.differences(one) for one in samples])
    mean, median = paired_p_values(case.compared, differences, flips)
    answers = [case.compared.asked(one, flips) for one in samples[:n_asked]]
    agrees = [
        np.isclose(one.mean, p, rtol=0, atol=1e-12) and np.isclose(one.median, q, rtol=1e-9)
        for one, p, q in zip(answers, mean, median, strict=False)
    ]
    return {
        SFIT: (mean < ALPHA)[:, None],
        SIGN: (median < ALPHA)[:, None],
        AGREES: np.array(agrees, dtype=bool)[:, None],
    }


def paired_p_values(compared: Paired, differences: Array, seed: int) -> tuple[Array, Array]:
    """The p-values of the paired test and of the sign test, one data set per row."""
    size = n_draws(ALPHA / 2 if compared.side == "both" else ALPHA)
    sums = np.array([dealt(row).sums for row in differences])
    extreme = count_extreme(sums, size, seed)
    counts = {
        "either": extreme.either,
        "both": np.minimum(2 * np.minimum(extreme.above, extreme.below), size),
    }
    positive, negative = (differences > 0).sum(axis=1), (differences < 0).sum(axis=1)
    if compared.side == "above":
        return extreme.above / size, p_value(positive, differences.shape[1])
    return counts[compared.side] / size, two_sided_p_value(positive, negative)


WRONG, MISSED, DECIDED = "a wrong pair", "a wrong interval of ranks", "pairs decided"


def decide_family(family: Family, n: int, seed: list[int], count: int) -> Decisions:
    """What `compare_features` decides about some data sets with several features."""
    rng = np.random.default_rng(seed)
    wrong, missed, decided = [], [], []
    for _ in range(count):
        compared = compare_features(family.model, family.draw(rng, n), int(rng.integers(2**31)))
        wrong.append(
            any(
                pair.larger is not None
                and not family.larger(
                    pair.larger, pair.second if pair.larger == pair.first else pair.first
                )
                for pair in compared.pairs
            )
        )
        missed.append(
            any(
                not one.rank_low <= low <= high <= one.rank_high
                for one in compared.features
                for low, high in [family.true_ranks(one.feature)]
            )
        )
        decided.append([pair.larger is not None for pair in compared.pairs])
    return {
        WRONG: np.array(wrong)[:, None],
        MISSED: np.array(missed)[:, None],
        DECIDED: np.array(decided),
    }
