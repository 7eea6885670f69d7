"""Checks of plain arguments: each error names the argument, the value and what is allowed."""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np
import pandas as pd

from sfit._warn import warn_user
from sfit.exceptions import ArgumentError

MOST_JOBS = 10_000
"""More workers than any cluster has; joblib would try to start them all."""
MOST_SHOWN = 200
"""Characters of a value that an error quotes."""
MOST_SEED = 2**4096
"""Results store the seed as text, and Python converts at most 4,300 digits."""


def check_level(value: Any, argument: str) -> float:
    """Check a level or a share of the rows: strictly between 0 and 1."""
    number = as_number(value)
    if number is None or not 0 < number < 1:
        raise ArgumentError(f"{argument} must lie strictly between 0 and 1; got {shown(value)}.")
    return number


def check_whole(value: Any, argument: str, *, optional: bool = False, most: int = 10**9) -> Any:
    """Check a count: a whole number from 1 to `most`, beyond which it must be a mistake."""
    if optional and value is None:
        return None
    if not is_whole(value) or value < 1:
        or_none = ", or None" if optional else ""
        raise ArgumentError(
            f"{argument} must be a whole number of at least 1{or_none}; got {shown(value)}."
        )
    if value > most:
        raise ArgumentError(f"{argument} must be at most {most:,}; got {_counted(value)}.")
    return int(value)


def check_draws(value: Any, argument: str, most: int) -> int | str:
    """A number of random draws, or the word "auto"."""
    if isinstance(value, str) and value == "auto":
        return value
    return int(check_whole(value, argument, most=most))


def check_choice(value: Any, argument: str, allowed: Sequence[Any]) -> None:
    """Check that a value is one of the allowed choices."""
    if not any(
        value is choice or (isinstance(value, str) and value == choice) for choice in allowed
    ):
        raise ArgumentError(
            f"{argument} must be one of {', '.join(map(repr, allowed))}; got {shown(value)}."
        )


def check_unit(value: Any, argument: str) -> float:
    """Check a beta or a probability: between 0 and 1."""
    number = as_number(value)
    if number is None or not 0 <= number <= 1:
        raise ArgumentError(f"{argument} must lie between 0 and 1; got {shown(value)}.")
    return number


def check_grid(grid: Any) -> tuple[float, ...]:
    """The betas to choose from, sorted."""
    if isinstance(grid, str) or not is_iterable(grid):
        raise ArgumentError(f"grid must hold betas between 0 and 1; got {shown(grid)}.")
    betas = tuple(sorted(check_unit(beta, "grid") for beta in grid))
    if not betas:
        raise ArgumentError("grid must hold at least one beta; got none.")
    return betas


def check_betas(beta: Any, max_order: int) -> tuple[float, ...] | None:
    """One beta per order; None for "auto"."""
    if isinstance(beta, str):
        if beta == "auto":
            return None
        raise ArgumentError(
            f"beta must be a number, one number per order, or 'auto'; got {beta!r}."
        )
    if not isinstance(beta, Sequence | np.ndarray | pd.Series) or getattr(beta, "ndim", 1) == 0:
        return (check_unit(beta, "beta"),) * max_order
    if len(beta) != max_order:
        raise ArgumentError(
            f"beta must hold one number per order, max_order={max_order} of them; got {beta!r}."
        )
    return tuple(check_unit(one, "beta") for one in beta)


