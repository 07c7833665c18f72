"""The posterior of functions on inducing points: all that predictions need of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from pymc_bsvm._typing import Array
from pymc_bsvm.streamed.features import Features, latent

__all__ = ["InducingPosterior", "Look"]


class Look(NamedTuple):
    """Rows as a posterior on inducing points sees them."""

    mean: Array
    """Means of the latent values, of shape (n,)."""
    known: Array
    """Variances ``phi'B⁻¹phi`` of what the inducing points carry, of shape (n,)."""
    left: Array
    """Variances ``k(x, x) - |phi_Z|²`` of what they leave out, of shape (n,)."""
    phi: Array
    """Features of the kernel, of shape (n, m)."""
    half: Array
    """All features divided by the factor of B, of shape (r, n)."""


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
        mean, known, left = self.look(X)[:3]
        return mean, known + left

    def joint(self, X: Array) -> tuple[Array, Array]:
        """Return the mean and the covariance of the latent values of new rows."""
        mean, _, _, phi, half = self.look(X)
        prior = self.features.kernel.matrix(self.features.values, X)
        return mean, prior - phi @ phi.T + half.T @ half

    def weights_on(self, features: Features) -> Array:
        """Return the weights of the function that has the means at other inducing points."""
        of_offset = self.w[len(self.features.Z) :]
        values = self.mean(features.Z) - np.sqrt(features.offset) * of_offset.sum()
        of_kernel = solve_triangular(features.cholesky, values, lower=True)
        return np.concatenate([of_kernel, of_offset])

    def look(self, X: Array) -> Look:
        """Return all there is to know of rows."""
        K = self.features.cross(X)
        mean = latent(K, self.features.coefficients(self.w))
        phi = self.features.whiten(K)
        columns = np.full((self.w.size, X.shape[0]), np.sqrt(self.features.offset))
        columns[: phi.shape[1]] = phi.T
        half = solve_triangular(self.cholesky, columns, lower=True, overwrite_b=True)
        left = self.features.diagonal(X) - np.einsum("ij,ij->i", phi, phi)
        return Look(mean, np.einsum("ij,ij->j", half, half), np.maximum(left, 0.0), phi, half)
