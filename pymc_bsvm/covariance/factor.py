"""Factors of ``B = I + W½ K W½`` on the free rows, for use after the solve."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import woodbury
from pymc_bsvm.covariance.interpreted import cholesky_solve_in_place, inverse_diagonal
from pymc_bsvm.covariance.woodbury import Woodbury

__all__ = ["Factor", "Factored", "LowRankFactor", "as_factor"]


@dataclass(frozen=True)
class Factor:
    """The factor of a Newton step, ``B = I + W½ K W½ = L L'`` on the free set.

    That of a solution belongs to the iterate before the last step: for losses with a piecewise
    constant curvature it is the factor at the solution, for others up to the length of that step.
    """

    index: NDArray[np.intp]
    """Rows of the free set, of shape (r,)."""
    root_curvature: Array
    """Square roots of the curvature W, of shape (r,)."""
    cholesky: Array
    """Lower triangular L, of shape (r, r); above the diagonal it is not defined."""

    def solve(self, x: ArrayLike) -> Array:
        """Return ``B⁻¹ x`` for x of shape (r,), or for several in the columns of (r, k)."""
        return _solved(cholesky_solve_in_place, self.cholesky, x)

    def log_det(self) -> float:
        """Return ``log |B|``."""
        return 2.0 * float(np.log(np.diag(self.cholesky)).sum())

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of ``B⁻¹``, of shape (r,)."""
        diagonal: Array = inverse_diagonal(self.cholesky)
        return diagonal


@dataclass(frozen=True)
class LowRankFactor:
    """The factor of the same matrix for a covariance ``A A' + diag(d)``.

    It refers to A.
    """

    index: NDArray[np.intp]
    """Rows of the free set, of shape (r,)."""
    root_curvature: Array
    """Square roots of the curvature W, of shape (r,)."""
    parts: Woodbury = field(repr=False)

    @property
    def cholesky(self) -> Array:
        """Lower triangular; of ``I + V V'`` or of ``I + V'V``, whichever is the smaller one."""
        cholesky: Array = self.parts.cholesky
        return cholesky

    def solve(self, x: ArrayLike) -> Array:
        """Return ``B⁻¹ x`` for x of shape (r,), or for several in the columns of (r, k)."""
        return _solved(woodbury.solve, self.parts, x)

    def log_det(self) -> float:
        """Return ``log |B|``."""
        scales = np.log(np.diag(self.cholesky)).sum() + np.log(self.parts.spread).sum()
        return 2.0 * float(scales)

    def inverse_diagonal(self) -> Array:
        """Return the diagonal of ``B⁻¹``, of shape (r,)."""
        diagonal: Array = woodbury.inverse_diagonal(self.parts)
        return diagonal


class Factored:
    """What follows from the factor of ``B = I + W½ K W½`` alone."""

    factor: Factor | LowRankFactor

    @cached_property
    def log_det(self) -> float:
        """``log |I + W½ K W½|``."""
        return self.factor.log_det()

    @cached_property
    def inverse_diagonal(self) -> Array:
        """The diagonal of ``B⁻¹`` on the rows ``factor.index``."""
        return self.factor.inverse_diagonal()

    def reduce(self, x: ArrayLike) -> Array:
        """Return ``W½ B⁻¹ W½ x`` for x of shape (n,), or for several in the columns of (n, k)."""
        x = np.asarray(x, dtype=float)
        index, out = self.factor.index, np.zeros(x.shape)
        root = self.factor.root_curvature.reshape((-1,) + (1,) * (x.ndim - 1))
        out[index] = root * self.factor.solve(root * x[index])
        return out


def as_factor(free: NDArray[np.intp], root: Array, cholesky: Any) -> Factor | LowRankFactor:
    """Return what `Covariance.factorize` made for the curvature ``root**2`` of all rows."""
    of = LowRankFactor if isinstance(cholesky, Woodbury) else Factor
    return of(free, root[free], cholesky)


def _solved(solve: Any, factor: Any, x: ArrayLike) -> Array:
    """Apply a solver in place to a copy."""
    rows = np.array(np.transpose(x), dtype=float, order="C", ndmin=2)
    solve(factor, rows)
    return rows.T.reshape(np.shape(x))
