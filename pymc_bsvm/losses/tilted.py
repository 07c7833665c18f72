"""A likelihood averaged over a Gaussian latent value: the logarithm and its first two derivatives.

With ``u ~ N(c, v)`` the average is ``Z = E[exp(-l(u))]`` and the tilted density is
``exp(-l(u)) N(u; c, v) / Z``, of mean t and variance s. Two identities for each derivative,

    d log Z / dc  = -E_t[l'(u)] = (t - c) / v
    -d² log Z / dc² = E_t[(l'(u) - l'(t)) (u - t)] / v = (1 - s / v) / v

leave nothing to cancel, however small the derivatives are and however sharp the loss: the left ones
where s is above half of v, the right ones below. The first sum of the second line has no negative
term as the loss is convex, and needs no curvature, so that kinks do no harm.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.losses import jet_language as jets
from pymc_bsvm.losses.blurred import Blurred, of_argument
from pymc_bsvm.losses.formula import formulas
from pymc_bsvm.losses.piece import Outline, Piece
from pymc_bsvm.losses.quadrature import rule

if TYPE_CHECKING:
    from pymc_bsvm.losses.base import Loss

__all__ = [
    "DEEP",
    "LOG_ROOT_2PI",
    "NODES",
    "WEIGHTS",
    "Tilted",
    "TiltedRule",
    "adaptive_rule",
    "averaged",
    "averaged_slopes",
    "by_quadrature",
    "normalizer_slopes",
    "piecewise_rule",
    "tilted_density",
]

LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)
NODES, WEIGHTS = (0.5 * x for x in np.polynomial.legendre.leggauss(40))
NODES = NODES + 0.5  # on the unit interval
DEEP = 42.0  # a piece is cut where the parabola has risen so far: exp(-42) is 6e-19


class Tilted(NamedTuple):
    """The log of an averaged likelihood and its derivatives in the mean of the Gaussian."""

    log_z: Array
    """``log E[p(y | f)]``, in nats."""
    alpha: Array
    """Its first derivative: the expected dual of a row."""
    nu: Array
    """Minus its second derivative, not negative; times the variance at most one."""
    variance: Array
    """Variance of the tilted density, ``v (1 - v nu)`` for the Gaussian's variance v; nothing
    cancels in it where it is much the smaller one."""


class TiltedRule(NamedTuple):
    """Points that resolve the tilted density of each row, both of shape (n, points)."""

    points: Array
    """Arguments of the loss."""
    weights: Array
    """They do not contain the density; points without a weight count for nothing."""


def by_quadrature(loss: Loss, centre: Array, variance: Array) -> Tilted:
    """Return the average for any loss, by adaptive quadrature between its knots."""
    return averaged(loss, centre, variance, adaptive_rule(loss, centre, variance))


def adaptive_rule(loss: Loss, centre: Array, variance: Array) -> TiltedRule:
    """Return points for any loss, by adaptive quadrature between its knots."""
    n = centre.size
    with np.errstate(all="ignore"):
        blurred = Blurred.of(loss, centre, variance)
        ends = [np.full(n, -np.inf), *map(blurred.place, loss.knots), np.full(n, np.inf)]
        left, right = np.stack(ends[:-1]).ravel(), np.stack(ends[1:]).ravel()
        rows = np.tile(np.arange(n), len(ends) - 1)
        each = [p[rows] for p in blurred.parameters]
        x, weights, owner = rule(blurred.energy, blurred.slope, each, (left, right))
        row = rows[owner]
        origin, unit = blurred.parameters[:2]
        points = _side_by_side(origin[row] + unit[row] * x, row, n)
        return TiltedRule(points, _side_by_side(unit[row] * weights, row, n))


def piecewise_rule(outline: Outline, centre: Array, variance: Array) -> TiltedRule:
    """Return points for a loss of parabolas and lines, plus slow terms: a fixed number of them.

    Parameters
    ----------
    outline : Outline
        The parabolas and lines.
    centre, variance : ndarray of shape (n,)
        Means and variances of the argument.
    """
    points, weights = [], []
    with np.errstate(all="ignore"):
        for piece, sign in outline.signed:
            start, stop = _reach(piece, sign * centre, variance)
            width = (stop - start)[:, None]
            points.append(sign * (start[:, None] + width * NODES))
            weights.append(width * WEIGHTS)
    return TiltedRule(np.hstack(points), np.hstack(weights))


def _side_by_side(values: Array, row: NDArray[np.intp], n: int) -> Array:
    """Return the values of each of n rows beside each other, with zeros behind them."""
    order = np.argsort(row, kind="stable")
    count = np.bincount(row, minlength=n)
    place = np.arange(row.size) - np.repeat(np.cumsum(count) - count, count)
    result = np.zeros((n, count.max(initial=1)))
    result[row[order], place] = values[order]
    return result


def _reach(piece: Piece, centre: Array, variance: Array) -> tuple[Array, Array]:
    """Return the part of a piece on which it and a Gaussian are not deep above their minimum."""
    bend = piece.curvature + 1.0 / variance
    uphill = piece.slope_left + (piece.left - centre) / variance
    lowest = np.clip(piece.left - uphill / bend, piece.left, piece.right)
    slope = np.abs(uphill + bend * (lowest - piece.left))
    slope = np.where((lowest > piece.left) & (lowest < piece.right), 0.0, slope)
    width = 2.0 * DEEP / (slope + np.sqrt(slope * slope + 2.0 * DEEP * bend))
    return np.maximum(piece.left, lowest - width), np.minimum(piece.right, lowest + width)


def averaged(loss: Loss, centre: Array, variance: Array, rule: TiltedRule) -> Tilted:
    """Return the average from points that resolve the tilted density."""
    with np.errstate(all="ignore"):
        density, log_mass = tilted_density(loss, centre, variance, rule)
        _, slope = of_argument(type(loss))
        parameters = _columns(loss)
        off = rule.points - centre[:, None]
        pull = (density * off).sum(axis=1, keepdims=True)
        from_mean = off - pull
        spread = (density * from_mean * from_mean).sum(axis=1)
        slopes = np.where(density > 0.0, slope(rule.points, *parameters), 0.0)
        rise = np.where(density > 0.0, slopes - slope(centre[:, None] + pull, *parameters), 0.0)
        narrow = 2.0 * spread < variance
        alpha = np.where(narrow, pull[:, 0] / variance, -(density * slopes).sum(axis=1))
        bend = (density * rise * from_mean).sum(axis=1) / variance
        nu = np.where(narrow, (1.0 - spread / variance) / variance, bend)
        return Tilted(log_mass - loss.log_normalizer(), alpha, nu, spread)


def averaged_slopes(loss: Loss, centre: Array, variance: Array, rule: TiltedRule) -> Array:
    """Return the derivatives of the log average with respect to the fields, of shape (k, n).

    They are ``-E_t[dl / dtheta] - d log Z / dtheta``.
    """
    density, _ = tilted_density(loss, centre, variance, rule)
    slopes = np.zeros((len(loss.fields), centre.size))
    columns = [np.asarray(field)[..., None] for field in loss.fields.values()]
    with np.errstate(all="ignore"):
        symbols = jets.variables(columns)
        value = of_argument(type(loss), jets)[0](rule.points, *loss.complete(*symbols))
        for row, slope in zip(slopes, jets.slopes(value, len(symbols)), strict=True):
            row -= np.where(density > 0.0, density * slope, 0.0).sum(axis=1)
    return slopes - normalizer_slopes(loss, centre.size)


def normalizer_slopes(loss: Loss, n: int) -> Array:
    """Return the derivatives of ``log Z_i`` with respect to the fields, of shape (k, n)."""
    symbols = jets.variables(list(loss.fields.values()))
    stated = formulas(type(loss), jets)
    slopes = np.zeros((len(symbols), n))
    with np.errstate(all="ignore"):
        log_z = stated.log_normalizer(*loss.complete(*symbols))  # type: ignore[misc]
        for row, slope in zip(slopes, jets.slopes(log_z, len(symbols)), strict=True):
            row += slope
    return slopes


def tilted_density(
    loss: Loss, centre: Array, variance: Array, rule: TiltedRule
) -> tuple[Array, Array]:
    """Return the tilted probability of each point, and the log of the integral."""
    value, _ = of_argument(type(loss))
    with np.errstate(all="ignore"):
        off = rule.points - centre[:, None]
        energy = value(rule.points, *_columns(loss)) + 0.5 * off * (off / variance[:, None])
        energy = np.where(rule.weights > 0.0, energy, np.inf)
        least = energy.min(axis=1, keepdims=True)
        density = rule.weights * np.exp(least - energy)
        mass = density.sum(axis=1, keepdims=True)
        log_mass = np.log(mass[:, 0]) - least[:, 0] - 0.5 * np.log(variance) - LOG_ROOT_2PI
        return density / mass, log_mass


def _columns(loss: Loss) -> list[Array]:
    """Return the parameters of the formulas, for points in the columns."""
    return [np.asarray(p)[..., None] for p in loss.parameters]
