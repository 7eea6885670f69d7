"""Losses by name, and their checks. The formulas are in `_row_losses.py`.

To add a loss, write its formula and add it to `LOSSES`, or to `FAMILIES` if it has a parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from sfit import _row_losses as formulas
from sfit._array import Array
from sfit.exceptions import ArgumentError, DataError
from sfit.rows import plain_array


@dataclass(frozen=True)
class Loss:
    """A loss per row, and its task (None: a user's callable, for either task)."""

    name: str
    task: str | None
    per_row: Callable[[Array, Array], Array]
    parameters: tuple[float, ...] = ()
    target: Literal["any", "nonnegative", "positive"] = "any"
    """Which outcomes the loss accepts."""
    positive: bool = False
    """Whether the loss needs positive predictions."""
    output: Literal["target", "distribution", "scores"] = "target"
    """What a prediction holds: the target or probabilities; numbers that stand for a distribution
    of the target; or scores of the classes."""

    @property
    def family(self) -> str:
        """The name without parameters."""
        return self.name.partition(":")[0]

    def __call__(
        self, y: Array, prediction: Array, number: Callable[[int], int], signed: bool
    ) -> Array:
        """Losses of some rows; raise an error that names the row if a loss is unusable.

        `number` maps a position to the user's row number. `signed` admits negative losses, which
        are allowed at beta = 0.
        """
        if self.task is None:
            # A user's function may write to its arguments, which sfit uses again: pass copies.
            y, prediction = y.copy(), prediction.copy()
        try:
            losses = plain_array(self.per_row(y, prediction))
        except Exception as error:
            raise DataError(
                f"loss {self.name!r} failed on {len(y)} rows starting at row {number(0)}: "
                f"{type(error).__name__}: {error}"
            ) from error
        if losses.dtype == object:
            with suppress(TypeError, ValueError):
                losses = np.asarray(losses, dtype=np.float64)
        if losses.shape != (len(y),) or losses.dtype.kind not in "biuf":
            raise DataError(
                f"loss {self.name!r} must return one number per row: expected shape ({len(y)},), "
                f"got {losses.shape} of dtype {losses.dtype}."
            )
        # Always doubles: beta is a double, and a comparison in lower precision would round it.
        losses = np.asarray(losses, dtype=np.float64)
        least, largest = losses.min(initial=0.0), losses.max(initial=0.0)
        # NaN propagates to both the minimum and the maximum.
        if not (np.isfinite(least) and np.isfinite(largest)):
            raise DataError(
                self._complaint("not finite", ~np.isfinite(losses), losses, number)
                + self._remedy(prediction)
            )
        if not signed and least < 0:
            raise DataError(
                self._complaint("below zero", losses < 0, losses, number)
                + " With beta > 0 the test compares with (1 - beta) times the base loss, which "
                "must not exceed it: use a loss that is never negative, or beta=0."
            )
        return losses

    def _complaint(
        self, what: str, where: Array, losses: Array, number: Callable[[int], int]
    ) -> str:
        first = int(np.flatnonzero(where)[0])
        return (
            f"loss {self.name!r} is {what} at {int(where.sum())} row(s); the first is row "
            f"{number(first)}, where it is {float(losses[first])!r}."
        )

    def _remedy(self, prediction: Array) -> str:
        if not self.positive or (prediction > 0).all():
            return ""
        return (
            f" It needs positive predictions, but the smallest is {float(prediction.min())!r}: use "
            "a model with a log link, or 'absolute_error' or 'squared_error'."
        )


LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (
        Loss("absolute_error", "regression", formulas.absolute_error),
        Loss("squared_error", "regression", formulas.squared_error),
        Loss("poisson", "regression", formulas.poisson, target="nonnegative", positive=True),
        Loss("gamma", "regression", formulas.gamma, target="positive", positive=True),
        Loss("crps", "regression", formulas.crps, output="distribution"),
        Loss("log_loss", "classification", formulas.log_loss),
        Loss("brier", "classification", formulas.brier),
        Loss("zero_one", "classification", formulas.zero_one),
        Loss("hinge", "classification", formulas.hinge, output="scores"),
    )
}
"""Losses without parameters."""

DEFAULTS = {"regression": "absolute_error", "classification": "log_loss"}


