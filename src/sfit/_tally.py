"""The summary of some rows for a contrast, under the sign test."""

from __future__ import annotations

from typing import NamedTuple

from sfit._select import Counted


class Tally(NamedTuple):
    """Counts of some rows, and their differences within the windows of a focus."""

    n: int
    n_positive: int
    n_better: int
    """Rows whose loss is smaller on the full side, by any amount."""
    n_improvable: int
    delta: Counted
    rho: Counted
