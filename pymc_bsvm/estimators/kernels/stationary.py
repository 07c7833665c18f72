"""Covariance functions whose variance is the same everywhere."""

from __future__ import annotations

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels.base import Kernel

__all__ = ["Stationary"]


class Stationary(Kernel):
    """``eta²`` times a correlation of rows; the amplitude is the first hyperparameter."""

    def diagonal(self, values: Array, X: Array) -> Array:
        """Return the amplitude squared."""
        return np.full(X.shape[0], values[0] ** 2)

    def diagonal_slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Contract; only the amplitude changes the variance."""
        slopes = np.zeros(values.size)
        slopes[0] = 2.0 * values[0] ** 2 * weights.sum()
        return slopes
