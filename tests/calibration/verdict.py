"""What a simulation says about a promise, with a tolerance from its own error."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binom, t

ALARM = 1e-6
"""A promise is broken when, if it held, what was seen would be less likely than this."""


@dataclass(frozen=True)
class Verdict:
    """What was promised in one setting, and what was seen."""

    promise: str
    setting: str
    seen: float
    relation: str
    """`<=`, `>=` or `=`: how what is seen should lie to the bound, but for chance."""
    bound: float
    draws: int
    surprise: float
    """Probability of seeing this or worse if the promise just holds."""

    @property
    def holds(self) -> bool:
        return self.surprise >= ALARM


def of_counts(promise, setting, count, draws, relation, bound):
    """A share of independent draws: the binomial law itself."""
    above = binom.sf(count - 1, draws, bound)
    below = binom.cdf(count, draws, bound)
    surprise = {"<=": above, ">=": below, "=": min(1.0, 2 * min(above, below))}[relation]
    return Verdict(promise, setting, count / draws, relation, bound, draws, float(surprise))


def of_mean(promise, setting, values, bound):
    """A mean of independent draws that must not exceed a bound: Student's t."""
    mean, draws = float(np.mean(values)), len(values)
    error = float(np.std(values, ddof=1)) / np.sqrt(draws)
    surprise = float(t.sf((mean - bound) / error, draws - 1)) if error else float(mean <= bound)
    return Verdict(promise, setting, mean, "<=", bound, draws, surprise)
