"""What predictions need of a posterior that inducing points carry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from pymc_bsvm._typing import Array

__all__ = ["InducingPosterior"]


@dataclass(frozen=True)
class InducingPosterior:
    """The posterior ``N(w, (L L')⁻¹)`` of whitened inducing values, a priori standard normal.

    New latent values are given their features, which are the prior covariances of the whitened
    values with them.
    """

    values: Array
    """Mean w, of shape (m,)."""
    cholesky: Array
    """Lower Cholesky factor L of ``I + A'W A``, of shape (m, m)."""

    def mean(self, cross: Array) -> Array:
        """Return the means of new latent values, less the prior's; cross has shape (m, n_new)."""
        return np.asarray(cross.T @ self.values)

    def variance(self, cross: Array, prior: Array) -> Array:
        """Return the variances, given the prior's, with what the inducing points leave out."""
        left_out = np.maximum(prior - np.einsum("ij,ij->j", cross, cross), 0.0)
        half = self._narrowed(cross)
        return np.asarray(left_out + np.einsum("ij,ij->j", half, half))

    def covariance(self, cross: Array, prior: Array) -> Array:
        """Return the covariance, given the prior's, of shape (n_new, n_new)."""
        half = self._narrowed(cross)
        return np.asarray(prior - cross.T @ cross + half.T @ half)

    def _narrowed(self, cross: Array) -> Array:
        """Return ``L⁻¹ k``, of shape (m, n_new)."""
        return np.asarray(solve_triangular(self.cholesky, cross, lower=True, check_finite=False))
