"""Noise of Student's t distribution, for predictions: its negative logarithm is not convex."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import gammaln, log_ndtr, logsumexp, ndtr, ndtri, stdtrit

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter, positive
from pymc_bsvm.losses.convolution import Convolution

__all__ = ["StudentNoise"]

_LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)
_STEP = 0.3  # of the trapezoidal rule, whose error is exp(-pi² / step)
_DEPTH = 36.0  # nats below the top at which the rule ends
_BLOCK = 4096  # rows at a time
_FEW = 2.5  # degrees of freedom up to which a stand-in has the variance
_TINY = 1e-250  # sums of smaller terms may have lost some to underflow


class _OfNormal(NamedTuple):
    """A function of a normal distribution, ``(d, sd)``, and its logarithm."""

    value: Callable[[Array, Array], Array]
    log: Callable[[Array, Array], Array]


_DENSITY = _OfNormal(
    lambda d, sd: np.exp(-0.5 * (d / sd) ** 2 - _LOG_ROOT_2PI) / sd,
    lambda d, sd: -0.5 * (d / sd) ** 2 - np.log(sd) - _LOG_ROOT_2PI,
)
_TAIL = _OfNormal(
    lambda d, sd: ndtr(-np.abs(d) / sd),
    lambda d, sd: log_ndtr(-np.abs(d) / sd),
)


@dataclass(frozen=True)
class StudentNoise:
    """Noise ``scale t`` with ``t`` of Student's distribution.

    Parameters
    ----------
    nu : float
        Degrees of freedom; the variance is infinite up to 2.
    scale : float
        Unit of the noise, in units of the targets.
    stand_in : float
        Standard deviation to report where there is none, or one that says little: up to 2.5 degrees
        of freedom. In units of the targets.
    """

    nu: float
    scale: float
    stand_in: float = np.inf

    def __post_init__(self) -> None:
        """Check the parameters."""
        for name in ("nu", "scale"):
            object.__setattr__(self, name, as_parameter(name, getattr(self, name), positive))

    def mean(self) -> float:
        """Return the centre of the noise, its mean where that exists."""
        return 0.0

    def variance(self) -> float:
        """Return the variance of the noise, or that of its stand-in."""
        if self.nu <= _FEW and np.isfinite(self.stand_in):
            return self.stand_in**2
        return self.scale**2 * self.nu / (self.nu - 2.0) if self.nu > 2.0 else np.inf

    def scaled(self, unit: float) -> Self:
        """Return the noise in units that are ``unit`` times as small."""
        return type(self)(self.nu, unit * self.scale, unit * self.stand_in)

    def spread(self, shape: tuple[int, ...]) -> Self:
        """Return the noise of rows of a shape: the same for all."""
        return self

    def take(self, rows: Any) -> Self:
        """Return the noise of some rows: the same for all."""
        return self

    def shape_with(self, *shapes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of rows, to which the noise adds nothing."""
        return np.broadcast_shapes(*shapes)

    def convolution(self) -> StudentConvolution:
        """Return the distribution of the noise plus a Gaussian."""
        return StudentConvolution(self)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw noise."""
        return self.scale * rng.standard_t(self.nu, shape)


@dataclass(frozen=True)
class StudentConvolution(Convolution):
    """The sum of Student's noise and of ``N(0, variance)``: Gaussians, mixed over their widths.

    The noise is Gaussian with the variance ``scale² / g`` and g of a gamma distribution with mean 1
    and shape nu / 2 [PRML]_ (2.158). The average over log g is a trapezoidal rule, which converges
    geometrically; all its terms are positive, so that both tails keep their relative accuracy.
    """

    loss: StudentNoise  # type: ignore[assignment]

    symmetric = True

    @property
    def unit(self) -> float:
        """The width of the noise."""
        return self.loss.scale

    def take(self, rows: Any) -> StudentConvolution:
        """Return the convolution for some of the elements: the same."""
        return self

    def log_density(self, d: Array, variance: Array) -> Array:
        """Return the log density of the sum at ``d``."""
        return self._average(_DENSITY, d, variance, 0.5 * (self.loss.nu + 1.0))

    def log_tail(self, d: Array, variance: Array) -> Array:
        """Return the log probability of a sum beyond ``d``, the same on both sides."""
        return np.minimum(self._average(_TAIL, d, variance, 0.5 * self.loss.nu), np.log(0.5))

    def first_quantile(self, u: Array, variance: Array) -> Array:
        """Return where the search for a quantile starts: the farther of the two tails."""
        alone = self.loss.scale * stdtrit(self.loss.nu, u)
        farther = np.hypot(alone, np.sqrt(variance) * ndtri(u))
        return np.asarray(np.where(u < 0.5, -farther, farther))

    def _average(self, function: _OfNormal, d: Array, variance: Array, slope: float) -> Array:
        """Return the log of the average of a function over the widths of the Gaussians.

        ``slope`` is that of the logarithm of the terms in log g where the Gaussians are wide.
        """
        parts = [
            self._average_of_block(function, d[k : k + _BLOCK], variance[k : k + _BLOCK], slope)
            for k in range(0, d.size, _BLOCK)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _average_of_block(
        self, function: _OfNormal, d: Array, variance: Array, slope: float
    ) -> Array:
        shape, scale = 0.5 * self.loss.nu, self.loss.scale
        step = min(_STEP, 0.6 / np.sqrt(slope))
        farthest = np.log1p(np.max(np.abs(d)) / scale) * 2.0
        low = -farthest - _DEPTH / slope - np.sqrt(2.0 * _DEPTH / slope)
        high = np.log1p(_DEPTH / shape + np.sqrt(2.0 * _DEPTH / shape))
        log_g = np.arange(low, high + step, step)
        log_weight = shape * (log_g - np.exp(log_g) + np.log(shape)) - gammaln(shape) + np.log(step)
        with np.errstate(over="ignore", divide="ignore"):  # infinite widths have no density
            sd = np.sqrt(variance[:, None] + scale**2 * np.exp(-log_g))
            average = function.value(d[:, None], sd) @ np.exp(log_weight)
            result = np.log(average)
            far = average < _TINY
            if far.any():
                logs = log_weight + function.log(d[far, None], sd[far])
                result[far] = logsumexp(logs, axis=1)
        return np.asarray(result)
