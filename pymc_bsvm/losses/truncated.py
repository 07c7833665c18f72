"""Moments of a truncated Gaussian that falls from its end, in compiled code.

The complete ones, ``F_k(x)``, the integral of ``t^k exp(-x t - t² / 2)`` over all ``t > 0``, come
from a table: ``(4 + x)^(k+1) F_k`` is smooth in ``y = 4 / (4 + x)``, and a polynomial on each of
some intervals gives it all its digits, where the closed forms ``1 - x F_0`` and
``(1 + x²) F_0 - x`` cancel.
"""

from __future__ import annotations

import math

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.losses.numba_language import function

__all__ = ["complete_moments", "falling_moments"]

_SCALE, _INTERVALS, _DEGREE = 4.0, 64, 7
_NARROW = 0.5  # nats that the integrand may fall where eight nodes are exact to rounding
_DEEP = 45.0  # nats after which nothing is left


def _tabulated() -> Array:
    """Return the coefficients of the polynomials, of shape (3, intervals, degree + 1)."""
    node, weight = np.polynomial.legendre.leggauss(40)
    at = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    y = ((np.arange(_INTERVALS) + 0.5)[:, None] + 0.5 * at) / _INTERVALS
    slope, bend = (1.0 - y)[..., None], ((y / _SCALE) ** 2)[..., None]
    depth = 2.0 * _DEEP
    end = depth / (slope + np.sqrt(slope * slope + depth * bend))
    panels = (np.arange(6)[:, None] + 0.5 + 0.5 * node).ravel() / 6.0
    t = end * panels
    density = end / 12.0 * np.tile(weight, 6) * np.exp(-t * (slope + 0.5 * bend * t))
    values = np.stack([(density * t**k).sum(axis=-1) for k in range(3)])
    powers = np.vander(at, _DEGREE + 1, increasing=True)
    return np.ascontiguousarray(np.linalg.solve(powers, values[..., None])[..., 0])


_TABLE = _tabulated()
_NODES, _WEIGHTS = (0.5 * x for x in np.polynomial.legendre.leggauss(8))
_NODES = _NODES + 0.5  # on the unit interval


@function
def complete_moments(x):  # type: ignore[no-untyped-def]
    """Return ``F_0, F_1, F_2`` for ``x >= 0``."""
    share = 1.0 / (_SCALE + x)
    place = _SCALE * share * _INTERVALS
    k = min(int(place), _INTERVALS - 1)
    r = 2.0 * (place - k) - 1.0
    zeroth, first, second = _TABLE[0, k, _DEGREE], _TABLE[1, k, _DEGREE], _TABLE[2, k, _DEGREE]
    for j in range(_DEGREE - 1, -1, -1):
        zeroth = zeroth * r + _TABLE[0, k, j]
        first = first * r + _TABLE[1, k, j]
        second = second * r + _TABLE[2, k, j]
    return zeroth * share, first * share * share, second * share * share * share


@function
def falling_moments(slope, bend, width):  # type: ignore[no-untyped-def]
    """Return the integrals of ``t^k exp(-slope t - bend t² / 2)`` over ``[0, width]``, k to 2.

    ``slope >= 0``, ``bend > 0``, and ``width`` may be infinite. What is left out behind the width
    is damped; where it hardly is, a quadrature does not cancel.
    """
    if not width > 0.0:
        return 0.0, 0.0, 0.0
    fall = width * (slope + 0.5 * bend * width)
    if fall < _NARROW:
        zeroth, first, second = 0.0, 0.0, 0.0
        for j in range(_NODES.size):
            t = width * _NODES[j]
            mass = width * _WEIGHTS[j] * math.exp(-t * (slope + 0.5 * bend * t))
            zeroth += mass
            first += mass * t
            second += mass * t * t
        return zeroth, first, second
    root = math.sqrt(bend)
    zeroth, first, second = complete_moments(slope / root)
    if fall < _DEEP:
        far, end = math.exp(-fall), width * root
        a, b, c = complete_moments(slope / root + end)
        zeroth -= far * a
        first -= far * (b + end * a)
        second -= far * (c + end * (2.0 * b + end * a))
    return zeroth / root, first / bend, second / (root * bend)
