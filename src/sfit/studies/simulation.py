"""Section 3, Table 1 and Figure 1: what SFIT finds in the paper's network, over many seeds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import sfit
from sfit._for_studies import Contrasts, sign_tests
from sfit.studies._networks import Network, Recipe
from sfit.studies._page import interval, joined, new_figure, spread, table, times
from sfit.studies._section3 import FEATURES, MASKING, TRUE_FIRST, TRUE_PAIRS, Sample, Sizes
from sfit.studies._section3 import fit_in_turns as fit

TITLE = "Section 3: the simulated example (Table 1, Figure 1)"

# Table 1: statistic and interval at alpha = 0.05, beta = 0.01 for both orders.
PAPER = {
    ("X1",): (1.13, 1.06, 1.21),
    ("X3",): (0.224, 0.185, 0.265),
    ("X1", "X2"): (0.01, 0.004, 0.016),
    ("X4", "X5"): (0.048, 0.035, 0.060),
}
# The perfect model is the true regression function: medians at beta = 0.01 and shares of positive
# differences, by Monte Carlo with many rows; the tests repeat it.
PERFECT = {("X1",): 1.1396, ("X3",): 0.1932, ("X1", "X2"): 0.0052, ("X4", "X5"): 0.0204}
PERFECT_SHARES = {("X1", "X2"): 0.5070, ("X4", "X5"): 0.5137}
PARTNERS = {"X2": "X1", "X4": "X5", "X5": "X4"}


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    sizes: Sizes = Sizes()
    recipe: Recipe = Recipe()
    seeds: tuple[int, ...] = tuple(range(10))
    together: int = 10
    alpha: float = 0.05
    grid: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    n_random_models: int = 20


FULL = Settings()
FAST = Settings(
    sizes=Sizes(train=3_000, validation=1_000, test=3_000),
    recipe=Recipe(hidden=(40, 20), learning_rate=5e-3, max_epochs=8),
    seeds=(0, 1),
    n_random_models=3,
)

RULES: dict[str, dict[str, Any]] = {
    "0.01, 0.01": {"beta": 0.01},
    "0.01, 0.001": {"beta": (0.01, 0.001)},
    "0.01, 0.001, strict": {"beta": (0.01, 0.001), "strict": True},
}
"""Rules, named by the betas of the two orders: the paper's, its advice, and ours for pairs."""


@dataclass(frozen=True)
class SetOutcome:
    """The test of one set in one network."""

    statistic: float
    low: float
    high: float
    p_value: float
    beta_max: float
    significant: bool


@dataclass(frozen=True)
class Outcome:
    """What one rule found in one network."""

    first: tuple[str, ...]
    """Features significant by themselves."""
    pairs: tuple[tuple[str, ...], ...]
    """Significant pairs."""
    gates: tuple[bool, ...]
    """After each order: whether the gate is open."""
    sets: dict[str, SetOutcome]
    """Every single feature, and the two true pairs."""


@dataclass(frozen=True)
class Seed:
    """One network."""

    seed: int
    epochs: int
    validation_loss: float
    beta_on_grid: float
    beta_exact: float
    partner_ranks: dict[str, int]
    """For X2, X4 and X5: the rank of the true partner among the six candidates."""
    scores: list[list[float]]
    """The matrix of Figure 1 without the intercept, its diagonal included."""
    outcomes: dict[str, Outcome]


@dataclass(frozen=True)
class Result:
    """All networks."""

    networks: tuple[Seed, ...]


def study(settings: Settings) -> Result:
    """Train the networks and test each of them by every rule."""
    fitted = fit(settings.recipe, settings.sizes, settings.seeds, settings.together)
    return Result(tuple(_examine(settings, sample, network) for sample, network in fitted))


