"""What every test has words for, and the words that several tests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sfit._set_tests import AnySetTest, SetTest, is_additive
from sfit._text import listed, number, p_text, percent

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
    return (
        "It is exact for any model and loss, if the rows are independent and were not used for "
        "training."
    )


def at_level(settings: Settings) -> str:
    """The level of the run in words, if it differs from that of the decisions."""
    return "" if settings.planned_alpha is None else f" at alpha = {number(settings.run_alpha)}"


def corrected(test: AnySetTest) -> str:
    """What the correction makes of the p-value of a set."""
    return (
        f"its p-value of {p_text(test.p_value)} is {p_text(test.p_adjusted)} after the correction"
    )


def compared(test: AnySetTest, settings: Settings) -> str:
    """Over what a set lowers the loss."""
    if is_additive(test):
        return "compared with the additive prediction from its parts"
    if not settings.given:
        return "revealed to the model alone"
    rest = settings.given == ("rest",)
    return f"revealed to the model on top of {'all others' if rest else listed(settings.given, 3)}"


BOTH_SIDES = (
    "The model predicts every test row twice: with the set revealed on top of the features in "
    "column Over, and without the set. Features not revealed are hidden (reference: {reference})."
)
"""What a paired test compares."""


def p_closest(test: AnySetTest, settings: Settings) -> str:
    if settings.adjusted:
        return corrected(test)
    return f"its p-value of {p_text(test.p_value)} is not below alpha = {number(settings.alpha)}"


GUARANTEES = {"symmetric": "exact for symmetric differences"}
"""Guarantees that need more words than their name."""


def guarantee(results: Sequence[SFITResult]) -> str:
    """What the p-values are, such as exact or approximate; empty for the sign test."""
    kinds = {test.guarantee for result in results for test in result.tests}
    return " or ".join(GUARANTEES.get(kind, kind) for kind in sorted(kinds))


def resolution(results: Sequence[SFITResult]) -> str:
    """The smallest p-values that random draws can give; empty if there is no such limit.

    They differ between orders, and between features with few distinct values.
    """
    values = sorted(
        test.p_resolution for result in results for test in result.tests if test.p_resolution > 0
    )
    texts = list(dict.fromkeys(map(p_text, values)))
    return " or ".join(reversed(texts)) if len(texts) < 3 else f"{texts[0]} to {texts[-1]}"
