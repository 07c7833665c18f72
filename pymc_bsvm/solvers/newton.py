"""Semismooth Newton on the free set with an exact line search.

The problem is ``min P(a, b) = sum_i w_i l(y_i, f_i) + a'Ka / 2`` with ``f = m + K a + b``, where
the offset b is zero unless asked for. At the optimum ``a = -w l'(f)``; the step towards it solves

    da = rho - W (K da + db),    rho = -w l'(f) - a,    W = w l''(f),

which fixes ``da = rho`` off the free set (W = 0) and leaves on it, with ``da = W½ x``,

    (I + W½ K W½) x = W^-½ rho - W½ (K rho_off + db),

the matrix B of [RW06]_, Algorithm 3.1, for the m free rows only. Its factor is the only one per
step, and the step reads only those rows of K whose dual changes. With an offset, db follows from
``sum(a + da) = 0``.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from pymc_bsvm.solvers.certificate import certified, no_certificate
from pymc_bsvm.solvers.line_search import make_line_search

__all__ = [
    "CONVERGED",
    "INDEFINITE",
    "INFEASIBLE",
    "MAX_ITER",
    "STALLED",
    "UNBOUNDED",
    "Factor",
    "Outcome",
    "make_newton",
    "make_no_factor",
]

CONVERGED, MAX_ITER, STALLED, INDEFINITE, INFEASIBLE, UNBOUNDED = range(6)
_ROUNDING = 1e-15  # relative; a descent below it cannot be seen in the primal
_SNAP = 1e-13  # relative; a dual this near to its bound or to zero is there
_POLISHED = 1e-13  # relative; what is left of the optimality condition after ...
_POLISHES = 4  # ... at most so many corrections with the last factor, ...
_WORTHWHILE = 0.5  # ... each of which leaves no more than this share
_SHORT = 1e-6  # a step after which the offset is minimised within the line search
_NEGATIVE = 1e-9  # relative; a gap further below zero than this is no rounding of its terms
_COLLAPSED = 1e-6  # of the primal before a step: what was lost by it hides what is left
_PATIENCE = 3  # such steps before the search is given up


class Factor(NamedTuple):
    """The factor of the last step, ``B = I + W½ K W½ = L L'`` on the free set."""

    free: Any
    """Rows of the free set."""
    root: Any
    """Square roots of the curvature of all rows."""
    cholesky: Any
    """L, in the form that the covariance gives it."""


class Outcome(NamedTuple):
    """How a solve ended."""

    certificate: Any
    factor: Any
    steps: int
    status: int


