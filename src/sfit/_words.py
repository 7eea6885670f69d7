"""The words of each test: what it estimates, what "significant" means, and its own columns.

Summary, plots, report and program read them here; none of them asks which test it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

from sfit._binomial import critical_count
from sfit._set_tests import AnySetTest, MeanSetTest, PermutationSetTest, SetTest, is_additive
from sfit._text import fixed, listed, number, p_text, percent, share_text

if TYPE_CHECKING:
    from sfit._result import Settings, SFITResult

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Column:
    """A column that only one kind of test has."""

    key: str
    """Its name in `SFITResult.table`, and in copied rows."""
    title: str
    value: Callable[[Any], float]
    text: Callable[[Any], str]


@dataclass(frozen=True)
class Words:
    """The words of one test."""

    key: str
    """Name of the estimate in `SFITResult.table`."""
    estimate: str
    """Heading of the estimate."""
    effect: str
    """The estimate in full."""
    axis: str
    """The estimate on an axis."""
    interval: str
    """The interval on an axis."""
    verdict: tuple[str, str]
    """What a significant feature does; what several do."""
    significant: str
    """What significance means, in one sentence."""
    contradiction: str
    """Why the p-value and the interval of a set may disagree."""
    single_point: str
    """Why the interval of some {names} may be a single point."""
    few_rows: str
    """What {n} rows mean if they are few and {needed} must improve."""
    sets: str
    """Why a significant set is not an interaction."""
    gate: str
    """What all features together must do beyond those found to open a gate; empty: no gates."""
    kept_level: str
    """What keeps the level of the run when `SFITResult.at` decides at another."""
    coverage: str
    """The kind of coverage that the interval has."""
    method: str
    """Where the test comes from."""
    brief: tuple[Column, ...]
    """Columns of the summary."""
    full: tuple[Column, ...]
    """Columns of the report."""
    evidence: Callable[[Any], str]
    """The evidence about a set in a few words."""
    strongest: Callable[[Any, Settings], str]
    """How strong the strongest set is."""
    closest: Callable[[Any, Settings], str]
    """How near the best of the insignificant sets comes."""
    reading: Callable[[Sequence[SFITResult], str], Pairs]
    """The terms of the report and their meanings, given the coverage of the interval."""
    together: str = "alone or in a set"
    """How features were found, if some were found only with others."""


def words_of(result: SFITResult) -> Words:
    """The words of the test behind a result."""
    kind = type(result.tests[0]) if result.tests else SetTest
    words = WORDS[kind](result)
    words = words if result.settings.interaction is None else _of_interactions(words)
    return words if result.settings.n_folds is None else _of_chain(words)


def units(settings: Settings) -> str:
    """What the test counts."""
    return "rows" if settings.n_clusters is None else "clusters"


def amounts(tests: Sequence[SetTest]) -> str:
    """The smallest fall of the loss that counts, for each order if the orders differ."""
    betas = {test.order: test.beta for test in tests}
    if len(set(betas.values())) > 1:
        falls = [
            f"{f'by more than {percent(beta)}' if beta else 'by any amount'} at order {order}"
            for order, beta in betas.items()
        ]
        return f" {', '.join(falls)}"
    beta = max(betas.values(), default=0.0)
    return f" by more than {percent(beta)}" if beta else ""


def exactness(settings: Settings) -> str:
    """How far a p-value can be trusted; it is not exact if the reference saw the test rows."""
    if settings.reference_origin == "test rows":
        return (
            "It is not exact here, because the reference values come from the test rows: pass the "
            "training rows as reference."
        )
    return "It is exact for any model and any data."


def at_level(settings: Settings) -> str:
    """The level of the run in words, if it differs from that of the decisions."""
    return "" if settings.planned_alpha is None else f" at alpha = {number(settings.run_alpha)}"


def corrected(test: AnySetTest) -> str:
    """What the correction makes of the p-value of a set."""
    return (
        f"its p-value of {p_text(test.p_value)} is {p_text(test.p_adjusted)} after the correction"
    )


# --- the sign test, and LOCO, which is a sign test of two models --------------------------------


def _median(test: SetTest, settings: Settings) -> str:
    return (
        f"with a median reduction of {number(test.statistic)} ({percent(settings.coverage)} "
        f"interval {number(test.ci_low)} to {number(test.ci_high)})"
    )


def _sign_strongest(test: SetTest, settings: Settings) -> str:
    return (
        f"{_compared(test, settings)}, it lowers the loss on {test.n_positive:,} of {test.n:,} "
        f"{units(settings)}{amounts([test])}, {_median(test, settings)}"
    )


def _compared(test: AnySetTest, settings: Settings) -> str:
    """Over what a set lowers the loss."""
    if is_additive(test):
        return "compared with the additive prediction from its parts"
    if not settings.given:
        return "revealed to the model alone"
    rest = settings.given == ("rest",)
    return f"revealed to the model on top of {'all others' if rest else listed(settings.given, 3)}"


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


BOTH_SIDES = (
    "The model predicts every test row twice: with the set revealed on top of the features in "
    "column Over, and without the set. Features not revealed are hidden (reference: {reference})."
)
"""What a paired test compares."""

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
        "Ties: several rows change by exactly the median for {names}, so the interval is a single "
        "point. A row that does not change counts as not improved."
    ),
    few_rows=(
        "{n} rows are few: {needed} of them must improve before a set is significant, so the test "
        "misses weaker effects."
    ),
    sets=(
        "Significant sets of two or more features are not proven interactions: strict=True "
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


def _sign_words(result: SFITResult) -> Words:
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


# --- the permutation test -----------------------------------------------------------------------


def _permutation_strongest(test: PermutationSetTest, settings: Settings) -> str:
    return (
        f"the mean loss rises by {number(test.rise)} (asymptotic {percent(settings.coverage)} "
        f"interval {number(test.ci_low)} to {number(test.ci_high)}) when its predictions come from "
        "other rows"
    )


def _p_closest(test: AnySetTest, settings: Settings) -> str:
    if settings.adjusted:
        return corrected(test)
    return f"its p-value of {p_text(test.p_value)} is not below alpha = {number(settings.alpha)}"


APPROXIMATE = (
    "Approximate: one continuous feature is given. Rows are sorted by it, and only the set moves, "
    "within blocks of four neighbours. The p-value holds if the set and the outcome depend on the "
    "given feature smoothly. In 26 simulated settings the level of 0.05 became 0.015 to 0.085; it "
    "can be far larger for a set whose rank correlation with the given feature is above 0.8."
)
"""What the label "approximate" means."""


GUARANTEES = {"symmetric": "exact for symmetric differences"}
"""Guarantees that need more words than their name."""


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


def guarantee(results: Sequence[SFITResult]) -> str:
    """What the p-values are, such as exact or approximate; empty for the sign test."""
    kinds = {test.guarantee for result in results for test in result.tests}
    return " or ".join(GUARANTEES.get(kind, kind) for kind in sorted(kinds))


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


def resolution(results: Sequence[SFITResult]) -> str:
    """The smallest p-values that random draws can give; empty if there is no such limit.

    They differ between orders, and between features with few distinct values.
    """
    values = sorted(
        test.p_resolution for result in results for test in result.tests if test.p_resolution > 0
    )
    texts = list(dict.fromkeys(map(p_text, values)))
    return " or ".join(reversed(texts)) if len(texts) < 3 else f"{texts[0]} to {texts[-1]}"


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
        "For {names} the loss does not depend on the row that the prediction comes from, so the "
        "interval is a single point."
    ),
    few_rows=(
        "{n} rows are few: the test misses weaker effects, and the interval is only approximate."
    ),
    sets=(
        "Significant sets of two or more features are not proven interactions: only the whole set "
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
    closest=_p_closest,
    reading=_permutation_reading,
)


OF_CLUSTERS = replace(PERMUTATION, few_rows=PERMUTATION.few_rows.replace("rows", "clusters"))
"""The words of a permutation test whose units are clusters."""


def _permutation_words(result: SFITResult) -> Words:
    """The words of a permutation test."""
    words = PERMUTATION if result.settings.n_clusters is None else OF_CLUSTERS
    return _with_guarantee(words) if _in_blocks([result]) else words


# --- the mean test ------------------------------------------------------------------------------


def _mean_strongest(test: MeanSetTest, settings: Settings) -> str:
    return (
        f"{_compared(test, settings)}, it lowers the mean loss by {number(test.mean)} "
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
        "For {names} the loss of every row changes by the same amount, or not at all, so the "
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
    closest=_p_closest,
    reading=_mean_reading,
)


def _mean_words(result: SFITResult) -> Words:
    """The words of a mean test."""
    if result.settings.n_clusters is None:
        return MEAN
    return replace(
        MEAN,
        significant=MEAN.significant.replace("row", "cluster"),
        single_point=MEAN.single_point.replace("row", "cluster"),
        few_rows=MEAN.few_rows.replace("rows", "clusters"),
    )


# --- a chain of folds ---------------------------------------------------------------------------


def _of_chain(words: Words) -> Words:
    """The words of a test that combines several models, each tested on a fold of its own."""
    if words.key == PERMUTATION.key:
        combined = (
            "The p-value of each fold is the share of re-matchings that agree better, with ties "
            "broken at random; Stouffer's method combines them, with the square roots of the "
            "numbers of rows as weights."
        )
    else:
        combined = "The improved rows of all folds are counted together."

    def reading(results: Sequence[SFITResult], coverage: str) -> Pairs:
        folds = (
            f"The rows were cut into {results[0].settings.n_folds} folds. Each fold but the first "
            "was tested on a model that was fitted on all folds before it, so every model was "
            f"tested on rows that it had not seen. {combined}"
        )
        return [*words.reading(results, coverage), ("Folds", folds)]

    return replace(
        words,
        significant=(
            f"{words.significant} This holds for at least one of the models: each was fitted on "
            "the folds before the fold that it was tested on."
        ),
        reading=reading,
    )


# --- interactions ---------------------------------------------------------------------------------


def _of_interactions(words: Words) -> Words:
    """The words of a test that compares sets with the additive prediction from their parts."""

    def reading(results: Sequence[SFITResult], coverage: str) -> Pairs:
        additive = (
            "A set of two or more features is compared with the additive prediction from its "
            "parts: for a pair, the prediction with one feature revealed, plus that with the "
            "other, minus that with neither. They are added on the scale of the model's link: "
            "log-odds or log-probabilities of classes, logarithms of counts, else predictions. A "
            "significant set improves on the additive prediction from its parts."
        )
        share = (
            "The share of the whole gain of a set, over the features given, that its parts do not "
            "add up to. It may exceed 100 % if parts alone raise the loss; none is given if the "
            "whole set does not lower the mean loss."
        )
        return [
            *words.reading(results, coverage),
            ("Interactions", additive),
            ("Not additive", share),
        ]

    in_terminal = replace(
        NONADDITIVE,
        title="not additive",
        text=lambda t: nonadditive(t).replace("–", "-").replace("−", "-"),
    )
    return replace(
        words,
        sets=(
            "Significant sets of two or more features improve on the additive prediction from "
            "their parts, on the scale of the model's link. On another scale, the same model may "
            "have other interactions."
        ),
        reading=reading,
        brief=(*words.brief, in_terminal),
        together="alone or in an interaction",
    )


def nonadditive(test: AnySetTest) -> str:
    """The share of the gain of a set that its parts do not add up to."""
    share = test.share_nonadditive
    if isnan(share):
        return "–"
    sign, text = "−" if share < 0 else "", share_text(abs(share), decimals=0)
    return f"{sign}{text}" if text[0].isdigit() or not sign else "> −1%"


NONADDITIVE = Column(
    "share_nonadditive", "Not additive", lambda t: t.share_nonadditive, nonadditive
)
"""Of results that compare sets with the additive prediction from their parts."""


WORDS: dict[type, Callable[[SFITResult], Words]] = {
    SetTest: _sign_words,
    PermutationSetTest: _permutation_words,
    MeanSetTest: _mean_words,
}
"""For each kind of record, the function that chooses the words of a result."""
