"""How many threads linear algebra may take, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

_LOCK = Lock()
_inside: list[ExitStack] = []
"""One for each that is in `blas_threads` now; what undoes the limit is with one of them."""


@contextmanager
def blas_threads(limit: int) -> Iterator[None]:
    """Let linear algebra take so many threads.

    Several threads of Python may ask for it at a time. The limit of the first holds, and the last
    to leave undoes it: if each restored what it found, the limit of one could stay for good.
    """
    own = ExitStack()
    with _LOCK:
        if not _inside:
            own.enter_context(_controller().limit(limits=limit))
        _inside.append(own)
    try:
        yield
    finally:
        with _LOCK:
            _inside.remove(own)
            if _inside:
                _inside[0].push(own.pop_all())
            own.close()


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes 2 ms; those that matter come with NumPy and SciPy."""
    return ThreadpoolController().select(user_api="blas")
