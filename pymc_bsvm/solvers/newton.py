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

from pymc_bsvm.solvers.certificate import Certificate, certified
from pymc_bsvm.solvers.kernel import add_product, factorize
from pymc_bsvm.solvers.lapack import cholesky_solve_in_place
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
    "no_factor",
]

CONVERGED, MAX_ITER, STALLED, INDEFINITE, INFEASIBLE, UNBOUNDED = range(6)
_ROUNDING = 1e-15  # relative; a descent below it cannot be seen in the primal
_SNAP = 1e-13  # relative; a dual this near to its bound or to zero is there
_POLISHED = 1e-13  # relative; what is left of the optimality condition after ...
_POLISHES = 4  # ... at most so many corrections with the last factor
_SHORT = 1e-6  # a step after which the offset is minimised within the line search
_PATIENCE = 3  # such steps before the search is given up


class Factor(NamedTuple):
    """The factor of the last step, ``B = I + W½ K W½ = L L'`` on the free set."""

    free: Any
    """Rows of the free set."""
    root: Any
    """Square roots of the curvature of all rows."""
    cholesky: Any


class Outcome(NamedTuple):
    """How a solve ended."""

    certificate: Any
    factor: Any
    steps: int
    status: int


def make_newton(weighted, center, certify, function):
    """Return the solver for one differentiable loss.

    Parameters
    ----------
    weighted : Weighted
        The loss as functions of vectors.
    center : callable
        What `pymc_bsvm.solvers.line_search.make_center` returns for the loss.
    certify : callable
        What `pymc_bsvm.solvers.certificate.make_certify` returns for the loss.
    function : callable
        Decorator that compiles, or does nothing.
    """
    loss, slope, curve, project = weighted.loss, weighted.slope, weighted.curve, weighted.project
    row_gap = weighted.gap
    line_search = make_line_search(slope, center, function)
    is_certified, empty, refuse = map(function, (certified, no_factor, _refuse))

    def start(K, y, w, p, m, a, b, offset, tol):
        """Return the certificate of the dual inside its domain, drawn back from behind a wall."""
        a = project(y, a, w, p)
        found = certify(K, y, w, p, m, a, b, offset, tol)
        if offset and not math.isfinite(loss(y, found.f, w, p).sum()):
            found = certify(K, y, w, p, m, a, 0.0, offset, tol)
        while a.any() and not math.isfinite(loss(y, found.f, w, p).sum()):
            a = 0.5 * a if np.abs(a).max() > 1e-3 else np.zeros(a.shape[0])
            found = certify(K, y, w, p, m, a, found.b, offset, tol)
        return found

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

    def direction(K, factor, rho):
        """Return da and df of the step for the residual ``rho``, without the free rows' part.

        The third result holds the solutions x for the residual and for an offset, one in each row.
        """
        free, root = factor.free, factor.root
        da = rho.copy()
        da[free] = 0.0
        df = np.zeros(rho.shape[0])
        add_product(K, np.flatnonzero(da), da, df)
        x = np.empty((2, free.shape[0]))
        x[0] = rho[free] / root[free] - root[free] * df[free]
        x[1] = root[free]
        cholesky_solve_in_place(factor.cholesky, x)
        return da, df, x

    def polish(K, y, w, p, m, found, factor, tol):
        """Correct a certified dual with the factor at hand, while that makes it more precise.

        The gap is of second order in the dual, so that a dual may be certified and yet too coarse
        for derivatives. Each correction costs no factorisation, and is certified as well.
        """
        rho = -slope(y, found.f, w, p) - found.a
        for _ in range(_POLISHES):
            if not np.abs(rho).max() > _POLISHED * np.abs(found.a).max():
                break
            da, _, x = direction(K, factor, rho)
            da[factor.free] = factor.root[factor.free] * x[0]
            better = certify(K, y, w, p, m, project(y, found.a + da, w, p), 0.0, False, tol)
            left = -slope(y, better.f, w, p) - better.a
            if not (is_certified(better, tol) and np.abs(left).max() < 0.5 * np.abs(rho).max()):
                break
            found, rho = better, left
        return found

    def step(K, factor, rho, a, offset):
        """Return the Newton step, of the dual, the latent values and the offset."""
        free, root = factor.free, factor.root
        da, df, x = direction(K, factor, rho)
        db = 0.0
        if offset and free.shape[0] > 0:
            excess = a.sum() + da.sum() + (root[free] * x[0]).sum()
            db = excess / (root[free] * x[1]).sum()
        da[free] = root[free] * (x[0] - db * x[1])
        add_product(K, free, da, df)
        return da, df + db, db

    start, feasible, decompose, direction = map(function, (start, feasible, decompose, direction))
    polish, step = function(polish), function(step)

    def newton(K, y, w, p, m, a, b, offset, tol, least, most, callback):
        """Minimise P from the dual ``a`` and the offset ``b``, in ``least`` to ``most`` steps.

        The iterate is ``a, f, b``, where f follows the steps and ``a`` may be outside its domain.
        What is returned is the best certificate that was found.
        """
        best = start(K, y, w, p, m, a, b, offset, tol)
        factor, steps, idle, t = empty(), 0, 0, 1.0
        if not math.isfinite(loss(y, best.f, w, p).sum()):
            return Outcome(refuse(best), factor, steps, INFEASIBLE)
        if least == 0 and best.definite and is_certified(best, tol):
            return Outcome(best, factor, steps, CONVERGED)
        a, f, b = best.a, best.f, best.b
        while True:
            if offset and math.isfinite(loss(y, f, w, p).sum()):
                db = center(y, f, w, p)
                if not math.isfinite(db):
                    return Outcome(refuse(best), factor, steps, UNBOUNDED)
                b, f = b + db, f + db
            W, target = curve(y, f, w, p), -slope(y, f, w, p)
            inside = feasible(y, a, target, W, w, p, offset)
            gap = row_gap(y, f, inside, w, p).sum() - b * inside.sum()
            primal = loss(y, f, w, p).sum() + 0.5 * (a * (f - m - b)).sum()
            last = steps == most or idle == _PATIENCE
            if last or (steps >= least and gap <= tol * (1.0 + abs(primal))):
                found = certify(K, y, w, p, m, inside, b, offset, tol)
                if not found.definite:
                    return Outcome(refuse(found), factor, steps, INDEFINITE)
                if steps >= least and is_certified(found, tol):
                    if factor.cholesky.shape[0] > 0 and not offset:
                        found = polish(K, y, w, p, m, found, factor, tol)
                    return Outcome(found, factor, steps, CONVERGED)
                if found.gap + found.rounding <= best.gap + best.rounding:
                    best = found
                if last:
                    return Outcome(best, factor, steps, MAX_ITER if steps == most else STALLED)
            factor = empty()  # let the last factor go before the next is made
            factor, definite = decompose(K, W)
            if not definite:
                return Outcome(refuse(best), factor, steps, INDEFINITE)
            da, df, db = step(K, factor, target - a, a, offset)
            if not np.isfinite(df).all():
                return Outcome(refuse(best), factor, steps, INDEFINITE)
            descent = ((target - a) * df).sum() + db * a.sum()
            if descent > _ROUNDING * (1.0 + abs(primal)):
                idle = 0
                joint = offset and (factor.free.shape[0] == 0 or t < _SHORT)
                t = line_search(y, f, a, w, p, df, da, db, joint)
            else:  # the primal is at its minimum; the dual may still move where K does not see it
                idle += 1
                t = 1.0
            if callback is not None:
                callback(steps, gap, factor.free.shape[0], t)
            if not math.isfinite(t):  # what descends for ever here is rounding
                idle, t = idle + 1, 1.0
            steps += 1
            a, f, b = a + t * da, f + t * df, b + t * db

    return function(newton)


def no_factor():
    """Return the factor of no rows."""
    nothing = np.zeros(0)
    return Factor(np.flatnonzero(nothing), nothing, np.empty((0, 0)))


def _refuse(found):
    """Return a certificate that certifies nothing."""
    return Certificate(found.a, found.f, found.b, math.inf, math.inf, found.primal, found.definite)
