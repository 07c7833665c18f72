"""Predictive distributions of new targets and labels, given a Gaussian latent value.

Wherever the latent value comes from, Laplace's approximation, expectation propagation or the prior,
what is observed follows from ``f* ~ N(latent_mean, latent_variance)`` and the loss: the target is
``t = f* + noise`` (section 4.1.4 of [Chu03]_), the label is +1 with probability
``E[exp(-loss(+1, f*))]`` (5.42).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import Interval, check_finite
from pymc_bsvm.evidence.contaminated import ContaminatedNoise
from pymc_bsvm.evidence.student import StudentNoise
from pymc_bsvm.losses.base import ClassificationLoss, Loss, RegressionLoss
from pymc_bsvm.losses.convolution import Convolution, one_side
from pymc_bsvm.losses.piece import log_one_minus_exp

__all__ = [
    "ClassPredictive",
    "Noise",
    "RegressionPredictive",
    "log_predictive_density",
    "predictive",
]

type Noise = RegressionLoss | StudentNoise | ContaminatedNoise
"""What is added to the function."""
type RandomSeed = int | np.random.Generator | np.random.SeedSequence | None

_NONNEGATIVE = Interval(low=0.0, includes_low=True)


@dataclass(frozen=True, eq=False)
class _Predictive[L: (Noise, ClassificationLoss)]:
    """A Gaussian latent value seen through a loss."""

    latent_mean: Array
    latent_variance: Array
    loss: L

    task: ClassVar[str]

    def __post_init__(self) -> None:
        """Check the fields and store the arrays broadcast against each other."""
        _check_loss(self.loss, self.task)
        check_finite("latent_mean", self.latent_mean, "Pass the means of the latent values.")
        _NONNEGATIVE.check("latent_variance", self.latent_variance)
        arrays = [np.asarray(x, dtype=float) for x in (self.latent_mean, self.latent_variance)]
        try:
            shape = np.broadcast_shapes(*(x.shape for x in arrays))
        except ValueError:
            raise ValueError(
                f"latent_mean and latent_variance have the shapes {np.shape(self.latent_mean)} and "
                f"{np.shape(self.latent_variance)}, which do not fit together. "
                "Pass one variance for each mean."
            ) from None
        mean, variance = (np.broadcast_to(x, self.loss.shape_with(shape)) for x in arrays)
        object.__setattr__(self, "latent_mean", mean)
        object.__setattr__(self, "latent_variance", variance)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the latent means, variances and parameters after broadcasting."""
        return self.latent_mean.shape


