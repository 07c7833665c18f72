"""The highest likelihood of many rows in a few parameters, by their scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.search.box import promise, step_in_box
from pymc_bsvm.search.curvature import corrected

__all__ = ["most_likely"]

_APART = 1e-6  # of a parameter: the distance of differences
_LONGEST = 1.5  # of the steps of a parameter
_RIDGE = 1e-10  # of the trace
_SHORTER = 4.0  # times the curvature after a step that goes down
_HOPE = 100.0  # times the promise of a step: the most that is left to gain
_KEPT = 0.5  # of a promise: by how much a step that tells of the next ones may miss it
_STEPS = 100


def most_likely(
    log_density: Callable[[Array], Array],
    start: Array,
    bounds: Array,
    weight: Array | float = 1.0,
    gain: float = 1e-3,
    least: float = -np.inf,
) -> tuple[Array, float]:
    """Return the parameters of the highest sum of log densities within a box, and the sum.

    The first curvature is that of [BHHH74]_, the sum over the rows of the squares of their slopes,
    which is positive definite, and nearly that of the likelihood where the rows are many and their
    distribution is right. Steps correct it. Slopes are differences.

    Parameters
    ----------
    log_density : callable
        Takes parameters, of shape (k,), and returns the log density of each row, of shape (n,).
    start : ndarray of shape (k,)
        Parameters in the box.
    bounds : ndarray of shape (k, 2)
        The box.
    weight : ndarray of shape (n,) or float
        How often each row counts.
    gain : float
        Nats; the search ends where a step promises less.
    least : float
        Sum below which the end is of no use. After a step, what is left to gain counts as less than
        some times what the next one promises.
    """
    x, here = start, log_density(start)
    value, kept = float((weight * here).sum()), True
    slope, squares = _scores(log_density, x, here, bounds, weight)
    H, stiff, tried = squares, 1.0, True
    for taken in range(_STEPS):
        step = step_in_box(stiff * H, slope, x, bounds, _LONGEST)
        promised = promise(stiff * H, slope, step)
        if promised < gain and kept:
            if tried:
                break
            H, stiff, tried = squares, 1.0, True
            continue
        if taken > 0 and value + _HOPE * promised < least:
            break
        there = log_density(x + step)
        gained = float((weight * there).sum()) - value
        kept = abs(gained - promised) <= max(_KEPT * promised, gain)
        if not gained > 0.0:
            stiff *= _SHORTER
            continue
        x, here, value, before, stiff = x + step, there, value + gained, slope, 1.0
        (slope, squares), tried = _scores(log_density, x, here, bounds, weight), False
        if (before - slope) @ step > 0.0:
            H = corrected(H, step, before - slope)
    return x, value


def _scores(
    log_density: Callable[[Array], Array],
    x: Array,
    here: Array,
    bounds: Array,
    weight: Array | float,
) -> tuple[Array, Array]:
    """Return the sums over the rows of the slopes and of their squares."""
    slopes = _slopes(log_density, x, here, bounds)
    weighted = weight * slopes
    squares = weighted @ slopes.T
    ridge = _RIDGE * max(float(np.trace(squares)), 1.0)
    return weighted.sum(axis=1), squares + ridge * np.eye(x.size)


def _slopes(log_density: Callable[[Array], Array], x: Array, here: Array, bounds: Array) -> Array:
    """Return the derivatives of the log densities, of shape (k, n)."""
    rows = []
    for k in range(x.size):
        apart = _APART if x[k] + _APART <= bounds[k, 1] else -_APART
        there = x.copy()
        there[k] += apart
        rows.append((log_density(there) - here) / (there[k] - x[k]))
    return np.array(rows)
