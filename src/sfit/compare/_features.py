"""Which features are used more than others, and which ranks are certain."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from sfit._arguments import warn_of_order
from sfit._array import Array
from sfit._binomial import two_sided_p_value
from sfit._contrast import Question
from sfit._diagnostics import few_clusters
from sfit._flips import Slots, count_pairs, mean_of, resolution
from sfit._mean_test import MeanEvidence
from sfit._measure import measure
from sfit._multiplicity import adjust
from sfit._resume import opened_for
from sfit._session import Session, progress_bar
from sfit._sign_test import SignEvidence
from sfit.compare._feature_result import FeatureComparison, FeaturePair, FeatureRank
from sfit.compare._gains import gains_of, median_test, n_flips, paired_test, settings_of
from sfit.compare._request import CompareRequest
from sfit.exceptions import ArgumentError
from sfit.sample import prepare

MOST_FEATURES = 200
"""More features are not compared: their pairs need too many flips to decide anything."""


def compare_features(
    model: Any,
    X: Any,
    y: Any,
    *,
    features: Sequence[Any] | None = None,
    loss: str | Mapping[str, Any] | Callable[[Any, Any], Any] = "auto",
    alpha: float = 0.05,
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
) -> FeatureComparison:
    r"""Compare the gains of all pairs of features, and find which ranks are certain.

    The gain of a feature is the loss that revealing it saves. Two features are compared row by row,
    on the same held-out rows, so differences that all rows share cancel.

    Parameters
    ----------
    model, X, y : as in `feature_significance`
        A fitted model, held-out rows and the observed target.
    features, loss : as in `feature_significance`
        The columns to pass to the model, and the loss. At most 200 features can be compared; so
        many take minutes, because their pairs need 1.6 million flips.
    alpha : float, default=0.05
        The probability that any decision about a pair, and so any interval of ranks, is wrong.
    reference, groups, always_on : as in `feature_significance`
        How features are hidden, and which columns form one.
    given : sequence of names or "rest", default=()
        Features revealed on both sides, which are not ranked. `"rest"`: the gain of a feature is
        that over all the others.
    clusters : as in `feature_significance`
        Rows that depend on each other. A cluster then counts once, with its mean losses.
    fast, n_jobs, progress, checkpoint, checkpoint_key : as in `feature_significance`
        How the work is done.
    random_state : int or Generator, optional
        Seed of the sign flips and of the rows that an `Average` draws. By default, a seed is drawn;
        the result records it.

    Returns
    -------
    FeatureComparison
        The features by mean gain with the ranks that each can have, and all pairs.

    See Also
    --------
    compare_models : Compare the features of two models.
    feature_significance : Test each feature.

    Notes
    -----
    Let :math:`G_i(j)` be the gain of feature j on row i, and :math:`D_i = G_i(j) - G_i(k)`. The
    null hypothesis :math:`E D \le 0` is tested by flipping the signs of the :math:`D_i` at random:
    :math:`p = \#\{S_b \ge S\} / (B + 1)`, with :math:`S = \sum_i D_i` among its B + 1 flipped
    copies. Comparing sums compares studentised means, because no flip changes
    :math:`\sum_i D_i^2`. The test is exact if :math:`D` is symmetric about zero, and asymptotic
    otherwise. Holm's correction covers both directions of all pairs.

    Feature j surely gains more than k if its p-value is below alpha after the correction. The rank
    of j then lies between 1 plus the number of features that surely gain more, and the number of
    all features minus those that surely gain less. All these intervals hold together with
    probability 1 - alpha. Ranks are ranks of *mean* gain; medians of paired differences would not
    be transitive.

    Examples
    --------
    >>> import sfit
    >>> X, y = sfit.simulate.interactions(5000, random_state=0)
    >>> ranks = sfit.compare_features(sfit.simulate.interactions_mean, X, y, random_state=0)
    >>> [(one.feature, one.rank_low, one.rank_high) for one in ranks.features[:2]]
    [('X3', 1, 1), ('X1', 2, 2)]
    """
    request = CompareRequest.checked(**locals(), correction="holm")
    session = Session.of(request)
    warn_of_order(X, y, "y")
    warn_of_order(X, clusters, "clusters")
    seed = session.seed(request.random_state)
    sample = prepare(model, X, y, clusters=clusters, seed=seed, **request.subject)
    gains = gains_of(request, sample.features.names)
    check_number(len(gains.compared))
    size = n_flips(request.alpha, "holm", len(gains.compared) * (len(gains.compared) - 1))
    identity = request.identity() | {
        "comparison": "features",
        "given": "rest" if gains.rest else sorted(gains.given),
    }
    stored = opened_for(checkpoint, checkpoint_key, identity, sample)
    with stored as session.checkpoint:
        seed = session.seed(request.random_state)  # stored: a resumed run draws the same
        evaluation = sample.evaluation(request.fast, session.warn)
        n, pairs = len(sample.rows), list(combinations(gains.compared, 2))
        of_features = [Question(gains.of(j), 0, n) for j in gains.compared]
        statistic = paired_test(request.alpha, sample.rows, seed)
        evidence: list[MeanEvidence] = measure(
            evaluation, of_features, "features", statistic=statistic, session=session
        )
        of_pairs = [Question(gains.between(j, k), 0, n) for j, k in pairs]
        medians: list[SignEvidence] = measure(
            evaluation,
            of_pairs,
            "pairs",
            statistic=median_test(request.alpha, sample.rows),
            session=session,
        )
    few = few_clusters(sample.rows.n_clusters) if clusters is not None else ()
    session.warn(*few)
    names = [sample.features.names[j] for j in gains.compared]
    with progress_bar(total=size, desc="flips", enabled=request.progress) as bar:
        sums = np.array([one.slots.sums for one in evidence])
        counts = count_pairs(sums, size, seed, bar.update)
    ranked, compared = decide(names, evidence, medians, request.alpha, counts, size)
    return FeatureComparison(
        features=ranked,
        pairs=compared,
        settings=settings_of(request, sample, gains, seed, size),
        caveats=(*sample.caveats, *evaluation.caveats(), *few),
        run=session.run(),
    )


def check_number(m: int) -> None:
    """Refuse too few or too many features."""
    if m < 2:
        raise ArgumentError(
            f"features must leave at least two to compare; got {m}. Pass more columns, or remove "
            "some from given and always_on."
        )
    if m > MOST_FEATURES:
        raise ArgumentError(
            f"features: at most {MOST_FEATURES} can be compared, but there are {m:,}. Name the "
            "interesting ones with features=[...] if the model allows, or put columns together "
            "with groups={...}."
        )


def decide(
    names: Sequence[str],
    evidence: Sequence[MeanEvidence],
    medians: Sequence[SignEvidence],
    alpha: float,
    counts: Array,
    size: int,
) -> tuple[tuple[FeatureRank, ...], tuple[FeaturePair, ...]]:
    """The ranks and the pairs, from the flips of every pair that are at least as extreme."""
    m = len(names)
    smallest = resolution(size, int(np.count_nonzero(evidence[0].slots.counts)), 1)
    p_values = np.maximum(counts / size, smallest)
    away = ~np.eye(m, dtype=bool)
    adjusted = np.ones((m, m))
    adjusted[away] = adjust(p_values[away], "holm")
    # At a large alpha both directions can be rejected: only the more certain one is a decision.
    larger = (adjusted < alpha) & (p_values < p_values.T)
    pairs = tuple(
        _pair(names, j, k, evidence, median, alpha, p_values, adjusted, larger)
        for (j, k), median in zip(combinations(range(m), 2), medians, strict=True)
    )
    means = [one.mean(alpha) for one in evidence]
    order = sorted(range(m), key=lambda j: -means[j].mean)
    ranked = tuple(
        FeatureRank(
            feature=names[j],
            gain=means[j].mean,
            ci_low=means[j].low,
            ci_high=means[j].high,
            rank=place,
            rank_low=1 + int(larger[:, j].sum()),
            rank_high=m - int(larger[j].sum()),
            n_better=evidence[j].effects.n_better,
            n_worse=evidence[j].effects.n_worse,
        )
        for place, j in enumerate(order, 1)
    )
    return ranked, pairs


def _pair(
    names: Sequence[str],
    j: int,
    k: int,
    evidence: Sequence[MeanEvidence],
    median: SignEvidence,
    alpha: float,
    p_values: Array,
    adjusted: Array,
    larger: Array,
) -> FeaturePair:
    slots = Slots(evidence[j].slots.sums - evidence[k].slots.sums, evidence[j].slots.counts)
    difference = mean_of(slots, alpha)
    return FeaturePair(
        first=names[j],
        second=names[k],
        difference=difference.mean,
        ci_low=difference.low,
        ci_high=difference.high,
        p_first=float(p_values[j, k]),
        p_second=float(p_values[k, j]),
        p_first_adjusted=float(adjusted[j, k]),
        p_second_adjusted=float(adjusted[k, j]),
        larger=names[j] if larger[j, k] else names[k] if larger[k, j] else None,
        median=median.statistic,
        median_low=median.ci_low,
        median_high=median.ci_high,
        p_sign=float(two_sided_p_value(median.n_positive, median.n_negative)),
        n_first=median.n_positive,
        n_second=median.n_negative,
    )
