"""Cholesky factorisation and solution by LAPACK, callable from compiled code.

NumPy's linear algebra in Numba has no triangular solves, so that three LAPACK routines are taken
from SciPy. Their addresses are registered under fixed names, which keeps compiled code cacheable.
"""

import llvmlite.binding as llvm
import numba
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

__all__ = ["cholesky_in_place", "cholesky_inverse_in_place", "cholesky_solve_in_place"]

_INT = types.CPointer(types.int32)
_REAL = types.CPointer(types.float64)
_CHAR = types.CPointer(types.uint8)
_UPPER = ord("U")  # the upper triangle of Fortran is the lower one of C


def _routine(name, *arguments):
    symbol = f"pymc_bsvm_{name}"
    llvm.add_symbol(symbol, get_cython_function_address("scipy.linalg.cython_lapack", name))
    return types.ExternalFunction(symbol, types.void(*arguments))


_dpotrf = _routine("dpotrf", _CHAR, _INT, _REAL, _INT, _INT)
_dpotri = _routine("dpotri", _CHAR, _INT, _REAL, _INT, _INT)
_dpotrs = _routine("dpotrs", _CHAR, _INT, _INT, _REAL, _INT, _REAL, _INT, _INT)


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
