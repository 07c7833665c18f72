"""What sites leave of a prior in compiled code, to be called at its address.

The lines of `pymc_bsvm.evidence.sweep` for arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray, types

from pymc_bsvm.covariance.compiled import (
    DENSE_CONDITIONING,
    LOW_RANK_CONDITIONING,
    Conditioning,
    reduced,
)
from pymc_bsvm.covariance.woodbury import Parts
from pymc_bsvm.evidence.sweep import MOST_REFINEMENTS, ROUNDING
from pymc_bsvm.losses.numba_language import inlined

__all__ = ["MARGINALS", "SLOPES", "covariance_slopes", "dense_marginals", "low_rank_marginals"]

_REAL, _COUNT = types.CPointer(types.float64), types.int64
MARGINALS = types.int64(_COUNT, _COUNT, *[_REAL] * 5)
"""What `dense_marginals` and `low_rank_marginals` return takes."""
SLOPES = types.int64(_COUNT, *[_REAL] * 4)
"""What `covariance_slopes` returns takes."""


def dense_marginals() -> Callable[..., Any]:
    """Return ``(n, n, K, precision, shift, known, log_det)``.

    It fills in ``log |B|`` and, in the rows of ``known``, the variances, what sites leave of them,
    the dual a and ``K a``, and returns one.
    """
    return _marginals(DENSE_CONDITIONING, inlined(_same))


def low_rank_marginals() -> Callable[..., Any]:
    """Return the same function of ``(n, rank, A, ...)`` for ``K = A A'``."""
    return _marginals(LOW_RANK_CONDITIONING, inlined(_without_diagonal))


def _same(K):
    return K


def _without_diagonal(A):
    return Parts(A, np.zeros(A.shape[0]))


def _marginals(conditioning: Conditioning, covariance: Callable[..., Any]) -> Callable[..., Any]:
    condition, shrink, times, diagonal = conditioning

    @inlined
    def marginals(n, rank, K, precision, shift, known, log_det):
        K, T, shift = covariance(carray(K, (n, rank))), carray(precision, n), carray(shift, n)
        known, log_det, found = carray(known, (4, n)), carray(log_det, 1), condition(K, T)
        q, of_diagonal, rest = found.variance, diagonal(K), shift.copy()
        a, g = np.zeros(n), np.zeros(n)
        for _ in range(1 + MOST_REFINEMENTS):
            for i in range(n):
                rest[i] = (shift[i] - a[i]) - T[i] * g[i]
            correction, largest = shrink(K, found, T, rest), 0.0
            for i in range(n):
                a[i] += correction[i]
                largest = max(largest, abs(correction[i]) * math.sqrt(q[i]))
            g = times(K, a)
            if not largest > ROUNDING:
                break
        for i in range(n):
            known[0, i], known[1, i], known[2, i], known[3, i] = q[i], found.left[i], a[i], g[i]
            if T[i] * of_diagonal[i] > 1.0:
                known[3, i] = (shift[i] - a[i]) / T[i]
        log_det[0] = found.log_det
        return 1

    return marginals


def covariance_slopes() -> Callable[..., Any]:
    """Return ``(n, K, precision, a, slopes)``.

    It fills in the derivatives of the log evidence with respect to a dense K, and returns one.
    """

    @inlined
    def fill(n, K, precision, a, slopes):
        K, a, slopes = carray(K, (n, n)), carray(a, n), carray(slopes, (n, n))
        R = reduced(K, carray(precision, n))
        for i in range(n):
            for j in range(n):
                slopes[i, j] = 0.5 * (a[i] * a[j] - R[i, j])
        return 1

    return fill
