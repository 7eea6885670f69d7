"""The data that every job needs, sent to each worker once.

Threads share the payload. Other processes, local or remote, receive it as one array of bytes, which
joblib's backends recognise: loky maps it into memory, Dask scatters it. (Dask underestimates the
size of a fitted estimator and would send it with every task. Ray's backend would send any array
with every task, so the array goes into Ray's object store.) Each process unpickles it once.
If every side has a prepared function, the model itself is not sent.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from hashlib import blake2b
from pickle import loads
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib.externals.loky.backend.reduction import dumps
from joblib.parallel import get_active_backend

from sfit._contrast import Side
from sfit._differences import Evaluation

Array = npt.NDArray[Any]

_DIGEST = 16


@dataclass(frozen=True)
class Shared:
    """A payload that threads share without a copy."""

    value: Any


Payload = Shared | Array | Any
"""Any: a Ray reference to an array."""

_opened: dict[bytes, Any] = {}
"""The last payload that this process unpickled.

Module state, because nothing else survives from task to task in the workers of every backend."""


def make_payload(
    evaluation: Evaluation, statistic: Any, sides: Set[Side]
) -> tuple[Payload, dict[str, str]]:
    """The payload for questions about some sides, and its hint for joblib."""
    of_rows = evaluation.rows.shared
    here = evaluation, statistic, of_rows
    if evaluation.predictions.view.threads_only:
        return Shared(here), {"require": "sharedmem"}
    return share(here, (_light(evaluation, sides), statistic, of_rows))


def share(here: Any, sent: Any, prefer: str = "threads") -> tuple[Payload, dict[str, str]]:
    """The payload for the user's joblib backend, and its hint for joblib.

    Threads share the object `here`; other processes receive `sent`.
    """
    backend, _ = get_active_backend(prefer=prefer)
    if getattr(backend, "supports_sharedmem", False):
        return Shared(here), {"prefer": prefer}
    try:
        data = bytes(dumps(sent))
    except Exception:  # models refuse pickling in many ways; use threads then
        return Shared(here), {"require": "sharedmem"}
    digest = blake2b(data, digest_size=_DIGEST).digest()
    array = np.frombuffer(digest + data, dtype=np.uint8)
    if type(backend).__module__.startswith("ray."):
        import ray

        return ray.put(array), {"prefer": prefer}
    return array, {"prefer": prefer}


def open_payload(payload: Payload) -> Any:
    """The shared or sent object, in any process."""
    if isinstance(payload, Shared):
        return payload.value
    array = payload if isinstance(payload, np.ndarray) else _got_from_ray(payload)
    digest = array[:_DIGEST].tobytes()
    if digest not in _opened:
        opened = loads(array[_DIGEST:].tobytes())  # noqa: S301 - made by this very run
        _opened.clear()
        _opened[digest] = opened
    return _opened[digest]


def _got_from_ray(reference: Any) -> Array:
    import ray

    return np.asarray(ray.get(reference))


def _light(evaluation: Evaluation, sides: Set[Side]) -> Evaluation:
    """The evaluation reduced to what some sides need."""
    predictions = evaluation.predictions
    prepared = {side: predictions.prepared[side] for side in sides & predictions.prepared.keys()}
    light = replace(predictions, structure=None, prepared=prepared, trusted={})
    if len(prepared) == len(sides):
        # No side needs the model.
        light = replace(light, view=None)  # type: ignore[arg-type]
    # Each job brings its rows.
    return replace(evaluation, predictions=light, rows=None)  # type: ignore[arg-type]
