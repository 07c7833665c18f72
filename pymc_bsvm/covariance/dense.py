"""A covariance that is kept as a matrix; only its diagonal and the rows of support are read."""

import numba
import numpy as np
from numba import types

from pymc_bsvm.covariance.base import Covariance
from pymc_bsvm.covariance.exact import two_product, two_sum
from pymc_bsvm.covariance.lapack import cholesky_in_place, cholesky_solve_in_place
from pymc_bsvm.covariance.pairs import PURSUIT

__all__ = ["DENSE", "add_product", "add_product_exactly", "factorize", "submatrix"]


@numba.njit(cache=True, fastmath=False, nogil=True)
def latent(K, m, a, b):
    """Return ``m + K a + b``."""
    n, count = m.shape[0], 0
    f, rows = np.empty(n), np.empty(n, dtype=np.int64)
    for i in range(n):
        f[i] = m[i] + b
        if a[i] != 0.0:
            rows[count] = i
            count += 1
    add_product(K, rows[:count], a, f)
    return f


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
def add_product_exactly(K, rows, weights, high, low):
    """Add ``K[:, rows] @ weights[rows]`` to the unevaluated sum ``high + low``.

    Products and sums carry their rounding errors along, which gives the result of a computation in
    twice the working precision.
    """
    for i in rows:
        x, row = weights[i], K[i]
        for j in range(high.shape[0]):
            product, lost = two_product(x, row[j])
            total, rest = two_sum(high[j], product)
            high[j] = total
            low[j] += rest + lost


@numba.njit(cache=True, fastmath=False, nogil=True)
def submatrix(K, rows):
    """Return the covariances of some rows with each other."""
    part = np.empty((rows.shape[0], rows.shape[0]))
    for p in range(rows.shape[0]):
        row = K[rows[p]]
        for q in range(rows.shape[0]):
            part[p, q] = row[rows[q]]
    return part


def depth(K, count):
    """Return the additions in a row of both products."""
    return 0.25 * count + 4.0, count + 2.0  # four rows at a time


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


def no_factor():
    """Return the factor of no rows."""
    return np.empty((0, 0))


DENSE = Covariance(
    np.diag,
    latent,
    add_product,
    add_product_exactly,
    depth,
    factorize,
    cholesky_solve_in_place,
    no_factor,
    types.float64[:, ::1],
    PURSUIT,
)
