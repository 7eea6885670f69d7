"""The delete-a-group jackknife: one way to an interval for any function of the rows.

Units (rows, or clusters of rows) are dealt at random into groups, and the function is computed
without each group in turn. Kott (2001), Journal of Official Statistics 17, 521-526.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from sfit._array import Array

GROUPS = 20
"""Groups of units that are left out in turn: 19 degrees of freedom."""

UNITS_PER_GROUP = 2
"""Fewer groups are made if a group would have fewer units than this."""


def deal(n: int, units: Array | None, seed: int) -> Array:
    """The group of each row: units are dealt at random, in groups of nearly equal size."""
    of_row = np.arange(n) if units is None else pd.factorize(units, use_na_sentinel=False)[0]
    n_units = int(of_row.max(initial=-1)) + 1
    n_groups = min(GROUPS, max(n_units // UNITS_PER_GROUP, 2), max(n_units, 1))
    dealt = np.random.default_rng(seed).permutation(np.arange(n_units) % n_groups)
    return np.asarray(dealt[of_row])


def standard_error(values: Array) -> float:
    """The standard error from the values without each of the groups."""
    n_groups = len(values)
    return math.sqrt((n_groups - 1) / n_groups * float(np.square(values - values.mean()).sum()))
