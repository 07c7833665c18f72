"""The covariance function of polynomials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels.base import Kernel
from pymc_bsvm.estimators.kernels.distance import length_scales
from pymc_bsvm.search import Hyperparameter

__all__ = ["Polynomial"]


@dataclass(frozen=True)
class Polynomial(Kernel):
    """The polynomial kernel, ``eta² (1 + x·z / ls²)^degree``.

    A free offset in the place of 1 would add no function: it is a factor of eta² and ls².

    Parameters
    ----------
    degree : int
        Degree of the polynomials, 1 or more.
    ard : bool
        Whether each column has a length-scale of its own.

    References
    ----------
    [RW06]_, section 4.2.2.
    """

    degree: int = 3
    ard: bool = False

    def __post_init__(self) -> None:
        """Check the degree."""
        if isinstance(self.degree, bool) or not isinstance(self.degree, int) or self.degree < 1:
            raise ValueError(
                f"degree must be a positive integer, but it is {self.degree!r}. Pass 2 or 3, say."
            )

    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the amplitude and the length-scales; at the start, rows have variance near 1."""
        start: float = 2.0 ** (-self.degree / 2)
        return (
            Hyperparameter("eta", start, 1e-2 * start, 1e2, unit=(0, 1)),
            *length_scales(d, self.ard),
        )

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the covariances."""
        Y = X / values[1:]
        return self._power(values, Y @ (Y if Z is None else Z / values[1:]).T, self.degree)

    def diagonal(self, values: Array, X: Array) -> Array:
        """Return the variances, which grow with the length of the rows."""
        Y = X / values[1:]
        return self._power(values, np.einsum("ij,ij->i", Y, Y), self.degree)

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Contract; with ``y = x / ls``, ``-2 degree eta² (1 + y·y')^(degree - 1) y_k y'_k``."""
        Y = X / values[1:]
        W = Y if Z is None else Z / values[1:]
        dot = Y @ W.T
        A = weights * self._power(values, dot, self.degree - 1)
        return self._joined(np.vdot(A, dot) + A.sum(), np.einsum("ij,ij->j", Y, A @ W))

    def diagonal_slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Contract the same derivatives."""
        squares = (X / values[1:]) ** 2
        dot = squares.sum(axis=1)
        a = weights * self._power(values, dot, self.degree - 1)
        return self._joined(a @ dot + a.sum(), a @ squares)

    def to_pymc(self, values: Any, d: int) -> Any:
        """Return ``eta² Polynomial`` of the scaled columns, with c = 0 and offset 1."""
        import pymc as pm

        from pymc_bsvm.estimators.kernels.warping import of_scaled_columns

        polynomial = pm.gp.cov.Polynomial(d, c=0.0, d=self.degree, offset=1.0)
        ls = values[1:] if self.ard else values[1]
        return of_scaled_columns(polynomial, ls) * values[0] ** 2

    def relevance(self, values: Array, d: int) -> Array | None:
        """Return the inverse length-scales."""
        return 1.0 / values[1:] if self.ard else None

    def _joined(self, whole: Any, of_columns: Array) -> Array:
        """Return the slopes from the sum of the weighted covariances and those of the columns."""
        slopes = -2.0 * self.degree * of_columns
        return np.concatenate([[2.0 * whole], slopes if self.ard else [slopes.sum()]])

    @staticmethod
    def _power(values: Array, dot: Array, degree: int) -> Array:
        """Return ``eta² (1 + dot)^degree``; products are faster than powers of arrays."""
        base = 1.0 + dot
        result = np.full_like(base, values[0] ** 2)
        for _ in range(degree):
            result *= base
        return result
