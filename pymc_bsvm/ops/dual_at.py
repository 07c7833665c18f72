"""The solver of a loss for dense covariances as a function that is called at its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import carray, types

from pymc_bsvm.covariance.dense import DENSE
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.numba_language import inlined
from pymc_bsvm.ops.mode import compiled_mode

__all__ = ["DUAL", "dual_at"]

_REAL, _COUNT = types.CPointer(types.float64), types.int64
DUAL = types.int64(*[_COUNT] * 3, *[_REAL] * 11)
"""What `dual_at` returns takes."""


def dual_at(loss_type: type[Loss], tol: float, accept: float, max_iter: int) -> Callable[..., Any]:
    """Return the function whose types are `DUAL`.

    It solves from a start, or from nothing if that is empty, fills in the dual, the latent values,
    the rows of the factor, their roots and the factor itself, then its size and the status in
    ``end``, and returns one.
    """
    mode = compiled_mode(loss_type, DENSE, tol, accept, max_iter)

    @inlined
    def solve(n, n_parameters, n_start, K, y, m, parameters, a0, a, f, rows, roots, cholesky, end):
        K, y, m, a0 = carray(K, (n, n)), carray(y, n), carray(m, n), carray(a0, n_start)
        found, factor, status = mode(K, y, m, carray(parameters, (n_parameters, n)), a0)
        size = factor.free.shape[0]
        a, f, end = carray(a, n), carray(f, n), carray(end, 2)
        rows, roots = carray(rows, n), carray(roots, n)
        cholesky = carray(cholesky, (size, size))
        for i in range(n):
            a[i], f[i] = found.a[i], found.f[i]
        for p in range(size):
            rows[p], roots[p] = factor.free[p], factor.root[factor.free[p]]
            for q in range(size):
                cholesky[p, q] = factor.cholesky[p, q]
        end[0], end[1] = size, status
        return 1

    return solve
