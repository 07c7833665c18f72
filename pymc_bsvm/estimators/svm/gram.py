"""A kernel whose hyperparameters are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter, positive
from pymc_bsvm.estimators.kernels import Kernel, Polynomial, kernel_of

__all__ = ["FixedKernel"]


@dataclass(frozen=True)
class FixedKernel:
    """A kernel and the values of its hyperparameters."""

    kernel: Kernel
    values: Array

    @classmethod
    def of(cls, kernel: Any, gamma: Any, X: Array, weight: Array) -> Self:
        """Return the kernel with its length-scales set by gamma, and amplitude one.

        The rows and their weights set the scale where gamma is "scale".
        """
        kernel = kernel_of(kernel)
        inverse = _gamma(gamma, X, weight)
        ls = inverse**-0.5 if isinstance(kernel, Polynomial) else (2.0 * inverse) ** -0.5
        fixed = {"eta": 1.0, "ls": ls}
        hyperparameters = kernel.hyperparameters(X.shape[1])
        return cls(kernel, np.array([fixed.get(h.stem, h.start) for h in hyperparameters]))

    def matrix(self, X: Array) -> Array:
        """Return the kernel of all pairs of rows."""
        return self.kernel.matrix(self.values, X)

    def take(self, X: Array, rows: NDArray[np.intp]) -> Array:
        """Return some rows of the training data."""
        return self.kernel.take(X, rows)

    def cross(self, X: Array, Z: Array) -> Array:
        """Return the kernel of new rows Z with the rows X, of shape (n_new, n)."""
        if X.shape[0] == 0:
            return np.zeros((Z.shape[0], 0))
        return self.kernel.matrix(self.values, X, Z).T


def _gamma(gamma: Any, X: Array, weight: Array) -> float:
    """Return gamma as a number."""
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / float(X.shape[1])
    if isinstance(gamma, str) and gamma == "scale":
        mean = float(np.average(X.mean(axis=1), weights=weight))
        variance = float(np.average(np.square(X - mean).mean(axis=1), weights=weight))
        return 1.0 / (float(X.shape[1]) * variance) if variance > 0.0 else 1.0
    if isinstance(gamma, str):
        raise ValueError(
            f"gamma must be 'scale', 'auto' or a positive number, but it is {gamma!r}. "
            "Pass one of these."
        )
    return as_parameter("gamma", gamma, positive)
