"""The roles of the columns of X: features in the model's order, target, parts."""

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
    """A vector, passed as an array or as the name of a column of X."""
    if isinstance(values, str):
        names = column_names(table)
        if names is None:
            raise ArgumentError(f"{argument}={values!r} names a column, but X has no column names.")
        [position] = positions_of([values], names, argument)
        column = table.get_column(table.columns[position]).to_native()
        return as_vector(column, argument, table.shape[0]), position
    return as_vector(values, argument, table.shape[0]), None


def asides(target_column: int | None, by: Any, table: Table) -> set[int]:
    """Columns of X that are features only if the model lists them: the target and `by`."""
    asides = set() if target_column is None else {target_column}
    names = column_names(table)
    check_class(by, [] if names is None else [n for i, n in enumerate(names) if i not in asides])
    if isinstance(by, str) and by != "class":
        if names is None:
            raise ArgumentError(f"by={by!r} names a column, but X has no column names.")
        asides.update(positions_of([by], names, "by"))
    return asides


def check_class(by: Any, columns: Sequence[str]) -> None:
    """Refuse by="class" if X has a column of that name: it could mean either."""
    if isinstance(by, str) and by == "class" and "class" in columns:
        raise ArgumentError(
            "by='class' means one part per class of y, but X also has a column 'class': rename the "
            "column, or pass the values that you mean, by=y or by=X['class']."
        )


def used_columns(
    view: ModelView, table: Table, features: Sequence[Any] | None, asides: set[int]
) -> tuple[list[str], list[int]]:
    """Names and positions of the columns that the model uses, in its order."""
    in_table = column_names(table)
    width = table.shape[1]
    if in_table is None:
        fitted = view.width if view.names is None else len(view.names)
        if fitted is not None and features is None and fitted != width:
            raise DataError(f"X has {width} columns, but the model was fitted on {fitted}.")
        names = view.names if fitted == width else None
        names = names or tuple(f"x{position}" for position in range(width))
    else:
        names = in_table
    if features is not None:
        positions = _listed_columns(view, features, names, in_table is None)
    elif in_table is not None and view.names is not None:
        # LightGBM replaces spaces in the names of its columns.
        by_name = {name.replace(" ", "_"): name for name in names} | {name: name for name in names}
        fitted_on = [by_name.get(name, name) for name in view.names]
        present = set(names)
        missing = [name for name in fitted_on if name not in present]
        if missing:
            raise DataError(
                f"X lacks {len(missing)} of the columns that the model was fitted on: "
                f"{missing[:8]!r}."
            )
        positions = positions_of(fitted_on, names, "the model")
    else:
        positions = [position for position in range(width) if position not in asides]
        if in_table is not None and view.width not in (None, len(positions)):
            raise DataError(
                f"X has {len(positions)} feature columns, but the model was fitted on "
                f"{view.width}: name the model's columns with features=[...]."
            )
    if not positions:
        raise ArgumentError(f"features must name at least one column of X; got {features!r}.")
    return [names[position] for position in positions], positions


def _listed_columns(
    view: ModelView, features: Sequence[Any], names: Sequence[str], unnamed: bool
) -> list[int]:
    """Positions of the columns listed in `features`, in the order that the model expects."""
    if isinstance(features, Set):
        raise ArgumentError(
            "features must be a sequence, in the order that the model expects; got the set "
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
    listed = {names[position] for position in positions}
    shared = listed.intersection(view.names)
    if len(shared) == len(listed) == len(view.names):
        return positions_of(view.names, names, "features")
    # If no name matches, columns are matched by position; a partial match is a mistake.
    if shared or len(listed) != len(view.names):
        raise ArgumentError(
            f"features must name the {len(view.names)} columns that the model was fitted on, "
            f"{list(view.names[:8])!r}; got {list(features)!r}."
        )
    return positions
