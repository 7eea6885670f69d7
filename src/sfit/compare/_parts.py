"""Compare the gains of features between parts of the rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import t as student

from sfit._arguments import check_flag, warn_of_order
from sfit._array import Array
from sfit._contrast import Contrast, Effects, Question
from sfit._diagnostics import few_clusters
from sfit._differences import Evaluation
from sfit._effects import rounded
from sfit._features import shorten
from sfit._label_permutation import (
    Counts,
    LabelPermutations,
    Moments,
    Statistics,
    scaled,
    scores,
    statistics,
)
from sfit._measure import PASS_NUMBERS, measure
from sfit._multiplicity import adjust, n_draws, smallest_threshold
from sfit._part_gains import unit_rows
from sfit._part_test import ClusterUnits, PartEvidence, RowUnits
from sfit._request import argument
from sfit._resume import opened_for
from sfit._session import Session
from sfit.compare._gains import gains_of, settings_of
from sfit.compare._part_result import (
    GUARANTEE,
    UNNAMED,
    PartComparison,
    PartGain,
    PartsTest,
    PartTrend,
)
from sfit.compare._request import CompareRequest
from sfit.exceptions import ArgumentError, DataError
from sfit.rows import Rows, every_tile
from sfit.sample import prepare
from sfit.sample._columns import MISSING

MOST_PARTS = 50
"""More parts are not compared: each against the rest needs too many permutations to decide."""

MOST_DRAWS = 250_000
"""More permutations are not drawn: their sums would not fit into memory."""


def check_by(value: Any, argument: str) -> None:
    """Refuse None: without parts there is nothing to compare."""
    if value is None:
        raise ArgumentError(
            f"{argument} must be 'class', the name of a column, or one label per row; got None."
        )


@dataclass(frozen=True)
class PartsRequest(CompareRequest):
    """The arguments of `compare_parts`."""

    by: Any = argument(check_by, identity=False)
    trend: bool = argument(check_flag, identity=False)

    def identity(self) -> dict[str, Any]:
        """The arguments that identify a run; labels of parts belong to the rows."""
        by = self.by if isinstance(self.by, str) else True
        return super().identity() | {"comparison": "parts", "by": by}


def compare_parts(
    model: Any,
    X: Any,
    y: Any,
    *,
    by: Any,
    trend: bool = False,
    features: Sequence[Any] | None = None,
    loss: str | Mapping[str, Any] | Callable[[Any, Any], Any] = "auto",
    alpha: float = 0.05,
    correction: str | None = "holm",
    reference: Any = "mean",
    groups: Mapping[str, Sequence[Any]] | None = None,
    always_on: Sequence[Any] = (),
    given: Sequence[Any] | str = (),
    clusters: Any = None,
    fast: bool = True,
    n_jobs: int | None = None,
    progress: bool = False,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_key: str | None = None,
    random_state: Any = None,
) -> PartComparison:
    r"""Test whether the mean gain of a feature differs between parts of the rows.

    The gain of a feature is the loss that revealing it saves. Parts are subgroups, months, or the
    rows before and after a date. Labels of parts are permuted over rows to find which differences
    of mean gains chance alone would produce.

    Parameters
    ----------
    model, X, y : as in `feature_significance`
        A fitted model, held-out rows and the observed target.
    by : "class", str or array of shape (n,)
        The parts: the classes, the values of a column, or one label per row. At most 50. Rows whose
        label is missing are the part `"missing"`, which `trend` refuses.
    trend : bool, default=False
        Also test whether the mean gain rises or falls over the parts in their sorted order.
        Numbers and dates sort by value, text sorts alphabetically: write months as 2024-05.
    features, loss : as in `feature_significance`
        The columns to pass to the model, and the loss.
    alpha : float, default=0.05
        Level of every test.
    correction : {None, "fdr_by", "fdr_bh", "holm", "bonferroni"}, default="holm"
        Multiple-testing correction over all features, within each of three families: all parts at
        once, each part against the rest, trends.
    reference, groups, always_on : as in `feature_significance`
        How features are hidden, and which columns form one.
    given : sequence of names or "rest", default=()
        Features revealed on both sides, which are not compared. `"rest"`: the gain of a feature is
        that over all the others.
    clusters : as in `feature_significance`
        Rows that depend on each other. A cluster then counts once, with its mean gain. All of its
        rows must lie in one part.
    fast, n_jobs, progress, checkpoint, checkpoint_key : as in `feature_significance`
        How the work is done.
    random_state : int or Generator, optional
        Seed of the permutations and of the rows that an `Average` draws. By default, a seed is
        drawn; the result records it.

    Returns
    -------
    PartComparison
        For each feature the test of all parts at once and of each part against the rest, the mean
        gains with their intervals, and the trend.

    See Also
    --------
    feature_significance : Test the parts separately, with `by`.
    compare_models : Compare models on the same rows.

    Notes
    -----
    Let part k have :math:`n_k` gains with mean :math:`m_k` and standard deviation :math:`s_k`. The
    statistic for all parts at once is :math:`\sum_k w_k (m_k - m)^2` with :math:`w_k = n_k / s_k^2`
    and m the mean of the :math:`m_k` weighted by :math:`w_k`. A part is compared with the rest by
    Welch's t, which for two parts is the same test and is left out. The trend is
    :math:`\sum_k c_k m_k`, divided by its standard error, with equally spaced :math:`c_k`. All
    tests are two-sided, and :math:`p = (1 + \#\{T_b \ge T\}) / (B + 1)` over B random permutations
    of the labels.

    The p-values are exact if the gains of all parts have the same distribution. If only their means
    are equal, they are asymptotically valid, because the statistics are studentised [1]_.

    With more than 131,071 rows, labels are permuted over units of several consecutive rows of a
    part. Fewer rows than a unit may be left over in each part; they keep their label.

    References
    ----------
    .. [1] E. Chung and J. P. Romano, "Exact and Asymptotically Robust Permutation Tests", Annals of
       Statistics 41(2), 484-507, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(4000, random_state=0)
    >>> year = np.repeat([2021, 2022, 2023, 2024], 1000)
    >>> y = y + 2 * (year - 2021) * X["X6"]  # X6 matters more every year
    >>> model = lambda rows: sfit.simulate.interactions_mean(rows) + 3 * rows["X6"]
    >>> parts = sfit.compare_parts(
    ...     model, X, y, by=year, trend=True, loss="squared_error", random_state=0
    ... )
    >>> parts.differing
    ('X6',)
    >>> [(one.feature, round(one.slope, 1)) for one in parts.trends if one.significant]
    [('X6', 11.7)]
    """
    request = PartsRequest.checked(**locals())
    session = Session.of(request)
    for name, labels in (("y", y), ("by", by), ("clusters", clusters)):
        warn_of_order(X, labels, name)
    if trend:
        check_order(X, by)
    seed = session.seed(request.random_state)
    sample = prepare(model, X, y, by=by, clusters=clusters, seed=seed, **request.subject)
    if trend:
        check_complete(sample.rows)
    gains = gains_of(request, sample.features.names)
    statistic, n_units = units_of(sample.rows, request)
    family = Family(request, len(gains.compared), len(n_units))
    identity = request.identity() | {"given": "rest" if gains.rest else sorted(gains.given)}
    stored = opened_for(checkpoint, checkpoint_key, identity, sample)
    with stored as session.checkpoint:
        seed = session.seed(request.random_state)  # stored: a resumed run draws the same
        evaluation = sample.evaluation(request.fast, session.warn)
        labels = np.repeat(np.arange(len(n_units)), n_units)
        permutations = LabelPermutations(labels, statistic.size, family.n_draws, seed)
        contrasts = [gains.of(feature) for feature in gains.compared]
        figures, counts = answer(evaluation, contrasts, statistic, permutations, session)
    few = few_clusters(sample.rows.n_clusters) if clusters is not None else ()
    session.warn(*few)
    names = [sample.features.names[feature] for feature in gains.compared]
    records = Records(names, plain_parts(sample.rows.parts), figures, permutations, family)
    tests = records.tests(counts)
    return PartComparison(
        by=by if isinstance(by, str) else UNNAMED,
        features=tests,
        gains=records.gains(counts),
        trends=records.trends(counts) if trend else (),
        settings=settings_of(request, sample, gains, seed, family.n_draws),
        caveats=(
            *(*sample.caveats, *evaluation.caveats(), *few),
            *caveats_of(tests[0], permutations, family),
        ),
        run=session.run(),
    )


def check_order(X: Any, by: Any) -> None:
    """Refuse ordered categories whose order is not that of sorted labels: a trend needs it."""
    named = isinstance(by, str) and isinstance(X, pd.DataFrame) and by in X.columns
    dtype = getattr(X[by] if named else by, "dtype", None)
    if not isinstance(dtype, pd.CategoricalDtype) or not dtype.ordered:
        return
    if not dtype.categories.is_monotonic_increasing:
        categories = shorten(dtype.categories.tolist())
        raise ArgumentError(
            f"by has ordered categories, {categories}, but trend=True takes labels in sorted "
            "order: pass numbers, such as the codes of the categories, or dates as 2024-05."
        )


def check_complete(rows: Rows) -> None:
    """Refuse rows without a label: a trend needs an order of all parts."""
    if MISSING in rows.parts:
        raise ArgumentError(
            f"by has the part {MISSING!r}, which has no place in an order: leave its rows out, or "
            "omit trend=True."
        )


def units_of(rows: Rows, request: PartsRequest) -> tuple[RowUnits | ClusterUnits, tuple[int, ...]]:
    """The units that labels are permuted over, and their number in each part.

    Parts that cannot be compared are refused.
    """
    parts = rows.parts
    if len(parts) < 2:
        raise ArgumentError(
            f"by has one label only, {parts[0]!r}: there is nothing to compare it with. Pass "
            "labels that divide the rows into at least two parts."
        )
    if len(parts) > MOST_PARTS:
        raise ArgumentError(
            f"by has {len(parts)} distinct labels, but at most {MOST_PARTS} parts can be compared: "
            "with more, a corrected p-value needs too many permutations. Use coarser labels, such "
            "as quarters instead of days."
        )
    statistic: RowUnits | ClusterUnits
    if request.clusters is None:
        statistic, sizes, what = RowUnits(unit_rows(len(rows))), rows.sizes(), "row"
    else:
        statistic = ClusterUnits(request.alpha, n_clusters=rows.n_clusters)
        sizes, what = clusters_by_part(rows), "cluster"
    least = 2 * statistic.size
    for part, size in zip(parts, sizes, strict=True):
        if size < least:
            plural = "" if size == 1 else "s"
            raise DataError(
                f"by: part {part!r} has {size} {what}{plural}, but a part needs at least {least} "
                "to be compared. Join it with another part, or leave its rows out."
            )
    return statistic, tuple(size // statistic.size for size in sizes)


def clusters_by_part(rows: Rows) -> tuple[int, ...]:
    """Number of clusters in each part; refuse a cluster that lies in several."""
    part_of = np.full(rows.n_clusters, -1)
    for tile in every_tile(rows):
        cluster, part = np.asarray(tile.cluster), np.asarray(tile.part)
        # The first row of each cluster in the tile decides, unless an earlier tile did.
        codes, first = np.unique(cluster, return_index=True)
        part_of[codes] = np.where(part_of[codes] < 0, part[first], part_of[codes])
        torn = part_of[cluster] != part
        if torn.any():
            row = int(torn.argmax())
            own, earlier = rows.parts[part[row]], rows.parts[part_of[cluster[row]]]
            raise DataError(
                f"clusters: all rows of a cluster must lie in one part of by, but row "
                f"{tile.number(row)} lies in part {own!r} and an earlier row of its cluster in "
                f"part {earlier!r}. Let parts divide clusters, not rows, or use smaller clusters."
            )
    return tuple(np.bincount(part_of, minlength=len(rows.parts)).tolist())


def plain_parts(parts: Sequence[Any]) -> list[Any]:
    """Labels as text or whole numbers."""
    return [
        (int(part) if part.is_integer() else str(part)) if isinstance(part, float) else part
        for part in parts
    ]


class Family:
    """The tests that are corrected together."""

    def __init__(self, request: PartsRequest, n_features: int, n_parts: int):
        self.alpha, self.correction = request.alpha, request.correction
        self.each = n_parts > 2
        """Whether each part is compared with the rest."""
        n_tests = n_features * n_parts if self.each else n_features
        self.threshold = smallest_threshold(self.alpha, self.correction, n_tests)
        """The smallest level with which a p-value is compared."""
        self.n_draws = n_draws(self.threshold)
        if self.n_draws > MOST_DRAWS:
            raise ArgumentError(
                f"alpha={self.alpha:g} and correction={self.correction!r} compare a p-value of "
                f"{n_tests:,} tests with {self.threshold:.2g}, which needs {self.n_draws:,} "
                f"permutations, more than {MOST_DRAWS:,}: raise alpha, use another correction, or "
                "compare fewer features or fewer parts."
            )


ROUNDING = 1e-12
"""Less than this share of what a number is computed from is rounding."""


class Figures(NamedTuple):
    """What is reported about one feature; the units are compared by now."""

    centre: float
    """The mean gain of all units."""
    unit: float
    """The moments are about the centre, in this unit."""
    n_fixed: int
    moments: Moments
    """The observed moments of each part."""
    observed: Statistics
    effects: tuple[Effects, ...]
    """Of each part."""

    def gain(self, value: float) -> float:
        """A gain on the scale of the loss; 0 if only rounding is left of it."""
        gain = float(self.centre + self.unit * value)
        return 0.0 if abs(gain) <= ROUNDING * abs(self.centre) else rounded(gain)

    def errors(self) -> Array:
        """The standard error of the mean of each part; 0 if only rounding is left of it."""
        squared = self.moments.squared_error(0.0)
        n, about_centre = self.moments.n, self.moments.squares
        is_rounding = squared * (n - 1) * n <= ROUNDING * about_centre
        return np.where(is_rounding, 0.0, np.sqrt(squared))


def figures_of(evidence: Sequence[PartEvidence], labels: Array, size: int) -> Figures:
    """The figures of one feature, from its evidence in all parts."""
    gains = scaled([one.gains for one in evidence], size)
    moments = gains.of(labels, size)
    return Figures(
        gains.centre,
        gains.unit,
        int(gains.fixed.n.sum()),
        moments,
        statistics(moments, gains.spread),
        tuple(one.effects for one in evidence),
    )


def answer(
    evaluation: Evaluation,
    contrasts: Sequence[Contrast],
    statistic: RowUnits | ClusterUnits,
    permutations: LabelPermutations,
    session: Session,
) -> tuple[list[Figures], Counts]:
    """Gather the gains of some features at a time, and compare their parts."""
    sizes = evaluation.rows.sizes()
    held = sum(
        statistic.n_numbers(Question(contrasts[0], part, size)) for part, size in enumerate(sizes)
    )
    together = max(1, PASS_NUMBERS // held)
    figures, counts = [], []
    for first in range(0, len(contrasts), together):
        questions = [
            Question(contrast, part, size)
            for contrast in contrasts[first : first + together]
            for part, size in enumerate(sizes)
        ]
        evidence = measure(evaluation, questions, "gains", statistic=statistic, session=session)
        by_feature = [
            evidence[start : start + len(sizes)] for start in range(0, len(evidence), len(sizes))
        ]
        counts.append(permutations.count([[one.gains for one in some] for some in by_feature]))
        figures += [figures_of(some, permutations.labels, statistic.size) for some in by_feature]
    return figures, Counts(*map(np.concatenate, zip(*counts, strict=True)))


@dataclass(frozen=True)
class Records:
    """Turns the figures of all features and parts into records."""

    names: Sequence[str]
    parts: Sequence[Any]
    figures: Sequence[Figures]
    permutations: LabelPermutations
    family: Family

    def _decided(self, counts: Array) -> tuple[Array, Array, Array]:
        """p-values, adjusted p-values and decisions, from counts of permutations."""
        p_values = np.maximum(counts / self.permutations.n_draws, self.permutations.resolution)
        adjusted = adjust(p_values.ravel(), self.family.correction).reshape(p_values.shape)
        return p_values, adjusted, adjusted < self.family.alpha

    def tests(self, counts: Counts) -> tuple[PartsTest, ...]:
        """All parts at once, for each feature."""
        p_values, adjusted, significant = self._decided(counts.overall)
        return tuple(
            PartsTest(
                feature=name,
                gain=one.gain(0.0),
                smallest=self.parts[int(one.moments.mean().argmin())],
                largest=self.parts[int(one.moments.mean().argmax())],
                statistic=rounded(float(one.observed.overall)),
                p_value=float(p_values[j]),
                p_adjusted=float(adjusted[j]),
                significant=bool(significant[j]),
                p_resolution=self.permutations.resolution,
                n=int(one.moments.n.sum()),
                n_fixed=one.n_fixed,
                guarantee=GUARANTEE,
            )
            for j, (name, one) in enumerate(zip(self.names, self.figures, strict=True))
        )

    def gains(self, counts: Counts) -> tuple[PartGain, ...]:
        """Each part and the rest, for each feature."""
        p_values, adjusted, significant = self._decided(counts.each)
        each, alpha = self.family.each, self.family.alpha
        records = []
        for j, one in enumerate(self.figures):
            mean, error = one.moments.mean(), one.errors()
            rest = Moments(*(column.sum() - column for column in one.moments)).mean()
            t = np.sign(mean - rest) * np.sqrt(one.observed.each)
            half = student.isf(alpha / 2, one.moments.n - 1) * error
            records += [
                PartGain(
                    feature=self.names[j],
                    part=part,
                    gain=one.gain(mean[k]),
                    ci_low=one.gain(mean[k] - half[k]),
                    ci_high=one.gain(mean[k] + half[k]),
                    gain_rest=one.gain(rest[k]),
                    difference=rounded(float((mean[k] - rest[k]) * one.unit)),
                    t=rounded(float(t[k])),
                    p_value=float(p_values[j, k]) if each else None,
                    p_adjusted=float(adjusted[j, k]) if each else None,
                    significant=bool(each and significant[j, k]),
                    n=int(one.moments.n[k]),
                    loss_base=one.effects[k].loss_base,
                    loss_full=one.effects[k].loss_full,
                    n_better=one.effects[k].n_better,
                    n_worse=one.effects[k].n_worse,
                )
                for k, part in enumerate(self.parts)
            ]
        return tuple(records)

    def trends(self, counts: Counts) -> tuple[PartTrend, ...]:
        """The slope over the parts, for each feature."""
        p_values, adjusted, significant = self._decided(counts.trend)
        score = scores(len(self.parts))
        step = float(score @ score)
        records = []
        for j, one in enumerate(self.figures):
            slope = float(score @ one.moments.mean()) / step
            error = np.sqrt(np.square(score) @ one.moments.squared_error(0.0)) / step
            freedom = float(one.moments.n.sum()) - len(self.parts)
            half = float(student.isf(self.family.alpha / 2, freedom) * error)
            records.append(
                PartTrend(
                    feature=self.names[j],
                    slope=rounded(slope * one.unit),
                    ci_low=rounded((slope - half) * one.unit),
                    ci_high=rounded((slope + half) * one.unit),
                    t=rounded(float(np.sign(slope) * np.sqrt(one.observed.trend))),
                    p_value=float(p_values[j]),
                    p_adjusted=float(adjusted[j]),
                    significant=bool(significant[j]),
                )
            )
        return tuple(records)


def caveats_of(test: PartsTest, permutations: LabelPermutations, family: Family) -> list[str]:
    """Caveats about rows that keep their label, and about p-values that cannot be small enough."""
    caveats = []
    if test.n_fixed:
        caveats.append(
            f"labels are permuted over units of {permutations.size:,} rows of a part; "
            f"{test.n_fixed:,} of {test.n:,} rows are left over and keep their label."
        )
    if test.p_resolution >= family.threshold:
        caveats.append(
            f"no p-value can be below {test.p_resolution:.2g}, and the smallest is compared with "
            f"{family.threshold:.2g}: use more rows, a larger alpha or another correction."
        )
    return caveats
