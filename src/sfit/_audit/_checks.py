"""Assumptions of an audit as a checklist: one plain sentence or two for each, with a remedy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from sfit._array import Array
from sfit._audit._overlap import Overlap
from sfit._audit._ranges import Outside
from sfit._audit._records import Check, DataFacts
from sfit._power import rows_needed
from sfit._text import listed, number, percent, printable

YES, NO, OPEN = "yes", "no", "open"

SIGMAS = 3
"""A figure is beyond chance if it exceeds its expectation by so many standard errors."""

SMALL_EFFECT = 0.1
"""Cohen (1988) calls this correlation small; an audit should be able to find it."""

FEW_CLUSTERS = 30
"""Fewer clusters than this find only strong effects."""

MANY_OUTSIDE = 0.01
"""More than this share of rows with values that training never saw is a finding."""


def checklist(
    *,
    data: DataFacts,
    losses: Array,
    overlap: Overlap | None,
    outside: Sequence[Outside],
    constant: Sequence[str],
    empty_classes: Sequence[str] | None,
    n_clusters: int,
    row_order: bool,
    smallest_correlation: float,
    level: float,
    power: float = 0.8,
) -> tuple[Check, ...]:
    """The assumptions of an audit, and whether they hold as far as it can tell.

    Parameters
    ----------
    data : DataFacts
        Facts about the held-out rows.
    losses : array
        The loss of each row under the full model, in the order of the user's rows.
    overlap : Overlap or None
        Rows shared with the training set; None without training rows.
    outside : sequence of Outside
        Values that training never saw, the largest share first; empty without training rows.
    constant : sequence of str
        Features that do not vary.
    empty_classes : sequence of str or None
        Classes of the model that no row has; None for regression.
    n_clusters : int
        Number of clusters; 0 if the rows are not clustered.
    row_order : bool
        Whether the user declared that the rows are in order of time.
    smallest_correlation : float
        The smallest correlation that the permutation test finds with `power`; NaN if none.
    level : float
        The level with which a single p-value is compared.
    power : float, default=0.8
        The power behind `smallest_correlation`.
    """
    return (
        _held_out(overlap),
        _independent(losses, n_clusters, row_order),
        _reference(overlap is not None),
        _enough(data.n_rows, n_clusters, smallest_correlation, level, power),
        _complete(data),
        *(() if empty_classes is None else (_all_classes(empty_classes),)),
        _varying(constant),
        _inside(overlap is not None, outside, data.n_rows),
    )


def _held_out(overlap: Overlap | None) -> Check:
    name = "Held out"
    if overlap is None:
        return Check(
            name,
            OPEN,
            "No training rows were given, so the audit cannot tell whether the model has seen "
            "these rows. Pass the training rows (train=...), or confirm that they were held out.",
        )
    repeated = _counted(overlap.n_repeated, "audited row")
    within = f" {repeated} {_verb(overlap.n_repeated, 'equals', 'equal')} another audited row."
    within = within if overlap.n_repeated else ""
    if not overlap.n_shared:
        return Check(
            name,
            YES,
            f"None of the {overlap.n_rows:,} rows occurs in the {overlap.n_training:,} training "
            f"rows, compared in the columns that the model uses.{within}",
        )
    found = (
        f"{overlap.n_shared:,} of the {overlap.n_rows:,} rows also "
        f"{_verb(overlap.n_shared, 'occurs', 'occur')} in the {overlap.n_training:,} training "
        f"rows, compared in the columns that the model uses.{within}"
    )
    chance = overlap.expected
    # Both the count and its expectation are estimates with a variance of about their size.
    if overlap.n_shared <= chance + SIGMAS * math.sqrt(2 * chance):
        return Check(
            name,
            OPEN,
            f"{found} Rows repeat so often that about {round(chance):,} would be shared by chance: "
            "confirm that they are different cases.",
        )
    expected = f" About {round(chance):,} would be shared by chance." if chance else ""
    return Check(
        name,
        NO,
        f"{found}{expected} The model may have learnt their outcomes: leave these rows out, and "
        "audit again.",
    )


def _independent(losses: Array, n_clusters: int, row_order: bool) -> Check:
    name = "Independent rows"
    if n_clusters:
        return Check(
            name,
            YES,
            f"The tests keep the rows of each of the {n_clusters:,} clusters together, so only the "
            "clusters must be independent.",
        )
    if row_order:
        return Check(
            name,
            YES,
            "The rows are declared to be in order of time, and the permutation test allows for "
            "dependence between neighbours.",
        )
    correlation, bound = neighbour_correlation(losses)
    if correlation > bound:
        return Check(
            name,
            NO,
            f"The losses of neighbouring rows have a rank correlation of {correlation:.3f}, above "
            f"the {bound:.3f} that chance allows. Either the rows depend on each other (pass "
            'clusters=... or row_order="time"), or they are sorted by something that matters.',
        )
    if math.isnan(correlation):
        found = "The losses do not vary, so they show no sign of dependence."
    else:
        found = (
            f"The losses of neighbouring rows have a rank correlation of {correlation:.3f}, which "
            f"is within chance (up to {bound:.3f})."
        )
    return Check(
        name,
        OPEN,
        f"{found} Rows may still depend on each other, for instance several rows of one customer: "
        "if so, pass clusters=... and audit again.",
    )


def neighbour_correlation(losses: Array) -> tuple[float, float]:
    """The rank correlation of the losses of neighbouring rows, and what chance allows.

    For n independent rows the correlation has a standard error of about 1 / sqrt(n). Both are NaN
    for fewer than three rows, and for losses that do not vary.
    """
    n = len(losses)
    if n < 3 or np.ptp(losses) == 0:
        return math.nan, math.nan
    ranks = rankdata(losses)
    ranks -= ranks.mean()
    correlation = float(ranks[1:] @ ranks[:-1] / (ranks @ ranks))
    return correlation, SIGMAS / math.sqrt(n)


def _reference(from_training: bool) -> Check:
    name = "Reference from training rows"
    if from_training:
        return Check(name, YES, "Hidden features take their values from training rows.")
    return Check(
        name,
        NO,
        "Hidden features take their values from the audited rows themselves, because no training "
        "rows were given. The tests are then approximate: pass the training rows (train=...).",
    )


def _enough(n: int, n_clusters: int, smallest: float, level: float, power: float) -> Check:
    name = "Enough rows"
    rows = f"{n:,} rows" + (f" in {n_clusters:,} clusters" if n_clusters else "")
    needed = rows_needed(correlation=SMALL_EFFECT, alpha=level, power=power)
    remedy = (
        f"A small effect, a correlation of {SMALL_EFFECT:g}, needs at least {needed:,} independent "
        "rows: audit more rows before you conclude that a feature is not used."
    )
    if math.isnan(smallest):
        return Check(name, NO, f"{rows} are too few to find even a perfect relation. {remedy}")
    found = (
        f"With {rows} the permutation test finds a correlation of {number(smallest)} "
        f"({percent(smallest**2)} of the variance) with a probability of {percent(power)}."
    )
    if smallest > SMALL_EFFECT:
        return Check(name, NO, f"{found} {remedy}")
    if 0 < n_clusters < FEW_CLUSTERS:
        return Check(
            name,
            NO,
            f"{found} With fewer than {FEW_CLUSTERS} clusters, only strong effects are found: "
            "audit more clusters.",
        )
    return Check(name, YES, f"{found} Smaller effects may be missed.")


def _complete(data: DataFacts) -> Check:
    name = "No missing values"
    if not data.n_missing:
        return Check(name, YES, "No value is missing in the columns that the model uses.")
    cells = data.n_rows * data.n_columns
    features = len(data.missing_by_column)
    worst, count = map(printable, data.missing_by_column[0])
    where = f"{features:,} features have missing values, {worst} the most ({count} rows)"
    where = where if features > 1 else f"All are values of {worst}"
    return Check(
        name,
        OPEN,
        f"{data.n_missing:,} of {cells:,} values are missing ({percent(data.n_missing / cells)}). "
        f"{where}. The model received them as they are: confirm that values are missing for the "
        "same reasons when the model is in use.",
    )


def _all_classes(empty: Sequence[str]) -> Check:
    name = "Every class occurs"
    if not empty:
        return Check(name, YES, "The rows contain every class that the model can predict.")
    return Check(
        name,
        NO,
        f"No row has the class {listed(empty)}, so the audit says nothing about it: add rows of "
        "every class.",
    )


def _varying(constant: Sequence[str]) -> Check:
    name = "Every feature varies"
    if not constant:
        return Check(name, YES, "Every feature has at least two different values.")
    several = len(constant) > 1
    return Check(
        name,
        NO,
        f"{listed(constant)} {'have' if several else 'has'} one value in all rows, so no test can "
        f"find {'them' if several else 'it'}, whatever the model does: audit rows in which "
        f"{'they vary' if several else 'it varies'}.",
    )


def _inside(has_train: bool, outside: Sequence[Outside], n: int) -> Check:
    name = "Within the range of training"
    if not has_train:
        return Check(
            name,
            OPEN,
            "No training rows were given, so the audit cannot tell whether the model extrapolates: "
            "pass the training rows (train=...).",
        )
    if not outside:
        return Check(
            name, YES, "Every value lies in the range, or among the categories, of training."
        )
    worst = [
        f"{printable(one.feature)} ({_counted(one.n, 'row')}, {percent(one.share)})"
        for one in outside[:3]
    ]
    more = f" and {len(outside) - 3:,} other features" if len(outside) > 3 else ""
    found = (
        f"Some of the {n:,} rows have values that the training rows do not reach: "
        f"{', '.join(worst)}{more}."
    )
    if outside[0].share > MANY_OUTSIDE:
        return Check(
            name,
            NO,
            f"{found} The model extrapolates there: check how these rows arose, and read results "
            "about these features with care.",
        )
    return Check(name, YES, f"{found} That is at most {percent(MANY_OUTSIDE)} of the rows.")


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _verb(n: int, one: str, several: str) -> str:
    return one if n == 1 else several
