"""A factor of a covariance whose rank is low in floating point."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpstrf

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.low_rank import LowRank

__all__ = ["pivoted"]


def pivoted(K: Array, most: float) -> LowRank | None:
    """Return a covariance of low rank that is K to rounding, None if its rank is above a bound.

    Cholesky's factorisation with pivots, which ends where no variance is left but rounding.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite.
    most : float
        Largest rank, as a share of n.
    """
    n = K.shape[0]
    factor, pivots, rank, _ = dpstrf(K, lower=1)
    if not 0 < rank <= most * n:
        return None
    A = np.zeros((n, rank))
    A[pivots - 1] = np.tril(factor[:, :rank])
    return LowRank(A)
