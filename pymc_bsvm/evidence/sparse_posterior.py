"""What predictions need of a Laplace posterior: its support vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from pymc_bsvm._typing import Array

__all__ = ["SparsePosterior"]


@dataclass(frozen=True)
class SparsePosterior:
    """The posterior of new latent values, given their prior covariances with the support vectors.

    References
    ----------
    [Chu03]_, (4.46) and (5.41).
    """

    a: Array
    """Dual of the support vectors, of shape (s,)."""
    place: NDArray[np.intp]
    """Which of them are curved, of shape (m,)."""
    root_curvature: Array
    """Square roots of their curvature W, of shape (m,)."""
    cholesky: Array
    """Lower Cholesky factor L of ``I + W½ K W½`` on the curved ones, of shape (m, m)."""

    def mean(self, cross: Array) -> Array:
        """Return the means of new latent values, less the prior's; cross has shape (s, n_new)."""
        return np.asarray(cross.T @ self.a)

    def variance(self, cross: Array, prior: Array) -> Array:
        """Return the variances, given the prior's; rounding may not take them below zero."""
        half = self._explained(cross)
        return np.asarray(np.maximum(prior - np.einsum("ij,ij->j", half, half), 0.0))

    def covariance(self, cross: Array, prior: Array) -> Array:
        """Return the covariance, given the prior's, of shape (n_new, n_new)."""
        half = self._explained(cross)
        return np.asarray(prior - half.T @ half)

    def _explained(self, cross: Array) -> Array:
        """Return ``L⁻¹ W½ k``, of shape (m, n_new)."""
        if self.place.size == 0:
            return np.zeros((0, cross.shape[1]))
        scaled = self.root_curvature[:, None] * cross[self.place]
        return np.asarray(solve_triangular(self.cholesky, scaled, lower=True, check_finite=False))
