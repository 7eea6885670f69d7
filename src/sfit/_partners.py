"""P_j of Algorithm 2: the features to test together with j, in order (section 2.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from sfit._array import Array
from sfit._contrast import Term
from sfit._features import Features, positions_of
from sfit.exceptions import ArgumentError
from sfit.models import Dense, Trees

CHOICES = ("auto", "all")
CandidatesOf = Callable[[str], Sequence[str]]
"""The user's ``feature -> candidates``."""
Partners = Mapping[str, Sequence[str]] | CandidatesOf | str
Checked = Mapping[str, list[int]] | CandidatesOf | str


def check_partners(partners: Any, names: Sequence[str]) -> Checked:
    """Check `partners` before any work is done; translate the names of a mapping to positions."""
    if isinstance(partners, Mapping):
        positions_of(list(partners), names, "partners")
        return {
            str(name): positions_of(candidates, names, f"partners[{name!r}]")
            for name, candidates in partners.items()
        }
    if callable(partners) or (isinstance(partners, str) and partners in CHOICES):
        return partners
    raise ArgumentError(
        "partners must be 'auto', 'all', a mapping from a feature to ordered candidates, or a "
        f"callable feature -> candidates; got {partners!r}."
    )


def find_partners(
    partners: Checked,
    n_partners: int | None,
    features: Features,
    structure: Dense | Trees | None,
    tested: Term,
) -> dict[int, list[int]]:
    """Ordered candidates of each tested feature, the first `n_partners` of them."""
    scores = interaction_scores(structure, features) if partners == "auto" else None
    chosen: dict[int, list[int]] = {}
    for feature in sorted(tested):
        name = features.names[feature]
        if isinstance(partners, Mapping):
            ordered = partners.get(name, [])
        elif callable(partners):
            try:
                named = partners(name)
            except Exception as error:
                raise ArgumentError(
                    f"partners({name!r}) failed: {type(error).__name__}: {error}"
                ) from error
            ordered = positions_of(named, features.names, f"partners({name!r})")
        else:
            ordered = sorted(tested)
            if scores is not None:
                # Equal scores are ordered by name, so the order of the columns does not matter.
                ordered.sort(key=lambda k: (-scores[feature, k], features.names[k]))
        others = [k for k in ordered if k != feature and k in tested]
        chosen[feature] = others[:n_partners]
    return chosen


def interaction_scores(structure: Dense | Trees | None, features: Features) -> Array | None:
    """Score of each pair of features from the model's structure; None if it is unknown."""
    if isinstance(structure, Dense):
        # |W|^T |W| of section 2.3, where W maps the inputs to the first hidden layer.
        weights = np.abs(np.asarray(structure.layers[0][0], dtype=np.float64))
        by_column = weights @ weights.T
    elif isinstance(structure, Trees):
        by_column = _shared_paths(structure, features.reference.shape[1])
    else:
        return None
    member = np.zeros((len(features.names), len(by_column)))
    for feature, columns in enumerate(features.columns):
        member[feature, list(columns)] = 1.0
    scores = member @ by_column @ member.T
    np.fill_diagonal(scores, 0.0)
    return scores


def _shared_paths(trees: Trees, n_columns: int) -> Array:
    """How often two columns split on one path: a count of (node, ancestor) pairs."""
    inner = np.flatnonzero(trees.left >= 0)
    parent = np.full(len(trees.left), -1)
    parent[trees.left[inner]] = inner
    parent[trees.right[inner]] = inner
    shared = np.zeros(n_columns * n_columns)
    nodes, ancestors = inner, parent[inner]
    while len(nodes := nodes[ancestors >= 0]):
        ancestors = ancestors[ancestors >= 0]
        pairs = trees.feature[nodes] * n_columns + trees.feature[ancestors]
        shared += np.bincount(pairs, minlength=len(shared))
        ancestors = parent[ancestors]
    counts = shared.reshape(n_columns, n_columns)
    return counts + counts.T
