"""The soft insensitive loss function (SILF), section 2.2.4 of [Chu03]_."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm._validation import Interval, positive
from pymc_bsvm.losses.base import Formulas
from pymc_bsvm.losses.gaussian_tail import make_erfcx
from pymc_bsvm.losses.noise import NoiseFormulas
from pymc_bsvm.losses.piece import Piece
from pymc_bsvm.losses.piecewise import PiecewiseNoise
from pymc_bsvm.losses.ramp import make_ramp

__all__ = [
    "SILF",
    "SILF_RAMP_WIDTH",
    "silf_envelope",
    "silf_formulas",
    "silf_noise",
    "silf_pieces",
    "silf_smoothing",
    "silf_stiffness",
]

SILF_RAMP_WIDTH = 1.0


def _make_above_flat(xp: Any) -> Any:
    """Return ``d, epsilon, beta -> d - lo``, lo = (1 - beta) epsilon with its rounding undone."""
    difference = xp.difference

    def above_flat(d: Any, epsilon: Any, beta: Any) -> Any:
        bend = beta * epsilon
        lo = difference(epsilon, bend)
        return difference(difference(d, lo), difference(difference(epsilon, lo), bend))

    return xp.function(above_flat)


def silf_formulas(xp: Any) -> Formulas:
    """State SILF; ``rise`` is how far the residual has climbed the quadratic zone."""
    above_flat = _make_above_flat(xp)

    def rise(y: Any, f: Any, epsilon: Any, beta: Any) -> Any:
        return above_flat(xp.abs(y - f), epsilon, beta)

    rise = xp.function(rise)

    def value(y: Any, f: Any, C: Any, epsilon: Any, beta: Any) -> Any:  # (2.28)
        u, width = rise(y, f, epsilon, beta), 2.0 * beta * epsilon
        s = xp.clip(u / width, 0.0, 1.0)  # maximises, so that derivatives by way of s are zero
        return C * (s * (u - 0.5 * s * width))

    def derivative(y: Any, f: Any, C: Any, epsilon: Any, beta: Any) -> Any:  # (2.29)
        u, width = rise(y, f, epsilon, beta), 2.0 * beta * epsilon
        return -C * xp.sign(y - f) * (xp.clip(u, 0.0, width) / width)

    def curvature(y: Any, f: Any, C: Any, epsilon: Any, beta: Any) -> Any:  # (2.30)
        u, width = rise(y, f, epsilon, beta), 2.0 * beta * epsilon
        return xp.where((u >= 0.0) & (u < width), C / width, 0.0)

    def conjugate(y: Any, a: Any, C: Any, epsilon: Any, beta: Any) -> Any:  # (4.25)
        size = xp.abs(a)
        inside = (1.0 - beta) * epsilon * size + beta * epsilon * size * (size / C) - a * y
        return xp.where(size <= C, inside, math.inf)

    def dual_domain(y: Any, C: Any, epsilon: Any, beta: Any) -> tuple[Any, Any]:
        return -C, C

    def log_normalizer(C: Any, epsilon: Any, beta: Any) -> Any:  # (2.32)
        s = C * beta * epsilon
        mass = C * (1.0 - beta) * epsilon + xp.sqrt(math.pi * s) * xp.erf(xp.sqrt(s)) + xp.exp(-s)
        return xp.log(2.0 * mass / C)

    return Formulas(value, derivative, curvature, conjugate, dual_domain, log_normalizer)


def silf_smoothing(xp: Any) -> Callable[..., Any]:
    """State the curvature with ramps of half width ``width beta epsilon`` at the four knots.

    In the signed residual the knots are at +-lo and +-hi. Where lo is nearer to zero than the ramp
    is wide, the two ramps overlap and cancel, so that Huber's curvature has no dent at zero.
    """
    ramp = make_ramp(xp)

    def curvature(y: Any, f: Any, width: Any, C: Any, epsilon: Any, beta: Any) -> Any:  # (2.30)
        d, bend = xp.abs(y - f), beta * epsilon
        t, knot = d / (width * bend), 1.0 / (width * beta)
        lo, hi = (1.0 - beta) * knot, (1.0 + beta) * knot
        band = (ramp(t - lo) - ramp(t - hi)) + (ramp(t + hi) - ramp(t + lo))
        return C / (2.0 * bend) * band

    return curvature


def silf_noise(xp: Any) -> NoiseFormulas:
    """State the noise of SILF.

    With ``s = C beta epsilon``, the mass beyond the residual ``d >= 0`` is ``tail / (2 mass)``,
    where ``mass = C Z / 2`` and

        tail = exp(-q² - C max(d - hi, 0)) [C max(lo - d, 0) + sqrt(pi s) erfcx(q) + k exp(q² - s)],

    ``q`` grows from 0 to sqrt(s) across the quadratic zone, ``k = 1 - sqrt(pi s) erfcx(sqrt(s))``.
    This is (F.1) in a form that neither cancels nor underflows.
    """
    erfcx, above_flat = make_erfcx(xp), _make_above_flat(xp)

    def log_tail(d: Any, C: Any, epsilon: Any, beta: Any) -> Any:
        s, width = C * beta * epsilon, 2.0 * beta * epsilon
        root, scale = xp.sqrt(s), xp.sqrt(math.pi * s)
        u = above_flat(d, epsilon, beta)
        risen, below = xp.where(u > 0.0, u, 0.0), xp.where(u > 0.0, 0.0, -u)
        t = xp.minimum(risen, width)
        q = root * (t / width)
        k = 1.0 - scale * erfcx(root)
        inner = C * below + scale * erfcx(q) + k * xp.exp((q - root) * (q + root))
        return xp.log(inner) - q * q - C * (risen - t)

    def mass(C: Any, epsilon: Any, beta: Any) -> Any:
        s = C * beta * epsilon
        return C * (1.0 - beta) * epsilon + xp.sqrt(math.pi * s) * xp.erf(xp.sqrt(s)) + xp.exp(-s)

    log_tail, mass = xp.function(log_tail), xp.function(mass)

    def variance(C: Any, epsilon: Any, beta: Any) -> Any:  # (2.33)
        s, lo = C * beta * epsilon, (1.0 - beta) * epsilon
        quadratic = xp.sqrt(math.pi * s) * xp.erf(xp.sqrt(s)) * (2.0 * beta * epsilon / C + lo * lo)
        flat = C * lo * lo * lo / 3.0 + 4.0 * lo * beta * epsilon
        linear = (lo * lo + 2.0 * (1.0 + beta) * epsilon / C + 2.0 / (C * C)) * xp.exp(-s)
        return (flat + quadratic + linear) / mass(C, epsilon, beta)

    def log_cdf(r: Any, C: Any, epsilon: Any, beta: Any) -> Any:  # (F.1)
        d = xp.where(r > 0.0, r, -r)  # not abs: its symbolic derivative is lost at zero
        log_beyond = log_tail(d, C, epsilon, beta) - xp.log(2.0 * mass(C, epsilon, beta))
        return xp.where(r > 0.0, xp.log1p(-xp.exp(log_beyond)), log_beyond)

    def quantile(u: Any, C: Any, epsilon: Any, beta: Any) -> Any:  # (F.1), solved for the residual
        s = C * beta * epsilon
        root, scale, last = xp.sqrt(s), xp.sqrt(math.pi * s), xp.exp(-s)
        k, total = 1.0 - scale * erfcx(root), mass(C, epsilon, beta)
        tail = 2.0 * total * xp.minimum(u, 1.0 - u)
        quadratic_share = xp.clip((tail - last * k) / scale, xp.erfc(root), 1.0)
        quadratic = (1.0 - beta) * epsilon + 2.0 * beta * epsilon * (
            xp.erfcinv(quadratic_share) / root
        )
        linear = epsilon - xp.log(tail) / C
        flat = 2.0 * total * (u - 0.5) / C
        in_flat = tail >= scale * xp.erf(root) + last
        d = xp.where(tail > last, quadratic, linear)
        return xp.where(in_flat, flat, xp.sign(u - 0.5) * d)

    return NoiseFormulas(variance, log_cdf, quantile)


def silf_envelope(h: Any, C: Any, epsilon: Any, beta: Any) -> tuple[Any, Any, Any]:
    """Return the parameters of the Moreau envelope: SILF with h C / 2 more of bend."""
    bend = beta * epsilon + 0.5 * h * C
    middle = epsilon + 0.5 * h * C
    return C, middle, bend / middle


def silf_stiffness(C: Any, epsilon: Any, beta: Any) -> Any:
    """Return the curvature of the quadratic zone."""
    return 0.5 * C / beta / epsilon


def silf_pieces(C: Any, epsilon: Any, beta: Any) -> tuple[Piece, ...]:
    """Return the flat, the quadratic and the linear zone of (2.28)."""
    bend = beta * epsilon
    lo, hi = epsilon - bend, epsilon + bend
    parabola = Piece(lo, hi, 0.0, 0.0, C, C * bend)
    return Piece.flat(0.0, lo), parabola, Piece.ray(hi, C * bend, C)


@dataclass(frozen=True)
class SILF(PiecewiseNoise):
    r"""The soft insensitive loss of a residual ``r = y - f``.

    .. math::

        \ell(r) = C \begin{cases} 0 & |r| \le (1-\beta)\epsilon \\
        (|r| - (1-\beta)\epsilon)^2 / (4\beta\epsilon) & \text{between} \\
        |r| - \epsilon & |r| \ge (1+\beta)\epsilon \end{cases}

    Flat, then quadratic, then linear: sparse, smooth and robust. ``beta = 1`` is Huber's loss,
    ``beta -> 0`` Vapnik's epsilon-insensitive loss.

    Parameters
    ----------
    C : float or array of one by row
        Slope of the linear part, in nats per unit of the target; positive.
    epsilon : float or array of one by row
        Half width of the tube, in units of the target; positive.
    beta : float or array of one by row
        Share of the tube over which the loss bends; 0 < beta <= 1.

    References
    ----------
    [Chu03]_, (2.28)-(2.33) and (4.25); [CKO04]_.
    """

    C: Parameter
    epsilon: Parameter
    beta: Parameter = 0.3

    domains = MappingProxyType(
        {"C": positive, "epsilon": positive, "beta": Interval(0.0, 1.0, includes_high=True)}
    )
    units = MappingProxyType({"C": -1, "epsilon": 1, "beta": 0})
    ramp_width = SILF_RAMP_WIDTH
    formulas = staticmethod(silf_formulas)
    smoothing = staticmethod(silf_smoothing)
    noise = staticmethod(silf_noise)
    envelope_parameters = staticmethod(silf_envelope)
    stiffness = staticmethod(silf_stiffness)
    pieces = staticmethod(silf_pieces)

    def mixing_density(self, t: ArrayLike) -> Array:
        """Return the density of the mean of the noise seen as a scale mixture.

        The noise is Laplace noise of rate C around a random mean ``t``, that is, Gaussian noise
        with a Rayleigh distributed standard deviation (2.45) around that mean:
        ``exp(-l(r)) / Z = integral of mixing_density(t) (C / 2) exp(-C |r - t|) dt``.
        The density is (2.48) divided by its integral. It lives on ``|t| <= (1 + beta) epsilon``.

        Parameters
        ----------
        t : array_like
            Means, in units of the target.

        Returns
        -------
        ndarray
            The density at each ``t``, with the shape of ``t``.
        """
        t = np.asarray(t, dtype=float)
        slope = self.derivative(0.0, t) / self.C
        bend = self.curvature(0.0, t) / self.C**2
        density = np.exp(-self.value(0.0, t) - self.log_normalizer()) * (bend + 1.0 - slope**2)
        return np.where(np.abs(t) <= (1.0 + self.beta) * self.epsilon, density, 0.0)


SILF.envelope_type = SILF
