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
from pymc_bsvm.evidence.sites import Sites
from pymc_bsvm.evidence.sweep import LEAST_VARIANCE, MOST_REFINEMENTS, ROUNDING, in_units
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.numba_language import function
from pymc_bsvm.losses.tilted import NODES

__all__ = ["Look", "Numbers", "covariance_slopes", "log_evidence", "propagation"]


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
            precision = np.maximum(start[:n], 0.0)
            sites = Sites(precision, start[n:] - precision * model.m)
            look, status = in_two_ranks(model, sites, tol, max_iter)
            if status == CONVERGED:
                return look, status
        return in_two_ranks(model, Sites(np.zeros(n), np.zeros(n)), tol, max_iter)

    return propagate


@functools.cache
def _iteration(loss_type: type[Loss], conditioning: Conditioning) -> Callable[..., Any]:
    """Return the iteration for one kind of covariance."""
    look = _look(loss_type, conditioning)
    units = function(in_units)

    @function
    def measured(look, steps):
        return units(look.variance, look.g, steps)

    return make_propagate(look, measured, function)


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
        q, left = known.variance, known.left
        a, g = solve(model.K, known, sites.precision, sites.shift)
        width = np.maximum(q / left, LEAST_VARIANCE * max(q.max(), 1e-200))
        centre = model.m + g - width * a
        proper = math.isfinite(known.log_det) and left.min() > 0.0
        if not (proper and np.isfinite(centre).all() and np.isfinite(width).all()):
            return Look(math.inf, sites, sites, q, g, a, centre, width, left, left, known.log_det)
        log_z, alpha, nu, spread = tilted(model, centre, width)
        precision = nu * (width / spread)
        matched = Sites(precision, precision * (centre + width * alpha - model.m) + alpha)
        of_precision = np.abs(precision - sites.precision) * q
        error = max(of_precision.max(), (np.abs(alpha - a) * np.sqrt(q)).max())
        finite = np.isfinite(of_precision).all() and np.isfinite(alpha).all()
        error = error if finite and math.isfinite(error) else math.inf
        return Look(error, sites, matched, q, g, a, centre, width, log_z, left, known.log_det)

    return look


def _solve(conditioning: Conditioning) -> Callable[..., Any]:
    """Return ``(K, known, T, shift) -> (a, K a)``; see `pymc_bsvm.evidence.sweep`."""
    shrink, times, diagonal = conditioning.shrink, conditioning.times, conditioning.diagonal

    @function
    def solve(K, known, T, shift):
        a = shrink(K, known, T, shift)
        sd, g = np.sqrt(known.variance), times(K, a)
        for _ in range(MOST_REFINEMENTS):
            correction = shrink(K, known, T, (shift - a) - T * g)
            a = a + correction
            g = times(K, a)
            if not np.abs(correction * sd).max() > ROUNDING:
                break
        return a, np.where(T * diagonal(K) > 1.0, (shift - a) / T, g)

    return solve


@numba.njit(fastmath=False, nogil=True, error_model="numpy")
def log_evidence(look):
    """Return the sum of the terms of `pymc_bsvm.evidence.sweep.Sweep.terms`."""
    gain = 0.5 * look.width * look.a * look.a
    fit, overlap = (look.log_z + gain).sum(), np.log(look.left).sum()
    return fit - 0.5 * ((look.a * look.g).sum() + overlap + look.log_det)


@numba.njit(fastmath=False, nogil=True, error_model="numpy")
def covariance_slopes(K, look):
    """Return the derivatives of the log evidence with respect to a dense K."""
    R = reduced(_condition(K, look.sites.precision))
    n = look.a.size
    for i in range(n):
        for j in range(n):
            R[i, j] = 0.5 * (look.a[i] * look.a[j] - R[i, j])
    return R


_condition = DENSE_CONDITIONING.condition
