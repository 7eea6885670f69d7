"""The tests of a result: one record per set of features, and one per gate."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from sfit._contrast import Effects

Checks = list[tuple[bool, str, Any]]
"""What must hold of a stored record: a condition, the field that it is about, and its value."""


@dataclass(frozen=True)
class SetTest(Effects):
    """The sign test of one set of features; the fields are the columns of `SFITResult.table`."""

    order: int
    term: tuple[str, ...]
    base: tuple[str, ...]
    statistic: float
    ci_low: float
    ci_high: float
    ci_lower: float
    p_value: float
    p_adjusted: float
    significant: bool
    n_positive: int
    n: int
    beta: float
    beta_max: float

    draws: ClassVar[str] = ""
    """What the test draws at random; empty: nothing."""
    p_resolution: ClassVar[float] = 0.0
    """The smallest possible p-value; 0: the number of rows alone decides."""
    guarantee: ClassVar[str] = ""
    """What the p-value is, where that differs between sets; empty: the words of the test say."""

    @property
    def estimate(self) -> float:
        """The effect: the median difference."""
        return self.statistic

    @property
    def strength(self) -> float:
        """Ranks sets with equal p-values."""
        return self.n_positive

    def checks(self, settings: Any) -> Checks:
        """What must hold of a stored record."""
        return [
            (self.n > 0 or settings.ties == "drop", "n", self.n),
            (self.n_positive <= self.n, "n_positive", self.n_positive),
            (len(settings.beta) > 0, "beta", settings.beta),
        ]


@dataclass(frozen=True)
class PermutationSetTest(Effects):
    """The permutation test of one set of features; the fields are columns of the table."""

    order: int
    term: tuple[str, ...]
    base: tuple[str, ...]
    rise: float
    ci_low: float
    ci_high: float
    p_value: float
    p_adjusted: float
    significant: bool
    z: float
    p_resolution: float
    """The smallest possible p-value; 0 for randomised p-values, which have no positive bound."""
    n: int
    n_fixed: int = 0
    """Rows in strata of fewer than 8 rows, which keep their predictions."""
    guarantee: str = "exact"
    """"exact"; "asymptotic" if the reference comes from the test rows; or "approximate"."""
    rank_correlation: float = math.nan
    """Of the set with the continuous feature that is given; NaN if there is none."""

    draws: ClassVar[str] = "permutations"
    """What the test draws at random."""

    @property
    def estimate(self) -> float:
        """The effect: the rise of the mean loss when predictions come from other rows."""
        return self.rise

    @property
    def strength(self) -> float:
        """Ranks sets with equal p-values; a set that the model ignores has no z and comes last."""
        return -math.inf if math.isnan(self.z) else self.z

    def checks(self, settings: Any) -> Checks:
        """What must hold of a stored record: nothing beyond the bounds of its fields."""
        return []


@dataclass(frozen=True)
class MeanSetTest(Effects):
    """The mean test of one set of features; the fields are columns of the table."""

    order: int
    term: tuple[str, ...]
    base: tuple[str, ...]
    mean: float
    """Mean over the units of the loss that revealing the set saves."""
    ci_low: float
    ci_high: float
    p_value: float
    p_adjusted: float
    significant: bool
    t: float
    """The mean in its standard errors."""
    p_resolution: float
    """The smallest possible p-value."""
    median: float
    median_low: float
    median_high: float
    """End of the exact interval of the median."""
    p_sign: float
    """The sign test of the median at beta = 0, which has another null hypothesis; not adjusted."""
    n_positive: int
    n_negative: int
    n: int
    share_largest: float
    """Share of the squared deviations from the mean that one unit, or slot of units, holds."""
    guarantee: str
    """"symmetric": exact if differences are symmetric, else asymptotic; or "asymptotic"."""

    draws: ClassVar[str] = "flips"
    """What the test draws at random."""

    @property
    def estimate(self) -> float:
        """The effect: the mean difference."""
        return self.mean

    @property
    def strength(self) -> float:
        """Ranks sets with equal p-values; a set that the model ignores has no t and comes last."""
        return -math.inf if math.isnan(self.t) else self.t

    def checks(self, settings: Any) -> Checks:
        """What must hold of a stored record."""
        return [
            (self.n > 0, "n", self.n),
            (self.n_positive + self.n_negative <= self.n, "n_positive", self.n_positive),
        ]


AnySetTest = SetTest | PermutationSetTest | MeanSetTest

RECORDS: dict[str, type[AnySetTest]] = {
    "statistic": SetTest,
    "rise": PermutationSetTest,
    "mean": MeanSetTest,
}
"""The record of each test, by the name of its estimate, which no other record has."""


def is_additive(test: AnySetTest) -> bool:
    """Whether a set is compared with the additive prediction from its parts."""
    return set(test.term) <= set(test.base)


def base_names(test: AnySetTest) -> tuple[str, ...]:
    """What a set is compared with, for readers: names of features, or its parts."""
    if not is_additive(test):
        return test.base
    return ("its parts", *(name for name in test.base if name not in test.term))


def sign_tests(tests: Iterable[AnySetTest]) -> list[SetTest]:
    """The sign tests among some tests: all of a result's tests, or none."""
    return [test for test in tests if isinstance(test, SetTest)]


@dataclass(frozen=True)
class FoldTest:
    """One feature in one fold of a chain; the fields are the columns of `SFITResult.folds`."""

    fold: int
    """Number of the fold, from 2: the first fold is only fitted on."""
    term: tuple[str, ...]
    n_train: int
    """Rows that the model of this fold was fitted on."""
    n: int
    """Rows of the fold that count."""
    estimate: float
    """The rise of the mean loss, or the median difference of the sign test."""
    p_value: float
    """Under the permutation test, randomised where re-matchings tie."""
    z: float
    """NaN under the sign test, and for a feature that the model ignores."""
    p_resolution: float
    """The p-value if no re-matching agreed as well, and nothing were randomised."""
    n_positive: int | None
    """Improved rows; None under the permutation test."""


@dataclass(frozen=True)
class GateTest:
    r"""Is anything left to find? The test of all features over those found so far, at beta = 0.

    The mean test has gates too: they test the mean of the differences.

    Attributes
    ----------
    after_order : int
        The order that the gate follows.
    found : tuple of str
        The features found so far, which are the base.
    statistic : float
        Median of the differences; under the mean test, their mean.
    p_value : float
        The p-value of the test, not corrected.
    n_positive, n : int
        Number of improved rows, and of all rows.
    loss_found, loss_full : float
        Mean loss with the features found revealed, and with all features.
    is_open : bool
        Whether there is more to find: p below alpha.

    See Also
    --------
    SFITResult : The result that holds the gates.

    Notes
    -----
    With S the features found, :math:`\Delta_i = L_i(S) - L_i(\text{all})`: the first lines of
    Algorithm 2 (section 2.3 of the paper).

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> [gate] = sfit.feature_significance(sfit.simulate.interactions_mean, X, y).gates
    >>> gate.found, gate.is_open
    (('X1', 'X3'), True)
    """

    after_order: int
    found: tuple[str, ...]
    statistic: float
    p_value: float
    n_positive: int
    n: int
    loss_found: float
    loss_full: float
    is_open: bool
