"""What is done with small matrices by NumPy and by SciPy's LAPACK, ready without a compiler.

The functions are those of `pymc_bsvm.covariance.dense` and `pymc_bsvm.covariance.lapack` with the
same names. For few rows they take as long as compiled code, which costs seconds before its first
use on a machine; for many rows they call that. The rule looks at sizes alone, so that results are
the same from run to run.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtri

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import dense, exact, lapack
from pymc_bsvm.covariance.base import Covariance

__all__ = [
    "DENSE",
    "add_product",
    "add_product_exactly",
    "cholesky_in_place",
    "cholesky_inverse_in_place",
    "cholesky_solve_in_place",
    "exact_sum",
    "factorize",
    "for_few",
    "in_numpy",
    "inverse_diagonal",
    "latent",
    "submatrix",
    "two_sum",
    "upper",
]

_FEW = 300  # rows
_BLOCK = 2**15  # products at a time, so that they stay in the cache
_UPPER = ~np.tri(_FEW, dtype=bool)

two_sum = getattr(exact.two_sum, "py_func", exact.two_sum)  # Numba may be switched off
_two_product = getattr(exact.two_product, "py_func", exact.two_product)


def for_few[F: Callable[..., Any]](compiled: F) -> Callable[[Callable[..., Any]], F]:
    """Make a function of ``(matrix, ...)`` that calls the compiled one for matrices of many rows.

    Parameters
    ----------
    compiled : callable
        The same function, compiled.
    """

    def chosen(function: Callable[..., Any]) -> F:
        @functools.wraps(function)
        def by_size(matrix: Array, *arguments: Any) -> Any:
            return (function if matrix.shape[0] <= _FEW else compiled)(matrix, *arguments)

        return by_size  # type: ignore[return-value]

    return chosen


def upper(n: int) -> NDArray[np.bool_]:
    """Return which elements of a small matrix of n rows are above the diagonal."""
    return _UPPER[:n, :n]


def exact_sum(x: Array) -> float:
    """Return the sum, rounded once; NaN where it has no value."""
    try:
        return math.fsum(x.tolist())
    except (OverflowError, ValueError):
        return math.nan


# ---- LAPACK, for which a matrix of C is the transposed one ---------------------------------------


@for_few(lapack.cholesky_in_place)
def cholesky_in_place(A: Array) -> bool:
    """Replace the lower triangle of a C-ordered matrix by its Cholesky factor.

    Returns whether the matrix was positive definite.
    """
    return A.shape[0] == 0 or bool(dpotrf(A.T, lower=0, clean=0, overwrite_a=1)[1] == 0)


@for_few(lapack.cholesky_solve_in_place)
def cholesky_solve_in_place(L: Array, x: Array) -> None:
    """Replace the right-hand sides in ``x``, one in each row, by the solutions of L L' z = x.

    Both are C-ordered.
    """
    if x.size:
        dpotrs(L.T, x.T, lower=0, overwrite_b=1)


@for_few(lapack.cholesky_inverse_in_place)
def cholesky_inverse_in_place(L: Array) -> None:
    """Replace the lower triangle of a Cholesky factor by that of the inverse of L L'."""
    if L.shape[0]:
        dpotri(L.T, lower=0, overwrite_c=1)


@for_few(lapack.inverse_diagonal)
def inverse_diagonal(L: Array) -> Array:
    """Return the diagonal of the inverse of L L': sums of squares over the columns of L⁻¹."""
    inverse = L.copy()
    if L.shape[0]:
        dtrtri(inverse.T, lower=0, overwrite_c=1)
    np.copyto(inverse, 0.0, where=upper(len(L)))
    return np.asarray(np.einsum("ij,ij->j", inverse, inverse))


# ---- a covariance that is kept as a matrix -------------------------------------------------------


@for_few(dense.add_product)
def add_product(K: Array, rows: NDArray[np.intp], weights: Array, out: Array) -> None:
    """Add ``K[:, rows] @ weights[rows]`` to ``out``; rows stand for columns, as K is symmetric."""
    if rows.size == out.size:
        out += weights @ K
    elif rows.size:
        out += weights[rows] @ K[rows]


@for_few(dense.add_product_exactly)
@np.errstate(all="ignore")
def add_product_exactly(
    K: Array, rows: NDArray[np.intp], weights: Array, high: Array, low: Array
) -> None:
    """Add ``K[:, rows] @ weights[rows]`` to the unevaluated sum ``high + low``.

    Products and sums carry their rounding errors along; the products are added in pairs.
    """
    block = max(_BLOCK // max(high.size, 1), 1)
    for start in range(0, rows.size, block):
        part = rows[start : start + block]
        terms, lost = _two_product(K[part], weights[part, None])
        rest = lost.sum(axis=0)
        while len(terms) > 1:
            half = len(terms) // 2
            total, more = two_sum(terms[:half], terms[half : 2 * half])
            rest += more.sum(axis=0)
            terms = np.concatenate([total, terms[2 * half :]])
        high[:], more = two_sum(high, terms[0])
        low += rest + more


@for_few(dense.latent)
def latent(K: Array, m: Array, a: Array, b: float) -> Array:
    """Return ``m + K a + b``."""
    f: Array = m + b
    add_product(K, np.flatnonzero(a), a, f)
    return f


@for_few(dense.submatrix)
def submatrix(K: Array, rows: NDArray[np.intp]) -> Array:
    """Return the covariances of some rows with each other; K itself for all in their order."""
    if rows.size == len(K) and (rows[1:] > rows[:-1]).all():
        return K
    return K.take(rows, axis=0).take(rows, axis=1)


@for_few(dense.factorize)
def factorize(K: Array, free: NDArray[np.intp], root: Array) -> tuple[Array, bool]:
    """Return the Cholesky factor of ``B = I + W½ K W½`` on the free set, and whether it exists.

    ``root`` holds the square roots of the curvature; only the lower triangle is meaningful.
    """
    scale = root[free]
    B = np.multiply(submatrix(K, free), scale, order="C")
    B *= scale[:, None]
    B.ravel()[:: free.size + 1] += 1.0
    return B, cholesky_in_place(B)


DENSE = dense.DENSE._replace(
    latent=latent,
    add_product=add_product,
    add_product_exactly=add_product_exactly,
    factorize=factorize,
    solve=cholesky_solve_in_place,
)


def in_numpy(covariance: Covariance) -> Covariance:
    """Return the functions of a covariance for code that is not compiled."""
    return DENSE if covariance is dense.DENSE else covariance
