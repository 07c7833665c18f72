"""Adaptive quadrature of log-concave functions, in logarithms.

The rule starts from the highest point of the integrand, adds positive terms only and returns a
logarithm, so that neither the far tails nor extreme scales cost digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array

__all__ = ["NODES", "WEIGHTS", "Rule", "log_integral", "rule"]

NODES, WEIGHTS = (0.5 * x for x in np.polynomial.legendre.leggauss(14))
NODES = NODES + 0.5  # on the unit interval
_DEEP = 45.0  # the integrand is cut where it has fallen by exp(-45): 3e-20
_TOLERANCE = 1e-13  # share of the integral by which halving a panel may change it
_FLAT_ENOUGH = 0.5  # nats by which the starting point may miss the maximum
_GRADING = (5e-2, 2e-3, 1e-4)  # panels shrink towards the top, which often is a sharp shoulder
_FIRST_STEP = 2.0
_FASTER = 4.0  # times as long or as short the next step is
_MOST_DOUBLINGS = 1100  # the range of the exponents of floats
_MOST_BISECTIONS = 1100
_MOST_NARROWINGS = 100
_MOST_HALVINGS = 60
_MOST_PANELS = 400  # for each integral
_NONE = np.zeros(0)


class Rule(NamedTuple):
    """Points and weights that integrate functions of n rows, one after the other."""

    points: Array
    weights: Array
    owner: NDArray[np.intp]
    """The row of each point."""


class _Panels(NamedTuple):
    """Panels on which the quadrature is exact to its tolerance."""

    left: Array
    right: Array
    owner: NDArray[np.intp]


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
    return _integrate(energy, slope, parameters, breaks)[0]


def rule(
    energy: Callable[..., Any],
    slope: Callable[..., Any],
    parameters: Sequence[Array],
    ends: tuple[Array, Array],
) -> Rule:
    """Return points and weights for ``exp(-energy(x))`` times smooth functions between two ends.

    Parameters
    ----------
    energy, slope, parameters
        As for `log_integral`.
    ends : tuple of ndarray of shape (n,)
        The ends of the intervals, which may be infinite.

    Returns
    -------
    Rule
        The weights do not contain the integrand.
    """

    def inside(x: Array, left: Array, right: Array, *p: Any) -> Array:
        return np.where((x >= left) & (x <= right), energy(x, *p), np.inf)

    def uphill(x: Array, left: Array, right: Array, *p: Any) -> Array:
        beyond = np.where(x > right, np.inf, slope(x, *p))
        return np.where(x < left, -np.inf, beyond)

    left, right = ends
    _, panels = _integrate(inside, uphill, (left, right, *parameters), ends)
    within = (panels.left >= left[panels.owner]) & (panels.right <= right[panels.owner])
    start, stop, owner = (part[within] for part in panels)
    points = start[:, None] + (stop - start)[:, None] * NODES
    weights = (stop - start)[:, None] * WEIGHTS
    return Rule(points.ravel(), weights.ravel(), np.repeat(owner, NODES.size))


def _integrate(
    energy: Callable[..., Any],
    slope: Callable[..., Any],
    parameters: Sequence[Array],
    breaks: Sequence[Array],
) -> tuple[Array, _Panels]:
    """Return the logs of the integrals, and the panels that they were summed over."""
    with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
        left, top, right = _lowest_point(slope, parameters)
        for end in (left, right):  # where the middle of the last bracket is behind a wall
            top = np.where(np.isinf(energy(top, *parameters)), end, top)
        least = energy(top, *parameters)
        possible = np.isfinite(least)
        if not possible.all():
            result, panels = np.full(top.shape, -np.inf), _Panels(_NONE, _NONE, _NONE.astype(int))
            if possible.any():
                kept = [[p[possible] for p in group] for group in (parameters, breaks)]
                result[possible], panels = _integrate(energy, slope, *kept)
                panels = panels._replace(owner=np.flatnonzero(possible)[panels.owner])
            return result, panels
        left, right = (_where_deep(energy, parameters, top, least, side) for side in (-1.0, 1.0))
        inner = [np.clip(np.nan_to_num(b), left, right) for b in breaks]
        graded = [top + (end - top) * share for end in (left, right) for share in _GRADING]
        edges = np.sort(np.stack([left, top, right, *graded, *inner], axis=1), axis=1)

        def integrand(x: Array, owner: Any) -> Array:
            p = [parameter[owner, None] for parameter in parameters]
            return np.asarray(np.exp(least[owner, None] - energy(x, *p)))

        tolerance = _TOLERANCE + 8.0 * np.finfo(float).eps * (1.0 + np.abs(least))
        integral, panels = _adaptive(integrand, edges, tolerance)
        return np.asarray(np.log(integral) - least), panels


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
        inner, outer = np.where(shallow, outer, inner), np.where(shallow, _FASTER * outer, outer)
    for _ in range(_MOST_NARROWINGS):
        too_deep = depth(outer) > 2.0 * _DEEP
        if not too_deep.any():
            break
        middle = np.where(inner > 0.0, 0.5 * (inner + outer), outer / _FASTER)
        shallow = depth(middle) < _DEEP
        inner = np.where(too_deep & shallow, middle, inner)
        outer = np.where(too_deep & ~shallow, middle, outer)
    return top + side * outer


def _adaptive(
    integrand: Callable[..., Array], edges: Array, tolerance: Array
) -> tuple[Array, _Panels]:
    """Integrate over all panels between the edges, halving those that halving still changes."""
    n, m = edges.shape
    owner = np.repeat(np.arange(n), m - 1)
    left, right = edges[:, :-1].ravel(), edges[:, 1:].ravel()

    def panel(left: Array, right: Array, owner: Any) -> Array:
        width = right - left
        return integrand(left[:, None] + width[:, None] * NODES, owner) @ WEIGHTS * width

    def by_owner(values: Array) -> Array:
        return np.bincount(owner, values, minlength=n)

    value, done, kept = panel(left, right, owner), np.zeros(n), []
    for _ in range(_MOST_HALVINGS):
        middle = 0.5 * (left + right)
        halves = panel(left, middle, owner), panel(middle, right, owner)
        refined = halves[0] + halves[1]
        total = done + by_owner(refined)
        changed = np.abs(refined - value) > (tolerance * total)[owner]
        done += by_owner(np.where(changed, 0.0, refined))
        kept += [
            _Panels(left[~changed], middle[~changed], owner[~changed]),
            _Panels(middle[~changed], right[~changed], owner[~changed]),
        ]
        left, right = (
            np.concatenate([left[changed], middle[changed]]),
            np.concatenate([middle[changed], right[changed]]),
        )
        value = np.concatenate([half[changed] for half in halves])
        owner = np.tile(owner[changed], 2)
        if not owner.size or owner.size > _MOST_PANELS * n:
            break
    kept.append(_Panels(left, right, owner))
    panels = _Panels(*map(np.concatenate, zip(*kept, strict=True)))
    return done + by_owner(value), panels
