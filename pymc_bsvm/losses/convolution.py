"""The sum of noise and of a Gaussian: its density, its two tails and its quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_ndtr, ndtri

from pymc_bsvm._typing import Array
from pymc_bsvm.losses.blurred import Blurred, of_argument
from pymc_bsvm.losses.piece import Piece, log_one_minus_exp, mills_ratio
from pymc_bsvm.losses.quadrature import log_integral

if TYPE_CHECKING:
    from pymc_bsvm.losses.base import RegressionLoss

__all__ = ["Convolution", "GaussianConvolution", "PiecewiseConvolution"]

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_STEP_WIDTH = 9.0  # Phi is 0 or 1 to 1e-19 beyond so many standard deviations
_NEGLIGIBLE = 1e-30  # ratio of two standard deviations below which their sum is the larger one
_MOST_STEPS = 200
_SAME_PROBABILITY = 1e-13  # relative; the accuracy of the distribution function


@dataclass(frozen=True)
class Convolution:
    """The sum of noise with density ``exp(-loss) / Z`` and of ``N(0, variance)``, by quadrature.

    All methods take and return arrays of shape (n,).
    """

    loss: RegressionLoss

    def take(self, rows: Any) -> Convolution:
        """Return the convolution for some of the n elements: for an index or a mask."""
        return self.loss.take(rows).convolution()

    def log_density(self, d: Array, variance: Array) -> Array:
        """Return the log density of the sum at ``d``."""
        log_density = -self.loss.value(d, 0.0) - self.loss.log_normalizer()
        blurred = variance > _NEGLIGIBLE**2 * self.loss.variance()
        if blurred.any():
            with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
                part = self.take(blurred)
                log_density[blurred] = part.log_blurred(d[blurred], variance[blurred])
        return log_density

    def log_blurred(self, d: Array, variance: Array) -> Array:
        """Return the log density where the variance is positive."""
        log_mass = Blurred.of(self.loss, d, variance).log_average(self.loss.knots)
        return np.asarray(log_mass - self.loss.log_normalizer())

    def log_tail(self, d: Array, variance: Array) -> Array:
        """Return the log probability of a sum beyond ``d``: above it if ``d >= 0``, else below.

        It is the average of ``Phi(±(r - d) / sd)`` over the noise r.
        """
        scale = np.sqrt(np.broadcast_to(self.loss.variance(), d.shape))
        value, derivative = of_argument(type(self.loss))
        parameters = self.loss.by_row(d.size)
        side = np.where(d < 0.0, -1.0, 1.0)
        edge, blur = d / scale, np.maximum(np.sqrt(variance) / scale, _NEGLIGIBLE)

        def energy(x: Array, scale: Array, side: Array, edge: Array, blur: Array, *p: Any) -> Any:
            share = log_ndtr(side * ((x - edge) / blur))
            return value(scale * x, *p) - share

        def slope(x: Array, scale: Array, side: Array, edge: Array, blur: Array, *p: Any) -> Any:
            hazard = 1.0 / mills_ratio(-side * ((x - edge) / blur))
            return scale * derivative(scale * x, *p) - side * (hazard / blur)

        breaks = [knot / scale for knot in self.loss.knots]
        breaks += [edge - _STEP_WIDTH * blur, edge, edge + _STEP_WIDTH * blur]
        log_mass = log_integral(energy, slope, (scale, side, edge, blur, *parameters), breaks)
        return np.minimum(log_mass + np.log(scale) - self.loss.log_normalizer(), 0.0)

    def first_quantile(self, u: Array, variance: Array) -> Array:
        """Return where the search for a quantile starts: that of a Gaussian as wide."""
        return np.asarray(np.sqrt(variance + self.loss.variance()) * ndtri(u))

    def quantile(self, u: Array, variance: Array) -> Array:
        """Return the sums with a share ``0 < u < 1`` below them, by Newton's method.

        The log probability of the tail in which the residual lies is concave, so that every step
        ends short of the solution and the next ones approach it from outside; bisection guards the
        rounding.
        """
        lower = u <= 0.5
        sign: Array = np.where(lower, 1.0, -1.0)  # x = sign d grows with the tail
        target = np.where(lower, np.log(u), np.log1p(-u))
        accuracy = _SAME_PROBABILITY + 4.0 * np.finfo(float).eps * np.abs(target)
        x: Array = sign * self.first_quantile(u, variance)
        low, high = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
        active = np.arange(x.size)
        for _ in range(_MOST_STEPS):
            now, d, v = x[active], sign[active] * x[active], variance[active]
            part = self.take(active)
            tail = part.log_tail(d, v)
            tail = np.where((d < 0.0) == lower[active], tail, log_one_minus_exp(tail))
            excess = tail - target[active]
            low[active] = np.where(excess < 0.0, now, low[active])
            high[active] = np.where(excess > 0.0, now, high[active])
            with np.errstate(all="ignore"):
                following = now - excess * np.exp(tail - part.log_density(d, v))
                middle = 0.5 * (low[active] + high[active])
            safe = (low[active] < following) & (following < high[active])
            safe &= np.isfinite(following)
            following = np.where(safe, following, np.where(np.isfinite(middle), middle, 0.5 * now))
            moving = (np.abs(excess) > accuracy[active]) & (following != now)
            x[active] = np.where(moving, following, now)
            active = active[moving]
            if not active.size:
                break
        return sign * x


@dataclass(frozen=True)
class PiecewiseConvolution(Convolution):
    """The same for symmetric noise of parabolas and lines: the density is a sum of closed forms.

    The distribution function is not elementary: its parabolic pieces are areas of the bivariate
    normal distribution. It stays with the quadrature, which is accurate in both tails.
    """

    pieces: tuple[Piece, ...]
    """The pieces at nonnegative residuals."""

    def log_blurred(self, d: Array, variance: Array) -> Array:
        """Return the log density where the variance is positive; five pieces for SILF."""
        near = np.abs(d)
        terms = [p.log_integral(side, variance) for p in self.pieces for side in (near, -near)]
        return np.asarray(reduce(np.logaddexp, terms) - self.loss.log_normalizer())

    def log_tail(self, d: Array, variance: Array) -> Array:
        """Return the log probability of a sum beyond ``d``, the same on both sides."""
        return super().log_tail(np.abs(d), variance)


@dataclass(frozen=True)
class GaussianConvolution(Convolution):
    """The same for Gaussian noise: variances add."""

    def log_density(self, d: Array, variance: Array) -> Array:
        """Return the log density of the sum at ``d``, (2.25) of [RW06]_ for one target."""
        sd = np.sqrt(variance + self.loss.variance())
        return -0.5 * (d / sd) ** 2 - np.log(sd) - _LOG_ROOT_2PI

    def log_tail(self, d: Array, variance: Array) -> Array:
        """Return the log probability of a sum beyond ``d``."""
        return np.asarray(log_ndtr(-np.abs(d) / np.sqrt(variance + self.loss.variance())))
