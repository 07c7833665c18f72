"""Inducing points: some of the rows, such that the function at all others is nearly known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array

__all__ = ["greedy"]

_ROUNDING = 1e-9  # of the largest variance: what is left of a function that is known


def greedy(
    covariance: Callable[[Array, Array], Array], variances: Array, X: Array, count: int
) -> NDArray[np.intp]:
    """Return rows of X, each the one of which those before it say least.

    This is Cholesky's factorisation with pivots: a row's pivot is the variance of the function
    there, given the function at the rows chosen before. The first rows of a longer choice are the
    shorter one.

    Parameters
    ----------
    covariance : callable
        Returns the covariances of some rows with others, of shape (n, m).
    variances : ndarray of shape (n,)
        The variances of the function at the rows.
    X : ndarray of shape (n, d)
        The candidates.
    count : int
        How many are chosen at most. There are fewer where nothing is left to know.

    Returns
    -------
    ndarray of shape (m,)
        In the order of their choice.
    """
    left = np.array(variances, dtype=float)
    most = min(count, left.size)
    enough = _ROUNDING * left.max(initial=0.0)
    factor = np.empty((most, left.size))
    chosen: list[int] = []
    for k in range(most):
        pivot = int(left.argmax())
        if left[pivot] <= enough:
            break
        row = factor[k]
        row[:] = covariance(X[pivot : pivot + 1], X)[0]
        row -= factor[:k, pivot] @ factor[:k]
        row /= np.sqrt(left[pivot])
        left -= row * row
        left[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.intp)
