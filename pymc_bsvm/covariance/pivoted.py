"""Factors of a covariance whose rank is low in floating point."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.low_rank import LowRank

__all__ = ["Pivoted", "pivoted", "pivoted_by_rows"]

_SEVERAL = 4  # rows, which are not judged by themselves
_LATE = 0.25  # of the rows, after which the variance has to fall


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


class Pivoted(NamedTuple):
    """``K = factor' factor`` but for what is left, from some rows of K."""

    factor: Array
    """Of shape (m, n)."""
    rows: NDArray[np.intp]
    """The rows of K in the order of their choice, of shape (m,)."""
    left: Array
    """What is left of the variances, of shape (n,); its sum bounds the rest of K in any norm."""


def pivoted_by_rows(
    row: Callable[[int], Array],
    variances: Array,
    most: int,
    enough: float,
    *,
    falling: bool = False,
) -> Pivoted:
    """Factorise a covariance of which only some rows are computed.

    Cholesky's factorisation with pivots: that of a row is the variance there, given the function at
    the rows chosen before. It ends where no variance is above `enough`.

    Parameters
    ----------
    row : callable
        Returns a row of K, of shape (n,).
    variances : ndarray of shape (n,)
        The diagonal of K.
    most : int
        Largest number of rows.
    enough : float
        Variance that may be left.
    falling : bool, default False
        Whether it also ends where the variance falls too slowly to come to `enough`. From a quarter
        of the rows on it has to be below a curve ``exp(-c m²)`` that comes there with the last row:
        the spectra of smooth functions fall late, but fast. On the lower half of the way it has to
        halve with each quarter of the rows, which it does not where little but noise is left.
    """
    left = np.array(variances, dtype=float)
    most = min(most, left.size)
    factor = np.empty((most, left.size))
    chosen: list[int] = []
    heights: list[float] = []
    for k in range(most):
        pivot = int(left.argmax())
        heights.append(float(left[pivot]))
        if heights[k] <= enough or (falling and _slow(heights, most, enough)):
            break
        new = factor[k]
        new[:] = row(pivot)
        new -= factor[:k, pivot] @ factor[:k]
        new[chosen] = 0.0  # but for rounding
        new /= np.sqrt(left[pivot])
        left -= new * new
        left[pivot] = 0.0
        chosen.append(pivot)
    return Pivoted(factor[: len(chosen)], np.array(chosen, dtype=np.intp), left)


def _slow(heights: list[float], most: int, enough: float) -> bool:
    """Return whether the largest variances that were left fall too slowly; see above."""
    first, last, k = heights[0], heights[-1], len(heights) - 1
    due = max(k / most - _LATE, 0.0) / (1.0 - _LATE)
    if last > first * (enough / first) ** (due * due):
        return True
    before = heights[k - max(k // 4, _SEVERAL)] if k >= 2 * _SEVERAL else math.inf
    return last < math.sqrt(first * enough) and last > 0.5 * before
