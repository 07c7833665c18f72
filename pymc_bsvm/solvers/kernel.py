"""What the solvers do with the kernel matrix: they read the rows of its support vectors only."""

import numba
import numpy as np

from pymc_bsvm.solvers.lapack import cholesky_in_place, cholesky_solve_in_place

__all__ = [
    "add_product",
    "add_product_exactly",
    "exact_sum",
    "factorize",
    "inspect",
    "latent",
    "solve_free",
    "two_sum",
]

_GRADIENTS = 20  # conjugate gradients, before a new factor is cheaper
_EXACT, _ENOUGH = 1e-16, 1e-14  # residuals relative to those of a stable direct solution


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
def latent(K, m, a, b):
    """Return ``m + K a + b``."""
    f = m + b
    add_product(K, np.flatnonzero(a), a, f)
    return f


@numba.njit(cache=True, fastmath=False, nogil=True)
def two_sum(x, y):
    """Return the rounded sum of numbers or arrays, and its rounding error."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


@numba.njit(cache=True, fastmath=False, nogil=True)
def exact_sum(x):
    """Return the sum as if computed in twice the working precision."""
    high, low = 0.0, 0.0
    for term in x:
        high, rest = two_sum(high, term)
        low += rest
    return high + low


@numba.njit(cache=True, fastmath=False, nogil=True)
def add_product_exactly(K, rows, weights, high, low):
    """Add ``K[:, rows] @ weights[rows]`` to the unevaluated sum ``high + low``.

    Products and sums carry their rounding errors along, which gives the result of a computation in
    twice the working precision: Dot2 of Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26 (2005).
    """
    splitter = 134217729.0  # 2^27 + 1
    for i in rows:
        x = weights[i]
        x_high = splitter * x - (splitter * x - x)
        x_low = x - x_high
        row = K[i]
        for j in range(high.shape[0]):
            z = row[j]
            z_high = splitter * z - (splitter * z - z)
            z_low = z - z_high
            product = x * z
            lost = x_low * z_low - (((product - x_high * z_high) - x_low * z_high) - x_high * z_low)
            total, rest = two_sum(high[j], product)
            high[j] = total
            low[j] += rest + lost


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
