"""Checks of plain arguments: each names the argument, what was received and what is allowed."""

from __future__ import annotations

import math
import numbers
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

import numpy as np
import pandas as pd

from sfit.exceptions import ArgumentError, SFITWarning

MOST_JOBS = 10_000
"""Workers beyond any cluster: joblib would try to start them all."""
MOST_SHOWN = 200
"""Signs of a value that an error names."""
MOST_SEED = 2**4096
"""Seeds are written to results, and Python writes numbers of up to 4,300 digits only."""


def check_level(value: Any, argument: str) -> float:
    """A level, or a share of the rows, lies strictly between 0 and 1."""
    number = as_number(value)
    if number is None or not 0 < number < 1:
        raise ArgumentError(f"{argument} must lie strictly between 0 and 1; got {shown(value)}.")
    return number


def check_whole(value: Any, argument: str, *, optional: bool = False, most: int = 10**9) -> None:
    """A count is a whole number, at least 1; what no memory could hold is a slip."""
    if optional and value is None:
        return
    if not is_whole(value) or value < 1:
        or_none = ", or None" if optional else ""
        raise ArgumentError(
            f"{argument} must be a whole number of at least 1{or_none}; got {shown(value)}."
        )
    if value > most:
        raise ArgumentError(f"{argument} must be at most {most:,}; got {_counted(value)}.")


def check_choice(value: Any, argument: str, allowed: Sequence[Any]) -> None:
    """A choice is one of a few words."""
    if not any(
        value is choice or (isinstance(value, str) and value == choice) for choice in allowed
    ):
        raise ArgumentError(
            f"{argument} must be one of {', '.join(map(repr, allowed))}; got {value!r}."
        )


def check_unit(value: Any, argument: str) -> float:
    """A beta or a probability lies between 0 and 1."""
    number = as_number(value)
    if number is None or not 0 <= number <= 1:
        raise ArgumentError(f"{argument} must lie between 0 and 1; got {shown(value)}.")
    return number


def check_grid(grid: Any) -> tuple[float, ...]:
    """Betas to choose from, in order."""
    if isinstance(grid, str) or not is_iterable(grid):
        raise ArgumentError(f"grid must hold betas between 0 and 1; got {shown(grid)}.")
    betas = tuple(sorted(check_unit(beta, "grid") for beta in grid))
    if not betas:
        raise ArgumentError("grid must hold at least one beta; got none.")
    return betas


def check_betas(beta: Any, max_order: int) -> tuple[float, ...] | None:
    """One beta per order; None stands for "auto"."""
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


def check_at_least_zero(value: Any, argument: str) -> float:
    """A spread is a finite number, not below zero."""
    number = as_number(value)
    if number is None or not 0 <= number <= sys.float_info.max:
        raise ArgumentError(
            f"{argument} must be a finite number of at least 0; got {shown(value)}."
        )
    return number


def check_flag(value: Any, argument: str) -> None:
    """A flag is True or False, and not a word that happens to be true."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{argument} must be True or False; got {value!r}.")


def check_jobs(value: Any, argument: str = "n_jobs") -> None:
    """A number of joblib workers: not 0, which joblib refuses late; below 0 counts from all."""
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
    """A function, or None."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{argument} must be callable, or None; got {value!r}.")


def check_validation(validation: Any) -> tuple[Any, Any]:
    """Validation rows come as a pair (X, y)."""
    if not isinstance(validation, tuple | list) or len(validation) != 2:
        raise ArgumentError(
            f"validation must be a pair (X, y) of rows; got {type(validation).__name__}."
        )
    return validation[0], validation[1]


def warn_of_order(X: Any, values: Any, argument: str, rows: str = "X") -> None:
    """Rows are matched by position, as scikit-learn does; an index that says otherwise is told."""
    if not isinstance(X, pd.DataFrame) or not isinstance(values, pd.Series | pd.DataFrame):
        return
    theirs, own = X.index, values.index
    if len(theirs) != len(own) or theirs.equals(own):
        return
    try:
        same = theirs.sort_values().equals(own.sort_values())
    except TypeError:
        return  # labels of several kinds have no order
    if same:
        warnings.warn(
            f"{argument} and {rows} have the same index in another order; rows are matched by "
            f"position: use {argument}.loc[{rows}.index] where the labels count.",
            SFITWarning,
            stacklevel=3,
        )


def as_seed(random_state: Any) -> int:
    """A seed that can be written down, from whatever the user gave."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    if is_whole(random_state):
        if not 0 <= random_state < MOST_SEED:
            raise ArgumentError(
                f"random_state must not be negative or beyond 2**4096; got {shown(random_state)}."
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
    """Whether there are items to go through; an array without dimensions only claims so."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


def shown(value: Any) -> str:
    """A value as an error names it."""
    try:
        text = repr(value)
    except ValueError:  # Python does not write out numbers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}..."


def _counted(value: Any) -> str:
    return f"{value:,}" if abs(value) < 10**18 else "a number of more than 18 digits"


def is_whole(value: Any) -> bool:
    """Whether it is a whole number; to NumPy, a span of time is one."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.timedelta64)


def as_number(value: Any) -> float | None:
    """A real number in double precision, which SciPy computes with; None for anything else."""
    if not is_whole(value) and not isinstance(value, float | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
