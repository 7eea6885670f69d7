"""Section 3, Table 2: LOCO with a refit per feature, and its time beside that of SFIT."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import sfit
from sfit._array import Array
from sfit._for_studies import p_value, ranks
from sfit.studies._networks import Network, Recipe, import_torch, train
from sfit.studies._page import interval, joined, new_figure, spread, table, times
from sfit.studies._section3 import FEATURES, INTERCEPT, MASKING, Sample, Sizes, draw

TITLE = "Section 3: LOCO, with a refit per feature (Table 2)"

# Table 2: statistic and interval.
PAPER = {
    "X1": (2.51, 2.46, 2.57),
    "X2": (0.434, 0.420, 0.448),
    "X3": (2.18, 2.15, 2.20),
    "X4": (0.732, 0.706, 0.754),
    "X5": (0.740, 0.717, 0.767),
    "X6": (0.023, 0.020, 0.025),
    "X7": (0.006, 0.004, 0.008),
}
# Perfect models: the true regression function against the one given the other features, by Monte
# Carlo with many rows; the tests repeat it.
PERFECT = {"X1": 2.558, "X2": 0.3573, "X3": 2.470, "X4": 0.7224, "X5": 0.7224, "X6": 0.0, "X7": 0.0}
PAPER_RATIO = 30
NOISE = ("X6", "X7")


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    sizes: Sizes = Sizes()
    recipe: Recipe = Recipe()
    seeds: tuple[int, ...] = tuple(range(5))
    alpha: float = 0.05
    beta: float = 0.01
    grid: tuple[float, ...] = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
    n_random_models: int = 20
    timing_repeats: int = 5


FULL = Settings()
FAST = Settings(
    sizes=Sizes(train=2_000, validation=500, test=1_500),
    recipe=Recipe(hidden=(40, 20), learning_rate=3e-3, max_epochs=6),
    seeds=(0, 1),
    n_random_models=2,
    timing_repeats=1,
)


@dataclass(frozen=True)
class Test:
    """The test of one feature."""

    statistic: float
    low: float
    high: float
    p_value: float
    significant: bool


@dataclass(frozen=True)
class Seconds:
    """Processor time of each method, for one network and one set of test rows.

    Processor time excludes other work on the machine.
    """

    refit: float
    """One training; LOCO needs one per feature."""
    plain: float
    """First-order SFIT as Algorithm 1 is printed: one predict pass per feature."""
    fast: float
    """First-order SFIT by `feature_significance`, gate included."""
    plain_beta: float
    """beta by the paper's loop over its grid, with new random models at each value."""
    plain_beta_passes: int
    """Predict passes over the validation rows in that loop."""
    fast_beta: float
    """beta by `choose_beta`."""


@dataclass(frozen=True)
class Result:
    """Tests by seed and feature, and times."""

    loco: tuple[dict[str, Test], ...]
    sfit: tuple[dict[str, Test], ...]
    epochs: tuple[tuple[int, ...], ...]
    """Of each seed: the full network, then the refits without X1, X2, ..."""
    seconds: Seconds


def study(settings: Settings) -> Result:
    """Train eight networks per seed at once, compare them, and measure times."""
    loco, sfit_tests, epochs = [], [], []
    for seed in settings.seeds:
        sample = draw(settings.sizes, seed)
        full, *refits = _fit_all(settings.recipe, sample)
        loco.append(_loco(full, refits, sample, settings.alpha))
        sfit_tests.append(_sfit(full, sample, settings))
        epochs.append(tuple(network.epochs for network in (full, *refits)))
    return Result(tuple(loco), tuple(sfit_tests), tuple(epochs), _seconds(settings))


