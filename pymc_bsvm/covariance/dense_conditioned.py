"""A covariance matrix beside the curvature of a loss: what a Gaussian approximation needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.factor import Factor, Factored
from pymc_bsvm.covariance.interpreted import factorize
from pymc_bsvm.covariance.product import exact_product

__all__ = ["TOLD", "DenseConditioned", "condition_dense"]

_BLOCK = 512  # rows at a time, so that no second matrix is made
TOLD = 1e-5  # share of a precision that keeps ten digits of one minus the rest


@dataclass(frozen=True, eq=False)
class DenseConditioned(Factored):
    """The Gaussian with the precision ``K⁻¹ + W``; K may be singular."""

    K: Array = field(repr=False)
    factor: Factor
    """The factor of ``B = I + W½ K W½`` on the rows with a curvature."""

    @cached_property
    def variance(self) -> Array:
        """The diagonal of ``(K⁻¹ + W)⁻¹``, of shape (n,)."""
        index, root = self.factor.index, self.factor.root_curvature
        variance: Array = np.diag(self.K).copy()
        if index.size == 0:
            return variance
        told = 1.0 - self.inverse_diagonal  # what the row's own observation adds to its precision
        known = told > TOLD  # there, what is left of it does not cancel
        rest = np.setdiff1d(np.arange(variance.size), index[known])
        for start in range(0, rest.size, _BLOCK):
            rows = rest[start : start + _BLOCK]
            half = self.K[np.ix_(rows, index)]
            half *= root
            half = solve_triangular(
                self.factor.cholesky, half.T, lower=True, overwrite_b=True, check_finite=False
            )
            explained = np.einsum("ij,ij->j", half, half)
            variance[rows] = np.maximum(variance[rows] - explained, 0.0)
        variance[index[known]] = (told / root**2)[known]
        return variance

    def shrink(self, x: Array) -> Array:
        """Return ``(I + W K)⁻¹ x`` for x of shape (n,)."""
        return x - self.reduce(exact_product(self.K, x))


def condition_dense(K: Array, curvature: Array, known: Factor | None = None) -> DenseConditioned:
    """Return the covariance conditioned on observations with this curvature of their loss.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Prior covariance.
    curvature : ndarray of shape (n,)
        Second derivatives W of the losses, not negative.
    known : Factor, optional
        One that is taken as it is, if it is that of this curvature.

    Raises
    ------
    ValueError
        If B is not positive definite, which means that K is indefinite.
    """
    index = np.flatnonzero(curvature > 0.0)
    root = np.sqrt(np.maximum(curvature, 0.0))
    if known is not None and np.array_equal(known.index, index):
        if np.array_equal(known.root_curvature, root[index]):
            return DenseConditioned(K, known)
    cholesky, definite = factorize(K, index, root)
    if not definite:
        raise ValueError(
            "K must be positive semidefinite, but I + W½ K W½ has no Cholesky factor. "
            "Check the covariance function, or add a jitter to the diagonal of K."
        )
    return DenseConditioned(K, Factor(index, root[index], cholesky))
