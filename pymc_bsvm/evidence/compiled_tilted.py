"""Averages of one likelihood over a Gaussian in compiled code, for losses with an outline.

The formulas are those of `pymc_bsvm.losses.tilted`, row by row.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from pymc_bsvm.losses import Loss, formulas, numba_language
from pymc_bsvm.losses.numba_language import function
from pymc_bsvm.losses.tilted import DEEP, LOG_ROOT_2PI, NODES, WEIGHTS, Tilted
from pymc_bsvm.solvers.weighted import row_of

__all__ = ["Averages", "averages", "edges"]

_LOST = 700.0  # nats below the highest point, where nothing is left


class Averages(NamedTuple):
    """Compiled functions of a row's Gaussian ``N(u, v)`` of the argument."""

    average: Any
    """``(u, v, p, i, pieces, x, density) -> Tilted`` for row i, with two arrays to work in."""
    resolve: Any
    """The same arguments: fill in points and their tilted probabilities, return the log mass."""


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


@functools.cache
def averages(loss_type: type[Loss]) -> Averages:
    """Return the compiled averages of a loss."""
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
        return Averages(average, resolve)
    closed = function(loss_type.blurring(numba_language))

    @function
    def averaged(u, v, p, i, pieces, x, density):
        return closed(u, v, *row(p, i))

    return Averages(averaged, resolve)
