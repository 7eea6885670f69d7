"""The words of the sign test, and of LOCO, which is a sign test of two models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sfit._binomial import critical_count
from sfit._set_tests import SetTest
from sfit._text import fixed, number, percent, share_text
from sfit._words._terms import (
    BOTH_SIDES,
    Column,
    Pairs,
    Words,
    amounts,
    at_level,
    compared,
    corrected,
    exactness,
    units,
)

if TYPE_CHECKING:
    from sfit._result import Settings, SFITResult


def _median(test: SetTest, settings: Settings) -> str:
    return (
        f"with a median reduction of {number(test.statistic)} ({percent(settings.coverage)} "
        f"interval {number(test.ci_low)} to {number(test.ci_high)})"
    )


def _sign_strongest(test: SetTest, settings: Settings) -> str:
    return (
        f"{compared(test, settings)}, it lowers the loss on {test.n_positive:,} of {test.n:,} "
        f"{units(settings)}{amounts([test])}, {_median(test, settings)}"
    )


def _loco_strongest(test: SetTest, settings: Settings) -> str:
    rows = f"on {test.n_positive:,} of {test.n:,} rows"
    return f"fitting with it lowers the loss {rows}, {_median(test, settings)}"


def _sign_closest(test: SetTest, settings: Settings) -> str:
    needed = critical_count(test.n, settings.alpha)
    if settings.adjusted:
        how_near = corrected(test)
    elif needed > test.n:
        how_near = f"even an improvement on all {units(settings)} would not be enough"
    else:
        how_near = f"{needed:,} would be needed"
    return (
        f"the loss falls{amounts([test])} on {test.n_positive:,} of {test.n:,} {units(settings)}, "
        f"and {how_near}"
    )


def _sign_reading(compared: str) -> Callable[[Sequence[SFITResult], str], Pairs]:
    def reading(results: Sequence[SFITResult], coverage: str) -> Pairs:
        settings = results[0].settings
        tests = [test for result in results for test in result.tests if isinstance(test, SetTest)]
        less = ", minus the share beta of the loss without the set" if any(settings.beta) else ""
        certain = "for any data" if settings.interval == "exact" else "approximately"
        moved = " among those whose prediction moves" if settings.ties == "drop" else ""
        counted, per = "Rows", "per row"
        if settings.n_clusters is not None:
            counted, per = "Clusters", "per cluster, as the mean over its rows"
        return [
            ("What is compared", compared.format(reference=settings.reference)),
            (
                "Median and interval",
                f"Reduction of the loss ({settings.loss}) {per}{less}; above zero the set helps. "
                f"The interval covers the true median with probability {coverage}, {certain}.",
            ),
            (
                f"{counted} improved",
                f"{counted}{moved} whose loss falls{amounts(tests)}. The p-value is the "
                f"probability of at least this many improved {units(settings)} if each improved "
                "with probability 1/2. "
                f"{exactness(settings)}",
            ),
            (
                "beta max",
                f"The set stays significant{at_level(settings)}, without a correction, for every "
                "beta below this number: the larger, the more robust the finding.",
            ),
        ]

    return reading


SIGN = Words(
    key="statistic",
    estimate="median",
    effect="median reduction of the loss",
    axis="median reduction of the loss",
    interval="interval",
    verdict=("significantly improves the typical row", "significantly improve the typical row"),
    significant=(
        "Revealing the set improves the typical row: the loss of more than half of the rows falls. "
        "A set that matters to a minority of the rows only is not significant here; use "
        'test="permutation".'
    ),
    contradiction="the interval is two-sided and not adjusted, the test is one-sided",
    single_point=(
        "ties: several rows change by exactly the median for {names}, so the interval is a single "
        "point. A row that does not change counts as not improved."
    ),
    few_rows=(
        "{n} rows are few: {needed} of them must improve before a set is significant, so the test "
        "misses weaker effects."
    ),
    sets=(
        "significant sets of two or more features are not proven interactions: strict=True "
        "requires a set to improve on each of its subsets with one member fewer."
    ),
    gate="improve the typical row",
    kept_level="beta_max",
    coverage="coverage",
    method=(
        "E. Horel and K. Giesecke, Computationally Efficient Feature Significance and Importance "
        "for Machine Learning Models, arXiv:1905.09849."
    ),
    brief=(
        Column("n_positive", "n+", lambda t: t.n_positive, lambda t: str(t.n_positive)),
        Column("beta_max", "beta_max", lambda t: t.beta_max, lambda t: number(t.beta_max)),
    ),
    full=(
        Column(
            "n_positive", "Rows improved", lambda t: t.n_positive, lambda t: f"{t.n_positive:,}"
        ),
        Column(
            "share",
            "Share",
            lambda t: t.n_positive / t.n if t.n else 0.0,
            lambda t: share_text(t.n_positive / t.n if t.n else 0.0),
        ),
        Column("beta_max", "beta max", lambda t: t.beta_max, lambda t: fixed(t.beta_max, 4)),
    ),
    evidence=lambda t: f"{t.n_positive:,} of {t.n:,} rows improve",
    strongest=_sign_strongest,
    closest=_sign_closest,
    reading=_sign_reading(BOTH_SIDES),
)


LOCO = replace(
    SIGN,
    significant=(
        "On more than half of the rows, the model fitted with the feature has a smaller loss than "
        "the model fitted without it."
    ),
    method=(
        "LOCO, J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani and L. Wasserman, Distribution-Free "
        "Predictive Inference for Regression, Journal of the American Statistical Association 113, "
        "2018."
    ),
    strongest=_loco_strongest,
    reading=_sign_reading(
        "Every test row is predicted twice: by the model as fitted, and by the model fitted again "
        "without the feature."
    ),
)


def sign_words(result: SFITResult) -> Words:
    """The words of a sign test, or of LOCO."""
    words = LOCO if result.settings.refitted else SIGN
    words = _of_moved_rows(words) if result.settings.ties == "drop" else words
    return words if result.settings.n_clusters is None else _of_clusters(words)


def _of_moved_rows(words: Words) -> Words:
    """The words of a sign test that drops the rows whose prediction does not move."""
    n_positive, *others = words.brief
    return replace(
        words,
        verdict=(
            "significantly improves the typical row that it moves",
            "significantly improve the typical row that they move",
        ),
        significant=(
            "Among the rows whose prediction moves, the loss of more than half falls. Rows whose "
            "prediction does not move are left out."
        ),
        single_point=words.single_point.removesuffix(
            " A row that does not change counts as not improved."
        ),
        brief=(replace(n_positive, text=lambda t: f"{t.n_positive} of {t.n}"), *others),
    )


def _of_clusters(words: Words) -> Words:
    """The words of a sign test whose units are clusters."""
    n_positive, *others = words.full
    one, several = (text.replace("typical row", "typical cluster") for text in words.verdict)
    return replace(
        words,
        verdict=(one, several),
        significant=words.significant.replace("row", "cluster"),
        single_point=words.single_point.replace("row", "cluster"),
        few_rows=words.few_rows.replace("rows", "clusters"),
        gate=words.gate.replace("row", "cluster"),
        full=(replace(n_positive, title="Clusters improved"), *others),
        evidence=lambda t: f"{t.n_positive:,} of {t.n:,} clusters improve",
    )
