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

import numpy as np

from pymc_bsvm.solvers.kernel import add_product, factorize
from pymc_bsvm.solvers.lapack import cholesky_solve_in_place
from pymc_bsvm.solvers.line_search import make_center, make_line_search

__all__ = [
    "BALANCED",
    "CONVERGED",
    "INDEFINITE",
    "INFEASIBLE",
    "MAX_ITER",
    "NOTHING",
    "STALLED",
    "UNBOUNDED",
    "make_newton",
]

CONVERGED, MAX_ITER, STALLED, INDEFINITE, INFEASIBLE, UNBOUNDED = range(6)
_FEASIBLE = 1e-8  # relative; what a dual may lie outside its domain before it is certified
_ROUNDING = 1e-15  # relative; a descent below it cannot be seen in the primal
_SNAP = 1e-13  # relative; a dual this near to its bound or to zero is there
BALANCED = 1e-11  # relative; what a dual may sum to when there is an offset, and ...
NOTHING = 1e-20  # ... what counts as zero in any case
_NEGATIVE = 1e-10  # relative to its terms; how far a'Ka may be below zero by rounding
_POLISHED = 1e-13  # relative; what is left of the optimality condition after ...
_POLISHES = 4  # ... at most so many corrections with the last factor
_SHORT = 1e-6  # a step after which the offset is minimised within the line search
_PATIENCE = 3  # such steps before the search is given up


