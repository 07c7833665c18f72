"""The covariance function of periodic functions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels.amplitude import AMPLITUDE
from pymc_bsvm.estimators.kernels.distance import (
    length_scale_slopes,
    length_scales,
    squared_distances,
)
from pymc_bsvm.estimators.kernels.stationary import Stationary
from pymc_bsvm.search import Hyperparameter

__all__ = ["Periodic"]


@dataclass(frozen=True)
class Periodic(Stationary):
    """The periodic kernel, ``eta² exp(-sum_k sin²(pi (x_k - z_k) / period) / (2 ls²))``.

    It is the Gaussian kernel of rows whose columns are wound around circles. All columns share the
    period. The length-scale is that of PyMC, twice the one of [RW06]_.

    Parameters
    ----------
    ard : bool
        Whether each column has a length-scale of its own.

    References
    ----------
    [RW06]_, (4.31), for one column.
    """

    ard: bool = False

    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the amplitude, the period and the length-scales.

        Standardised columns are 3 to 5 long; longer periods than 10 leave no trace in them.
        """
        scales = (h._replace(start=0.5 * h.start, unit=(0, 0)) for h in length_scales(d, self.ard))
        return (AMPLITUDE, Hyperparameter("period", 2.0, 0.05, 10.0, unit=(1, 0)), *scales)

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the covariances."""
        W = None if Z is None else self._wound(values, Z)
        K = squared_distances(self._wound(values, X), W, self._scales(values, X))
        K *= -0.5
        np.exp(K, out=K)
        K *= values[0] ** 2
        return K

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Contract; with angles ``a = 2 pi x / period``, all sums over pairs are products.

        ``dk / dlog period = k sum_k (a_k - b_k) sin(a_k - b_k) / (4 ls_k²)``; of rows with
        themselves, the terms of a_k and of b_k have the same sum.
        """
        A = weights * self.matrix(values, X, Z)
        a = 2.0 * math.pi / values[1] * X
        if Z is None:
            W, pairs = None, 2.0 * _torques(A, a, a)
        else:
            b = 2.0 * math.pi / values[1] * Z
            W, pairs = self._wound(values, Z), _torques(A, a, b) + _torques(A.T, b, a)
        of_circle = length_scale_slopes(A, self._wound(values, X), W, self._scales(values, X))
        of_column = of_circle.reshape(2, -1).sum(axis=0)
        return np.concatenate(
            [
                [2.0 * A.sum(), 0.25 * np.sum(pairs / values[2:] ** 2)],
                of_column if self.ard else [of_column.sum()],
            ]
        )

    def to_pymc(self, values: Any, d: int) -> Any:
        """Return ``eta² Periodic``."""
        import pymc as pm

        ls = values[2:] if self.ard else values[2]
        return pm.gp.cov.Periodic(d, period=values[1], ls=ls) * values[0] ** 2

    def relevance(self, values: Array, d: int) -> Array | None:
        """Return the inverse length-scales."""
        return 1.0 / values[2:] if self.ard else None

    @staticmethod
    def _wound(values: Array, X: Array) -> Array:
        """Return circles of radius 1/2, where ``|w(x) - w(z)|² = sin²(pi (x - z) / period)``."""
        a = 2.0 * math.pi / values[1] * X
        return np.hstack([0.5 * np.cos(a), 0.5 * np.sin(a)])

    @staticmethod
    def _scales(values: Array, X: Array) -> Array:
        """Return the length-scales of the columns of the circles."""
        return np.tile(np.broadcast_to(values[2:], X.shape[1]), 2)


def _torques(A: Array, a: Array, b: Array) -> Array:
    """Return ``sum_ij A_ij a_ik sin(a_ik - b_jk)`` for each column k."""
    pairs: Array = (a * (np.sin(a) * (A @ np.cos(b)) - np.cos(a) * (A @ np.sin(b)))).sum(axis=0)
    return pairs
