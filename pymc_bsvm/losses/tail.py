"""What a Gaussian carries of a piece of noise beyond a point, in closed form.

It is the integral of ``exp(-loss(r)) P(r + sd z > d)``, ``z ~ N(0, 1)``, over the piece and over
its mirror image at negative residuals. Flat pieces and rays need the normal distribution alone.
With a parabola the integrand is the density of two normal variables but for a factor, on a strip
that a slanted line cuts off: its area is that of two corners and of what lies behind the line
between them, all of which Owen's function has, ``T(h, a) = P(X > h and 0 < Y < a X)``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, owens_t

from pymc_bsvm._typing import Array
from pymc_bsvm.losses.piece import Piece, mills_ratio
from pymc_bsvm.losses.quadrature import NODES, WEIGHTS

__all__ = ["Tail", "tail_of"]

_ROOT_2PI = math.sqrt(2.0 * math.pi)
_NEXT_TO_ZERO = 1e-200  # where a ratio of two zeros depends on how they are approached
_OWEN = 0.03  # times 4 roundings of one: absolute error of sums of Owen's function, measured


class Tail(NamedTuple):
    """The tail of a piece and its mirror image together, not normalised; of shape (n,)."""

    mass: Array
    density: Array
    """Minus the derivative of the mass in the point."""
    size: Array
    """Sum of the sizes of the terms of the mass: its rounding is that of this number."""


def tail_of(piece: Piece, d: Array, sd: Array) -> Tail:
    """Return the tail beyond ``d >= 0``; its size is not finite where there is no closed form."""
    if np.all(piece.curvature > 0.0):
        return _of_parabola(piece, d, sd)
    if np.all(np.isinf(piece.right)):
        return _of_ray(piece, d, sd)
    return _of_flat(piece, d, sd)


def _of_flat(piece: Piece, d: Array, sd: Array) -> Tail:
    """Return the tail of a constant; where the Gaussian is the wider one, by its smoothness."""
    width = piece.right - piece.left
    mass, density, size = np.zeros((3, *d.shape))
    for side in (1.0, -1.0):
        left, right = (side * piece.left - d) / sd, (side * piece.right - d) / sd
        terms = sd * _integrated(right), -sd * _integrated(left)
        mass += side * (terms[0] + terms[1])
        density += side * (ndtr(right) - ndtr(left))
        size += np.abs(terms[0]) + np.abs(terms[1])
    thin = width < sd
    if thin.any():
        wide, narrow, start = (np.broadcast_to(x, d.shape)[thin] for x in (sd, width, piece.left))
        r = start[:, None] + narrow[:, None] * NODES
        beyond = sum(ndtr((side * r - d[thin, None]) / wide[:, None]) for side in (1.0, -1.0))
        mass[thin] = size[thin] = narrow * (beyond @ WEIGHTS)
    share = np.exp(-np.asarray(piece.value))
    level = np.asarray((piece.slope_left == 0.0) & (piece.slope_right == 0.0))
    return Tail(share * mass, share * density, np.where(level, share * size, np.inf))


def _of_ray(piece: Piece, d: Array, sd: Array) -> Tail:
    """Return the tail of a rising line without an end."""
    rate = piece.slope_left * sd
    ahead, behind = (piece.left - d) / sd, (-piece.left - d) / sd
    middle = rate + ahead
    below = np.exp(np.minimum(0.5 * rate * (middle + ahead), 0.0)) * ndtr(-middle)
    above = _normal(ahead) * mills_ratio(np.maximum(middle, 0.0))
    onwards = np.where(middle > 0.0, above, below)
    backwards = _normal(behind) * mills_ratio(rate - behind)
    share = np.exp(-np.asarray(piece.value))
    gained = ndtr(ahead) + ndtr(behind) + onwards
    return Tail(
        share / piece.slope_left * (gained - backwards),
        share * (onwards + backwards),
        share / piece.slope_left * (gained + backwards),
    )


def _of_parabola(piece: Piece, d: Array, sd: Array) -> Tail:
    """Return the tail of a parabola: a truncated normal density but for a factor."""
    root = np.sqrt(piece.curvature)
    vertex = piece.left - piece.slope_left / piece.curvature
    total = np.hypot(1.0, root * sd)
    mass, density, size = np.zeros((3, *d.shape))
    for side in (1.0, -1.0):
        ahead = side * vertex - d
        ahead = np.where(ahead == 0.0, _NEXT_TO_ZERO, ahead)
        k = root * ahead / total  # distance of the slanted line
        for sign, slope in ((1.0, piece.slope_left), (-1.0, piece.slope_right)):
            y = np.maximum(slope / root, _NEXT_TO_ZERO)
            z = (ahead + side * y / root) / sd
            along = (side * z + root * sd * y) / total
            corner, rounding = _corner(y, z)
            behind = owens_t(k, along / k)
            mass += sign * (corner + behind)
            density -= sign * _normal(k) * ndtr(along)
            size += rounding + np.abs(behind)
    depth = 0.5 * piece.slope_left * (piece.slope_left / piece.curvature)
    scale = _ROOT_2PI / root * np.exp(depth - piece.value)
    return Tail(scale * mass, scale * root / total * density, scale * (size + _OWEN))


def _corner(y: Array, z: Array) -> tuple[Array, Array]:
    """Return ``P(Y > y and X y < z Y)`` for ``y > 0``, and what its rounding is relative to.

    Of the two corners of a quadrant that lies far out, the smaller one comes without cancellation.
    """
    turned = -z > y
    near, far = np.where(turned, -z, y), np.where(turned, -y, z)
    beyond = ndtr(-near)
    area = 0.5 * beyond + owens_t(near, far / near)
    return np.where(turned, ndtr(-y) * ndtr(z) - area, area), beyond


def _integrated(z: Array) -> Array:
    """Return the integral of the normal distribution function up to z."""
    return np.asarray(z * ndtr(z) + _normal(z))


def _normal(z: Array) -> Array:
    """Return the normal density."""
    return np.asarray(np.exp(-0.5 * z * z) / _ROOT_2PI)
