"""The finding of an audit in sentences, and what a validator looks for: risks and strengths."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sfit._audit._records import Explained, Metric
from sfit._audit._result import Audit
from sfit._profile import FeatureProfile
from sfit._result import SFITResult
from sfit._text import listed, number, percent, printable

STRONG_PROXY = 0.5
"""From this association on, a feature is named as a possible proxy of a protected attribute."""

MUCH_LEFT = 0.2
"""A larger share of the gain that no found feature accounts for is a sign of risk."""

SMALLEST_LEFT = 0.005
"""A smaller share of the gain is not worth mentioning."""

NAMES = {
    "log_loss": "log loss",
    "average_precision": "average precision",
    "brier": "Brier score",
    "poisson_deviance": "Poisson deviance",
}
"""Metrics whose name in tables differs from the name in sentences."""


OBSERVED = {
    "rising": "it rises for most rows",
    "falling": "it falls for most rows",
    "mixed": "it has no single direction",
}


def direction_text(profile: FeatureProfile) -> str:
    """The direction of a response curve, in words."""
    if not profile.direction:
        return "none: categories or several outputs"
    steps = [after - before for before, after in pairwise(profile.responses[0])]
    monotone = min(steps, default=0.0) >= 0 or max(steps, default=0.0) <= 0
    if profile.direction == "mixed":
        return "no single direction"
    return profile.direction if monotone else f"{profile.direction} for most rows"


class Direction(NamedTuple):
    """The expected and the observed direction of a feature."""

    feature: str
    expected: str
    observed: str
    """"rising", "falling", "mixed", or empty if there is no curve."""

    @property
    def agrees(self) -> bool | None:
        """Whether both are the same; None if nothing was observed."""
        return None if not self.observed else self.expected == self.observed


def metric_name(name: str) -> str:
    """The name of a metric in a sentence or a heading."""
    return NAMES.get(name, name)


def metric_text(metric: Metric) -> str:
    """A metric with its interval."""
    value = f"{metric.value:.3g}" if math.isfinite(metric.value) else "undefined"
    bounded = math.isfinite(metric.ci_low) and math.isfinite(metric.ci_high)
    if not bounded or metric.ci_low == metric.ci_high:
        return value
    return f"{value} ({metric.ci_low:.3g} to {metric.ci_high:.3g})"


def metrics_of(audit: Audit, side: str) -> list[Metric]:
    """The metrics of one side: "all", "found" or "nothing"."""
    return [metric for metric in audit.performance if metric.side == side]


def names_for(names: Sequence[str], most: int = 8) -> int:
    """How many of these names a sentence has room for."""
    return most if max(map(len, names), default=0) <= 24 else max(2, most // 3)


def findings(audit: Audit) -> list[str]:
    """Two or three sentences: what the model achieves, what it uses, and what is not explained."""
    return [
        _performance_sentence(audit),
        _features_sentence(audit, names_for(audit.selected)),
        *_remainder_sentences(audit),
    ]


def _performance_sentence(audit: Audit) -> str:
    model = audit.model.name or audit.model.kind
    checked = any(check.name == "Held out" and check.state == "yes" for check in audit.checks)
    rows = f"{audit.data.n_rows:,} " + ("held-out rows" if checked else "rows stated as held out")
    every = metrics_of(audit, "all")
    if not every:
        return f"{printable(model)} was audited on {rows}."
    first = every[0]
    reached = f"{metric_name(first.name)} {metric_text(first)}"
    return f"On {rows}, the model {printable(model)} reaches {reached}."


def _features_sentence(audit: Audit, max_names: int) -> str:
    related = audit.related
    n, selected = len(related.feature_names), strongest_first(audit)
    if not selected:
        return (
            f"None of its {n} features is significantly related to the outcome: on these rows "
            "there is no evidence that the model uses any of them to good effect."
        )
    verb = "is" if len(selected) == 1 else "are"
    sentence = (
        f"{len(selected)} of its {n} features {verb} significantly related to the outcome as the "
        f"model uses {'it' if len(selected) == 1 else 'them'}: {listed(selected, max_names)}"
    )
    if audit.typical is None:
        return f"{sentence}."
    both = [name for name in selected if name in audit.typical.selected]
    how_many = "none" if not both else "all" if len(both) == len(selected) else f"{len(both)}"
    verb = "improves" if len(both) == 1 and len(selected) > 1 else "improve"
    if len(selected) == 1:
        also = "it also improves" if both else "it does not improve"
        return f"{sentence}; {also} the typical row."
    return f"{sentence}; {how_many} of them {verb} the typical row."


def _remainder_sentences(audit: Audit) -> list[str]:
    """Sentences about the part of the gain that no found feature explains."""
    explained = audit.explained
    if explained is None:
        return [
            "How much of the model's performance these features account for was not measured: the "
            "budget left it out."
        ]
    if math.isnan(explained.share):
        return [
            "With all features the mean loss is not lower than with none: there is no gain to "
            "explain."
        ]
    return [explained_sentence(explained, bool(audit.selected), audit.settings.alpha)]


def explained_sentence(explained: Explained, any_found: bool, alpha: float) -> str:
    """How much of the gain the features found account for, and whether anything is left."""
    left = 1 - explained.share
    improved = f"{explained.n_improved:,} of {explained.n_units:,} {explained.units}"
    still = (
        f"revealing all features still improves {improved}"
        if explained.p_value < alpha
        else f"revealing all features improves only {improved}"
    )
    if not any_found:
        return f"All of the model's gain over no features is unexplained; {still}."
    interval = ""
    if math.isfinite(explained.ci_low):
        low, high = max(explained.ci_low, 0.0), explained.ci_high
        interval = f" (interval {share_text(low)} to {share_text(high)}, {explained.n:,} rows)"
    if left < SMALLEST_LEFT:
        return (
            "The features found account for all of what the model gains over no features on "
            f"average{interval}; over them, {still}."
        )
    return (
        f"The features found account for {share_text(explained.share)} of what the model gains "
        f"over no features{interval}; {share_text(left)} is not attributed to any of them. Over "
        f"them, {still}."
    )


def share_text(share: float) -> str:
    """A share in whole per cent."""
    return percent(round(share, 2))


def strongest_first(audit: Audit) -> list[str]:
    """The significant features, by the strength of their evidence."""
    significant = [test for test in audit.related.tests if test.significant]
    ordered = sorted(significant, key=lambda test: -test.strength)
    return [test.term[0] for test in ordered]


def directions(audit: Audit) -> list[Direction]:
    """Expected and observed directions of the features that have an expectation."""
    found = []
    for feature, expected in audit.settings.expected:
        profile = audit.profile(feature)
        found.append(Direction(feature, expected, "" if profile is None else profile.direction))
    return found


def risks(audit: Audit) -> list[str]:
    """Signs of high risk, one sentence each."""
    return [*_direction_risks(audit), *_protected_risks(audit), *_other_risks(audit)]


def _direction_risks(audit: Audit) -> Iterator[str]:
    for one in directions(audit):
        if one.agrees is False and one.feature in audit.selected:
            verb = {"rising": "rise", "falling": "fall"}[one.expected]
            yield (
                f"The response to {printable(one.feature)} was expected to {verb}, but "
                f"{OBSERVED[one.observed]}."
            )


def _protected_risks(audit: Audit) -> Iterator[str]:
    used = [name for name in audit.settings.protected if name in audit.selected]
    if used:
        verb = "is a protected attribute" if len(used) == 1 else "are protected attributes"
        them = "it" if len(used) == 1 else "them"
        yield f"{listed(used)} {verb}, and the model uses {them} in a way related to the outcome."
    for attribute in audit.settings.protected:
        close = [
            one
            for one in audit.proxies
            if one.attribute == attribute and one.significant and one.association >= STRONG_PROXY
        ]
        if close:
            named = [f"{one.feature} ({one.association:.2f})" for one in close]
            yield f"Possible proxies of {printable(attribute)}: {listed(named, 5)}."


def _other_risks(audit: Audit) -> Iterator[str]:
    explained, alpha = audit.explained, audit.settings.alpha
    if explained is not None and 1 - explained.share > MUCH_LEFT and explained.p_value < alpha:
        yield (
            f"{share_text(1 - explained.share)} of the model's gain is not attributed to any "
            "feature found: it may rest on interactions, or on features too weak to detect."
        )
    for check in audit.checks:
        if check.state == "no":
            yield check.text
    typical = audit.typical
    if typical is not None:
        few = [name for name in strongest_first(audit) if name not in typical.selected]
        if few:
            verb = "is" if len(few) == 1 else "are"
            does = "does" if len(few) == 1 else "do"
            names = listed(few, names_for(few, 6))
            yield (
                f"{names} {verb} related to the outcome, but {does} not improve the typical row"
                f"{smallest_improvement(typical)}."
            )
    yield from _raising_risks(audit)
    yield from _harmful_alone(audit)


def _harmful_alone(audit: Audit) -> Iterator[str]:
    """Features that make the model worse when they are revealed alone."""
    worse = sorted((test.gain, test.term[0]) for test in audit.related.tests if test.gain < 0)
    if worse:
        names = [name for _, name in worse]
        verb = "raises" if len(worse) == 1 else "raise"
        yield (
            f"Revealed alone, {listed(names, names_for(names))} {verb} the mean loss, "
            f"{printable(names[0])} most (by {number(-worse[0][0])}). The audit does not test "
            "whether that is chance."
        )


def _raising_risks(audit: Audit) -> Iterator[str]:
    """Steps of the build-up that make the model worse."""
    steps = audit.build_up
    for before, step in pairwise(steps):
        if step.kind == "found" and step.loss > before.loss:
            yield (
                f"Revealing {listed(step.features, 4)} on top of the stronger features raises the "
                f"mean loss by {number(step.loss - before.loss)}."
            )


def smallest_improvement(typical: SFITResult) -> str:
    """The improvement that counts in the sign test, for a sentence."""
    beta = max(typical.settings.beta, default=0.0)
    return f" by more than {percent(beta)}" if beta else ""


def strengths(audit: Audit) -> list[str]:
    """The strengths of the model, one sentence each."""
    nothing = {metric.name: metric for metric in metrics_of(audit, "nothing")}
    sentences = [
        f"{capitalised(metric_name(metric.name))} {metric_text(metric)}, against "
        f"{metric_text(nothing[metric.name])} with no features."
        for metric in metrics_of(audit, "all")[:3]
        if metric.name in nothing
    ]
    stated = directions(audit)
    agreeing = [one.feature for one in stated if one.agrees]
    if agreeing:
        without = len(audit.related.feature_names) - len(stated)
        sentences.append(
            f"{len(agreeing)} of {len(stated)} stated expectations of a direction "
            f"{'is' if len(agreeing) == 1 else 'are'} met: {listed(agreeing, 8)}. No expectation "
            f"was stated for {without} feature{'' if without == 1 else 's'}."
        )
    explained = audit.explained
    if explained is not None and explained.share >= 1 - MUCH_LEFT:
        share = share_text(explained.share) if explained.share < 1 else "all"
        sentences.append(f"The features found account for {share} of the model's gain.")
    return sentences


def limitations(audit: Audit) -> list[str]:
    """The smallest detectable effects, and questions that an audit does not answer."""
    able = audit.detectable
    sentences = [
        f"With these rows the permutation test finds a feature whose prediction has a correlation "
        f"of {number(able.correlation)} with the outcome with {percent(able.power)} power, at the "
        f"strictest corrected level {number(able.alpha)}. Weaker features may be missed.",
    ]
    if audit.typical is not None:
        sentences += _sign_limitations(audit, audit.typical)
    sentences += _background_limitations(audit)
    sentences += [
        "A feature is tested as this model uses it, with all others averaged out. Of two "
        "correlated features both may be significant although one would do, and a feature that "
        "acts only together with another may not be.",
        "Significance is not causation: the audit does not say what happens if someone changes the "
        "feature.",
        "This page is not a reason-code engine: it describes the model over all rows and does not "
        "explain single decisions.",
    ]
    left_out = [step for step in audit.steps if step.status != "done"]
    sentences += [f"{step.name.capitalize()}: {step.reason}" for step in left_out]
    return [*sentences, f"Not assessed: {NOT_ASSESSED}."]


NOT_ASSESSED = (
    "performance on the training rows, calibration, stability over time, error rates at a decision "
    "threshold, and the meaning and quality of codes in the data"
)


def _sign_limitations(audit: Audit, typical: SFITResult) -> list[str]:
    able = audit.detectable
    sentences = [
        f"The sign test finds a feature that improves {percent(round(able.probability, 3))} of "
        f"the rows{smallest_improvement(typical)} with the same power."
    ]
    alone = [name for name in typical.selected if name not in audit.selected]
    if alone:
        verb = "improves" if len(alone) == 1 else "improve"
        sentences.append(
            f"{listed(alone, 6)} {verb} the typical row without a significant relation to the "
            "outcome. A feature that only moves predictions towards the more common outcomes "
            "improves most rows, so the sign test alone is no evidence of a relation."
        )
    return sentences


def _background_limitations(audit: Audit) -> list[str]:
    """How far the background rows are from the audited rows."""
    settings = audit.settings
    text = f"All effects are relative to the {background_text(audit)}"
    if math.isfinite(settings.base_prediction):
        error = ""
        if math.isfinite(settings.base_error):
            error = f" (standard error {number(settings.base_error)} over draws of these rows)"
        text += (
            f": their mean prediction is {number(settings.base_prediction)}{error}, that of the "
            f"audited rows {number(settings.mean_prediction)}"
        )
    return [f"{text}. No interval contains the error of this draw; n_background= draws more rows."]


def background_text(audit: Audit) -> str:
    """Over which rows hidden features are averaged."""
    return f"{audit.settings.reference}, drawn with seed {audit.settings.seed}"


def capitalised(text: str) -> str:
    """A text that begins with a capital letter."""
    return f"{text[:1].upper()}{text[1:]}"