@dataclass(frozen=True, eq=False)
class RegressionPredictive(_Predictive[Noise]):
    """The distribution of targets ``t = f* + noise`` with ``f* ~ N(latent_mean, latent_variance)``.

    The noise has the density ``exp(-loss) / Z``. The density of the sum is exact and in closed form
    for SILF and its relatives, for Gaussian noise and where a share of these is wider, by
    quadrature for other losses.

    Parameters
    ----------
    latent_mean : array_like
        Means of the latent values, in units of the target.
    latent_variance : array_like
        Variances of the latent values without the noise, in squared units of the target; not
        negative. Where it is zero, the target is the mean plus noise.
    loss : RegressionLoss, StudentNoise or ContaminatedNoise
        The negative log density of the noise, or noise for predictions alone. Vectors of
        parameters belong to the last axis of the latent values: one number for each predicted row.

    Raises
    ------
    ValueError
        If a mean or a variance is not finite, a variance is negative, or the loss is not one of
        regression.

    Notes
    -----
    All arguments broadcast against the fields. Methods of targets return 0, 1 or -inf at infinite
    targets and NaN at NaN.

    References
    ----------
    [Chu03]_, (4.46) and what follows it; [CKO04]_; [RW06]_, (2.25) for Gaussian noise.
    """

    task = "regression"

    @property
    def mean(self) -> Array:
        """Means of the targets, those of the latent values and of the noise together."""
        return self.latent_mean + self.loss.mean()

    @property
    def variance(self) -> Array:
        """Variances of the targets, those of the latent values and of the noise together."""
        return self.latent_variance + self.loss.variance()

    def logpdf(self, t: ArrayLike) -> Array:
        """Return the log predictive density, in nats, at targets ``t``."""
        return self._of_residual(_log_density, t, (-np.inf, -np.inf))

    def pdf(self, t: ArrayLike) -> Array:
        """Return the predictive density at targets ``t``, per unit of the target."""
        return np.exp(self.logpdf(t))

    def logcdf(self, t: ArrayLike) -> Array:
        """Return the log probability of a target of at most ``t``."""
        return self._of_residual(_log_below, t, (-np.inf, 0.0))

    def cdf(self, t: ArrayLike) -> Array:
        """Return the probability of a target of at most ``t``."""
        return np.exp(self.logcdf(t))

    def logsf(self, t: ArrayLike) -> Array:
        """Return the log probability of a target above ``t``."""
        return self._of_residual(_log_above, t, (0.0, -np.inf))

    def quantile(self, u: ArrayLike) -> Array:
        """Return the targets below which a share ``u`` of the distribution lies.

        Parameters
        ----------
        u : array_like
            Probabilities; NaN is returned for those outside [0, 1].

        Returns
        -------
        ndarray
            Solutions of ``cdf(t) = u``, to 1e-12 of the smaller of ``u`` and ``1 - u``.
        """
        u, mean, variance = np.broadcast_arrays(
            np.asarray(u, dtype=float), self.latent_mean, self.latent_variance
        )
        t = np.where(u == 0.0, -np.inf, np.where(u == 1.0, np.inf, np.nan))
        inside = (u > 0.0) & (u < 1.0)
        if inside.any():
            d = self._noise(inside).quantile(u[inside], variance[inside])
            t[inside] = mean[inside] + d
        return t

    def draws(
        self, size: int | tuple[int, ...] | None = None, random_seed: RandomSeed = None
    ) -> Array:
        """Draw targets: a Gaussian latent value plus noise.

        Parameters
        ----------
        size : int or tuple of int, optional
            Leading shape of the result.
        random_seed : int, numpy.random.SeedSequence, numpy.random.Generator or None
            Seed, or the generator to use.

        Returns
        -------
        ndarray of shape ``(*size, *shape)``
            Independent draws.
        """
        rng = np.random.default_rng(random_seed)
        leading = () if size is None else tuple(np.atleast_1d(size))
        shape = (*leading, *self.shape)
        latent = self.latent_mean + np.sqrt(self.latent_variance) * rng.standard_normal(shape)
        return np.asarray(latent + self.loss.draw(rng, shape))

    def _noise(self, mask: NDArray[np.bool_]) -> Convolution:
        """Return the convolution for the elements of a mask, whose last axis are the rows."""
        return self.loss.spread(mask.shape).take(mask.ravel()).convolution()

    def _of_residual(
        self,
        function: Callable[[Convolution, Array, Array], Array],
        t: ArrayLike,
        ends: tuple[float, float],
    ) -> Array:
        """Evaluate a function of residuals and variances; ``ends`` are its limits at -inf, inf."""
        d, variance = np.broadcast_arrays(
            np.asarray(t, dtype=float) - self.latent_mean, self.latent_variance
        )
        result = np.where(d == -np.inf, ends[0], np.where(d == np.inf, ends[1], np.nan))
        finite = np.isfinite(d)
        if finite.any():
            result[finite] = function(self._noise(finite), d[finite], variance[finite])
        return result


