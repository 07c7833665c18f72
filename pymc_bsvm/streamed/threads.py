"""How many threads BLAS has; another number of threads adds in another order."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401  (so that its BLAS is there to be found)
from threadpoolctl import ThreadpoolController

__all__ = ["limit_threads", "one_thread"]


def one_thread() -> AbstractContextManager[object]:
    """Return a context in which BLAS has one thread, also in threads that are started inside."""
    return limit_threads(1)


def limit_threads(count: int) -> AbstractContextManager[object]:
    """Return a context in which BLAS has a number of threads."""
    limit: AbstractContextManager[object] = _controller().limit(limits=count, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    """Return what knows the libraries; to look for them takes milliseconds."""
    return ThreadpoolController()
