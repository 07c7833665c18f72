"""Averages of one likelihood over a Gaussian in compiled code, for losses with an outline.

The identities are those of `pymc_bsvm.losses.tilted`, row by row. Each piece of the outline gives
its mass, its mean and its variance: in closed form where the loss is a parabola or a line, by Gauss
and Legendre's rule where slow terms come with it. The moments of all follow from those of each and
from the differences of their means, again without a term that is negative.

The rule has as many nodes as its error needs. On an ellipse around the piece with half axes that
add up to ``rho`` half widths, an integrand that falls by ``exp(-s t - b t² / 2)`` grows to
``exp(s w (rho½ - rho^-½)² / 4 + b w² (rho - 1 / rho)² / 32)`` at most, and the rule with n nodes
errs by a small multiple of it times ``rho^(-2 n)``.
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
from pymc_bsvm.losses.tilted import DEEP, LOG_ROOT_2PI, NODES, Tilted
from pymc_bsvm.losses.truncated import falling_moments
from pymc_bsvm.solvers.weighted import row_of

__all__ = ["AVERAGES", "ENDS", "KNOWN", "averages", "edges", "ends", "slots"]

_LOST = 700.0  # nats below the highest point, where nothing is left
_APART = 45.0  # nats above a piece that acts, where one adds nothing to any average
_FULL = NODES.size
_COUNTS = np.array([16, 24, _FULL])  # whole vectors of machines
_STEEPEST = np.array([16.0, 57.0, np.inf])
"""Largest ``s w + b w²`` for the ellipse of rho = 4, ``s w + 2 b w² / 3`` for that of 3:
with a slow factor of 20, the errors are below 2e-13 of the highest value times the width."""
_SHARES = np.array([0.94, 0.67, 0.0])  # largest distance from the piece on them, in widths


def _rules() -> tuple[Any, Any]:
    """Return the nodes and the weights on the unit interval, of shape (rules, 40)."""
    nodes, weights = np.zeros((2, _COUNTS.size, _FULL))
    for k, count in enumerate(_COUNTS):
        node, weight = np.polynomial.legendre.leggauss(count)
        nodes[k, :count], weights[k, :count] = 0.5 + 0.5 * node, 0.5 * weight
    return nodes, weights


_NODES, _WEIGHTS = _rules()

KNOWN = 11
_ENERGY, _MASS, _MEAN, _SPREAD, _SLOPE, _COVARIANCE, *_REST = range(KNOWN)
_LOWEST, _UPHILL, _BEND, _CURVED, _LAST = _REST
"""What is known of a piece: its energy at the lowest point; relative to this the mass; the mean,
the variance, the mean slope of the loss, and its covariance with the argument; where the lowest
point is; the slope there, the curvature, and that of the loss alone; the place after its nodes."""

_REAL = types.CPointer(types.float64)
AVERAGES = types.int64(*[types.int64] * 4, *[_REAL] * 8)
"""What `averages` returns takes."""
ENDS = 7
"""How many numbers an outline has for a piece."""


def ends(loss: Loss) -> list[tuple[Any, ...]]:
    """Return the outline of a loss.

    The ends of the pieces, their slopes at both, the sign of the argument, the value at the left
    end, and how far the slow terms are smooth.
    """
    signed = loss.outline.signed if loss.outline is not None else []
    return [
        (x.left, x.right, x.slope_left, x.slope_right, sign, x.value, x.smooth)
        for x, sign in signed
    ]


def edges(loss: Loss, n: int) -> Any:
    """Return the outline of a loss for each of n rows, of shape (pieces, ENDS, n)."""
    pieces = ends(loss)
    rows = np.empty((len(pieces), ENDS, n))
    for row, piece in zip(rows, pieces, strict=True):
        for part, value in zip(row, piece, strict=True):
            part[:] = value
    return rows


@function
def slots(outline):
    """Return how many points stand for the tilted density of a row.

    Two have the mass, the mean and the variance of a parabola's or a line's share, which averages
    its derivatives exactly.
    """
    count = 0
    for k in range(outline.shape[0]):
        count += 2 if outline[k, 6, 0] == math.inf else _FULL
    return count


@inlined
def _place(u, v, i, pieces, parts):
    """Fill in the lowest point of each piece; return the lowest energy, and the last to look at."""
    least, limit = math.inf, math.inf
    for k in range(pieces.shape[0]):
        left, right, start = pieces[k, 0, i], pieces[k, 1, i], pieces[k, 2, i]
        rise, centre = pieces[k, 3, i] - start, pieces[k, 4, i] * u
        parts[k, _ENERGY], parts[k, _MASS] = math.inf, 0.0
        if not right > left:
            continue
        curvature = rise / (right - left) if rise != 0.0 else 0.0
        bend, uphill = curvature + 1.0 / v, start + (left - centre) / v
        lowest = min(max(left - uphill / bend, left), right)
        step, off = lowest - left, lowest - centre
        energy = pieces[k, 5, i] + step * (start + 0.5 * curvature * step) + 0.5 * off * (off / v)
        slope = 0.0 if left < lowest < right else abs(uphill + bend * step)
        parts[k, _ENERGY], parts[k, _LOWEST], parts[k, _UPHILL] = energy, lowest, slope
        parts[k, _BEND], parts[k, _CURVED] = bend, curvature
        least = min(least, energy)
        if rise != 0.0 or start != 0.0 or pieces[k, 6, i] < math.inf:
            limit = min(limit, energy + _APART)  # a flat piece says nothing of the slope
    return least, min(limit, least + _LOST)


@inlined
def _exactly(u, i, k, pieces, parts, x, place):
    """Fill in the moments of a parabola or a line, and their points."""
    left, right, sign = pieces[k, 0, i], pieces[k, 1, i], pieces[k, 4, i]
    lowest, slope, bend = parts[k, _LOWEST], parts[k, _UPHILL], parts[k, _BEND]
    zeroth, first, second = falling_moments(slope, bend, right - lowest)
    if lowest > left:
        a, b, c = falling_moments(slope, bend, lowest - left)
        zeroth, first, second = zeroth + a, first - b, second + c  # zero where no piece is left
    scale = 1.0 / zeroth
    inside = first * scale
    spread = max(second * scale - inside * inside, 0.0)
    parts[k, _MASS], parts[k, _SPREAD] = zeroth, spread
    parts[k, _MEAN] = sign * ((lowest - sign * u) + inside)
    rise = parts[k, _CURVED] * ((lowest - left) + inside)
    parts[k, _SLOPE] = sign * (pieces[k, 2, i] + rise)
    parts[k, _COVARIANCE] = parts[k, _CURVED] * spread
    off = math.sqrt(spread) if parts[k, _CURVED] != 0.0 else 0.0
    # a density with a concave log has these points between its ends
    x[place] = sign * min(max(lowest + inside - off, left), right)
    x[place + 1] = sign * min(max(lowest + inside + off, left), right)


@inlined
def _rule(steep, curved, share):
    """Return the rule for a piece of these ``s w`` and ``b w²``, and of width / smoothness."""
    for k in range(_COUNTS.size - 1):
        fall = steep + curved * (2.0 / 3.0 if k == 1 else 1.0)
        if fall <= _STEEPEST[k] and _SHARES[k] * share <= 1.0:
            return k
    return _COUNTS.size - 1


@inlined
def _reach(i, k, pieces, parts):
    """Return the part of a piece that counts: its start and width; and the rule."""
    lowest, slope, bend = parts[k, _LOWEST], parts[k, _UPHILL], parts[k, _BEND]
    width = 2.0 * DEEP / (slope + math.sqrt(slope * slope + 2.0 * DEEP * bend))
    start = max(pieces[k, 0, i], lowest - width)
    width = min(pieces[k, 1, i], lowest + width) - start
    share = width / pieces[k, 6, i] if pieces[k, 6, i] > 0.0 else math.inf
    return start, width, _rule(slope * width, bend * width * width, share)


@inlined
def _joined(parts, least):
    """Make the masses shares of one, and return their sum."""
    total = 0.0
    for k in range(parts.shape[0]):
        if parts[k, _MASS] > 0.0:
            parts[k, _MASS] *= math.exp(least - parts[k, _ENERGY])
            total += parts[k, _MASS]
    for k in range(parts.shape[0]):
        parts[k, _MASS] /= total
    return total


@function
def _averaged(parts, of, within):
    """Return the average of a mean, and its covariance with the argument from those of pieces."""
    mean, covariance = 0.0, 0.0
    for k in range(parts.shape[0]):
        if parts[k, _MASS] > 0.0:
            mean += parts[k, _MASS] * parts[k, of]
            covariance += parts[k, _MASS] * parts[k, within]
            for j in range(k):
                if parts[j, _MASS] > 0.0:
                    apart = parts[k, _MEAN] - parts[j, _MEAN]
                    rise = parts[k, of] - parts[j, of]
                    covariance += parts[k, _MASS] * parts[j, _MASS] * (apart * rise)
    return mean, covariance


def averages(loss_type: type[Loss]) -> Callable[..., Any]:
    """Return the function whose types are `AVERAGES`: it fills in the averages of all rows.

    In ``moments``, of shape (4, n), these are those of `Tilted`, for the derivatives with respect
    to the latent values; in ``points`` and ``density``, of shape (n, count), the points of the
    tilted densities and their probabilities; see `slots`. The last array is space for the numbers
    of one row, of length ``pieces * KNOWN + count``.
    """
    average, of_residual = row_average(loss_type), loss_type.task == "regression"

    @inlined
    def fill(
        n, n_parameters, n_pieces, count, y, p, outline, cavity, moments, points, density, space
    ):
        y, cavity = carray(y, n), carray(cavity, (2, n))
        p, outline = carray(p, (n_parameters, n)), carray(outline, (n_pieces, ENDS, n))
        points, density = carray(points, (n, count)), carray(density, (n, count))
        moments, space = carray(moments, (4, n)), carray(space, n_pieces * KNOWN + count)
        parts = space[: n_pieces * KNOWN].reshape((n_pieces, KNOWN))
        steep = space[n_pieces * KNOWN :]
        for i in range(n):
            u = y[i] - cavity[0, i] if of_residual else y[i] * cavity[0, i]
            x, mass = points[i], density[i]
            row = average(u, cavity[1, i], p, i, outline, x, mass, parts, steep)
            moments[0, i], moments[2, i], moments[3, i] = row.log_z, row.nu, row.variance
            moments[1, i] = -row.alpha if of_residual else y[i] * row.alpha
        return 1

    return fill


@functools.cache
def row_average(loss_type: type[Loss]) -> Callable[..., Any]:
    """Return the compiled ``(u, v, p, i, pieces, x, density, parts, steep) -> Tilted``, for row i.

    It fills in the points and their tilted probabilities, if it has any.
    """
    row: Any = row_of(loss_type.n_parameters())
    log_normalizer: Any = formulas(loss_type, numba_language).log_normalizer
    moments: Any = Tilted
    if loss_type.blurring is not None:
        closed = function(loss_type.blurring(numba_language))

        @function
        def averaged(u, v, p, i, pieces, x, density, parts, steep):
            return closed(u, v, *row(p, i))

        return averaged
    slowly, slopes = _with_slow_terms(loss_type)

    @inlined
    def average(u, v, p, i, pieces, x, density, parts, steep):
        parameters, place = row(p, i), 0
        least, limit = _place(u, v, i, pieces, parts)
        for k in range(pieces.shape[0]):
            count = 2 if pieces[k, 6, i] == math.inf else _FULL
            if not parts[k, _ENERGY] <= limit:
                for j in range(place, place + count):
                    x[j], density[j] = u, 0.0
            elif count == 2:
                _exactly(u, i, k, pieces, parts, x, place)
            else:
                slowly(u, v, parameters, i, k, pieces, parts, x, density, steep, place)
            place += count
        total = _joined(parts, least)
        pull, spread = _averaged(parts, _MEAN, _SPREAD)
        narrow, place = 2.0 * spread < v, 0
        for k in range(pieces.shape[0]):
            count, mass = 2 if pieces[k, 6, i] == math.inf else _FULL, parts[k, _MASS]
            if count == 2:
                density[place] = density[place + 1] = 0.5 * mass
            elif mass > 0.0:
                if not narrow:
                    slopes(u, parameters, k, parts, x, density, steep, place)
                for j in range(place, int(parts[k, _LAST])):
                    density[j] *= mass
            place += count
        log_z = math.log(total) - least - 0.5 * math.log(v) - LOG_ROOT_2PI
        log_z -= log_normalizer(*parameters)
        if narrow:
            return moments(log_z, pull / v, (1.0 - spread / v) / v, spread)
        slope, bend = _averaged(parts, _SLOPE, _COVARIANCE)
        return moments(log_z, -slope, bend / v, spread)

    return average


def _with_slow_terms(loss_type: type[Loss]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return what fills in the moments of a piece with slow terms, and those of the slope."""
    stated, of_residual = formulas(loss_type, numba_language), loss_type.task == "regression"
    value, derivative = stated.value, stated.derivative
    known = loss_type.likelihood is not None
    likelihood: Any = function(loss_type.likelihood(numba_language)) if known else None

    @function
    def factors(x, factor, slope, p):
        for j in range(x.size):  # without a branch or a call, where a likelihood is stated
            if known:
                factor[j], slope[j] = likelihood(x[j], *p)
            else:
                loss = value(x[j], 0.0, *p) if of_residual else value(1.0, x[j], *p)
                factor[j] = -loss

    @function
    def slope_at(x, slope, p):
        if known:
            return slope
        return -derivative(x, 0.0, *p) if of_residual else derivative(1.0, x, *p)

    @inlined
    def moments(u, v, parameters, i, k, pieces, parts, x, density, steep, place):
        start, width, rule = _reach(i, k, pieces, parts)
        base, sign, mass, first, second = parts[k, _ENERGY], pieces[k, 4, i], 0.0, 0.0, 0.0
        stop, half = place + _COUNTS[rule], 0.5 / v
        for j in range(place, stop):
            x[j] = sign * (start + width * _NODES[rule, j - place])
        factors(x[place:stop], density[place:stop], steep[place:stop], parameters)
        for j in range(place, stop):
            off, weight = x[j] - u, width * _WEIGHTS[rule, j - place]
            depth = base - half * off * off
            if known:
                density[j] *= weight * math.exp(depth)
            else:
                density[j] = weight * math.exp(density[j] + depth)
            mass += density[j]
            first += density[j] * off
        mean, scale = first / mass, 1.0 / mass
        for j in range(place, stop):
            density[j] *= scale
            off = (x[j] - u) - mean
            second += density[j] * off * off
        for j in range(stop, place + _FULL):
            x[j], density[j] = u, 0.0
        parts[k, _MASS], parts[k, _MEAN], parts[k, _SPREAD] = mass, mean, second
        parts[k, _LAST] = stop

    @inlined
    def slopes(u, parameters, k, parts, x, density, steep, place):
        mean, covariance = 0.0, 0.0
        for j in range(place, int(parts[k, _LAST])):
            if density[j] > 0.0:
                steep[j] = slope_at(x[j], steep[j], parameters)
                mean += density[j] * steep[j]
        for j in range(place, int(parts[k, _LAST])):
            if density[j] > 0.0:
                covariance += density[j] * (steep[j] - mean) * ((x[j] - u) - parts[k, _MEAN])
        parts[k, _SLOPE], parts[k, _COVARIANCE] = mean, covariance

    return moments, slopes