def _examine(settings: Settings, sample: Sample, network: Network) -> Seed:
    module = network.module()
    choice = sfit.choose_beta(
        module,
        *sample.validation,
        alpha=settings.alpha,
        n_models=settings.n_random_models,
        max_beta=1.0,
        random_state=sample.seed,
        **MASKING,
    )
    on_grid = [beta for beta in settings.grid if beta >= choice.beta]
    scores = Contrasts(module, *sample.test, **MASKING).interaction_scores()
    assert scores is not None  # noqa: S101 - a chain of ReLU layers has a structure
    ranks = {
        name: 1 + int(np.sum(_row(scores, name) > _row(scores, name)[FEATURES.index(partner)]))
        for name, partner in PARTNERS.items()
    }
    weights = np.abs(network.layers[0][0][1:])
    return Seed(
        seed=sample.seed,
        epochs=network.epochs,
        validation_loss=network.validation_loss,
        beta_on_grid=min(on_grid, default=float("nan")),
        beta_exact=choice.beta,
        partner_ranks=ranks,
        scores=(weights @ weights.T).tolist(),
        outcomes={name: _outcome(settings, module, sample, rule) for name, rule in RULES.items()},
    )


def _row(scores: Any, name: str) -> Any:
    return scores[FEATURES.index(name)]


def _outcome(settings: Settings, module: Any, sample: Sample, rule: dict[str, Any]) -> Outcome:
    result = sfit.feature_significance(
        module, *sample.test, alpha=settings.alpha, max_order=2, **(rule | MASKING)
    )
    by_term = {test.term: test for test in sign_tests(result.tests)}
    wanted = [(name,) for name in FEATURES] + list(TRUE_PAIRS)
    return Outcome(
        first=tuple(term[0] for term in result.significant[1]),
        pairs=tuple(result.significant.get(2, ())),
        gates=tuple(gate.is_open for gate in result.gates),
        sets={
            "+".join(term): SetOutcome(
                test.statistic,
                test.ci_low,
                test.ci_high,
                test.p_value,
                test.beta_max,
                test.significant,
            )
            for term in wanted
            if (test := by_term.get(term)) is not None
        },
    )


# --- the page ---------------------------------------------------------------------------


def figures(result: Result) -> dict[str, Any]:
    """Figure 1 of the first network, and the statistics of Table 1 over all networks."""
    drawn, axes = new_figure(width=4.6)
    matrix = np.array(result.networks[0].scores)
    np.fill_diagonal(matrix, np.nan)
    image = axes.imshow(matrix, cmap="Blues")
    axes.set(
        xticks=range(7),
        yticks=range(7),
        xticklabels=FEATURES,
        yticklabels=FEATURES,
        title=r"$|W|^T|W|$ of the first network, diagonal left out",
    )
    for row, name in enumerate(FEATURES):
        if name in PARTNERS:
            column = FEATURES.index(PARTNERS[name])
            axes.text(column, row, "●", ha="center", va="center", color="#D55E00")
    drawn.colorbar(image, ax=axes)

    compared, axes = new_figure(columns=4, width=2.3, height=2.9)
    for ax, (term, (paper, low, high)) in zip(axes, PAPER.items(), strict=True):
        ours = [
            outcome
            for network in result.networks
            if (outcome := network.outcomes["0.01, 0.01"].sets.get("+".join(term)))
        ]
        for place, outcome in enumerate(sorted(ours, key=lambda one: one.statistic), 1):
            colour = "#0072B2" if outcome.significant else "#7F7F7F"
            ax.plot([place, place], [outcome.low, outcome.high], color=colour)
            ax.plot(place, outcome.statistic, "o", color=colour, markersize=4)
        ax.axhspan(low, high, color="#D55E00", alpha=0.15)
        ax.axhline(paper, color="#D55E00")
        ax.axhline(PERFECT[term], color="black", linestyle=":")
        ax.set(title=", ".join(term), xticks=[])
    axes[0].set_ylabel("median, 95 % interval")
    return {"weights": drawn, "table1": compared}


def page(result: Result) -> str:
    """Table 1, what was found, the gates, beta, and the partners."""
    return joined(
        _setting(result), _table1(result), _findings(result), _betas(result), _weights(result)
    )


