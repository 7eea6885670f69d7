"""Jobs over the workers of joblib, whose answers are taken as they arrive."""

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
"""Jobs per worker that are waited for together, where a backend has no answers but all of them."""


Run = Callable[[Iterable[Any]], Iterator[Any]]


@contextmanager
def workers(n_jobs: int | None, hint: Mapping[str, str]) -> Iterator[Run]:
    """What runs `delayed` calls and gives their answers in any order.

    `hint` is what `share` says of them.
    """
    backend, _ = get_active_backend(**hint)
    if backend.supports_return_generator:
        yield Parallel(n_jobs=n_jobs, return_as="generator_unordered", **hint)
        return
    # Ray's backend. A checkpoint is written between answers, so that they must not all be the last.
    size = JOBS_AT_A_TIME * effective_n_jobs(n_jobs)
    with Parallel(n_jobs=n_jobs, **hint) as parallel:

        def run(calls: Iterable[Any]) -> Iterator[Any]:
            left = iter(calls)
            while some := list(islice(left, size)):
                yield from parallel(some)

        yield run


@contextmanager
def limit_threads(payload: Payload, sides: Set[Side], n_jobs: int | None) -> Iterator[None]:
    """While several threads run a network or any model, linear algebra keeps to the cores."""
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
    # scikit-learn's forests set the filters of warnings in every thread, and may leave them so.
    with warnings.catch_warnings(), blas_threads(limits):
        yield
