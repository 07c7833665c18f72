"""The few rows that carry a Gaussian process."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels import Kernel

__all__ = ["Basis"]


@dataclass(frozen=True, eq=False)
class Basis:
    """Basis vectors Z of a process with the covariance ``k(x, z) + offset``.

    The process is ``phi(x)'u + e(x)`` with weights ``u ~ N(0, I)`` and the features

        phi(x) = [offset^½, M k(Z, x)],    M k(Z, Z) M' = I.

    What the basis vectors leave out is e, of the variance ``k(x, x) - |M k(Z, x)|²``. The inverse
    of ``k(Z, Z)`` is M'M, the matrix Q of [CO02]_. M itself loses half as many digits, and changes
    with a basis vector more or less in a time like that of a product with it. It has digits as long
    as each basis vector has a share of variance beside all others that is not below 1e-8.
    """

    kernel: Kernel
    values: Array
    """Hyperparameters of the kernel."""
    offset: float
    """Variance of the constant."""
    Z: Array = field(repr=False)
    """Of shape (m, d)."""
    whitening: Array = field(repr=False)
    """M, of shape (m, m)."""

    @classmethod
    def nothing(cls, kernel: Kernel, values: Array, offset: float, d: int) -> Self:
        """Return the basis of the constant alone, for rows of d columns."""
        return cls(kernel, values, offset, np.zeros((0, d)), np.zeros((0, 0)))

    @property
    def size(self) -> int:
        """Number of basis vectors."""
        return len(self.Z)

    def features(self, X: Array) -> tuple[Array, Array]:
        """Return the features of rows, of shape (n, 1 + m), and the variances they leave out."""
        phi = np.full((len(X), 1 + self.size), math.sqrt(self.offset))
        if self.size:
            phi[:, 1:] = self.kernel.matrix(self.values, X, self.Z) @ self.whitening.T
        carried = np.einsum("ij,ij->i", phi[:, 1:], phi[:, 1:])
        return phi, np.maximum(self.kernel.diagonal(self.values, X) - carried, 0.0)

    def with_row(self, x: Array, phi: Array, left: float) -> Self:
        """Return the basis with one more vector, whose own weight is ``e(x) / left^½``.

        Parameters
        ----------
        x : ndarray of shape (1, d)
            The row.
        phi : ndarray of shape (1 + m,)
            Its features.
        left : float
            The variance that they leave out, positive.
        """
        m, root = self.size, math.sqrt(left)
        whitening = np.zeros((m + 1, m + 1))
        whitening[:m, :m] = self.whitening
        whitening[m, :m] = phi[1:] @ self.whitening / -root
        whitening[m, m] = 1.0 / root
        return replace(self, Z=np.vstack([self.Z, x]), whitening=whitening)

    def shares(self) -> Array:
        """Return which share of its prior variance each basis vector has beside all others."""
        return np.asarray(1.0 / (self._squares * self.kernel.diagonal(self.values, self.Z)))

    def scores(self, mean: Array) -> Array:
        """Return how far the process is from what is left of it without each basis vector.

        Twice the part of the divergence that is due to the mean, ``alpha_i² / Q_ii`` with the
        coefficients alpha of the covariances with the basis vectors.

        Parameters
        ----------
        mean : ndarray of shape (1 + m,)
            Mean of the weights.
        """
        return np.asarray((mean[1:] @ self.whitening) ** 2 / self._squares)

    def mirror(self, i: int) -> Array:
        """Return the unit vector whose mirror image makes the last weight that of vector i alone.

        The weight ``M_i'u / |M_i|``, for column i of M, is what its value has beside all others.
        In the mirror ``I - 2 v v'`` it is the last of all weights, of shape (1 + m,).
        """
        v = np.concatenate([[0.0], self.whitening[:, i]])
        v /= np.sqrt(v @ v)
        v[-1] += math.copysign(1.0, v[-1])
        return np.asarray(v / np.sqrt(v @ v))

    def without(self, i: int, mirror: Array) -> Self:
        """Return the basis without vector i, whose weight is the last one in its mirror."""
        v = mirror[1:]
        turned = self.whitening - np.outer(2.0 * v, v @ self.whitening)
        rest = np.arange(self.size) != i
        return replace(self, Z=self.Z[rest], whitening=turned[:-1, rest])

    @property
    def _squares(self) -> Array:
        """The diagonal of Q."""
        return np.asarray(np.einsum("ji,ji->i", self.whitening, self.whitening))
