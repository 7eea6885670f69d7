"""Calibration: type I error against beta, coverage, gates and corrections (ours)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

import sfit
from sfit._array import Array
from sfit._for_studies import (
    Contrasts,
    Term,
    adjust,
    delta,
    p_value,
    ranks,
    relative_improvement,
    single,
)
from sfit.simulate import interactions, interactions_mean
from sfit.studies._calibration_page import CURVE_BETAS, figures, page
from sfit.studies._networks import Recipe, train

__all__ = ["FAST", "FULL", "TITLE", "Result", "Settings", "figures", "page", "study"]

TITLE = "Calibration: size, coverage, gates, corrections"


@dataclass(frozen=True)
class Settings:
    """Everything that can be chosen."""

    repeats: int = 100
    """Number of fits of every model."""
    n_noise: int = 50
    """Noise columns of the linear models, in addition to two true features."""
    n_train_linear: int = 100
    n_train: int = 500
    n_test: int = 2_000
    recipe: Recipe = Recipe(patience=1_000)
    """Trained without early stopping, to overfit on purpose."""
    epochs: tuple[int, ...] = (50, 100, 200)
    """Lengths of training: the paper's maximum, and longer."""
    n_trees: int = 100
    alpha: float = 0.05
    betas: tuple[float, ...] = (0.0, 0.001, 0.01, 0.05)
    coverage_rows: tuple[int, ...] = (44, 50, 200, 1_000)
    coverage_draws: int = 20_000
    truth_rows: int = 4_000_000
    """Number of rows for the true median."""
    seed: int = 0


FULL = Settings()
FAST = Settings(
    repeats=4,
    n_noise=10,
    n_train_linear=40,
    n_train=200,
    n_test=500,
    recipe=Recipe(hidden=(30, 15), patience=1_000),
    epochs=(10, 20),
    n_trees=10,
    coverage_draws=500,
    truth_rows=400_000,
)


@dataclass(frozen=True)
class Fitted:
    """A model, its test rows, the reference, and the names of the noise features."""

    model: Any
    X: pd.DataFrame
    y: Array
    reference: Any
    noise: tuple[str, ...]


@dataclass(frozen=True)
class Size:
    """One kind of model, at each beta."""

    n_tests: int
    """Tests of noise features at each beta."""
    type_one: tuple[float, ...]
    """Share of these tests that reject."""
    type_one_by: tuple[float, ...]
    """The same with the Benjamini-Yekutieli correction."""
    any_false: tuple[float, ...]
    """Share of the fits with at least one rejected noise feature."""
    any_false_by: tuple[float, ...]
    power: tuple[float, ...]
    """Share of the tests of true features that reject."""
    power_by: tuple[float, ...]
    curve: tuple[float, ...]
    """Share of the tests of noise features that reject at each of `CURVE_BETAS`."""
    gate: float
    """Share of the fits whose gate is open although only noise features are left."""
    above: float
    """Share of the test rows whose target lies above the prediction at the reference."""
    raised: float
    """Share of the test rows whose prediction rises when a noise feature is revealed."""
    moved: float
    """Standard deviation of this change, in standard deviations of the target."""


@dataclass(frozen=True)
class Coverage:
    """Intervals of one kind at one number of rows."""

    interval: str
    n: int
    low: int
    high: int
    """Ranks."""
    exact: float
    """From the binomial distribution."""
    observed: float
    """Over simulated test sets."""
    mean_width: float


@dataclass(frozen=True)
class Result:
    """Sizes, coverage and the size at the boundary."""

    repeats: int
    betas: tuple[float, ...]
    sizes: dict[str, Size]
    coverage: tuple[Coverage, ...]
    boundary: dict[int, float]
    """By number of rows: size of the sign test if the median is exactly 0."""


