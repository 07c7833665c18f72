"""The squared loss of Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm._validation import positive
from pymc_bsvm.losses.base import Formulas
from pymc_bsvm.losses.convolution import Convolution, GaussianConvolution
from pymc_bsvm.losses.gaussian_tail import make_erfcx
from pymc_bsvm.losses.noise import NoiseFormulas, NoiseLoss
from pymc_bsvm.losses.tilted import Tilted

__all__ = ["Gaussian"]

_ROOT2 = math.sqrt(2.0)


@dataclass(frozen=True)
class Gaussian(NoiseLoss):
    """The squared residual, ``r² / (2 sigma²)``; with it the model is Gaussian process regression.

    Parameters
    ----------
    sigma : float or array of one by row
        Standard deviation of the noise, in units of the target; positive.

    References
    ----------
    [RW06]_, chapter 2.
    """

    sigma: Parameter

    domains = MappingProxyType({"sigma": positive})
    units = MappingProxyType({"sigma": 1})

    def convolution(self) -> Convolution:
        """Return a normal distribution: variances add."""
        return GaussianConvolution(self)

    @staticmethod
    def blurring(xp: Any) -> Callable[..., Tilted]:
        """State the log density of a normal distribution, and its derivatives: variances add."""

        def blurred(centre: Any, variance: Any, sigma: Any) -> Tilted:
            total = variance + sigma * sigma
            log_z = -0.5 * (xp.log(2.0 * math.pi * total) + centre * (centre / total))
            spread = variance / total * sigma * sigma
            return Tilted(log_z, -centre / total, 1.0 / total, spread)

        return blurred

    def blurred_slopes(self, centre: Array, variance: Array) -> Array:
        """Return the derivative with respect to ``sigma``."""
        total = variance + self.variance()
        return np.atleast_2d(self.sigma * ((centre / total) ** 2 - 1.0 / total))

    @staticmethod
    def formulas(xp: Any) -> Formulas:
        """State the squared loss."""

        def value(y: Any, f: Any, sigma: Any) -> Any:
            return 0.5 * ((y - f) / sigma) * ((y - f) / sigma)

        def derivative(y: Any, f: Any, sigma: Any) -> Any:
            return -(y - f) / sigma / sigma

        def curvature(y: Any, f: Any, sigma: Any) -> Any:
            return 1.0 / sigma / sigma + 0.0 * (y - f)

        def conjugate(y: Any, a: Any, sigma: Any) -> Any:
            return 0.5 * (sigma * a) * (sigma * a) - a * y

        def dual_domain(y: Any, sigma: Any) -> tuple[Any, Any]:
            return -math.inf, math.inf

        def log_normalizer(sigma: Any) -> Any:
            return xp.log(sigma) + 0.5 * math.log(2.0 * math.pi)

        return Formulas(value, derivative, curvature, conjugate, dual_domain, log_normalizer)

    @staticmethod
    def noise(xp: Any) -> NoiseFormulas:
        """State the normal distribution with both tails precise."""
        erfcx = make_erfcx(xp)

        def variance(sigma: Any) -> Any:
            return sigma * sigma

        def log_cdf(r: Any, sigma: Any) -> Any:
            x = xp.where(r > 0.0, r, -r) / (_ROOT2 * sigma)
            beyond = 0.5 * erfcx(x)
            common = xp.log1p(-beyond * xp.exp(-x * x))
            return xp.where(r > 0.0, common, xp.log(beyond) - x * x)

        def quantile(u: Any, sigma: Any) -> Any:
            rare = _ROOT2 * sigma * xp.erfcinv(2.0 * xp.minimum(u, 1.0 - u))
            return xp.sign(u - 0.5) * rare

        return NoiseFormulas(variance, log_cdf, quantile)

    @staticmethod
    def envelope_parameters(h: Any, sigma: Any) -> tuple[Any, ...]:
        """Return the parameter of the Moreau envelope, which has h more of variance."""
        return ((sigma * sigma + h) ** 0.5,)

    @staticmethod
    def stiffness(sigma: Any) -> Any:
        """Return the curvature."""
        return 1.0 / sigma / sigma


Gaussian.envelope_type = Gaussian
