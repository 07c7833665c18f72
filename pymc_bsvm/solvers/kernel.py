"""What the solvers do with the kernel matrix: they read the rows of its support vectors only."""

import numba
import numpy as np

from pymc_bsvm.solvers.lapack import cholesky_in_place, cholesky_solve_in_place

__all__ = ["add_product", "factorize", "inspect", "solve_free"]


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"})
def add_product(K, rows, weights, out):
    """Add ``K[:, rows] @ weights[rows]`` to ``out``; rows stand for columns, as K is symmetric."""
    n, m = out.shape[0], rows.shape[0]
    block = 2048  # of out, so that it stays in the cache while rows of K stream by
    for start in range(0, n, block):
        stop = min(start + block, n)
        part = out[start:stop]
        k = 0
        while k + 3 < m:
            i0, i1, i2, i3 = rows[k], rows[k + 1], rows[k + 2], rows[k + 3]
            w0, w1, w2, w3 = weights[i0], weights[i1], weights[i2], weights[i3]
            r0, r1, r2, r3 = (
                K[i0, start:stop],
                K[i1, start:stop],
                K[i2, start:stop],
                K[i3, start:stop],
            )
            for j in range(stop - start):
                part[j] += (w0 * r0[j] + w1 * r1[j]) + (w2 * r2[j] + w3 * r3[j])
            k += 4
        while k < m:
            i0 = rows[k]
            w0 = weights[i0]
            r0 = K[i0, start:stop]
            for j in range(stop - start):
                part[j] += w0 * r0[j]
            k += 1


@numba.njit(cache=True, fastmath=False, nogil=True)
def factorize(K, free, root):
    """Return the Cholesky factor of ``B = I + W½ K W½`` on the free set, and whether it exists.

    ``root`` holds the square roots of the curvature; only the lower triangle is meaningful.
    """
    m = free.shape[0]
    B = np.empty((m, m))
    for p in range(m):
        row, scale = K[free[p]], root[free[p]]
        for q in range(p + 1):
            B[p, q] = scale * root[free[q]] * row[free[q]]
        B[p, p] += 1.0
    return B, cholesky_in_place(B)


@numba.njit(cache=True, fastmath=False, nogil=True)
def solve_free(K, h, c):
    """Return the solution of ``(K + diag(h)) u = c`` on the rows with a finite h, zero elsewhere.

    The matrix is scaled to a unit diagonal. NaN tells that it is not positive definite.
    """
    free = np.flatnonzero(np.isfinite(h))
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
    u = np.zeros(c.shape[0])
    if not cholesky_in_place(A):
        u[free] = np.nan
        return u
    cholesky_solve_in_place(A, x)
    u[free] = scale * x[0]
    return u


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
