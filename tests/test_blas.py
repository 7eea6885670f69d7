"""Threads of linear algebra are limited for a while, and never for good."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from sfit._blas import blas_threads


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def n_threads():
    """Those that NumPy's library would take."""
    np.eye(2) @ np.eye(2)
    found = {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}
    assert len(found) == 1
    return found.pop()


def test_the_limit_holds_inside_only():
    """Also where an error leads out."""
    assert n_threads() == 2
    with blas_threads(1):
        assert n_threads() == 1
    assert n_threads() == 2
    with pytest.raises(ValueError, match="out"), blas_threads(1):
        raise ValueError("out")
    assert n_threads() == 2


@pytest.mark.parametrize("leaving", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_the_last_to_leave_undoes_it(leaving):
    """Threads of Python come and go in any order; the first one's limit holds all the while."""
    inside = [blas_threads(1), blas_threads(2), blas_threads(1)]
    for one in inside:
        one.__enter__()
        assert n_threads() == 1
    for number in leaving:
        assert n_threads() == 1
        inside[number].__exit__(None, None, None)
    assert n_threads() == 2


def test_there_may_always_be_somebody_inside():
    """As in a server: each leaves after the next has come, thousands of times."""
    last = blas_threads(1)
    last.__enter__()
    for _ in range(3_000):
        following = blas_threads(1)
        following.__enter__()
        last.__exit__(None, None, None)
        last = following
    assert n_threads() == 1
    last.__exit__(None, None, None)
    assert n_threads() == 2