class Family(NamedTuple):
    """Losses that differ in a parameter."""

    parameter: str
    """What the parameter is, and its range."""
    example: str
    accepts: Callable[[Sequence[float]], bool]
    formula: Callable[..., Array]
    options: Mapping[str, Any] = {}


def _one(least: float, most: float) -> Callable[[Sequence[float]], bool]:
    return lambda values: len(values) == 1 and least < values[0] < most


def _are_levels(values: Sequence[float]) -> bool:
    increasing = list(values) == sorted(set(values))
    return increasing and len(values) > 0 and values[0] > 0 and values[-1] < 1


FAMILIES: dict[str, Family] = {
    "pinball": Family("a quantile between 0 and 1", "0.9", _one(0, 1), formulas.pinball),
    "huber": Family(
        "the error, in units of y, from which on it is linear: a positive number",
        "1.35",
        _one(0, np.inf),
        formulas.huber,
    ),
    "tweedie": Family(
        "a power between 1 ('poisson') and 2 ('gamma')",
        "1.5",
        _one(1, 2),
        formulas.tweedie,
        {"target": "nonnegative", "positive": True},
    ),
    "crps": Family(
        "the levels of the predicted quantiles, increasing between 0 and 1",
        "0.1,0.5,0.9",
        _are_levels,
        formulas.crps_of_quantiles,
        {"output": "distribution"},
    ),
}
"""Losses with a parameter, all for regression. `"crps"` alone is the score of an ensemble."""


def check_loss(loss: Any) -> Any:
    """The loss as a name or a callable; refuse anything else."""
    if callable(loss) or (isinstance(loss, str) and loss == "auto"):
        return loss
    return named_loss(loss).name


def named_loss(loss: Any) -> Loss:
    """The loss of a name such as "poisson" or "pinball:0.9", or of {"pinball": 0.9}."""
    family, given = _split(loss)
    if given is None and family in LOSSES:
        return LOSSES[family]
    if family not in FAMILIES:
        names = [*LOSSES, *(f"{name}:{one.example}" for name, one in FAMILIES.items())]
        allowed = ", ".join(map(repr, ("auto", *names)))
        raise ArgumentError(
            f"loss must be one of {allowed}, or a callable (y, prediction) -> one loss per row; "
            f"got {loss!r}."
        )
    about = FAMILIES[family]
    values = _numbers(given)
    if values is None or not about.accepts(values):
        example = f"[{about.example}]" if "," in about.example else about.example
        raise ArgumentError(
            f"loss {family!r} needs a parameter, {about.parameter}: loss='{family}:{about.example}'"
            f" or loss={{'{family}': {example}}}; got {loss!r}."
        )
    # The shortest text of each number: two spellings of one loss have one name.
    text = ",".join(repr(value).removesuffix(".0") for value in values)
    formula = partial(about.formula, values[0] if len(values) == 1 else np.array(values))
    return Loss(f"{family}:{text}", "regression", formula, values, **about.options)


def choose_loss(loss: Any, task: str) -> Loss:
    """Turn the user's `loss` into a `Loss` that fits the model's task."""
    if callable(loss):
        return Loss(getattr(loss, "__name__", type(loss).__name__), None, loss)
    chosen = named_loss(DEFAULTS[task] if isinstance(loss, str) and loss == "auto" else loss)
    if chosen.task != task:
        fitting = ", ".join(repr(name) for name, other in LOSSES.items() if other.task == task)
        raise ArgumentError(
            f"loss={loss!r} is for {chosen.task}, but the model is for {task}: use {fitting}, or "
            "declare the model's task with sfit.models.function_model(f, task=...)."
        )
    return chosen


def _split(loss: Any) -> tuple[Any, Any]:
    """The name of a loss, and its parameter; None if it has none."""
    if isinstance(loss, Mapping) and len(loss) == 1:
        [(name, given)] = loss.items()
        return (name if isinstance(name, str) else None), () if given is None else given
    if not isinstance(loss, str):
        return None, None
    name, colon, text = loss.partition(":")
    return name, text.split(",") if colon else None


def _numbers(given: Any) -> tuple[float, ...] | None:
    """The parameter as numbers; None if it is something else."""
    several = given if isinstance(given, Sequence | np.ndarray) and np.ndim(given) else [given]
    try:
        return tuple(float(value) for value in several)
    except (TypeError, ValueError):
        return None