@dataclass(frozen=True, eq=False)
class ClassPredictive(_Predictive[ClassificationLoss]):
    """The distribution of labels in {-1, +1} with ``f* ~ N(latent_mean, latent_variance)``.

    The smaller of the two probabilities keeps its relative accuracy, however small; the larger one
    is its complement.

    Parameters
    ----------
    latent_mean : array_like
        Means of the latent values.
    latent_variance : array_like
        Variances of the latent values; not negative. Where it is zero, the latent value is known.
    loss : ClassificationLoss
        A loss with a normaliser. Vectors of parameters belong to the last axis of the latent
        values: one number for each predicted row.

    Raises
    ------
    ValueError
        If a mean or a variance is not finite, a variance is negative, or the loss is not the
        negative log probability of a label.

    References
    ----------
    [Chu03]_, (5.42); [RW06]_, (3.25) and (3.82).
    """

    task = "classification"

    def log_probability(self, y: ArrayLike = 1) -> Array:
        """Return the log probability, in nats, of labels ``y`` in {-1, +1}."""
        self.loss.check_targets(y)
        margin, variance = np.broadcast_arrays(
            np.asarray(y, dtype=float) * self.latent_mean, self.latent_variance
        )
        loss = self.loss.spread(margin.shape)
        log_smaller = loss.log_average(-np.abs(margin).ravel(), variance.ravel())
        log_smaller = np.minimum(log_smaller, -math.log(2.0)).reshape(margin.shape)
        likely = np.where(margin > 0.0, log_one_minus_exp(log_smaller), log_smaller)
        return np.where(margin == 0.0, -math.log(2.0), likely)  # both labels alike: one half

    def probability(self, y: ArrayLike = 1) -> Array:
        """Return the probability of labels ``y`` in {-1, +1}."""
        return np.exp(self.log_probability(y))


def predictive(
    loss: Loss, mean: ArrayLike, variance: ArrayLike
) -> RegressionPredictive | ClassPredictive:
    """Return the predictive distribution of targets or labels, as the loss has it.

    Parameters
    ----------
    loss : Loss
        A normalised loss.
    mean, variance : array_like
        Means and variances of the latent values; they broadcast against each other.

    Returns
    -------
    RegressionPredictive or ClassPredictive
    """
    _check_loss(loss, getattr(loss, "task", ""))
    kinds: dict[str, Any] = {
        "regression": RegressionPredictive,
        "classification": ClassPredictive,
    }
    distribution: RegressionPredictive | ClassPredictive = kinds[loss.task](mean, variance, loss)
    return distribution


def log_predictive_density(loss: Loss, y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Array:
    """Return the log predictive density of targets, or the log probability of labels, in nats.

    Parameters
    ----------
    loss : Loss
        A normalised loss.
    y : array_like
        Targets, or labels in {-1, +1}.
    mean, variance : array_like
        Means and variances of the latent values; all three broadcast.

    Returns
    -------
    ndarray
        One value for each of the broadcast arguments.
    """
    distribution = predictive(loss, mean, variance)
    loss.check_targets(y)
    if isinstance(distribution, RegressionPredictive):
        return distribution.logpdf(y)
    return distribution.log_probability(y)


def _log_density(noise: Convolution, d: Array, variance: Array) -> Array:
    return noise.log_density(d, variance)


def _log_below(noise: Convolution, d: Array, variance: Array) -> Array:
    return one_side(noise.log_tail(d, variance), d, below=True)


def _log_above(noise: Convolution, d: Array, variance: Array) -> Array:
    return one_side(noise.log_tail(d, variance), d, below=False)


def _check_loss(loss: Any, task: str) -> None:
    """Raise unless ``loss`` is a normalised loss of the task, or noise for predictions alone."""
    if isinstance(loss, StudentNoise) and task == "regression":
        return
    if isinstance(loss, ContaminatedNoise) and task == "regression":
        loss = loss.core
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be a loss object, but got {loss!r} of type {type(loss).__name__}. "
            "Pass one of pymc_bsvm.losses, such as SILF(C=1.0, epsilon=0.1)."
        )
    if loss.task != task:
        raise ValueError(
            f"{type(loss).__name__} is a loss of {loss.task}, but {task} was asked for. "
            "Call predictive(loss, mean, variance), which chooses by the loss."
        )
    if not loss.normalized:
        raise ValueError(
            f"{type(loss).__name__} is not a negative log likelihood and predicts no probability. "
            "Use Trigonometric, Logistic or Probit where probabilities are needed."
        )
