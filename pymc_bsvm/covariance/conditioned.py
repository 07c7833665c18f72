"""A covariance of low rank beside the curvature of a loss: what a Gaussian approximation needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval
from pymc_bsvm.covariance.factor import Factored, LowRankFactor
from pymc_bsvm.covariance.interpreted import cholesky_solve_in_place
from pymc_bsvm.covariance.low_rank import LowRank
from pymc_bsvm.covariance.woodbury import factorize_columns, leverages

__all__ = ["Conditioned", "condition"]


@dataclass(frozen=True, eq=False)
class Conditioned(Factored):
    """The Gaussian with the precision ``K⁻¹ + W``, for ``K = A A' + diag(d)``; K may be singular.

    With ``E = I + W diag(d)``, ``S = W / E`` and ``M = I + A'S A``, of shape (m, m),

        (K⁻¹ + W)⁻¹ = diag(d) / E + E⁻¹ A M⁻¹ A' E⁻¹,    R = (K + W⁻¹)⁻¹ = S - S A M⁻¹ A'S,

    where R is zero on the rows without curvature, and ``R A = S A M⁻¹``.
    """

    K: LowRank
    curvature: Array = field(repr=False)
    """W of all rows, of shape (n,), not negative."""
    factor: LowRankFactor
    """The factor of ``B = I + W½ K W½`` on the rows with a curvature."""

    @cached_property
    def variance(self) -> Array:
        """The diagonal of ``(K⁻¹ + W)⁻¹``, of shape (n,): nothing cancels in it."""
        spread = self._spread
        rows = np.arange(spread.size)
        variance: Array = leverages(self.factor.parts, rows, 1.0 / spread)
        return variance + self.K.d / spread

    def shrink(self, x: Array) -> Array:
        """Return ``(I + W K)⁻¹ x = E⁻¹ (x - W A M⁻¹ A' E⁻¹ x)`` for x of shape (n,)."""
        spread = self._spread
        reduced = np.atleast_2d(self.K.A.T @ (x / spread))
        cholesky_solve_in_place(self.factor.cholesky, reduced)
        return np.asarray((x - self.curvature * (self.K.A @ reduced[0])) / spread)

    def pull_back(
        self, products: Iterable[tuple[float, Array, Array]], share: float = 0.0
    ) -> tuple[Array, Array | float]:
        """Return the derivatives with respect to A and d of a function of K.

        Parameters
        ----------
        products : iterable of (c, x, y)
            Its derivative with respect to K, ``G = sum c (x y' + y x') / 2 + share R``.
        share : float, default 0.0
            That of R, the derivative of the log determinant.

        Returns
        -------
        (array of shape (n, m), array of shape (n,) or float)
            ``2 G A`` and the diagonal of G, which is summed if d is one number.
        """
        A, S = self.K.A, self.curvature / self._spread
        of_A = (2.0 * share) * S[:, None] * A
        cholesky_solve_in_place(self.factor.cholesky, of_A)
        of_d = np.zeros(A.shape[0])
        of_d[self.factor.index] = self.factor.root_curvature**2 * self.inverse_diagonal
        of_d *= share
        for c, x, y in products:
            of_A += np.outer(c * x, y @ A)
            of_A += np.outer(c * y, x @ A)
            of_d += c * x * y
        return of_A, float(of_d.sum()) if isinstance(self.K.d, float) else of_d

    @property
    def _spread(self) -> Array:
        spread: Array = 1.0 + self.curvature * self.K.d
        return spread


def condition(K: LowRank, curvature: ArrayLike) -> Conditioned:
    """Return the covariance conditioned on observations with this curvature of their loss.

    Parameters
    ----------
    K : LowRank
        Prior covariance of n latent values.
    curvature : array_like of shape (n,)
        Second derivatives W of the losses, not negative; zero where a loss is flat.

    Raises
    ------
    ValueError
        For a curvature outside its domain, or too large for K in floating point.
    """
    W = np.ascontiguousarray(curvature, dtype=float)
    if W.shape != K.shape[:1]:
        raise ValueError(
            f"curvature must have shape ({K.shape[0]},) to match K, but its shape is {W.shape}. "
            "Pass one number for each row of K."
        )
    Interval(0.0, includes_low=True).check("curvature", W)
    index, root = np.flatnonzero(W), np.sqrt(W)
    parts, definite = factorize_columns(K.parts, index, root)
    if not (definite and np.isfinite(np.diag(parts.cholesky)).all()):
        raise ValueError(
            f"I + A'W A has no Cholesky factor, with curvatures up to {W.max():.3g} and variances "
            f"up to {K.diagonal().max():.3g}. Scale the features down, or use a wider loss."
        )
    return Conditioned(K, W, LowRankFactor(index, root[index], parts))
