"""The build-up: the mean loss with nothing revealed, with each found feature added, and with all.

The sides reveal several features at once, so with an averaged reference each costs as many
predictions as there are rows and background rows. A random sample of the rows keeps that small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from sfit._array import Array
from sfit._audit._jackknife import deal, standard_error
from sfit._audit._records import BuildUpStep, Explained
from sfit._audit._subject import RowPredictions, predict_rows
from sfit._binomial import p_value
from sfit._contrast import same_prediction
from sfit._warn import warn_user
from sfit.rows import every_tile
from sfit.sample import Sample

MOST_STEPS = 7
"""Features that get one step each; one more step adds all the others found."""

STREAM = 3
"""Separates the draw of rows from other uses of the seed."""


class BuildUp(NamedTuple):
    """The losses of all sides, and what they say about the features found."""

    steps: tuple[BuildUpStep, ...]
    explained: Explained
    found: RowPredictions
    """With all features found revealed."""
    everything: RowPredictions
    """With all features revealed."""
    hidden: RowPredictions
    """With no feature revealed."""


def steps_of(found: Sequence[int]) -> list[tuple[int, ...]]:
    """The features that each step adds, given those found, the strongest first."""
    if len(found) <= MOST_STEPS + 1:
        return [(feature,) for feature in found]
    return [*((feature,) for feature in found[:MOST_STEPS]), tuple(found[MOST_STEPS:])]


def drawn_rows(n: int, n_rows: int, seed: int) -> Array:
    """Sorted numbers of `n_rows` rows, drawn at random; all rows if there are no more."""
    if n <= n_rows:
        return np.arange(n)
    return np.sort(np.random.default_rng([seed, STREAM]).choice(n, n_rows, replace=False))


def build_up(
    sample: Sample,
    found: Sequence[int],
    alpha: float,
    seed: int,
    warn: Callable[[str], None] = warn_user,
) -> BuildUp:
    """Reveal the features found one after another, the strongest first."""
    evaluation, names = sample.evaluation(warn=warn), sample.features.names
    hidden = predict_rows(sample, evaluation, frozenset())
    everything = predict_rows(sample, evaluation, sample.features.everything)
    steps = [BuildUpStep("hidden", (), float(hidden.losses.mean()))]
    revealed, last = frozenset[int](), hidden
    for added in steps_of(found):
        revealed |= set(added)
        last = predict_rows(sample, evaluation, revealed)
        members = tuple(names[feature] for feature in added)
        steps.append(BuildUpStep("found", members, float(last.losses.mean())))
    steps.append(BuildUpStep("all", (), float(everything.losses.mean())))
    unit, noise = evaluation.unit, evaluation.noise
    same = same_prediction(last.predictions, everything.predictions, unit, noise)
    left = np.where(same, 0.0, last.losses - everything.losses)
    clusters = clusters_of(sample)
    n_units, n_improved = len(left), int((left > 0).sum())
    if clusters is not None:
        sums = np.bincount(clusters, weights=left)[np.bincount(clusters) > 0]
        n_units, n_improved = len(sums), int((sums > 0).sum())
    losses = np.column_stack([hidden.losses, last.losses, everything.losses])
    share, low, high = explained_share(losses, clusters, alpha, seed)
    explained = Explained(
        n=len(left),
        share=share,
        ci_low=low,
        ci_high=high,
        n_improved=n_improved,
        n_units=n_units,
        units="rows" if clusters is None else "clusters",
        p_value=float(p_value(n_improved, n_units)),
        loss_hidden=steps[0].loss,
        loss_found=float(last.losses.mean()),
        loss_all=steps[-1].loss,
    )
    return BuildUp(tuple(steps), explained, last, everything, hidden)


def clusters_of(sample: Sample) -> Array | None:
    """The number of each row's cluster; None if every row is a unit."""
    if not sample.rows.n_clusters:
        return None
    return np.concatenate([np.asarray(tile.cluster) for tile in every_tile(sample.rows)])


def explained_share(
    losses: Array, units: Array | None, alpha: float, seed: int
) -> tuple[float, float, float]:
    """The share of the gain of all features that those found account for, with its interval.

    `losses` has a column each for no feature, the features found and all features. The interval
    comes from the delete-a-group jackknife. All are NaN if all features gain nothing.
    """
    share = _share(losses.mean(axis=0))
    groups = deal(len(losses), units, seed)
    n_groups = int(groups.max(initial=-1)) + 1
    if math.isnan(share) or n_groups < 2:
        return share, math.nan, math.nan
    total = losses.sum(axis=0)
    without = [
        _share((total - losses[groups == group].sum(axis=0)) / np.sum(groups != group))
        for group in range(n_groups)
    ]
    margin = float(t.isf(alpha / 2, n_groups - 1)) * standard_error(np.asarray(without))
    return share, share - margin, share + margin


def _share(means: Array) -> float:
    hidden, found, everything = (float(mean) for mean in means)
    return (hidden - found) / (hidden - everything) if hidden > everything else math.nan
