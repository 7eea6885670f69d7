"""Jobs over joblib workers; results are consumed as they arrive."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from itertools import islice
from typing import Any

from joblib import Parallel, cpu_count, effective_n_jobs
from joblib.parallel import get_active_backend

from sfit._blas import blas_threads
from sfit._contrast import Reveal, Side
from sfit._differences import Evaluation
from sfit._payload import Payload, Shared

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
def limit_threads(payload: Payload, sides: Set[Side], n_jobs: int | None) -> Iterator[None]:
    """Limit linear algebra to the cores while several threads run a network or any model."""
    n_workers = effective_n_jobs(n_jobs)
    if n_workers == 1 or not isinstance(payload, Shared):
        yield
        return
    evaluation: Evaluation = payload.value[0]
    updates = any(isinstance(s, Reveal) and s.arithmetic == "update" for s in sides)
    if sides <= evaluation.predictions.prepared.keys() and not updates:
        yield
        return
    limits = max(1, cpu_count() // n_workers)
    # scikit-learn's forests set warning filters in every thread, and may not restore them.
    with warnings.catch_warnings(), blas_threads(limits):
        yield
