"""Covariances that the caller computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh, lapack

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.kernels.amplitude import AMPLITUDE
from pymc_bsvm.estimators.kernels.base import Kernel
from pymc_bsvm.search import Hyperparameter

__all__ = ["Precomputed", "UnknownVariance", "check_gram"]

_NEGATIVE = 1e-7  # of the trace: eigenvalues below zero that rounding in single precision leaves
_ROUNDING = 1e-8  # of the largest element: what two ways of computing k(x, z) may differ by


class UnknownVariance(ValueError):
    """The variances of new rows are not among the numbers of a Gram matrix."""


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The amplitude times a Gram matrix, as ``kernel="precomputed"`` in scikit-learn.

    The rows X for training are the Gram matrix, of shape (n, n). New rows Z are their covariances
    with the rows for training, of shape (m, n). Their own variances are not among these numbers.
    They are taken to be those of the rows for training if these are all the same, as they are for
    a stationary function.
    """

    def hyperparameters(self, d: int) -> tuple[Hyperparameter, ...]:
        """Return the amplitude."""
        return (AMPLITUDE,)

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the Gram matrix, or the transpose of the covariances Z, times eta²."""
        if Z is None:
            K = _gram(X)
            K *= values[0] ** 2
            return K
        if Z.shape[1] != X.shape[0]:
            raise ValueError(
                f"The covariances of new rows have {Z.shape[1]} columns, but the Gram matrix has "
                f"{X.shape[0]} rows. Pass one column for each row used in training."
            )
        cross: Array = values[0] ** 2 * Z.T
        return cross

    def diagonal(self, values: Array, X: Array) -> Array:
        """Return the variances of the rows for training."""
        variances: Array = values[0] ** 2 * np.diagonal(_gram(X))
        return variances

    def slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Contract; the derivative is ``2 k``."""
        return np.array([2.0 * np.vdot(weights, self.matrix(values, X))])

    def cross_slopes(self, values: Array, X: Array, Z: Array | None, weights: Array) -> Array:
        """Raise, for a matrix holds no covariances of other rows."""
        raise ValueError(
            f"A precomputed Gram matrix of {len(X)} rows does not hold covariances of other rows. "
            "Pass the kernel that it was computed with."
        )

    def diagonal_slopes(self, values: Array, X: Array, weights: Array) -> Array:
        """Contract the same derivative."""
        return np.array([2.0 * weights @ self.diagonal(values, X)])

    def to_pymc(self, values: Any, d: int) -> Any:
        """Raise, for a matrix is no function of rows."""
        raise ValueError(
            "A precomputed Gram matrix is no covariance function for PyMC. "
            "Pass the kernel that it was computed with."
        )

    def take(self, X: Array, rows: NDArray[np.intp]) -> Array:
        """Return the Gram matrix of some rows of the training data."""
        return X[np.ix_(rows, rows)]

    def against(self, Z: Array, rows: NDArray[np.intp]) -> Array:
        """Return the covariances of new rows with these rows of the training data."""
        return Z[:, rows]

    def diagonal_of_new(self, values: Array, X: Array, Z: Array) -> Array:
        """Return the variance of the rows for training, if they share one."""
        variances = self.diagonal(values, X)
        if variances.size == 0 or np.ptp(variances) > _ROUNDING * np.abs(variances).max():
            raise UnknownVariance(
                f"The {len(Z)} new rows are known by their covariances with the training rows "
                "only, which do not hold their variances. Pass the kernel itself to have error "
                "bars and probabilities, or predict without them."
            )
        return np.full(len(Z), variances[0])


def check_gram(X: Array) -> None:
    """Raise ``ValueError`` unless X is symmetric and positive semidefinite, up to rounding."""
    G = _gram(X)
    spread = _NEGATIVE * float(np.abs(np.diagonal(G)).sum())
    G[np.diag_indices_from(G)] += spread
    if lapack.dpotrf(G, overwrite_a=True)[1] == 0:
        return
    least = float(eigvalsh(_gram(X), subset_by_index=[0, 0])[0])
    if least < -spread:
        raise ValueError(
            "A precomputed Gram matrix must be positive semidefinite, but its least eigenvalue is "
            f"{least:.3g}. Pass k(X, X) of a covariance function, or add {-least:.3g} to its "
            "diagonal."
        )


def _gram(X: Array) -> Array:
    """Return X, with the mean of what rounding left of its two halves."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed Gram matrix must be square, but its shape is {X.shape}. "
            "Pass the covariances of the training rows with each other; the variances of new rows "
            "must come from elsewhere."
        )
    gap = np.abs(X - X.T).max(initial=0.0)
    if gap > _ROUNDING * np.abs(X).max(initial=0.0):
        raise ValueError(
            f"A precomputed Gram matrix must be symmetric, but elements differ by {gap:.3g} from "
            "their mirror images. Pass k(X, X) of a symmetric function."
        )
    mean: Array = 0.5 * (X + X.T)
    return mean
