"""Expectation propagation in compiled code: dense covariances, rows that count once.

The lines of `pymc_bsvm.evidence.sweep` for arrays, with the iteration that it shares with them. The
loss and the covariance are known by addresses alone, so that one compilation serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import carray, types

from pymc_bsvm.covariance.address import call
from pymc_bsvm.covariance.lapack import pivoted_cholesky
from pymc_bsvm.evidence.compiled_tilted import ENDS, KNOWN, slots
from pymc_bsvm.evidence.iteration import CONVERGED, LOW, MANY, make_propagate
from pymc_bsvm.evidence.mixing import mix
from pymc_bsvm.evidence.sites import Sites
from pymc_bsvm.evidence.sweep import LEAST_VARIANCE
from pymc_bsvm.losses.numba_language import function, inlined

__all__ = ["PROPAGATION", "propagation"]

_REAL, _COUNT = types.CPointer(types.float64), types.int64
PROPAGATION = types.int64(*[types.intp] * 3, *[_COUNT] * 5, types.float64, *[_REAL] * 11)
"""What `propagation` returns takes."""


class Numbers(NamedTuple):
    """What a look at all rows reads."""

    marginals: Any
    """Address of a function of `pymc_bsvm.evidence.compiled_marginals`."""
    covariance: Any
    """The matrix that it takes."""
    averages: Any
    """Address of what `pymc_bsvm.evidence.compiled_tilted.averages` returns."""
    y: Any
    m: Any
    p: Any
    """Parameters of the formulas, of shape (k, n)."""
    outline: Any
    """See `pymc_bsvm.evidence.compiled_tilted.edges`."""
    points: Any
    density: Any
    """Space for the points of all rows and their tilted probabilities, of shape (n, count)."""
    space: Any
    """Space for the numbers of one row."""


class Look(NamedTuple):
    """What follows from the sites; the names are those of `pymc_bsvm.evidence.sweep.Sweep`."""

    error: Any
    log_det: Any
    sites: Any
    matched: Any
    known: Any
    """Variances, what sites leave of them, the dual a, and ``K a``, of shape (4, n)."""
    cavity: Any
    """Means and variances of the cavities, of shape (2, n)."""
    moments: Any
    """The averages, of shape (4, n)."""


def propagation() -> Callable[..., Any]:
    """Return the function whose types are `PROPAGATION`.

    It propagates from a start, with a covariance of low rank first where K has one. An empty start
    is sites that say nothing. From those of Laplace's approximation the sweeps are hardly fewer,
    and its solver takes the longest to compile. It fills in what
    `pymc_bsvm.graph.propagate.Propagate` returns, if it converges, and returns one.
    """
    iterate = make_propagate(look_at, following, keep, inlined)

    @inlined
    def propagate(
        dense,
        low_rank,
        averages,
        n,
        n_parameters,
        n_pieces,
        n_start,
        max_iter,
        tol,
        K,
        y,
        m,
        p,
        outline,
        start,
        value,
        rows,
        points,
        density,
        after,
    ):
        K, y, m = carray(K, (n, n)), carray(y, n), carray(m, n)
        p, outline = carray(p, (n_parameters, n)), carray(outline, (n_pieces, ENDS, n))
        count = slots(outline)
        space = np.empty(n_pieces * KNOWN + count)
        points, density = carray(points, (n, count)), carray(density, (n, count))
        sites = starting(carray(start, n_start), m)
        A = pivoted_cholesky(K) if n >= MANY else np.empty((n, 0))
        for exact in range(0 if 0 < A.shape[1] <= LOW * n else 1, 2):
            marginals, covariance = (dense, K) if exact else (low_rank, A)
            given = averages, y, m, p, outline, points, density, space
            model = Numbers(marginals, covariance, *given)
            look, _, status = iterate(model, sites, tol, max_iter)
            if status == CONVERGED:
                sites = look.sites
        if status == CONVERGED:
            fill(look, m, carray(value, 1), carray(rows, (4, n)), carray(after, 2 * n))
        return 1

    return propagate


@function
def look_at(model, sites):
    """Return the look at all rows for these sites."""
    n, K = model.y.size, model.covariance
    known, moments = (
        np.full((4, n), np.nan),
        np.full((4, n), np.nan),
    )  # as a failed call leaves them
    matched, log_det = Sites(np.empty(n), np.empty(n)), np.full(1, np.nan)
    cavity = np.empty((2, n))
    call(model.marginals, (n, K.shape[1], K, sites.precision, sites.shift, known, log_det))
    if not (math.isfinite(log_det[0]) and proper(model.m, known, cavity)):
        return Look(math.inf, log_det[0], sites, matched, known, cavity, moments)
    sizes = n, model.p.shape[0], model.outline.shape[0], model.points.shape[1]
    given = (*sizes, model.y, model.p, model.outline)
    call(model.averages, (*given, cavity, moments, model.points, model.density, model.space))
    error = matching(model.m, sites, known, cavity, moments, matched)
    return Look(error, log_det[0], sites, matched, known, cavity, moments)


@inlined
def matching(m, sites, known, cavity, moments, matched):
    """Fill in the matching sites and return how far the moments are apart."""
    error, finite = 0.0, True
    for i in range(m.size):
        centre, width, alpha = cavity[0, i], cavity[1, i], moments[1, i]
        precision = moments[2, i] * (width / moments[3, i])
        shift = precision * (centre + width * alpha - m[i]) + alpha
        finite = finite and math.isfinite(precision) and math.isfinite(alpha)
        q, matched.precision[i], matched.shift[i] = known[0, i], precision, shift
        of_precision = abs(precision - sites.precision[i]) * q
        error = max(error, of_precision, abs(alpha - known[2, i]) * math.sqrt(q))
    return error if finite else math.inf


@inlined
def starting(start, m):
    """Return the sites that a start stands for."""
    n = m.size
    precision, shift = np.zeros(n), np.zeros(n)
    if start.size == 2 * n:
        for i in range(n):
            precision[i] = max(start[i], 0.0)
            shift[i] = start[n + i] - precision[i] * m[i]
    return Sites(precision, shift)


@inlined
def keep(points, steps, kept, sites, matched):
    """Put a sweep behind the kept ones, in place of the first where they are many."""
    n, first = sites.precision.size, 1 if kept == points.shape[0] else 0
    for k in range(first, kept):
        for i in range(2 * n):
            points[k - first, i], steps[k - first, i] = points[k, i], steps[k, i]
    last = kept - first
    for i in range(n):
        points[last, i], points[last, n + i] = sites.precision[i], sites.shift[i]
        steps[last, i] = matched.precision[i] - sites.precision[i]
        steps[last, n + i] = matched.shift[i] - sites.shift[i]
    return last + 1


@inlined
def proper(m, known, cavity):
    """Fill in the cavities and return whether they are proper."""
    largest, fine = 1e-200, True
    for i in range(m.size):
        largest = max(largest, known[0, i])
    for i in range(m.size):
        q, left, a, g = known[0, i], known[1, i], known[2, i], known[3, i]
        cavity[1, i] = max(q / left, LEAST_VARIANCE * largest)
        cavity[0, i] = m[i] + g - cavity[1, i] * a
        fine = fine and left > 0.0 and math.isfinite(q)
        fine = fine and math.isfinite(cavity[0, i]) and math.isfinite(cavity[1, i])
    return fine


@inlined
def following(look, points, steps, damping):
    """Return the mixed sites, on the rows where their precision is negative the plain step."""
    (count, d), n, known = steps.shape, look.known.shape[1], look.known
    measured, precision, shift = np.empty((count, d)), np.empty(n), np.empty(n)
    for k in range(count):
        for i in range(n):
            q, g = known[0, i], known[3, i]
            measured[k, i] = q * steps[k, i]
            measured[k, n + i] = math.sqrt(q) * (steps[k, n + i] - g * steps[k, i])
    new = mix(points, steps, measured, damping)
    for i in range(n):
        precision[i], shift[i] = new[i], new[n + i]
        if not new[i] >= 0.0:
            precision[i] = points[-1, i] + damping * steps[-1, i]
            shift[i] = points[-1, n + i] + damping * steps[-1, n + i]
    return Sites(precision, shift)


@inlined
def fill(look, m, value, rows, start):
    """Fill in the sum of the terms of `Sweep.terms`, the rows and the start of a neighbour."""
    n, total = m.size, -0.5 * look.log_det
    for i in range(n):
        left, a, g = look.known[1, i], look.known[2, i], look.known[3, i]
        width, precision = look.cavity[1, i], look.sites.precision[i]
        total += look.moments[0, i] + 0.5 * width * a * a - 0.5 * (a * g + math.log(left))
        rows[0, i], rows[1, i], rows[2, i], rows[3, i] = a, precision, look.cavity[0, i], width
        start[i], start[n + i] = precision, look.sites.shift[i] + precision * m[i]
    value[0] = total
