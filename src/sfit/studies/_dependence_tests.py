"""The tests of the study of dependence: sfit's own, and recipes that look right and fail.

The recipes live here only. Each re-matches rows in a way that the data do not allow.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import sfit
from sfit.exceptions import SFITError

Array = npt.NDArray[Any]
Rng = np.random.Generator

ALPHA = 0.05
N_PERMUTATIONS = 499
"""As exact as more of them, in a fourth of the time of the default."""
GROUP = 4
"""Rows in which the recipes for given features exchange values: as many as in sfit's blocks."""


@dataclass(frozen=True)
class Sample:
    """One data set. The first column is under test; the others are given."""

    model: Callable[[Array], Array]
    X: Array
    y: Array
    clusters: Array | None = None


Test = Callable[[Sequence[Sample], int], Array]
"""(data sets, seed) -> whether each data set rejects."""


def one_by_one(test: Test) -> Test:
    """The same test in one call per data set, where that is faster."""
    return lambda samples, seed: np.concatenate([test([one], seed) for one in samples])


def shipped(test: str = "permutation", *, clusters: bool = False, **options: Any) -> Test:
    """What `feature_significance` decides, all data sets in one call and told apart by `by`."""

    def decide(samples: Sequence[Sample], seed: int) -> Array:
        arguments: dict[str, Any] = {
            "test": sfit.PermutationTest(n_permutations=N_PERMUTATIONS),
            "loss": "squared_error",
            "random_state": seed,
        }
        if test == "sign":
            arguments |= {"test": "sign", "loss": "absolute_error", "beta": 0.0}
        if clusters:
            arguments["clusters"] = np.concatenate([one.clusters for one in samples])
        with warnings.catch_warnings():
            # Few clusters and correlated given features warn; here their rates say it.
            warnings.simplefilter("ignore")
            result = sfit.feature_significance(
                samples[0].model,
                np.concatenate([one.X for one in samples]),
                np.concatenate([one.y for one in samples]),
                by=np.repeat(np.arange(len(samples)), [len(one.y) for one in samples]),
                alpha=ALPHA,
                reference=0.0,
                # A known function is cheap: it predicts every row, and is not tabulated.
                fast=False,
                **(arguments | options),
            )
        return result.table["significant"].to_numpy(bool)

    return decide


def refusal(sample: Sample, **options: Any) -> str:
    """The message with which sfit refuses a question; empty if it answers."""
    try:
        shipped(**options)([sample], 0)
    except SFITError as error:
        return str(error)
    return ""


# --- recipes that fail ------------------------------------------------------------------

Groups = Callable[[Sample, Rng], Array]
"""A label per row: rows with equal labels are exchanged."""


def rematched(groups: Groups, *, predictions: bool = False) -> Test:
    """Exchange the tested feature, or the predictions, within groups; the statistic is the loss."""

    def p_value(sample: Sample, rng: Rng) -> float:
        source = _sources(groups(sample, rng), rng)
        observed = sample.model(sample.X)
        if predictions:
            moved = observed[source]
        else:
            X = np.broadcast_to(sample.X, (len(source), *sample.X.shape)).copy()
            X[:, :, 0] = sample.X[:, 0][source]
            moved = sample.model(X.reshape(-1, X.shape[2])).reshape(source.shape)
        T = np.sum((sample.y - observed) ** 2)
        copies = np.sum((sample.y - moved) ** 2, axis=1)
        return float((1 + np.sum(copies <= T * (1 + 1e-12))) / (N_PERMUTATIONS + 1))

    def decide(samples: Sequence[Sample], seed: int) -> Array:
        rng = np.random.default_rng([seed, 1])
        return np.array([p_value(one, rng) <= ALPHA for one in samples])

    return decide


def _sources(labels: Array, rng: Rng) -> Array:
    """Random permutations within groups, (permutations, rows)."""
    codes = np.unique(labels, return_inverse=True)[1]
    # Both orders list the groups one after the other; the shuffled one mixes the rows of each.
    shuffled = np.argsort(codes + rng.random((N_PERMUTATIONS, len(codes))), axis=1)
    sources = np.empty_like(shuffled)
    sources[:, np.argsort(codes, kind="stable")] = shuffled
    return sources


def everywhere(sample: Sample, rng: Rng) -> Array:
    """All rows are one group."""
    return np.zeros(len(sample.y), dtype=int)


def within_clusters(sample: Sample, rng: Rng) -> Array:
    """Each cluster is a group."""
    assert sample.clusters is not None  # noqa: S101 - the settings with clusters
    return sample.clusters


def quantile_bins(sample: Sample, rng: Rng) -> Array:
    """Halve the rows at the median of each given feature in turn, down to groups of four or so."""
    groups, column = [np.arange(len(sample.y))], 0
    while len(groups[0]) >= 2 * GROUP:
        given = sample.X[:, 1 + column % (sample.X.shape[1] - 1)]
        groups = [
            half
            for rows in groups
            for half in np.array_split(rows[np.argsort(given[rows], kind="stable")], 2)
        ]
        column += 1
    labels = np.empty(len(sample.y), dtype=int)
    for label, rows in enumerate(groups):
        labels[rows] = label
    return labels


def nearest_neighbours(sample: Sample, rng: Rng) -> Array:
    """A random row and its three nearest free neighbours in the given features, until none is left."""
    given, free = sample.X[:, 1:], np.ones(len(sample.y), dtype=bool)
    labels = np.empty(len(sample.y), dtype=int)
    for row in rng.permutation(len(sample.y)):
        if free[row]:
            rows = np.flatnonzero(free)
            distances = np.sum((given[rows] - given[row]) ** 2, axis=1)
            near = rows[np.argsort(distances, kind="stable")[:GROUP]]
            labels[near], free[near] = row, False
    return labels
