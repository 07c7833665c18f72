"""Expectation propagation in compiled code: dense covariances, rows that count once.

The lines of `pymc_bsvm.evidence.sweep` for arrays, with the iteration that it shares with them.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from pymc_bsvm.covariance.compiled import (
    DENSE_CONDITIONING,
    LOW_RANK_CONDITIONING,
    Conditioning,
    reduced,
)
from pymc_bsvm.covariance.lapack import pivoted_cholesky
from pymc_bsvm.covariance.woodbury import Parts
from pymc_bsvm.evidence.compiled_tilted import averages
from pymc_bsvm.evidence.iteration import CONVERGED, LOW, MANY, make_propagate
from pymc_bsvm.evidence.mixing import mix
from pymc_bsvm.evidence.sites import Sites
from pymc_bsvm.evidence.sweep import LEAST_VARIANCE, MOST_REFINEMENTS, ROUNDING
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.numba_language import function
from pymc_bsvm.losses.tilted import NODES

__all__ = ["Look", "Numbers", "covariance_slopes", "log_evidence", "propagation", "restart"]

# what does not depend on the loss is compiled once
shared = numba.njit(cache=True, fastmath=False, nogil=True, error_model="numpy")


class Numbers(NamedTuple):
    """What a look at all rows reads."""

    K: Any
    y: Any
    m: Any
    p: Any
    """Parameters of the formulas, of shape (k, n)."""
    outline: Any
    """See `pymc_bsvm.evidence.compiled_tilted.edges`."""


class Look(NamedTuple):
    """What follows from the sites; the names are those of `pymc_bsvm.evidence.sweep.Sweep`."""

    error: Any
    sites: Any
    matched: Any
    variance: Any
    g: Any
    a: Any
    centre: Any
    """Means of the cavities."""
    width: Any
    """Variances of the cavities."""
    log_z: Any
    left: Any
    log_det: Any


@functools.cache
def propagation(loss_type: type[Loss]) -> Callable[..., Any]:
    """Return ``(model, start, tol, max_iter) -> (Look, status)``; an empty start is none.

    Without a start, or if it fails, the sweeps begin with sites that say nothing. From those of
    Laplace's approximation they are hardly fewer, and its solver takes the longest to compile.
    """
    dense = _iteration(loss_type, DENSE_CONDITIONING)
    low_rank = _iteration(loss_type, LOW_RANK_CONDITIONING)

    @function
    def in_two_ranks(model, sites, tol, max_iter):
        """Propagate, with a covariance of low rank first where K has one."""
        n = model.y.size
        if n >= MANY:
            A = pivoted_cholesky(model.K)
            if 0 < A.shape[1] <= LOW * n:
                thin = Numbers(Parts(A, np.zeros(n)), model.y, model.m, model.p, model.outline)
                look, _, status = low_rank(thin, sites, tol, max_iter)
                if status == CONVERGED:
                    sites = look.sites
        look, _, status = dense(model, sites, tol, max_iter)
        return look, status

    @function
    def propagate(model, start, tol, max_iter):
        n = model.y.size
        if start.size == 2 * n:
            look, status = in_two_ranks(model, starting(start, model.m), tol, max_iter)
            if status == CONVERGED:
                return look, status
        return in_two_ranks(model, Sites(np.zeros(n), np.zeros(n)), tol, max_iter)

    return propagate


@functools.cache
def _iteration(loss_type: type[Loss], conditioning: Conditioning) -> Callable[..., Any]:
    """Return the iteration for one kind of covariance."""

    @function
    def follow(look, points, steps, damping):
        return following(look.variance, look.g, points, steps, damping)

    return make_propagate(_look(loss_type, conditioning), follow, function)


def _look(loss_type: type[Loss], conditioning: Conditioning) -> Callable[..., Any]:
    """Return ``(model, sites) -> Look``."""
    condition, average = conditioning.condition, averages(loss_type).average
    solve, of_residual = _solve(conditioning), loss_type.task == "regression"

    @function
    def tilted(model, centre, width):
        """Return ``log Z``, its first and minus its second derivative, and the tilted variance."""
        n, count = centre.size, model.outline.shape[0] * NODES.size
        x, density = np.empty(count), np.empty(count)
        log_z, alpha, nu, spread = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
        for i in range(n):
            y = model.y[i]
            u = y - centre[i] if of_residual else y * centre[i]
            row = average(u, width[i], model.p, i, model.outline, x, density)
            log_z[i], nu[i], spread[i] = row.log_z, row.nu, row.variance
            alpha[i] = -row.alpha if of_residual else y * row.alpha
        return log_z, alpha, nu, spread

    @function
    def look(model, sites):
        known = condition(model.K, sites.precision)
        a, g = solve(model.K, known, sites.precision, sites.shift)
        centre, width, proper = cavities(model.m, known, a, g)
        left, q, log_det = known.left, known.variance, known.log_det
        if not proper:
            return Look(math.inf, sites, sites, q, g, a, centre, width, left, left, log_det)
        log_z, alpha, nu, spread = tilted(model, centre, width)
        n, error = q.size, 0.0
        precision, shift = np.empty(n), np.empty(n)
        for i in range(n):
            precision[i] = nu[i] * (width[i] / spread[i])
            shift[i] = precision[i] * (centre[i] + width[i] * alpha[i] - model.m[i]) + alpha[i]
            apart = max(
                abs(precision[i] - sites.precision[i]) * q[i],
                abs(alpha[i] - a[i]) * math.sqrt(q[i]),
            )
            proper = proper and math.isfinite(precision[i]) and math.isfinite(alpha[i])
            error = max(error, apart)
        error = error if proper else math.inf
        matched = Sites(precision, shift)
        return Look(error, sites, matched, q, g, a, centre, width, log_z, left, log_det)

    return look


@shared
def starting(start, m):
    """Return the sites that a start stands for."""
    n = m.size
    precision, shift = np.empty(n), np.empty(n)
    for i in range(n):
        precision[i] = max(start[i], 0.0)
        shift[i] = start[n + i] - precision[i] * m[i]
    return Sites(precision, shift)


@shared
def restart(sites, m):
    """Return the start that stands for sites."""
    n = m.size
    start = np.empty(2 * n)
    for i in range(n):
        start[i] = sites.precision[i]
        start[n + i] = sites.shift[i] + sites.precision[i] * m[i]
    return start


@shared
def cavities(m, known, a, g):
    """Return the means and the variances of the cavities, and whether they are proper."""
    n, q, left = a.size, known.variance, known.left
    centre, width, largest = np.empty(n), np.empty(n), 1e-200
    for i in range(n):
        largest = max(largest, q[i])
    proper = math.isfinite(known.log_det)
    for i in range(n):
        width[i] = max(q[i] / left[i], LEAST_VARIANCE * largest)
        centre[i] = m[i] + g[i] - width[i] * a[i]
        proper = proper and left[i] > 0.0 and math.isfinite(q[i])
        proper = proper and math.isfinite(centre[i]) and math.isfinite(width[i])
    return centre, width, proper


@functools.cache
def _solve(conditioning: Conditioning) -> Callable[..., Any]:
    """Return ``(K, known, T, shift) -> (a, K a)``; see `pymc_bsvm.evidence.sweep`."""
    shrink, times, diagonal = conditioning.shrink, conditioning.times, conditioning.diagonal

    @function
    def solve(K, known, T, shift):
        n, q = T.size, known.variance
        a, of_diagonal, rest = shrink(K, known, T, shift), diagonal(K), np.empty(n)
        g = times(K, a)
        for _ in range(MOST_REFINEMENTS):
            for i in range(n):
                rest[i] = (shift[i] - a[i]) - T[i] * g[i]
            correction, largest = shrink(K, known, T, rest), 0.0
            for i in range(n):
                a[i] += correction[i]
                largest = max(largest, abs(correction[i]) * math.sqrt(q[i]))
            g = times(K, a)
            if not largest > ROUNDING:
                break
        for i in range(n):
            if T[i] * of_diagonal[i] > 1.0:
                g[i] = (shift[i] - a[i]) / T[i]
        return a, g

    return solve


@shared
def following(q, g, points, steps, damping):
    """Return the mixed sites, on the rows where their precision is negative the plain step."""
    (count, d), n = steps.shape, q.size
    measured, precision, shift = np.empty((count, d)), np.empty(n), np.empty(n)
    for k in range(count):
        for i in range(n):
            measured[k, i] = q[i] * steps[k, i]
            measured[k, n + i] = math.sqrt(q[i]) * (steps[k, n + i] - g[i] * steps[k, i])
    new = mix(points, steps, measured, damping)
    for i in range(n):
        precision[i], shift[i] = new[i], new[n + i]
        if not new[i] >= 0.0:
            precision[i] = points[-1, i] + damping * steps[-1, i]
            shift[i] = points[-1, n + i] + damping * steps[-1, n + i]
    return Sites(precision, shift)


@shared
def log_evidence(look):
    """Return the sum of the terms of `pymc_bsvm.evidence.sweep.Sweep.terms`."""
    total = -0.5 * look.log_det
    for i in range(look.a.size):
        a = look.a[i]
        fit = look.log_z[i] + 0.5 * look.width[i] * a * a
        total += fit - 0.5 * (a * look.g[i] + math.log(look.left[i]))
    return total


@shared
def covariance_slopes(K, look):
    """Return the derivatives of the log evidence with respect to a dense K."""
    R = reduced(_condition(K, look.sites.precision))
    n = look.a.size
    for i in range(n):
        for j in range(n):
            R[i, j] = 0.5 * (look.a[i] * look.a[j] - R[i, j])
    return R


_condition = DENSE_CONDITIONING.condition
