"""Covariance functions from elsewhere, of which only the amplitude is learned."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import check_finite
from pymc_bsvm.estimators.kernels.amplitude import AMPLITUDE
from pymc_bsvm.estimators.kernels.base import Kernel
from pymc_bsvm.search import Hyperparameter

__all__ = ["Frozen", "is_pymc_covariance"]

_CHUNK = 256  # rows of a callable's matrix held for its diagonal
_ROUNDING = 1e-8  # of the largest element: what k(x, z) and k(z, x) may differ by


@dataclass(frozen=True)
class Frozen(Kernel):
    """``eta² k(x, z)`` with a fixed function k.

    Parameters
    ----------
    cov : pm.gp.cov.Covariance or callable
        A covariance function of PyMC without random variables, or ``k(X, Z)``, which returns the
        matrix of covariances of the rows of X with those of Z.
    """

    cov: Any

    def __post_init__(self) -> None:
        """Check that there is a fixed function."""
        if is_pymc_covariance(self.cov):
            from pymc_bsvm.estimators.kernels.compiled import check_fixed

            check_fixed(self.cov)
        elif isinstance(self.cov, type) or not callable(self.cov):
            raise ValueError(
                f"cov must be a covariance function, but it is {self.cov!r}. "
                "Pass an object of pm.gp.cov or a function k(X, Z)."
            )

    def __getstate__(self) -> dict[str, Any]:
        """Leave compiled functions out of copies."""
        return {"cov": self.cov}

    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the amplitude."""
        return (AMPLITUDE,)

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the covariances."""
        if Z is not None:
            cross: Array = values[0] ** 2 * self._function.cross(X, Z)
            return cross
        K: Array = self._function.full(X)
        gap = np.abs(K - K.T).max(initial=0.0)
        if gap > _ROUNDING * np.abs(K).max(initial=0.0):
            raise ValueError(
                f"The matrix of {self.cov!r} must be symmetric, but elements differ by {gap:.3g} "
                "from their mirror images. Pass a symmetric function."
            )
        K = 0.5 * (K + K.T)
        np.fill_diagonal(K, self._function.diagonal(X))
        K *= values[0] ** 2
        return K

    def diagonal(self, values: Array, X: Array) -> Array:
        """Return the variances."""
        variances: Array = values[0] ** 2 * self._function.diagonal(X)
        return variances

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Contract; the derivative is ``2 k``."""
        return np.array([2.0 * np.vdot(weights, self.matrix(values, X, Z))])

    def diagonal_slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Contract the same derivative."""
        return np.array([2.0 * weights @ self.diagonal(values, X)])

    def to_pymc(self, values: Any, d: int) -> Any:
        """Return ``eta² cov``; a function of arrays has no graph."""
        if is_pymc_covariance(self.cov):
            return self.cov * values[0] ** 2
        raise ValueError(
            f"The function {self.cov!r} works on arrays, but PyMC needs a graph. "
            "Pass an object of pm.gp.cov instead."
        )

    @cached_property
    def _function(self) -> Any:
        if is_pymc_covariance(self.cov):
            from pymc_bsvm.estimators.kernels.compiled import Compiled

            return Compiled(self.cov)
        return _Called(self.cov)


def is_pymc_covariance(value: Any) -> bool:
    """Whether the value is a covariance function of PyMC, without importing PyMC."""
    return any(c.__module__ == "pymc.gp.cov" for c in type(value).__mro__)


class _Called:
    """A callable as the three functions of a covariance."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def full(self, X: Array) -> Array:
        return self.cross(X, X)

    def cross(self, X: Array, Z: Array) -> Array:
        K = np.asarray(self.function(X, Z), dtype=float)
        if K.shape != (len(X), len(Z)):
            raise ValueError(
                f"{self.function!r} returned an array of shape {K.shape} for {len(X)} and {len(Z)} "
                "rows. Return the covariance of each row of the first with each of the second."
            )
        check_finite("The covariance matrix", K, "Correct the function.")
        return K

    def diagonal(self, X: Array) -> Array:
        blocks = (X[k : k + _CHUNK] for k in range(0, len(X), _CHUNK))
        return np.concatenate([np.diagonal(self.full(block)) for block in blocks])
