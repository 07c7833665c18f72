"""The start of a loss with kinks: steps on one dual or two, until few rows are left between levels.

A piecewise linear loss is, row by row, its kinks and the duals between them. What its dual gains by
a step on one row or two is known without a factor, and such steps find out which rows are where;
then one step of the rows between two levels, which are few, solves for them exactly.
"""

import math

import numpy as np

__all__ = ["make_pursuit"]

_ENOUGH = 1e-3  # of the tolerance: the gap at which the start ends
_PATIENCE = 10  # rounds without half the gap, before the start is given up
_FIRST = 0.25  # of the rows: the steps on one or two of them in the first round, ...
_LATER = 2  # ... for each row between two levels in the others, ...
_FEWEST = 30  # ... and at least


def make_pursuit(weighted, kinks, covariance, function):
    """Return the start of one loss with kinks, and one kind of covariance.

    Parameters
    ----------
    weighted : Weighted
        The loss as functions of vectors.
    kinks : callable
        ``(y, p)``: the kinks of all rows.
    covariance : Covariance
        What reads K, with steps on single duals.
    function : callable
        Decorator that compiles, or does nothing.
    """
    loss, slope, project = weighted.loss, weighted.slope, weighted.project
    diagonal, latent = covariance.diagonal, covariance.latent
    balance, best_offset, gap_of, advance = covariance.pursuit

    def levels_of(y, w, p, edges):
        """Return the duals between the kinks, from the largest to the least."""
        last = edges.shape[0]
        levels, everything = np.empty((last + 1, y.shape[0])), np.full(y.shape[0], math.inf)
        levels[0], levels[last] = project(y, everything, w, p), project(y, -everything, w, p)
        for j in range(1, last):
            levels[j] = -slope(y, 0.5 * (edges[j - 1] + edges[j]), w, p)
        return levels

    levels_of = function(levels_of)

    def pursuit(K, y, w, p, m, a, b, offset, tol, most, callback):
        """Return a dual, an offset and the number of steps on all rows between two levels."""
        edges = kinks(y, p)
        levels = levels_of(y, w, p, edges)
        given, a, base = a, project(y, a, w, p), 0.0 if offset else b
        g, steps, idle, lowest = latent(K, m, a, base), 0, 0, math.inf
        if not (np.isfinite(edges).all() and np.isfinite(levels).all() and np.isfinite(g).all()):
            return given, b, 0
        if offset:
            if not balance(edges, levels, a, g):
                return given, b, 0
            g = latent(K, m, a, base)
        variances, pairs = np.ascontiguousarray(diagonal(K)), int(_FIRST * y.shape[0])
        solved = False  # whether the rows between two levels have met their kinks
        while True:
            b = best_offset(edges, levels, a, g) if offset else 0.0
            gap = gap_of(edges, levels, a, g + b) - b * a.sum()
            primal = loss(y, g + b, w, p).sum() + 0.5 * (a * (g - m - base)).sum()
            idle = 0 if gap < 0.5 * lowest else idle + 1
            lowest = min(lowest, gap)
            done = gap <= _ENOUGH * tol * (1.0 + abs(primal)) and (solved or idle > 1)
            if done or steps == most or idle == _PATIENCE or not math.isfinite(gap):
                return a, base + b, steps
            lengths, rows = advance(
                K, g, edges, levels, a, variances, offset, max(pairs, _FEWEST), most - steps
            )
            if callback is not None:
                for k in range(rows.shape[0]):
                    callback(steps + k, gap, rows[k], lengths[k])
            solved, pairs = lengths[-1] == 1.0, _LATER * rows[-1]
            steps += int(np.count_nonzero(rows))

    return function(pursuit)
