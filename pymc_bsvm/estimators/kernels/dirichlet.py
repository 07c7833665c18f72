"""The covariance function of trigonometric polynomials."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.formulas import check_order
from pymc_bsvm.estimators.kernels.distance import length_scales
from pymc_bsvm.estimators.kernels.product import Product
from pymc_bsvm.search import Hyperparameter

__all__ = ["Dirichlet"]


@dataclass(frozen=True)
class Dirichlet(Product):
    """The Dirichlet kernel, ``eta² prod_k D(u_k) / D(0)`` with ``u = 2 pi (x - z) / period``.

    ``D(u) = 2 sum_{j=0}^order cos(j u) - 1 = sin((order + 1/2) u) / sin(u / 2)``. Its Fourier
    coefficients are not negative, hence it is positive definite. Its functions repeat after one
    period, which should be longer than the columns unless they repeat, too.

    Parameters
    ----------
    order : int
        Number of harmonics, 1 or more.
    ard : bool
        Whether each column has a period of its own.

    References
    ----------
    [Chu03]_, (3.50), as a product over columns.
    """

    order: int = 3
    ard: bool = False

    unit = 2.0 * math.pi

    def __post_init__(self) -> None:
        """Check the order."""
        check_order(self.order)

    def scales(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the periods; their start has the curvature of the Gaussian kernel's.

        ``D(u) / D(0) = 1 - order (order + 1) u² / 6 + ...``
        """
        wider = 2.0 * math.pi * math.sqrt(self.order * (self.order + 1) / 3.0)
        return tuple(
            h._replace(stem="period", start=wider * h.start, low=wider * h.low, high=wider * h.high)
            for h in length_scales(d, self.ard)
        )

    def factor(self, x: Array, z: Array | None = None) -> Array:
        """Return the kernel at all differences, as a product of matrices of harmonics."""
        A = self._harmonics(x)
        D: Array = A @ (A if z is None else self._harmonics(z)).T
        D *= 2.0
        D += 1.0
        D /= 2 * self.order + 1
        return D

    def descent(self, x: Array, z: Array, weights: Array) -> float:
        """Contract; ``-u D'(u) = 2 u sum_j j sin(j u)``."""
        j = np.arange(1, self.order + 1)
        cosines, sines = np.hsplit(self._harmonics(x), 2)
        series = np.hstack([j * sines, -j * cosines]) @ self._harmonics(z).T
        series *= x[:, None] - z
        return 2.0 * float(np.vdot(weights, series)) / (2 * self.order + 1)

    def of_pymc(self, d: int, scale: Any) -> Any:
        """Return `Dirichlet` for PyMC."""
        from pymc_bsvm.gp import cov

        return cov.Dirichlet(d, scale, self.order)

    def _harmonics(self, x: Array) -> Array:
        """Return ``cos(j x)`` and ``sin(j x)`` for j = 1 ... order, a row for each x."""
        angles = np.outer(x, np.arange(1, self.order + 1))
        return np.hstack([np.cos(angles), np.sin(angles)])