def _setting(result: Result) -> str:
    networks = result.networks
    return f"""
The paper trains one network on 100,000 rows of `Y = 3 + 4 X1 + X1 X2 + 3 X3^2 + 2 X4 X5 + e` and tests
it on 10,000. This page uses {len(networks)} networks with separate rows, initial weights and orders of training.
They stopped after {spread([network.epochs for network in networks])} epochs at a mean squared
validation error of {spread([network.validation_loss for network in networks])}.
"""


def _table1_rows(result: Result) -> list[tuple[Any, ...]]:
    n = len(result.networks)
    paper_rule, advice = (result_of(result, name) for name in ("0.01, 0.01", "0.01, 0.001"))
    rows = []
    for term, (statistic, low, high) in PAPER.items():
        key = "+".join(term)
        coarse = [outcome.sets[key] for outcome in paper_rule if key in outcome.sets]
        finer = [outcome.sets[key] for outcome in advice if key in outcome.sets]
        rows.append(
            (
                f"({', '.join(term)})" if len(term) > 1 else term[0],
                statistic,
                interval(low, high),
                spread([one.statistic for one in coarse]),
                interval(coarse[0].low, coarse[0].high),
                PERFECT[term],
                times(sum(one.significant for one in coarse), n),
                spread([one.statistic for one in finer]),
                times(sum(one.significant for one in finer), n),
            )
        )
    return rows


def _table1(result: Result) -> str:
    """The statistics of Table 1 over all networks, and what the perfect model would find."""
    n, paper_rule = len(result.networks), result_of(result, "0.01, 0.01")
    noise = [
        outcome.sets[name].statistic
        for outcome in paper_rule
        for name in ("X2", "X4", "X5", "X6", "X7")
    ]
    alone = sum(
        outcome.sets[name].significant
        for outcome in paper_rule
        for name in ("X2", "X4", "X5", "X6", "X7")
    )
    return f"""
## Table 1

Median of the differences at alpha = 0.05: mean (smallest to largest) over {
        n
    } networks, and the number of networks in
which it is significant. The paper uses beta = 0.01 for both orders, as do the interval and the perfect model; the last two
columns use 0.01 for features and 0.001 for pairs, which subtracts less from the median of a pair.

{
        table(
            (
                "set",
                "paper",
                "its interval",
                "ours",
                "interval, seed 0",
                "perfect model",
                "found at 0.01",
                "ours at (0.01, 0.001)",
                "found at (0.01, 0.001)",
            ),
            _table1_rows(result),
        )
    }

![Table 1 over all networks](simulation-table1.png)

Each line is a network with its 95 % interval (grey: not significant). The paper's network is orange, the perfect model
dotted. The other five features alone have statistics between {min(noise):.3g} and {
        max(noise):.3g} and are
significant in {alone} of {5 * n} tests.

The statistics of X1 agree with the paper's. The true effects of X3 and the two pairs are close to the threshold that
beta = 0.01 sets: with the *perfect* model and 10,000 rows the test finds (X1, X2) in {
        sfit.power(10_000, PERFECT_SHARES["X1", "X2"]):.0%} of all
test sets and (X4, X5) in {
        sfit.power(
            10_000, PERFECT_SHARES["X4", "X5"]
        ):.0%}. In the paper's one network both are found, and
three of four statistics lie above those of the perfect model; another network can easily miss them. On average
ours are {_gap(result, "X1")}, {_gap(result, "X3")}, {_gap(result, "X1+X2")} and {
        _gap(result, "X4+X5")
    } of the
paper's, in the order of the table. The spread between networks is larger than this.
"""


