"""Latent values from coordinates of the posterior, their log density, and the adjoints of both.

The map is that of `pymc_bsvm.inference.rotation.Rotation` after that of
`pymc_bsvm.inference.bend.Bend`. As ``L A`` with the root A of the posterior covariance of w has
``L A A' L' = K - K T½ (RR')⁻¹ T½ K``, the latent values are ``m + K y + L u`` with a vector y that
depends on K, R and L u only, and ``w = L'y + u``. So the factor of K enters by one product, and one
congruence for each of L and R gives its adjoint.
"""

from __future__ import annotations

import numba
import numpy as np

from pymc_bsvm.covariance.lapack import (
    add_columns_pairs,
    cholesky_in_place,
    cholesky_solve_in_place,
    triangular_congruence_in_place,
    triangular_solve_in_place,
)
from pymc_bsvm.losses.numba_language import function

__all__ = ["whiten", "whiten_back"]

_C, _KC, _E, _LU, _H, _P, _Y0, _Y, _D = range(9)  # rows of the vectors that are kept
_T, _SD, _X = range(3)  # rows of those of the bend, in front of its factor


@function
def whiten(K, m, root, b, u, labels, edges, rows):
    """Return f, the log density of u, and what `whiten_back` wants of the way there.

    Those are the factors L and R, vectors, ``(RR')⁻¹ T½ K`` of the rows, and the bend.
    """
    n, k = m.size, rows.size
    factors, vectors = _factors(K, root), np.empty((9, n))
    L, R = factors[0], factors[1]
    vectors[_C] = b - root * root * m
    vectors[_KC] = K @ vectors[_C]
    vectors[_LU] = L @ u
    solved = np.empty((k + 1, n))
    solved[:k] = root * K[rows]
    solved[k] = root * vectors[_KC]
    cholesky_solve_in_place(R, solved)
    vectors[_E] = solved[k]
    vectors[_H] = root * vectors[_LU]
    triangular_solve_in_place(_more(R), vectors[_H : _H + 1], False)
    vectors[_P] = vectors[_H]
    triangular_solve_in_place(R, vectors[_P : _P + 1], True)
    vectors[_Y0] = vectors[_C] - root * (vectors[_E] + vectors[_P])
    vectors[_Y] = vectors[_Y0]
    bent, value = _bent(K, m, root, vectors, solved, rows, labels, edges)
    y = vectors[_Y]
    vectors[_D] = K @ y + vectors[_LU]
    value -= 0.5 * (y @ (vectors[_D] + vectors[_LU]) + u @ u + n * np.log(2.0 * np.pi))
    for i in range(n):
        value -= np.log(R[i, i])
    return m + vectors[_D], value, factors, vectors, solved, bent


@numba.njit(cache=True, fastmath=False, nogil=True)
def _factors(K, root):
    """Return the Cholesky factors of K and of ``I + T½ K T½``, NaN where there is none."""
    n = root.size
    factors = np.zeros((2, n, n))
    for i in range(n):
        for j in range(i + 1):
            factors[0, i, j] = K[i, j]
            factors[1, i, j] = root[i] * K[i, j] * root[j]
        factors[1, i, i] += 1.0
    for k in range(2):
        if not cholesky_in_place(factors[k]):
            factors[k] = np.nan
    return factors


@numba.njit(cache=True, fastmath=False, nogil=True)
def _more(R):
    """Return ``R + I``."""
    more = R.copy()
    for i in range(R.shape[0]):
        more[i, i] += 1.0
    return more


@numba.njit(cache=True, fastmath=False, nogil=True)
def _bent(K, m, root, vectors, solved, rows, labels, edges):
    """Move the rows from the wall: add to y; return the bend, and the log of its determinant."""
    k, value = rows.size, 0.0
    bent, right = np.zeros((3 + k, k)), np.empty((1, k))
    factor, Q, G = bent[3:], solved[:k], K[rows]
    there, taken = G @ vectors[_Y0], G @ np.ascontiguousarray((Q * root).T)
    for i in range(k):
        for j in range(i + 1):
            factor[i, j] = G[i, rows[j]] - taken[i, j]
        sd = np.sqrt(factor[i, i])
        t = labels[i] * (m[rows[i]] + vectors[_LU, rows[i]] + there[i]) - edges[i]
        bent[_T, i], bent[_SD, i] = t, sd
        moved = _softplus(-t / sd)
        value -= moved
        right[0, i] = labels[i] * sd * moved
    if not cholesky_in_place(factor):
        factor[:] = np.nan
    cholesky_solve_in_place(factor, right)
    bent[_X] = right[0]
    vectors[_Y] -= root * (right[0] @ Q)
    for i in range(k):
        vectors[_Y, rows[i]] += right[0, i]
    return bent, value


@numba.njit(cache=True, fastmath=False, nogil=True)
def _softplus(x):
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))


