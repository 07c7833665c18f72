"""What is done with a kernel matrix beside solving for a dual: solutions and an inspection."""

import numba
import numpy as np

from pymc_bsvm.covariance.lapack import cholesky_in_place, cholesky_solve_in_place

__all__ = ["inspect", "solve_free"]

_GRADIENTS = 20  # conjugate gradients, before a new factor is cheaper
_EXACT, _ENOUGH = 1e-16, 1e-14  # residuals relative to those of a stable direct solution


@numba.njit(cache=True, fastmath=False, nogil=True)
def solve_free(K, h, c, index, root, cholesky):
    """Return the solution of ``(K + diag(h)) u = c`` on the rows with a finite h, zero elsewhere.

    ``index, root, cholesky`` is a factor of ``I + W½ K W½`` with W near 1 / h, or an empty one. If
    it is of the same rows, it preconditions; otherwise the matrix is factorised. NaN tells that it
    is not positive definite.
    """
    free = np.flatnonzero(np.isfinite(h))
    u = np.zeros(c.shape[0])
    if free.shape[0] > 0 and free.shape == index.shape and (free == index).all():
        x, solved = _solve_by_conjugate_gradients(K, h, c, index, root, cholesky)
        if solved:
            u[free] = x
            return u
    u[free] = _solve_by_factor(K, h, c, free)
    return u


@numba.njit(cache=True, fastmath=False, nogil=True)
def _solve_by_factor(K, h, c, free):
    """Solve on the free rows with a factor of the matrix scaled to a unit diagonal."""
    m = free.shape[0]
    scale = np.empty(m)
    for p in range(m):
        scale[p] = 1.0 / np.sqrt(h[free[p]] + K[free[p], free[p]])
    A = np.empty((m, m))
    x = np.empty((1, m))
    for p in range(m):
        row = K[free[p]]
        for q in range(p):
            A[p, q] = scale[p] * scale[q] * row[free[q]]
        A[p, p] = 1.0
        x[0, p] = scale[p] * c[free[p]]
    if not cholesky_in_place(A):
        return np.full(m, np.nan)
    cholesky_solve_in_place(A, x)
    return scale * x[0]


@numba.njit(cache=True, fastmath=False, nogil=True)
def _solve_by_conjugate_gradients(K, h, c, index, root, cholesky):
    """Solve ``B x = s c`` for ``u = s x`` with ``s = h^-½`` and ``B = I + s K s``.

    The factor is of B with root in the place of s: where they agree the first iterate is exact,
    and where they nearly do, few are needed. Returns u, and whether its residual is rounding.
    """
    m = index.shape[0]
    if not (h[index] > 0.0).all():
        return np.zeros(m), False
    s = 1.0 / np.sqrt(h[index])
    residual = s * c[index]
    size, trace = np.sqrt((residual * residual).sum()), float(m)
    for p in range(m):
        trace += s[p] * s[p] * K[index[p], index[p]]
    x, direction, image = np.zeros(m), np.zeros(m), np.empty(m)
    z = np.empty((1, m))
    product = 1.0
    for step in range(_GRADIENTS + 1):
        error = np.sqrt((residual * residual).sum())
        reach = size + trace * np.sqrt((x * x).sum())
        if not np.isfinite(error):
            return s * x, False
        if error <= _EXACT * reach or step == _GRADIENTS:
            return s * x, error <= _ENOUGH * reach
        z[0] = residual
        cholesky_solve_in_place(cholesky, z)
        last, product = product, (residual * z[0]).sum()
        direction = z[0] + (product / last if step > 0 else 0.0) * direction
        for p in range(m):
            row, total = K[index[p]], 0.0
            for q in range(m):
                total += row[index[q]] * s[q] * direction[q]
            image[p] = direction[p] + s[p] * total
        length = product / (direction * image).sum()
        x += length * direction
        residual -= length * image
    return s * x, False


@numba.njit(cache=True, fastmath=False, nogil=True)
def inspect(K):
    """Look at every element of K once.

    Returns the largest absolute element (nan if one is not finite), the largest asymmetry, the
    least diagonal element, and the largest excess of ``K_ij² `` over ``K_ii K_jj``, relative to the
    largest diagonal element squared.
    """
    n = K.shape[0]
    size, asymmetry, excess = 0.0, 0.0, 0.0
    least, top = np.inf, 0.0
    for i in range(n):
        least, top = min(least, K[i, i]), max(top, abs(K[i, i]))
    block = 64
    for bi in range(0, n, block):
        for bj in range(0, bi + 1, block):
            for i in range(bi, min(bi + block, n)):
                for j in range(bj, min(bj + block, i + 1)):
                    x = K[i, j]
                    if not np.isfinite(x) or not np.isfinite(K[j, i]):
                        return np.nan, asymmetry, least, excess
                    size = max(size, abs(x))
                    asymmetry = max(asymmetry, abs(x - K[j, i]))
                    excess = max(excess, x * x - K[i, i] * K[j, j])
    return size, asymmetry, least, excess / top / top if top > 0.0 else excess
