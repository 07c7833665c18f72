"""The determinant of a Laplace evidence and its gradient, compiled."""

import numba
import numpy as np

from pymc_bsvm.covariance.dense import factorize
from pymc_bsvm.covariance.lapack import cholesky_inverse_in_place

__all__ = ["log_det", "log_det_gradient", "log_det_gradient_among", "of_covariance"]


@numba.njit(cache=True, fastmath=False, nogil=True)
def log_det(K, W):
    """Return ``log |I + W½ K W½|`` and its factor, NaN where there is none."""
    L, definite = factorize(K, np.arange(W.shape[0]), np.sqrt(W))
    if not definite:
        return np.nan, np.full(K.shape, np.nan)
    value = 0.0
    for i in range(W.shape[0]):
        value += 2.0 * np.log(L[i, i])
    return value, L


@numba.njit(cache=True, fastmath=False, nogil=True)
def log_det_gradient(K, W, cholesky):
    """Return R and q."""
    return log_det_gradient_among(K, np.arange(W.shape[0]), W, cholesky)


@numba.njit(cache=True, fastmath=False, nogil=True)
def log_det_gradient_among(K, rows, W, cholesky):
    """Return R and q for the covariances of some rows with each other, which are not copied."""
    n = W.shape[0]
    R, q, root = np.empty((n, n)), np.empty(n), np.empty(n)
    for i in range(n):
        root[i] = np.sqrt(W[i])
        for j in range(i + 1):
            R[i, j] = cholesky[i, j]
    cholesky_inverse_in_place(R)
    for i in range(n):
        for j in range(i):
            R[j, i] = R[i, j]
    for i in range(n):
        k = K[rows[i]]
        variance = k[rows[i]]
        if W[i] * variance > 1.0:
            q[i] = (1.0 - R[i, i]) / W[i]
        elif W[i] > 0.0:  # 1 - B⁻¹ = W½ K W½ B⁻¹, where the difference cancels
            q[i] = variance * R[i, i]
            for j in range(n):
                if j != i:
                    q[i] += k[rows[j]] * root[j] * (R[j, i] / root[i])
        else:
            q[i] = variance - _form(R, root, k[rows])
    for i in range(n):
        for j in range(n):
            R[i, j] *= root[i] * root[j]
    return R, q


@numba.njit(cache=True, fastmath=False, nogil=True)
def of_covariance(a, u, R, place):
    """Return ``(aa' - R - ua' - au') / 2``, with R on the rows ``place`` only.

    Where these are all rows, the result takes the place of R.
    """
    if place.shape[0] == a.shape[0]:
        for i in range(a.shape[0]):
            for j in range(a.shape[0]):
                R[i, j] = 0.5 * (a[i] * (a[j] - u[j]) - u[i] * a[j]) - 0.5 * R[i, j]
        return R
    G = np.empty((a.shape[0], a.shape[0]))
    for i in range(a.shape[0]):
        for j in range(a.shape[0]):
            G[i, j] = 0.5 * (a[i] * (a[j] - u[j]) - u[i] * a[j])
    for p in range(place.shape[0]):
        row = G[place[p]]
        for q in range(place.shape[0]):
            row[place[q]] -= 0.5 * R[p, q]
    return G


@numba.njit(cache=True, fastmath={"contract", "reassoc", "nsz"}, nogil=True)
def _form(R, root, k):
    """Return ``k' W½ R W½ k``."""
    n, form = k.shape[0], 0.0
    for i in range(n):
        if root[i] != 0.0:
            total = 0.0
            for j in range(n):
                total += R[i, j] * root[j] * k[j]
            form += root[i] * k[i] * total
    return form