def check_alphas(value: Any, alpha: float, max_order: int) -> tuple[float, ...] | None:
    """The levels of the orders, which add up to alpha; None: no error control over all orders.

    By default each order takes half of what is left of alpha, and the last order all of it.
    """
    if value is None:
        return None
    if isinstance(value, str) and value == "auto":
        return tuple(alpha / 2 ** min(order, max_order - 1) for order in range(1, max_order + 1))
    listed = isinstance(value, Sequence | np.ndarray | pd.Series)
    if not listed or isinstance(value, str) or (isinstance(value, np.ndarray) and not value.ndim):
        raise ArgumentError(
            "alpha_by_order must be None, 'auto', or one level per order that add up to "
            f"alpha={alpha:g}; got {shown(value)}."
        )
    alphas = tuple(check_level(one, "alpha_by_order") for one in value)
    if len(alphas) != max_order or not math.isclose(math.fsum(alphas), alpha, rel_tol=1e-9):
        raise ArgumentError(
            f"alpha_by_order must hold one level per order, max_order={max_order} of them, which "
            f"add up to alpha={alpha:g}; got {shown(alphas)}."
        )
    return alphas


def check_at_least_zero(value: Any, argument: str) -> float:
    """Check a spread: finite and not negative."""
    number = as_number(value)
    if number is None or not 0 <= number <= sys.float_info.max:
        raise ArgumentError(
            f"{argument} must be a finite number of at least 0; got {shown(value)}."
        )
    return number


def check_flag(value: Any, argument: str) -> bool:
    """Check a flag: True or False, not just a truthy value."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{argument} must be True or False; got {shown(value)}.")
    return bool(value)


def check_jobs(value: Any, argument: str = "n_jobs") -> None:
    """Check a number of joblib workers: not 0, which joblib refuses late; -1 means all cores."""
    if value is not None and (not is_whole(value) or value == 0):
        raise ArgumentError(
            f"{argument} must be None or a whole number other than 0 (-1: all cores); got "
            f"{shown(value)}."
        )
    if value is not None and abs(value) > MOST_JOBS:
        raise ArgumentError(
            f"{argument} must be at most {MOST_JOBS:,} (-1: all cores); got {_counted(value)}."
        )


def check_callable(value: Any, argument: str) -> None:
    """Check a callable or None."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{argument} must be callable, or None; got {value!r}.")


def check_validation(validation: Any) -> tuple[Any, Any]:
    """Check that validation rows are a pair (X, y)."""
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise ArgumentError(
            f"validation must be a pair (X, y) of rows; got {type(validation).__name__}."
        )
    return validation[0], validation[1]


def warn_of_order(
    X: Any,
    values: Any,
    argument: str,
    rows: str = "X",
    warn: Callable[[str], None] = warn_user,
) -> None:
    """Warn if two indexes hold the same labels in another order: rows are matched by position."""
    if not isinstance(X, pd.DataFrame) or not isinstance(values, pd.Series | pd.DataFrame):
        return
    row_index, value_index = X.index, values.index
    if len(row_index) != len(value_index) or row_index.equals(value_index):
        return
    try:
        same = row_index.sort_values().equals(value_index.sort_values())
    except TypeError:
        return  # labels of mixed types have no order
    if same:
        warn(
            f"{argument} and {rows} have the same index in another order; rows are matched by "
            f"position: pass {argument}.loc[{rows}.index] to match them by label."
        )


def as_seed(random_state: Any) -> int:
    """A whole-number seed from any accepted `random_state`."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if is_whole(random_state):
        if not 0 <= random_state < MOST_SEED:
            raise ArgumentError(
                f"random_state must not be negative or above 2**4096; got {shown(random_state)}."
            )
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    raise ArgumentError(
        f"random_state must be None, a whole number or a NumPy generator; got {random_state!r}."
    )


def is_iterable(value: Any) -> TypeGuard[Iterable[Any]]:
    """Whether a value can be iterated; a zero-dimensional array only claims so."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def shown(value: Any) -> str:
    """A value as an error quotes it."""
    try:
        text = repr(value)
    except ValueError:  # Python does not convert numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def _counted(value: Any) -> str:
    return f"{value:,}" if abs(value) < 10**18 else "a number of more than 18 digits"


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number; NumPy counts timedelta64 as one."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.timedelta64)


def as_number(value: Any) -> float | None:
    """A real number in double precision, as SciPy uses; None for anything else."""
    if not is_whole(value) and not isinstance(value, float | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
