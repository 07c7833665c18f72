"""The Matérn covariance functions of processes with one and with two derivatives."""

from __future__ import annotations

import math
from abc import abstractmethod
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
)
from pymc_bsvm.estimators.kernels.stationary import Stationary
from pymc_bsvm.search import Hyperparameter

__all__ = ["Matern32", "Matern52"]


@dataclass(frozen=True)
class _Matern(Stationary):
    """``eta² k(r)`` with the scaled distance ``r = |x - z| / ls``."""

    ard: bool = False

    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the amplitude and the length-scales."""
        return (AMPLITUDE, *length_scales(d, self.ard))

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the covariances."""
        K = self._correlation(np.sqrt(squared_distances(X, Z, values[1:])))
        K *= values[0] ** 2
        return K

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Contract; ``dk / dlog ls = -(k'(r) / r) (x - z)² / ls²``, without a pole at zero."""
        r = np.sqrt(squared_distances(X, Z, values[1:]))
        A = values[0] ** 2 * weights
        amplitude = 2.0 * np.vdot(A, self._correlation(r))
        A *= self._descent(r)
        return np.concatenate([[amplitude], length_scale_slopes(A, X, Z, values[1:])])

    def to_pymc(self, values: Any, d: int) -> Any:
        """Return ``eta²`` times PyMC's function of the same name."""
        return of_pymc(type(self).__name__, values, d, self.ard)

    def relevance(self, values: Array, d: int) -> Array | None:
        """Return the inverse length-scales."""
        return 1.0 / values[1:] if self.ard else None

    @staticmethod
    @abstractmethod
    def _correlation(r: Array) -> Array:
        """Return ``k(r)``."""

    @staticmethod
    @abstractmethod
    def _descent(r: Array) -> Array:
        """Return ``-k'(r) / r``."""


class Matern32(_Matern):
    """The Matérn kernel with nu = 3/2, ``eta² (1 + √3 r) exp(-√3 r)``, ``r = |x - z| / ls``.

    Parameters
    ----------
    ard : bool
        Whether each column has a length-scale of its own.

    References
    ----------
    [RW06]_, (4.17).
    """

    @staticmethod
    def _correlation(r: Array) -> Array:
        s = math.sqrt(3.0) * r
        return (1.0 + s) * np.exp(-s)

    @staticmethod
    def _descent(r: Array) -> Array:
        return 3.0 * np.exp(-math.sqrt(3.0) * r)


class Matern52(_Matern):
    """The Matérn kernel with nu = 5/2, ``eta² (1 + √5 r + 5 r² / 3) exp(-√5 r)``.

    Parameters
    ----------
    ard : bool
        Whether each column has a length-scale of its own in ``r = |x - z| / ls``.

    References
    ----------
    [RW06]_, (4.17).
    """

    @staticmethod
    def _correlation(r: Array) -> Array:
        s = math.sqrt(5.0) * r
        return (1.0 + s + s * s / 3.0) * np.exp(-s)

    @staticmethod
    def _descent(r: Array) -> Array:
        s = math.sqrt(5.0) * r
        return (5.0 / 3.0) * (1.0 + s) * np.exp(-s)
