"""Rows of section 3 with an intercept, and networks fitted to them; shared by three studies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from sfit import simulate
from sfit._array import Array
from sfit.studies._networks import Network, Recipe, train

FEATURES = tuple(f"X{j}" for j in range(1, 8))
INTERCEPT = "intercept"
TRUE_FIRST = (("X1",), ("X3",))
TRUE_PAIRS = (("X1", "X2"), ("X4", "X5"))

# The paper freezes features at 0, their mean, and adds an intercept that is always on.
MASKING: dict[str, Any] = {"reference": 0.0, "always_on": [INTERCEPT]}


@dataclass(frozen=True)
class Sizes:
    """Numbers of rows."""

    train: int = 100_000
    validation: int = 20_000
    test: int = 10_000


@dataclass(frozen=True)
class Sample:
    """Training, validation and test rows drawn with one seed."""

    seed: int
    train: tuple[pd.DataFrame, Array]
    validation: tuple[pd.DataFrame, Array]
    test: tuple[pd.DataFrame, Array]


def draw(sizes: Sizes, seed: int) -> Sample:
    """Draw the three sets of rows of one seed."""
    parts = [
        _rows(n, np.random.default_rng([seed, part]))
        for part, n in enumerate((sizes.train, sizes.validation, sizes.test))
    ]
    return Sample(seed, *parts)


def fit(recipe: Recipe, samples: Sequence[Sample]) -> list[Network]:
    """Train the network of every sample, all at once."""
    arrays = [
        np.stack([np.asarray(getattr(sample, part)[side], dtype=np.float32) for sample in samples])
        for part in ("train", "validation")
        for side in (0, 1)
    ]
    X, y, X_valid, y_valid = arrays
    return train(recipe, X, y, X_valid, y_valid, [sample.seed for sample in samples])


def fit_in_turns(
    recipe: Recipe, sizes: Sizes, seeds: Sequence[int], together: int
) -> Iterator[tuple[Sample, Network]]:
    """Samples and their networks, `together` at a time to limit the memory."""
    for start in range(0, len(seeds), together):
        samples = [draw(sizes, seed) for seed in seeds[start : start + together]]
        yield from zip(samples, fit(recipe, samples), strict=True)


def _rows(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, Array]:
    X, y = simulate.interactions(n, random_state=rng)
    X.insert(0, INTERCEPT, 1.0)
    return X, y
