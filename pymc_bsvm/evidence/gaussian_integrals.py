"""A likelihood averaged over a Gaussian latent value, in logarithms.

`convolution` (regression) and `log_average` (classification) choose how by the type of the loss: in
closed form where the loss consists of parabolas and lines (`pymc_bsvm.evidence.piece`), else by
quadrature, which serves any normalised loss through its formulas. A closed form for a new loss is
registered with them. `knots` tells the quadrature where a loss changes its formula. Where
parameters of a loss are vectors, they belong to the elements of the other arguments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce, singledispatch
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from pymc_bsvm.evidence.piece import Piece, mills_ratio
from pymc_bsvm.evidence.quadrature import log_integral
from pymc_bsvm.losses import (
    SILF,
    EpsilonInsensitive,
    Gaussian,
    Huber,
    Laplace,
    Logistic,
    Probit,
    Trigonometric,
)
from pymc_bsvm.losses.base import (
    Array,
    ClassificationLoss,
    Loss,
    Parameter,
    RegressionLoss,
    formulas,
)

__all__ = ["Convolution", "convolution", "knots", "log_average"]

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
_STEP_WIDTH = 9.0  # Phi is 0 or 1 to 1e-19 beyond so many standard deviations
_LOGISTIC_WIDTH = 40.0  # exp(-40) is 4e-18
_NEGLIGIBLE = 1e-30  # ratio of two standard deviations below which their sum is the larger one


@singledispatch
def knots(loss: Loss) -> tuple[Parameter, ...]:
    """Return the residuals or margins at which the loss is less smooth; none need be known."""
    return ()


@knots.register
def _(loss: SILF) -> tuple[Parameter, ...]:
    return _symmetric(
        loss.epsilon - loss.beta * loss.epsilon, loss.epsilon + loss.beta * loss.epsilon
    )


@knots.register
def _(loss: Huber) -> tuple[Parameter, ...]:
    return _symmetric(2.0 * loss.epsilon)


@knots.register
def _(loss: EpsilonInsensitive) -> tuple[Parameter, ...]:
    return _symmetric(loss.epsilon)


@knots.register
def _(loss: Laplace) -> tuple[Parameter, ...]:
    return (0.0,)


@knots.register
def _(loss: Trigonometric) -> tuple[Parameter, ...]:
    return _symmetric(loss.delta)


@knots.register
def _(loss: Logistic) -> tuple[Parameter, ...]:
    return (-_LOGISTIC_WIDTH, 0.0, _LOGISTIC_WIDTH)  # a line to rounding, the bend, and zero


def _symmetric(*positive: Parameter) -> tuple[Parameter, ...]:
    return (*(-knot for knot in reversed(positive)), *positive)


# ---- regression: noise plus a Gaussian ---------------------------------------------------------


@dataclass(frozen=True)
class Convolution:
    """The sum of noise with density ``exp(-loss) / Z`` and of ``N(0, variance)``, by quadrature.

    All methods take and return arrays of shape (n,).
    """

    loss: RegressionLoss

    def take(self, rows: Any) -> Convolution:
        """Return the convolution for some of the n elements: for an index or a mask."""
        return convolution(self.loss.take(rows))

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
        """Return the log density where the variance is positive.

        The variable of integration is the narrower of the two summands, in its standard deviations.
        """
        scale, sd = np.sqrt(self.loss.variance()), np.sqrt(variance)
        stated, parameters = formulas(type(self.loss)), self.loss.by_row(d.size)
        wide = sd > scale
        origin, unit = np.where(wide, 0.0, d), np.where(wide, scale, sd)  # r = origin + unit x
        start, rate = np.where(wide, -d / sd, 0.0), unit / sd  # (r - d) / sd = start + rate x

        def energy(x: Array, origin: Array, unit: Array, start: Array, rate: Array, *p: Any) -> Any:
            return stated.value(origin + unit * x, 0.0, *p) + 0.5 * (start + rate * x) ** 2

        def slope(x: Array, origin: Array, unit: Array, start: Array, rate: Array, *p: Any) -> Any:
            uphill = -stated.derivative(origin + unit * x, 0.0, *p)
            return unit * uphill + rate * (start + rate * x)

        breaks = [(knot - origin) / unit for knot in knots(self.loss)]
        log_mass = log_integral(energy, slope, (origin, unit, start, rate, *parameters), breaks)
        return log_mass + np.log(rate) - _LOG_ROOT_2PI - self.loss.log_normalizer()

    def log_tail(self, d: Array, variance: Array) -> Array:
        """Return the log probability of a sum beyond ``d``: above it if ``d >= 0``, else below.

        It is the average of ``Phi(±(r - d) / sd)`` over the noise r.
        """
        scale = np.sqrt(np.broadcast_to(self.loss.variance(), d.shape))
        stated, parameters = formulas(type(self.loss)), self.loss.by_row(d.size)
        side = np.where(d < 0.0, -1.0, 1.0)
        edge, blur = d / scale, np.maximum(np.sqrt(variance) / scale, _NEGLIGIBLE)

        def energy(x: Array, scale: Array, side: Array, edge: Array, blur: Array, *p: Any) -> Any:
            share = log_ndtr(side * ((x - edge) / blur))
            return stated.value(scale * x, 0.0, *p) - share

        def slope(x: Array, scale: Array, side: Array, edge: Array, blur: Array, *p: Any) -> Any:
            hazard = 1.0 / mills_ratio(-side * ((x - edge) / blur))
            return -scale * stated.derivative(scale * x, 0.0, *p) - side * (hazard / blur)

        breaks = [knot / scale for knot in knots(self.loss)]
        breaks += [edge - _STEP_WIDTH * blur, edge, edge + _STEP_WIDTH * blur]
        log_mass = log_integral(energy, slope, (scale, side, edge, blur, *parameters), breaks)
        return np.minimum(log_mass + np.log(scale) - self.loss.log_normalizer(), 0.0)


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


@singledispatch
def convolution(loss: RegressionLoss) -> Convolution:
    """Return the convolution of the noise of a loss with Gaussians."""
    return Convolution(loss)


@convolution.register
def _(loss: Gaussian) -> Convolution:
    return GaussianConvolution(loss)


@convolution.register(SILF)
@convolution.register(Huber)
def _(loss: SILF | Huber) -> Convolution:  # (2.28)
    C, epsilon, beta = loss.parameters
    bend = beta * epsilon
    lo, hi = epsilon - bend, epsilon + bend
    flat = Piece(0.0, lo, 0.0, 0.0, 0.0, 0.0)
    parabola = Piece(lo, hi, 0.0, 0.0, C, C * bend)
    line = Piece(hi, math.inf, C * bend, C, C, math.inf)
    return PiecewiseConvolution(loss, (flat, parabola, line))


@convolution.register(EpsilonInsensitive)
@convolution.register(Laplace)
def _(loss: EpsilonInsensitive | Laplace) -> Convolution:  # (2.27), (2.24)
    C, epsilon = loss.parameters
    flat = Piece(0.0, epsilon, 0.0, 0.0, 0.0, 0.0)
    line = Piece(epsilon, math.inf, 0.0, C, C, math.inf)
    return PiecewiseConvolution(loss, (flat, line))


# ---- classification: the probability of a label ------------------------------------------------


@singledispatch
def log_average(loss: ClassificationLoss, margin: Array, variance: Array) -> Array:
    """Return ``log E[exp(-loss(z)) / Z]`` for margins ``z ~ N(margin, variance)``, by quadrature.

    Parameters
    ----------
    loss : ClassificationLoss
        A loss with a normaliser.
    margin, variance : ndarray of shape (n,)
        Means and variances of ``z = y f``, in units of f.

    Returns
    -------
    ndarray of shape (n,)
    """
    log_average = -loss.value(1.0, margin) - loss.log_normalizer()
    blurred = variance > 0.0
    if blurred.any():
        part = loss.take(blurred)
        log_average[blurred] = _log_blurred_average(part, margin[blurred], variance[blurred])
    return log_average


def _log_blurred_average(loss: ClassificationLoss, margin: Array, variance: Array) -> Array:
    stated = formulas(type(loss))

    def energy(x: Array, margin: Array, sd: Array, *p: Array) -> Any:
        return stated.value(1.0, margin + sd * x, *p) + 0.5 * x * x

    def slope(x: Array, margin: Array, sd: Array, *p: Array) -> Any:
        return sd * stated.derivative(1.0, margin + sd * x, *p) + x

    sd = np.sqrt(variance)
    with np.errstate(over="ignore"):
        breaks = [(knot - margin) / sd for knot in knots(loss)]
    log_mass = log_integral(energy, slope, (margin, sd, *loss.by_row(sd.size)), breaks)
    return log_mass - _LOG_ROOT_2PI - loss.log_normalizer()


@log_average.register
def _(loss: Probit, margin: Array, variance: Array) -> Array:  # (3.82) of [RW06]_
    return np.asarray(log_ndtr(margin / np.sqrt(1.0 + variance)))
