"""Vapnik's epsilon-insensitive loss, the loss of classical support vector regression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pymc_bsvm._typing import Parameter
from pymc_bsvm._validation import positive
from pymc_bsvm.losses.base import Formulas
from pymc_bsvm.losses.noise import NoiseFormulas
from pymc_bsvm.losses.piece import Piece
from pymc_bsvm.losses.piecewise import PiecewiseNoise
from pymc_bsvm.losses.silf import SILF

__all__ = [
    "EpsilonInsensitive",
    "insensitive_envelope",
    "insensitive_formulas",
    "insensitive_kinks",
    "insensitive_noise",
    "insensitive_pieces",
    "insensitive_stiffness",
]


def insensitive_formulas(xp: Any) -> Formulas:
    """State the loss ``C max(|r| - epsilon, 0)``, for epsilon >= 0."""

    def value(y: Any, f: Any, C: Any, epsilon: Any) -> Any:  # (2.27)
        return C * xp.maximum(xp.abs(y - f) - epsilon, 0.0)

    def derivative(y: Any, f: Any, C: Any, epsilon: Any) -> Any:
        return -C * xp.where(xp.abs(y - f) > epsilon, xp.sign(y - f), 0.0)

    def curvature(y: Any, f: Any, C: Any, epsilon: Any) -> Any:
        return 0.0 * (y - f)

    def conjugate(y: Any, a: Any, C: Any, epsilon: Any) -> Any:  # (4.25) with beta = 0
        return xp.where(xp.abs(a) <= C, epsilon * xp.abs(a) - a * y, math.inf)

    def dual_domain(y: Any, C: Any, epsilon: Any) -> tuple[Any, Any]:
        return -C, C

    def log_normalizer(C: Any, epsilon: Any) -> Any:  # [GGHB02] (3)
        return xp.log(2.0 * (C * epsilon + 1.0) / C)

    return Formulas(value, derivative, curvature, conjugate, dual_domain, log_normalizer)


def insensitive_noise(xp: Any) -> NoiseFormulas:
    """State the noise: uniform within the tube, exponential tails beyond."""

    def variance(C: Any, epsilon: Any) -> Any:  # [GGHB02] (29)
        width = C * epsilon
        return 2.0 / (C * C) + epsilon * epsilon * (width + 3.0) / (3.0 * (width + 1.0))

    def log_cdf(r: Any, C: Any, epsilon: Any) -> Any:
        d = xp.where(r > 0.0, r, -r)  # not abs: its symbolic derivative is lost at zero
        inside = xp.minimum(d, epsilon)  # one node: at the edge its derivative counts once
        beyond, within = d - inside, epsilon - inside
        log_tail = xp.log((C * within + 1.0) / (2.0 * (C * epsilon + 1.0))) - C * beyond
        return xp.where(r > 0.0, xp.log1p(-xp.exp(log_tail)), log_tail)

    def quantile(u: Any, C: Any, epsilon: Any) -> Any:
        mass = C * epsilon + 1.0
        tail = 2.0 * mass * xp.minimum(u, 1.0 - u)
        flat, side = 2.0 * mass * (u - 0.5) / C, xp.sign(u - 0.5)
        return xp.where(tail >= 1.0, flat, side * (epsilon - xp.log(tail) / C))

    return NoiseFormulas(variance, log_cdf, quantile)


def insensitive_envelope(h: Any, C: Any, epsilon: Any) -> tuple[Any, Any, Any]:
    """Return the parameters of the Moreau envelope, a SILF that bends over h C."""
    middle = epsilon + 0.5 * h * C
    return C, middle, 0.5 * h * C / middle


def insensitive_stiffness(C: Any, epsilon: Any) -> Any:
    """Return infinity, the curvature of a kink."""
    return math.inf


def insensitive_kinks(y: Any, C: Any, epsilon: Any) -> tuple[Any, Any]:
    """Return the edges of the tube, as values of f."""
    return y - epsilon, y + epsilon


def insensitive_pieces(C: Any, epsilon: Any) -> tuple[Piece, ...]:
    """Return the tube and what is beyond it, (2.27)."""
    return Piece.flat(0.0, epsilon), Piece.ray(epsilon, 0.0, C)


@dataclass(frozen=True)
class EpsilonInsensitive(PiecewiseNoise):
    """Zero inside the tube, linear beyond: ``C max(|r| - epsilon, 0)``.

    The limit of SILF as ``beta -> 0``. It has a kink and no curvature.

    Parameters
    ----------
    C : float or array of one by row
        Slope of the linear part, in nats per unit of the target; positive.
    epsilon : float or array of one by row
        Half width of the tube, in units of the target; positive.

    References
    ----------
    [Chu03]_, (2.27); [GGHB02]_, (29) for the variance.
    """

    C: Parameter
    epsilon: Parameter

    differentiable = False
    domains = MappingProxyType({"C": positive, "epsilon": positive})
    units = MappingProxyType({"C": -1, "epsilon": 1})
    formulas = staticmethod(insensitive_formulas)
    noise = staticmethod(insensitive_noise)
    envelope_type = SILF
    envelope_parameters = staticmethod(insensitive_envelope)
    stiffness = staticmethod(insensitive_stiffness)
    kinks = staticmethod(insensitive_kinks)
    pieces = staticmethod(insensitive_pieces)