def _findings(result: Result) -> str:
    """How often each rule finds the true sets and other pairs, and how often gates are open."""
    advice = result_of(result, "0.01, 0.001")
    others = [
        (pair, outcome) for outcome in advice for pair in outcome.pairs if pair not in TRUE_PAIRS
    ]
    tiny = sum(
        any(outcome.sets[name].beta_max > 0.001 for name in pair if name not in outcome.first)
        for pair, outcome in others
    )
    return f"""
## What was found

{
        table(
            (
                "beta (order 1, order 2)",
                "S1 = X1, X3",
                "(X1, X2) found",
                "(X4, X5) found",
                "S2 = X2, X4, X5",
                "exactly these two pairs",
                "with another pair",
                "with X6 or X7 in a pair",
                "gate after order 1 open",
                "gate after order 2 closed",
            ),
            [(name, *_counts(result_of(result, name))) for name in RULES],
        )
    }

With one network, the paper reports "yes" in the whole first row. S2 contains the features found in pairs only. All
planned pairs are tested, so S2 can be correct together with a pair such as (X2, X5), whose members belong to S2 anyway.
At (0.01, 0.001) there are {len(others)} other pairs in total; in {
        tiny
    } of them one member alone would be significant at
beta = 0.001, and so the pair is significant too. `strict=True` also requires a pair to improve on each of its members,
and leaves no noise feature in a pair. If the last gate is open, pairs were missed, and sfit warns that more remains to
be found.
"""


def _betas(result: Result) -> str:
    """Smallest sufficient beta by randomisation, on the paper's grid and exactly."""
    networks, n = result.networks, len(result.networks)
    betas = [f"{network.beta_on_grid:.0e}" for network in networks]
    chosen = ", ".join(f"{beta}: {times(betas.count(beta), n)}" for beta in sorted(set(betas)))
    return f"""
## beta by randomisation

The paper finds 1e-2 on the grid 1e-6 ... 1e-1 with 20 random models. Ours: {
        chosen
    }. The exact smallest
sufficient beta is {spread([network.beta_exact for network in networks])}.
"""


def _weights(result: Result) -> str:
    """Figure 1, and the ranks of the true partners."""
    n = len(result.networks)
    return f"""
## The matrix of absolute weights (Figure 1)

![Matrix of absolute weights](simulation-weights.png)

A dot marks the true partner in the rows of X2, X4 and X5. Rank of the true partner among the six
candidates, over {n} networks:

{
        table(
            ("feature", "true partner", "first", "second", "later"),
            [(name, partner, *_places(result, name)) for name, partner in PARTNERS.items()],
        )
    }

In the paper's one network, all three are first. If X1 is not first for X2, another feature with large weights is: use
`n_partners` of at least 2.
"""


def result_of(result: Result, rule: str) -> list[Outcome]:
    """The outcomes of one rule."""
    return [network.outcomes[rule] for network in result.networks]


def _gap(result: Result, key: str) -> str:
    """Our mean statistic as a share of the paper's."""
    statistics = [
        one.sets[key].statistic for one in result_of(result, "0.01, 0.01") if key in one.sets
    ]
    return f"{np.mean(statistics) / PAPER[tuple(key.split('+'))][0]:.0%}"


def _counts(outcomes: list[Outcome]) -> list[str]:
    n = len(outcomes)
    first = {term[0] for term in TRUE_FIRST}
    return [
        times(sum(set(one.first) == first for one in outcomes), n),
        *(times(sum(pair in one.pairs for one in outcomes), n) for pair in TRUE_PAIRS),
        times(sum(_second(one) == set(PARTNERS) for one in outcomes), n),
        times(sum(set(one.pairs) == set(TRUE_PAIRS) for one in outcomes), n),
        times(sum(bool(set(one.pairs) - set(TRUE_PAIRS)) for one in outcomes), n),
        times(sum(bool(_second(one) & {"X6", "X7"}) for one in outcomes), n),
        times(sum(one.gates[0] for one in outcomes), n),
        times(sum(len(one.gates) > 1 and not one.gates[1] for one in outcomes), n),
    ]


def _second(outcome: Outcome) -> set[str]:
    """S2: the features found in pairs only."""
    return {name for pair in outcome.pairs for name in pair} - set(outcome.first)


def _places(result: Result, name: str) -> list[int]:
    places = [network.partner_ranks[name] for network in result.networks]
    return [places.count(1), places.count(2), sum(place > 2 for place in places)]
