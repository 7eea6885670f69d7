"""The features under test: their names and columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from sfit._arguments import is_iterable, shown
from sfit._contrast import Term
from sfit.exceptions import ArgumentError
from sfit.rows import Table, column_of, column_values, identity, is_one_value
from sfit.rows._survey import is_one_number


@dataclass(frozen=True)
class Features:
    """The features under test and how to hide them."""

    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    """Columns of each feature in the masked space."""
    always_on: tuple[int, ...]
    """Masked-space columns that every side reveals (an explicit intercept)."""
    reference: Table
    """Background rows of the masked space, whose values hidden features take.

    Predictions are averaged over these rows. A single row freezes hidden features at a point.
    """
    space: str
    """"original", or "encoded" for a Pipeline that is masked after its head."""
    origin: str
    """"given", or "test rows" if the reference was computed from the rows under test."""
    missing: frozenset[int] = frozenset()
    """Masked-space columns with missing values, which count as a separate value."""
    spans: tuple[tuple[float, float], ...] = ()
    """Smallest and largest value of each masked-space column; NaN if it is not numeric."""

    def shown(self, term: Term) -> list[int]:
        """Masked-space columns that have their observed values when `term` is revealed."""
        of_term = (column for feature in term for column in self.columns[feature])
        return sorted({*of_term, *self.always_on})

    def named(self, term: Iterable[int]) -> tuple[str, ...]:
        """The user's names of a term, in the order of the columns."""
        return tuple(self.names[feature] for feature in sorted(term))

    def background(self, columns: Sequence[int]) -> Table:
        """The background rows of a side that reveals `columns`: one, if all would be the same."""
        n_shown = sum(column in self._varying for column in columns)
        one = self.reference.shape[0] > 1 and n_shown == len(self._varying)
        return self.reference[:1] if one else self.reference

    @cached_property
    def _varying(self) -> frozenset[int]:
        """Masked-space columns in which background rows differ."""
        rows = self.reference
        if rows.shape[0] == 1:
            return frozenset()
        if isinstance(rows, np.ndarray) and rows.dtype != object:
            bits = np.ascontiguousarray(rows).view(f"i{rows.itemsize}")
            return frozenset(np.flatnonzero((bits != bits[0]).any(axis=0)).tolist())
        columns = range(rows.shape[1])
        return frozenset(c for c in columns if not is_one_value(column_of(rows, c)))

    @cached_property
    def everything(self) -> Term:
        """The term of all features."""
        return frozenset(range(len(self.names)))


def positions_of(
    wanted: Sequence[Any] | Any,
    labels: Sequence[str],
    argument: str,
    column_ids: Sequence[int] = (),
) -> list[int]:
    """Turn names into positions among the labels.

    If X has no column names, `column_ids` holds the column number in X of each label; these
    numbers are accepted as names too.
    """
    if isinstance(wanted, str | int | np.integer) and not isinstance(wanted, bool):
        wanted = [wanted]
    if isinstance(wanted, Mapping | bytes) or not is_iterable(wanted):
        raise ArgumentError(f"{argument} must hold column names; got {shown(wanted)}.")
    index = {label: position for position, label in enumerate(labels)}
    by_id = {column: position for position, column in enumerate(column_ids)}
    positions = []
    for item in wanted:
        whole = isinstance(item, int | np.integer) and not isinstance(item, bool)
        if whole and item in by_id:
            positions.append(by_id[item])
        elif (label := str(item) if not whole or abs(item) < 10**18 else None) in index:
            positions.append(index[label])
        else:
            raise ArgumentError(
                f"{argument} names {shown(item)}, which is not one of {shorten(labels)}."
            )
    if len(set(positions)) < len(positions):
        raise ArgumentError(f"{argument} names a column more than once: {list(wanted)!r}.")
    return positions


def positions_in(
    names: Sequence[str], labels: Sequence[str], argument: str, remedy: str
) -> list[int]:
    """Positions among `names` of the columns `labels`, all of which must be present."""
    present = set(names)
    lacking = [label for label in labels if label not in present]
    if lacking:
        raise ArgumentError(f"{argument} lacks the columns [{shorten(lacking)}]{remedy}")
    return positions_of(list(labels), names, argument)


def group_columns(
    labels: Sequence[str],
    groups: Mapping[str, Sequence[Any]] | None,
    always_on: Sequence[int],
    column_ids: Sequence[int],
) -> dict[str, list[int]]:
    """Original columns of each feature, in order of appearance."""
    groups = {} if groups is None else groups
    if not isinstance(groups, Mapping):
        raise ArgumentError(f"groups must map a name to columns; got {type(groups).__name__}.")
    names, always_revealed = set(map(str, groups)), set(always_on)
    if len(names) < len(groups):
        raise ArgumentError(f"groups has two groups with the same name: {list(groups)!r}.")
    owner: dict[int, str] = {}
    for name, columns in groups.items():
        members = positions_of(columns, labels, f"groups[{name!r}]", column_ids)
        if not members:
            raise ArgumentError(f"groups[{name!r}] is empty.")
        for position in members:
            if position in always_revealed:
                raise ArgumentError(
                    f"groups[{name!r}] holds {labels[position]!r}, which is also always_on."
                )
            if position in owner:
                raise ArgumentError(
                    f"groups {owner[position]!r} and {name!r} overlap in {labels[position]!r}."
                )
            owner[position] = str(name)
    features: dict[str, list[int]] = {}
    for position, label in enumerate(labels):
        if position in always_revealed:
            continue
        if label in names and owner.get(position) != label:
            raise ArgumentError(f"groups[{label!r}] has the name of a column that is not in it.")
        features.setdefault(owner.get(position, label), []).append(position)
    return features


def constant_features(features: Features, encoded: Table) -> tuple[list[str], list[str]]:
    """Names of constant features: those at their reference, and the others."""
    at_reference: list[str] = []
    elsewhere: list[str] = []
    for name, columns in zip(features.names, features.columns, strict=True):
        # A feature without columns is dropped before the model.
        if columns and all(_is_constant(features, encoded, column) for column in columns):
            frozen = all(
                _same_value(hidden, column_values(encoded, c)[0])
                for c in columns
                for hidden in column_values(features.reference, c)
            )
            (at_reference if frozen else elsewhere).append(name)
    return at_reference, elsewhere


def _is_constant(features: Features, encoded: Table, column: int) -> bool:
    span = features.spans[column]
    if not np.isnan(span[0]):
        return is_one_number(span) and column not in features.missing
    return is_one_value(column_of(encoded, column))


def _same_value(reference: Any, value: Any) -> bool:
    """Whether the value of a constant column is its reference; missing counts as a value."""
    if isinstance(value, np.floating) and not pd.isna(reference):
        # The mean of equal numbers may differ from them in the last bits.
        return bool(np.isclose(value, reference, rtol=64 * np.finfo(value.dtype).eps, atol=0))
    return identity(reference) == identity(value)


def shorten(values: Sequence[Any]) -> str:
    """Names or labels for a message: the first eight, and the total number."""
    text = ", ".join(map(repr, values[:8]))
    return f"{text}, ... ({len(values)} in all)" if len(values) > 8 else text
