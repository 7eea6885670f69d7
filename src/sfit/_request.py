"""What the user asked for, checked before any work is done.

Each argument of a public call is one field here: its check, and whether a checkpoint must know it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from typing import Any, Self

from sfit._arguments import (
    as_seed,
    check_betas,
    check_callable,
    check_choice,
    check_flag,
    check_grid,
    check_jobs,
    check_level,
    check_unit,
    check_whole,
)
from sfit._losses import check_loss
from sfit._multiplicity import CORRECTIONS
from sfit._sign_statistic import SignTest, as_test
from sfit.exceptions import ArgumentError

MAX_ORDER = 1_000
"""A larger order is a slip."""

DEFAULT_BETA = 0.01
"""The smallest relative improvement that counts, where the user names none."""


def argument(check: Callable[[Any, str], Any] | None = None, *, identity: bool = True) -> Any:
    """A field with its check; `identity` says whether another value makes another run.

    A check raises, or returns the clean value, or returns None to keep the value.
    """
    return field(metadata={"check": check, "identity": identity})


def check_seed(value: Any, argument: str) -> int | None:
    """A seed that can be written down; None where one is still to be drawn."""
    return None if value is None else as_seed(value)


def check_no_weights(value: Any, argument: str) -> None:
    """The sign test has no weights."""
    if value is not None:
        raise ArgumentError(
            f"{argument} is not supported: the sign test counts rows, and its exactness rests on "
            "each row counting once. Test a resampled set, or parts of the rows with by=."
        )


@dataclass(frozen=True)
class Checked:
    """A frozen set of checked arguments."""

    @classmethod
    def checked(cls, **arguments: Any) -> Self:
        """Check the arguments one by one, in the order of the fields, then against each other."""
        values = {}
        for one in fields(cls):
            value = arguments[one.name]
            check = one.metadata["check"]
            clean = None if check is None else check(value, one.name)
            values[one.name] = value if clean is None else clean
        request = cls(**values)
        request.check_together()
        return request

    def check_together(self) -> None:
        """Refuse values that do not fit each other."""

    def identity(self) -> dict[str, Any]:
        """The arguments that a checkpoint must know."""
        return {
            one.name: getattr(self, one.name) for one in fields(self) if one.metadata["identity"]
        }


@dataclass(frozen=True)
class Execution(Checked):
    """How the work is done, and where it is stored: none of it changes a result."""

    n_jobs: int | None = argument(check_jobs, identity=False)
    progress: bool = argument(check_flag, identity=False)
    checkpoint: Any = argument(identity=False)
    checkpoint_key: str | None = argument(identity=False)


@dataclass(frozen=True)
class Subject(Execution):
    """What is tested, and by which loss. A checkpoint knows the columns by their values."""

    features: Sequence[Any] | None = argument(identity=False)
    loss: Any = argument(lambda value, _: check_loss(value))
    reference: Any = argument(identity=False)
    groups: Mapping[str, Sequence[Any]] | None = argument(identity=False)
    always_on: Sequence[Any] = argument(identity=False)

    @property
    def subject(self) -> dict[str, Any]:
        """The arguments that `prepare` takes besides the model and the rows."""
        names = ("features", "loss", "reference", "groups", "always_on")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class Request(Subject):
    """The arguments of `feature_significance`."""

    test: SignTest = argument(lambda value, _: as_test(value), identity=False)
    alpha: float = argument(check_level)
    max_order: int = argument(partial(check_whole, most=MAX_ORDER))
    beta: Any = argument()
    correction: str | None = argument(partial(check_choice, allowed=CORRECTIONS))
    given: Sequence[Any] | str = argument()
    by: Any = argument(identity=False)
    sample_weight: None = argument(check_no_weights, identity=False)
    partners: Any = argument()
    n_partners: int | None = argument(partial(check_whole, optional=True))
    exhaustive: bool = argument(check_flag)
    strict: bool = argument(check_flag)
    fast: bool = argument(check_flag)
    random_state: int | None = argument(check_seed)

    def check_together(self) -> None:
        """Refuse values that do not fit each other."""
        if self.given_rest and self.max_order != 1:
            raise ArgumentError(
                f"given='rest' has one order only; got max_order={self.max_order!r}."
            )
        if self.betas is not None:
            for name in ("validation", "random_model"):
                if getattr(self.test, name) is not None:
                    raise ArgumentError(
                        f"{name} serves beta='auto' only, but beta is {self.beta!r}: leave {name} "
                        "out, or pass beta='auto'."
                    )

    @cached_property
    def betas(self) -> tuple[float, ...] | None:
        """One beta per order; None stands for "auto"."""
        return check_betas(DEFAULT_BETA if self.beta is None else self.beta, self.max_order)

    def warnings(self) -> list[str]:
        """Values that are allowed, but hardly meant."""
        if self.betas is None or 1.0 not in self.betas:
            return []
        return [
            f"beta={self.beta!r}: no loss falls by more than all of it, so nothing can be "
            "significant at beta = 1. Use a beta below 1, such as 0.01."
        ]

    @property
    def given_rest(self) -> bool:
        """Whether each feature is tested over all the others."""
        return isinstance(self.given, str) and self.given == "rest"

    def identity(self) -> dict[str, Any]:
        """The arguments that a checkpoint must know; the labels of `by` count as rows."""
        by = self.by if isinstance(self.by, str) else self.by is not None
        betas = "auto" if self.betas is None else self.betas
        return super().identity() | {"beta": betas, "by": by} | self.test.identity()


@dataclass(frozen=True)
class BetaRequest(Subject):
    """The arguments of `choose_beta`."""

    alpha: float = argument(check_level)
    n_models: int = argument(check_whole)
    max_beta: float = argument(check_unit, identity=False)
    grid: tuple[float, ...] | None = argument(
        lambda value, _: None if value is None else check_grid(value), identity=False
    )
    random_model: Callable[[Any], Any] | None = argument(check_callable)
    fast: bool = argument(check_flag)
    random_state: int | None = argument(check_seed)


@dataclass(frozen=True)
class RefitRequest(Execution):
    """The arguments of `loco_significance`. Stored predictions serve any loss, level and test."""

    features: Sequence[Any] | None = argument(identity=False)
    loss: Any = argument(lambda value, _: check_loss(value), identity=False)
    alpha: float = argument(check_level, identity=False)
    correction: str | None = argument(partial(check_choice, allowed=CORRECTIONS), identity=False)
    test: SignTest = argument(lambda value, _: as_test(value), identity=False)
    groups: Mapping[str, Sequence[Any]] | None = argument(identity=False)

    def check_together(self) -> None:
        """Refuse what only a choice of beta could use."""
        for name in ("validation", "random_model"):
            if getattr(self.test, name) is not None:
                raise ArgumentError(f"{name} serves the choice of beta, which LOCO does not have.")
