"""Section 3, Figures 2.1, 2.2 and 3: how often a set is found, against beta, alpha and rows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

import sfit
from sfit._for_studies import Contrasts, Term, p_value, term_over
from sfit.studies._networks import Network, Recipe
from sfit.studies._page import joined, new_figure, spread, table
from sfit.studies._section3 import (
    FEATURES,
    MASKING,
    TRUE_PAIRS,
    Sample,
    Sizes,
    draw,
    fit,
    fit_in_turns,
)

TITLE = "Section 3: power and size against beta, alpha and the number of rows (Figures 2.1, 2.2, 3)"

DRAWN = tuple((name,) for name in FEATURES) + TRUE_PAIRS
OTHER = "another pair"
NOISY = "a pair with X6 or X7"
RIGHT = "S2 = X2, X4, X5"
IN_PAIRS = ("X2", "X4", "X5")
NOISE = ("X6", "X7")
# Signals in strong colours, features that act only in pairs or not at all in pale ones.
STYLES = {
    "X1": ("#0072B2", "o-"),
    "X3": ("#D55E00", "s-"),
    "X1+X2": ("#009E73", "^--"),
    "X4+X5": ("#CC79A7", "D--"),
    OTHER: ("black", "x:"),
    NOISY: ("#999999", "+:"),
    "X2": ("#E69F00", ".-"),
    "X4": ("#56B4E9", ".-"),
    "X5": ("#88CCEE", ".-"),
    "X6": ("#999999", ".-"),
    "X7": ("#BBBBBB", ".-"),
}


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    sizes: Sizes = Sizes()
    recipe: Recipe = Recipe()
    n_networks: int = 100
    together: int = 50
    first_seed: int = 1_000
    alphas: tuple[float, ...] = (0.05, 0.01)
    betas: tuple[float, ...] = tuple(float(f"{b:.2g}") for b in np.logspace(-6, -1, 21))
    first_beta: float = 0.01
    """First-order beta if the second order has a different one (Figure 3)."""
    second_beta: float = 0.001
    test_sizes: tuple[int, ...] = (100, 200, 500, 1_000, 2_000, 5_000, 10_000)


FULL = Settings()
FAST = Settings(
    sizes=Sizes(train=2_000, validation=500, test=1_000),
    recipe=Recipe(hidden=(30, 15), learning_rate=5e-3, max_epochs=6),
    n_networks=3,
    together=3,
    betas=(1e-6, 1e-3, 1e-2, 1e-1),
    test_sizes=(200, 1_000),
)

Rates = dict[str, list[float]]
"""By set (`X1`, `X1+X2`, or another pair): the share of networks in which it was significant."""


@dataclass(frozen=True)
class Result:
    """Shares of the networks in which a set was significant."""

    betas: tuple[float, ...]
    against_beta: dict[str, Rates]
    """By alpha: the same beta for both orders (Figures 2.1 and 2.2)."""
    against_second_beta: dict[str, Rates]
    """By alpha: first order at `first_beta`, second order at each beta."""
    strict: dict[str, Rates]
    """The same, where a pair must improve on each of its members."""
    test_sizes: tuple[int, ...]
    against_rows: Rates
    """alpha = 0.05, both orders at their own beta (Figure 3)."""
    n_networks: int
    epochs: tuple[int, ...]
    validation_losses: tuple[float, ...]
    training_seconds: float
    alone_seconds: float
    """One epoch of one network, trained alone."""
    together_seconds: float
    """One epoch of one network in a full stack."""


def study(settings: Settings) -> Result:
    """Train all networks, then decide at every beta, alpha and number of rows."""
    seeds = range(settings.first_seed, settings.first_seed + settings.n_networks)
    started, spent = time.perf_counter(), 0.0
    networks: list[Network] = []
    by_beta: dict[str, list[list[set[str]]]] = {}
    by_second: dict[str, list[list[set[str]]]] = {}
    by_strict: dict[str, list[list[set[str]]]] = {}
    by_rows: list[list[set[str]]] = []
    for sample, network in fit_in_turns(settings.recipe, settings.sizes, seeds, settings.together):
        paused = time.perf_counter()
        networks.append(network)
        thresholds = Thresholds(network, sample, settings)
        for alpha in settings.alphas:
            same = [thresholds.found(alpha, beta, beta) for beta in settings.betas]
            fixed, strict = (
                [
                    thresholds.found(alpha, settings.first_beta, beta, strict=strict)
                    for beta in settings.betas
                ]
                for strict in (False, True)
            )
            by_beta.setdefault(str(alpha), []).append(same)
            by_second.setdefault(str(alpha), []).append(fixed)
            by_strict.setdefault(str(alpha), []).append(strict)
        by_rows.append(_against_rows(network, sample, settings))
        spent += time.perf_counter() - paused
    training = time.perf_counter() - started - spent
    alone, together = _seconds_of_an_epoch(settings)
    return Result(
        betas=settings.betas,
        against_beta={alpha: _rates(by_network) for alpha, by_network in by_beta.items()},
        against_second_beta={alpha: _rates(by_network) for alpha, by_network in by_second.items()},
        strict={alpha: _rates(by_network) for alpha, by_network in by_strict.items()},
        test_sizes=settings.test_sizes,
        against_rows=_rates(by_rows),
        n_networks=len(networks),
        epochs=tuple(network.epochs for network in networks),
        validation_losses=tuple(network.validation_loss for network in networks),
        training_seconds=training,
        alone_seconds=alone,
        together_seconds=together,
    )


class Thresholds:
    """Every decision at every beta, from one evaluation of a network.

    A contrast is significant exactly while beta is below its `beta_max`. The base of a pair depends
    on the features found before, so the pair is evaluated over each possible base.
    """

    def __init__(self, network: Network, sample: Sample, settings: Settings) -> None:
        self.contrasts = Contrasts(network.module(), *sample.test, **MASKING)
        everything, nothing = range(len(FEATURES)), frozenset[int]()
        keys = [(nothing, frozenset({j})) for j in everything]
        for pair in combinations(everything, 2):
            keys += [(base, frozenset(pair)) for base in (nothing, *(frozenset({j}) for j in pair))]
        possible = [term_over(base, term) for base, term in keys]
        self.beta_max = {
            alpha: {
                key: 0.0 if math.isnan(one.beta_max) else one.beta_max
                for key, one in zip(keys, self.contrasts.evidence(possible, alpha), strict=True)
            }
            for alpha in settings.alphas
        }
        self.gates: dict[Term, float] = {}

    def found(
        self, alpha: float, beta: float, second_beta: float, *, strict: bool = False
    ) -> set[str]:
        """Names of the sets that Algorithms 1 and 2 find at these levels."""
        beta_max, nothing = self.beta_max[alpha], frozenset[int]()
        first = frozenset(
            j for j in range(len(FEATURES)) if beta_max[nothing, frozenset({j})] > beta
        )
        singles = {FEATURES[j] for j in first}
        if self.gate(first) >= alpha:
            return singles
        return singles | {
            "+".join(FEATURES[j] for j in pair)
            for pair in combinations(range(len(FEATURES)), 2)
            if (base := first & set(pair)) != set(pair)
            and all(
                beta_max[over, frozenset(pair)] > second_beta
                for over in ({base} | {frozenset({j}) for j in pair} if strict else {base})
            )
        }

    def gate(self, first: Term) -> float:
        """p-value of the gate after these features were found at first order."""
        if first not in self.gates:
            [evidence] = self.contrasts.evidence([self.contrasts.gate(first)], 0.05)
            self.gates[first] = float(p_value(evidence.n_positive, evidence.n))
        return self.gates[first]


def _against_rows(network: Network, sample: Sample, settings: Settings) -> list[set[str]]:
    """Names of the sets found with the first n test rows, for each n."""
    module, (X, y) = network.module(), sample.test
    results = [
        sfit.feature_significance(
            module,
            X[:n],
            y[:n],
            beta=(settings.first_beta, settings.second_beta),
            max_order=2,
            **MASKING,
        )
        for n in settings.test_sizes
    ]
    return [
        {"+".join(term) for terms in result.significant.values() for term in terms}
        for result in results
    ]


def _rates(by_network: Sequence[Sequence[set[str]]]) -> Rates:
    """Share of the networks in which a set is found, from the sets of each network at each value."""
    rates = {
        name: np.mean([[name in at for at in network] for network in by_network], axis=0).tolist()
        for name in ("+".join(term) for term in DRAWN)
    }
    pairs: dict[str, Callable[[set[str]], Any]] = {
        OTHER: lambda at: any(_is_other(name, at) for name in at),
        NOISY: lambda at: any(
            _is_other(name, at) and set(NOISE) & set(_members(name)) for name in at
        ),
        RIGHT: lambda at: _second(at) == set(IN_PAIRS),
    }
    return rates | {
        name: np.mean(
            [[bool(holds(at)) for at in network] for network in by_network], axis=0
        ).tolist()
        for name, holds in pairs.items()
    }


def _members(name: str) -> tuple[str, ...]:
    return tuple(name.split("+"))


def _second(names: set[str]) -> set[str]:
    """S2: the features found in pairs only."""
    return {member for name in names for member in _members(name)} - names


def _is_other(name: str, names: set[str]) -> bool:
    """Whether this is a pair that is neither true nor significant because of X1 or X3 alone.

    If beta is so large that X3 alone is not found, its pairs are found because of it.
    """
    members = _members(name)
    hidden = {"X1", "X3"} - names
    return len(members) == 2 and members not in TRUE_PAIRS and not hidden & set(members)


def _seconds_of_an_epoch(settings: Settings) -> tuple[float, float]:
    """Processor time of one epoch of a network: trained alone, and in a stack."""
    recipe = replace(settings.recipe, max_epochs=1)
    samples = [draw(settings.sizes, seed) for seed in range(settings.together)]
    seconds = []
    for stack in (samples[:1], samples):
        # Processor time excludes other work on the machine.
        started = time.process_time()
        fit(recipe, stack)
        seconds.append((time.process_time() - started) / len(stack))
    return seconds[0], seconds[1]


# --- the page ---------------------------------------------------------------------------


def figures(result: Result) -> dict[str, Any]:
    """Figures 2.1 and 2.2 with ours of a fixed first-order beta, and Figure 3."""
    drawn = {}
    for name, alpha in zip(("2-1", "2-2"), result.against_beta, strict=False):
        figure, (same, fixed) = new_figure(columns=2, width=5.2)
        _lines(same, result.betas, result.against_beta[alpha])
        _lines(fixed, result.betas, result.against_second_beta[alpha])
        same.set(xscale="log", xlabel="beta, both orders", title=f"alpha = {alpha}")
        fixed.set(
            xscale="log",
            xlabel="beta of order 2 (order 1: 0.01)",
            title=f"alpha = {alpha}, first order at 0.01",
        )
        same.set_ylabel("share of networks in which significant")
        figure.legend(*same.get_legend_handles_labels(), loc="outside right", frameon=False)
        drawn[f"figure{name}"] = figure
    figure, ax = new_figure()
    _lines(ax, result.test_sizes, result.against_rows)
    ax.set(
        xscale="log",
        xlabel="test rows",
        ylabel="share of networks in which significant",
        title="alpha = 0.05, beta = 0.01 and 0.001",
    )
    figure.legend(*ax.get_legend_handles_labels(), loc="outside right", frameon=False)
    drawn["figure3"] = figure
    return drawn


def _lines(ax: Any, values: Iterable[float], rates: Rates) -> None:
    ax.set_ylim(-0.03, 1.03)
    for name, (colour, style) in STYLES.items():
        label = f"({name.replace('+', ', ')})" if "+" in name else name
        ax.plot(list(values), rates[name], style, color=colour, markersize=5, label=label)


def page(result: Result) -> str:
    """The three figures, their numbers, and the time saved by training together."""
    sections = (_setting, _against_beta, _sentences, _against_test_rows, _training)
    return joined(*(section(result) for section in sections))


def _setting(result: Result) -> str:
    return f"""
{
        result.n_networks
    } networks, each with separate training, validation and test rows. They stopped after
{spread(result.epochs)} epochs at a mean squared validation error of {
        spread(result.validation_losses)
    }.
