"""How many threads BLAS has in a fit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import numpy as np

from pymc_bsvm.streamed.threads import limit_threads

__all__ = ["blas_threads", "few_threads"]

_SMALL = 4000
"""Rows up to which a second thread waits longer than it works."""

_chosen: ContextVar[bool] = ContextVar("threads_of_blas_are_chosen", default=False)


@contextmanager
def blas_threads(count: int | None = None) -> Iterator[None]:
    """Choose the number of threads that BLAS has in fits.

    By default a fit of up to 4000 rows takes one, as a second thread waits longer than it works,
    and on a busy machine both do. So does one on inducing points, whose work `n_jobs` shares out,
    so that its results do not depend on the threads. Larger fits take what BLAS is set to.

    Parameters
    ----------
    count : int, optional
        Number of threads; what BLAS is set to by default.

    Examples
    --------
    >>> import numpy as np
    >>> from pymc_bsvm.estimators import BayesianSVR, blas_threads
    >>> X = np.linspace(0.0, 6.0, 30)[:, None]
    >>> with blas_threads(2):
    ...     model = BayesianSVR().fit(X, np.sin(X[:, 0]))
    """
    token = _chosen.set(True)
    try:
        with nullcontext() if count is None else limit_threads(count):
            yield
    finally:
        _chosen.reset(token)


def few_threads[**P, R](fit: Callable[P, R]) -> Callable[P, R]:
    """Make a method of ``(self, X, ...)`` run with one thread on few rows or inducing points."""

    @functools.wraps(fit)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        X: Any = kwargs["X"] if "X" in kwargs else args[1] if len(args) > 1 else None
        on_points = getattr(args[0], "inducing", None) is not None
        with _one_thread(on_points or _few(X)):
            return fit(*args, **kwargs)

    return limited


def _one_thread(wanted: bool) -> AbstractContextManager[object]:
    """Return the context of a fit."""
    return limit_threads(1) if wanted and not _chosen.get() else nullcontext()


def _few(X: Any) -> bool:
    """Return whether there are few rows; what has no rows is for the fit to refuse."""
    shape = getattr(X, "shape", None)
    rows = shape[0] if shape else len(X) if isinstance(X, list | tuple) else np.inf
    return bool(rows <= _SMALL)
