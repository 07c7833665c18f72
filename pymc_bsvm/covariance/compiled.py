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
def _times_dense(K, x):
    high, low = np.zeros(x.shape[0]), np.zeros(x.shape[0])
    _add_dense(K, np.flatnonzero(x), x, high, low)
    return high + low


@numba.njit(cache=True, fastmath=False, nogil=True)
def _condition_dense(K, T):
    n, index, root = T.shape[0], np.flatnonzero(T > 0.0), np.sqrt(np.maximum(T, 0.0))
    L, definite = factorize(K, index, root)
    inverse, log_det = L.copy(), 0.0 if definite else np.nan
    triangular_inverse_in_place(inverse)
    left, told = np.ones(n), np.zeros(n)
    left[index] = 0.0
    for r in range(index.shape[0]):
        log_det += 2.0 * np.log(L[r, r])
        for p in range(r + 1):
            left[index[p]] += inverse[r, p] * inverse[r, p]
    told[index] = 1.0 - left[index]
    variance = np.empty(n)
    for i in range(n):
        if told[i] > TOLD:
            variance[i] = told[i] / T[i]
            continue
        total, scaled = K[i, i], root[index] * K[i][index]
        for r in range(index.shape[0]):
            half = dot(inverse[r, : r + 1], scaled[: r + 1])
            total -= half * half
        variance[i] = max(total, 0.0)
    return Known((index, root, L), variance, left, log_det)


@numba.njit(cache=True, fastmath=False, nogil=True)
def _shrink_dense(K, known, T, x):
    index, root, L = known.factor
    inner = (root[index] * _times_dense(K, x)[index]).reshape((1, -1))
    cholesky_solve_in_place(L, inner)
    out = x.copy()
    out[index] -= root[index] * inner[0]
    return out


@numba.njit(cache=True, fastmath=False, nogil=True)
def reduced(known):
    """Return ``R = T½ B⁻¹ T½`` for a dense covariance."""
    index, root, L = known.factor
    inverse, n = L.copy(), root.shape[0]
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
    _add_low_rank(K, np.flatnonzero(x), x, high, low)
    return high + low


@numba.njit(cache=True, fastmath=False, nogil=True)
def _condition_low_rank(K, T):
    n, index, spread = T.shape[0], np.flatnonzero(T > 0.0), 1.0 + T * K.d
    factor, definite = factorize_columns(K, index, np.sqrt(T))
    left = np.ones(n)
    left[index] = inverse_diagonal(factor)
    variance = leverages(factor, np.arange(n), 1.0 / spread) + K.d / spread
    log_det = np.log(spread).sum() if definite else np.nan
    for k in range(factor.cholesky.shape[0]):
        log_det += 2.0 * np.log(factor.cholesky[k, k])
    return Known(factor, variance, left, log_det)


@numba.njit(cache=True, fastmath=False, nogil=True)
def _shrink_low_rank(K, known, T, x):
    n, spread = x.shape[0], 1.0 + T * K.d
    inner = combine(K.A, np.arange(n), x / spread).reshape((1, -1))
    cholesky_solve_in_place(known.factor.cholesky, inner)
    out = np.empty(n)
    for i in range(n):
        out[i] = (x[i] - T[i] * dot(K.A[i], inner[0])) / spread[i]
    return out


_add_dense, _add_low_rank = DENSE.add_product_exactly, WOODBURY.add_product_exactly

DENSE_CONDITIONING = Conditioning(_condition_dense, _shrink_dense, _times_dense, DENSE.diagonal)
LOW_RANK_CONDITIONING = Conditioning(
    _condition_low_rank, _shrink_low_rank, _times_low_rank, WOODBURY.diagonal
)
