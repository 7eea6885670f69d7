"""Several models on the same rows: each with the columns that it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from typing import Any

import numpy as np

from sfit._arguments import is_iterable
from sfit._checkpoint import Checkpoint
from sfit._features import positions_of
from sfit._probe import confirm
from sfit._resume import opened
from sfit.compare._request import CompareRequest
from sfit.exceptions import ArgumentError, DataError, ModelError
from sfit.models import ModelView, as_view
from sfit.models._fingerprint import Unseen
from sfit.rows import hash_table
from sfit.sample import Sample, open_rows, prepare
from sfit.sample._columns import asides, column_or_vector, used_columns


def check_models(models: Any) -> dict[str, Any]:
    """At least two models with names."""
    if not isinstance(models, Mapping) or not all(isinstance(name, str) for name in models):
        raise ArgumentError(
            "models must map names to fitted models, such as {'champion': a, 'challenger': b}; "
            f"got {type(models).__name__}."
        )
    if len(models) < 2:
        raise ArgumentError(f"models must hold at least two models; got {len(models)}.")
    return dict(models)


def check_features(features: Any, models: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of each model: one list for all, or one per model."""
    if not isinstance(features, Mapping):
        return dict.fromkeys(models, features)
    unknown = [name for name in features if name not in models]
    if unknown:
        raise ArgumentError(
            f"features names {unknown[0]!r}, which is not one of the models: {list(models)!r}."
        )
    return {name: features.get(name) for name in models}


def prepare_all(
    models: Mapping[str, Any], X: Any, y: Any, request: CompareRequest, seed: int
) -> dict[str, Sample]:
    """The sample of each model; errors name the model."""
    features = check_features(request.features, models)
    views = {name: blamed(name, as_view, model, request.loss) for name, model in models.items()}
    labels = {
        name: blamed(name, labels_of, view, X, y, features[name], request.clusters)
        for name, view in views.items()
    }
    subject = Columns.named_by(request, tuple(dict.fromkeys(chain(*labels.values()))))
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
            **subject.of(labels[name]),
        )
        for name, view in views.items()
    }
    _check_alike(samples)
    return samples


def labels_of(view: ModelView, X: Any, y: Any, features: Any, clusters: Any) -> list[str]:
    """The columns that a model uses."""
    _, table = open_rows(X, y, None, clusters)
    _, target = column_or_vector(y, table, "y") if isinstance(y, str) else (None, None)
    return used_columns(view, table, features, asides(target, None, clusters, table))[0]


@dataclass(frozen=True)
class Columns:
    """Arguments that name columns, of which a model may have only some."""

    groups: Any
    reference: Any
    always_on: Any
    union: Sequence[str]
    """The columns of all models."""

    @classmethod
    def named_by(cls, request: CompareRequest, union: Sequence[str]) -> Columns:
        """The arguments of a request, in lists that can be read once per model."""
        groups = request.groups
        if isinstance(groups, Mapping):
            groups = {name: _as_list(columns) for name, columns in groups.items()}
        return cls(groups, request.reference, _as_list(request.always_on), union)

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
        numbers = range(len(self.union))
        positions = positions_of(columns, self.union, argument, numbers)
        pairs = zip(columns, positions, strict=True)
        return [column for column, position in pairs if self.union[position] in present]


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


def _check_alike(samples: Mapping[str, Sample]) -> None:
    """Refuse models that predict different things."""
    [(first, one), *others] = samples.items()
    for name, sample in others:
        if sample.view.task != one.view.task:
            raise ModelError(
                f"models cannot be compared: {first!r} is a {one.view.task} model, and {name!r} a "
                f"{sample.view.task} model. Their losses measure different things."
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
