"""Linear algebra with many small matrices: one thread is faster than several that wait for each other."""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """Have NumPy's and SciPy's linear algebra use one thread, in a block or in a function that this decorates.

    The matrices of designs and policies have tens or hundreds of rows. Threads that share one of those mostly wait for
    each other, and they do so by turning round, which takes the processor from whatever else runs: on two cores a
    policy took eight times the processor's time. It holds for the whole process while the block lasts.

    >>> with one_thread():
    ...     pass
    """
    import scipy.linalg  # noqa: F401 (what is loaded later would not be told)

    with threadpool_limits(limits=1, user_api="blas"):
        yield