@function
def whiten_back(
    K, m, root, b, u, labels, edges, rows, factors, vectors, solved, bent, f_bar, value_bar
):
    """Return the adjoints of K, m, root, b, u and edges; that of K is symmetric."""
    n, k = m.size, rows.size
    L, R, G, Q, x = factors[0], factors[1], K[rows], solved[:k], bent[_X]
    y, y0, e = vectors[_Y], vectors[_Y0], vectors[_E]
    y_bar = K @ f_bar - value_bar * vectors[_D]
    v = (root * y_bar).reshape(1, n)
    cholesky_solve_in_place(R, v)
    o_bar = -root * v[0]
    C_bar, d0_bar, edges_bar = _bend_back(rows, labels, bent, y_bar[rows] + G @ o_bar, value_bar)
    y0_bar = y_bar + d0_bar @ G
    pulled = np.empty((3, n))  # adjoints of R⁻ᵀ h, of h and of (R + I)⁻¹ T½ L u
    e_bar, h_bar, lu_bar = pulled[0:1], pulled[1:2], pulled[2:3]
    pulled[:] = -root * y0_bar
    cholesky_solve_in_place(R, e_bar)
    triangular_solve_in_place(R, h_bar, False)
    lu_bar[:] = h_bar
    triangular_solve_in_place(_more(R), lu_bar, True)
    kc_bar = root * e_bar[0]
    c_bar = y0_bar + K @ kc_bar
    of_lu = f_bar - value_bar * y + root * lu_bar[0]
    for i in range(k):
        of_lu[rows[i]] += d0_bar[i]
    u_bar = of_lu @ L
    h, weighted = vectors[_H], C_bar @ Q
    S = _lower_pair(h, h_bar[0], h_bar[0] - lu_bar[0], -0.5 * value_bar)
    triangular_congruence_in_place(R, S)
    first, second = np.empty((k + 2, n)), np.empty((k + 2, n))
    first[:k], first[k], first[k + 1] = weighted, v[0], e_bar[0]
    second[:k], second[k], second[k + 1] = Q, x @ Q, -e
    add_columns_pairs(first, second, S)
    root_bar = -(x @ G) * v[0] - second[k] * y_bar - vectors[_P] * y0_bar
    root_bar += vectors[_LU] * lu_bar[0] + e_bar[0] * vectors[_KC] - e * y0_bar
    root_bar -= 2.0 * (root * m * c_bar + (weighted * G).sum(axis=0))
    K_bar = _lower_pair(u_bar, -u, np.zeros(n), 0.0)
    triangular_congruence_in_place(L, K_bar)
    first, second = np.empty((2, n)), np.empty((2, n))
    first[0], second[0] = f_bar - 0.5 * value_bar * y, y
    first[1], second[1] = kc_bar, vectors[_C]
    add_columns_pairs(first, second, K_bar)
    sides = np.outer(x, o_bar) + np.outer(d0_bar, y0) - 2.0 * root * weighted
    _assemble(K, root, rows, S, sides, C_bar, K_bar, root_bar)
    m_bar = f_bar - root * root * c_bar
    for i in range(k):
        m_bar[rows[i]] += d0_bar[i]
    return K_bar, m_bar, root_bar, c_bar, u_bar - value_bar * u, edges_bar


@numba.njit(cache=True, fastmath=False, nogil=True)
def _assemble(K, root, rows, S, sides, C_bar, K_bar, root_bar):
    """Add to the adjoint of K that of ``I + T½ K T½``, S, and those of its rows; make it whole."""
    n, k = root.size, rows.size
    for i in range(n):
        total = 0.0
        for j in range(i + 1):
            s = S[i, j] * root[j]
            K_bar[i, j] += s * root[i]
            s *= K[i, j]
            total += s
            root_bar[j] += 2.0 * S[i, j] * K[i, j] * root[i]
        root_bar[i] += 2.0 * (total - S[i, i] * K[i, i] * root[i])
    for i in range(n):
        for j in range(i):
            K_bar[j, i] = K_bar[i, j]
    for i in range(k):
        row = rows[i]
        for j in range(k):
            K_bar[row, rows[j]] += C_bar[i, j]
        for j in range(n):
            K_bar[row, j] += 0.5 * sides[i, j]
            K_bar[j, row] += 0.5 * sides[i, j]


@numba.njit(cache=True, fastmath=False, nogil=True)
def _lower_pair(h, h_bar, g, diagonal):
    """Return the symmetric matrix whose lower half is ``-(h h_bar' + g h') / 2 + diagonal I``."""
    n = h.size
    S = np.empty((n, n))
    for i in range(n):
        for j in range(i + 1):
            S[i, j] = -0.5 * (h[i] * h_bar[j] + g[i] * h[j])
            S[j, i] = S[i, j]
        S[i, i] += diagonal
    return S


@numba.njit(cache=True, fastmath=False, nogil=True)
def _bend_back(rows, labels, bent, x_bar, value_bar):
    """Return the adjoints of the posterior covariance of the rows, of the rows and of the edges."""
    k = rows.size
    of_rows, pulled, C_bar = np.empty(k), x_bar.copy().reshape(1, k), np.empty((k, k))
    cholesky_solve_in_place(bent[3:], pulled)
    for i in range(k):
        for j in range(k):
            C_bar[i, j] = -0.5 * (pulled[0, i] * bent[_X, j] + pulled[0, j] * bent[_X, i])
    for i in range(k):
        t, sd = bent[_T, i], bent[_SD, i]
        moved, share = _softplus(-t / sd), 1.0 / (1.0 + np.exp(t / sd))
        of_change = labels[i] * pulled[0, i]
        of_moved = sd * of_change - value_bar
        of_rows[i] = -of_moved * share / sd
        C_bar[i, i] += (moved * of_change + of_moved * share * t / (sd * sd)) / (2.0 * sd)
    return C_bar, labels * of_rows, -of_rows
