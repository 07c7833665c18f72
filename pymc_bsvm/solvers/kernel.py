"""What is done with a kernel matrix beside solving for a dual: solutions and an inspection."""

import numba
import numpy as np

from pymc_bsvm.covariance.lapack import cholesky_in_place, cholesky_solve_in_place

__all__ = ["ENOUGH", "EXACT", "GRADIENTS", "inspect", "is_plain", "solve_free"]

GRADIENTS = 20  # conjugate gradients, before a new factor is cheaper
EXACT, ENOUGH = 1e-16, 1e-14  # residuals relative to those of a stable direct solution
_LARGEST = 1e150  # a variance whose square is finite


@numba.njit(cache=True, fastmath=False, nogil=True)
def solve_free(K, h, c, index, root, cholesky):
    """Return the solution of ``(K + diag(h)) u = c`` on the rows with a finite h, zero elsewhere.

    ``index, root, cholesky`` is a factor of ``I + W½ K W½`` with W near 1 / h, or an empty one. If
    it is of the same rows, it preconditions; otherwise the matrix is factorised. NaN tells that it
    is not positive definite.
    """
    u = np.zeros(c.shape[0])
    free = np.empty(h.shape[0], dtype=np.int64)
    m, known = 0, 0
    for i in range(h.shape[0]):
        if np.isfinite(h[i]):
            free[m] = i
            if m < index.shape[0] and index[m] == i:
                known += 1
            m += 1
    if 0 < m == known == index.shape[0]:
        if _solve_by_conjugate_gradients(K, h, c, index, cholesky, u):
            return u
    _solve_by_factor(K, h, c, free[:m], u)
    return u


@numba.njit(cache=True, fastmath=False, nogil=True)
def _solve_by_factor(K, h, c, free, u):
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
    definite = cholesky_in_place(A)
    if definite:
        cholesky_solve_in_place(A, x)
    for p in range(m):
        u[free[p]] = scale[p] * x[0, p] if definite else np.nan


@numba.njit(cache=True, fastmath=False, nogil=True)
def _solve_by_conjugate_gradients(K, h, c, index, cholesky, u):
    """Solve ``B x = s c`` for ``u = s x`` with ``s = h^-½`` and ``B = I + s K s``.

    The factor is of B with other numbers in the place of s: where they agree the first iterate is
    exact, and where they nearly do, few are needed. Returns whether the residual is rounding.
    """
    m = index.shape[0]
    s, residual = np.empty(m), np.empty(m)
    trace = float(m)
    for p in range(m):
        i = index[p]
        if not h[i] > 0.0:
            return False
        s[p] = 1.0 / np.sqrt(h[i])
        residual[p] = s[p] * c[i]
        trace += s[p] * s[p] * K[i, i]
    size = np.sqrt(_inner(residual, residual))
    x, direction, image = np.zeros(m), np.zeros(m), np.empty(m)
    z = np.empty((1, m))
    product, solved = 1.0, False
    for step in range(GRADIENTS + 1):
        error = np.sqrt(_inner(residual, residual))
        reach = size + trace * np.sqrt(_inner(x, x))
        solved = error <= ENOUGH * reach
        if not np.isfinite(error) or error <= EXACT * reach or step == GRADIENTS:
            break
        for p in range(m):
            z[0, p] = residual[p]
        cholesky_solve_in_place(cholesky, z)
        last, product = product, _inner(residual, z[0])
        turn = product / last if step > 0 else 0.0
        for p in range(m):
            direction[p] = z[0, p] + turn * direction[p]
        for p in range(m):
            row, total = K[index[p]], 0.0
            for q in range(m):
                total += row[index[q]] * s[q] * direction[q]
            image[p] = direction[p] + s[p] * total
        length = product / _inner(direction, image)
        for p in range(m):
            x[p] += length * direction[p]
            residual[p] -= length * image[p]
    if solved:
        for p in range(m):
            u[index[p]] = s[p] * x[p]
    return solved


@numba.njit(cache=True, fastmath=False, nogil=True)
def _inner(x, y):
    """Return the inner product; a loop compiles in a moment, an expression of arrays does not."""
    total = 0.0
    for p in range(x.shape[0]):
        total += x[p] * y[p]
    return total


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


@numba.njit(cache=True, fastmath=False, nogil=True)
def is_plain(K, asymmetry, excess):
    """Return whether all of K is finite and far from what a covariance cannot be.

    The diagonal is not negative, no two elements differ from those across it by more than
    ``asymmetry`` of the largest variance, and no ``K_ij²`` exceeds ``K_ii K_jj`` by more than
    ``excess`` of the largest variance squared. The comparisons fail for NaN and infinity, and have
    no branches. Blocks from across the diagonal are transposed in a small buffer.
    """
    n, block = K.shape[0], 32
    variances, top = np.empty(n), 0.0
    for i in range(n):
        variances[i] = K[i, i]
        if not variances[i] >= 0.0:
            return False
        top = max(top, variances[i])
    if not top < _LARGEST:
        return False
    near, above = asymmetry * top, excess * top * top
    buffer = np.empty((block, block))
    for low in range(0, n, block):
        for left in range(0, low + 1, block):
            rows, columns = min(block, n - low), min(block, n - left)
            for j in range(columns):
                across = K[left + j, low : low + rows]
                for i in range(rows):
                    buffer[i, j] = across[i]
            wrong = 0
            for i in range(rows):
                wrong += _count(
                    K[low + i, left : left + columns],
                    buffer[i, :columns],
                    variances[left : left + columns],
                    variances[low + i],
                    near,
                    above,
                )
            if wrong:
                return False
    return True


@numba.njit(cache=True, fastmath=False, nogil=True)
def _count(x, across, variances, variance, near, above):
    """Return how many elements of a row are not plain."""
    wrong = 0
    for j in range(x.shape[0]):
        close = abs(x[j] - across[j]) <= near
        small = x[j] * x[j] <= variance * variances[j] + above
        wrong += 1 - (close & small)
    return wrong
