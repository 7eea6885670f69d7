"""The user's columns and labels: columns of the model, and protected attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Self

import pandas as pd

from sfit._arguments import warn_of_order
from sfit._array import Array
from sfit._audit._subject import Subject
from sfit._features import positions_of
from sfit._row_deltas import column_labels
from sfit.exceptions import DataError
from sfit.models import as_view
from sfit.rows import as_table, as_vector, column_names, column_values
from sfit.sample._columns import asides, column_or_vector, used_columns


@dataclass(frozen=True)
class Surroundings:
    """The user's columns and labels, before any encoding."""

    labels: tuple[str, ...]
    """Names of the columns that the model uses."""
    positions: tuple[int, ...]
    """Their positions in X."""
    protected: dict[str, Array]
    """Protected attributes by name: one value per row."""
    groups: Array | None
    """The label of each row's group; None if there are no groups, or if they are the classes."""

    @classmethod
    def of(cls, subject: Subject) -> Self:
        """Look up all columns, before any work is done."""
        request, table = subject.request, as_table(subject.X)
        _, target = column_or_vector(subject.y, table, "y")
        view = as_view(subject.model, request.loss)
        aside = asides(target, request.by, request.clusters, table)
        labels, positions = used_columns(view, table, request.features, aside)
        names = column_labels(view, table)
        unnamed = range(len(names)) if column_names(table) is None else ()
        protected = {}
        if isinstance(request.protected, dict):
            for name, values in request.protected.items():
                argument = f"protected[{name!r}]"
                warn_of_order(subject.X, values, argument, warn=subject.warn)
                protected[name] = _one_per_row(values, argument, table.shape[0])
        else:
            for name in request.protected:
                [position] = positions_of([name], names, "protected", unnamed)
                protected[name] = column_values(table, position)
        by = request.by
        by_class = isinstance(by, str) and by == "class"
        groups = None if by is None or by_class else column_or_vector(by, table, "by")[0]
        return cls(tuple(labels), tuple(positions), protected, groups)

    def check(self, features: tuple[str, ...], expected: dict[str, str]) -> None:
        """Refuse an expectation of a feature that is not tested."""
        positions_of(list(expected), features, "expected")

    def identity(self) -> dict[str, str]:
        """Labels that distinguish this audit from another one of the same model and rows."""
        by = "none" if self.groups is None else _digest({"by": self.groups})
        return {"protected": _digest(self.protected), "the groups of rows": by}


def _one_per_row(values: Any, argument: str, n: int) -> Array:
    """One label per row, as a vector; a single column counts as one."""
    vector = as_vector(values, argument, n)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise DataError(
            f"{argument} must hold one label per row; got an array of shape {vector.shape}."
        )
    return vector


def _digest(columns: Mapping[str, Array]) -> str:
    """A digest of named labels."""
    digest = blake2b(digest_size=16)
    for name, values in columns.items():
        codes, distinct = pd.factorize(values)
        digest.update(f"{name} {len(values)} ".encode())
        digest.update(codes.tobytes())
        digest.update(repr(distinct.tolist()).encode())
    return digest.hexdigest()
