"""The data sets of the study of comparisons, and what a comparison makes of each.

A data set knows how large the true effect is: 0 in all settings that measure the size. A comparison
is written twice. `differences` gives the numbers under test by a formula, for thousands of data sets;
`asked` puts the same question to the public function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import sfit

Array = npt.NDArray[Any]
Rng = np.random.Generator
Model = Callable[[Array], Array]

ALPHA = 0.05


@dataclass(frozen=True)
class Sample:
    """One data set."""

    X: Array
    y: Array


@dataclass(frozen=True)
class Answer:
    """The p-values of one data set."""

    mean: float
    """Of the comparison."""
    median: float
    """Of the sign test beside it."""


@dataclass(frozen=True)
class Paired:
    """A comparison row by row."""

    differences: Callable[[Sample], Array]
    asked: Callable[[Sample, int], Answer]
    """(data set, seed) -> what the public function answers."""
    side: str
    """`"either"`; `"both"`, two one-sided tests with Holm's correction; or `"above"`."""


@dataclass(frozen=True)
class Case:
    """A setting: a data set of n rows, a comparison of it, and what sfit promises there."""

    draw: Callable[[Rng, int], Sample]
    compared: Paired
    guarantee: str
    """`"exact"` or `"asymptotic"`."""


def column(k: int, factor: float = 1.0) -> Model:
    """The model that predicts a multiple of one column."""
    return lambda X: factor * np.asarray(X, dtype=float)[:, k]


def total(*coefficients: float) -> Model:
    """The model that adds up the columns."""
    return lambda X: np.asarray(X, dtype=float) @ np.array(coefficients)


def squared(y: Array, prediction: Array) -> Array:
    """The loss of all settings but one."""
    return np.asarray((y - prediction) ** 2)


# --- two whole models ---------------------------------------------------------------------


def whole_models(first: Model, second: Model) -> Paired:
    """The loss of the first model minus that of the second."""

    def differences(one: Sample) -> Array:
        return squared(one.y, first(one.X)) - squared(one.y, second(one.X))

    def asked(one: Sample, seed: int) -> Answer:
        models = {"first": first, "second": second}
        record = _compare_models(models, one, seed).models[0]
        return Answer(record.p_value, record.p_sign)

    return Paired(differences, asked, "either")


def _compare_models(models: dict[str, Model], one: Sample, seed: int) -> Any:
    return sfit.compare_models(
        models,
        one.X,
        one.y,
        loss="squared_error",
        reference=0.0,
        random_state=seed,
        # A known function is cheap: it predicts every row, and is not tabulated.
        fast=False,
    )


def _columns(rng: Rng, n: int) -> Sample:
    """The outcome is the sum of two columns and noise; each model knows one of the columns."""
    X = rng.normal(size=(n, 2))
    return Sample(X, X.sum(axis=1) + rng.normal(size=n))


def _heavy_columns(rng: Rng, n: int) -> Sample:
    """The same with tails so heavy that the differences have no variance."""
    X = rng.standard_t(3, size=(n, 2))
    return Sample(X, X.sum(axis=1) + rng.standard_t(3, size=n))


def _errors(first: Callable[[Rng, int], Array], second: Callable[[Rng, int], Array]) -> Any:
    """The columns are the errors of two models, whose losses are the squares; y is 0."""

    def draw(rng: Rng, n: int) -> Sample:
        return Sample(np.column_stack([first(rng, n), second(rng, n)]), np.zeros(n))

    return draw


def _normal_error(rng: Rng, n: int) -> Array:
    return rng.normal(size=n)


def _constant_error(rng: Rng, n: int) -> Array:
    return rng.choice([-1.0, 1.0], size=n)


def _rare_error(share: float) -> Callable[[Rng, int], Array]:
    """Errors in some rows only; the mean square is 1."""

    def draw(rng: Rng, n: int) -> Array:
        wrong = rng.uniform(size=n) < share
        return np.where(wrong, np.sqrt(rng.exponential(size=n) / share), 0.0)

    return draw


FIRST_OR_SECOND = whole_models(column(0), column(1))

MODELS = {
    "each model knows another column": Case(_columns, FIRST_OR_SECOND, "exact"),
    "the same, t(3) tails": Case(_heavy_columns, FIRST_OR_SECOND, "exact"),
    "normal errors, errors of constant size": Case(
        _errors(_normal_error, _constant_error), FIRST_OR_SECOND, "asymptotic"
    ),
    "errors in a fifth of the rows, in all rows": Case(
        _errors(_rare_error(0.2), _normal_error), FIRST_OR_SECOND, "asymptotic"
    ),
    "errors in a twentieth of the rows, in all rows": Case(
        _errors(_rare_error(0.05), _normal_error), FIRST_OR_SECOND, "asymptotic"
    ),
}
"""Two models with equal mean loss."""