def make_newton(weighted, covariance, center, certify, function):
    """Return the solver for one differentiable loss and one kind of covariance.

    Parameters
    ----------
    weighted : Weighted
        The loss as functions of vectors.
    covariance : Covariance
        What reads K.
    center : callable
        What `pymc_bsvm.solvers.line_search.make_center` returns for the loss.
    certify : callable
        What `pymc_bsvm.solvers.certificate.make_certify` returns for both.
    function : callable
        Decorator that compiles, or does nothing.
    """
    loss, slope, curve, project = weighted.loss, weighted.slope, weighted.curve, weighted.project
    pairing = weighted.pairing
    latent, add_product = covariance.latent, covariance.add_product
    factorize, solve = covariance.factorize, covariance.solve
    line_search = make_line_search(slope, center, function)
    is_certified, unknown = map(function, (certified, no_certificate))
    empty = make_no_factor(covariance, function)

    def start(K, y, w, p, m, a, b, offset):
        """Return the dual inside its domain, drawn back from behind a wall; with f and b."""
        a = project(y, a, w, p)
        f = latent(K, m, a, b)
        if offset and not math.isfinite(loss(y, f, w, p).sum()):
            f, b = latent(K, m, a, 0.0), 0.0
        while a.any() and not math.isfinite(loss(y, f, w, p).sum()):
            a = 0.5 * a if np.abs(a).max() > 1e-3 else np.zeros(a.shape[0])
            f = latent(K, m, a, b)
        return a, f, b

    def feasible(y, a, target, W, w, p, offset):
        """Return the dual put inside its domain, and to where the loss is flat or linear."""
        exact = (W == 0.0) & (np.abs(target - a) <= _SNAP * np.abs(a).max())
        inside = project(y, np.where(exact, target, a), w, p)
        if offset:
            free = np.flatnonzero(W > 0.0)
            if free.shape[0] > 0:
                shift = np.zeros(y.shape[0])
                shift[free] = inside.sum() / free.shape[0]
                inside = project(y, inside - shift, w, p)
        return inside

    def decompose(K, W):
        """Return the factor for the curvature W, and whether it exists."""
        free, root = np.flatnonzero(W > 0.0), np.sqrt(W)
        cholesky, definite = factorize(K, free, root)
        return Factor(free, root, cholesky), definite

    def direction(K, factor, rho, offset):
        """Return da and df of the step for the residual ``rho``, without the free rows' part.

        The third result holds the solution x for the residual, and in a second row for an offset.
        """
        free, root = factor.free, factor.root
        da = rho.copy()
        da[free] = 0.0
        df = np.zeros(rho.shape[0])
        add_product(K, np.flatnonzero(da), da, df)
        x = np.empty((2 if offset else 1, free.shape[0]))
        x[0] = rho[free] / root[free] - root[free] * df[free]
        if offset:
            x[1] = root[free]
        solve(factor.cholesky, x)
        return da, df, x

    decompose, direction = function(decompose), function(direction)

    def polish(K, y, w, p, m, a, f, factor):
        """Correct a dual with the factor at hand, while that makes it more precise.

        The gap is of second order in the dual, so that a dual may be certified and yet too coarse
        for derivatives. Each correction costs no factorisation.
        """
        rho = -slope(y, f, w, p) - a
        for _ in range(_POLISHES):
            if not np.abs(rho).max() > _POLISHED * np.abs(a).max():
                break
            da, _, x = direction(K, factor, rho, False)
            da[factor.free] = factor.root[factor.free] * x[0]
            better = project(y, a + da, w, p)
            f_better = latent(K, m, better, 0.0)
            rho_better = -slope(y, f_better, w, p) - better
            if not np.abs(rho_better).max() < _WORTHWHILE * np.abs(rho).max():
                break
            a, f, rho = better, f_better, rho_better
        return a, f

    polish = function(polish)

    def polished(K, y, w, p, m, a, b, factor, offset, tol, inner):
        """Return the certificate of the polished dual, or that of the dual itself.

        The latter counts where the former is not certified, or no step was taken.
        """
        f = latent(K, m, a, b)
        if factor.free.shape[0] > 0 and not offset:
            better, f_better = polish(K, y, w, p, m, a, f, factor)
            found = certify(K, y, w, p, m, better, f_better, b, offset, tol, inner)
            if is_certified(found, tol):
                return found
        return certify(K, y, w, p, m, a, f, b, offset, tol, inner)

    def step(K, factor, rho, a, offset):
        """Return the Newton step, of the dual, the latent values and the offset."""
        free, root = factor.free, factor.root
        da, df, x = direction(K, factor, rho, offset)
        db = 0.0
        if offset and free.shape[0] > 0:
            excess = a.sum() + da.sum() + (root[free] * x[0]).sum()
            db = excess / (root[free] * x[1]).sum()
            x[0] -= db * x[1]
        da[free] = root[free] * x[0]
        add_product(K, free, da, df)
        return da, df + db, db

    start, feasible, polished, step = map(function, (start, feasible, polished, step))

    def newton(K, y, w, p, m, a, b, offset, tol, inner, most, callback):
        """Minimise P from the dual ``a`` and the offset ``b``, in at most ``most`` steps.

        The iterate is ``a, f, b``, where f follows the steps and ``a`` may be outside its domain.
        What is returned is the best certificate that was found. The inner problem of a solver takes
        at least one step, and does not care for rounding.
        """
        a, f, b = start(K, y, w, p, m, a, b, offset)
        factor, steps, idle, t, before = empty(), 0, 0, 1.0, 0.0
        best = unknown(a, f, b)
        if not math.isfinite(loss(y, f, w, p).sum()):
            return Outcome(best, factor, steps, INFEASIBLE)
        while True:
            if offset and math.isfinite(loss(y, f, w, p).sum()):
                db = center(y, f, w, p)
                if not math.isfinite(db):
                    return Outcome(unknown(best.a, best.f, best.b), factor, steps, UNBOUNDED)
                b, f = b + db, f + db
            W, target, values = curve(y, f, w, p), -slope(y, f, w, p), loss(y, f, w, p)
            inside = feasible(y, a, target, W, w, p, offset)
            gap = (values + pairing(y, f, inside, w, p)).sum() - b * inside.sum()
            primal = values.sum() + 0.5 * (a * (f - m - b)).sum()
            last = steps == most or idle == _PATIENCE
            ready = steps > 0 or not inner
            if last or (ready and gap <= tol * (1.0 + abs(primal))):
                found = polished(K, y, w, p, m, inside, b, factor, offset, tol, inner)
                if not found.definite:
                    return Outcome(unknown(found.a, found.f, found.b), factor, steps, INDEFINITE)
                if ready and is_certified(found, tol):
                    return Outcome(found, factor, steps, CONVERGED)
                if found.gap + found.rounding <= best.gap + best.rounding:
                    best = found
                if last:
                    return Outcome(best, factor, steps, MAX_ITER if steps == most else STALLED)
            factor = empty()  # let the last factor go before the next is made
            factor, definite = decompose(K, W)
            if not definite:
                return Outcome(unknown(best.a, best.f, best.b), factor, steps, INDEFINITE)
            da, df, db = step(K, factor, target - a, a, offset)
            if not np.isfinite(df).all():
                return Outcome(unknown(best.a, best.f, best.b), factor, steps, INDEFINITE)
            descent = ((target - a) * df).sum() + db * a.sum()
            if descent > _ROUNDING * (1.0 + abs(primal)):
                idle = 0
                joint = offset and (factor.free.shape[0] == 0 or t < _SHORT)
                t = line_search(-descent, y, f, a, w, p, df, da, db, joint)
            else:  # the primal is at its minimum; the dual may still move where K does not see it
                idle += 1
                t = 1.0
            if callback is not None:
                callback(steps, gap, factor.free.shape[0], t)
            if not math.isfinite(t):  # what descends for ever here is rounding
                idle, t = idle + 1, 1.0
            steps += 1
            a, f, b = a + t * da, f + t * df, b + t * db
            if gap < -_NEGATIVE * (1.0 + abs(primal)) or abs(primal) < _COLLAPSED * before:
                f = latent(K, m, a, b)  # rounding has led it away from a
            before = abs(primal)

    return function(newton)


def make_no_factor(covariance, function):
    """Return a function that returns the factor of no rows."""
    nothing = function(covariance.no_factor)

    def no_factor():
        rows = np.zeros(0)
        return Factor(np.flatnonzero(rows), rows, nothing())

    return function(no_factor)
