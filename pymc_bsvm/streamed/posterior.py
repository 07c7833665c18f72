"""The posterior of functions on inducing points: all that predictions need of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from pymc_bsvm._typing import Array
from pymc_bsvm.streamed.features import Features, latent

__all__ = ["InducingPosterior"]


@dataclass(frozen=True, eq=False)
class InducingPosterior:
    """The weights of the features, ``w ~ N(mode, B⁻¹)``, and what the features leave of the prior.

    New latent values have the mean ``phi'w`` at the mode and the variance
    ``phi'B⁻¹phi + k(x, x) - |phi_Z|²``, which is that of the prior far from all inducing points.

    References
    ----------
    [QR05]_, (20).
    """

    features: Features
    w: Array = field(repr=False)
    """The mode of the weights, of shape (r,)."""
    cholesky: Array = field(repr=False)
    """Lower factor of B, of shape (r, r)."""

    def mean(self, X: Array) -> Array:
        """Return the means of the latent values of new rows."""
        return latent(self.features.cross(X), self.features.coefficients(self.w))

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return the means and variances of the latent values of new rows."""
        mean, phi, half = self._parts(X)
        left = self.features.diagonal(X) - np.einsum("ij,ij->i", phi, phi)
        return mean, np.maximum(left, 0.0) + np.einsum("ij,ij->j", half, half)

    def joint(self, X: Array) -> tuple[Array, Array]:
        """Return the mean and the covariance of the latent values of new rows."""
        mean, phi, half = self._parts(X)
        prior = self.features.kernel.matrix(self.features.values, X)
        return mean, prior - phi @ phi.T + half.T @ half

    def _parts(self, X: Array) -> tuple[Array, Array, Array]:
        """Return the means, the features of the kernel, and ``L⁻¹ phi`` with the factor of B."""
        K = self.features.cross(X)
        mean = latent(K, self.features.coefficients(self.w))
        phi = self.features.whiten(K)
        columns = np.full((self.w.size, X.shape[0]), np.sqrt(self.features.offset))
        columns[: phi.shape[1]] = phi.T
        return mean, phi, solve_triangular(self.cholesky, columns, lower=True, overwrite_b=True)
