"""Cholesky factorisation, solution and Gram matrices by LAPACK and BLAS, from compiled code.

NumPy's linear algebra in Numba has no triangular solves and no symmetric products, so that some
routines are taken from SciPy. Their addresses are registered under fixed names, which keeps
compiled code cacheable.
"""

import llvmlite.binding as llvm
import numba
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

__all__ = [
    "add_columns_gram",
    "add_columns_pairs",
    "add_rows_gram",
    "cholesky_in_place",
    "cholesky_inverse_in_place",
    "cholesky_solve_in_place",
    "inverse_diagonal",
    "pivoted_cholesky",
    "triangular_congruence_in_place",
    "triangular_inverse_in_place",
    "triangular_solve_in_place",
]

_INT = types.CPointer(types.int32)
_REAL = types.CPointer(types.float64)
_CHAR = types.CPointer(types.uint8)
_PLAIN, _TRANSPOSED = ord("N"), ord("T")
_LEFT, _RIGHT = ord("L"), ord("R")
_BLOCK = 128  # columns at a time
_UPPER = ord("U")  # the upper triangle of Fortran is the lower one of C


def _routine(name, *arguments, library="cython_lapack"):
    symbol = f"pymc_bsvm_{name}"
    llvm.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{library}", name))
    return types.ExternalFunction(symbol, types.void(*arguments))


_dpotrf = _routine("dpotrf", _CHAR, _INT, _REAL, _INT, _INT)
_dpotri = _routine("dpotri", _CHAR, _INT, _REAL, _INT, _INT)
_dpotrs = _routine("dpotrs", _CHAR, _INT, _INT, _REAL, _INT, _REAL, _INT, _INT)
_dtrtri = _routine("dtrtri", _CHAR, _CHAR, _INT, _REAL, _INT, _INT)
_dpstrf = _routine("dpstrf", *(_CHAR, _INT, _REAL, _INT, _INT, _INT, _REAL, _REAL, _INT))
_dsyrk = _routine(
    "dsyrk",
    *(_CHAR, _CHAR, _INT, _INT, _REAL, _REAL, _INT, _REAL, _REAL, _INT),
    library="cython_blas",
)
_dsyr2k = _routine(
    "dsyr2k",
    *(_CHAR, _CHAR, _INT, _INT, _REAL, _REAL, _INT, _REAL, _INT, _REAL, _REAL, _INT),
    library="cython_blas",
)
_dtrsm = _routine(
    "dtrsm",
    *(_CHAR, _CHAR, _CHAR, _CHAR, _INT, _INT, _REAL, _REAL, _INT, _REAL, _INT),
    library="cython_blas",
)


@numba.njit(cache=True, fastmath=False, nogil=True)
def cholesky_in_place(A):
    """Replace the lower triangle of a C-ordered matrix by its Cholesky factor.

    Returns whether the matrix was positive definite.
    """
    if A.shape[0] == 0:
        return True
    uplo = np.array([_UPPER], dtype=np.uint8)
    order = np.array([A.shape[0]], dtype=np.int32)
    info = np.zeros(1, dtype=np.int32)
    _dpotrf(uplo.ctypes, order.ctypes, A.ctypes, order.ctypes, info.ctypes)
    return info[0] == 0


@numba.njit(cache=True, fastmath=False, nogil=True)
def cholesky_solve_in_place(L, x):
    """Replace the right-hand sides in ``x``, one in each row, by the solutions of L L' z = x."""
    if L.shape[0] == 0:
        return
    uplo = np.array([_UPPER], dtype=np.uint8)
    order = np.array([L.shape[0]], dtype=np.int32)
    count = np.array([x.shape[0]], dtype=np.int32)
    info = np.zeros(1, dtype=np.int32)
    _dpotrs(
        uplo.ctypes,
        order.ctypes,
        count.ctypes,
        L.ctypes,
        order.ctypes,
        x.ctypes,
        order.ctypes,
        info.ctypes,
    )


@numba.njit(cache=True, fastmath=False, nogil=True)
def cholesky_inverse_in_place(L):
    """Replace the lower triangle of a Cholesky factor by that of the inverse of L L'."""
    if L.shape[0] == 0:
        return
    uplo = np.array([_UPPER], dtype=np.uint8)
    order = np.array([L.shape[0]], dtype=np.int32)
    info = np.zeros(1, dtype=np.int32)
    _dpotri(uplo.ctypes, order.ctypes, L.ctypes, order.ctypes, info.ctypes)


@numba.njit(cache=True, fastmath=False, nogil=True)
def triangular_inverse_in_place(L):
    """Replace the lower triangle of a matrix by that of its inverse."""
    if L.shape[0] == 0:
        return
    uplo, diagonal = np.array([_UPPER], dtype=np.uint8), np.array([ord("N")], dtype=np.uint8)
    order, info = np.array([L.shape[0]], dtype=np.int32), np.zeros(1, dtype=np.int32)
    _dtrtri(uplo.ctypes, diagonal.ctypes, order.ctypes, L.ctypes, order.ctypes, info.ctypes)


@numba.njit(cache=True, fastmath=False, nogil=True)
def triangular_solve_in_place(L, x, transposed):
    """Replace the right-hand sides in ``x``, one in each row, by the solutions of L z = x.

    Those of L' z = x, if ``transposed``.
    """
    _solve(L, x, _LEFT, _PLAIN if transposed else _TRANSPOSED, L.shape[0], x.shape[0])