def _fit_all(recipe: Recipe, sample: Sample) -> list[Network]:
    """The full network, and one network without each feature, whose column is 0 there.

    The weights of a constant 0 are never updated, so this equals a network without the input. Only
    its initial weights are drawn as if it had the input (Glorot's bound is 0.3 % smaller).
    """
    hidden = [None, *FEATURES]
    stacks: list[Array] = []
    for X, y in (sample.train, sample.validation):
        stacks += [np.stack([_hide(X, name) for name in hidden]), np.stack([y] * len(hidden))]
    rows, target, rows_valid, target_valid = stacks
    seeds = [1_000 * sample.seed + place for place in range(len(hidden))]
    return train(recipe, rows, target, rows_valid, target_valid, seeds)


def _hide(X: Any, name: str | None) -> Array:
    hidden = X if name is None else X.assign(**{name: 0.0})
    return np.asarray(hidden, dtype=np.float32)


def _loco(
    full: Network, refits: Sequence[Network], sample: Sample, alpha: float
) -> dict[str, Test]:
    X, y = sample.test
    loss = np.abs(y - _predict(full, X))
    return {
        name: compare(np.abs(y - _predict(refit, X.assign(**{name: 0.0}))), loss, alpha)
        for name, refit in zip(FEATURES, refits, strict=True)
    }


def compare(base: Array, full: Array, alpha: float) -> Test:
    """LOCO: the sign test of the losses of two models, at beta = 0 (Lei et al. 2018)."""
    differences = np.sort(base - full)
    n, level = len(differences), ranks(len(differences), alpha, "exact")
    p = float(p_value(np.sum(differences > 0), n))
    low, high = differences[level.low - 1], differences[level.high - 1]
    return Test(float(np.median(differences)), float(low), float(high), p, p < alpha)


def _predict(network: Network, X: Any) -> Array:
    torch = import_torch()
    with torch.no_grad():
        rows = torch.from_numpy(np.asarray(X, dtype=np.float32))
        return network.module()(rows)[:, 0].double().numpy()


def _sfit(network: Network, sample: Sample, settings: Settings) -> dict[str, Test]:
    result = sfit.feature_significance(
        network.module(), *sample.test, alpha=settings.alpha, beta=settings.beta, **MASKING
    )
    return {
        test.term[0]: Test(test.estimate, test.ci_low, test.ci_high, test.p_value, test.significant)
        for test in result.tests
    }


# --- times ------------------------------------------------------------------------------


def _seconds(settings: Settings) -> Seconds:
    sample = draw(settings.sizes, settings.seeds[0])
    started = time.process_time()
    X, y, X_valid, y_valid = (
        np.asarray(part, dtype=np.float32)[None] for part in (*sample.train, *sample.validation)
    )
    [network] = train(settings.recipe, X, y, X_valid, y_valid, [1_000 * sample.seed])
    refit = time.process_time() - started

    module = network.module()
    started = time.process_time()
    passes = plain_choice(settings, network, sample)
    plain_beta = time.process_time() - started

    def ours() -> None:
        sfit.feature_significance(module, *sample.test, beta=settings.beta, **MASKING)

    def our_beta() -> None:
        sfit.choose_beta(
            module,
            *sample.validation,
            n_models=settings.n_random_models,
            max_beta=1.0,
            random_state=0,
            **MASKING,
        )

    return Seconds(
        refit=refit,
        plain=_shortest(
            lambda: plain_sfit(network, sample.test, settings.beta, settings.alpha), settings
        ),
        fast=_shortest(ours, settings),
        plain_beta=plain_beta,
        plain_beta_passes=passes,
        fast_beta=_shortest(our_beta, settings),
    )


def _shortest(call: Callable[[], Any], settings: Settings) -> float:
    seconds = []
    for _ in range(settings.timing_repeats):
        started = time.process_time()
        call()
        seconds.append(time.process_time() - started)
    return min(seconds)


