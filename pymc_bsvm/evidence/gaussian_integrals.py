"""A likelihood averaged over a Gaussian latent value, in logarithms.

Two tools serve all losses. `Piece` integrates ``exp(-loss)`` times a Gaussian in closed form where
the loss is a parabola or a line. `log_integral` integrates any log-concave function by adaptive
quadrature. Both start from the highest point of the integrand, add positive terms only and return a
logarithm, so that neither the far tails nor extreme scales cost digits.

`convolution` (regression) and `log_average` (classification) choose the tool by the type of the
loss. Quadrature, the default, serves any normalised loss through its own methods; a closed form for
a new loss is registered with them. `knots` tells the quadrature where a loss changes its formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce, singledispatch
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr

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
from pymc_bsvm.losses.base import Array, ClassificationLoss, Loss, RegressionLoss

__all__ = [
    "Convolution",
    "Piece",
    "convolution",
    "knots",
    "log_average",
    "log_integral",
    "log_one_minus_exp",
]

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)

_NODES, _WEIGHTS = (0.5 * x for x in np.polynomial.legendre.leggauss(14))
_NODES = _NODES + 0.5  # on the unit interval
_DEEP = 45.0  # the integrand is cut where it has fallen by exp(-45): 3e-20
_TOLERANCE = 1e-13  # share of the integral by which halving a panel may change it
_FLAT_ENOUGH = 0.5  # nats by which the starting point may miss the maximum
_GRADING = (5e-2, 2e-3, 1e-4)  # panels shrink towards the top, which often is a sharp shoulder
_FIRST_STEP = 1e-25
_STEP_WIDTH = 9.0  # Phi is 0 or 1 to 1e-19 beyond so many standard deviations
_LOGISTIC_WIDTH = 40.0  # exp(-40) is 4e-18
_NEGLIGIBLE = 1e-30  # ratio of two standard deviations below which their sum is the larger one
_MOST_DOUBLINGS = 1100  # the range of the exponents of floats
_MOST_BISECTIONS = 1100
_MOST_NARROWINGS = 40
_MOST_HALVINGS = 60
_MOST_PANELS = 400  # for each integral


def log_one_minus_exp(x: Array) -> Array:
    """Return ``log(1 - exp(x))`` for ``x <= 0``."""
    x = np.minimum(x, 0.0)
    with np.errstate(divide="ignore"):
        small = np.log(-np.expm1(np.maximum(x, -1.0)))
    return np.where(x > -1.0, small, np.log1p(-np.exp(np.minimum(x, -1.0))))


# ---- one parabola or line times a Gaussian -----------------------------------------------------


@dataclass(frozen=True)
class Piece:
    """A stretch on which the loss of the residual is a parabola or a line.

    Parameters
    ----------
    left, right : float
        The ends, in units of the target; ``right`` may be infinite.
    value : float
        The loss at the left end, in nats.
    slope_left, slope_right : float
        The derivatives at the two ends; those of neighbouring pieces must be the same floats where
        the loss is smooth.
    value_right : float
        The loss at the right end.
    """

    left: float
    right: float
    value: float
    slope_left: float
    slope_right: float
    value_right: float

    @property
    def curvature(self) -> float:
        """The second derivative."""
        rise = self.slope_right - self.slope_left
        return rise / (self.right - self.left) if rise else 0.0

    def log_integral(self, d: Array, variance: Array) -> Array:
        """Return the log of the integral of ``exp(-loss(r)) N(r; d, variance)`` over the piece.

        The exponent ``E(r) = loss(r) + (r - d)² / (2 variance)`` is a convex parabola. It is
        anchored at its lowest point in the piece; away from there the integrand only falls.
        """
        kappa = self.curvature
        bend = kappa + 1.0 / variance
        from_left, from_right = self.left - d, self.right - d
        up_left = self.slope_left + from_left / variance  # E' at the two ends
        up_right = self.slope_right + from_right / variance
        width = self.right - self.left

        step = (-from_left - self.slope_left * variance) / (1.0 + kappa * variance)
        step = np.clip(step, 0.0, width)  # from the left end to the minimum
        shortfall = (self.slope_left - kappa * from_left) / (1.0 + kappa * variance)
        inside = (
            self.value
            + self.slope_left * step
            + 0.5 * kappa * step * step
            + 0.5 * variance * shortfall * shortfall
        )
        at_left = self.value + 0.5 * from_left * (from_left / variance)
        at_right = self.value_right + 0.5 * from_right * (from_right / variance)
        lowest = np.where(up_left >= 0.0, at_left, np.where(up_right <= 0.0, at_right, inside))

        left_side = np.where(up_left >= 0.0, 0.0, np.where(up_right <= 0.0, width, -up_left / bend))
        right_side = np.where(
            up_right <= 0.0, 0.0, np.where(up_left >= 0.0, width, up_right / bend)
        )
        total = falling_integral(np.maximum(-up_right, 0.0), bend, left_side)
        total = total + falling_integral(np.maximum(up_left, 0.0), bend, right_side)
        return np.log(total) - lowest - 0.5 * np.log(variance) - _LOG_ROOT_2PI


def falling_integral(slope: Array, bend: Array, width: Array) -> Array:
    """Return the integral of ``exp(-slope x - bend x² / 2)`` on ``[0, width]``.

    ``slope >= 0``, ``bend > 0``, and ``width`` may be infinite. Where the integrand falls far, it
    is a difference of two of Mills' ratios of which the second is damped; where it hardly falls,
    Gauss-Legendre is exact to rounding and nothing cancels.
    """
    fall = np.where(width > 0.0, width * (slope + 0.5 * bend * width), 0.0)
    near = np.where(fall < 1.0, width, 0.0)
    x = near[..., None] * _NODES
    smooth = np.exp(-x * (slope[..., None] + 0.5 * bend[..., None] * x)) @ _WEIGHTS * near
    root = np.sqrt(bend)
    start = slope / root
    far = (mills_ratio(start) - np.exp(-fall) * mills_ratio(start + width * root)) / root
    return np.where(fall < 1.0, smooth, far)


def mills_ratio(x: Array) -> Array:
    """Return ``(1 - Phi(x)) / phi(x)``."""
    return np.asarray(math.sqrt(0.5 * math.pi) * erfcx(x / math.sqrt(2.0)))


# ---- any log-concave function ------------------------------------------------------------------


def log_integral(
    energy: Callable[..., Any],
    slope: Callable[..., Any],
    parameters: Sequence[Array],
    breaks: Sequence[Array] = (),
) -> Array:
    """Return the logs of the integrals of ``exp(-energy(x))`` over the line, for n convex energies.

    Parameters
    ----------
    energy : callable
        ``(x, *parameters)``: the exponent, convex in x, +inf where the integrand is zero. It has to
        vary on scales that are not absurdly far from one near its minimum or on the way to it.
    slope : callable
        ``(x, *parameters)``: a derivative of the energy, of the right sign where it is infinite.
    parameters : sequence of ndarray of shape (n,)
        What tells the n energies apart; both callables receive them aligned with ``x``.
    breaks : sequence of ndarray of shape (n,)
        Points at which the energy is known to be less smooth or to turn.

    Returns
    -------
    ndarray of shape (n,)
        Accurate to about 1e-13, or to the rounding of the energy where that is larger.
    """
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        left, top, right = _lowest_point(slope, parameters)
        for end in (left, right):  # where the middle of the last bracket is behind a wall
            top = np.where(np.isinf(energy(top, *parameters)), end, top)
        least = energy(top, *parameters)
        possible = np.isfinite(least)
        if not possible.all():
            result = np.full(top.shape, -np.inf)
            if possible.any():
                kept = [[p[possible] for p in group] for group in (parameters, breaks)]
                result[possible] = log_integral(energy, slope, *kept)
            return result
        left, right = (_where_deep(energy, parameters, top, least, side) for side in (-1.0, 1.0))
        inner = [np.clip(np.nan_to_num(b), left, right) for b in breaks]
        graded = [top + (end - top) * share for end in (left, right) for share in _GRADING]
        edges = np.sort(np.stack([left, top, right, *graded, *inner], axis=1), axis=1)

        def integrand(x: Array, owner: Any) -> Array:
            p = [parameter[owner, None] for parameter in parameters]
            return np.asarray(np.exp(least[owner, None] - energy(x, *p)))

        tolerance = _TOLERANCE + 8.0 * np.finfo(float).eps * (1.0 + np.abs(least))
        return np.asarray(np.log(_adaptive(integrand, edges, tolerance)) - least)


def _lowest_point(
    slope: Callable[..., Any], parameters: Sequence[Array]
) -> tuple[Array, Array, Array]:
    """Return brackets of the minima, and points that miss them by less than half a nat."""
    left = _first_descent(slope, parameters, -1.0)
    right = _first_descent(slope, parameters, 1.0)
    middle = 0.5 * (left + right)
    for _ in range(_MOST_BISECTIONS):
        rise = slope(middle, *parameters)
        left, right = np.where(rise <= 0.0, middle, left), np.where(rise > 0.0, middle, right)
        close = np.abs(rise) * (right - left) <= _FLAT_ENOUGH
        following = np.where(close, middle, 0.5 * (left + right))
        if np.all(close | (following == left) | (following == right)):
            break
        middle = following
    return left, middle, right


def _first_descent(slope: Callable[..., Any], parameters: Sequence[Array], side: float) -> Array:
    """Walk from zero in doubling steps until the energy no longer falls outwards."""
    x = np.full(parameters[0].shape, side)
    for _ in range(_MOST_DOUBLINGS):
        falls = side * slope(x, *parameters) < 0.0
        if not falls.any():
            break
        x = np.where(falls, 2.0 * x, x)
    return x


def _where_deep(
    energy: Callable[..., Any],
    parameters: Sequence[Array],
    top: Array,
    least: Array,
    side: float,
) -> Array:
    """Return points on one side beyond which a convex energy leaves nothing to integrate.

    Bisection brings them close: a panel that ends hundreds of nats deep would look empty.
    """

    def depth(step: Array) -> Array:
        return np.asarray(energy(top + side * step, *parameters) - least)

    outer = np.full(top.shape, _FIRST_STEP)
    inner = np.zeros(top.shape)
    for _ in range(_MOST_DOUBLINGS):
        shallow = depth(outer) < _DEEP
        if not shallow.any():
            break
        inner, outer = np.where(shallow, outer, inner), np.where(shallow, 4.0 * outer, outer)
    for _ in range(_MOST_NARROWINGS):
        too_deep = depth(outer) > 2.0 * _DEEP
        if not too_deep.any():
            break
        middle = 0.5 * (inner + outer)
        shallow = depth(middle) < _DEEP
        inner = np.where(too_deep & shallow, middle, inner)
        outer = np.where(too_deep & ~shallow, middle, outer)
    return top + side * outer


def _adaptive(integrand: Callable[..., Array], edges: Array, tolerance: Array) -> Array:
    """Integrate over all panels between the edges, halving those that halving still changes."""
    n, m = edges.shape
    owner = np.repeat(np.arange(n), m - 1)
    left, right = edges[:, :-1].ravel(), edges[:, 1:].ravel()

    def panel(left: Array, right: Array, owner: Any) -> Array:
        width = right - left
        return integrand(left[:, None] + width[:, None] * _NODES, owner) @ _WEIGHTS * width

    def by_owner(values: Array) -> Array:
        return np.bincount(owner, values, minlength=n)

    value, done = panel(left, right, owner), np.zeros(n)
    for _ in range(_MOST_HALVINGS):
        middle = 0.5 * (left + right)
        halves = panel(left, middle, owner), panel(middle, right, owner)
        refined = halves[0] + halves[1]
        total = done + by_owner(refined)
        changed = np.abs(refined - value) > (tolerance * total)[owner]
        done += by_owner(np.where(changed, 0.0, refined))
        if not changed.any():
            return done
        left, right = (
            np.concatenate([left[changed], middle[changed]]),
            np.concatenate([middle[changed], right[changed]]),
        )
        value = np.concatenate([half[changed] for half in halves])
        owner = np.tile(owner[changed], 2)
        if owner.size > _MOST_PANELS * n:
            break
    return done + by_owner(value)


# ---- where a loss changes its formula ----------------------------------------------------------


@singledispatch
def knots(loss: Loss) -> tuple[float, ...]:
    """Return the residuals or margins at which the loss is less smooth; none need be known."""
    return ()


@knots.register
def _(loss: SILF) -> tuple[float, ...]:
    return _symmetric(
        loss.epsilon - loss.beta * loss.epsilon, loss.epsilon + loss.beta * loss.epsilon
    )


@knots.register
def _(loss: Huber) -> tuple[float, ...]:
    return _symmetric(2.0 * loss.epsilon)


@knots.register
def _(loss: EpsilonInsensitive) -> tuple[float, ...]:
    return _symmetric(loss.epsilon)


@knots.register
def _(loss: Laplace) -> tuple[float, ...]:
    return (0.0,)


@knots.register
def _(loss: Trigonometric) -> tuple[float, ...]:
    return _symmetric(loss.delta)


@knots.register
def _(loss: Logistic) -> tuple[float, ...]:
    return (-_LOGISTIC_WIDTH, 0.0, _LOGISTIC_WIDTH)  # a line to rounding, the bend, and zero


def _symmetric(*positive: float) -> tuple[float, ...]:
    return (*(-knot for knot in reversed(positive)), *positive)


# ---- regression: noise plus a Gaussian ---------------------------------------------------------


@dataclass(frozen=True)
class Convolution:
    """The sum of noise with density ``exp(-loss) / Z`` and of ``N(0, variance)``, by quadrature.

    All methods take and return arrays of shape (n,).
    """

    loss: RegressionLoss

    def log_density(self, d: Array, variance: Array) -> Array:
        """Return the log density of the sum at ``d``."""
        log_density = -self.loss.value(d, 0.0) - self.loss.log_normalizer()
        blurred = variance > _NEGLIGIBLE**2 * self.loss.variance()
        if blurred.any():
            with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
                log_density[blurred] = self.log_blurred(d[blurred], variance[blurred])
        return log_density

    def log_blurred(self, d: Array, variance: Array) -> Array:
        """Return the log density where the variance is positive.

        The variable of integration is the narrower of the two summands, in its standard deviations.
        """
        scale, sd = math.sqrt(self.loss.variance()), np.sqrt(variance)
        wide = sd > scale
        origin, unit = np.where(wide, 0.0, d), np.where(wide, scale, sd)  # r = origin + unit x
        start, rate = np.where(wide, -d / sd, 0.0), unit / sd  # (r - d) / sd = start + rate x

        def energy(x: Array, origin: Array, unit: Array, start: Array, rate: Array) -> Array:
            return self.loss.value(origin + unit * x, 0.0) + 0.5 * (start + rate * x) ** 2

        def slope(x: Array, origin: Array, unit: Array, start: Array, rate: Array) -> Array:
            uphill = -self.loss.derivative(origin + unit * x, 0.0)
            return unit * uphill + rate * (start + rate * x)

        breaks = [(knot - origin) / unit for knot in knots(self.loss)]
        log_mass = log_integral(energy, slope, (origin, unit, start, rate), breaks)
        return log_mass + np.log(rate) - _LOG_ROOT_2PI - self.loss.log_normalizer()

    def log_tail(self, d: Array, variance: Array) -> Array:
        """Return the log probability of a sum beyond ``d``: above it if ``d >= 0``, else below.

        It is the average of ``Phi(±(r - d) / sd)`` over the noise r.
        """
        scale = math.sqrt(self.loss.variance())
        side = np.where(d < 0.0, -1.0, 1.0)
        edge, blur = d / scale, np.maximum(np.sqrt(variance) / scale, _NEGLIGIBLE)

        def energy(x: Array, side: Array, edge: Array, blur: Array) -> Array:
            share = log_ndtr(side * ((x - edge) / blur))
            return self.loss.value(scale * x, 0.0) - share

        def slope(x: Array, side: Array, edge: Array, blur: Array) -> Array:
            hazard = 1.0 / mills_ratio(-side * ((x - edge) / blur))
            return -scale * self.loss.derivative(scale * x, 0.0) - side * (hazard / blur)

        breaks = [np.full(d.shape, knot / scale) for knot in knots(self.loss)]
        breaks += [edge - _STEP_WIDTH * blur, edge, edge + _STEP_WIDTH * blur]
        log_mass = log_integral(energy, slope, (side, edge, blur), breaks)
        return np.minimum(log_mass + math.log(scale) - self.loss.log_normalizer(), 0.0)


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
        log_average[blurred] = _log_blurred_average(loss, margin[blurred], variance[blurred])
    return log_average


def _log_blurred_average(loss: ClassificationLoss, margin: Array, variance: Array) -> Array:
    def energy(x: Array, margin: Array, sd: Array) -> Array:
        return loss.value(1.0, margin + sd * x) + 0.5 * x * x

    def slope(x: Array, margin: Array, sd: Array) -> Array:
        return sd * loss.derivative(1.0, margin + sd * x) + x

    sd = np.sqrt(variance)
    with np.errstate(over="ignore"):
        breaks = [(knot - margin) / sd for knot in knots(loss)]
    log_mass = log_integral(energy, slope, (margin, sd), breaks)
    return log_mass - _LOG_ROOT_2PI - loss.log_normalizer()


@log_average.register
def _(loss: Probit, margin: Array, variance: Array) -> Array:  # (3.82) of [RW06]_
    return np.asarray(log_ndtr(margin / np.sqrt(1.0 + variance)))
