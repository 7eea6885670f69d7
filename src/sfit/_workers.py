"""Jobs on joblib workers, and the data that every job needs, sent to each worker once.

Threads share the payload. Other processes, local or remote, receive it as one array of bytes, which
joblib's backends recognise: loky maps it into memory, Dask scatters it. (Dask underestimates the
size of a fitted estimator and would send it with every task. Ray's backend would send any array
with every task, so the array goes into Ray's object store.) Each process unpickles it once.
If every side has a prepared function, the model itself is not sent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pickle import loads
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, effective_n_jobs
from joblib.externals.loky.backend.reduction import dumps
from joblib.parallel import get_active_backend

from sfit._array import Array
from sfit._blas import blas_threads
from sfit._differences import Evaluated
from sfit.restrict import Computed

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
    evaluation: Evaluated, statistic: Any, sides: Set[Computed]
) -> tuple[Payload, dict[str, str]]:
    """The payload for questions about some sides, and its hint for joblib."""
    of_rows = evaluation.rows.shared
    here = evaluation, statistic, of_rows
    if evaluation.threads_only:
        return Shared(here), {"require": "sharedmem"}
    return share(here, (evaluation.light(sides), statistic, of_rows))


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


JOBS_AT_A_TIME = 4
"""Jobs per worker in one batch, for a backend that returns results only all at once."""


Run = Callable[[Iterable[Any]], Iterator[Any]]


@contextmanager
def workers(n_jobs: int | None, hint: Mapping[str, str]) -> Iterator[Run]:
    """A function that runs `delayed` calls and yields their results in any order.

    `hint` is joblib's hint from `share`.
    """
    backend, _ = get_active_backend(**hint)
    if backend.supports_return_generator:
        yield Parallel(n_jobs=n_jobs, return_as="generator_unordered", **hint)
        return
    # Ray's backend. A checkpoint is written between results, so they must not all come at the end.
    size = JOBS_AT_A_TIME * effective_n_jobs(n_jobs)
    with Parallel(n_jobs=n_jobs, **hint) as parallel:

        def run(calls: Iterable[Any]) -> Iterator[Any]:
            pending = iter(calls)
            while batch := list(islice(pending, size)):
                yield from parallel(batch)

        yield run


@contextmanager
def limit_threads(payload: Payload, sides: Set[Computed], n_jobs: int | None) -> Iterator[None]:
    """Limit linear algebra to the cores while several threads run a network or any model."""
    n_workers = effective_n_jobs(n_jobs)
    if n_workers == 1 or not isinstance(payload, Shared):
        yield
        return
    evaluation: Evaluated = payload.value[0]
    if evaluation.is_prepared(sides):
        yield
        return
    limits = max(1, cpu_count() // n_workers)
    # scikit-learn's forests set warning filters in every thread, and may not restore them.
    with warnings.catch_warnings(), blas_threads(limits):
        yield
