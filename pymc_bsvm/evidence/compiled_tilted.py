"""Averages of one likelihood over a Gaussian in compiled code, for losses with an outline.

The formulas are those of `pymc_bsvm.losses.tilted`, row by row.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray, types

from pymc_bsvm.losses import Loss, formulas, numba_language
from pymc_bsvm.losses.numba_language import function, inlined
from pymc_bsvm.losses.tilted import DEEP, LOG_ROOT_2PI, NODES, WEIGHTS, Tilted
from pymc_bsvm.solvers.weighted import row_of

__all__ = ["AVERAGES", "averages", "edges"]

_LOST = 700.0  # nats below the highest point, where nothing is left


_REAL = types.CPointer(types.float64)
AVERAGES = types.int64(*[types.int64] * 3, *[_REAL] * 7)
"""What `averages` returns takes."""


def edges(loss: Loss, n: int) -> Any:
    """Return the outline of a loss for each of n rows, of shape (pieces, 5, n).

    The ends of the pieces, their slopes at both, and the sign of the argument.
    """
    signed = loss.outline.signed if loss.outline is not None else []
    rows = np.empty((len(signed), 5, n))
    for row, (piece, sign) in zip(rows, signed, strict=True):
        ends = piece.left, piece.right, piece.slope_left, piece.slope_right, sign
        for part, value in zip(row, ends, strict=True):
            part[:] = value
    return rows


@function
def _reach(left, right, slope_left, slope_right, u, v):
    """Return the part of a piece on which it and a Gaussian are not deep above their minimum."""
    rise = slope_right - slope_left
    bend = (rise / (right - left) if rise != 0.0 else 0.0) + 1.0 / v
    uphill = slope_left + (left - u) / v
    lowest = min(max(left - uphill / bend, left), right)
    slope = abs(uphill + bend * (lowest - left))
    if left < lowest < right:
        slope = 0.0
    width = 2.0 * DEEP / (slope + math.sqrt(slope * slope + 2.0 * DEEP * bend))
    return max(left, lowest - width), min(right, lowest + width)


def averages(loss_type: type[Loss]) -> Callable[..., Any]:
    """Return the function whose types are `AVERAGES`: it fills in the averages of all rows.

    In ``moments``, of shape (4, n), these are those of `Tilted`, for the derivatives with respect
    to the latent values; in ``points`` and ``density``, of shape (n, count), the points of the
    tilted densities and their probabilities.
    """
    average, of_residual = row_average(loss_type), loss_type.task == "regression"

    @inlined
    def fill(n, n_parameters, n_pieces, y, p, outline, cavity, moments, points, density):
        y, cavity, count = carray(y, n), carray(cavity, (2, n)), n_pieces * NODES.size
        p, outline = carray(p, (n_parameters, n)), carray(outline, (n_pieces, 5, n))
        points, density = carray(points, (n, count)), carray(density, (n, count))
        moments = carray(moments, (4, n))
        for i in range(n):
            u = y[i] - cavity[0, i] if of_residual else y[i] * cavity[0, i]
            row = average(u, cavity[1, i], p, i, outline, points[i], density[i])
            moments[0, i], moments[2, i], moments[3, i] = row.log_z, row.nu, row.variance
            moments[1, i] = -row.alpha if of_residual else y[i] * row.alpha
        return 1

    return fill


@functools.cache
def row_average(loss_type: type[Loss]) -> Callable[..., Any]:
    """Return the compiled ``(u, v, p, i, pieces, x, density) -> Tilted``, for row i.

    It fills in the points and their tilted probabilities, if it has any.
    """
    stated, row = formulas(loss_type, numba_language), row_of(loss_type.n_parameters())
    value, derivative = stated.value, stated.derivative
    log_normalizer: Any = stated.log_normalizer
    moments: Any = Tilted
    of_residual, count = loss_type.task == "regression", NODES.size

    @function
    def loss(x, p):
        return value(x, 0.0, *p) if of_residual else value(1.0, x, *p)

    @function
    def slope(x, p):
        return -derivative(x, 0.0, *p) if of_residual else derivative(1.0, x, *p)

    @function
    def resolve(u, v, p, i, pieces, x, density):
        parameters, least, widths = row(p, i), math.inf, np.empty(pieces.shape[0])
        for k in range(pieces.shape[0]):
            left, right, slope_left, slope_right, sign = pieces[k, :, i]
            start, stop = _reach(left, right, slope_left, slope_right, sign * u, v)
            widths[k] = stop - start
            for j in range(k * count, (k + 1) * count):
                x[j] = sign * (start + widths[k] * NODES[j - k * count])
                off = x[j] - u
                density[j] = math.inf
                if widths[k] > 0.0:
                    density[j] = loss(x[j], parameters) + 0.5 * off * (off / v)
                    least = min(least, density[j])
        mass = 0.0
        for j in range(density.size):
            deep = density[j] - least
            weight = widths[j // count] * WEIGHTS[j % count]
            density[j] = weight * math.exp(-deep) if deep < _LOST else 0.0
            mass += density[j]
        for j in range(density.size):
            density[j] /= mass
        return math.log(mass) - least - 0.5 * math.log(v) - LOG_ROOT_2PI

    @function
    def average(u, v, p, i, pieces, x, density):
        log_mass, parameters = resolve(u, v, p, i, pieces, x, density), row(p, i)
        pull = 0.0
        for j in range(x.size):
            if density[j] > 0.0:
                pull += density[j] * (x[j] - u)
        middle, spread, mean_slope, bend = slope(u + pull, parameters), 0.0, 0.0, 0.0
        for j in range(x.size):
            if density[j] > 0.0:
                off, steep = (x[j] - u) - pull, slope(x[j], parameters)
                spread += density[j] * off * off
                mean_slope += density[j] * steep
                bend += density[j] * (steep - middle) * off
        log_z = log_mass - log_normalizer(*parameters)
        if 2.0 * spread < v:
            return moments(log_z, pull / v, (1.0 - spread / v) / v, spread)
        return moments(log_z, -mean_slope, bend / v, spread)

    if loss_type.blurring is None:
        return average
    closed = function(loss_type.blurring(numba_language))

    @function
    def averaged(u, v, p, i, pieces, x, density):
        return closed(u, v, *row(p, i))

    return averaged
