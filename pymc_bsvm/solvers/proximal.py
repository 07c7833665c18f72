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

from pymc_bsvm.solvers.certificate import certified, no_certificate
from pymc_bsvm.solvers.newton import CONVERGED, MAX_ITER, STALLED, Outcome, make_no_factor

__all__ = ["make_proximal"]

_START = 0.5  # of the typical loss at the prior mean, per slope: how far the first envelope bends
_SHRINK = 0.1  # of h, from one step of the continuation to the next
_SHRINK_SETTLED = 0.03  # of h, from one proximal step to the next ...
_SETTLED = 3  # ... once a step takes no more Newton steps than this
_ROUGH = 1e-3  # relative gap at which a step of the continuation is left
_NARROWEST = 1e-12  # of the largest prior variance: the least h ...
_LAST = 1e-14  # ... and the least if that does not help
_WARM = 0.1  # of the first h, for a warm start of a loss with a kink
_WARM_STEPS = 20  # given to a direct solve from a warm start ...
_DIRECT_STEPS = 100  # ... and from the end of the continuation
_ENVELOPE_STEPS = 100  # given to one proximal step, ...
_WIDEN = 1e3  # ... after which h grows by so much, and stays there
_PATIENCE = 5  # steps without a smaller gap before the search is given up


def make_proximal(
    weighted, covariance, certify, newton, envelope_newton, envelope, pursuit, function
):
    """Return the solver for one loss that has an envelope, and one kind of covariance.

    Parameters
    ----------
    weighted : Weighted
        The loss itself as functions of vectors.
    covariance : Covariance
        What reads K.
    certify : callable
        What `pymc_bsvm.solvers.certificate.make_certify` returns for both.
    newton : callable or None
        The Newton solver of the loss itself; None for a loss with kinks.
    envelope_newton : callable
        The Newton solver of its envelope.
    envelope : Envelope
        The parameters of the envelope, and the largest curvature of the loss.
    pursuit : callable or None
        What `pymc_bsvm.solvers.pursuit.make_pursuit` returns for a loss with kinks; None if there
        is no such start.
    function : callable
        Decorator that compiles, or does nothing.
    """
    loss, project = weighted.loss, weighted.project
    envelope_parameters, stiffness = envelope
    diagonal, latent = covariance.diagonal, covariance.latent
    is_certified, unknown = map(function, (certified, no_certificate))
    empty = make_no_factor(covariance, function)

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

    def approach(K, y, w, p, m, a, b, offset, inner, most, callback, h, softness):
        """Go through wide envelopes to narrower ones, until they are as narrow as the bend."""
        steps, inverse = 0, np.where(w > 0.0, 1.0 / np.where(w > 0.0, w, 1.0), 0.0)
        while h > 3.0 * softness:
            q, shift = envelope_parameters(h, p), h * inverse * a
            outcome = envelope_newton(
                K, y, w, q, m - shift, a, b, offset, _ROUGH, inner, most - steps, callback
            )
            steps += outcome.steps
            if outcome.status > STALLED:
                break
            a, b, h = outcome.certificate.a, outcome.certificate.b, _SHRINK * h
        return a, b, h, steps

    def descend(K, y, w, p, m, a, b, offset, tol, inner, most, callback, h, largest):
        """Take proximal steps on the loss itself, with a shrinking h, until one is certified."""
        inverse = np.where(w > 0.0, 1.0 / np.where(w > 0.0, w, 1.0), 0.0)
        floor = _NARROWEST * largest if largest > 0.0 else _NARROWEST
        h, steps, idle, lowest = max(h, floor), 0, 0, math.inf
        best, factor = unknown(a, m + b, b), empty()
        while True:
            factor = empty()  # let the last factor go before the next is made
            q, shift = envelope_parameters(h, p), h * inverse * a
            budget = min(most - steps, _ENVELOPE_STEPS)
            outcome = envelope_newton(
                K, y, w, q, m - shift, a, b, offset, 1e-3 * tol, not inner, budget, callback
            )
            steps, factor, status = steps + outcome.steps, outcome.factor, outcome.status
            if status > STALLED:
                return Outcome(outcome.certificate, factor, steps, status)
            used, b = outcome.steps, outcome.certificate.b
            if status == MAX_ITER:  # too narrow for the rounding errors of f
                h = floor = _WIDEN * h
            a = project(y, outcome.certificate.a, w, p)
            found = certify(K, y, w, p, m, a, latent(K, m, a, b), b, offset, tol, inner)
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

    first_width, descend = function(first_width), function(descend)
    if newton is None:
        return make_kinked(covariance, certify, pursuit, first_width, descend, function)
    approach = function(approach)

    def proximal(K, y, w, p, m, a, b, offset, tol, inner, most, callback):
        """Minimise P; arguments and results are those of the Newton solver."""
        largest = max(diagonal(K).max(), 0.0)
        floor = _NARROWEST * largest if largest > 0.0 else _NARROWEST
        softness = 1.0 / stiffness(p)
        warm, steps = a.any(), 0
        h = math.inf if warm else first_width(y, w, p, m)
        if softness <= 1e-3 * floor:  # a bend too narrow for Newton's method
            h = _WARM * first_width(y, w, p, m) if warm else h
            return descend(K, y, w, p, m, a, b, offset, tol, inner, most, callback, h, largest)
        if warm or h <= 10.0 * softness:
            budget = min(most, _WARM_STEPS) if warm else most
            outcome = newton(K, y, w, p, m, a, b, offset, tol, inner, budget, callback)
            steps = outcome.steps
            if not (outcome.status == STALLED or (outcome.status == MAX_ITER and steps < most)):
                return outcome
            a, b = outcome.certificate.a, outcome.certificate.b
            outcome = Outcome(outcome.certificate, empty(), steps, STALLED)  # let its factor go
        h = first_width(y, w, p, m) if warm else h
        a, b, h, used = approach(
            K, y, w, p, m, a, b, offset, inner, most - steps, callback, h, softness
        )
        budget = min(most - steps - used, _DIRECT_STEPS)
        outcome = newton(K, y, w, p, m, a, b, offset, tol, inner, budget, callback)
        steps += used + outcome.steps
        if steps < most and (outcome.status == STALLED or outcome.status == MAX_ITER):
            a, b = outcome.certificate.a, outcome.certificate.b
            outcome = Outcome(outcome.certificate, empty(), steps, STALLED)
            outcome = descend(
                K, y, w, p, m, a, b, offset, tol, inner, most - steps, callback, h, largest
            )
            steps += outcome.steps
        return Outcome(outcome.certificate, outcome.factor, steps, outcome.status)

    return function(proximal)


