"""Orders 1 to 3 in one run: how often anything is rejected that is not there."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import sfit
from sfit.studies._dependence_settings import SFIT
from sfit.studies._dependence_tests import ALPHA
from sfit.studies._jobs import Answer

Array = npt.NDArray[Any]
Rng = np.random.Generator

N_FEATURES = 5
"""Each is -1, 0 or 1, so members found earlier define strata."""
TRUE = (("x0",), ("x1", "x2"), ("x2", "x3", "x4"))
"""One effect of each order: x0 + x1 x2 + x2 x3 x4."""
EFFECTS = (0.25, 0.3, 0.5)
WAYS: dict[str, dict[str, Any]] = {
    SFIT: {"alpha_by_order": "auto"},
    "Holm within each order": {"correction": "holm"},
    "every test at .05": {},
}


def model(X: Array) -> Array:
    """Use every feature, alone and together."""
    x = np.asarray(X, dtype=float).T
    pairs = x[0] * x[1] + x[1] * x[2] + x[3] * x[4]
    triples = x[2] * x[3] * x[4] + x[0] * x[1] * x[3]
    return np.asarray(0.2 * x.sum(axis=0) + 0.7 * pairs + triples)


@dataclass(frozen=True)
class World:
    """Which of the true effects there are."""

    effects: tuple[float, float, float]

    def draw(self, n: int, rng: Rng) -> tuple[Array, Array]:
        """Rows and outcomes."""
        X = rng.integers(-1, 2, size=(n, N_FEATURES)).astype(float)
        parts = X[:, 0], X[:, 1] * X[:, 2], X[:, 2] * X[:, 3] * X[:, 4]
        signal = sum(size * part for size, part in zip(self.effects, parts, strict=True))
        return X, signal + rng.normal(size=n)

    def is_null(self, term: tuple[str, ...], base: tuple[str, ...]) -> bool:
        """Whether y is independent of the term, given its base.

        A term matters if it completes a true effect: together with the base it holds all members,
        and the base alone does not.
        """
        return not any(
            size and set(true) <= set(term) | set(base) and not set(true) <= set(base)
            for size, true in zip(self.effects, TRUE, strict=True)
        )


WORLDS = {
    "global null": World((0.0, 0.0, 0.0)),
    "partial null: y depends on x0": World((EFFECTS[0], 0.0, 0.0)),
}
FULL_WORLD = World(EFFECTS)


def tested(n: int, world: World, way: dict[str, Any], seed: list[int]) -> list[dict[str, Any]]:
    """The rejected sets of one data set, each with its base."""
    rng = np.random.default_rng(seed)
    X, y = world.draw(n, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = sfit.feature_significance(
            model,
            X,
            y,
            test="permutation",
            loss="squared_error",
            reference=0.0,
            alpha=ALPHA,
            max_order=3,
            partners="all",
            fast=False,
            random_state=seed[-1],
            **way,
        )
    table = result.table
    rows: list[dict[str, Any]] = table[table["significant"]].to_dict("records")
    return rows


def falsely(n: int, world: World, seed: list[int]) -> Answer:
    """Whether anything is rejected that is not there, each way."""

    def is_wrong(way: dict[str, Any]) -> bool:
        rejected = tested(n, world, way, seed)
        return any(world.is_null(tuple(one["term"]), tuple(one["base"])) for one in rejected)

    return {name: np.array([[is_wrong(way)]]) for name, way in WAYS.items()}


def found(n: int, seed: list[int]) -> Answer:
    """Whether each of the three true effects is found, each way."""

    def found_terms(way: dict[str, Any]) -> set[tuple[str, ...]]:
        return {tuple(sorted(one["term"])) for one in tested(n, FULL_WORLD, way, seed)}

    terms = {name: found_terms(way) for name, way in WAYS.items()}
    return {name: np.array([[true in terms[name] for true in TRUE]]) for name in WAYS}
