"""When a test cannot see what is there: sentences with a remedy, from evidence alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sfit._array import Array
from sfit._multiplicity import Correction
from sfit._set_tests import (
    AnySetTest,
    GateTest,
    MeanSetTest,
    PermutationSetTest,
    SetTest,
    sign_tests,
)

FAR = 0.1
"""A base this share of the way from the mean prediction to an extreme is far from it."""

MIDDLE = (0.1, 0.9)
"""A base outside these quantiles of the predictions is far from the mean."""

RECOVERED = 0.5
"""Features found should save this share of the loss that all features save."""

FEW_CLUSTERS = 30
"""Fewer clusters than this find only strong effects."""

CLOSE_RANKS = 0.8
"""A set is close to a given feature if their rank correlation is above this."""

LARGE_SHARE = 0.25
"""A mean follows few units if one holds more than this share of the squared deviations."""

FEW_UNITS = 50
"""One of fewer units than this may hold a large share even of well-behaved differences."""

NAMES = 6
"""Sets that a sentence names; it counts the others."""


def base_is_far(base: Array, predictions: Array) -> str | None:
    """The sentence about a base prediction where few rows live; None if it lies among them.

    `base` is the prediction with nothing revealed, `predictions` those of some rows with everything
    revealed, both with one column per output.
    """
    # The probabilities of two classes mirror each other.
    first = 1 if predictions.shape[1] == 2 else 0
    for output, values in zip(base[first:], predictions.T[first:], strict=True):
        mean, extreme = values.mean(), values.max() if output > values.mean() else values.min()
        low, high = np.quantile(values, MIDDLE)
        if abs(output - mean) > FAR * abs(extreme - mean) or not low <= output <= high:
            return (
                f"with nothing revealed the model predicts {output:.4g}, but its mean prediction "
                f"is {mean:.4g}: the reference is a place where few rows live. Hide features by "
                "averaging instead: reference=sfit.Average(X_train)."
            )
    return None


def cannot_move(
    tests: Sequence[SetTest], critical: Callable[[int], int], given: bool
) -> str | None:
    """The sentence about sets that move too few predictions for the sign test to reject.

    `given`: whether features are given, which the permutation test may refuse.
    """
    stuck = [t for t in tests if 0 < round(t.share_moved * t.n) < critical(t.n)]
    if not stuck:
        return None
    other = "" if given else " Or use test='permutation'."
    return (
        f"too few predictions move for the sign test ever to find {named(stuck)}. "
        f"test=sfit.SignTest(ties='drop') tests only the rows that move.{other}"
    )


def minority(tests: Sequence[SetTest], given: bool) -> list[str]:
    """Sentences about sets whose mean gain and median have opposite signs."""
    helped = [t for t in tests if not t.significant and t.statistic <= 0 < t.gain - _counts(t)]
    harmed = [t for t in tests if t.significant and t.gain < 0]
    texts = []
    if helped:
        other = "" if given else " test='permutation' finds such effects."
        verb = "lowers" if len(helped) == 1 else "lower"
        texts.append(
            f"{named(helped)} {verb} the mean loss, but not that of the typical row: a minority of "
            f"the rows gains much.{other}"
        )
    if harmed:
        verbs = "improves {} but raises" if len(harmed) == 1 else "improve {} but raise"
        texts.append(
            f"{named(harmed)} {verbs.format('the typical row')} the mean loss: the rows that get "
            "worse lose more than the others gain."
        )
    return texts


def _counts(test: SetTest) -> float:
    """The smallest mean gain that counts."""
    return test.beta * test.loss_base


def follows_few_units(tests: Sequence[MeanSetTest], units: str) -> list[str]:
    """The sentence about sets whose mean depends on few units."""
    few = [t for t in tests if t.n >= FEW_UNITS and t.share_largest > LARGE_SHARE]
    if not few:
        return []
    return [
        f"few {units} hold much of the spread of the differences for {named(few)}: the mean, its "
        "p-value and its interval follow them. The median and p_sign do not; or use a loss that "
        "grows more slowly with the error."
    ]


def mean_and_median(tests: Sequence[MeanSetTest], units: str) -> list[str]:
    """Sentences about single features whose mean and median have opposite signs."""
    first, unit = [test for test in tests if test.order == 1], units.removesuffix("s")
    helped = [t for t in first if t.significant and t.median <= 0]
    harmed = [t for t in first if t.mean < 0 < t.median_low]
    texts = []
    if helped:
        texts.append(
            f"{named(helped)} lower the mean loss, but not that of the typical {unit}: a minority "
            f"of the {units} gains much."
        )
    if harmed:
        texts.append(
            f"{named(harmed)} improve the typical {unit} but raise the mean loss: the {units} that "
            "get worse lose more than the others gain."
        )
    return texts


def closed_too_early(tests: Sequence[AnySetTest], gates: Sequence[GateTest]) -> str | None:
    """The sentence about a closed gate beside features that predict badly."""
    if not gates or gates[-1].is_open or not tests:
        return None
    gate, base = gates[-1], tests[0].loss_base
    losses = f"mean loss {gate.loss_found:.4g} against {{:.4g}} {{}}"
    if gate.found and gate.loss_found > base:
        return (
            "the gate is closed, but the features found predict worse on average than no feature: "
            + losses.format(base, "with nothing revealed")
            + ". The gate looks at the typical row; use test='permutation'."
        )
    if base - gate.loss_found < RECOVERED * (base - gate.loss_full):
        return (
            "the gate is closed, but the features found predict far worse on average than all "
            f"features: {losses.format(gate.loss_full, 'with all')}, and {base:.4g} with nothing "
            "revealed. The gate looks at the typical row; use test='permutation'."
        )
    return None


def unreachable(
    tests: Sequence[AnySetTest], alpha: float, correction_at: Callable[[int], Correction]
) -> list[str]:
    """Sentences about orders in which random draws cannot give a p-value that is small enough."""
    texts = []
    for order in sorted({test.order for test in tests}):
        family = [test for test in tests if test.order == order]
        smallest = min(test.p_resolution for test in family)
        threshold = correction_at(order).smallest_threshold(alpha, len(family))
        if smallest >= threshold:
            texts.append(
                f"no p-value of order {order} can be below {smallest:.2g}, and the smallest is "
                f"compared with {threshold:.2g}: use more {family[0].draws} or more rows, or "
                "decide at a larger alpha or with another correction."
            )
    return texts


def small_strata(tests: Sequence[AnySetTest]) -> list[str]:
    """Sentences about rows in strata that are too small to be re-matched, for each base."""
    fixed = {t.base: t for t in tests if isinstance(t, PermutationSetTest) and t.n_fixed}
    return [
        f"{t.n_fixed:,} of {t.n:,} rows lie in strata of {' and '.join(base)} that have fewer than "
        "8 rows in their tile: these rows keep their predictions and do not count in the p-values."
        for base, t in fixed.items()
    ]


def correlated(tests: Sequence[AnySetTest]) -> list[str]:
    """The sentence about sets that are close to the continuous feature that is given."""
    close = [
        t for t in tests if isinstance(t, PermutationSetTest) and t.rank_correlation > CLOSE_RANKS
    ]
    if not close:
        return []
    largest = max(t.rank_correlation for t in close)
    return [
        f"the rank correlation with the given feature is up to {largest:.2f} for {named(close)}: "
        f"above {CLOSE_RANKS} the approximate test may reject too many true null hypotheses, the "
        "more so the fewer the rows."
    ]


def few_clusters(n: int) -> tuple[str, ...]:
    """The sentence about a small number of clusters, if it is small."""
    if n >= FEW_CLUSTERS:
        return ()
    clusters = "1 cluster is" if n == 1 else f"{n} clusters are"
    return (
        f"{clusters} few: the rows of a cluster count as one unit, so the test misses all "
        f"but strong effects. Use rows from at least {FEW_CLUSTERS} clusters.",
    )


def diagnose(
    tests: Sequence[AnySetTest],
    gates: Sequence[GateTest],
    critical: Callable[[int], int],
    given: bool,
) -> tuple[str, ...]:
    """All sentences about the tests and gates of one result of the sign test."""
    first = [test for test in sign_tests(tests) if test.order == 1]
    texts = [
        cannot_move(first, critical, given),
        *minority(first, given),
        closed_too_early(tests, gates),
    ]
    return tuple(text for text in texts if text)


def named(tests: Sequence[AnySetTest]) -> str:
    """The features of some sets for a sentence; those beyond a few are counted."""
    names = [" and ".join(test.term) for test in tests]
    if len(names) > NAMES:
        return f"{', '.join(names[:NAMES])} and {len(names) - NAMES} more"
    return ", ".join(names)


def averaged_parts(scale: str | None, n_background: int) -> tuple[str, ...]:
    """The caveat that averaging alone makes weak interactions on a link scale; empty otherwise."""
    if scale in (None, "identity") or n_background == 1:
        return ()
    return (
        "predictions are averaged before they are put on the link scale of the model, where the "
        "average of an additive model is only nearly additive: a weak interaction may come from "
        "averaging. Test it again with features frozen, such as reference='median'.",
    )
