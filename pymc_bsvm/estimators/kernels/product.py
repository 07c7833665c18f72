"""Products over columns of functions of one scaled difference."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pymc_bsvm.estimators.kernels.amplitude import AMPLITUDE
from pymc_bsvm.estimators.kernels.base import Hyperparameter, Kernel
from pymc_bsvm.losses.base import Array

__all__ = ["Product"]


class Product(Kernel):
    """``eta² prod_k g(u_k)``, ``u_k = unit (x_k - z_k) / scale_k``, with ``g(0) = 1``.

    The factors may be zero: no derivative divides by one.
    """

    ard: bool
    unit = 1.0

    @abstractmethod
    def scales(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the scale, or the scales of all columns."""

    @abstractmethod
    def formula(self, xp: Any, u: Any) -> Any:
        """Return ``g(u)`` in an array language."""

    @abstractmethod
    def factor(self, x: Array, z: Array | None = None) -> Array:
        """Return ``g(x_i - z_j)`` for scaled columns; exactly symmetric for x with itself."""

    @abstractmethod
    def descent(self, x: Array, weights: Array) -> float:
        """Return ``-sum_ij weights_ij u g'(u)``, ``u = x_i - x_j``; the weights are symmetric."""

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

    def diagonal(self, values: Array, X: Array) -> Array:
        """Return the amplitude squared."""
        return np.full(X.shape[0], values[0] ** 2)

    def slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Contract; the derivative for one column leaves the factors of the others."""
        Y = self._scaled(values, X)

        def factor(k: int) -> Array:
            return self.factor(Y[:, k])

        amplitude, of_column = 0.0, np.empty(X.shape[1])
        for k, A in _others(values[0] ** 2 * weights, factor, range(X.shape[1])):
            of_column[k] = self.descent(Y[:, k], A)
            if k == 0:
                amplitude = 2.0 * float(np.vdot(A, factor(k)))
        return np.concatenate([[amplitude], of_column if self.ard else [of_column.sum()]])

    def to_pymc(self, values: Any, d: int) -> Any:
        """Return ``eta²`` times a covariance function for PyMC written for this purpose."""
        from pymc_bsvm.estimators.kernels.column_product import ColumnProduct

        scale = values[1:] if self.ard else values[1]
        return ColumnProduct(d, scale, self) * values[0] ** 2

    def relevance(self, values: Array, d: int) -> Array | None:
        """Return the inverse scales."""
        return 1.0 / values[1:] if self.ard else None

    def _scaled(self, values: Array, X: Array) -> Array:
        return X * (self.unit / values[1:])


def _others(
    A: Array, factor: Callable[[int], Array], columns: range
) -> Iterator[tuple[int, Array]]:
    """Yield each column and A times the factors of all other columns.

    Halving the columns takes ``d log d`` products, and memory for ``log d`` matrices.
    """
    if len(columns) == 1:
        yield columns[0], A
        return
    half = len(columns) // 2
    for inside, outside in (
        (columns[:half], columns[half:]),
        (columns[half:], columns[:half]),
    ):
        B = A.copy()
        for k in outside:
            B *= factor(k)
        yield from _others(B, factor, inside)
