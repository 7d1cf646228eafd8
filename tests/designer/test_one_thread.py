"""Solvers use one thread of BLAS, give the others back, and are what decides it: a custodian need not set anything."""

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 (it has a BLAS of its own)
from threadpoolctl import threadpool_info, threadpool_limits

import errorfloor as ef
from errorfloor.blas import one_thread
from errorfloor.designer import numerical


def _threads():
    return {one["filepath"]: one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture
def threads():
    """With two threads of each BLAS that can have two (others of this process may be built with one): how many now."""
    with threadpool_limits(2, user_api="blas"):
        able = [path for path, count in _threads().items() if count == 2]
        assert able, "no BLAS takes the number of its threads here"
        yield lambda: {_threads()[path] for path in able}


def test_one_thread_while_the_block_lasts(threads):
    with one_thread():
        assert threads() == {1}
    assert threads() == {2}


def test_designs_and_frontiers_are_computed_with_one_thread(threads, monkeypatch):
    seen, solve = [], numerical.solve
    monkeypatch.setattr(numerical, "solve", lambda *given, **named: (seen.append(threads()), solve(*given, **named))[1])
    ef.design(ef.Box([-1.0, -1.0], [1.0, 1.0]), sensitivity=np.array([[1.0, 0.5], [0.5, 1.0]]))
    once = len(seen)
    ef.design(ef.Interval(-1.0, 1.0), max_loss=0.1)
    assert len(seen) > once > 0
    assert all(found == {1} for found in seen)
    assert threads() == {2}
