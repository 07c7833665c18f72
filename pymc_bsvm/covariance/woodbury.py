"""A covariance ``K = A A' + diag(d)``, which is never formed: products and factors by Woodbury.

With ``E = I + W diag(d)`` and ``V = (W / E)½ A`` on the free rows,

    B = I + W½ K W½ = E½ (I + V V') E½,    (I + V V')⁻¹ = I - V (I + V'V)⁻¹ V',

so that the matrix to be factorised is the smaller one of ``I + V V'`` and ``I + V'V``.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from pymc_bsvm.covariance.base import Covariance
from pymc_bsvm.covariance.dense import add_product as add_rows
from pymc_bsvm.covariance.dense import add_product_exactly as add_rows_exactly
from pymc_bsvm.covariance.exact import two_product, two_sum
from pymc_bsvm.covariance.lapack import (
    add_columns_gram,
    add_rows_gram,
    cholesky_in_place,
    cholesky_solve_in_place,
)

__all__ = [
    "WOODBURY",
    "Parts",
    "Woodbury",
    "factorize",
    "factorize_columns",
    "inverse_diagonal",
    "leverages",
    "solve",
]

_BLOCK = 1024  # rows of A at a time: it bounds the memory, and shorter sums round less


class Parts(NamedTuple):
    """What the covariance consists of."""

    A: Any
    """Of shape (n, m), C-ordered."""
    d: Any
    """Of shape (n,), not negative."""


class Woodbury(NamedTuple):
    """The factor of ``B = E½ (I + V V') E½`` on the free rows."""

    A: Any
    """That of the covariance."""
    free: Any
    """The free rows, of which there are r."""
    scale: Any
    """``(W / E)½``, by which the rows of A become those of V, of shape (r,)."""
    spread: Any
    """``E½``, of shape (r,)."""
    cholesky: Any
    """Lower triangular: of ``I + V'V``, of shape (m, m), or of ``I + V V'`` where r < m."""


@numba.njit(cache=True, fastmath={"contract", "reassoc", "nsz"}, nogil=True)
def dot(x, y):
    """Return the product of two vectors."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@numba.njit(cache=True, fastmath=False, nogil=True)
def diagonal(K):
    """Return the diagonal of K."""
    out = np.empty(K.d.shape[0])
    for i in range(out.shape[0]):
        out[i] = K.d[i] + dot(K.A[i], K.A[i])
    return out


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


@numba.njit(cache=True, fastmath=False, nogil=True)
def combine(A, rows, weights):
    """Return ``A[rows]' @ weights[rows]``."""
    total, part = np.zeros(A.shape[1]), np.empty(A.shape[1])
    for start in range(0, rows.shape[0], _BLOCK):
        for k in range(part.shape[0]):
            part[k] = 0.0
        add_rows(A, rows[start : start + _BLOCK], weights, part)
        for k in range(part.shape[0]):
            total[k] += part[k]
    return total


@numba.njit(cache=True, fastmath=False, nogil=True)
def add_product(K, rows, weights, out):
    """Add ``K[:, rows] @ weights[rows]`` to ``out``."""
    z = combine(K.A, rows, weights)
    for i in range(out.shape[0]):
        out[i] += dot(K.A[i], z)
    for i in rows:
        out[i] += K.d[i] * weights[i]


@numba.njit(cache=True, fastmath=False, nogil=True)
def add_product_exactly(K, rows, weights, high, low):
    """Add the same to ``high + low`` as if computed in twice the working precision."""
    A, d = K
    z, rest = np.zeros(A.shape[1]), np.zeros(A.shape[1])
    add_rows_exactly(A, rows, weights, z, rest)
    for k in range(A.shape[1]):
        z[k], rest[k] = two_sum(z[k], rest[k])
    for i in range(high.shape[0]):
        total, small = high[i], low[i]
        for k in range(A.shape[1]):
            product, lost = two_product(A[i, k], z[k])
            total, more = two_sum(total, product)
            small += more + lost + A[i, k] * rest[k]
        high[i], low[i] = total, small
    for i in rows:
        product, lost = two_product(d[i], weights[i])
        high[i], more = two_sum(high[i], product)
        low[i] += more + lost


def depth(K, count):
    """Return the additions in a row of both products: over rows, then over columns of A."""
    columns = K.A.shape[1]
    over_rows = 0.25 * min(count, _BLOCK) + 4.0 + count // _BLOCK
    return over_rows + columns + 4.0, count + columns + 8.0


@numba.njit(cache=True, fastmath=False, nogil=True)
def scaled_rows(A, rows, scale):
    """Return some rows of A, each times its scale."""
    out = np.empty((rows.shape[0], A.shape[1]))
    for p in range(rows.shape[0]):
        for k in range(A.shape[1]):
            out[p, k] = scale[p] * A[rows[p], k]
    return out


@numba.njit(cache=True, fastmath=False, nogil=True)
def factorize(K, free, root):
    """Return the factor for ``root``, the square roots of W of all rows; and whether it exists."""
    r = free.shape[0]
    if r >= K.A.shape[1]:
        return factorize_columns(K, free, root)
    scale, spread = scales(K, free, root)
    gram = np.eye(r)
    add_rows_gram(scaled_rows(K.A, free, scale), gram)
    definite = cholesky_in_place(gram)
    return Woodbury(K.A, free, scale, spread, gram), definite


@numba.njit(cache=True, fastmath=False, nogil=True)
def factorize_columns(K, free, root):
    """Return the factor by that of ``I + V'V``, whatever its size; and whether it exists."""
    scale, spread = scales(K, free, root)
    gram = np.eye(K.A.shape[1])
    for start in range(0, free.shape[0], _BLOCK):
        part = slice(start, start + _BLOCK)
        add_columns_gram(scaled_rows(K.A, free[part], scale[part]), gram)
    definite = cholesky_in_place(gram)
    return Woodbury(K.A, free, scale, spread, gram), definite


@numba.njit(cache=True, fastmath=False, nogil=True)
def scales(K, free, root):
    """Return ``(W / E)½`` and ``E½`` of the free rows."""
    scale, spread = np.empty(free.shape[0]), np.empty(free.shape[0])
    for p in range(free.shape[0]):
        i = free[p]
        spread[p] = np.sqrt(1.0 + root[i] * root[i] * K.d[i])
        scale[p] = root[i] / spread[p]
    return scale, spread


@numba.njit(cache=True, fastmath=False, nogil=True)
def times_columns(factor, x, z):
    """Put ``V'x`` into the row z."""
    weights = np.empty(factor.A.shape[0])
    for p in range(x.shape[0]):
        weights[factor.free[p]] = factor.scale[p] * x[p]
    total = combine(factor.A, factor.free, weights)
    for k in range(total.shape[0]):
        z[0, k] = total[k]


@numba.njit(cache=True, fastmath=False, nogil=True)
def subtract_rows(factor, z, out):
    """Subtract ``V z`` of the row z from ``out``."""
    for p in range(out.shape[0]):
        out[p] -= factor.scale[p] * dot(factor.A[factor.free[p]], z[0])


@numba.njit(cache=True, fastmath=False, nogil=True)
def subtract_projection(factor, x, z):
    """Replace x by ``(I + V V')⁻¹ x``, by the factor of ``I + V'V``; z is a row to work with."""
    times_columns(factor, x, z)
    cholesky_solve_in_place(factor.cholesky, z)
    subtract_rows(factor, z, x)


@numba.njit(cache=True, fastmath=False, nogil=True)
def solve(factor, x):
    """Replace the right-hand sides of B, one in each row, by the solutions.

    Woodbury's difference cancels where V is large; a step of refinement takes most of that back.
    """
    r, m = factor.free.shape[0], factor.A.shape[1]
    direct = factor.cholesky.shape[0] < m
    y, z, rough, residual = np.empty((1, r)), np.empty((1, m)), np.empty(r), np.empty(r)
    for k in range(x.shape[0]):
        for p in range(r):
            y[0, p] = x[k, p] / factor.spread[p]
        if direct:
            cholesky_solve_in_place(factor.cholesky, y)
        else:
            for p in range(r):
                rough[p] = y[0, p]
            subtract_projection(factor, rough, z)
            for p in range(r):
                residual[p] = y[0, p] - rough[p]
            times_columns(factor, rough, z)
            subtract_rows(factor, z, residual)
            subtract_projection(factor, residual, z)
            for p in range(r):
                y[0, p] = rough[p] + residual[p]
        for p in range(r):
            x[k, p] = y[0, p] / factor.spread[p]


def no_factor():
    """Return the factor of no rows."""
    none, nothing = np.zeros(0), np.empty((0, 0))
    return Woodbury(nothing, np.flatnonzero(none), none, none, nothing)


@numba.njit(cache=True, fastmath=False, nogil=True)
def inverse_diagonal(factor):
    """Return the diagonal of ``B⁻¹``."""
    if factor.cholesky.shape[0] < factor.A.shape[1]:
        inverse = np.eye(factor.free.shape[0])
        cholesky_solve_in_place(factor.cholesky, inverse)
        out = np.empty(factor.free.shape[0])
        for p in range(out.shape[0]):
            out[p] = inverse[p, p] / factor.spread[p] / factor.spread[p]
        return out
    out = leverages(factor, factor.free, factor.scale)
    for p in range(out.shape[0]):
        out[p] = (1.0 - out[p]) / factor.spread[p] / factor.spread[p]
    return out


@numba.njit(cache=True, fastmath=False, nogil=True)
def leverages(factor, rows, scale):
    """Return ``v'(I + V'V)⁻¹ v`` for some rows of A, each times its scale."""
    out = np.empty(rows.shape[0])
    for start in range(0, rows.shape[0], _BLOCK):
        part = slice(start, start + _BLOCK)
        v = scaled_rows(factor.A, rows[part], scale[part])
        solved = v.copy()
        cholesky_solve_in_place(factor.cholesky, solved)
        for p in range(v.shape[0]):
            out[start + p] = dot(v[p], solved[p])
    return out


WOODBURY = Covariance(
    diagonal,
    latent,
    add_product,
    add_product_exactly,
    depth,
    factorize,
    solve,
    no_factor,
    types.NamedTuple((types.float64[:, ::1], types.float64[::1]), Parts),
)
