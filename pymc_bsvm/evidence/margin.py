"""The support vectors on an edge of the tube, where the slope of the loss jumps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.evidence.approximation import Problem
from pymc_bsvm.solvers import DualSolution

__all__ = ["Margin"]


@dataclass(frozen=True, eq=False)
class Margin:
    """The support vectors with ``|y - f| = epsilon`` and ``0 < |a| < C``: the set M of [GGHB02]_.

    In a row of M the log posterior falls off linearly on both sides, at the rates ``|a|`` into the
    tube and ``C - |a|`` out of it.
    """

    rows: NDArray[np.intp]
    """Which rows they are, of shape (r,)."""
    a: Array
    """Their duals, of shape (r,)."""
    most: Array
    """The largest size of each dual: C, as many times as the row counts."""
    cholesky: Array = field(repr=False)
    """Lower factor of ``K_MM``, of shape (r, r)."""

    @classmethod
    def of(cls, problem: Problem, solution: DualSolution, C: Array) -> Margin:
        """Return the margin of a MAP estimate, C by row.

        Raises
        ------
        ValueError
            If ``K_MM`` is singular.
        """
        rows = np.flatnonzero(solution.free)
        most = (problem.weights * C)[rows]
        return cls(rows, solution.a[rows], most, _factor(problem.K, rows))

    @property
    def log_det(self) -> float:
        """``log |2 pi K_MM|``."""
        diagonal = np.diag(self.cholesky)
        return self.rows.size * float(np.log(2.0 * np.pi)) + 2.0 * float(np.log(diagonal).sum())

    @property
    def log_widths(self) -> Array:
        """Logs of the integrals over the kinks, ``1 / |a| + 1 / (C - |a|)``, of shape (r,)."""
        size = np.abs(self.a)
        return np.asarray(np.log(self.most) - np.log(size) - np.log(self.most - size))

    @property
    def slopes(self) -> Array:
        """Derivatives of the logs of the widths in a, of shape (r,)."""
        size = np.abs(self.a)
        return np.asarray(np.sign(self.a) * (1.0 / (self.most - size) - 1.0 / size))

    def solve(self, x: Array) -> Array:
        """Return ``K_MM⁻¹ x`` for x of shape (r,) or (r, k)."""
        return np.asarray(cho_solve((self.cholesky, True), x)) if self.rows.size else x


def _factor(K: Array | LowRank, rows: NDArray[np.intp]) -> Array:
    """Return the lower factor of ``K_MM``."""
    try:
        if isinstance(K, LowRank):
            inner = LowRank(K.A[rows], K.parts.d[rows]).dense() if rows.size else np.zeros((0, 0))
        else:
            inner = K[np.ix_(rows, rows)]
        return np.asarray(np.linalg.cholesky(inner))
    except np.linalg.LinAlgError:
        raise ValueError(
            f"The covariance of the {rows.size} margin support vectors has no Cholesky factor, so "
            "that their determinant is not known. Add a jitter to the diagonal of K, or use "
            "expectation propagation: EP()."
        ) from None
