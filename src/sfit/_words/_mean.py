"""The words of the mean test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sfit._set_tests import MeanSetTest
from sfit._text import fixed, number, p_text, percent
from sfit._words._sign import SIGN
from sfit._words._terms import (
    BOTH_SIDES,
    Column,
    Pairs,
    Words,
    compared,
    p_closest,
    resolution,
    units,
)

if TYPE_CHECKING:
    from sfit._result import Settings, SFITResult


def _mean_strongest(test: MeanSetTest, settings: Settings) -> str:
    return (
        f"{compared(test, settings)}, it lowers the mean loss by {number(test.mean)} "
        f"(asymptotic {percent(settings.coverage)} interval {number(test.ci_low)} to "
        f"{number(test.ci_high)}) and the loss of {test.n_positive:,} of {test.n:,} "
        f"{units(settings)}"
    )


def _mean_reading(results: Sequence[SFITResult], coverage: str) -> Pairs:
    settings, smallest = results[0].settings, resolution(results)
    limit = f" No p-value can be below the resolution, {smallest}." if smallest else ""
    per = "row" if settings.n_clusters is None else "cluster, as the mean over its rows"
    certain = (
        "It is exact if the differences are symmetric about zero; otherwise it holds for many "
        f"{units(settings)}, unless few of them carry the mean."
    )
    if settings.reference_origin == "test rows":
        certain = (
            f"It holds only for many {units(settings)}, because the reference values come from the "
            "test rows: pass the training rows as reference."
        )
    return [
        ("What is compared", BOTH_SIDES.format(reference=settings.reference)),
        (
            "Mean and interval",
            f"Mean reduction of the loss ({settings.loss}) per {per}; above zero the set helps. "
            f"The interval is Student's: asymptotic, with nominal coverage {coverage}. A mean "
            f"follows large differences, even if only a few {units(settings)} have them.",
        ),
        (
            "p-value",
            "The share of random changes of sign, the observed signs included, under which the "
            f"mean difference is at least as large. {certain}{limit}",
        ),
        (
            "t",
            "The mean in its standard errors. It ranks sets whose p-values are all as small as "
            "they can be.",
        ),
        (
            "Median and its p",
            f"The median difference, and the sign test of it: whether the loss of more than half "
            f"of the {units(settings)} falls. This is another null hypothesis than that of the "
            "mean. It is not corrected, and it decides nothing here.",
        ),
    ]


MEAN = Words(
    key="mean",
    estimate="mean",
    effect="mean reduction of the loss",
    axis="mean reduction of the loss",
    interval="asymptotic interval",
    verdict=("significantly lowers the mean loss", "significantly lower the mean loss"),
    significant=(
        "Revealing the set lowers the mean loss. A few rows with large gains can be the reason: "
        "the median and its p-value say whether the typical row improves."
    ),
    contradiction="the interval is asymptotic, two-sided and not adjusted, the test is one-sided",
    single_point=(
        "for {names} the loss of every row changes by the same amount, or not at all, so the "
        "interval is a single point."
    ),
    few_rows=(
        "{n} rows are few: the test misses weaker effects, and the interval is only approximate."
    ),
    sets=SIGN.sets,
    gate="lower the mean loss",
    kept_level="intervals",
    coverage="nominal coverage",
    method=(
        "a paired test of the mean difference by random changes of sign, of the model's losses "
        "with and without each set of features, which are those of E. Horel and K. Giesecke, "
        "arXiv:1905.09849."
    ),
    brief=(
        Column("t", "t", lambda t: t.t, lambda t: number(t.t)),
        Column("median", "median", lambda t: t.median, lambda t: number(t.median)),
        Column("p_sign", "median p", lambda t: t.p_sign, lambda t: p_text(t.p_sign)),
    ),
    full=(
        Column("t", "t", lambda t: t.t, lambda t: fixed(t.t, 2)),
        Column("median", "Median", lambda t: t.median, lambda t: number(t.median)),
        Column("p_sign", "Median p", lambda t: t.p_sign, lambda t: p_text(t.p_sign)),
    ),
    evidence=lambda t: f"t = {number(t.t)}",
    strongest=_mean_strongest,
    closest=p_closest,
    reading=_mean_reading,
)


def mean_words(result: SFITResult) -> Words:
    """The words of a mean test."""
    if result.settings.n_clusters is None:
        return MEAN
    return replace(
        MEAN,
        significant=MEAN.significant.replace("row", "cluster"),
        single_point=MEAN.single_point.replace("row", "cluster"),
        few_rows=MEAN.few_rows.replace("rows", "clusters"),
    )
