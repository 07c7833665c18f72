"""The covariance function that is a B-spline of odd order."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.formulas import bspline, check_p, height, truncated
from pymc_bsvm.estimators.kernels.block import blocks
from pymc_bsvm.estimators.kernels.distance import length_scales
from pymc_bsvm.estimators.kernels.product import Product
from pymc_bsvm.search import Hyperparameter

__all__ = ["BSpline"]


@dataclass(frozen=True)
class BSpline(Product):
    """The B-spline kernel, ``eta² prod_k B(u_k) / B(0)`` with ``u = (x - z) / ls``.

    B is the B-spline of order ``2 p + 1``, the convolution of ``2 p + 2`` indicators of
    ``[-1/2, 1/2]``. Its Fourier transform is an even power of a real function, hence it is positive
    definite. Rows further apart than ``(p + 1) ls`` in any column are independent.

    Parameters
    ----------
    p : int
        Half the order, rounded down, from 1 (the cubic spline) to 10.
    ard : bool
        Whether each column has a length-scale of its own.

    References
    ----------
    [Chu03]_, (3.47), as a product over columns.
    """

    p: int = 1
    ard: bool = False

    def __post_init__(self) -> None:
        """Check the order."""
        check_p(self.p)

    def scales(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the length-scales; at their start, B is as wide as the Gaussian kernel.

        As a density it has variance ``(p + 1) / 6``.
        """
        wider = math.sqrt(6.0 / (self.p + 1))
        return tuple(h._replace(start=wider * h.start) for h in length_scales(d, self.ard))

    def factor(self, x: Array, z: Array | None = None) -> Array:
        """Return the spline at all differences."""
        z = x if z is None else z
        K = np.empty((len(x), len(z)))
        for rows in blocks(len(x), 32 * len(z)):
            K[rows] = bspline(np, x[rows, None] - z, self.p)
        return K

    def descent(self, x: Array, z: Array, weights: Array) -> float:
        """Contract; ``-u B'(u) = (2p + 1) |u|`` times the sum with one power less."""
        u = np.abs(x[:, None] - z)
        order = 2 * self.p + 1
        slope = u * truncated(np, u, self.p, order - 1)
        return float(np.vdot(weights, slope)) * order / height(self.p)

    def of_pymc(self, d: int, scale: Any) -> Any:
        """Return `BSpline` for PyMC."""
        from pymc_bsvm.gp import cov

        return cov.BSpline(d, scale, self.p)