# --- one feature in two models ------------------------------------------------------------


def gain_of(prediction: Array, y: Array) -> Array:
    """The loss that a feature saves over a prediction of 0."""
    return squared(y, np.zeros(len(y))) - squared(y, prediction)


def in_two_models(first: Model, second: Model) -> Paired:
    """The gain in the second model minus that in the first."""

    def differences(one: Sample) -> Array:
        return gain_of(second(one.X), one.y) - gain_of(first(one.X), one.y)

    def asked(one: Sample, seed: int) -> Answer:
        models = {"first": first, "second": second}
        record = _compare_models(models, one, seed).features[0]
        return Answer(record.p_value, record.p_sign)

    return Paired(differences, asked, "either")


def _one_column(rng: Rng, n: int) -> Sample:
    """The outcome is the column plus noise; half of the effect gains as much as one and a half."""
    x = rng.normal(size=n)
    return Sample(x[:, None], x + rng.normal(size=n))


def _skewed_column(rng: Rng, n: int) -> Sample:
    """The same, column and noise exponential."""
    x, noise = rng.exponential(size=(2, n))
    return Sample(x[:, None], x + noise - 1)


HALF_OR_MORE = in_two_models(column(0, 0.5), column(0, 1.5))

GAINS = {
    "half of the effect, one and a half times": Case(_one_column, HALF_OR_MORE, "exact"),
    "the same, exponential column and noise": Case(_skewed_column, HALF_OR_MORE, "asymptotic"),
}
"""A feature with equal mean gains in two models."""


# --- two features of one model ------------------------------------------------------------


def two_features(model: Model) -> Paired:
    """The gain of the first column minus that of the second."""

    def differences(one: Sample) -> Array:
        gains = [gain_of(model(one.X * mask), one.y) for mask in np.eye(2)]
        return np.asarray(gains[0] - gains[1])

    def asked(one: Sample, seed: int) -> Answer:
        compared = compare_features(model, one, seed)
        [pair] = compared.pairs
        return Answer(min(pair.p_first_adjusted, pair.p_second_adjusted), pair.p_sign)

    return Paired(differences, asked, "both")


def compare_features(model: Model, one: Sample, seed: int) -> Any:
    """The public call."""
    return sfit.compare_features(
        model,
        one.X,
        one.y,
        loss="squared_error",
        reference=0.0,
        alpha=ALPHA,
        random_state=seed,
        fast=False,
    )


def rare_dummy(rng: Rng, n: int, share: float = 0.1) -> Array:
    """A dummy with mean 0 and variance 1."""
    return (rng.uniform(size=n) < share) / np.sqrt(share * (1 - share)) - np.sqrt(
        share / (1 - share)
    )


def _column_and_dummy(rng: Rng, n: int) -> Sample:
    """A normal column and a rare dummy with equal effects on the mean loss."""
    X = np.column_stack([rng.normal(size=n), rare_dummy(rng, n)])
    return Sample(X, X.sum(axis=1) + rng.normal(size=n))


FEATURES = {
    "two normal columns": Case(_columns, two_features(total(1, 1)), "exact"),
    "a normal column, a dummy of a tenth of the rows": Case(
        _column_and_dummy, two_features(total(1, 1)), "asymptotic"
    ),
}
"""Two features with equal mean gains."""


# --- an interaction -----------------------------------------------------------------------


def with_product(strength: float) -> Model:
    """The sum of two columns, and a multiple of their product."""

    def predict(X: Array) -> Array:
        first, second = np.asarray(X, dtype=float).T
        return np.asarray(first + second + strength * first * second)

    return predict


def beyond_addition(model: Model) -> Paired:
    """The loss of the additive prediction minus that of the model."""

    def differences(one: Sample) -> Array:
        alone = [model(one.X * mask) for mask in np.eye(2)]
        additive = alone[0] + alone[1] - model(0 * one.X)
        return squared(one.y, additive) - squared(one.y, model(one.X))

    def asked(one: Sample, seed: int) -> Answer:
        result = sfit.feature_significance(
            model,
            one.X,
            one.y,
            test="mean",
            interaction="additive",
            max_order=2,
            exhaustive=True,
            correction=None,
            loss="squared_error",
            reference=0.0,
            random_state=seed,
            fast=False,
        )
        pair: Any = next(one for one in result.tests if one.order == 2)
        return Answer(pair.p_value, pair.p_sign)

    return Paired(differences, asked, "above")


