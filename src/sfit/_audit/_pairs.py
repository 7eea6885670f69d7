"""Which pairs of features an audit tests for interactions, the most promising first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from sfit._partners import interaction_scores
from sfit.sample import Sample

MOST_FEATURES = 10
"""Pairs are formed among this many of the strongest features found."""


def promising_pairs(sample: Sample, found: Sequence[int]) -> list[tuple[int, int]]:
    """Pairs of the strongest features found, by what the model's structure says, or by strength.

    `found` lists the features, the strongest first. Trees and networks tell how often two features
    act together; otherwise pairs of strong features come first.
    """
    strongest = list(found[:MOST_FEATURES])
    rank = {feature: place for place, feature in enumerate(strongest)}
    pairs = [(a, b) for a, b in combinations(strongest, 2)]
    scores = interaction_scores(sample.view.structure, sample.features)
    if scores is None:
        return sorted(pairs, key=lambda pair: (rank[pair[0]] + rank[pair[1]], rank[pair[0]]))
    return sorted(pairs, key=lambda pair: (-scores[pair], rank[pair[0]] + rank[pair[1]]))


def partners_of(pairs: Sequence[tuple[int, int]], names: Sequence[str]) -> dict[str, list[str]]:
    """Pairs as the argument `partners` of a test."""
    partners: dict[str, list[str]] = {}
    for a, b in pairs:
        partners.setdefault(names[a], []).append(names[b])
    return partners
