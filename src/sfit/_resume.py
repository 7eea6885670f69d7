"""What a run is known by, and whether a checkpoint is one of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from os import PathLike
from typing import Any

from sfit._checkpoint import Checkpoint
from sfit._probe import confirm
from sfit._versions import version_of
from sfit.exceptions import ArgumentError
from sfit.models._fingerprint import Unseen
from sfit.problem import Problem
from sfit.rows import hash_table


@contextmanager
def opened(
    path: Any,
    key: str | None,
    asked: Mapping[str, Any],
    model: Callable[[], str | Unseen | None],
    data: Callable[[], Mapping[str, str]],
) -> Iterator[Checkpoint | None]:
    """The checkpoint of a run, closed in the end; None where there is no path.

    `model` gives the text by which a later run knows the model again, and `data` what it must know
    of the rows. Both are evaluated only when a checkpoint is used.
    """
    if key is not None and not isinstance(key, str):
        # str(key) of an object may be another in the next run.
        raise ArgumentError(f"checkpoint_key must be a text, or None; got {key!r}.")
    if path is None:
        yield None
        return
    if not isinstance(path, str | PathLike):
        raise ArgumentError(f"checkpoint must be the path of a file; got {path!r}.")
    about = {argument: _told(value, argument, key) for argument, value in asked.items()}
    # Whoever gives a key answers for the model.
    known = model() if key is None else "told by checkpoint_key"
    if not isinstance(known, str):
        unseen = known.what if isinstance(known, Unseen) else "its inside"
        raise ArgumentError(
            f"checkpoint: a later run could not tell this model from another, because sfit cannot "
            f"see {unseen}; pass checkpoint_key='...', a text that you change whenever the model "
            "changes."
        )
    about |= {
        "the model": known,
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
    asked: Mapping[str, Any],
    problem: Problem,
    validation: Problem | None = None,
) -> Iterator[Checkpoint | None]:
    """The checkpoint of a run that tests a fitted model, which must still predict the same."""

    def data() -> dict[str, str]:
        reference = blake2b(digest_size=16)
        hash_table(reference, problem.features.reference)
        return {
            "the rows": problem.rows.fingerprint(),
            "the features": repr((problem.features.names, problem.features.columns)),
            "the reference values": reference.hexdigest(),
            "the validation rows": "none" if validation is None else validation.rows.fingerprint(),
        }

    with opened(path, key, asked, problem.view.fingerprint, data) as checkpoint:
        if checkpoint is not None:
            confirm(checkpoint, problem, "the model")
        yield checkpoint


def _told(value: Any, argument: str, key: str | None) -> str:
    """An argument as text; what cannot be told from another needs the user's own key."""
    if not callable(value):
        return repr(value)
    if key is None:
        raise ArgumentError(
            f"checkpoint: {argument} is a function, which a later run could not tell from another; "
            "pass checkpoint_key='...', a text that you change whenever the function changes."
        )
    return "a function"
