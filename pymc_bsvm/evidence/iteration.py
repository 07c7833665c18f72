"""The iteration of expectation propagation, interpreted or compiled.

A sweep matches all sites at once. Earlier steps are mixed into the next one (Anderson); a step
after which the moments are further apart is taken back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = [
    "CONVERGED",
    "FAR",
    "GROWTH",
    "IMPROPER",
    "LEAST_DAMPING",
    "LEAST_FAR",
    "LOW",
    "MANY",
    "MAX_ITER",
    "NEAR",
    "PATIENCE",
    "SHORTEST_REST",
    "STALLED",
    "WORSE",
    "make_propagate",
]

CONVERGED, MAX_ITER, STALLED, IMPROPER = range(4)
MANY, LOW = 150, 0.4  # rows, and share of the rank, from which sweeps of low rank are cheaper
_WINDOW = 4  # earlier steps that are mixed with the last one
FAR, NEAR = 1.0, 0.5  # errors above which steps are not mixed, and below which they may not grow
WORSE, GROWTH = 2.0, 1.3  # what growth of the error halves the steps, and how they recover
LEAST_DAMPING, LEAST_FAR = 1e-3, 0.1
SHORTEST_REST = 2  # steps that are not mixed after a mixture that was taken back
PATIENCE = 6  # sweeps that are no better than the best one, after which steps are halved for good


def make_propagate(
    look: Callable[..., Any],
    follow: Callable[..., Any],
    keep: Callable[..., Any],
    function: Callable[..., Any],
) -> Callable[..., Any]:
    """Return the iteration for what looks at all rows.

    Parameters
    ----------
    look : callable
        ``(model, sites)``: an object with the sites, the ``matched`` ones, and the ``error``, which
        is infinite where the sites are no approximation.
    follow : callable
        ``(sweep, points, steps, damping)``: the sites to look at after a sweep, which is the last
        of the points.
    keep : callable
        ``(points, steps, kept, sites, matched)``: put a sweep behind the kept ones, in place of the
        first where they are many, and return how many are kept then.
    function : callable
        Decorator that compiles, or does nothing.

    Returns
    -------
    callable
        ``(model, sites, tol, max_iter) -> (sweep, n_iter, status)`` with the best sweep.
    """

    def propagate(model, sites, tol, max_iter):
        sweep = look(model, sites)
        n_iter, damping, rest, plain = 1, 1.0, SHORTEST_REST, 0  # plain: what is left of a rest
        longest, waited = 1.0, 0
        if not math.isfinite(sweep.error):
            return sweep, n_iter, IMPROPER
        points = np.empty((_WINDOW + 1, 2 * sites.precision.size))
        steps, kept, best, after = np.empty(points.shape), 0, sweep, sweep
        while best.error > tol and n_iter < max_iter and damping > LEAST_DAMPING:
            if sweep.error > FAR or plain > 0:
                kept = 0
            kept = keep(points, steps, kept, sweep.sites, sweep.matched)
            after = look(model, follow(sweep, points[:kept], steps[:kept], damping))
            n_iter, plain = n_iter + 1, max(plain - 1, 0)
            if after.error <= WORSE * sweep.error:
                damping, sweep = min(longest, GROWTH * damping), after
            else:
                if kept > 1:  # the mixture is to blame, not the length
                    plain, rest = rest, 2 * rest
                else:
                    damping *= 0.5
                kept = 0
                if math.isfinite(after.error) and sweep.error >= NEAR:
                    damping, sweep = max(damping, min(longest, LEAST_FAR)), after
            waited += 1
            if sweep.error < best.error:
                best, waited = sweep, 0
            elif waited == PATIENCE:  # full steps go round in circles
                longest, waited = 0.5 * longest, 0
                damping = min(longest, damping)
        if best.error <= tol:
            return best, n_iter, CONVERGED
        if n_iter >= max_iter:
            return best, n_iter, MAX_ITER
        return best, n_iter, STALLED if math.isfinite(after.error) else IMPROPER

    return function(propagate)
