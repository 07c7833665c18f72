"""The covariance function of linear functions through the origin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels.base import Kernel
from pymc_bsvm.estimators.kernels.distance import length_scales
from pymc_bsvm.search import Hyperparameter

__all__ = ["Linear"]


@dataclass(frozen=True)
class Linear(Kernel):
    """The linear kernel, ``eta² x·z``, or ``sum_k x_k z_k / ls_k²`` with scales for the columns.

    Parameters
    ----------
    ard : bool
        Whether each column has a length-scale of its own. There is no amplitude then: it would only
        divide all length-scales.

    References
    ----------
    [RW06]_, section 4.2.2.
    """

    ard: bool = False

    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the amplitude or the length-scales; at the start, rows have variance near 1."""
        if self.ard:
            return tuple(h._replace(unit=(1, -1)) for h in length_scales(d, ard=True))
        return (Hyperparameter("eta", 1.0 / math.sqrt(d), 1e-4, 1e2, unit=(-1, 1)),)

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the covariances."""
        Y = self._scaled(values, X)
        K: Array = Y @ (Y if Z is None else self._scaled(values, Z)).T
        return K

    def diagonal(self, values: Array, X: Array) -> Array:
        """Return the scaled squared lengths of the rows."""
        Y = self._scaled(values, X)
        variances: Array = np.einsum("ij,ij->i", Y, Y)
        return variances

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Contract; the derivatives are ``2 k`` and ``-2 x_k z_k / ls_k²``."""
        Y = self._scaled(values, X)
        W = Y if Z is None else self._scaled(values, Z)
        return self._of_columns(np.einsum("ij,ij->j", Y, weights @ W))

    def diagonal_slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Contract the same derivatives."""
        return self._of_columns(weights @ self._scaled(values, X) ** 2)

    def to_pymc(self, values: Any, d: int) -> Any:
        """Return ``eta² Linear`` with c = 0, or `Linear` of the scaled columns."""
        import pymc as pm

        from pymc_bsvm.estimators.kernels.warping import of_scaled_columns

        linear = pm.gp.cov.Linear(d, c=0.0)
        return of_scaled_columns(linear, values) if self.ard else linear * values[0] ** 2

    def relevance(self, values: Array, d: int) -> Array | None:
        """Return the inverse length-scales."""
        return 1.0 / values if self.ard else None

    def _of_columns(self, sums: Array) -> Array:
        """Return the slopes from weighted sums of the terms of each column."""
        return -2.0 * sums if self.ard else 2.0 * sums.sum(keepdims=True)

    def _scaled(self, values: Array, X: Array) -> Array:
        return X / values if self.ard else values[0] * X
