"""The gain of a feature as a contrast: the loss that revealing it saves, over what is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfit._cluster_signs import ClusterSigns
from sfit._contrast import Contrast, Reveal, Term
from sfit._features import positions_of
from sfit._mean_test import ClusterMeans, MeanStatistic
from sfit._multiplicity import MOST_DRAWS, n_draws, smallest_threshold
from sfit._sign_test import SignStatistic
from sfit.compare._base import ComparisonSettings
from sfit.compare._request import CompareRequest
from sfit.exceptions import ArgumentError
from sfit.rows import Rows
from sfit.sample import Sample
from sfit.sample._reference import describe_reference


@dataclass(frozen=True)
class Gains:
    """The contrasts of the features of one problem."""

    everything: Term
    given: Term
    rest: bool
    """Whether a gain is that over all other features."""

    @property
    def compared(self) -> list[int]:
        """The features that have a gain."""
        return sorted(self.everything - self.given)

    def without(self, feature: int) -> Reveal:
        """The side without the feature."""
        return Reveal(self.everything - {feature} if self.rest else self.given)

    def with_it(self, feature: int) -> Reveal:
        """The side with the feature."""
        return Reveal(self.everything if self.rest else self.given | {feature})

    def of(self, feature: int) -> Contrast:
        """The gain of a feature: positive where revealing it lowers the loss."""
        return Contrast(frozenset({feature}), self.without(feature), self.with_it(feature))

    def between(self, first: int, second: int) -> Contrast:
        """The gain of the first feature minus that of the second; what they share cancels."""
        if self.rest:
            return Contrast(frozenset({first}), self.without(first), self.without(second))
        return Contrast(frozenset({first}), self.with_it(second), self.with_it(first))


def gains_of(request: CompareRequest, names: tuple[str, ...]) -> Gains:
    """The gains that a request asks for."""
    if request.given_rest and "rest" in names:
        raise ArgumentError(
            "given='rest' means all the other features, but one feature is itself named 'rest': "
            "pass given=['rest'] to name that feature, or rename it."
        )
    given = [] if request.given_rest else positions_of(request.given, names, "given")
    if len(given) == len(names):
        raise ArgumentError("given names every feature: none is left to compare.")
    return Gains(frozenset(range(len(names))), frozenset(given), request.given_rest)


def settings_of(
    request: CompareRequest, sample: Sample, gains: Gains, seed: int, n_draws: int
) -> ComparisonSettings:
    """The settings of a comparison of one model."""
    features = sample.features
    return ComparisonSettings(
        n_rows=len(sample.rows),
        n_clusters=sample.rows.n_clusters or None,
        loss=sample.loss.name,
        alpha=request.alpha,
        correction=request.correction,
        reference=describe_reference(sample.asked["reference"]),
        reference_origin=features.origin,
        given=given_names(gains, features.names),
        always_on=sample.always_on,
        seed=seed,
        n_draws=n_draws,
    )


def given_names(gains: Gains, names: Sequence[str]) -> tuple[str, ...]:
    """What is given, for the settings of a result."""
    return ("rest",) if gains.rest else tuple(names[j] for j in sorted(gains.given))


def n_flips(alpha: float, correction: str | None, n_tests: int) -> int:
    """Number of sign flips, the observed signs included, that decide so many tests."""
    threshold = smallest_threshold(alpha, correction, n_tests)
    size = n_draws(threshold)
    if size > MOST_DRAWS:
        raise ArgumentError(
            f"alpha={alpha:g} compares the smallest of {n_tests:,} p-values with {threshold:.2g}, "
            f"which needs {size:,} sign flips, more than {MOST_DRAWS:,}: raise alpha, or compare "
            "fewer features."
        )
    return size


def paired_test(alpha: float, rows: Rows, seed: int) -> MeanStatistic | ClusterMeans:
    """The paired test of rows, or of clusters."""
    if rows.n_clusters:
        return ClusterMeans(alpha, n_clusters=rows.n_clusters, seed=seed)
    return MeanStatistic(alpha, seed=seed)


def median_test(alpha: float, rows: Rows) -> SignStatistic:
    """The sign test alone, of rows or of clusters."""
    if rows.n_clusters:
        return ClusterSigns(alpha, n_clusters=rows.n_clusters)
    return SignStatistic(alpha)
