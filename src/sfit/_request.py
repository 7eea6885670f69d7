"""The arguments of a public call, checked before any work is done.

Each argument is one field, with its check and whether it is part of the run's identity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from os import PathLike
from typing import Any, Self, cast

import numpy as np

from sfit._arguments import (
    as_number,
    as_seed,
    check_alphas,
    check_betas,
    check_callable,
    check_choice,
    check_flag,
    check_grid,
    check_jobs,
    check_level,
    check_unit,
    check_whole,
    shown,
)
from sfit._losses import check_loss
from sfit._mean_test import MeanTest
from sfit._multiplicity import CORRECTIONS
from sfit._options import TestOptions
from sfit._permutation_test import PermutationTest
from sfit._sign_test import DEFAULT_BETA, SignTest, refuse_unused
from sfit.exceptions import ArgumentError

MAX_ORDER = 1_000
"""A larger order must be a mistake."""

ROW_ORDERS = (None, "time")
"""What the order of the rows may mean."""

INTERACTIONS = (None, "additive")
"""What sets of two or more features are compared with: their members found, or their parts."""

TESTS: dict[str, type[Any]] = {kind.key: kind for kind in (SignTest, PermutationTest, MeanTest)}
"""The tests by name."""


def argument(check: Callable[[Any, str], Any] | None = None, *, identity: bool = True) -> Any:
    """A field with its check; `identity`: whether another value makes it another run.

    A check raises, returns the clean value, or returns None to keep the value.
    """
    return field(metadata={"check": check, "identity": identity})


def check_test(value: Any, argument: str) -> TestOptions:
    """A test object, or the one with this name."""
    if isinstance(value, tuple(TESTS.values())):
        return cast(TestOptions, value)
    if isinstance(value, str) and value in TESTS:
        return cast(TestOptions, TESTS[value]())
    objects = [f"sfit.{kind.__name__}(...)" for kind in TESTS.values()]
    *first, last = [*map(repr, TESTS), *objects]
    raise ArgumentError(f"{argument} must be {', '.join(first)} or {last}; got {value!r}.")


def check_sign_test(value: Any, argument: str) -> SignTest:
    """The sign test; LOCO has no other."""
    test = check_test(value, argument)
    if not isinstance(test, SignTest):
        raise ArgumentError(
            f"{argument} must be 'sign' or a sfit.SignTest: LOCO compares two models row by row, "
            f"which is a sign test; got {value!r}."
        )
    return test


def check_has_beta(test: TestOptions, beta: Any) -> None:
    """Refuse a beta beside a test that has none."""
    if beta is not None and not test.has_beta:
        raise ArgumentError(
            f"beta={beta!r} belongs to the sign test: the {test.key} test has no smallest "
            "improvement. Omit beta, or use test='sign'."
        )


def check_seed(value: Any, argument: str) -> int | None:
    """A whole-number seed; None if it is still to be drawn."""
    return None if value is None else as_seed(value)


def check_path(value: Any, argument: str) -> None:
    """The path of a file, or None."""
    if value is not None and not isinstance(value, str | PathLike):
        raise ArgumentError(f"{argument} must be the path of a file; got {value!r}.")


def check_key(value: Any, argument: str) -> None:
    """A string, or None: str() of any other object may differ in the next run."""
    if value is not None and not isinstance(value, str):
        raise ArgumentError(f"{argument} must be a string, or None; got {value!r}.")


def check_folds(value: Any, argument: str) -> int:
    """A number of folds: at least two, one to fit on and one to test on."""
    n_folds = check_whole(value, argument)
    if n_folds < 2:
        raise ArgumentError(
            f"{argument} must be at least 2, one fold to fit on and one to test on; got {n_folds}."
        )
    return int(n_folds)


def check_fold_reference(value: Any, argument: str) -> Any:
    """A reference that each fold can take from the rows its model was fitted on, or a number."""
    if isinstance(value, str) and value in ("average", "mean"):
        return value
    number = as_number(value)
    if number is None or not np.isfinite(number):
        raise ArgumentError(
            f"{argument} must be 'average' or 'mean', of the rows that each model was fitted on, "
            f"or a finite number; got {shown(value)}."
        )
    return number


def check_no_weights(value: Any, argument: str) -> None:
    """Refuse weights: the sign test has none."""
    if value is not None:
        raise ArgumentError(
            f"{argument} is not supported: the tests are exact only if each row counts once. Test "
            "a resampled set, or parts of the rows with by=."
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
        """The arguments that identify a run in a checkpoint."""
        return {
            one.name: getattr(self, one.name) for one in fields(self) if one.metadata["identity"]
        }


@dataclass(frozen=True)
class Execution(Checked):
    """How the work is done and where it is stored; no field changes a result."""

    n_jobs: int | None = argument(check_jobs, identity=False)
    progress: bool = argument(check_flag, identity=False)
    checkpoint: Any = argument(check_path, identity=False)
    checkpoint_key: str | None = argument(check_key, identity=False)


@dataclass(frozen=True)
class Subject(Execution):
    """The tested columns and the loss. A checkpoint identifies columns by their values."""

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

    test: TestOptions = argument(check_test, identity=False)
    alpha: float = argument(check_level)
    max_order: int = argument(partial(check_whole, most=MAX_ORDER))
    beta: Any = argument()
    correction: str | None = argument(partial(check_choice, allowed=CORRECTIONS))
    alpha_by_order: Any = argument()
    given: Sequence[Any] | str = argument()
    by: Any = argument(identity=False)
    clusters: Any = argument(identity=False)
    row_order: str | None = argument(partial(check_choice, allowed=ROW_ORDERS))
    sample_weight: None = argument(check_no_weights, identity=False)
    partners: Any = argument()
    n_partners: int | None = argument(partial(check_whole, optional=True))
    exhaustive: bool = argument(check_flag)
    strict: bool = argument(check_flag)
    interaction: str | None = argument(partial(check_choice, allowed=INTERACTIONS))
    fast: bool = argument(check_flag)
    random_state: int | None = argument(check_seed)

    def check_together(self) -> None:
        """Refuse values that do not fit each other."""
        if self.given_rest and self.max_order != 1:
            raise ArgumentError(
                f"given='rest' requires max_order=1; got max_order={self.max_order!r}."
            )
        if self.alphas is not None and self.correction is not None:
            raise ArgumentError(
                f"alpha_by_order={self.alpha_by_order!r} cannot be combined with correction="
                f"{self.correction!r}: it corrects all orders together. Omit one of them."
            )
        if self.clusters is not None and self.betas is None:
            raise ArgumentError(
                "clusters cannot be combined with beta='auto', which tests random models row by "
                "row: pass a number as beta."
            )
        check_has_beta(self.test, self.beta)
        self._check_interaction()
        self.test.check(self)
        if self.row_order is not None and self.clusters is not None:
            raise ArgumentError(
                f"clusters cannot be combined with row_order={self.row_order!r}: shifting time "
                "would tear clusters apart. Omit one of them."
            )

    @property
    def dependent(self) -> bool:
        """Whether rows depend on each other, within clusters or in time."""
        return self.clusters is not None or self.row_order is not None

    def _check_interaction(self) -> None:
        """Refuse arguments that do not go together with an additive base."""
        if self.interaction is None:
            return
        asked = f"interaction={self.interaction!r}"
        if not self.test.paired:
            raise ArgumentError(
                f"{asked} cannot be combined with test={self.test.key!r}: this test has no base "
                "side, because it re-matches the predictions of a set with outcomes of "
                "other rows. Use test='sign' or test='mean'."
            )
        if self.max_order == 1:
            raise ArgumentError(
                f"{asked} needs max_order=2 or more: a single feature has no interaction; got "
                f"max_order={self.max_order!r}."
            )
        if self.strict:
            raise ArgumentError(
                f"{asked} cannot be combined with strict=True: strict compares a set with each of "
                "its subsets, and the additive base already adds all of them up. Omit strict."
            )

    @cached_property
    def betas(self) -> tuple[float, ...] | None:
        """One beta per order; None for "auto"."""
        if not self.test.has_beta:
            return (0.0,) * self.max_order
        return check_betas(DEFAULT_BETA if self.beta is None else self.beta, self.max_order)

    @cached_property
    def alphas(self) -> tuple[float, ...] | None:
        """One level per order, for error control over all orders; None: off."""
        return check_alphas(self.alpha_by_order, self.alpha, self.max_order)

    def warnings(self) -> list[str]:
        """Warnings about valid but probably unintended values."""
        if self.betas is None or 1.0 not in self.betas:
            return []
        return [
            f"beta={self.beta!r}: no loss can decrease by more than 100 %, so nothing can be "
            "significant at beta = 1. Use a beta below 1, such as 0.01."
        ]

    @property
    def by_class(self) -> bool:
        """Whether the parts are the classes."""
        return isinstance(self.by, str) and self.by == "class"

    @property
    def given_rest(self) -> bool:
        """Whether each feature is tested over all the others."""
        return isinstance(self.given, str) and self.given == "rest"

    def identity(self) -> dict[str, Any]:
        """The arguments that identify a run; labels of `by` and `clusters` belong to the rows."""
        roles = {"by": self.by, "clusters": self.clusters}
        labels = {
            name: value if isinstance(value, str) else value is not None
            for name, value in roles.items()
        }
        betas = "auto" if self.betas is None else self.betas
        test = {"test": type(self.test).__name__} | self.test.identity()
        own = {"alpha_by_order": self.alphas, "beta": betas}
        return super().identity() | own | labels | test


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
    test: SignTest = argument(check_sign_test, identity=False)
    groups: Mapping[str, Sequence[Any]] | None = argument(identity=False)

    def check_together(self) -> None:
        """Refuse options that only the choice of beta uses."""
        refuse_unused(self.test, "is used only to choose beta: LOCO has none, omit {name}.")


@dataclass(frozen=True)
class CrossRequest(Execution):
    """The arguments of `cross_significance`. A checkpoint identifies columns by their values."""

    n_folds: int = argument(check_folds)
    shuffle: bool = argument(check_flag)
    test: TestOptions = argument(check_test, identity=False)
    features: Sequence[Any] | None = argument(identity=False)
    loss: Any = argument(lambda value, _: check_loss(value))
    alpha: float = argument(check_level)
    beta: Any = argument(identity=False)
    correction: str | None = argument(partial(check_choice, allowed=CORRECTIONS))
    reference: Any = argument(check_fold_reference)
    groups: Mapping[str, Sequence[Any]] | None = argument(identity=False)
    random_state: int | None = argument(check_seed)

    def check_together(self) -> None:
        """Refuse values that do not fit each other."""
        if not self.test.over_folds:
            several = " or ".join(repr(key) for key, kind in TESTS.items() if kind.over_folds)
            raise ArgumentError(
                f"test={self.test.key!r} cannot be combined over folds: use test={several}, or fit "
                "one model yourself and test it with feature_significance."
            )
        check_has_beta(self.test, self.beta)
        if not self.test.has_beta:
            return
        refuse_unused(
            self.test,
            "is used only to choose beta, which cross_significance does not do: omit {name}.",
        )
        if isinstance(self.beta, str):
            raise ArgumentError(
                f"beta={self.beta!r}: cross_significance does not choose beta, because each fold "
                "has another model. Pass a number, such as 0.01."
            )
        check_unit(DEFAULT_BETA if self.beta is None else self.beta, "beta")

    @property
    def larger_folds(self) -> str:
        """The remedy for folds with too few rows."""
        return "use more rows" if self.n_folds == 2 else "use fewer folds"

    @property
    def smallest_improvement(self) -> float:
        """The beta of the test; 0 for a test that has none."""
        if not self.test.has_beta:
            return 0.0
        return check_unit(DEFAULT_BETA if self.beta is None else self.beta, "beta")

    def identity(self) -> dict[str, Any]:
        """The arguments that identify a run."""
        test = {"test": type(self.test).__name__} | self.test.identity()
        return super().identity() | {"beta": self.smallest_improvement} | test
