"""Several models on the same rows: each with the columns that it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sfit._arguments import is_iterable, shown
from sfit._checkpoint import Checkpoint
from sfit._features import positions_of, shorten
from sfit._probe import confirm
from sfit._resume import opened
from sfit.compare._request import CompareRequest
from sfit.exceptions import ArgumentError, DataError, ModelError
from sfit.models import ModelView, as_view
from sfit.models._fingerprint import Unseen
from sfit.rows import column_names, hash_table
from sfit.sample import Sample, open_rows, prepare
from sfit.sample._columns import asides, column_or_vector, used_columns
from sfit.sample._reference import has_no_names

EXAMPLE = "names to fitted models, such as {'champion': a, 'challenger': b}"


def check_models(models: Any) -> dict[str, Any]:
    """At least two models with names."""
    if not isinstance(models, Mapping):
        raise ArgumentError(f"models must map {EXAMPLE}; got {type(models).__name__}.")
    others = [name for name in models if not isinstance(name, str)]
    if others:
        raise ArgumentError(
            f"models must map {EXAMPLE}; got the name {shown(others[0])}, which is no string."
        )
    if len(models) < 2:
        raise ArgumentError(f"models must hold at least two models; got {len(models)}.")
    return dict(models)


def check_features(features: Any, models: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of each model: one list for all, or one per model."""
    if not isinstance(features, Mapping):
        # Every model reads the list.
        return dict.fromkeys(models, list(features) if isinstance(features, Iterator) else features)
    unknown = [name for name in features if name not in models]
    if unknown:
        raise ArgumentError(
            f"features names {unknown[0]!r}, which is not one of the models: {list(models)!r}."
        )
    listed = {
        name: list(columns) if isinstance(columns, Iterator) else columns
        for name, columns in features.items()
    }
    return {name: listed.get(name) for name in models}


def prepare_all(
    models: Mapping[str, Any], X: Any, y: Any, request: CompareRequest, seed: int
) -> dict[str, Sample]:
    """The sample of each model; errors name the model."""
    features = check_features(request.features, models)
    views = {name: blamed(name, as_view, model, request.loss) for name, model in models.items()}
    _check_alike(views)
    used = {
        name: blamed(name, columns_of, view, X, y, features[name], request.clusters)
        for name, view in views.items()
    }
    check_names(used)
    subject = Columns.named_by(request, list(used.values()))
    samples = {
        name: blamed(
            name,
            prepare,
            view,
            X,
            y,
            clusters=request.clusters,
            seed=seed,
            loss=request.loss,
            features=features[name],
            **subject.of(used[name].labels),
        )
        for name, view in views.items()
    }
    return samples


class Used(NamedTuple):
    """The columns that a model uses, in its order."""

    labels: Sequence[str]
    numbers: Sequence[int]
    """Their numbers in X; empty if X has column names."""


def columns_of(view: ModelView, X: Any, y: Any, features: Any, clusters: Any) -> Used:
    """The columns that a model uses."""
    _, table = open_rows(X, y, None, clusters)
    _, target = column_or_vector(y, table, "y") if isinstance(y, str) else (None, None)
    not_features = asides(target, None, clusters, table)
    labels, positions = used_columns(view, table, features, not_features)
    return Used(labels, positions if column_names(table) is None else ())


def check_names(used: Mapping[str, Used]) -> None:
    """Refuse columns without names that two models call differently."""
    seen: dict[int, tuple[str, str]] = {}
    for model, (labels, numbers) in used.items():
        for number, label in zip(numbers, labels, strict=False):
            other, first = seen.setdefault(number, (label, model))
            if other != label:
                raise DataError(
                    f"X has no column names, and the models call its columns differently: column "
                    f"{number} is {other!r} in {first!r} and {label!r} in {model!r}. Pass X as a "
                    "data frame with column names."
                )