def make_kinked(covariance, certify, pursuit, first_width, descend, function):
    """Return the solver for a loss with kinks: a start, if there is one, and proximal steps."""
    diagonal, latent = covariance.diagonal, covariance.latent
    is_certified, empty = function(certified), make_no_factor(covariance, function)
    started = pursuit is not None
    if pursuit is None:
        pursuit = function(lambda K, y, w, p, m, a, b, offset, tol, most, callback: (a, b, 0))

    def kinked(K, y, w, p, m, a, b, offset, tol, inner, most, callback):
        """Minimise P; arguments and results are those of the Newton solver."""
        a, b, steps = pursuit(K, y, w, p, m, a, b, offset, tol, most, callback)
        if started:
            found = certify(K, y, w, p, m, a, latent(K, m, a, b), b, offset, tol, inner)
            if found.definite and is_certified(found, tol):
                return Outcome(found, empty(), steps, CONVERGED)
        largest, h = max(diagonal(K).max(), 0.0), first_width(y, w, p, m)
        h = _WARM * h if a.any() else h
        outcome = descend(
            K, y, w, p, m, a, b, offset, tol, inner, most - steps, callback, h, largest
        )
        steps += outcome.steps
        return Outcome(outcome.certificate, outcome.factor, steps, outcome.status)

    return function(kinked)