The tables give the share of the networks in which a set is significant. "{
        OTHER
    }" is the share with at least one
significant pair other than (X1, X2), (X4, X5) and the pairs of an X1 or X3 that was not found alone; "{
        NOISY
    }"
counts those pairs that contain a noise feature. S2 contains the features found in pairs only. The paper shows figures
without numbers, so this page compares its statements instead.
"""


def _powers_of_ten(result: Result) -> list[int]:
    """Positions of the betas that are columns of the tables."""
    logs = np.log10(result.betas)
    return np.flatnonzero(np.isclose(logs, np.round(logs), rtol=0, atol=1e-9)).tolist()


def _against_beta(result: Result) -> str:
    """Figures 2.1 and 2.2, and their numbers."""
    at = _powers_of_ten(result)
    betas = [f"{result.betas[place]:.0e}" for place in at]
    wide, narrow = result.against_beta.values()
    fixed_wide, fixed_narrow = result.against_second_beta.values()
    strict_wide, strict_narrow = result.strict.values()
    return f"""
## Figures 2.1 and 2.2: against beta

![Figure 2.1](power-figure2-1.png)
![Figure 2.2](power-figure2-2.png)

Left: the whole procedure with the same beta for both orders. Right: the first order stays at 0.01, as in the paper's
Figure 3. Shares at alpha = 0.05, with alpha = 0.01 in brackets where it differs:

{table(("set", *betas), _both(wide, narrow, at))}

At small betas the left panel shows fewer pairs, because their members are then significant alone, rightly or wrongly,
and Algorithm 2 no longer tests such a pair. With the first order at 0.01:

{table(("set", *betas), _both(fixed_wide, fixed_narrow, at)[7:])}

With `strict=True`, which requires a pair to improve on each of its members, significant or not:

{table(("set", *betas), _both(strict_wide, strict_narrow, at)[7:])}

"{OTHER}" is mostly "{
        NOISY
    }", a false discovery: the improvement of such a pair comes from X2, X4 or X5,
which improve predictions very slightly on their own in many networks (first table). `strict` removes these pairs at every
beta of at least 1e-4. At 0.001, S2 is then correct in {
        _share(result.strict["0.05"], result, RIGHT, 0.001):.0%} of
the networks, without `strict` in {
        _share(
            result.against_second_beta["0.05"], result, RIGHT, 0.001
        ):.0%}. The remaining other pairs combine features that
belong to S1 and S2 anyway.
"""


def _sentences(result: Result) -> str:
    """The paper's statements about these figures, checked."""
    wide, narrow = result.against_beta.values()
    smallest = result.betas[_powers_of_ten(result)[0]]
    return f"""
Statements of the paper about its figures, and our results:

- *beta matters more than alpha.* {
        _agrees(_largest_gap(wide, narrow) < 0.35)
    }: going from alpha = 0.05 to
  0.01 changes no share by more than {
        _largest_gap(wide, narrow):.2f}; varying beta changes them from 0 to 1.
- *First order: a beta as large as 0.01 separates signal from noise.*
  {
        _agrees(_most(result, IN_PAIRS + NOISE, 0.01) <= 0.05 and _least(result, 0.01) >= 0.95)
    }: at 0.01 X1 and
  X3 are found in {_least(result, 0.01):.0%} of the networks, any other feature in at most
  {_most(result, IN_PAIRS + NOISE, 0.01):.0%}. At {
        smallest:.0e} X2, X4 or X5, which act only in pairs, are found
  in up to {_most(result, IN_PAIRS, smallest):.0%}, and X6 and X7 in up to
  {_most(result, NOISE, smallest):.0%}: without beta the test finds what the networks
  learnt by accident, as the paper says.
- *The second order needs a smaller beta, about 0.001.* At 0.01 (X1, X2) is found in
  {_share(wide, result, "X1+X2", 0.01):.0%} and (X4, X5) in {
        _share(wide, result, "X4+X5", 0.01):.0%}; at
  0.001, with the first order at 0.01, in
  {_share(result.against_second_beta["0.05"], result, "X1+X2", 0.001):.0%} and
  {_share(result.against_second_beta["0.05"], result, "X4+X5", 0.001):.0%}, at the cost of
  another pair in {
        _share(result.against_second_beta["0.05"], result, OTHER, 0.001):.0%} of the networks and of
  one with X6 or X7 in {
        _share(result.against_second_beta["0.05"], result, NOISY, 0.001):.0%}. With `strict`
  these are {_share(result.strict["0.05"], result, OTHER, 0.001):.0%} and {
        _share(
            result.strict["0.05"], result, NOISY, 0.001
        ):.0%}, and (X1, X2) and (X4, X5) are still found in
  {_share(result.strict["0.05"], result, "X1+X2", 0.001):.0%} and {
        _share(result.strict["0.05"], result, "X4+X5", 0.001):.0%}.
"""