def make_newton(weighted, function):
    """Return the solver for one differentiable loss.

    Parameters
    ----------
    weighted : Weighted
        The loss as functions of vectors.
    function : callable
        Decorator that compiles, or does nothing.
    """
    loss, slope, curve, _, project, row_gap = weighted
    center = make_center(slope, curve, function)
    line_search = make_line_search(slope, center, function)

    def latent(K, m, a, b):
        """Return ``m + K a + b``."""
        f = m + b
        add_product(K, np.flatnonzero(a), a, f)
        return f

    latent = function(latent)

    def balance(y, a, w, p, free):
        """Return the dual shifted on its free part so that it sums to zero."""
        shift = np.zeros(y.shape[0])
        if free.shape[0] > 0:
            shift[free] = a.sum() / free.shape[0]
        return project(y, a - shift, w, p)

    balance = function(balance)

    def direction(K, free, root, B, rho):
        """Return da and df of the step for the residual ``rho``, without the offset's part."""
        n = rho.shape[0]
        da = rho.copy()
        da[free] = 0.0
        df = np.zeros(n)
        add_product(K, np.flatnonzero(da), da, df)
        rhs = np.empty((2, free.shape[0]))
        rhs[0] = rho[free] / root[free] - root[free] * df[free]
        rhs[1] = root[free]
        cholesky_solve_in_place(B, rhs)
        return da, df, rhs

    direction = function(direction)

    def polish(K, y, w, p, m, a, f, B, free, root):
        """Correct a certified dual with the factor at hand, while that makes it more precise.

        The gap is of second order in the dual, so that a dual may be certified and yet too coarse
        for derivatives. Each correction costs no factorisation.
        """
        rho = -slope(y, f, w, p) - a
        for _ in range(_POLISHES):
            if not np.abs(rho).max() > _POLISHED * np.abs(a).max():
                break
            da, _, rhs = direction(K, free, root, B, rho)
            da[free] = root[free] * rhs[0]
            better = project(y, a + da, w, p)
            f_better = latent(K, m, better, 0.0)
            rho_better = -slope(y, f_better, w, p) - better
            if not np.abs(rho_better).max() < 0.5 * np.abs(rho).max():
                break
            a, f, rho = better, f_better, rho_better
        return a, f

    polish = function(polish)

    def newton(K, y, w, p, m, a, b, offset, tol, least, most, callback):
        """Minimise P from the dual ``a`` and the offset ``b``, in ``least`` to ``most`` steps.

        Returns the dual, the latent values, the offset, the gap, the number of steps, the status,
        and the factor of the last step with its free set and root curvature. The gap belongs to
        the dual and the latent values that are returned, which agree: ``f = m + K a + b``.
        """
        n, variance = y.shape[0], np.diag(K).max()
        a = project(y, a, w, p)
        f = latent(K, m, a, b)
        if offset and not math.isfinite(loss(y, f, w, p).sum()):
            f = latent(K, m, a, 0.0)
            b = 0.0
        while a.any() and not math.isfinite(loss(y, f, w, p).sum()):  # a start behind a wall
            a = 0.5 * a if np.abs(a).max() > 1e-3 else np.zeros(n)
            f = latent(K, m, a, b)
        B, free, root = np.empty((0, 0)), np.flatnonzero(np.zeros(n)), np.zeros(n)
        if not math.isfinite(loss(y, f, w, p).sum()):
            return a, f, b, math.inf, 0, INFEASIBLE, B, free, root
        steps, idle, fresh, final, t = 0, 0, True, False, 1.0
        outside, refused = a, False
        while True:
            if offset and math.isfinite(loss(y, f, w, p).sum()):
                db = center(y, f, w, p)
                if not math.isfinite(db):
                    return a, f, b, math.inf, steps, UNBOUNDED, B, free, root
                b, f = b + db, f + db
            W = curve(y, f, w, p)
            # The certificate, once the dual is inside its domain; then again from scratch.
            target = -slope(y, f, w, p)
            exact = (W == 0.0) & (np.abs(target - a) <= _SNAP * np.abs(a).max())
            inside = a
            if not fresh:
                inside = project(y, np.where(exact, target, a), w, p)
            if offset and not fresh:
                inside = balance(y, inside, w, p, np.flatnonzero(W > 0.0))
            balanced = not offset or abs(inside.sum()) <= BALANCED * np.abs(inside).sum() + NOTHING
            gap = math.inf
            if final or np.abs(inside - a).max() <= _FEASIBLE * np.abs(inside).max():
                if balanced:
                    gap = row_gap(y, f, inside, w, p).sum() - b * inside.sum()
                energy = (inside * (f - m - b)).sum()
                size = np.abs(inside).sum()
                if fresh and energy < -_NEGATIVE * size * (variance * size + np.abs(f).max()):
                    return inside, f, b, math.inf, steps, INDEFINITE, B, free, root
                primal = loss(y, f, w, p).sum() + 0.5 * energy
                small = math.isfinite(gap) and gap <= tol * (1.0 + abs(primal)) and steps >= least
                if (small or final) and not fresh and not refused:
                    outside = a
                    a, f, fresh = inside, latent(K, m, inside, b), True
                    continue
                if small and fresh:
                    if B.shape[0] > 0 and not offset:
                        inside, f = polish(K, y, w, p, m, inside, f, B, free, root)
                        gap = row_gap(y, f, inside, w, p).sum()
                    return inside, f, b, gap, steps, CONVERGED, B, free, root
            if final:
                status = STALLED if steps < most else MAX_ITER
                return inside, f, b, gap, steps, status, B, free, root
            if steps == most or idle == _PATIENCE:
                final, fresh, refused = True, False, False
                continue
            if fresh and steps > 0:  # no certificate: back to where the next step is right
                a, f, fresh, refused = outside, latent(K, m, outside, b), False, True
                continue
            rho = target - a
            free = np.flatnonzero(W > 0.0)
            root = np.sqrt(W)
            B = np.empty((0, 0))  # let the last factor go before the next is made
            B, definite = factorize(K, free, root)
            if not definite:
                a = project(y, a, w, p)
                return a, latent(K, m, a, b), b, math.inf, steps, INDEFINITE, B, free, root
            da, df, rhs = direction(K, free, root, B, rho)
            db = 0.0
            if offset and free.shape[0] > 0:
                excess = a.sum() + da.sum() + (root[free] * rhs[0]).sum()
                db = excess / (root[free] * rhs[1]).sum()
            da[free] = root[free] * (rhs[0] - db * rhs[1])
            add_product(K, free, da, df)
            df += db
            if not np.isfinite(df).all():
                a = project(y, a, w, p)
                return a, latent(K, m, a, b), b, math.inf, steps, INDEFINITE, B, free, root
            primal = loss(y, f, w, p).sum() + 0.5 * (a * (f - m - b)).sum()
            descent = (rho * df).sum() + db * a.sum()
            if descent > _ROUNDING * (1.0 + abs(primal)):
                idle = 0
                joint = offset and (free.shape[0] == 0 or t < _SHORT)
                t = line_search(y, f, a, w, p, df, da, db, joint)
            else:  # the primal is at its minimum; the dual may still move where K does not see it
                idle += 1
                t = 1.0
            if callback is not None:
                callback(steps, gap, free.shape[0], t)
            if not math.isfinite(t):  # what descends for ever here is rounding
                idle, t = idle + 1, 1.0
            steps += 1
            a, f, b, fresh, refused = a + t * da, f + t * df, b + t * db, False, False

    return function(newton)
