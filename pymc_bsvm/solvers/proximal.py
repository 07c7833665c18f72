"""Proximal steps on the dual: narrow bends by continuation, kinks exactly.

The proximal step ``min_a D(a) + h / 2 sum (a_i - c_i)² / w_i`` is the dual of the same problem with
the Moreau envelope of the loss and the prior mean ``m - h c / w``, which the Newton solver takes as
it is. A loss with kinks is solved by such steps with a decreasing h; each divides the distance to
the solution, and a certificate for the loss itself ends them. A loss with a narrow bend is
approached through wider ones, which saves Newton steps, and then solved directly, unless its bend
is too narrow for the rounding errors of K: then the proximal steps go on.
"""

import math

import numpy as np

from pymc_bsvm.solvers.kernel import add_product
from pymc_bsvm.solvers.newton import BALANCED, CONVERGED, MAX_ITER, NOTHING, STALLED

__all__ = ["make_proximal"]

_START = 0.5  # of the typical loss at the prior mean, per slope: how far the first envelope bends
_SHRINK = 0.1  # of h, from one step of the continuation to the next
_SHRINK_SETTLED = 0.03  # of h, from one proximal step to the next ...
_SETTLED = 3  # ... once a step takes no more Newton steps than this
_ROUGH = 1e-3  # relative gap at which a step of the continuation is left
_NARROWEST = 1e-12  # of the largest prior variance: the least h ...
_LAST = 1e-14  # ... and the least if that does not help
_WARM_STEPS = 20  # given to a direct solve from a warm start ...
_DIRECT_STEPS = 100  # ... and from the end of the continuation
_PATIENCE = 5  # steps without a smaller gap before the search is given up


def make_proximal(weighted, newton, envelope_newton, envelope, function):
    """Return the solver for one loss that has an envelope.

    Parameters
    ----------
    weighted : Weighted
        The loss itself as functions of vectors.
    newton : callable or None
        The Newton solver of the loss itself; None for a loss with kinks.
    envelope_newton : callable
        The Newton solver of its envelope.
    envelope : Envelope
        The parameters of the envelope, and the largest curvature of the loss.
    function : callable
        Decorator that compiles, or does nothing.
    """
    loss, _, _, _, project, row_gap = weighted
    envelope_parameters, stiffness = envelope

    if newton is None:

        def newton(K, y, w, p, m, a, b, offset, tol, least, most, callback):
            none = np.zeros(y.shape[0])
            free = np.flatnonzero(none)
            return a, m + b, b, math.inf, 0, STALLED, np.empty((0, 0)), free, none

        newton = function(newton)

    def first_width(y, w, p, m):
        """Return the h of the first envelope, zero if there is nothing to smooth."""
        everything = np.full(y.shape[0], math.inf)
        bound = np.maximum(project(y, everything, w, p), -project(y, -everything, w, p))
        bound = np.where(w > 0.0, bound / np.where(w > 0.0, w, 1.0), 0.0).max()
        if not 0.0 < bound < math.inf:
            return 0.0
        lost = loss(y, m, np.ones(y.shape[0]), p)
        lost = lost[(lost > 0.0) & np.isfinite(lost)]
        return _START * np.median(lost) / bound / bound if lost.shape[0] > 0 else 0.0

    first_width = function(first_width)

    def proximal(K, y, w, p, m, a, b, offset, tol, least, most, callback):
        """Minimise P; arguments and results are those of the Newton solver."""
        largest = 0.0
        for i in range(y.shape[0]):
            largest = max(largest, K[i, i])
        floor = _NARROWEST * largest if largest > 0.0 else _NARROWEST
        softness = 1.0 / stiffness(p)
        h = first_width(y, w, p, m)
        steps = 0
        warm = a.any()
        exact = softness > 1e-3 * floor  # the loss itself is smooth enough for Newton's method
        none = np.empty((0, 0))  # in place of a factor that is no longer needed
        if exact and (warm or h <= 10.0 * softness):
            budget = min(most, _WARM_STEPS) if h > 10.0 * softness else most
            a, f, b, gap, steps, status, B, free, root = newton(
                K, y, w, p, m, a, b, offset, tol, least, budget, callback
            )
            if status != STALLED and (status != MAX_ITER or steps >= most):
                return a, f, b, gap, steps, status, B, free, root
            B = none
        elif warm:
            h = min(h, 1e3 * floor)
        inverse = np.where(w > 0.0, 1.0 / np.where(w > 0.0, w, 1.0), 0.0)
        while exact and h > 3.0 * softness:
            q, shift = envelope_parameters(h, p), h * inverse * a
            next_a, f, next_b, gap, used, status, B, free, root = envelope_newton(
                K, y, w, q, m - shift, a, b, offset, _ROUGH, 0, most - steps, callback
            )
            steps += used
            B = none
            if status > STALLED:
                break
            a, b, h = next_a, next_b, _SHRINK * h
        if exact:
            budget = min(most - steps, _DIRECT_STEPS)
            a, f, b, gap, used, status, B, free, root = newton(
                K, y, w, p, m, a, b, offset, tol, 0, budget, callback
            )
            steps += used
            if (status != STALLED and status != MAX_ITER) or steps >= most:
                return a, f, b, gap, steps, status, B, free, root
        idle, best = 0, math.inf
        h = max(h, floor)
        while True:
            B = none
            q, shift = envelope_parameters(h, p), h * inverse * a
            a, f, b, gap, used, status, B, free, root = envelope_newton(
                K, y, w, q, m - shift, a, b, offset, 1e-3 * tol, 1, most - steps, callback
            )
            steps += used
            a = project(y, a, w, p)
            f = m + b
            add_product(K, np.flatnonzero(a), a, f)
            if status > STALLED:
                return a, f, b, math.inf, steps, status, B, free, root
            gap = math.inf
            if not offset or abs(a.sum()) <= BALANCED * np.abs(a).sum() + NOTHING:
                gap = row_gap(y, f, a, w, p).sum() - b * a.sum()
            primal = loss(y, f, w, p).sum() + 0.5 * (a * (f - m - b)).sum()
            idle = 0 if gap < 0.5 * best else idle + 1
            best = min(best, gap)
            if math.isfinite(gap) and gap <= tol * (1.0 + abs(primal)):
                return a, f, b, gap, steps, CONVERGED, B, free, root
            if idle == _PATIENCE and floor > _LAST * largest:
                idle, floor = 0, 0.1 * floor
            if steps >= most or idle == _PATIENCE:
                status = MAX_ITER if steps >= most else STALLED
                return a, f, b, gap, steps, status, B, free, root
            if used <= _SETTLED:
                h = max(_SHRINK_SETTLED * h, floor)

    return function(proximal)
