"""The Gaussian that Laplace's method puts in the place of the posterior of the latent values."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymc_bsvm.evidence.predictive import log_predictive_density
from pymc_bsvm.evidence.sparse_posterior import SparsePosterior
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.base import Array
from pymc_bsvm.solvers import DualSolution, Factor
from pymc_bsvm.solvers.kernel import factorize
from pymc_bsvm.solvers.lapack import cholesky_inverse_in_place

__all__ = ["Cavity", "LaplacePosterior", "factor_of", "inverse_of", "times"]


@dataclass(frozen=True)
class Cavity:
    """The latent values with one observation left out at a time, each of shape (n,)."""

    mean: Array
    variance: Array


@dataclass(frozen=True)
class LaplacePosterior:
    """The posterior of the latent values, ``N(f, (K⁻¹ + W)⁻¹)`` at the MAP estimate f.

    W is the curvature of the loss, without the ramps that smooth the evidence: rows in the flat and
    in the linear zones of a loss carry no information on the width of the posterior, (4.46) and
    (5.41) of [Chu03]_.

    It looks at K and y when it is asked, so that these arrays must not be changed in between.
    """

    K: Array = field(repr=False)
    """Prior covariance, of shape (n, n)."""
    y: Array = field(repr=False)
    loss: Loss
    solution: DualSolution
    sample_weight: Array | None = field(default=None, repr=False)
    """Number of times that each row counts; once if it is None."""

    @cached_property
    def factor(self) -> Factor:
        """The factor of ``B = I + W½ K W½`` on the free set."""
        W = self.loss.curvature(self.y, self.solution.f)
        return factor_of(self.K, times(self.sample_weight, W))

    @property
    def mean(self) -> Array:
        """Mean of the latent values, which is their mode, of shape (n,)."""
        return self.solution.f

    @cached_property
    def variance(self) -> Array:
        """Variance of the latent values, of shape (n,), in squared units of f."""
        index, root = self.factor.index, self.factor.root_curvature
        variance = self.sparse.variance(self._restrict(self.K), np.diag(self.K))
        # where the data say much, this form does not cancel
        known = root**2 * np.diag(self.K)[index] > 1.0
        variance[index[known]] = ((1.0 - self._inverse_diagonal) / root**2)[known]
        return variance

    @cached_property
    def effective_parameters(self) -> float:
        """Number of parameters that the data determine, ``trace(K W (I + K W)⁻¹)``."""
        return float((1.0 - self._inverse_diagonal).sum())

    @cached_property
    def cavity(self) -> Cavity:
        """The latent values without their own observation, in closed form.

        Removing a row's Gaussian from the posterior leaves the precision ``1 / q - W`` with the
        posterior variance q, and the mean ``f - v a`` with the variance v that is left.
        """
        variance = self.variance.copy()
        variance[self.factor.index] /= self._inverse_diagonal
        return Cavity(self.solution.f - variance * self.solution.a, variance)

    @cached_property
    def log_predictive(self) -> Array:
        """Log density of each observation given all others, of shape (n,), in nats.

        The prediction is exact given the Gaussian of the latent value without its own observation.
        """
        return log_predictive_density(self.loss, self.y, self.cavity.mean, self.cavity.variance)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The training rows that predictions need: the support vectors."""
        return np.flatnonzero(self.solution.support)

    @cached_property
    def sparse(self) -> SparsePosterior:
        """The posterior without its training rows, for predictions."""
        place = np.searchsorted(self.rows, self.factor.index)
        a = self.solution.a[self.rows]
        return SparsePosterior(a, place, self.factor.root_curvature, self.factor.cholesky)

    def predict_mean(self, cross: ArrayLike) -> Array:
        """Return the mean of new latent values, less the prior's.

        Parameters
        ----------
        cross : array_like of shape (n, n_new) or (n_support, n_new)
            Prior covariance of all training rows, or of `rows` alone, with the new ones.
        """
        return self.sparse.mean(self._restrict(cross))

    def predict_variance(self, cross: ArrayLike, prior: ArrayLike) -> Array:
        """Return the variance of new latent values, of shape (n_new,).

        Parameters
        ----------
        cross : array_like of shape (n, n_new) or (n_support, n_new)
            Prior covariance of all training rows, or of `rows` alone, with the new ones.
        prior : array_like of shape (n_new,)
            Prior variance of the new ones.
        """
        variance, cross = np.array(prior, dtype=float), self._restrict(cross)
        if variance.shape != cross.shape[1:]:
            raise ValueError(
                f"prior has shape {variance.shape}, but cross has {cross.shape[1]} columns. "
                "Pass one prior variance for each new row."
            )
        return self.sparse.variance(cross, variance)

    def predict_covariance(self, cross: ArrayLike, prior: ArrayLike) -> Array:
        """Return the covariance of new latent values, of shape (n_new, n_new).

        Parameters
        ----------
        cross : array_like of shape (n, n_new) or (n_support, n_new)
            Prior covariance of all training rows, or of `rows` alone, with the new ones.
        prior : array_like of shape (n_new, n_new)
            Prior covariance of the new ones.
        """
        return self.sparse.covariance(self._restrict(cross), np.asarray(prior, dtype=float))

    def _restrict(self, cross: ArrayLike) -> Array:
        """Return the covariance of the support vectors with new rows."""
        cross = np.asarray(cross, dtype=float)
        if cross.ndim != 2:
            raise ValueError(
                f"cross must have two dimensions, but it has {cross.ndim}. "
                "For one new row, pass a column: k[:, None]."
            )
        if cross.shape[0] == self.rows.size:
            return cross
        if cross.shape[0] != self.y.size:
            raise ValueError(
                f"cross has {cross.shape[0]} rows, but there are {self.y.size} training rows and "
                f"{self.rows.size} support vectors. Pass the covariance of either with new rows."
            )
        return cross[self.rows]

    @cached_property
    def _inverse_diagonal(self) -> Array:
        return np.diag(inverse_of(self.factor)).copy()


def factor_of(K: Array, curvature: Array) -> Factor:
    """Return the Cholesky factor of ``B = I + W½ K W½`` on the rows with positive curvature W.

    Raises
    ------
    ValueError
        If B is not positive definite, which means that K is indefinite.
    """
    index = np.flatnonzero(curvature > 0.0)
    root = np.sqrt(np.maximum(curvature, 0.0))
    cholesky, definite = factorize(K, index, root)
    if not definite:
        raise ValueError(
            "K must be positive semidefinite, but I + W½ K W½ has no Cholesky factor. "
            "Check the covariance function, or add a jitter to the diagonal of K."
        )
    return Factor(index, root[index], cholesky)


def times(sample_weight: Array | None, x: Array) -> Array:
    """Return x, each row as many times as it counts; a row of weight zero counts for nothing."""
    if sample_weight is None:
        return x
    counts = sample_weight > 0.0  # the others may be infinite: behind a wall
    return np.multiply(sample_weight, x, out=np.zeros(x.shape), where=counts)


def inverse_of(factor: Factor) -> Array:
    """Return the lower triangle of ``B⁻¹``, of shape (m, m)."""
    if factor.index.size == 0:
        return np.zeros((0, 0))
    inverse: Array = factor.cholesky.copy()
    cholesky_inverse_in_place(inverse)
    return inverse