@dataclass(frozen=True)
class Columns:
    """Arguments that name columns, of which a model may have only some."""

    groups: Any
    reference: Any
    always_on: Any
    union: Used
    """The columns of all models."""

    @classmethod
    def named_by(cls, request: CompareRequest, used: Sequence[Used]) -> Columns:
        """The arguments of a request, in lists that can be read once per model."""
        groups, reference = request.groups, request.reference
        if isinstance(groups, Mapping):
            groups = {name: _as_list(columns) for name, columns in groups.items()}
        labels = list(dict.fromkeys(chain(*(one.labels for one in used))))
        numbers = list(dict.fromkeys(chain(*(one.numbers for one in used))))
        if any(one.labels != used[0].labels for one in used):
            if has_no_names(reference, labels):
                raise ArgumentError(
                    "reference has values without names, but the models use different columns, or "
                    "the same in another order: pass a mapping, a Series or a frame with the names "
                    f"of all columns, {shorten(labels)}."
                )
            if isinstance(reference, pd.Series):
                reference = dict(zip(map(str, reference.index), reference, strict=True))
        return cls(groups, reference, _as_list(request.always_on), Used(labels, numbers))

    def of(self, labels: Sequence[str]) -> dict[str, Any]:
        """The arguments for a model with these columns."""
        groups, reference, present = self.groups, self.reference, set(labels)
        if isinstance(groups, Mapping):
            kept_of = {
                name: self._kept(columns, present, f"groups[{name!r}]")
                for name, columns in groups.items()
            }
            # An empty group is an error, unless the model has none of its columns.
            groups = {name: kept for name, kept in kept_of.items() if kept or not groups[name]}
        if isinstance(reference, Mapping):
            kept = self._kept(list(reference), present, "reference")
            reference = {name: reference[name] for name in kept}
        always_on = self._kept(self.always_on, present, "always_on")
        return {"groups": groups, "reference": reference, "always_on": always_on}

    def _kept(self, columns: Any, present: set[str], argument: str) -> list[Any]:
        """The named columns that a model has; refuse names that no model has."""
        positions = positions_of(columns, self.union.labels, argument, self.union.numbers)
        pairs = zip(columns, positions, strict=True)
        return [column for column, position in pairs if self.union.labels[position] in present]


def _as_list(columns: Any) -> Any:
    """Names of columns in a list; anything else as it is, to be refused by name."""
    if isinstance(columns, str | int | np.integer):
        return [columns]
    return list(columns) if is_iterable(columns) and not isinstance(columns, Mapping) else columns


def blamed(name: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call a function; its errors say which model they are about."""
    try:
        return call(*arguments, **options)
    except (ArgumentError, DataError, ModelError) as error:
        raise type(error)(f"model {name!r}: {error}") from error


def _check_alike(views: Mapping[str, ModelView]) -> None:
    """Refuse models that predict different things."""
    [(first, one), *others] = views.items()
    for name, view in others:
        if view.task != one.task:
            raise ModelError(
                f"models cannot be compared: {first!r} is a {one.task} model, and {name!r} a "
                f"{view.task} model. Their losses measure different things."
            )


@contextmanager
def opened_for_all(
    request: CompareRequest, identity: Mapping[str, Any], samples: Mapping[str, Sample]
) -> Iterator[Checkpoint | None]:
    """The checkpoint of a comparison of models; their predictions must be unchanged."""

    def fingerprint() -> str | Unseen | None:
        found = {name: sample.view.fingerprint() for name, sample in samples.items()}
        return next((one for one in found.values() if not isinstance(one, str)), repr(found))

    def data() -> dict[str, str]:
        about: dict[str, str] = {}
        for name, sample in samples.items():
            reference = blake2b(digest_size=16)
            hash_table(reference, sample.features.reference)
            about |= {
                f"the rows of {name!r}": sample.rows.fingerprint(),
                f"the features of {name!r}": repr((sample.features.names, sample.features.columns)),
                f"the reference values of {name!r}": reference.hexdigest(),
            }
        return about

    path, key = request.checkpoint, request.checkpoint_key
    with opened(path, key, identity, fingerprint, data) as checkpoint:
        if checkpoint is not None:
            for name, sample in samples.items():
                confirm(checkpoint, sample, f"the model {name!r}")
        yield checkpoint
