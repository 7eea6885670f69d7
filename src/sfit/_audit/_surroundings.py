"""What an audit looks at beside the tests: columns of the model, protected attributes, groups."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Self

import pandas as pd

from sfit._array import Array
from sfit._audit._subject import Subject
from sfit._features import positions_of
from sfit._row_deltas import column_labels
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
                protected[name] = as_vector(values, argument, table.shape[0])
        else:
            for name in request.protected:
                [position] = positions_of([name], names, "protected", unnamed)
                protected[name] = column_values(table, position)
        return cls(tuple(labels), tuple(positions), protected)

    def check(self, features: tuple[str, ...], expected: dict[str, str]) -> None:
        """Refuse an expectation of a feature that is not tested."""
        positions_of(list(expected), features, "expected")

    def identity(self) -> dict[str, str]:
        """What distinguishes another audit of the same model and rows."""
        digest = blake2b(digest_size=16)
        for name, values in self.protected.items():
            digest.update(f"{name} {len(values)} ".encode())
            digest.update(pd.util.hash_array(pd.factorize(values)[0]).tobytes())
            digest.update(repr(pd.factorize(values)[1].tolist()).encode())
        return {"protected": digest.hexdigest()}
