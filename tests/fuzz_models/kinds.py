"""What the fuzzer must know of a kind of model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from fuzz_models.rows import Takes

Fit = Callable[[np.random.Generator, Any, np.ndarray, str], Any]
"""(rng, rows, target, task) -> a fitted model; tasks are the keys of `case.draw_target`."""

BOTH = ("regression", "classes")


@dataclass(frozen=True)
class Kind:
    """One kind of model: how it is fitted, and how its own library predicts."""

    fit: Fit
    predict: Callable[[Any, Any], Any]
    """(model, rows as fitted) -> values or probabilities, by the library's own call."""
    exact: bool
    """Whether a prediction depends on its row alone, to the last bit: results must then be equal."""
    needs: tuple[str, ...] = ()
    tasks: tuple[str, ...] = BOTH
    takes: Takes = field(default_factory=Takes)
    fitted_on: Literal["either", "frame", "array"] = "either"
    any_form: bool = True
    """Whether the rows may come from polars, pyarrow or SciPy."""
    hard: bool = False
    """Whether some of its classifiers give labels only."""


class CannotFitError(Exception):
    """The library does not fit this model on these rows: there is nothing to test."""


def by_class(probability: Any) -> np.ndarray:
    """Probabilities of two classes from those of the second."""
    values = np.asarray(probability)
    return np.column_stack([1 - values, values]) if values.ndim == 1 else values


def pick(rng: np.random.Generator, **choices: list[Any]) -> dict[str, Any]:
    """One value of each setting."""
    return {name: values[int(rng.integers(len(values)))] for name, values in choices.items()}


def as_array(rows: Any) -> np.ndarray:
    """Rows as doubles, row by row in memory: torch rounds otherwise for other layouts."""
    return np.array(rows, dtype=np.float64, order="C")
