"""What all fits share: few threads, all or nothing, and errors that say what to do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from pymc_bsvm._numba import explained_numba
from pymc_bsvm.estimators.threads import few_threads

__all__ = ["fitting"]


def fitting[**P, R](fit: Callable[P, R]) -> Callable[P, R]:
    """Make a method that fits all or nothing, with one thread of BLAS where X has few rows.

    Where it raises, Ctrl-C included, the estimator is as it was before.
    """
    limited = few_threads(fit)

    @functools.wraps(fit)
    def whole(*args: P.args, **kwargs: P.kwargs) -> R:
        estimator: Any = args[0]
        before = dict(vars(estimator))
        try:
            with explained_numba():
                return limited(*args, **kwargs)
        except BaseException:
            estimator.__dict__ = before
            raise

    return whole
