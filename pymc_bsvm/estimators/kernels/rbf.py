"""The Gaussian covariance function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels.amplitude import AMPLITUDE
from pymc_bsvm.estimators.kernels.distance import (
    length_scale_slopes,
    length_scales,
    of_pymc,
    squared_distances,
    squared_distances_to,
)
from pymc_bsvm.estimators.kernels.stationary import Stationary
from pymc_bsvm.search import Hyperparameter

__all__ = ["RBF"]


@dataclass(frozen=True)
class RBF(Stationary):
    """The Gaussian kernel, ``eta² exp(-|x - z|² / (2 ls²))``, (4.3) and (4.42) of [Chu03]_.

    Parameters
    ----------
    ard : bool
        Whether each column has a length-scale of its own.
    """

    ard: bool = False

    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the amplitude and the length-scales."""
        return (AMPLITUDE, *length_scales(d, self.ard))

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the covariances."""
        return _of_distances(squared_distances(X, Z, values[1:]), values[0])

    def row_by_row(self, values: Array, X: Array) -> Callable[[int], Array]:
        """Return a function that returns a row of `matrix`; inputs are scaled once."""
        distances = squared_distances_to(X, values[1:])
        return lambda k: _of_distances(distances(k), values[0])

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Contract; ``dk / dlog ls = k (x - z)² / ls²``."""
        A = self.matrix(values, X, Z)
        A *= weights
        return np.concatenate([[2.0 * A.sum()], length_scale_slopes(A, X, Z, values[1:])])

    def to_pymc(self, values: Any, d: int) -> Any:
        """Return ``eta² ExpQuad``."""
        return of_pymc("ExpQuad", values, d, self.ard)

    def relevance(self, values: Array, d: int) -> Array | None:
        """Return the inverse length-scales."""
        return 1.0 / values[1:] if self.ard else None


def _of_distances(D: Array, eta: float) -> Array:
    """Return the covariances at squared distances, in their place."""
    D *= -0.5
    np.exp(D, out=D)
    D *= eta**2
    return D
