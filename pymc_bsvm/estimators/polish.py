"""Newton steps to the highest evidence of many rows, with the curvature that fewer rows have.

An evaluation on many rows costs too much for a search that has to learn the curvature from steps.
Up to noise it is the curvature of few rows, times how many more there are.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.climb import Tunable
from pymc_bsvm.search import Ending, Restart

__all__ = ["curvature_at", "polish"]

_APART = 0.05  # logarithms between which slopes are compared
_LONGEST = 0.5  # of the steps of a logarithm
_FLATTEST = 1e-4  # curvature for each row, below which a direction counts as this curved
_STEPS = 12


def curvature_at(objective: Tunable, x: Array, bounds: Array) -> Array:
    """Return minus the second derivatives for each row, positive definite, of shape (k, k)."""
    H = np.empty((x.size, x.size))
    for k in range(x.size):
        ends = np.repeat(x[None], 2, axis=0)
        ends[:, k] = np.clip(x[k] + np.array([-_APART, _APART]), *bounds[k])
        (_, low), (_, high) = (objective(end) for end in ends)
        H[k] = (low - high) / max(ends[1, k] - ends[0, k], _APART)
    values, vectors = np.linalg.eigh(0.5 * (H + H.T) / objective.rows)
    H = (vectors * np.maximum(np.abs(values), _FLATTEST)) @ vectors.T
    return np.asarray(H)


def polish(
    objective: Tunable, run: Restart, curvature: Array, bounds: Array, gain: float
) -> Restart:
    """Go on from the end of a search while a step promises more than ``gain``.

    Parameters
    ----------
    objective : Tunable
        The evidence of more rows.
    run : Restart
        A search on fewer rows.
    curvature : ndarray of shape (k, k)
        Of these, for each row; steps correct it (BFGS).
    bounds : ndarray of shape (k, 2)
        Box of the logarithms.
    gain : float
        In nats.

    Returns
    -------
    Restart
        The account of the search and of the steps together.
    """
    began, before = time.perf_counter(), objective.evaluations
    H, x = curvature * objective.rows, run.end
    value, slope = objective(x)
    log_evidence, ending = objective.log_evidence, Ending.MAX_ITER
    for _ in range(_STEPS):
        step = _step(H, slope, x, bounds)
        bend = H @ step
        if slope @ step - 0.5 * step @ bend < gain or not np.isfinite(value):
            ending = Ending.CONVERGED if np.isfinite(value) else Ending.FAILED
            break
        new, slope_there = objective(x + step)
        change = slope - slope_there
        if not np.isfinite(new):
            H *= 16.0
            continue
        if change @ step > 0.0:
            H += np.outer(change, change) / (change @ step) - np.outer(bend, bend) / (step @ bend)
        if new > value:
            x, value, slope, log_evidence = x + step, new, slope_there, objective.log_evidence
        elif change @ step <= 0.0:
            H *= 16.0
    held = np.where(x <= bounds[:, 0], -1.0, np.where(x >= bounds[:, 1], 1.0, 0.0))
    return replace(
        run,
        end=x,
        objective=value,
        log_evidence=log_evidence,
        gradient=float(np.abs(np.where(held * slope > 0.0, 0.0, slope)).max(initial=0.0)),
        ending=ending,
        evaluations=run.evaluations + objective.evaluations - before,
        seconds=run.seconds + time.perf_counter() - began,
        slope=slope,
        held=held,
    )


def _step(H: Array, slope: Array, x: Array, bounds: Array) -> Array:
    """Return a Newton step inside the box, along what does not press against it."""
    pressed = ((x <= bounds[:, 0]) & (slope < 0.0)) | ((x >= bounds[:, 1]) & (slope > 0.0))
    free = np.flatnonzero(~pressed)
    step = np.zeros(x.size)
    if free.size:
        step[free] = np.linalg.solve(H[np.ix_(free, free)], slope[free])
        step *= min(1.0, _LONGEST / max(float(np.abs(step).max()), _LONGEST))
    return np.clip(x + step, *bounds.T) - x
