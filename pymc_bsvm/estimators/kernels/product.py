"""Products over columns of functions of one scaled difference."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels.amplitude import AMPLITUDE
from pymc_bsvm.estimators.kernels.block import blocks
from pymc_bsvm.estimators.kernels.stationary import Stationary
from pymc_bsvm.search import Hyperparameter

__all__ = ["Product"]


class Product(Stationary):
    """``eta² prod_k g(u_k)``, ``u_k = unit (x_k - z_k) / scale_k``, with ``g(0) = 1``.

    The factors may be zero: no derivative divides by one.
    """

    ard: bool
    unit = 1.0

    @abstractmethod
    def scales(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the scale, or the scales of all columns."""

    @abstractmethod
    def factor(self, x: Array, z: Array | None = None) -> Array:
        """Return ``g(x_i - z_j)`` for scaled columns; exactly symmetric for x with itself."""

    @abstractmethod
    def descent(self, x: Array, z: Array, weights: Array) -> float:
        """Return ``-sum_ij weights_ij u g'(u)``, ``u = x_i - z_j``, for scaled columns."""

    @abstractmethod
    def of_pymc(self, d: int, scale: Any) -> Any:
        """Return the correlation function of PyMC with a scale, or with one for each column."""

    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the amplitude and the scales."""
        return (AMPLITUDE, *self.scales(d))

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the covariances."""
        Y = self._scaled(values, X)
        W = None if Z is None else self._scaled(values, Z)
        K = np.full((len(Y), len(Y) if W is None else len(W)), values[0] ** 2)
        for k in range(Y.shape[1]):
            K *= self.factor(Y[:, k], None if W is None else W[:, k])
        if W is None:
            np.fill_diagonal(K, values[0] ** 2)
        return K

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Contract; the derivative for one column leaves the factors of the others."""
        Y, (n, d) = self._scaled(values, X), X.shape
        W = Y if Z is None else self._scaled(values, Z)
        amplitude, of_column = 0.0, np.zeros(d)
        for rows in blocks(n, len(W) * d, least=64):
            factors = [self.factor(Y[rows, k], W[:, k]) for k in range(d)]
            after = [np.ones_like(factors[0])]
            for factor in reversed(factors[1:]):
                after.append(after[-1] * factor)
            A = values[0] ** 2 * weights[rows]  # times the factors before column k
            for k in range(d):
                of_column[k] += self.descent(Y[rows, k], W[:, k], A * after.pop())
                A *= factors[k]
            amplitude += 2.0 * A.sum()
        return np.concatenate([[amplitude], of_column if self.ard else [of_column.sum()]])

    def to_pymc(self, values: Any, d: int) -> Any:
        """Return ``eta²`` times the covariance function of `pymc_bsvm.gp.cov`."""
        return self.of_pymc(d, values[1:] if self.ard else values[1]) * values[0] ** 2

    def relevance(self, values: Array, d: int) -> Array | None:
        """Return the inverse scales."""
        return 1.0 / values[1:] if self.ard else None

    def _scaled(self, values: Array, X: Array) -> Array:
        return X * (self.unit / values[1:])
