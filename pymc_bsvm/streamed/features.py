"""The prior of functions that inducing points carry, as features of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.blas import dtrsm

from pymc_bsvm._typing import Array

__all__ = ["CovarianceFunction", "Features", "gathered", "latent"]


class CovarianceFunction(Protocol):
    """A covariance function ``k(x, z)``; derivatives are in the logarithms of its values."""

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the covariances of the rows of X with those of Z (X itself), of shape (n, m)."""

    def diagonal(self, values: Array, X: Array) -> Array:
        """Return the variances ``k(x, x)`` of the rows, of shape (n,)."""

    def slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Return ``sum_ij weights_ij dk(x_i, x_j) / dlog(value)`` for symmetric weights."""

    def cross_slopes(self, values: Array, X: Array, Z: Array, weights: Array) -> Array:
        """Return ``sum_ij weights_ij dk(x_i, z_j) / dlog(value)`` for each value."""

    def diagonal_slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Return ``sum_i weights_i dk(x_i, x_i) / dlog(value)`` for each value."""


@dataclass(frozen=True, eq=False)
class Features:
    """Functions ``f(x) = phi(x)'w`` with ``w ~ N(0, I)``, at fixed hyperparameters.

    The features are ``phi(x) = [L⁻¹ k(Z, x); sqrt(offset)]`` with ``L L' = k(Z, Z) + jitter``, so
    that f has at the inducing points Z, but for the jitter, the covariance of the full process.
    What the features leave of its variance elsewhere is ``d(x) = k(x, x) - |L⁻¹ k(Z, x)|²``.

    References
    ----------
    [QR05]_, (16)-(20).
    """

    kernel: CovarianceFunction
    values: Array
    """Hyperparameters of the kernel."""
    Z: Array = field(repr=False)
    """Inducing points, of shape (m, d)."""
    offset: float
    """Variance of a constant that is added to the function; zero for none."""
    jitter: float
    """What is added to the diagonal of ``k(Z, Z)``, as a share of its mean."""
    cholesky: Array = field(repr=False)
    """L, lower."""

    @classmethod
    def at(
        cls,
        kernel: CovarianceFunction,
        values: Array,
        Z: Array,
        offset: float = 0.0,
        jitter: float = 1e-6,
    ) -> Self:
        """Factorise the covariance of the inducing points.

        Raises
        ------
        ValueError
            If it is not positive definite.
        """
        K = _own(kernel.matrix(values, Z))
        K[np.diag_indices_from(K)] += jitter * K.diagonal().mean()
        try:
            factor = cholesky(K, lower=True, overwrite_a=True)
        except (np.linalg.LinAlgError, ValueError):
            raise ValueError(
                f"The covariance of the {Z.shape[0]} inducing points is not positive definite with "
                f"a jitter of {jitter:g}. Raise the jitter, or drop points that are nearly equal."
            ) from None
        return cls(kernel, values, Z, float(offset), jitter, factor)

    @property
    def size(self) -> int:
        """Number of features."""
        return int(self.Z.shape[0]) + (self.offset > 0.0)

    def cross(self, X: Array) -> Array:
        """Return the covariances of rows with the inducing points, of shape (n, m)."""
        return _own(self.kernel.matrix(self.values, X, self.Z))

    def diagonal(self, X: Array) -> Array:
        """Return the prior variances of rows without the offset."""
        return self.kernel.diagonal(self.values, X)

    # ---- products with the features, of which no more is made than is asked for -----------------

    def coefficients(self, w: Array) -> Array:
        """Return c of shape (m + 1,) with ``phi'w = k(x, Z) c[:m] + c[m]``."""
        m = self.Z.shape[0]
        of_kernel = solve_triangular(self.cholesky, w[:m], lower=True, trans="T")
        return np.append(of_kernel, np.sqrt(self.offset) * w[m:].sum())

    def whitened(self, sums: Array) -> Array:
        """Return ``sum_i phi_i a_i`` from what `gathered` returns, summed over all rows."""
        m = self.Z.shape[0]
        of_kernel = solve_triangular(self.cholesky, sums[:m], lower=True)
        return np.append(of_kernel, np.sqrt(self.offset) * sums[m:])[: self.size]

    def whiten(self, K: Array) -> Array:
        """Replace rows of `cross` by their features without that of the offset."""
        features: Array = dtrsm(1.0, self.cholesky, K.T, lower=1, overwrite_b=1).T
        return features

    def gram(self, K: Array, W: Array) -> Array:
        """Return ``sum_i W_i phi_i phi_i'`` for rows of `cross`, which are overwritten."""
        return self.gram_of(self.whiten(K), W)

    def gram_of(self, half: Array, W: Array) -> Array:
        """Return the same for features of `whiten`, which are overwritten."""
        m, root = self.Z.shape[0], np.sqrt(W)
        half *= root[:, None]
        total = np.empty((self.size, self.size))
        total[:m, :m] = half.T @ half
        if self.offset > 0.0:
            total[m, :m] = total[:m, m] = np.sqrt(self.offset) * (half.T @ root)
            total[m, m] = self.offset * W.sum()
        return total


def _own(K: Array) -> Array:
    """Return a matrix of a kernel that may be overwritten."""
    return np.require(K, dtype=float, requirements=["C", "W", "O"])


def latent(K: Array, c: Array) -> Array:
    """Return ``phi'w`` for rows of `Features.cross` and the coefficients of w."""
    f: Array = K @ c[:-1] + c[-1]
    return f


def gathered(K: Array, a: Array) -> Array:
    """Return ``sum_i a_i k(Z, x_i)`` and ``sum_i a_i`` behind it, of shape (m + 1,)."""
    return np.append(K.T @ a, a.sum())
