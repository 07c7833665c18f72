"""A covariance beside the precisions of sites in compiled code, dense or of low rank.

The formulas are those of `DenseConditioned` and `Conditioned`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from pymc_bsvm.covariance.dense import DENSE, factorize
from pymc_bsvm.covariance.dense_conditioned import TOLD
from pymc_bsvm.covariance.lapack import (
    cholesky_inverse_in_place,
    cholesky_solve_in_place,
    triangular_inverse_in_place,
)
from pymc_bsvm.covariance.woodbury import (
    WOODBURY,
    combine,
    dot,
    factorize_columns,
    inverse_diagonal,
    leverages,
)

__all__ = ["DENSE_CONDITIONING", "LOW_RANK_CONDITIONING", "Conditioning", "Known", "reduced"]


class Known(NamedTuple):
    """What sites of precision T leave of the prior, with ``B = I + T½ K T½``."""

    factor: Any
    """Of B, in the form of the covariance."""
    variance: Any
    """The diagonal of ``(K⁻¹ + T)⁻¹``."""
    left: Any
    """That of ``B⁻¹``, one on the rows without a site."""
    log_det: Any
    """``log |B|``; NaN where B is not positive definite."""


class Conditioning(NamedTuple):
    """Compiled functions of a covariance K."""

    condition: Callable[..., Any]
    """``(K, T) -> Known``."""
    shrink: Callable[..., Any]
    """``(K, known, T, x)``: the vector ``(I + T K)⁻¹ x``."""
    times: Callable[..., Any]
    """``(K, x)``: the vector ``K x``, rounded once."""
    diagonal: Callable[..., Any]
    """``K -> vector``."""


@numba.njit(cache=True, fastmath=False, nogil=True)
def _where(x):
    """Return the indices of what is not zero."""
    rows, count = np.empty(x.shape[0], dtype=np.int64), 0
    for i in range(x.shape[0]):
        if x[i] != 0.0:
            rows[count] = i
            count += 1
    return rows[:count].copy()


@numba.njit(cache=True, fastmath=False, nogil=True)
def _of_sites(T):
    """Return the rows with a site, and the roots of all precisions."""
    root = np.empty(T.shape[0])
    for i in range(T.shape[0]):
        root[i] = np.sqrt(max(T[i], 0.0))
    return _where(root), root


@numba.njit(cache=True, fastmath=False, nogil=True)
def _times_dense(K, x):
    high, low = np.zeros(x.shape[0]), np.zeros(x.shape[0])
    _add_dense(K, _where(x), x, high, low)
    for i in range(x.shape[0]):
        high[i] += low[i]
    return high


@numba.njit(cache=True, fastmath=False, nogil=True)
def _condition_dense(K, T):
    n, (index, root) = T.shape[0], _of_sites(T)
    L, definite = factorize(K, index, root)
    inverse, log_det = L.copy(), 0.0 if definite else np.nan
    triangular_inverse_in_place(inverse)
    left, told, variance = np.ones(n), np.zeros(n), np.empty(n)
    for r in range(index.shape[0]):
        left[index[r]] = 0.0
        log_det += 2.0 * np.log(L[r, r])
        for p in range(r + 1):
            left[index[p]] += inverse[r, p] * inverse[r, p]
    for i in index:
        told[i] = 1.0 - left[i]
    scaled = np.empty(index.shape[0])
    for i in range(n):
        if told[i] > TOLD:
            variance[i] = told[i] / T[i]
            continue
        total = K[i, i]
        for r in range(index.shape[0]):
            scaled[r] = root[index[r]] * K[i, index[r]]
            half = dot(inverse[r, : r + 1], scaled[: r + 1])
            total -= half * half
        variance[i] = max(total, 0.0)
    return Known((index, root, L), variance, left, log_det)


@numba.njit(cache=True, fastmath=False, nogil=True)
def _shrink_dense(K, known, T, x):
    index, root, L = known.factor
    inner, product, out = np.empty((1, index.shape[0])), _times_dense(K, x), x.copy()
    for r in range(index.shape[0]):
        inner[0, r] = root[index[r]] * product[index[r]]
    cholesky_solve_in_place(L, inner)
    for r in range(index.shape[0]):
        out[index[r]] -= root[index[r]] * inner[0, r]
    return out


@numba.njit(cache=True, fastmath=False, nogil=True)
def reduced(K, T):
    """Return ``R = T½ B⁻¹ T½`` for a dense covariance."""
    n, (index, root) = T.shape[0], _of_sites(T)
    inverse, _ = factorize(K, index, root)
    cholesky_inverse_in_place(inverse)
    R = np.zeros((n, n))
    for p in range(index.shape[0]):
        for q in range(p + 1):
            i, j = index[p], index[q]
            R[i, j] = R[j, i] = root[i] * inverse[p, q] * root[j]
    return R


@numba.njit(cache=True, fastmath=False, nogil=True)
def _times_low_rank(K, x):
    high, low = np.zeros(x.shape[0]), np.zeros(x.shape[0])
    _add_low_rank(K, _where(x), x, high, low)
    for i in range(x.shape[0]):
        high[i] += low[i]
    return high


@numba.njit(cache=True, fastmath=False, nogil=True)
def _condition_low_rank(K, T):
    n, (index, root) = T.shape[0], _of_sites(T)
    factor, definite = factorize_columns(K, index, root)
    left, of_index = np.ones(n), inverse_diagonal(factor)
    for r in range(index.shape[0]):
        left[index[r]] = of_index[r]
    rows, scale, log_det = np.empty(n, dtype=np.int64), np.empty(n), 0.0 if definite else np.nan
    for i in range(n):
        rows[i], scale[i] = i, 1.0 / (1.0 + T[i] * K.d[i])
        log_det -= np.log(scale[i])
    variance = leverages(factor, rows, scale)
    for i in range(n):
        variance[i] += K.d[i] * scale[i]
    for k in range(factor.cholesky.shape[0]):
        log_det += 2.0 * np.log(factor.cholesky[k, k])
    return Known(factor, variance, left, log_det)


@numba.njit(cache=True, fastmath=False, nogil=True)
def _shrink_low_rank(K, known, T, x):
    n = x.shape[0]
    rows, scaled, out = np.empty(n, dtype=np.int64), np.empty(n), np.empty(n)
    for i in range(n):
        rows[i], scaled[i] = i, x[i] / (1.0 + T[i] * K.d[i])
    inner = combine(K.A, rows, scaled).reshape((1, -1))
    cholesky_solve_in_place(known.factor.cholesky, inner)
    for i in range(n):
        out[i] = (x[i] - T[i] * dot(K.A[i], inner[0])) / (1.0 + T[i] * K.d[i])
    return out


_add_dense, _add_low_rank = DENSE.add_product_exactly, WOODBURY.add_product_exactly

DENSE_CONDITIONING = Conditioning(_condition_dense, _shrink_dense, _times_dense, DENSE.diagonal)
LOW_RANK_CONDITIONING = Conditioning(
    _condition_low_rank, _shrink_low_rank, _times_low_rank, WOODBURY.diagonal
)
