"""How many threads linear algebra may take, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController

_LOCK = Lock()
_inside = 0
"""How many are in `blas_threads` now."""
_undo = ExitStack()
"""What lifts the limit when the last of them has left."""


@contextmanager
def blas_threads(limit: int) -> Iterator[None]:
    """Let linear algebra take so many threads, unless it is limited already.

    Several threads of Python may ask for it at a time. The limit of the first holds, and the last
    to leave lifts it: if each restored what it found, the limit of one could stay for good.
    """
    global _inside
    with _LOCK:
        if not _inside:
            _undo.enter_context(_controller().limit(limits=limit))
        _inside += 1
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if not _inside:
                _undo.close()


@cache
def _controller() -> ThreadpoolController:
    """Looking for the libraries takes 2 ms; those that matter come with NumPy and SciPy."""
    return ThreadpoolController().select(user_api="blas")
