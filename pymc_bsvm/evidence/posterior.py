"""The Gaussian that an approximation puts in the place of the posterior of the latent values."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import LowRank, LowRankFactor
from pymc_bsvm.covariance.conditioned import Conditioned, condition
from pymc_bsvm.covariance.dense_conditioned import DenseConditioned, condition_dense
from pymc_bsvm.covariance.inducing import Inducing
from pymc_bsvm.covariance.interpreted import cholesky_solve_in_place
from pymc_bsvm.evidence.inducing_posterior import InducingPosterior
from pymc_bsvm.evidence.prediction import log_predictive_density
from pymc_bsvm.evidence.sparse_posterior import SparsePosterior
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers import Factor

__all__ = ["Cavity", "LaplacePosterior", "Posterior", "condition_on", "times"]


@dataclass(frozen=True)
class Cavity:
    """The latent values with one observation left out at a time, each of shape (n,)."""

    mean: Array
    variance: Array


@dataclass(frozen=True, eq=False)
class Posterior:
    """The Gaussian ``N(m + K a, (K⁻¹ + S)⁻¹)`` of the latent values, S diagonal.

    Each row's likelihood has become a site of precision S_i: the curvature of the loss at the MAP
    estimate for Laplace's method, (4.46) and (5.41) of [Chu03]_. Rows whose precision is zero carry
    no information on the width of the posterior.

    It looks at K and y when it is asked, so that these arrays must not be changed in between.
    """

    K: Array | LowRank = field(repr=False)
    """Prior covariance, of shape (n, n), or one of low rank."""
    y: Array = field(repr=False)
    loss: Loss
    mean: Array = field(repr=False)
    """Mean of the latent values, of shape (n,)."""
    a: Array = field(repr=False)
    """Dual of the mean, which is ``m + K a``, of shape (n,)."""
    precision: Array = field(repr=False)
    """Precisions S of the sites, not negative, of shape (n,)."""
    _known: Factor | LowRankFactor | None = field(default=None, repr=False)
    """A factor that may be that of the sites, such as the last one of the solver."""

    @cached_property
    def conditioned(self) -> Conditioned | DenseConditioned:
        """The prior covariance conditioned on the sites."""
        return condition_on(self.K, self.precision, self._known)

    @property
    def factor(self) -> Factor | LowRankFactor:
        """The factor of ``B = I + S½ K S½`` on the rows with a positive precision."""
        return self.conditioned.factor

    @property
    def variance(self) -> Array:
        """Variance of the latent values, of shape (n,), in squared units of f."""
        return self.conditioned.variance

    @cached_property
    def covariance(self) -> Array:
        """Covariance of the latent values, of shape (n, n)."""
        if isinstance(self.K, LowRank):
            return self.predict_covariance(self.K.dense(), self.K.dense())
        return self.predict_covariance(self.K, self.K)

    @cached_property
    def effective_parameters(self) -> float:
        """Number of parameters that the data determine, ``trace(K S (I + K S)⁻¹)``."""
        return float((1.0 - self.conditioned.inverse_diagonal).sum())

    @cached_property
    def cavity(self) -> Cavity:
        """The latent values without their own observation, in closed form.

        Removing a row's Gaussian from the posterior leaves the precision ``1 / q - S`` with the
        posterior variance q, and the mean ``f - v a`` with the variance v that is left.
        """
        return self.cavity_beside(None)

    def cavity_beside(self, sample_weight: Array | None) -> Cavity:
        """Return the latent values without one of the observations of their row.

        Parameters
        ----------
        sample_weight : ndarray of shape (n,), optional
            Number of times that each row counts: of two equal observations one stays.
        """
        share = 1.0 if sample_weight is None else 1.0 / np.maximum(sample_weight, 1.0)
        kept = np.ones(self.y.shape)
        kept[self.factor.index] = self.conditioned.inverse_diagonal
        variance = self.variance / (1.0 - share + share * kept)
        return Cavity(self.mean - variance * share * self.a, variance)

    @cached_property
    def log_predictive(self) -> Array:
        """Log density of each observation given all others, of shape (n,), in nats.

        The prediction is exact given the Gaussian of the latent value without its own observation.
        """
        return log_predictive_density(self.loss, self.y, self.cavity.mean, self.cavity.variance)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The training rows that predictions need: for Laplace's method the support vectors."""
        return np.flatnonzero((self.a != 0.0) | (self.precision > 0.0))

    @cached_property
    def sparse(self) -> SparsePosterior:
        """The posterior without its training rows, for predictions.

        Raises
        ------
        TypeError
            For a covariance of low rank, whose predictions need the coefficients instead.
        """
        if isinstance(self.K, LowRank):
            raise TypeError(
                "The covariance is LowRank, so that there is no factor on training rows. "
                "Predict from `coefficients` with the features of the new rows."
            )
        place = np.searchsorted(self.rows, self.factor.index)
        a, factor = self.a[self.rows], self.factor
        return SparsePosterior(a, place, factor.root_curvature, factor.cholesky)

    @cached_property
    def predictor(self) -> SparsePosterior | InducingPosterior:
        """What predicts new latent values from their prior covariance with what carries it.

        These are the `rows`, or the whitened values at the inducing points.
        """
        if isinstance(self.K, Inducing):
            return InducingPosterior(self.K.A.T @ self.a, self.factor.cholesky)
        return self.sparse

    def predict_mean(self, cross: ArrayLike) -> Array:
        """Return the mean of new latent values, less the prior's.

        Parameters
        ----------
        cross : array_like of shape (n, n_new) or (n_support, n_new)
            Prior covariance of all training rows, or of `rows` alone, with the new ones.
        """
        return np.asarray(self._restrict(cross).T @ self.a[self.rows])

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
        if isinstance(self.K, LowRank):
            explained = np.einsum("ij,ij->j", cross, self._reduced(cross))
            return np.asarray(np.maximum(variance - explained, 0.0))
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
        cross, covariance = self._restrict(cross), np.asarray(prior, dtype=float)
        if isinstance(self.K, LowRank):
            return np.asarray(covariance - cross.T @ self._reduced(cross))
        return self.sparse.covariance(cross, covariance)

    @property
    def coefficients(self) -> tuple[Array, Array]:
        """Mean, of shape (m,), and covariance of z in ``f = m + A z + N(0, d)``, for low rank.

        New rows with features ``A_new`` and prior variances ``|a_new|² + d_new`` have the latent
        mean ``m_new + A_new z`` and the variance ``d_new + a_new' cov(z) a_new``.
        """
        if not isinstance(self.K, LowRank):
            raise TypeError(
                f"Only a LowRank covariance has coefficients, but K is a matrix of shape "
                f"{self.K.shape}. Use predict_mean and predict_variance."
            )
        covariance = np.eye(self.K.A.shape[1])
        cholesky_solve_in_place(self.factor.cholesky, covariance)
        return self.K.A.T @ self.a, covariance

    def _reduced(self, cross: Array) -> Array:
        """Return ``(K + S⁻¹)⁻¹`` times columns of the rows that count, for low rank."""
        assert isinstance(self.conditioned, Conditioned)
        columns = np.zeros((self.y.size, cross.shape[1]))
        columns[self.rows] = cross
        return self.conditioned.reduce(columns)[self.rows]

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


LaplacePosterior = Posterior  # its earlier name


def condition_on(
    K: Array | LowRank, precision: Array, known: Factor | LowRankFactor | None = None
) -> Conditioned | DenseConditioned:
    """Return a covariance conditioned on sites of this precision.

    A factor that is known saves its own computation, if it is that of these sites.

    Raises
    ------
    ValueError
        If ``B = I + S½ K S½`` is not positive definite, which means that K is indefinite.
    """
    if isinstance(K, LowRank):
        return condition(K, precision)
    return condition_dense(K, precision, known if isinstance(known, Factor) else None)


def times(sample_weight: Array | None, x: Array) -> Array:
    """Return x, each row as many times as it counts; a row of weight zero counts for nothing."""
    if sample_weight is None:
        return x
    counts = sample_weight > 0.0  # the others may be infinite: behind a wall
    return np.multiply(sample_weight, x, out=np.zeros(x.shape), where=counts)