def plain_sfit(
    network: Network, rows: tuple[Any, Array], beta: float, alpha: float
) -> dict[str, Test]:
    """Algorithm 1 as printed: a masked data set and a predict pass for every feature."""
    X, y = rows
    values, columns = X.to_numpy(), list(X.columns)
    masked = np.zeros_like(values)
    masked[:, columns.index(INTERCEPT)] = 1.0
    base = (1 - beta) * np.abs(y - _predict(network, masked))
    tests = {}
    for name in FEATURES:
        revealed = masked.copy()
        revealed[:, columns.index(name)] = values[:, columns.index(name)]
        tests[name] = compare(base, np.abs(y - _predict(network, revealed)), alpha)
    return tests


def plain_choice(settings: Settings, network: Network, sample: Sample) -> int:
    """Section 2.2 as printed: new random models at each beta, until few enough tests reject.

    Returns the number of predict passes over the validation rows.
    """
    rng = np.random.default_rng(settings.seeds[0])
    passes = 0
    for beta in settings.grid:
        rejected = []
        for _ in range(settings.n_random_models):
            layers = tuple(_glorot_normal(weights.shape, rng) for weights, _ in network.layers)
            random = Network(layers, 0, np.nan)
            tests = plain_sfit(random, sample.validation, beta, settings.alpha)
            rejected += [test.significant for test in tests.values()]
            passes += 1 + len(FEATURES)
        if np.mean(rejected) < settings.alpha:
            break
    return passes


def _glorot_normal(shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Array, Array]:
    weights = rng.normal(scale=np.sqrt(2 / sum(shape)), size=shape)
    return weights.astype(np.float32), np.zeros(shape[1], dtype=np.float32)


# --- the page ---------------------------------------------------------------------------


def figures(result: Result) -> dict[str, Any]:
    """Table 2 over the seeds, and the times."""
    figure, (left, right) = new_figure(columns=2, width=4.6, height=3.4)
    for place, name in enumerate(FEATURES):
        paper, low, high = PAPER[name]
        left.plot([place - 0.2] * 2, [low, high], color="#D55E00")
        left.plot(place - 0.2, paper, "D", color="#D55E00", markersize=5)
        left.plot([place - 0.35, place + 0.45], [PERFECT[name]] * 2, ":", color="black")
        for number, tests in enumerate(result.loco):
            test = tests[name]
            colour = "#0072B2" if test.significant else "#7F7F7F"
            left.plot(place + 0.08 * number, test.statistic, "o", color=colour, markersize=4)
    left.axhline(0, color="black", linewidth=0.6)
    left.set_yscale("symlog", linthresh=0.05)
    left.set(xticks=range(7), xticklabels=FEATURES, title="LOCO: median of the differences")
    left.set_ylim(top=5)
    left.set_yticks([-0.1, 0, 0.1, 1], ["-0.1", "0", "0.1", "1"])
    left.plot([], [], "D", color="#D55E00", label="paper")
    left.plot([], [], ":", color="black", label="perfect models")
    left.plot([], [], "o", color="#0072B2", label="ours")
    left.plot([], [], "o", color="#7F7F7F", label="ours, not significant")
    left.legend(frameon=False)
    bars = _bars(result.seconds)
    right.barh(list(bars), list(bars.values()), color="#0072B2")
    right.invert_yaxis()
    right.set(xscale="log", xlabel="seconds of the processor", title="time for all seven features")
    for place, value in enumerate(bars.values()):
        right.text(value, place, f" {value:.3g} s", va="center", fontsize=8)
    right.set_xlim(right=10 * max(bars.values()))
    return {"table2": figure}


def _bars(seconds: Seconds) -> dict[str, float]:
    return {
        "LOCO, 7 refits": 7 * seconds.refit,
        "SFIT, loop, with beta": seconds.plain + seconds.plain_beta,
        "SFIT, ours, with beta": seconds.fast + seconds.fast_beta,
        "SFIT, loop": seconds.plain,
        "SFIT, ours": seconds.fast,
    }


def page(result: Result) -> str:
    """Table 2, the noise features, and the times."""
    return joined(_table2(result), _times(result.seconds))


