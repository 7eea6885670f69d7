"""The paper: Algorithm 1, Algorithm 2, their extension to any order, and the gates between orders.

The procedure yields contrasts, one order at a time, and receives their evidence. It knows neither
models nor rows, and reads like section 2 of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sfit._additive import Additive, Scale
from sfit._contrast import Contrast, Effects, Question, Reveal, Term
from sfit._features import Features
from sfit._multiplicity import Correction, over_all_orders
from sfit._set_tests import AnySetTest, GateTest
from sfit._statistic import Test

COSTLY_PLAN = 5_000
"""sfit warns about the cost of an order with more sets than this."""

Refusals = Callable[[Sequence[Contrast]], Sequence[str | None]]
"""For each contrast, why the test cannot answer it; None if it can."""


class Outcome(NamedTuple):
    """All tests of one part of the rows."""

    tests: list[AnySetTest]
    gates: list[GateTest]
    left_out: list[tuple[Contrast, str]]
    """Planned sets that the test cannot answer, and why."""


Procedure = Generator[list[Contrast], list[Any], Outcome]
Measure = Callable[[list[Question], str], list[Any]]
"""Answers questions with evidence; the string names the stage."""


@dataclass(frozen=True)
class Design:
    """The tests to run on every part of the rows."""

    features: Features
    statistic: Test
    given: Term
    rest: bool
    """Whether each feature is tested over all the others."""
    betas: tuple[float, ...]
    max_order: int
    correction: str | None
    partners: Mapping[int, Sequence[int]]
    """P_j of Algorithm 2 for each tested feature j; order 1 needs none."""
    exhaustive: bool
    strict: bool
    scale: Scale | None = None
    """The scale on which the parts of a set add up to its base; None: features found are its base.
    """
    refusals: Refusals = lambda contrasts: [None] * len(contrasts)
    alpha_by_order: tuple[float, ...] | None = None
    """Levels of the orders, for error control over all of them; None: `correction` decides."""
    gates: bool = True
    """Whether to ask after each order what is left, if the statistic can."""

    @cached_property
    def correction_at(self) -> Callable[[int], Correction]:
        """How the p-values of an order are adjusted; later orders may never be needed."""
        return cache(partial(_correction_at, self))

    @property
    def tested(self) -> list[int]:
        """The tested features: all that are not given."""
        return sorted(self.features.everything - self.given)


def _correction_at(design: Design, order: int) -> Correction:
    if design.alpha_by_order is None:
        return Correction(design.correction)
    # Features found only remove sets from a plan: with none found, it holds all possible sets.
    n_sets = len(plan_sets(design, order, frozenset()))
    statistic = design.statistic
    # An additive base does not depend on what was found.
    n_bases = 1 if design.scale is not None else statistic.n_bases(order)
    return over_all_orders(statistic.alpha, design.alpha_by_order, order, n_bases, n_sets)


def follow(
    design: Design, sizes: Sequence[int], measure: Measure, warn: Callable[[str], None]
) -> list[tuple[Outcome, list[Any]]]:
    """Run one procedure per part of the rows, in lockstep, so each side is predicted only once.

    Each outcome comes with the evidence of its first stage.
    """
    procedures = [procedure(design) for _ in sizes]
    pending = {part: next(one) for part, one in enumerate(procedures)}
    outcomes: dict[int, Outcome] = {}
    first: dict[int, list[Any]] = {}
    while pending:
        _warn_of_cost(pending, warn)
        questions = [
            Question(contrast, part, sizes[part], threshold)
            for part, contrasts in pending.items()
            for threshold in [_smallest_threshold(design, contrasts)]
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


def _smallest_threshold(design: Design, contrasts: list[Contrast]) -> float:
    """The smallest level with which a p-value of these contrasts is compared."""
    alpha, n_sets = design.statistic.alpha, len({contrast.term for contrast in contrasts})
    if contrasts[0].role == "gate":
        return alpha
    return design.correction_at(contrasts[0].order).smallest_threshold(alpha, n_sets)


def _warn_of_cost(pending: Mapping[int, list[Contrast]], warn: Callable[[str], None]) -> None:
    for contrasts in pending.values():
        n_sets = len({contrast.term for contrast in contrasts})
        if n_sets > COSTLY_PLAN:
            warn(
                f"order {contrasts[0].order} plans {n_sets:,} sets of features, each of which may "
                "need predictions for all rows: n_partners=... tests only the likeliest partners."
            )


def procedure(design: Design) -> Procedure:
    """Find significant features order by order, until a gate closes."""
    found: set[int] = set()
    tests: list[AnySetTest] = []
    gates: list[GateTest] = []
    left_out: list[tuple[Contrast, str]] = []
    for order in range(1, design.max_order + 1):
        decided, refused = yield from decide_order(design, order, frozenset(found), tests)
        left_out += refused
        tests += [test for _, test in decided]
        # The members of significant sets join `found` only after the whole order is decided.
        found.update(*(term for term, test in decided if test.significant))
        # What is left beyond the features found is a question about features given.
        if design.rest:
            break
        if not (design.gates and design.statistic.has_gates):
            continue
        gate = yield from ask_gate(design, order, frozenset(found))
        gates.append(gate)
        # A closed gate means that no feature is left; interactions of those found may remain.
        if not gate.is_open and not design.exhaustive:
            break
    return Outcome(tests, gates, left_out)


def decide_order(
    design: Design, order: int, found: Term, before: Sequence[AnySetTest] = ()
) -> Generator[
    list[Contrast], list[Any], tuple[list[tuple[Term, AnySetTest]], list[tuple[Contrast, str]]]
]:
    """Algorithm 1 (order 1) and Algorithm 2 (order 2), for any order.

    `before` are the tests of lower orders.
    """
    planned = [contrasts_of(design, term, order, found) for term in plan_sets(design, order, found)]
    contrasts, left_out = possible(design, planned)
    flat = [contrast for of_set in contrasts for contrast in of_set]
    answers = (yield flat) if flat else []
    p_values = design.statistic.p_values(answers)
    # A set must pass all its contrasts: the one with the largest p-value is reported.
    reported: list[tuple[Contrast, Any]] = []
    largest, start = [], 0
    for of_set in contrasts:
        own = slice(start, start + len(of_set))
        weakest, evidence = design.statistic.weakest(answers[own], p_values[own])
        reported.append((of_set[weakest], evidence))
        largest.append(p_values[start + weakest])
        start = own.stop
    if design.scale is not None and before:
        # First-order tests have nothing but the given features as their base.
        reported = [(one, _with_share(seen, before[0].loss_base)) for one, seen in reported]
    correction = design.correction_at(order)
    return decide(design.features, design.statistic, reported, largest, correction), left_out


def possible(
    design: Design, planned: Sequence[list[Contrast]]
) -> tuple[list[list[Contrast]], list[tuple[Contrast, str]]]:
    """The sets that the test can answer; one contrast of each of the others, with the reason."""
    refusals = iter(design.refusals([contrast for of_set in planned for contrast in of_set]))
    contrasts, left_out = [], []
    for of_set in planned:
        refused = [(contrast, next(refusals)) for contrast in of_set]
        reasons = [(contrast, reason) for contrast, reason in refused if reason is not None]
        if reasons:
            left_out.append(reasons[0])
        else:
            contrasts.append(of_set)
    return contrasts, left_out


def nothing_to_test(design: Design) -> str | None:
    """Why the test cannot answer any set of the first order; None if it can answer one."""
    planned = [
        [Contrast(frozenset({j}), Reveal(design.given), Reveal(design.given | {j}))]
        for j in design.tested
    ]
    contrasts, left_out = possible(design, planned)
    return None if contrasts else left_out[0][1]


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

    Its base is its members already found. With `strict`, or if all its members are found, each
    subset with one member fewer is a base too. An additive base is the only one.
    """
    beta = design.betas[order - 1]
    if design.scale is not None and order > 1:
        parts = Additive(term, design.given, design.scale)
        return [Contrast(term, parts, Reveal(term | design.given), order, beta)]
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
            Reveal(revealed | design.given),
            Reveal(term | design.given),
            order,
            beta,
            "test" if revealed == base else "subset",
        )
        for revealed in bases
    ]


