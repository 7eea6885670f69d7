"""The arguments of an audit, checked before any work is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from sfit._arguments import as_number, check_choice, check_level, check_whole, shown
from sfit._losses import check_loss
from sfit._request import ROW_ORDERS, Execution, argument, check_seed
from sfit.exceptions import ArgumentError

DIRECTIONS = {"+": "rising", "rising": "rising", "-": "falling", "falling": "falling"}
"""The directions that a user may expect of a feature, and their names."""


@dataclass(frozen=True)
class Budget:
    """How much work an audit may do; a pass is one prediction of all rows by the model."""

    amount: float
    unit: Literal["seconds", "passes"]

    def seconds(self, seconds_per_pass: float) -> float:
        """The budget in seconds, once the time of a pass is known."""
        return self.amount * (seconds_per_pass if self.unit == "passes" else 1.0)

    def __str__(self) -> str:
        one = {"seconds": "second", "passes": "pass"}[self.unit]
        return f"{self.amount:g} {one if self.amount == 1 else self.unit}"


def check_budget(value: Any, argument: str) -> Budget | None:
    """Seconds as a number, or a text such as "60 passes"; None: no limit."""
    if value is None or isinstance(value, Budget):
        return value
    text = value.strip() if isinstance(value, str) else None
    unit: Literal["seconds", "passes"] = "seconds"
    if text is not None:
        words = text.split()
        if len(words) == 2 and words[1] in ("pass", "passes", "s", "second", "seconds"):
            unit = "passes" if words[1].startswith("pass") else "seconds"
            text = words[0]
        try:
            value_in_unit: Any = float(text)
        except ValueError:
            value_in_unit = None
    else:
        value_in_unit = value
    amount = as_number(value_in_unit)
    if amount is None or not 0 < amount < np.inf:
        raise ArgumentError(
            f"{argument} must be a number of seconds, a text such as '60 passes', or None; got "
            f"{shown(value)}."
        )
    return Budget(amount, unit)


def check_text(value: Any, argument: str) -> str:
    """A text; None stands for an empty one."""
    if value is not None and not isinstance(value, str):
        raise ArgumentError(f"{argument} must be text, or None; got {shown(value)}.")
    return value or ""


def check_protected(value: Any, argument: str) -> Any:
    """Names of columns of X, or a mapping from a name to one label per row."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, Mapping):
        return {str(name): labels for name, labels in value.items()}
    if isinstance(value, Sequence) and all(isinstance(name, str) for name in value):
        return tuple(value)
    raise ArgumentError(
        f"{argument} must hold names of columns of X, or map names to one label per row; got "
        f"{shown(value)}."
    )


def check_expected(value: Any, argument: str) -> dict[str, str]:
    """The expected direction of some features."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ArgumentError(
            f"{argument} must map features to '+' or '-', or be None; got {shown(value)}."
        )
    for feature, direction in value.items():
        if not isinstance(direction, str) or direction not in DIRECTIONS:
            raise ArgumentError(
                f"{argument}[{str(feature)!r}] must be one of "
                f"{', '.join(map(repr, DIRECTIONS))}; got {shown(direction)}."
            )
    return {str(feature): DIRECTIONS[direction] for feature, direction in value.items()}


@dataclass(frozen=True)
class AuditRequest(Execution):
    """The arguments of `audit` besides the model and the rows."""

    train: Any = argument(identity=False)
    features: Sequence[Any] | None = argument(identity=False)
    loss: Any = argument(lambda value, _: check_loss(value))
    alpha: float = argument(check_level)
    groups: Mapping[str, Sequence[Any]] | None = argument(identity=False)
    always_on: Sequence[Any] = argument(identity=False)
    by: Any = argument(identity=False)
    clusters: Any = argument(identity=False)
    row_order: str | None = argument(partial(check_choice, allowed=ROW_ORDERS))
    protected: Any = argument(check_protected, identity=False)
    expected: dict[str, str] = argument(check_expected)
    n_background: int = argument(partial(check_whole, most=10_000))
    budget: Budget | None = argument(check_budget)
    title: str = argument(check_text, identity=False)
    purpose: str = argument(check_text, identity=False)
    model_name: str = argument(check_text, identity=False)
    data_name: str = argument(check_text, identity=False)
    period: str = argument(check_text, identity=False)
    author: str = argument(check_text, identity=False)
    random_state: int | None = argument(check_seed)

    def check_together(self) -> None:
        """Refuse values that do not fit each other."""
        if self.row_order is not None and self.clusters is not None:
            raise ArgumentError(
                f"clusters cannot be combined with row_order={self.row_order!r}: shifting time "
                "would tear clusters apart. Omit one of them."
            )

    @property
    def subject(self) -> dict[str, Any]:
        """The arguments that every test of the audit takes."""
        names = ("features", "loss", "groups", "always_on")
        return {name: getattr(self, name) for name in names}