def _table2(result: Result) -> str:
    n = len(result.loco)
    rows = []
    for name in FEATURES:
        paper, low, high = PAPER[name]
        tests = [tests[name] for tests in result.loco]
        rows.append(
            (
                name,
                paper,
                interval(low, high),
                spread([test.statistic for test in tests]),
                PERFECT[name],
                interval(tests[0].low, tests[0].high),
                times(sum(test.significant for test in tests), n),
                times(sum(tests[name].significant for tests in result.sfit), n),
            )
        )
    false_loco = sum(tests[name].significant for tests in result.loco for name in NOISE)
    false_sfit = sum(tests[name].significant for tests in result.sfit for name in NOISE)
    return f"""
For each of {
        n
    } seeds, one network is trained on all features and seven more without one feature each. Every network has
its own initial weights and order of training ({
        spread([epoch for epochs in result.epochs for epoch in epochs])
    } epochs).

## Table 2

Median of |y - refit| - |y - full| on the test rows: mean (smallest to largest) over {
        n
    } seeds. The last two columns show
how often a feature was significant at alpha = 0.05.

{
        table(
            (
                "feature",
                "paper",
                "its interval",
                "ours",
                "perfect models",
                "interval, seed 0",
                "LOCO finds",
                "SFIT finds (first order, beta 0.01)",
            ),
            rows,
        )
    }

![Table 2 and the times](loco-table2.png)

(Grey: not significant. The scale is linear within 0.05 of zero, logarithmic beyond.) LOCO finds X2, X4 and X5 because
it removes a feature from all its interactions at once; SFIT finds them at the second order
([simulation](simulation.md)). LOCO calls the noise features X6 and X7 significant in {
        false_loco
    } of {2 * n} tests (the paper: 2
of 2), SFIT in {false_sfit} of {
        2 * n
    }. LOCO finds them when one of two trainings happens to end with a slightly
better network: the test is right about the two fitted models but says nothing about the feature.

For X1 to X5, our means are {
        _gaps(result)
    } of the paper's. The fifth column has the medians of perfect models: the true
regression function, and the one given the other features. For X2, where the paper's one pair of networks and ours differ
most, our mean is closer to the perfect models.
"""


def _times(seconds: Seconds) -> str:
    refits, passes = 7 * seconds.refit, f"{seconds.plain_beta_passes:,}"
    ways = {
        "the plain loop (Algorithm 1 as printed)": seconds.plain,
        "`feature_significance`, gate included": seconds.fast,
        "the plain loop, and beta by the paper's loop over its grid": seconds.plain
        + seconds.plain_beta,
        "`feature_significance` and `choose_beta`": seconds.fast + seconds.fast_beta,
    }
    return f"""
## Time

One training took {seconds.refit:.1f} s of processor time, so the seven refits of LOCO take {
        refits:,.0f} s.

{
        table(
            ("first-order SFIT", "seconds", "time of LOCO / this time"),
            [(way, value, f"{refits / value:,.0f}") for way, value in ways.items()],
        )
    }

The paper reports a ratio of {
        PAPER_RATIO
    } without saying what it includes. The tests alone are far cheaper. The ratio
is closer to ours if the choice of beta is included: the loop over the grid, with new random models at each value, took
{
        passes
    } predict passes over the validation rows here. `choose_beta` uses the same random models for every beta and the
structure of the network, which makes most predictions unnecessary; it is {
        seconds.plain_beta / seconds.fast_beta:.0f} times faster. On these 10,000 rows and seven
features the test itself takes {
        seconds.fast
        / seconds.plain:.1f} times as long as the plain loop: one pass costs very little, and the test also
verifies its routes against the model, tests the gate and computes `beta_max`. Almost all of LOCO's time is refitting.
"""


def _gaps(result: Result) -> str:
    """Our mean statistics of X1 to X5 as shares of the paper's."""
    means = {name: np.mean([tests[name].statistic for tests in result.loco]) for name in FEATURES}
    return ", ".join(f"{means[name] / PAPER[name][0]:.0%}" for name in FEATURES[:5])
