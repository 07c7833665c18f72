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

from pymc_bsvm.solvers.certificate import certified, make_certify
from pymc_bsvm.solvers.newton import CONVERGED, MAX_ITER, STALLED, Outcome, no_factor

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


def make_proximal(weighted, newton, envelope_newton, envelope_parameters, stiffness, function):
    """Return the solver for one loss that has an envelope.

    Parameters
    ----------
    weighted : Weighted
        The loss itself as functions of vectors.
    newton : callable or None
        The Newton solver of the loss itself; None for a loss with kinks.
    envelope_newton : callable
        The Newton solver of its envelope.
    envelope_parameters, stiffness : callable
        The loss's methods of these names.
    function : callable
        Decorator that compiles, or does nothing.
    """
    loss, project = weighted.loss, weighted.project
    envelope_parameters, stiffness = function(envelope_parameters), function(stiffness)
    is_certified, empty = function(certified), function(no_factor)

    def stay(y, f, w, p):
        """Leave the offset where the envelope's solution has put it."""
        return 0.0

    certify = make_certify(weighted, function(stay), function)

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

    def proximal_step(K, y, w, p, m, a, b, offset, tol, least, most, callback, h, inverse):
        """Solve the problem of the envelope of width h around the dual ``a``."""
        q, shift = envelope_parameters(h, *p), h * inverse * a
        return envelope_newton(K, y, w, q, m - shift, a, b, offset, tol, least, most, callback)

    first_width, proximal_step = function(first_width), function(proximal_step)

    def approach(K, y, w, p, m, a, b, offset, most, callback, h, inverse, softness):
        """Go through wide envelopes to narrower ones, until they are as narrow as the bend."""
        steps = 0
        while h > 3.0 * softness:
            outcome = proximal_step(
                K, y, w, p, m, a, b, offset, _ROUGH, 0, most - steps, callback, h, inverse
            )
            steps += outcome.steps
            if outcome.status > STALLED:
                break
            a, b, h = outcome.certificate.a, outcome.certificate.b, _SHRINK * h
        return a, b, h, steps

    def descend(K, y, w, p, m, a, b, offset, tol, steps, most, callback, h, inverse, largest):
        """Take proximal steps on the loss itself, with a shrinking h, until one is certified."""
        floor = _NARROWEST * largest if largest > 0.0 else _NARROWEST
        h, idle, lowest = max(h, floor), 0, math.inf
        best = certify(K, y, w, p, m, project(y, a, w, p), b, offset, tol)
        factor = empty()
        while True:
            factor = empty()  # let the last factor go before the next is made
            outcome = proximal_step(
                K, y, w, p, m, a, b, offset, 1e-3 * tol, 1, most - steps, callback, h, inverse
            )
            steps, factor, status = steps + outcome.steps, outcome.factor, outcome.status
            if status > STALLED:
                return Outcome(outcome.certificate, factor, steps, status)
            used, b = outcome.steps, outcome.certificate.b
            a = project(y, outcome.certificate.a, w, p)
            found = certify(K, y, w, p, m, a, b, offset, tol)
            idle = 0 if found.gap < 0.5 * lowest else idle + 1
            lowest = min(lowest, found.gap)
            if found.gap + found.rounding <= best.gap + best.rounding:
                best = found
            if is_certified(found, tol):
                return Outcome(found, factor, steps, CONVERGED)
            if idle == _PATIENCE and floor > _LAST * largest:
                idle, floor = 0, 0.1 * floor
            if steps >= most or idle == _PATIENCE:
                return Outcome(best, factor, steps, MAX_ITER if steps >= most else STALLED)
            if used <= _SETTLED:
                h = max(_SHRINK_SETTLED * h, floor)

    approach, descend = function(approach), function(descend)

    def kinked(K, y, w, p, m, a, b, offset, tol, least, most, callback):
        """Minimise P; arguments and results are those of the Newton solver."""
        largest = max(np.diag(K).max(), 0.0)
        h = first_width(y, w, p, m)
        if a.any():
            h = min(h, 1e3 * _NARROWEST * largest)
        inverse = np.where(w > 0.0, 1.0 / np.where(w > 0.0, w, 1.0), 0.0)
        return descend(K, y, w, p, m, a, b, offset, tol, 0, most, callback, h, inverse, largest)

    if newton is None:
        return function(kinked)
    of_kinks = function(kinked)

    def narrow(K, y, w, p, m, a, b, offset, tol, least, most, callback):
        """Minimise P; arguments and results are those of the Newton solver."""
        largest = max(np.diag(K).max(), 0.0)
        softness = 1.0 / stiffness(*p)
        if softness <= 1e-3 * _NARROWEST * (largest if largest > 0.0 else 1.0):
            return of_kinks(K, y, w, p, m, a, b, offset, tol, least, most, callback)
        h, steps = first_width(y, w, p, m), 0
        if a.any() or h <= 10.0 * softness:
            budget = min(most, _WARM_STEPS) if h > 10.0 * softness else most
            outcome = newton(K, y, w, p, m, a, b, offset, tol, least, budget, callback)
            steps = outcome.steps
            if not (outcome.status == STALLED or (outcome.status == MAX_ITER and steps < most)):
                return outcome
            a, b = outcome.certificate.a, outcome.certificate.b
        inverse = np.where(w > 0.0, 1.0 / np.where(w > 0.0, w, 1.0), 0.0)
        a, b, h, used = approach(
            K, y, w, p, m, a, b, offset, most - steps, callback, h, inverse, softness
        )
        steps += used
        budget = min(most - steps, _DIRECT_STEPS)
        outcome = newton(K, y, w, p, m, a, b, offset, tol, 0, budget, callback)
        steps += outcome.steps
        if outcome.status not in (STALLED, MAX_ITER) or steps >= most:
            return Outcome(outcome.certificate, outcome.factor, steps, outcome.status)
        a, b = outcome.certificate.a, outcome.certificate.b
        return descend(K, y, w, p, m, a, b, offset, tol, steps, most, callback, h, inverse, largest)

    return function(narrow)
