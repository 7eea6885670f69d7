"""The paper: Algorithm 1, Algorithm 2, their extension to any order, and the gates between orders.

The procedure asks for contrasts, an order at a time, and is sent the evidence. It knows neither
models nor rows, and reads like section 2 of the paper.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sfit._contrast import Contrast, Evidence, Reveal, Term, shown_by
from sfit._features import Features
from sfit._multiplicity import adjust
from sfit._result import GateTest, SetTest
from sfit._sign_test import p_value
from sfit.exceptions import SFITWarning

COSTLY_PLAN = 5_000
"""Sets in one order from which on a warning says what the order will cost."""

Outcome = tuple[list[SetTest], list[GateTest]]
Procedure = Generator[list[Contrast], list[Evidence], Outcome]


@dataclass(frozen=True)
class Plan:
    """What is asked, the same for every part of the rows."""

    features: Features
    given: Term
    rest: bool
    """Whether each feature is tested over all the others."""
    alpha: float
    betas: tuple[float, ...]
    max_order: int
    correction: str | None
    partners: Mapping[int, Sequence[int]]
    exhaustive: bool
    strict: bool

    @property
    def tested(self) -> list[int]:
        """Features under test: those that are not given."""
        return sorted(self.features.everything - self.given)


def sfit(plan: Plan) -> Procedure:
    """Find significant features order by order, as long as a gate says that something is left."""
    found: set[int] = set()
    tests: list[SetTest] = []
    gates: list[GateTest] = []
    for order in range(1, plan.max_order + 1):
        decided = yield from decide_order(plan, order, frozenset(found))
        tests += [test for _, test in decided]
        # Only when the whole order is decided do the new members of its significant sets join.
        found.update(*(term for term, test in decided if test.significant))
        if plan.rest:
            break
        gate = yield from ask_gate(plan, order, frozenset(found))
        gates.append(gate)
        # A closed gate says that no feature is left; interactions of found ones may be.
        if not gate.is_open and not plan.exhaustive:
            break
    return tests, gates


def decide_order(
    plan: Plan, order: int, found: Term
) -> Generator[list[Contrast], list[Evidence], list[tuple[Term, SetTest]]]:
    """Algorithm 1 (order 1) and Algorithm 2 (order 2), for any order."""
    sets = plan_sets(plan, order, found)
    if len(sets) > COSTLY_PLAN:
        warnings.warn(
            f"order {order} plans {len(sets):,} sets of features, each up to one pass of the model "
            "over the rows: n_partners=... tests only the likeliest.",
            SFITWarning,
            stacklevel=2,
        )
    contrasts = [contrasts_of(plan, term, order, found) for term in sets]
    flat = [contrast for of_set in contrasts for contrast in of_set]
    answers = iter((yield flat) if flat else [])
    # A set must pass all its contrasts: its p-value is the largest, and that contrast is reported.
    worst: list[tuple[Contrast, Evidence]] = []
    for of_set in contrasts:
        evidence = [next(answers) for _ in of_set]
        number = int(np.argmin([one.n_positive for one in evidence]))
        reported = replace(evidence[number], beta_max=_smallest_beta_max(evidence))
        worst.append((of_set[number], reported))
    p_values = p_value([e.n_positive for _, e in worst], [e.n for _, e in worst])
    adjusted = adjust(p_values, plan.correction)
    return [
        (contrast.term, set_test(plan.features, contrast, evidence, p, q, plan.alpha))
        for (contrast, evidence), p, q in zip(worst, p_values, adjusted, strict=True)
    ]


def plan_sets(plan: Plan, order: int, found: Term) -> list[Term]:
    """All distinct sets {j} + K: j not yet found, K from the partners P_j of j (section 2.3)."""
    sets = {
        frozenset({j, *others})
        for j in plan.tested
        if plan.exhaustive or j not in found
        for others in combinations(plan.partners[j], order - 1)
    }
    return sorted(sets, key=sorted)


def contrasts_of(plan: Plan, term: Term, order: int, found: Term) -> list[Contrast]:
    """The contrasts that a set must pass.

    One over its members already found; and where asked for, or where all of them are found, one
    over each of its subsets with one member less.
    """
    beta = plan.betas[order - 1]
    if plan.rest:
        everything = plan.features.everything
        return [Contrast(term, Reveal(everything - term), Reveal(everything), order, beta)]
    one_less = [term - {member} for member in sorted(term)]
    base = term & found
    if base == term:
        bases = one_less
    else:
        bases = [base, *(less for less in one_less if less != base)] if plan.strict else [base]
    return [
        Contrast(
            term,
            Reveal(shown | plan.given),
            Reveal(term | plan.given),
            order,
            beta,
            "test" if shown == base else "subset",
        )
        for shown in bases
    ]


def ask_gate(
    plan: Plan, order: int, found: Term
) -> Generator[list[Contrast], list[Evidence], GateTest]:
    """Ask whether all features together predict better than those found (Algorithm 2)."""
    everything, shown = plan.features.everything, found | plan.given
    names = plan.features.named(found)
    contrast = Contrast(everything - shown, Reveal(shown), Reveal(everything), order, 0.0, "gate")
    [evidence] = yield [contrast]
    p = float(p_value(evidence.n_positive, evidence.n))
    return GateTest(
        after_order=order,
        found=names,
        statistic=evidence.statistic,
        p_value=p,
        n_positive=evidence.n_positive,
        n=evidence.n,
        is_open=p < plan.alpha,
    )


def set_test(
    features: Features,
    contrast: Contrast,
    evidence: Evidence,
    p: float,
    adjusted: float,
    alpha: float,
) -> SetTest:
    """What is reported of a set, from the contrast that speaks for it."""
    return SetTest(
        order=contrast.order,
        term=features.named(contrast.term),
        base=features.named(shown_by(contrast.base, features.everything)),
        statistic=evidence.statistic,
        ci_low=evidence.ci_low,
        ci_high=evidence.ci_high,
        ci_lower=evidence.ci_lower,
        p_value=float(p),
        p_adjusted=float(adjusted),
        significant=bool(adjusted < alpha),
        n_positive=evidence.n_positive,
        n=evidence.n,
        beta=contrast.beta,
        beta_max=evidence.beta_max,
    )


def _smallest_beta_max(evidence: Sequence[Evidence]) -> float:
    """A set stays significant while all its contrasts do (NaN: one is not even at beta = 0)."""
    return float(np.min([one.beta_max for one in evidence]))
