"""The identity of a run, and opening the checkpoint that belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

from sfit._checkpoint import Checkpoint
from sfit._probe import confirm
from sfit._versions import version_of
from sfit.exceptions import ArgumentError
from sfit.models._fingerprint import Unseen
from sfit.rows import hash_table
from sfit.sample import Sample


@contextmanager
def opened(
    path: Any,
    key: str | None,
    arguments: Mapping[str, Any],
    model: Callable[[], str | Unseen | None],
    data: Callable[[], Mapping[str, str]],
) -> Iterator[Checkpoint | None]:
    """The checkpoint of a run, closed on exit; None without a path.

    `model` returns the text that identifies the model to a later run, `data` the texts that
    identify the rows. Both are evaluated only when a checkpoint is used.
    """
    if path is None:
        yield None
        return
    about = {name: describe_argument(value, name, key) for name, value in arguments.items()}
    # With a key, the user is responsible for recognising the model.
    fingerprint = model() if key is None else "identified by checkpoint_key"
    if not isinstance(fingerprint, str):
        unseen = fingerprint.what if isinstance(fingerprint, Unseen) else "its inside"
        raise ArgumentError(
            f"checkpoint: a later run could not distinguish this model from another, because sfit "
            f"cannot see {unseen}; pass checkpoint_key='...', a string that you change whenever "
            "the model changes."
        )
    about |= {
        "the model": fingerprint,
        "checkpoint_key": str(key),
        **data(),
        "the version of sfit": version_of("sfit"),
    }
    checkpoint = Checkpoint(path, about)
    try:
        yield checkpoint
    finally:
        checkpoint.close()


@contextmanager
def opened_for(
    path: Any,
    key: str | None,
    arguments: Mapping[str, Any],
    sample: Sample,
    validation: Sample | None = None,
) -> Iterator[Checkpoint | None]:
    """The checkpoint of a run that tests a fitted model; its predictions must be unchanged."""

    def data() -> dict[str, str]:
        reference = blake2b(digest_size=16)
        hash_table(reference, sample.features.reference)
        return {
            "the rows": sample.rows.fingerprint(),
            "the features": repr((sample.features.names, sample.features.columns)),
            "the reference values": reference.hexdigest(),
            "the validation rows": "none" if validation is None else validation.rows.fingerprint(),
        }

    with opened(path, key, arguments, sample.view.fingerprint, data) as checkpoint:
        if checkpoint is not None:
            confirm(checkpoint, sample, "the model")
        yield checkpoint


def describe_argument(value: Any, argument: str, key: str | None) -> str:
    """An argument as text; a callable cannot be identified and needs a checkpoint key."""
    if not callable(value):
        return repr(value)
    if key is None:
        raise ArgumentError(
            f"checkpoint: {argument} is a function, which a later run could not distinguish from "
            "another; pass checkpoint_key='...', a string that you change whenever it changes."
        )
    return "a function"