def study(settings: Settings) -> Result:
    """Fit every kind of model many times and count rejections."""
    kinds: dict[str, Callable[[Settings], Iterator[Fitted]]] = {
        "least squares, 52 columns": lambda s: _linear(s, np.random.Generator.normal, 0.0, True),
        "least squares, skewed features and noise": lambda s: _linear(s, _skewed, 0.0, True),
        "least squares, means of 1, reference 0": lambda s: _linear(
            s, np.random.Generator.normal, 1.0, False
        ),
        "the same, reference = training means": lambda s: _linear(
            s, np.random.Generator.normal, 1.0, True
        ),
        **{
            f"network, {epochs} epochs": partial(_networks, epochs=epochs)
            for epochs in settings.epochs
        },
        "random forest": _forests,
        "random forest, a fourth of the test rows": lambda s: _forests(
            replace(s, n_test=s.n_test // 4)
        ),
    }
    sizes = {name: _size(settings, fitted(settings)) for name, fitted in kinds.items()}
    boundary = {n: sfit.power(n, 0.5, settings.alpha) for n in (50, 200, 1_000, 10_000)}
    return Result(settings.repeats, settings.betas, sizes, tuple(_coverages(settings)), boundary)


# --- models -----------------------------------------------------------------------------


def _skewed(rng: np.random.Generator, size: Any) -> Array:
    """Exponential draws with mean 0."""
    return rng.exponential(size=size) - 1


def _linear(settings: Settings, drawn: Any, mean: float, centred: bool) -> Iterator[Fitted]:
    """Y = 1 + X1 + X2 + noise, with many columns that do not enter."""
    from sklearn.linear_model import LinearRegression

    names = [f"X{j}" for j in range(1, settings.n_noise + 3)]
    for repeat in range(settings.repeats):
        rng = np.random.default_rng([settings.seed, repeat])
        n = settings.n_train_linear + settings.n_test
        X = pd.DataFrame(mean + drawn(rng, size=(n, len(names))), columns=names)
        y = 1 + X["X1"] + X["X2"] + drawn(rng, size=n)
        train, test = slice(0, settings.n_train_linear), slice(settings.n_train_linear, None)
        model = LinearRegression().fit(X[train], y[train])
        reference = X[train] if centred else 0.0
        yield Fitted(model, X[test], y[test].to_numpy(), reference, tuple(names[2:]))


def _section3(settings: Settings, repeat: int) -> tuple[pd.DataFrame, Array]:
    rng = np.random.default_rng([settings.seed, 1, repeat])
    return interactions(settings.n_train + settings.n_test, random_state=rng)


def _networks(settings: Settings, epochs: int) -> Iterator[Fitted]:
    """The paper's network, trained on few rows without early stopping."""
    n, recipe = settings.n_train, replace(settings.recipe, max_epochs=epochs)
    samples = [_section3(settings, repeat) for repeat in range(settings.repeats)]
    rows = np.stack([X[:n].to_numpy(np.float32) for X, _ in samples])
    target = np.stack([y[:n] for _, y in samples])
    # All lengths start from the same weights, and see the rows in the same order.
    networks = train(recipe, rows, target, rows[:, :1], target[:, :1], range(settings.repeats))
    for network, (X, y) in zip(networks, samples, strict=True):
        yield Fitted(network.module(), X[n:], y[n:], X[:n], ("X6", "X7"))


def _forests(settings: Settings) -> Iterator[Fitted]:
    from sklearn.ensemble import RandomForestRegressor

    n = settings.n_train
    for repeat in range(settings.repeats):
        X, y = _section3(settings, repeat)
        model = RandomForestRegressor(settings.n_trees, random_state=repeat).fit(X[:n], y[:n])
        yield Fitted(model, X[n:], y[n:], X[:n], ("X6", "X7"))


# --- counting ---------------------------------------------------------------------------


def _size(settings: Settings, fits: Iterator[Fitted]) -> Size:
    false, true, thresholds, gates, moves = [], [], [], [], []
    for fit in fits:
        contrasts = Contrasts(fit.model, fit.X, fit.y, reference=fit.reference)
        names = contrasts.sample.features.names
        noise = [place for place, name in enumerate(names) if name in fit.noise]
        significant, limits, gate = _decisions(settings, contrasts, frozenset(noise))
        alone = [0, 1 if "X3" in fit.noise else 2]
        false.append(significant[..., noise])
        true.append(significant[..., alone])
        thresholds += limits[noise].tolist()
        gates.append(gate)
        moves.append(_moves(contrasts, fit, noise[0]))
    # Axes: fits, plain or corrected, betas, features.
    rejected, power = np.mean(false, axis=(0, 3)), np.mean(true, axis=(0, 3))
    anywhere = np.any(false, axis=3).mean(axis=0)
    above, raised, moved = np.mean(moves, axis=0).tolist()
    return Size(
        n_tests=len(thresholds),
        type_one=tuple(rejected[0].tolist()),
        type_one_by=tuple(rejected[1].tolist()),
        any_false=tuple(anywhere[0].tolist()),
        any_false_by=tuple(anywhere[1].tolist()),
        power=tuple(power[0].tolist()),
        power_by=tuple(power[1].tolist()),
        curve=rejected_above(thresholds),
        gate=float(np.mean(gates)),
        above=above,
        raised=raised,
        moved=moved,
    )


def rejected_above(thresholds: Sequence[float]) -> tuple[float, ...]:
    """Share of tests that reject at each beta, because their beta_max is above it."""
    return tuple(float(np.mean(np.asarray(thresholds) > beta)) for beta in CURVE_BETAS)


def _decisions(settings: Settings, contrasts: Contrasts, noise: Term) -> tuple[Array, Array, bool]:
    """First-order SFIT at all betas, and the gate over everything but noise, in one pass.

    Returns significance with axes (plain or corrected, betas, features), the beta_max of each
    feature, and whether the gate is open.
    """
    features, n = contrasts.sample.features, len(contrasts.sample.rows)
    n_features = len(features.names)
    singles = [single(feature, beta) for beta in settings.betas for feature in range(n_features)]
    gate = contrasts.gate(features.everything - noise)
    evidence = contrasts.evidence([*singles, gate], settings.alpha)
    p_values = p_value([one.n_positive for one in evidence], n)
    plain = p_values[:-1].reshape(-1, n_features)
    corrected = [adjust(at, "fdr_by") for at in plain]
    limits = np.nan_to_num([one.beta_max for one in evidence[:n_features]])
    return np.array([plain, corrected]) < settings.alpha, limits, p_values[-1] < settings.alpha


def _moves(contrasts: Contrasts, fit: Fitted, noise: int) -> tuple[float, float, float]:
    """How predictions change when a noise feature is revealed: the last fields of `Size`."""
    view, features = contrasts.sample.view, contrasts.sample.features
    [column] = features.columns[noise]
    base = np.asarray(features.reference, dtype=float)
    revealed = np.tile(base, (len(fit.X), 1))
    revealed[:, column] = fit.X.to_numpy()[:, column]
    at_base, *after = view.predict(np.vstack([base, revealed])).ravel()
    move = np.array(after) - at_base
    return (
        float(np.mean(fit.y > at_base)),
        float(np.mean(move > 0)),
        float(move.std() / fit.y.std()),
    )


def _coverages(settings: Settings) -> Iterator[Coverage]:
    """Intervals for the median of X1's differences, the perfect model of section 3, beta = 0.01."""
    rng = np.random.default_rng([settings.seed, 2])
    truth = float(np.median(differences(settings.truth_rows, 0.01, rng)))
    for n in settings.coverage_rows:
        # Order statistics of many test sets of n rows.
        draws = np.sort(
            differences(settings.coverage_draws * n, 0.01, rng).reshape(settings.coverage_draws, n)
        )
        for kind in ("exact", "asymptotic"):
            level = ranks(n, settings.alpha, kind)
            low, high = draws[:, level.low - 1], draws[:, level.high - 1]
            law = binom.cdf(level.high - 1, n, 0.5) - binom.cdf(level.low - 1, n, 0.5)
            observed = float(np.mean((low <= truth) & (truth <= high)))
            width = float(np.mean(high - low))
            yield Coverage(kind, n, level.low, level.high, float(law), observed, width)


def differences(n: int, beta: float, rng: np.random.Generator) -> Array:
    """Differences of X1 alone in the perfect model of section 3."""
    X, y = interactions(n, random_state=rng)
    revealed = X.to_numpy() * np.array([1, 0, 0, 0, 0, 0, 0])
    base, full = np.abs(y - 3.0), np.abs(y - interactions_mean(revealed))
    return delta(base, full, relative_improvement(base, full) > beta, beta)
