"""The determinant's derivatives and the system of the free set by NumPy, for few rows.

The functions are those of `pymc_bsvm.solvers.determinant` and `pymc_bsvm.solvers.kernel` with the
same names, which they call for many rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.interpreted import (
    cholesky_in_place,
    cholesky_inverse_in_place,
    cholesky_solve_in_place,
    factorize,
    for_few,
    submatrix,
    upper,
)
from pymc_bsvm.solvers import determinant, kernel
from pymc_bsvm.solvers.kernel import ENOUGH, EXACT, GRADIENTS

__all__ = [
    "log_det",
    "log_det_gradient",
    "log_det_gradient_among",
    "of_covariance",
    "solve_free",
]


@for_few(determinant.log_det)
def log_det(K: Array, W: Array) -> tuple[float, Array]:
    """Return ``log |I + W½ K W½|`` and its factor, NaN where there is none."""
    L, definite = factorize(K, np.arange(W.size), np.sqrt(W))
    if not definite:
        return np.nan, np.full(K.shape, np.nan)
    return 2.0 * float(np.log(L.diagonal()).sum()), L


@for_few(determinant.log_det_gradient)
@np.errstate(all="ignore")
def log_det_gradient(K: Array, W: Array, cholesky: Array) -> tuple[Array, Array]:
    """Return R and q."""
    root, variance = np.sqrt(W), K.diagonal()
    lower = cholesky.copy()
    cholesky_inverse_in_place(lower)
    inverse = lower.copy()
    np.copyto(inverse, lower.T, where=upper(W.size))
    q = (1.0 - inverse.diagonal()) / W
    R = inverse * root
    rest = np.flatnonzero(~(W * variance > 1.0))  # where that difference cancels
    if rest.size:
        q[rest] = np.einsum("ij,ij->i", K[rest], R[rest]) / root[rest]
        flat = rest[W[rest] == 0.0]
        scaled = K[flat] * root
        q[flat] = variance[flat] - np.einsum("ij,ij->i", scaled @ inverse, scaled)
    R *= root[:, None]
    return R, q


@for_few(determinant.log_det_gradient_among)
def log_det_gradient_among(
    K: Array, rows: NDArray[np.intp], W: Array, cholesky: Array
) -> tuple[Array, Array]:
    """Return R and q for the covariances of some rows with each other."""
    found: tuple[Array, Array] = log_det_gradient(submatrix(K, rows), W, cholesky)
    return found


@for_few(determinant.of_covariance)
def of_covariance(a: Array, u: Array, R: Array, place: NDArray[np.intp]) -> Array:
    """Return ``(aa' - R - ua' - au') / 2``, with R on the rows ``place`` only.

    For many rows it may take the place of R.
    """
    G: Array = np.stack([0.5 * a, -0.5 * u], axis=1) @ np.stack([a - u, a])
    if place.size == a.size:
        G -= 0.5 * R
    else:
        G[np.ix_(place, place)] -= 0.5 * R
    return G


@for_few(kernel.solve_free)
@np.errstate(all="ignore")
def solve_free(
    K: Array, h: Array, c: Array, index: NDArray[np.intp], root: Array, cholesky: Array
) -> Array:
    """Return the solution of ``(K + diag(h)) u = c`` on the rows with a finite h, zero elsewhere.

    ``index, root, cholesky`` is a factor of ``I + W½ K W½`` with W near 1 / h, or an empty one. If
    it is of the same rows, it preconditions; otherwise the matrix is factorised. NaN tells that it
    is not positive definite.
    """
    u, free = np.zeros(c.size), np.flatnonzero(np.isfinite(h))
    if 0 < free.size == index.size and np.array_equal(free, index) and (h[free] > 0.0).all():
        found = _by_conjugate_gradients(K, h, c, free, cholesky)
        if found is not None:
            u[free] = found
            return u
    u[free] = _by_factor(K, h, c, free)
    return u


def _by_factor(K: Array, h: Array, c: Array, free: NDArray[np.intp]) -> Array:
    """Solve on the free rows with a factor of the matrix scaled to a unit diagonal."""
    scale: Array = 1.0 / np.sqrt(h[free] + K.diagonal()[free])
    A = submatrix(K, free) * scale
    A *= scale[:, None]
    np.fill_diagonal(A, 1.0)
    x = (scale * c[free])[None]
    if not cholesky_in_place(A):
        return np.full(free.size, np.nan)
    cholesky_solve_in_place(A, x)
    return np.asarray(scale * x[0])


def _by_conjugate_gradients(
    K: Array, h: Array, c: Array, free: NDArray[np.intp], cholesky: Array
) -> Array | None:
    """Solve ``B x = s c`` for ``u = s x`` with ``s = h^-½`` and ``B = I + s K s``.

    The factor is of B with other numbers in the place of s: where they agree the first iterate is
    exact, and where they nearly do, few are needed. None tells that the residual is no rounding.
    """
    inner, s = submatrix(K, free), 1.0 / np.sqrt(h[free])
    residual = s * c[free]
    trace = free.size + float(s @ (s * inner.diagonal()))
    size, product, solved = float(np.sqrt(residual @ residual)), 1.0, False
    x = direction = np.zeros(free.size)
    for step in range(GRADIENTS + 1):
        error = float(np.sqrt(residual @ residual))
        reach = size + trace * float(np.sqrt(x @ x))
        solved = error <= ENOUGH * reach
        if not np.isfinite(error) or error <= EXACT * reach or step == GRADIENTS:
            break
        z = residual[None].copy()
        cholesky_solve_in_place(cholesky, z)
        last, product = product, float(residual @ z[0])
        direction = z[0] + (product / last if step > 0 else 0.0) * direction
        image = direction + s * (inner @ (s * direction))
        length = product / float(direction @ image)
        x = x + length * direction
        residual = residual - length * image
    return s * x if solved else None
