"""The covariance function of networks with infinitely many hidden units."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.formulas import arcsine
from pymc_bsvm.estimators.kernels.amplitude import AMPLITUDE
from pymc_bsvm.estimators.kernels.base import Kernel
from pymc_bsvm.estimators.kernels.distance import length_scales
from pymc_bsvm.search import Hyperparameter

__all__ = ["Arcsine"]

_BIAS = Hyperparameter("bias", 1.0, 1e-2, 1e2)


@dataclass(frozen=True)
class Arcsine(Kernel):
    """The arcsine kernel, ``eta² (2 / pi) arcsin(2 p(x, z) / sqrt(a b))``.

    With ``p(x, z) = bias² + x·z / ls²``, ``a = 1 + 2 p(x, x)`` and ``b = 1 + 2 p(z, z)``. The
    functions are those of a network with infinitely many hidden units, error functions of
    ``w·x + c``, with the standard deviations ``1 / ls`` of the weights w and ``bias`` of c. They
    vary near the origin, the mean of standardised columns, and are flat far from it.

    Parameters
    ----------
    ard : bool
        Whether each column has a length-scale of its own.

    References
    ----------
    [RW06]_, (4.29); [PRML]_, section 6.4.7.
    """

    ard: bool = False

    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the amplitude, the standard deviation of the constants and the length-scales."""
        return (AMPLITUDE, _BIAS, *length_scales(d, self.ard))

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the covariances."""
        Y = X / values[2:]
        W = Y if Z is None else Z / values[2:]
        left, right = _squares(values, Y), _squares(values, W)
        product = values[1] ** 2 + Y @ W.T
        K: Array = values[0] ** 2 * arcsine(np, product, left[:, None], right)
        if Z is None:
            np.fill_diagonal(K, values[0] ** 2 * arcsine(np, left, left, left))
        return K

    def diagonal(self, values: Array, X: Array) -> Array:
        """Return the variances, which grow with the length of the rows."""
        squares = _squares(values, X / values[2:])
        variances: Array = values[0] ** 2 * arcsine(np, squares, squares, squares)
        return variances

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Contract; c is the argument of the arcsine.

        ``dk = eta² (2 / pi) (1 - c²)^(-1/2) (2 dp / sqrt(a b) - c (da / a + db / b) / 2)``.
        """
        Y = X / values[2:]
        W = Y if Z is None else Z / values[2:]
        a, b = (1.0 + 2.0 * _squares(values, each) for each in (Y, W))
        roots = np.sqrt(np.outer(a, b))
        cosine = 2.0 * (values[1] ** 2 + Y @ W.T) / roots
        G = 2.0 / math.pi * values[0] ** 2 * weights / np.sqrt(1.0 - cosine**2)
        turned = G * cosine
        of_rows, of_others = turned.sum(axis=1) / a, turned.sum(axis=0) / b
        H = G / roots
        of_bias = 2.0 * values[1] ** 2 * (2.0 * H.sum() - of_rows.sum() - of_others.sum())
        of_columns = 2.0 * (
            of_rows @ Y**2 + of_others @ W**2 - 2.0 * np.einsum("ij,ij->j", Y, H @ W)
        )
        whole = 2.0 * float(np.vdot(weights, self.matrix(values, X, Z)))
        return self._joined(whole, of_bias, of_columns)

    def diagonal_slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Contract; ``dk = eta² (4 / pi) dp / ((1 + 2 p) sqrt(1 + 4 p))``."""
        Y = X / values[2:]
        p = _squares(values, Y)
        g = 4.0 / math.pi * values[0] ** 2 * weights / ((1.0 + 2.0 * p) * np.sqrt(1.0 + 4.0 * p))
        whole = 2.0 * float(weights @ self.diagonal(values, X))
        return self._joined(whole, 2.0 * values[1] ** 2 * g.sum(), -2.0 * (g @ Y**2))

    def to_pymc(self, values: Any, d: int) -> Any:
        """Return ``eta² Arcsine``."""
        from pymc_bsvm.gp import cov

        ls = values[2:] if self.ard else values[2]
        return cov.Arcsine(d, ls=ls, bias=values[1]) * values[0] ** 2

    def relevance(self, values: Array, d: int) -> Array | None:
        """Return the inverse length-scales."""
        return 1.0 / values[2:] if self.ard else None

    def _joined(self, whole: float, of_bias: float, of_columns: Array) -> Array:
        """Return the slopes in the order of the hyperparameters."""
        scales = of_columns if self.ard else of_columns.sum(keepdims=True)
        return np.concatenate([[whole, of_bias], scales])


def _squares(values: Array, Y: Array) -> Array:
    """Return ``p(x, x)`` for scaled rows."""
    squares: Array = values[1] ** 2 + np.einsum("ij,ij->i", Y, Y)
    return squares
