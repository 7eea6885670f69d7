"""The procedure alone: which contrasts it asks for, and what it makes of the evidence it is sent.

No model and no rows: an oracle says how many of 100 rows are positive in each contrast.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import slow

from sfit import _procedure
from sfit._contrast import Contrast, Effects, Refit, Reveal
from sfit._features import Features
from sfit._multiplicity import Correction
from sfit._procedure import Design, decide, follow, procedure
from sfit._sign_test import SignEvidence, SignStatistic

ROWS = 100
SURE, UNSURE = 90, 50
"""Positive rows of 100 with which a test rejects, and does not."""


EFFECTS = Effects(loss_base=2.0, loss_full=1.5, share_moved=0.5, n_better=40, n_worse=10)


def plan_of(names="abcd", **changed):
    features = Features(
        names=tuple(names),
        columns=tuple((j,) for j in range(len(names))),
        always_on=(),
        reference=np.zeros((1, len(names))),
        space="original",
        origin="given",
    )
    everyone = range(len(names))
    plan = Design(
        features=features,
        statistic=SignStatistic(0.05),
        given=frozenset(),
        rest=False,
        betas=(0.1, 0.02, 0.003),
        max_order=3,
        correction=None,
        partners={j: [k for k in everyone if k != j] for j in everyone},
        exhaustive=False,
        strict=False,
    )
    return replace(plan, **changed)


def evidence_of(n_positive, n=ROWS, beta_max=0.25):
    return SignEvidence(
        n=n,
        effects=EFFECTS,
        n_positive=n_positive,
        n_negative=n - n_positive,
        n_improvable=n,
        statistic=n_positive / n,
        ci_low=0.1,
        ci_high=0.9,
        ci_lower=0.2,
        beta_max=beta_max,
    )


def run(plan, oracle):
    """All that was asked, stage by stage, and what came out."""
    running, stages, answers = procedure(plan), [], None
    while True:
        try:
            asked = running.send(answers)
        except StopIteration as stop:
            tests, gates, _ = stop.value
            return stages, tests, gates
        stages.append(asked)
        answers = [
            answer if isinstance(answer := oracle(one), SignEvidence) else evidence_of(answer)
            for one in asked
        ]


def shown(plan, *names):
    return Reveal(frozenset(plan.features.names.index(name) for name in names))


def test_first_order_and_a_closed_gate():
    """Algorithm 1: each feature over nothing at its beta; then the gate at beta 0, and the end."""
    plan = plan_of("ab")
    stages, tests, gates = run(plan, lambda one: SURE if one.full == shown(plan, "a") else UNSURE)
    nothing = Reveal(frozenset())
    assert stages == [
        [
            Contrast(frozenset({0}), nothing, shown(plan, "a"), 1, 0.1, "test"),
            Contrast(frozenset({1}), nothing, shown(plan, "b"), 1, 0.1, "test"),
        ],
        [Contrast(frozenset({1}), shown(plan, "a"), shown(plan, "a", "b"), 1, 0.0, "gate")],
    ]
    first, second = tests
    assert vars(first) == {
        "order": 1, "term": ("a",), "base": (), "statistic": 0.9, "ci_low": 0.1, "ci_high": 0.9,
        "ci_lower": 0.2, "p_value": pytest.approx(slow.p_value(SURE, ROWS)),
        "p_adjusted": pytest.approx(slow.p_value(SURE, ROWS)), "significant": True,
        "n_positive": SURE, "n": ROWS, "beta": 0.1, "beta_max": 0.25, **vars(EFFECTS),
    }  # fmt: skip
    assert (second.significant, second.p_value) == (False, pytest.approx(0.5397946186935895))
    [gate] = gates
    assert vars(gate) == {
        "after_order": 1, "found": ("a",), "statistic": 0.5, "p_value": second.p_value,
        "n_positive": UNSURE, "n": ROWS, "loss_found": 2.0, "loss_full": 1.5, "is_open": False,
    }  # fmt: skip


def test_second_order_takes_the_members_found_as_base():
    """Algorithm 2: pairs with a found feature over it, others over nothing, at their own beta."""
    plan = plan_of("abc", max_order=2)
    found = shown(plan, "a")
    stages, tests, gates = run(
        plan, lambda one: SURE if one.role == "gate" or one.full == found else UNSURE
    )
    assert [(one.full, one.base, one.beta, one.order) for one in stages[2]] == [
        (shown(plan, "a", "b"), found, 0.02, 2),
        (shown(plan, "a", "c"), found, 0.02, 2),
        (shown(plan, "b", "c"), shown(plan), 0.02, 2),
    ]
    assert [(test.term, test.base) for test in tests[3:]] == [
        (("a", "b"), ("a",)),
        (("a", "c"), ("a",)),
        (("b", "c"), ()),
    ]
    assert [(gate.after_order, gate.found, gate.is_open) for gate in gates] == [
        (1, ("a",), True),
        (2, ("a",), True),
    ]
    assert len(stages) == 4


def test_all_new_members_of_a_set_join_when_its_order_is_decided():
    """(b, c) over nothing brings both; (b, d) of the same order is still over nothing."""
    plan = plan_of("bcd")
    pair = shown(plan, "b", "c")
    stages, _, gates = run(plan, lambda one: SURE if one.role == "gate" or one.full == pair else 0)
    assert [one.base for one in stages[2]] == [shown(plan)] * 3
    assert [gate.found for gate in gates] == [(), ("b", "c"), ("b", "c")]
    third = stages[4]
    assert [(one.full, one.base, one.beta) for one in third] == [
        (shown(plan, "b", "c", "d"), pair, 0.003)
    ]


def test_a_level_that_is_met_does_not_reject():
    """p < alpha, strictly: for sets and gates alike."""
    p = slow.p_value(8, 10)
    for alpha, expected in ((p, False), (np.nextafter(p, 1), True)):
        plan = plan_of("a", statistic=SignStatistic(alpha), max_order=1)
        _, [test], [gate] = run(plan, lambda one: evidence_of(8, 10))
        assert (test.p_value, gate.p_value) == (p, p)
        assert (test.significant, gate.is_open) == (expected, expected)
        assert gate.found == (("a",) if expected else ())


def test_given_features_are_on_both_sides_and_never_asked():
    """Contrasts, gates and sets of all orders."""
    plan = plan_of("abc", given=frozenset({1}), max_order=2, partners={0: [2], 2: [0]})
    stages, _, gates = run(plan, lambda one: SURE if one.role == "gate" else UNSURE)
    assert [(one.term, one.base, one.full) for one in stages[0]] == [
        (frozenset({0}), shown(plan, "b"), shown(plan, "a", "b")),
        (frozenset({2}), shown(plan, "b"), shown(plan, "b", "c")),
    ]
    assert stages[1] == [
        Contrast(frozenset({0, 2}), shown(plan, "b"), shown(plan, "a", "b", "c"), 1, 0.0, "gate")
    ]
    assert [(one.base, one.full) for one in stages[2]] == [
        (shown(plan, "b"), shown(plan, "a", "b", "c"))
    ]
    assert [gate.found for gate in gates] == [(), ()]


def test_given_the_rest_asks_once_and_has_no_gate():
    """Each feature over all the others, whatever the largest order."""
    plan = plan_of("abc", rest=True)
    stages, tests, gates = run(plan, lambda one: SURE)
    everything = shown(plan, "a", "b", "c")
    assert stages == [
        [
            Contrast(frozenset({0}), shown(plan, "b", "c"), everything, 1, 0.1, "test"),
            Contrast(frozenset({1}), shown(plan, "a", "c"), everything, 1, 0.1, "test"),
            Contrast(frozenset({2}), shown(plan, "a", "b"), everything, 1, 0.1, "test"),
        ]
    ]
    assert [test.base for test in tests] == [("b", "c"), ("a", "c"), ("a", "b")]
    assert gates == []


def test_strict_asks_every_subset_and_reports_the_worst():
    """The contrast with the fewest positive rows speaks for the set; the smallest beta_max too."""
    plan = plan_of("abc", strict=True, max_order=2)
    positive = {(): 80, ("a",): 70, ("b",): 65, ("c",): 75}

    def oracle(one):
        if one.role == "gate":
            return SURE
        base = plan.features.named(one.base.shown)
        return evidence_of(UNSURE if one.order == 1 else positive[base], beta_max=len(base) + 0.5)

    stages, tests, _ = run(plan, oracle)
    assert [(plan.features.named(one.base.shown), one.role) for one in stages[2]] == [
        ((), "test"), (("b",), "subset"), (("a",), "subset"),
        ((), "test"), (("c",), "subset"), (("a",), "subset"),
        ((), "test"), (("c",), "subset"), (("b",), "subset"),
    ]  # fmt: skip
    pairs = [(test.term, test.base, test.n_positive, test.beta_max) for test in tests[3:]]
    assert pairs == [
        (("a", "b"), ("b",), 65, 0.5),
        (("a", "c"), ("a",), 70, 0.5),
        (("b", "c"), ("b",), 65, 0.5),
    ]
    unsure = run(
        plan,
        lambda one: (
            replace(oracle(one), beta_max=np.nan)
            if one.order == 2 and one.role != "gate"
            else oracle(one)
        ),
    )
    assert all(np.isnan(test.beta_max) for test in unsure[1][3:])


def test_strict_does_not_ask_the_same_base_twice():
    """A pair over its found member: that is one of its subsets already."""
    plan = plan_of("ab", strict=True, max_order=2)
    only = shown(plan, "a")
    stages, _, _ = run(plan, lambda one: SURE if one.role == "gate" or one.full == only else 0)
    assert [(one.base, one.role) for one in stages[2]] == [
        (only, "test"),
        (shown(plan, "b"), "subset"),
    ]


def test_exhaustive_goes_on_behind_closed_gates_and_asks_found_sets():
    """A set of found features only is tested over each of its parts."""
    plan = plan_of("abc", exhaustive=True)
    stages, tests, gates = run(
        plan, lambda one: SURE if one.order == 1 and one.role == "test" else UNSURE
    )
    assert [gate.is_open for gate in gates] == [False] * 3
    assert [test.term for test in tests] == [
        term for order in (1, 2, 3) for term in combinations("abc", order)
    ]
    assert [(one.base, one.role) for one in stages[2][:2]] == [
        (shown(plan, "b"), "subset"),
        (shown(plan, "a"), "subset"),
    ]
    assert [plan.features.named(one.base.shown) for one in stages[4]] == [
        ("b", "c"), ("a", "c"), ("a", "b"),
    ]  # fmt: skip


def test_partners_say_which_sets_are_planned():
    """{j} + K with K from P_j, for each j not yet found; a set planned twice is asked once."""
    partners = {0: [1], 1: [0, 2], 2: [], 3: [2]}
    plan = plan_of(partners=partners, max_order=2)
    stages, _, _ = run(plan, lambda one: SURE if one.role == "gate" else 0)
    assert [one.full for one in stages[2]] == [
        shown(plan, "a", "b"), shown(plan, "b", "c"), shown(plan, "c", "d"),
    ]  # fmt: skip
    found = shown(plan, "b")
    stages, _, _ = run(plan, lambda one: SURE if one.role == "gate" or one.full == found else 0)
    assert [one.full for one in stages[2]] == [shown(plan, "a", "b"), shown(plan, "c", "d")]


def test_an_order_without_sets_still_has_its_gate():
    """Nobody has a partner: nothing is asked at order 2 but whether something is left."""
    plan = plan_of("ab", partners={0: [], 1: []}, max_order=2)
    stages, tests, gates = run(plan, lambda one: SURE if one.role == "gate" else 0)
    assert [len(stage) for stage in stages] == [2, 1, 1]
    assert [gate.after_order for gate in gates] == [1, 2]
    assert len(tests) == 2


@given(
    st.dictionaries(
        st.tuples(st.frozensets(st.integers(0, 3)), st.frozensets(st.integers(0, 3))),
        st.integers(40, 75),
    ),
    st.sampled_from([None, "fdr_by", "fdr_bh", "holm", "bonferroni"]),
)
def test_corrections_are_within_an_order(answers, correction):
    """Adjusted p-values of each order are those of its own sets; they decide."""
    plan = plan_of(correction=correction)

    def oracle(one):
        return answers.get((one.base.shown, one.full.shown), len(one.full.shown) * 11 + 40)

    _, tests, _ = run(plan, oracle)
    for order in {test.order for test in tests}:
        own = [test for test in tests if test.order == order]
        expected = slow.adjust([slow.p_value(test.n_positive, ROWS) for test in own], correction)
        assert [test.p_adjusted for test in own] == pytest.approx(expected, rel=1e-11)
        assert all(test.significant == (test.p_adjusted < 0.05) for test in own)


def test_a_costly_order_warns_with_the_number_of_sets(monkeypatch):
    """Only beyond the limit, and with the remedy."""
    monkeypatch.setattr(_procedure, "COSTLY_PLAN", 3)

    def warnings_of(plan):
        texts = []
        follow(plan, [ROWS], lambda asked, stage: [evidence_of(0) for _ in asked], texts.append)
        return texts

    assert warnings_of(plan_of("abc", max_order=1)) == []
    assert warnings_of(plan_of("abcd", max_order=1)) == [
        "order 1 plans 4 sets of features, each of which may need predictions for all rows: "
        "n_partners=... tests only the likeliest partners."
    ]
    monkeypatch.setattr(_procedure, "COSTLY_PLAN", 1_000)
    many = [f"x{j}" for j in range(1_001)]
    [text] = warnings_of(plan_of(many, max_order=1, partners={}))
    assert "plans 1,001 sets" in text


def test_a_refit_shows_everything_but_its_feature():
    """What LOCO reports as the base of a test: all features that the other model was given."""
    plan = plan_of("abc")
    contrast = Contrast(frozenset({1}), Refit(1), shown(plan, "a", "b", "c"), 1, 0.0)
    answers = [(contrast, evidence_of(SURE)), (contrast, evidence_of(UNSURE))]
    p_values = plan.statistic.p_values([evidence for _, evidence in answers])
    [(_, test), (_, other)] = decide(
        plan.features, plan.statistic, answers, p_values, Correction("bonferroni")
    )
    assert (test.term, test.base) == (("b",), ("a", "c"))
    assert test.p_adjusted == 2 * test.p_value == pytest.approx(2 * slow.p_value(SURE, ROWS))
    assert (test.significant, other.significant, other.p_adjusted) == (True, False, 1.0)
