"""The solver as the Ops call it: from a start or from nothing, up to a gap that is accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pymc_bsvm.covariance.base import Covariance
from pymc_bsvm.losses import Loss, numba_language
from pymc_bsvm.solvers.certificate import certified
from pymc_bsvm.solvers.core import compiled_solver, interpreted_solver
from pymc_bsvm.solvers.newton import CONVERGED, MAX_ITER, STALLED

__all__ = ["compiled_mode", "interpreted_mode"]


def interpreted_mode(loss_type: type[Loss], covariance: Covariance) -> Callable[..., Any]:
    """Return ``mode(K, y, m, parameters, a0, tol, accept, max_iter)``.

    That is the certificate, the last factor and the status.
    """
    return _make_mode(interpreted_solver(loss_type, covariance, counted=False), certified)


def compiled_mode(loss_type: type[Loss], covariance: Covariance) -> Callable[..., Any]:
    """Return the same function compiled."""
    solve = compiled_solver(loss_type, covariance).call
    return numba_language.inlined(_make_mode(solve, numba_language.function(certified)))


def _make_mode(solve, is_certified):
    def mode(K, y, m, parameters, a0, tol, accept, max_iter):
        n = y.shape[0]
        start = a0.copy() if a0.shape[0] > 0 else np.zeros(n)
        w = np.ones(n)
        found, factor, _, status, _ = solve(
            K, y, w, parameters, m, start, 0.0, False, tol, False, max_iter, None
        )
        if (status == MAX_ITER or status == STALLED) and is_certified(found, accept):
            status = CONVERGED
        return found, factor, status

    return mode