@numba.njit(cache=True, fastmath=False, nogil=True)
def triangular_congruence_in_place(L, S):
    """Replace a symmetric matrix S by L⁻ᵀ S L⁻¹."""
    n = L.shape[0]
    _solve(L, S, _LEFT, _PLAIN, n, n)
    _solve(L, S, _RIGHT, _TRANSPOSED, n, n)


@numba.njit(cache=True, fastmath=False, nogil=True)
def _solve(L, x, side, trans, rows, columns):
    """Call the routine, for which the lower triangle of L is an upper one; L may be part of one."""
    if x.size == 0:
        return
    flags = np.array([side, _UPPER, trans, _PLAIN], dtype=np.uint8)
    order = np.array([rows, columns, L.strides[0] // L.itemsize], dtype=np.int32)
    one = np.ones(1)
    _dtrsm(
        flags[0:].ctypes,
        flags[1:].ctypes,
        flags[2:].ctypes,
        flags[3:].ctypes,
        order[0:].ctypes,
        order[1:].ctypes,
        one.ctypes,
        L.ctypes,
        order[2:].ctypes,
        x.ctypes,
        order[0:].ctypes,
    )


@numba.njit(cache=True, fastmath=False, nogil=True)
def inverse_diagonal(L):
    """Return the diagonal of the inverse of L L': sums of squares over the columns of L⁻¹.

    Some columns are made at a time, by the part of L that begins at their rows: above them L⁻¹ is
    zero. That is no more work than the inverse, and takes a small part of its memory.
    """
    n = L.shape[0]
    total = np.zeros(n)
    for start in range(0, n, _BLOCK):
        columns = min(_BLOCK, n - start)
        x = np.zeros((columns, n - start))  # the columns of L⁻¹, one in each row
        for k in range(columns):
            x[k, k] = 1.0
        _solve(L[start:, start:], x, _LEFT, _TRANSPOSED, n - start, columns)
        for k in range(columns):
            for j in range(k, n - start):
                total[start + k] += x[k, j] * x[k, j]
    return total


@numba.njit(cache=True, fastmath=False, nogil=True)
def pivoted_cholesky(K):
    """Return a matrix A of shape (n, rank) with ``K = A A'`` to rounding."""
    n = K.shape[0]
    factor, uplo = K.copy(), np.array([_UPPER], dtype=np.uint8)
    order, rank = np.array([n], dtype=np.int32), np.zeros(1, dtype=np.int32)
    info = np.zeros(1, dtype=np.int32)
    pivots, work, tolerance = np.zeros(n, dtype=np.int32), np.empty(2 * n), np.full(1, -1.0)
    _dpstrf(
        uplo.ctypes,
        order.ctypes,
        factor.ctypes,
        order.ctypes,
        pivots.ctypes,
        rank.ctypes,
        tolerance.ctypes,
        work.ctypes,
        info.ctypes,
    )
    A = np.zeros((n, rank[0]))
    for i in range(n):
        for j in range(min(i + 1, rank[0])):
            A[pivots[i] - 1, j] = factor[i, j]
    return A


@numba.njit(cache=True, fastmath=False, nogil=True)
def add_columns_gram(V, out):
    """Add the lower triangle of ``V'V``; both matrices are C-ordered."""
    _add_gram(V, out, _PLAIN, V.shape[0])


@numba.njit(cache=True, fastmath=False, nogil=True)
def add_rows_gram(V, out):
    """Add the lower triangle of ``V V'``; both matrices are C-ordered."""
    _add_gram(V, out, _TRANSPOSED, V.shape[1])


@numba.njit(cache=True, fastmath=False, nogil=True)
def _add_gram(V, out, transposed, depth):
    """Call the routine, whose matrices are the transposes of those of C."""
    if V.size == 0:
        return
    uplo, trans = np.array([_UPPER], dtype=np.uint8), np.array([transposed], dtype=np.uint8)
    order = np.array([out.shape[0]], dtype=np.int32)
    terms = np.array([depth], dtype=np.int32)
    leading = np.array([V.shape[1]], dtype=np.int32)
    one = np.ones(1)
    _dsyrk(
        uplo.ctypes,
        trans.ctypes,
        order.ctypes,
        terms.ctypes,
        one.ctypes,
        V.ctypes,
        leading.ctypes,
        one.ctypes,
        out.ctypes,
        order.ctypes,
    )


@numba.njit(cache=True, fastmath=False, nogil=True)
def add_columns_pairs(V, W, out):
    """Add the lower triangle of ``(V'W + W'V) / 2``; all matrices are C-ordered."""
    if V.size == 0:
        return
    flags = np.array([_UPPER, _PLAIN], dtype=np.uint8)
    order = np.array([out.shape[0], V.shape[0]], dtype=np.int32)
    scale = np.array([0.5, 1.0])
    _dsyr2k(
        flags[0:].ctypes,
        flags[1:].ctypes,
        order[0:].ctypes,
        order[1:].ctypes,
        scale[0:].ctypes,
        V.ctypes,
        order[0:].ctypes,
        W.ctypes,
        order[0:].ctypes,
        scale[1:].ctypes,
        out.ctypes,
        order[0:].ctypes,
    )
