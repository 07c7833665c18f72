"""Inducing points: some of the rows, such that the function at all others is nearly known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.pivoted import pivoted_by_rows

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
    enough = _ROUNDING * np.max(variances, initial=0.0)
    return pivoted_by_rows(lambda k: covariance(X[k : k + 1], X)[0], variances, count, enough).rows
