"""A Gaussian prior in whitened coordinates, of as many dimensions as its covariance has rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pymc_bsvm._typing import Array

__all__ = ["WhitePrior"]

_RANK = 1e-14  # eigenvalues below n times this share of the largest are rounding
_INDEFINITE = 1e-8  # share of the largest eigenvalue, above which a negative one is not rounding


@dataclass(frozen=True)
class WhitePrior:
    """``f = m + root z`` with ``z ~ N(0, I)`` of as many coordinates as K has rank."""

    m: Array
    root: Array
    """Of shape (n, rank)."""
    inverse: Array
    """Transpose of the pseudoinverse of the root, of shape (n, rank)."""

    @classmethod
    def of(cls, K: Array, m: Array) -> WhitePrior:
        """Return the prior N(m, K); K may be singular."""
        values, vectors = np.linalg.eigh(K)
        if values[0] < -_INDEFINITE * K.shape[0] * values[-1]:
            raise ValueError(
                f"K must be positive semidefinite, but it has the eigenvalue {values[0]:.3g}. "
                "Check the covariance function, or add a jitter to the diagonal of K."
            )
        kept = values > _RANK * K.shape[0] * max(values[-1], 0.0)
        scale, vectors = np.sqrt(values[kept]), vectors[:, kept]
        return cls(m, vectors * scale, vectors / scale)

    def root_times(self, white: Array) -> Array:
        """Return ``f - m`` of particles, of shape (particles, n)."""
        return np.asarray(white @ self.root.T)

    def project(self, cross: Array) -> Array:
        """Return the coefficients, of shape (n_new, rank), of new values' means given z."""
        return np.asarray(cross.T @ self.inverse)
