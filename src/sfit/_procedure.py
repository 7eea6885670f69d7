"""The paper: Algorithm 1, Algorithm 2, their extension to any order, and the gates between orders.

The procedure asks for contrasts, an order at a time, and is sent the evidence. It knows neither
models nor rows, and reads like section 2 of the paper.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from sfit._contrast import Contrast, Evidence, Question, Reveal, Term
from sfit._features import Features
from sfit._multiplicity import adjust
from sfit._result import GateTest, SetTest
from sfit._sign_statistic import SignStatistic

COSTLY_PLAN = 5_000
"""An order with more sets than this comes with a warning about its cost."""

Outcome = tuple[list[SetTest], list[GateTest]]
Procedure = Generator[list[Contrast], list[Evidence], Outcome]
Measure = Callable[[list[Question], str], list[Evidence]]
"""Answers questions; the text names the stage."""


@dataclass(frozen=True)
class Design:
    """What is asked of every part of the rows."""

    features: Features
    statistic: SignStatistic
    given: Term
    rest: bool
    """Whether each feature is tested over all the others."""
    alpha: float
    betas: tuple[float, ...]
    max_order: int
    correction: str | None
    partners: Mapping[int, Sequence[int]]
    """P_j of Algorithm 2 for each tested feature j; order 1 needs none."""
    exhaustive: bool
    strict: bool

    @property
    def tested(self) -> list[int]:
        """Features under test: those that are not given."""
        return sorted(self.features.everything - self.given)


def follow(
    design: Design, sizes: Sequence[int], measure: Measure, warn: Callable[[str], None]
) -> list[tuple[Outcome, list[Evidence]]]:
    """Run one procedure per part of the rows, in step, so each side is predicted once for all.

    Each outcome comes with the evidence of its first stage.
    """
    procedures = [procedure(design) for _ in sizes]
    pending = {part: next(one) for part, one in enumerate(procedures)}
    outcomes: dict[int, Outcome] = {}
    first: dict[int, list[Evidence]] = {}
    while pending:
        _warn_of_cost(pending, warn)
        questions = [
            Question(contrast, part, sizes[part])
            for part, contrasts in pending.items()
            for contrast in contrasts
        ]
        leading = questions[0].contrast
        stage = "gate" if leading.role == "gate" else f"order {leading.order}"
        answers = iter(measure(questions, stage))
        previous, pending = pending, {}
        for part, contrasts in previous.items():
            evidence = [next(answers) for _ in contrasts]
            first.setdefault(part, evidence)
            try:
                pending[part] = procedures[part].send(evidence)
            except StopIteration as stop:
                outcomes[part] = stop.value
    return [(outcomes[part], first[part]) for part in range(len(sizes))]


def _warn_of_cost(pending: Mapping[int, list[Contrast]], warn: Callable[[str], None]) -> None:
    for contrasts in pending.values():
        n_sets = len({contrast.term for contrast in contrasts})
        if n_sets > COSTLY_PLAN:
            warn(
                f"order {contrasts[0].order} plans {n_sets:,} sets of features, each up to one "
                "pass of the model over the rows: n_partners=... tests only the likeliest."
            )


def procedure(design: Design) -> Procedure:
    """Find significant features order by order, as long as a gate says that something is left."""
    found: set[int] = set()
    tests: list[SetTest] = []
    gates: list[GateTest] = []
    for order in range(1, design.max_order + 1):
        decided = yield from decide_order(design, order, frozenset(found))
        tests += [test for _, test in decided]
        # Only when the whole order is decided do the new members of its significant sets join.
        found.update(*(term for term, test in decided if test.significant))
        if design.rest:
            break
        gate = yield from ask_gate(design, order, frozenset(found))
        gates.append(gate)
        # A closed gate says that no feature is left; interactions of found ones may be.
        if not gate.is_open and not design.exhaustive:
            break
    return tests, gates


def decide_order(
    design: Design, order: int, found: Term
) -> Generator[list[Contrast], list[Evidence], list[tuple[Term, SetTest]]]:
    """Algorithm 1 (order 1) and Algorithm 2 (order 2), for any order."""
    contrasts = [
        contrasts_of(design, term, order, found) for term in plan_sets(design, order, found)
    ]
    flat = [contrast for of_set in contrasts for contrast in of_set]
    answers = iter((yield flat) if flat else [])
    # A set must pass all its contrasts: its p-value is the largest, and that contrast is reported.
    reported: list[tuple[Contrast, Evidence]] = []
    for of_set in contrasts:
        evidence = [next(answers) for _ in of_set]
        weakest = design.statistic.weakest(evidence)
        beta_max = _smallest_beta_max(evidence)
        reported.append((of_set[weakest], replace(evidence[weakest], beta_max=beta_max)))
    p_values = design.statistic.p_values([evidence for _, evidence in reported])
    adjusted = adjust(p_values, design.correction)
    return [
        (contrast.term, set_test(design.features, contrast, evidence, p, q, design.alpha))
        for (contrast, evidence), p, q in zip(reported, p_values, adjusted, strict=True)
    ]


def plan_sets(design: Design, order: int, found: Term) -> list[Term]:
    """All distinct sets {j} + K: j not yet found, K from the partners P_j of j (section 2.3)."""
    sets = {
        frozenset({j, *others})
        for j in design.tested
        if design.exhaustive or j not in found
        for others in combinations(design.partners.get(j, ()), order - 1)
    }
    return sorted(sets, key=sorted)


def contrasts_of(design: Design, term: Term, order: int, found: Term) -> list[Contrast]:
    """The contrasts that a set must pass.

    One over its members already found; and where asked for, or where all of them are found, one
    over each of its subsets with one member less.
    """
    beta = design.betas[order - 1]
    if design.rest:
        everything = design.features.everything
        return [Contrast(term, Reveal(everything - term), Reveal(everything), order, beta)]
    one_less = [term - {member} for member in sorted(term)]
    base = term & found
    if base == term:
        bases = one_less
    else:
        bases = [base, *(less for less in one_less if less != base)] if design.strict else [base]
    return [
        Contrast(
            term,
            Reveal(shown | design.given),
            Reveal(term | design.given),
            order,
            beta,
            "test" if shown == base else "subset",
        )
        for shown in bases
    ]


def ask_gate(
    design: Design, order: int, found: Term
) -> Generator[list[Contrast], list[Evidence], GateTest]:
    """Ask whether all features together predict better than those found (Algorithm 2)."""
    everything, shown = design.features.everything, found | design.given
    names = design.features.named(found)
    contrast = Contrast(everything - shown, Reveal(shown), Reveal(everything), order, 0.0, "gate")
    [evidence] = yield [contrast]
    p = float(design.statistic.p_values([evidence])[0])
    return GateTest(
        after_order=order,
        found=names,
        statistic=evidence.statistic,
        p_value=p,
        n_positive=evidence.n_positive,
        n=evidence.n,
        is_open=p < design.alpha,
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
        base=features.named(contrast.base.visible(features.everything)),
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