def _products(strength: float, *, skewed: bool = False) -> Callable[[Rng, int], Sample]:
    """The outcome is the sum of two columns, a multiple of their product, and noise."""

    def draw(rng: Rng, n: int) -> Sample:
        X = rng.exponential(size=(n, 2)) if skewed else rng.normal(size=(n, 2))
        noise = 1 - rng.exponential(size=n) if skewed else rng.normal(size=n)
        return Sample(X, with_product(strength)(X) + noise)

    return draw


INTERACTIONS = {
    "no interaction, the model has none": Case(
        _products(0.0), beyond_addition(with_product(0.0)), "exact"
    ),
    "no interaction, the model has one": Case(
        _products(0.0), beyond_addition(with_product(0.3)), "asymptotic"
    ),
    "the model has twice the interaction": Case(
        _products(0.15), beyond_addition(with_product(0.3)), "exact"
    ),
    "the same, exponential columns and noise": Case(
        _products(0.15, skewed=True), beyond_addition(with_product(0.3)), "asymptotic"
    ),
}
"""An interaction that improves no mean loss."""


# --- effects ------------------------------------------------------------------------------


def _smaller_errors(effect: float) -> Case:
    """The second model has a mean loss of 1 - effect, the first of 1."""

    def second(rng: Rng, n: int) -> Array:
        return rng.normal(size=n) * np.sqrt(1 - effect)

    return Case(_errors(_normal_error, second), FIRST_OR_SECOND, "exact")


def _larger_gain(effect: float) -> Case:
    """One and a half times the column gains more than half of it, by the effect."""

    def draw(rng: Rng, n: int) -> Sample:
        x = rng.normal(size=n)
        return Sample(x[:, None], (1 + effect / 2) * x + rng.normal(size=n))

    return Case(draw, HALF_OR_MORE, "asymptotic")


def _weaker_feature(effect: float) -> Case:
    """The mean gain of the first column is 1, that of the second 1 - effect."""
    weight = np.sqrt(1 - effect)

    def draw(rng: Rng, n: int) -> Sample:
        X = rng.normal(size=(n, 2))
        return Sample(X, X @ np.array([1, weight]) + rng.normal(size=n))

    return Case(draw, two_features(total(1, weight)), "asymptotic")


def _true_interaction(effect: float) -> Case:
    """The model knows the true interaction, which saves a mean loss of the effect."""
    strength = float(np.sqrt(effect))
    return Case(_products(strength), beyond_addition(with_product(strength)), "asymptotic")


PAIRED_SIZES: dict[str, dict[str, Case]] = {
    "models": MODELS,
    "gains": GAINS,
    "features": FEATURES,
    "interactions": INTERACTIONS,
}
PAIRED_POWERS: dict[str, Callable[[float], Case]] = {
    "models": _smaller_errors,
    "gains": _larger_gain,
    "features": _weaker_feature,
    "interactions": _true_interaction,
}
"""The setting with an effect of some size."""


# --- several features ---------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """Several features of one model, with their true mean gains."""

    gains: tuple[float, ...]
    dummies: bool = False
    """Rare dummies instead of normal columns."""

    def draw(self, rng: Rng, n: int) -> Sample:
        """A data set: the outcome is the model plus noise."""
        m = len(self.gains)
        columns = [rare_dummy(rng, n) if self.dummies else rng.normal(size=n) for _ in range(m)]
        X = np.column_stack(columns)
        return Sample(X, self.model(X) + rng.normal(size=n))

    @property
    def model(self) -> Model:
        """The true function."""
        return total(*np.sqrt(self.gains))

    def larger(self, one: str | None, other: str) -> bool:
        """Whether the first of two features has the larger mean gain."""
        return one is not None and self.gain(one) > self.gain(other)

    def gain(self, name: str) -> float:
        """The mean gain of a feature: columns are called x0, x1, ..."""
        return self.gains[int(name.removeprefix("x"))]

    def true_ranks(self, name: str) -> tuple[int, int]:
        """The first and the last rank that a feature and its equals share."""
        gain = self.gain(name)
        return 1 + sum(one > gain for one in self.gains), sum(one >= gain for one in self.gains)


FAMILIES = {
    "five equal features": Family((1.0,) * 5),
    "two groups of equals": Family((1.0, 1.0, 0.5, 0.5, 0.5)),
    "five different features": Family((1.0, 0.8, 0.6, 0.4, 0.2)),
    "two groups of equals, rare dummies": Family((1.0, 1.0, 0.5, 0.5, 0.5), dummies=True),
}
"""Features of one model, some with equal mean gains."""