def _with_share(evidence: Any, loss_given: float) -> Any:
    """Evidence over an additive base, with the share of the whole gain that is not additive."""
    effects: Effects = evidence.effects
    whole = loss_given - effects.loss_full
    share = effects.gain / whole if whole > 0 else math.nan
    return replace(evidence, effects=replace(effects, share_nonadditive=share))


def ask_gate(
    design: Design, order: int, found: Term
) -> Generator[list[Contrast], list[Any], GateTest]:
    """Test whether all features together predict better than those found (Algorithm 2)."""
    everything, base = design.features.everything, found | design.given
    names = design.features.named(found)
    contrast = Contrast(everything - base, Reveal(base), Reveal(everything), order, 0.0, "gate")
    [evidence] = yield [contrast]
    p = float(design.statistic.p_values([evidence])[0])
    return GateTest(
        after_order=order,
        found=names,
        statistic=evidence.estimate,
        p_value=p,
        n_positive=evidence.n_positive,
        n=evidence.n,
        loss_found=evidence.effects.loss_base,
        loss_full=evidence.effects.loss_full,
        is_open=p < design.statistic.alpha,
    )


def decide(
    features: Features,
    statistic: Test,
    reported: Sequence[tuple[Contrast, Any]],
    p_values: Sequence[float],
    correction: Correction,
) -> list[tuple[Term, AnySetTest]]:
    """The reported tests of one family of sets, with corrected p-values."""
    adjusted = correction.adjust(np.asarray(p_values, dtype=float))
    tests = []
    for (contrast, evidence), p, q in zip(reported, p_values, adjusted, strict=True):
        term = features.named(contrast.term)
        base = features.named(contrast.base.visible(features.everything))
        tests.append((contrast.term, statistic.record(contrast, term, base, evidence, p, q)))
    return tests
