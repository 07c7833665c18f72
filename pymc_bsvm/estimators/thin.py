"""The covariance of many rows from few of them, where these say all that can be seen of the others.

A smooth function of few columns is known at all rows, but for rounding, once it is known at some
tens of them. With the features of these rows as inducing points the evidence and its gradient cost
``n m²`` instead of ``n³``, and no matrix of n by n numbers is made. That is no other model: what
Nyström's covariance leaves out is a matrix E that is positive semidefinite, and the determinant
changes by no more than ``trace(W E) / 2``, which is kept below a bound. A search may go by that;
the machine that it leads to has the whole kernel matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.covariance.pivoted import pivoted_by_rows
from pymc_bsvm.estimators.kernels import Precomputed
from pymc_bsvm.evidence.laplace import Laplace
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.gradient import of_points

if TYPE_CHECKING:
    from pymc_bsvm.estimators.machine import Blueprint

__all__ = ["Patience", "Thin", "thin_covariance"]

_FEWEST = 300  # rows; the kernel matrix of fewer is no work, and needs no compiled code
_MOST = 0.125  # rank of the covariance, as a share of its rows; more of it costs as much as K
_HIDDEN = 1e-5  # nats of the determinant
_ROUNDING = 1e-13  # of the largest variance: what is left of it is rounding


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Thin(LowRank):
    """The covariance of rows as features of some of them."""

    features: Features = field(kw_only=True)

    def __init__(self, A: Array, features: Features) -> None:
        super().__init__(A)
        object.__setattr__(self, "features", features)

    def slopes(self, X: Array, of_A: Array) -> Array:
        """Return derivatives in the logarithms of the kernel's values from those in A."""
        features = self.features
        m = features.Z.shape[0]
        of_kernel = of_A[:, :m]
        of_cross = solve_triangular(features.cholesky, of_kernel.T, lower=True, trans="T").T
        slopes = features.kernel.cross_slopes(features.values, X, features.Z, of_cross)
        return np.asarray(slopes + of_points(features, of_kernel.T @ self.A[:, :m]))


def thin_covariance(
    blueprint: Blueprint, values: Array, X: Array, sample_weight: Array | None
) -> Thin | None:
    """Return the prior covariance of rows in low rank; None if it has none, or it does not help.

    The largest curvature of the loss says what must not be left out. Only losses whose envelopes
    are losses state it.
    """
    kernel, n = blueprint.kernel, len(X)
    if n < _FEWEST or not isinstance(blueprint.approximation, Laplace):
        return None
    loss, of_kernel = blueprint.loss(values), blueprint.split(values)[1]
    if loss.envelope_type is None or isinstance(kernel, Precomputed):
        return None
    weight = n if sample_weight is None else n * sample_weight.max()
    variances = kernel.diagonal(of_kernel, X)
    enough = 2.0 * _HIDDEN / float(weight * np.max(loss.stiffness(*loss.parameters)))
    if not enough >= _ROUNDING * variances.max():
        return None
    row = kernel.row_by_row(of_kernel, X)
    found = pivoted_by_rows(row, variances, int(_MOST * n), enough)
    if not found.rows.size or found.left.max() > enough:
        return None
    L = np.tril(found.factor[:, found.rows].T)
    features = Features(kernel, of_kernel, kernel.take(X, found.rows), blueprint.offset, 0.0, L)
    A = np.full((n, features.size), np.sqrt(blueprint.offset))
    A[:, : found.rows.size] = found.factor.T
    return Thin(A, features)


class Patience:
    """Whether to look for a low rank: after each failure, for twice as long not."""

    def __init__(self) -> None:
        self._wait = self._left = 0
        self._held = False

    def hold(self) -> None:
        """Look always from now on, or never if the last look failed."""
        self._held = True

    def look(
        self, blueprint: Blueprint, values: Array, X: Array, sample_weight: Array | None
    ) -> Thin | None:
        """Return the covariance of low rank, if it has that, and it is worthwhile to look."""
        if self._held:
            return None if self._wait else thin_covariance(blueprint, values, X, sample_weight)
        if self._left > 0:
            self._left -= 1
            return None
        found = thin_covariance(blueprint, values, X, sample_weight)
        self._left = self._wait = 0 if found is not None else 2 * self._wait + 1
        return found