def _against_test_rows(result: Result) -> str:
    """Figure 3, and its numbers."""
    return f"""
## Figure 3: against the number of test rows

![Figure 3](power-figure3.png)

{
        table(
            ("set", *(f"{n:,}" for n in result.test_sizes)),
            [
                (name.replace("+", ", "), *(f"{rate:.2f}" for rate in rates))
                for name, rates in result.against_rows.items()
            ],
        )
    }

The paper recommends a couple of thousand rows and sees no gain beyond. This holds for X1 and X3; the two pairs still
gain between 2,000 and 10,000 rows. "{
        OTHER
    }" does not become rarer with more rows: the networks really make these
improvements, but they are too small to matter. `strict=True` removes the pairs with noise; a larger beta removes all of
them. X2 and X4 to X7 alone lie on the zero line.
"""


def _training(result: Result) -> str:
    """The time saved by training together."""
    one, ten = result.alone_seconds, result.together_seconds
    return f"""
## Training together

One epoch took {one:.2f} s of processor time for a network trained alone, and {
        ten:.2f} s per network in a stack (batched
weights, one optimiser step for all): {
        one / ten:.1f} times less, with the same number of threads. For the {
        sum(result.epochs):,} epochs of all {result.n_networks}
networks this is {sum(result.epochs) * ten:,.0f} s instead of {
        sum(result.epochs) * one:,.0f} s. Training took {
        result.training_seconds:,.0f} s of elapsed time, including other work on the machine.
"""


def _both(wide: Rates, narrow: Rates, at: Sequence[int]) -> list[list[str]]:
    rows = []
    for name in wide:
        cells = [
            f"{wide[name][place]:.2f}"
            + (f" ({narrow[name][place]:.2f})" if wide[name][place] != narrow[name][place] else "")
            for place in at
        ]
        rows.append([name.replace("+", ", "), *cells])
    return rows


def _largest_gap(wide: Rates, narrow: Rates) -> float:
    return float(max(np.max(np.abs(np.subtract(wide[name], narrow[name]))) for name in wide))


def _share(rates: Mapping[str, list[float]], result: Result, name: str, beta: float) -> float:
    place = int(np.argmin(np.abs(np.log10(result.betas) - math.log10(beta))))
    return rates[name][place]


def _most(result: Result, names: Sequence[str], beta: float) -> float:
    return max(_share(result.against_beta["0.05"], result, name, beta) for name in names)


def _least(result: Result, beta: float) -> float:
    return min(_share(result.against_beta["0.05"], result, name, beta) for name in ("X1", "X3"))


def _agrees(truth: bool) -> str:
    return "Confirmed" if truth else "Not quite confirmed"
