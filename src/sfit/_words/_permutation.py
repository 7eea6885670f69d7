"""The words of the permutation test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from sfit._set_tests import PermutationSetTest
from sfit._text import fixed, number, percent, share_text
from sfit._words._terms import (
    Column,
    Pairs,
    Words,
    exactness,
    guarantee,
    p_closest,
    resolution,
)

if TYPE_CHECKING:
    from sfit._result import Settings, SFITResult


APPROXIMATE = (
    "Approximate: one continuous feature is given. Rows are sorted by it, and only the set moves, "
    "within blocks of four neighbours. The p-value holds if the set and the outcome depend on the "
    "given feature smoothly. In 26 simulated settings the level of 0.05 became 0.015 to 0.085; it "
    "can be far larger for a set whose rank correlation with the given feature is above 0.8."
)
"""What the label "approximate" means."""


def _permutation_strongest(test: PermutationSetTest, settings: Settings) -> str:
    return (
        f"the mean loss rises by {number(test.rise)} (asymptotic {percent(settings.coverage)} "
        f"interval {number(test.ci_low)} to {number(test.ci_high)}) when its predictions come from "
        "other rows"
    )


def _in_blocks(results: Sequence[SFITResult]) -> bool:
    """Whether a test is approximate because a continuous feature is given."""
    return any(
        isinstance(test, PermutationSetTest) and not isnan(test.rank_correlation)
        for result in results
        for test in result.tests
    )


def _with_guarantee(words: Words) -> Words:
    """The words of permutation tests of which some are approximate."""
    brief, full = (
        Column(
            "guarantee",
            title,
            lambda t: float(t.guarantee == "approximate"),
            lambda t: t.guarantee,
        )
        for title in ("guarantee", "Guarantee")
    )
    return replace(words, brief=(brief, *words.brief), full=(*words.full, full))


def _certainty(results: Sequence[SFITResult]) -> str:
    """How far the p-values of permutation tests can be trusted."""
    settings = results[0].settings
    if settings.row_order is not None:
        return "It is approximate: it holds for stationary series."
    if _in_blocks(results):
        return (
            f"{exactness(settings)} Where the column Guarantee says approximate, it is approximate."
        )
    if "approximate" in guarantee(results):
        return (
            "It is approximate, because a cluster whose size occurs once changes places with one "
            "of another size."
        )
    return exactness(settings)


def _rematched(settings: Settings) -> str:
    """With which outcomes predictions are compared."""
    if settings.row_order is not None:
        return "outcomes of earlier and later rows, by shifting all predictions along the rows"
    if settings.n_clusters is not None:
        return (
            "outcomes of other clusters, re-matched at random many times: whole clusters of equal "
            "size change places"
        )
    return "outcomes of other rows, re-matched at random many times"


def _permutation_reading(results: Sequence[SFITResult], coverage: str) -> Pairs:
    settings, smallest = results[0].settings, resolution(results)
    limit = f" No p-value can be below the resolution, {smallest}." if smallest else ""
    over = any(test.base for result in results for test in result.tests)
    given = " and the features in column Over" if over else " alone"
    among = "; over features, only among rows that agree in these, or nearly so" if over else ""
    approximate: Pairs = [("Guarantee", APPROXIMATE)] if _in_blocks(results) else []
    return [
        (
            "What is compared",
            f"The model predicts every test row from the set{given}; all other features are hidden "
            f"(reference: {settings.reference}). These predictions are compared with the outcomes "
            f"of their own rows, and then with {_rematched(settings)}{among}. "
            "The null hypothesis: the set is independent of the outcome"
            f"{', given the features in column Over' if over else ''}.",
        ),
        (
            "Rise and interval",
            f"By how much the mean loss ({settings.loss}) rises when a prediction comes from "
            "another row; zero if the set is independent of the outcome. The interval is "
            f"asymptotic, with nominal coverage {coverage}. Only the p-value decides.",
        ),
        (
            "p-value",
            "The share of re-matchings, the observed one included, that agree with the outcomes at "
            f"least as well as the predictions of their own rows. {_certainty(results)}{limit}",
        ),
        (
            "z",
            "By how many standard deviations the observed agreement exceeds the mean of the "
            "re-matchings. It ranks sets whose p-values are all as small as they can be.",
        ),
        *approximate,
    ]


PERMUTATION = Words(
    key="rise",
    estimate="rise",
    effect="rise of the mean loss",
    axis="rise of the mean loss when predictions come from other rows",
    interval="asymptotic interval",
    verdict=(
        "is significantly related to the outcome",
        "are significantly related to the outcome",
    ),
    significant=(
        "The model's predictions from this set alone agree with the outcomes better than "
        "re-matched predictions do, so the set is related to the outcome."
    ),
    contradiction=(
        "the interval is asymptotic, two-sided and not adjusted, and the test uses another "
        "statistic: only the p-value decides"
    ),
    single_point=(
        "for {names} the loss does not depend on the row that the prediction comes from, so the "
        "interval is a single point."
    ),
    few_rows=(
        "{n} rows are few: the test misses weaker effects, and the interval is only approximate."
    ),
    sets=(
        "significant sets of two or more features are not proven interactions: only the whole set "
        "was compared with the outcome."
    ),
    gate="",
    kept_level="intervals",
    coverage="nominal coverage",
    method=(
        "a permutation test of the model's predictions from each set of features, which are those "
        "of E. Horel and K. Giesecke, arXiv:1905.09849."
    ),
    brief=(
        Column("z", "z", lambda t: t.z, lambda t: number(t.z)),
        Column(
            "share_moved",
            "moved",
            lambda t: t.share_moved,
            lambda t: share_text(t.share_moved, decimals=0),
        ),
    ),
    full=(Column("z", "z", lambda t: t.z, lambda t: fixed(t.z, 2)),),
    evidence=lambda t: f"z = {number(t.z)}",
    strongest=_permutation_strongest,
    closest=p_closest,
    reading=_permutation_reading,
)


OF_CLUSTERS = replace(PERMUTATION, few_rows=PERMUTATION.few_rows.replace("rows", "clusters"))
"""The words of a permutation test whose units are clusters."""


def permutation_words(result: SFITResult) -> Words:
    """The words of a permutation test."""
    words = PERMUTATION if result.settings.n_clusters is None else OF_CLUSTERS
    return _with_guarantee(words) if _in_blocks([result]) else words
