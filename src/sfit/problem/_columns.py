"""Which columns of X are what: features in the model's order, the target, the parts."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy.typing as npt

from sfit._features import positions_of
from sfit.exceptions import ArgumentError, DataError
from sfit.models import ModelView
from sfit.rows import Table, as_vector, column_names

Array = npt.NDArray[Any]


def column_or_vector(values: Any, table: Table, argument: str) -> tuple[Array, int | None]:
    """A vector given as such, or as the name of a column of X."""
    if isinstance(values, str):
        names = column_names(table)
        if names is None:
            raise ArgumentError(f"{argument}={values!r} names a column, but X has no names.")
        [position] = positions_of([values], names, argument)
        column = table.get_column(table.columns[position]).to_native()
        return as_vector(column, argument, table.shape[0]), position
    return as_vector(values, argument, table.shape[0]), None


def asides(target_column: int | None, by: Any, table: Table) -> set[int]:
    """Columns of X that are no features unless the model says so: the target and `by`."""
    asides = set() if target_column is None else {target_column}
    names = column_names(table)
    check_class(by, [] if names is None else [n for i, n in enumerate(names) if i not in asides])
    if isinstance(by, str) and by != "class":
        if names is None:
            raise ArgumentError(f"by={by!r} names a column, but X has no names.")
        asides.update(positions_of([by], names, "by"))
    return asides


def check_class(by: Any, columns: Sequence[str]) -> None:
    """The word "class" asks for a part per class; a column of that name makes it ambiguous."""
    if isinstance(by, str) and by == "class" and "class" in columns:
        raise ArgumentError(
            "by='class' asks for one part per class of y, but X has a column 'class' as well: "
            "rename it, or pass the values that you mean, by=y or by=X['class']."
        )


def used_columns(
    view: ModelView, table: Table, features: Sequence[Any] | None, asides: set[int]
) -> tuple[list[str], list[int]]:
    """Names and positions of the columns that go to the model, in its order."""
    own = column_names(table)
    width = table.shape[1]
    if own is None:
        fitted = view.width if view.names is None else len(view.names)
        if fitted is not None and features is None and fitted != width:
            raise DataError(f"X has {width} columns, but the model was fitted on {fitted}.")
        names = view.names if fitted == width else None
        names = names or tuple(f"x{position}" for position in range(width))
    else:
        names = own
    if features is not None:
        positions = _asked_columns(view, features, names, own is None)
    elif own is not None and view.names is not None:
        # LightGBM keeps the names of its columns with spaces replaced.
        by_name = {name.replace(" ", "_"): name for name in names} | {name: name for name in names}
        fitted_on = [by_name.get(name, name) for name in view.names]
        known = set(names)
        missing = [name for name in fitted_on if name not in known]
        if missing:
            raise DataError(
                f"X lacks {len(missing)} of the columns that the model was fitted on: "
                f"{missing[:8]!r}."
            )
        positions = positions_of(fitted_on, names, "the model")
    else:
        positions = [position for position in range(width) if position not in asides]
        if own is not None and view.width not in (None, len(positions)):
            raise DataError(
                f"X has {len(positions)} columns of features, but the model was fitted on "
                f"{view.width}: name them with features=[...]."
            )
    if not positions:
        raise ArgumentError(f"features must name at least one column of X; got {features!r}.")
    return [names[position] for position in positions], positions


def _asked_columns(
    view: ModelView, features: Sequence[Any], names: Sequence[str], unnamed: bool
) -> list[int]:
    """Positions of the columns that the user asks for, in the order the model takes them."""
    if isinstance(features, Set):
        raise ArgumentError(
            f"features must be a sequence, in the order in which the model takes them; got the set "
            f"{features!r}."
        )
    positions = positions_of(features, names, "features", range(len(names)) if unnamed else ())
    if view.names is None:
        if view.width not in (None, len(positions)):
            raise ArgumentError(
                f"features must name {view.width} columns, as many as the model was fitted on; got "
                f"{list(features)!r}."
            )
        return positions
    asked = {names[position] for position in positions}
    known = asked.intersection(view.names)
    if len(known) == len(asked) == len(view.names):
        return positions_of(view.names, names, "features")
    # Columns of other names stand for the model's own, one by one; a mixture is a mistake.
    if known or len(asked) != len(view.names):
        raise ArgumentError(
            f"features must name the {len(view.names)} columns that the model was fitted on, "
            f"{list(view.names[:8])!r}; got {list(features)!r}."
        )
    return positions
