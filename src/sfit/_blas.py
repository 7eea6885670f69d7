"""Limit the threads of linear algebra for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

_LOCK = Lock()
_n_active = 0
"""Number of threads currently inside `blas_threads`."""
_undo = ExitStack()
"""Lifts the limit when the last of them leaves."""


@contextmanager
def blas_threads(limit: int) -> Iterator[None]:
    """Limit linear algebra to `limit` threads, unless a limit is active already.

    Several Python threads may enter at once. The first sets the limit and the last to leave lifts
    it: if each restored the previous state, one thread's limit could stay for good.
    """
    global _n_active
    with _LOCK:
        if not _n_active:
            _undo.enter_context(_controller().limit(limits=limit))
        _n_active += 1
    try:
        yield
    finally:
        with _LOCK:
            _n_active -= 1
            if not _n_active:
                _undo.close()


@cache
def _controller() -> ThreadpoolController:
    """Cached: finding the libraries takes 2 ms. The relevant ones load with NumPy and SciPy."""
    return ThreadpoolController().select(user_api="blas")
