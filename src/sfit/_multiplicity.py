"""Corrections for testing many sets at once: within one order (section 2.2), or over all orders."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.stats import false_discovery_control

from sfit._array import Array
from sfit.exceptions import ArgumentError

CORRECTIONS = (None, "fdr_by", "fdr_bh", "holm", "bonferroni")

MOST_DRAWS = 10**7
"""Random draws that a test makes at most."""


def adjust(p_values: Array, correction: str | None) -> Array:
    """Adjusted p-values: a set is significant when its adjusted p-value is below alpha."""
    p = np.asarray(p_values, dtype=float)
    m = len(p)
    if correction is None:
        return p.copy()
    if correction == "bonferroni":
        return np.minimum(p * m, 1.0)
    if correction == "holm":
        order = np.argsort(p)
        stepped = np.maximum.accumulate(p[order] * np.arange(m, 0, -1))
        adjusted = np.empty(m)
        adjusted[order] = np.minimum(stepped, 1.0)
        return adjusted
    # The paper suggests Benjamini and Yekutieli (2001), because the tests are dependent.
    return np.asarray(false_discovery_control(p, method=correction.removeprefix("fdr_")))


def smallest_threshold(alpha: float, correction: str | None, m: int) -> float:
    """The smallest level with which a p-value is compared when m sets are decided together."""
    if correction is None:
        return alpha
    harmonic = sum(1 / k for k in range(1, m + 1)) if correction == "fdr_by" else 1.0
    return alpha / (m * harmonic)


def n_draws(threshold: float) -> int:
    """How many random draws, the observed one included, make p-values below a level possible.

    A multiple of 1,000: at least 2,000, and enough for a p-value of half the threshold.
    """
    return 1_000 * max(2, ceil(2 / threshold / 1_000 - 1e-9))


def size_of(asked: int | str, threshold: float, *, alpha: float, order: int, draws: str) -> int:
    """Number of random draws, the observed one included: as asked, or as the threshold needs.

    `draws` names them: "permutations" are the option `n_permutations`.
    """
    if not isinstance(asked, str):
        return asked + 1
    size = n_draws(threshold)
    if size > MOST_DRAWS:
        raise ArgumentError(
            f"alpha={alpha:g} compares a p-value of order {order} with {threshold:.2g}, which "
            f"needs {size:,} {draws}, more than {MOST_DRAWS:,}: raise alpha, use another "
            f"correction, test fewer sets with n_partners, or set n_{draws}."
        )
    return size


@dataclass(frozen=True)
class Correction:
    """How the p-values of one order are adjusted: by a method, then by a common factor.

    The factor is 1 for a correction within the order. For error control over all orders it is alpha
    over the order's own level.
    """

    method: str | None
    factor: float = 1.0

    def adjust(self, p_values: Array) -> Array:
        """Adjusted p-values: a set is significant when its adjusted p-value is below alpha."""
        return np.minimum(self.factor * adjust(p_values, self.method), 1.0)

    def smallest_threshold(self, alpha: float, m: int) -> float:
        """The smallest level with which a p-value is compared when m sets are decided together."""
        return smallest_threshold(alpha, self.method, m) / self.factor


def over_all_orders(
    alpha: float, alphas: tuple[float, ...], order: int, n_bases: int, n_sets: int
) -> Correction:
    """The correction of one order under `alpha_by_order`: any false rejection, over all orders.

    Order 1 is decided by Holm's method at its level. At a later order, earlier decisions choose the
    sets and their bases. A Bonferroni bound over all `n_sets` sets that could be planned, and all
    `n_bases` bases of a true null hypothesis, holds for every choice.
    """
    share = alpha / alphas[order - 1]
    return Correction("holm", share) if order == 1 else Correction(None, share * n_bases * n_sets)
