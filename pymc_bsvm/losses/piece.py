"""A parabola or a line, exponentiated and integrated against a Gaussian."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import erfcx

from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm.losses.quadrature import NODES, WEIGHTS

__all__ = ["Outline", "Piece", "log_one_minus_exp", "mills_ratio"]

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


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
    left, right : float or array
        The ends, in units of the target; ``right`` may be infinite.
    value : float or array
        The loss at the left end, in nats.
    slope_left, slope_right : float or array
        The derivatives at the two ends; those of neighbouring pieces must be the same floats where
        the loss is smooth.
    value_right : float or array
        The loss at the right end.
    smooth : float or array
        How slow the terms are that a loss adds to the piece: the distance from it in the complex
        plane within which they multiply ``exp(-loss)`` by at most 20, and by at most one on the
        piece. Zero where nothing is known, infinite where there are no such terms.
    """

    left: Parameter
    right: Parameter
    value: Parameter
    slope_left: Parameter
    slope_right: Parameter
    value_right: Parameter
    smooth: Parameter = 0.0

    @classmethod
    def flat(cls, left: Parameter, right: Parameter, smooth: Parameter = 0.0) -> Piece:
        """Return a piece on which the loss is zero."""
        return cls(left, right, 0.0, 0.0, 0.0, 0.0, smooth)

    @classmethod
    def ray(cls, left: Parameter, value: Parameter, slope: Parameter) -> Piece:
        """Return a rising line without an end."""
        return cls(left, math.inf, value, slope, slope, math.inf)

    @property
    def curvature(self) -> Array:
        """The second derivative."""
        rise = np.asarray(self.slope_right - self.slope_left)
        return np.where(rise != 0.0, rise / np.where(rise != 0.0, self.right - self.left, 1.0), 0.0)

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


class Outline(NamedTuple):
    """A loss but for slow terms: pieces of its argument, and pieces of minus its argument."""

    pieces: Sequence[Piece]
    mirrored: Sequence[Piece]

    @property
    def signed(self) -> list[tuple[Piece, float]]:
        """All pieces, each with the sign of its argument."""
        ahead = [(piece, 1.0) for piece in self.pieces]
        return ahead + [(piece, -1.0) for piece in self.mirrored]


def falling_integral(slope: Array, bend: Array, width: Array) -> Array:
    """Return the integral of ``exp(-slope x - bend x² / 2)`` on ``[0, width]``.

    ``slope >= 0``, ``bend > 0``, and ``width`` may be infinite. Where the integrand falls far, it
    is a difference of two of Mills' ratios of which the second is damped; where it hardly falls,
    Gauss-Legendre is exact to rounding and nothing cancels.
    """
    slope, bend, width = np.broadcast_arrays(slope, bend, width)
    fall = np.where(width > 0.0, width * (slope + 0.5 * bend * width), 0.0)
    root = np.sqrt(bend)
    start = slope / root
    result = (mills_ratio(start) - np.exp(-fall) * mills_ratio(start + width * root)) / root
    near = fall < 1.0
    slope, bend, width = slope[near, None], 0.5 * bend[near, None], width[near]
    x = width[:, None] * NODES
    result[near] = np.exp(-x * (slope + bend * x)) @ WEIGHTS * width
    return np.asarray(result)


def mills_ratio(x: Array) -> Array:
    """Return ``(1 - Phi(x)) / phi(x)``."""
    return np.asarray(math.sqrt(0.5 * math.pi) * erfcx(x / math.sqrt(2.0)))
