"""What every job needs, sent to a worker once.

Threads share it. Another process, here or on another machine, gets it as one array of bytes, which
joblib's backends recognise: loky maps it into memory, Dask scatters it. (Dask does not see the true
size of a fitted estimator, and would send it with every task; Ray's backend would do so with any
array, so that it is put into Ray's own store.) It is unpickled once per process.
Where every side has a function of its own, the model itself stays at home.
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
    """What threads share, as it is."""

    value: Any


Payload = Shared | Array | Any
"""Any: Ray's reference to an array."""

_opened: dict[bytes, Any] = {}
"""The payload that this process has unpickled last.

State of the process, because nothing else outlives a task in a worker of every backend."""


def make_payload(
    evaluation: Evaluation, of_rows: Any, sides: Set[Side]
) -> tuple[Payload, dict[str, str]]:
    """The payload for questions about some sides, and what to tell joblib."""
    here = evaluation, of_rows
    if evaluation.predictions.view.threads_only:
        return Shared(here), {"require": "sharedmem"}
    return share(here, (_light(evaluation, sides), of_rows))


def share(here: Any, sent: Any, prefer: str = "threads") -> tuple[Payload, dict[str, str]]:
    """The payload for the backend that the user has chosen, and what to tell joblib.

    Threads share what is `here`; other processes are `sent` something.
    """
    backend, _ = get_active_backend(prefer=prefer)
    if getattr(backend, "supports_sharedmem", False):
        return Shared(here), {"prefer": prefer}
    try:
        data = bytes(dumps(sent))
    except Exception:  # a model may refuse in any way it likes; then threads serve it
        return Shared(here), {"require": "sharedmem"}
    digest = blake2b(data, digest_size=_DIGEST).digest()
    array = np.frombuffer(digest + data, dtype=np.uint8)
    if type(backend).__module__.startswith("ray."):
        import ray

        return ray.put(array), {"prefer": prefer}
    return array, {"prefer": prefer}


def open_payload(payload: Payload) -> Any:
    """What was shared or sent, in whatever process this is."""
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
    """The evaluation with what some sides need, and nothing else."""
    predictions = evaluation.predictions
    prepared = {side: predictions.prepared[side] for side in sides & predictions.prepared.keys()}
    light = replace(predictions, structure=None, prepared=prepared, trusted={})
    if len(prepared) == len(sides):
        # No side asks the model, so that nothing misses it.
        light = replace(light, view=None)  # type: ignore[arg-type]
    return replace(evaluation, predictions=light)
