"""Newton steps to the highest evidence of many rows, with the curvature that fewer rows have.

An evaluation on many rows costs too much for a search that has to learn the curvature from steps.
Up to noise it is the curvature of few rows, times how many more there are.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.climb import Tunable
from pymc_bsvm.search import Ending, Restart
from pymc_bsvm.search.box import promise, step_in_box
from pymc_bsvm.search.curvature import corrected

__all__ = ["curvature_at", "polish"]

_APART = 0.05  # logarithms between which slopes are compared
_LONGEST = 0.5  # of the steps of a logarithm
_FLATTEST = 1e-4  # curvature for each row, below which a direction counts as this curved
_STEPS = 20
_SHORTER = 16.0  # times the curvature, after a step that says nothing of it
_HOPE = 5.0  # times the promise of a step: the most that is left to gain
_KEPT = 0.5  # of a promise: by how much a step that tells of the next ones may miss it


class _Place(NamedTuple):
    """Logarithms of the hyperparameters, and the evidence there."""

    x: Array
    value: float
    slope: Array
    log_evidence: float


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
    objective: Tunable,
    run: Restart,
    curvature: Array,
    bounds: Array,
    gain: float,
    steps: int = _STEPS,
    least: float = -np.inf,
) -> Restart:
    """Go on from the end of a search while a step promises more than ``gain``.

    A step that misses its promise, or fails, says that the next promise is not to be trusted: that
    is no end.

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
    steps : int
        Largest number of steps.
    least : float
        Objective below which the end is of no use. After a step, what is left to gain counts as
        less than some times what the next one promises.

    Returns
    -------
    Restart
        The account of the search and of the steps together.

    Raises
    ------
    KeyboardInterrupt
        If an interruption leaves no evidence of these rows.
    """
    began, before = time.perf_counter(), objective.evaluations
    place = _Place(run.end, *objective(run.end), objective.log_evidence)
    H, kept, ending = curvature * objective.rows, True, Ending.MAX_ITER
    try:
        for taken in range(steps + 1):
            step = step_in_box(H, place.slope, place.x, bounds, _LONGEST)
            promised = promise(H, place.slope, step)
            if not np.isfinite(place.value):
                ending = Ending.FAILED
                break
            if kept and promised < gain:
                ending = Ending.CONVERGED
                break
            if taken > 0 and place.value + _HOPE * promised < least:
                ending = Ending.BEATEN
                break
            if taken == steps:
                break
            there = _Place(place.x + step, *objective(place.x + step), objective.log_evidence)
            H, gained = _corrected(H, step, place, there), there.value - place.value
            kept = abs(gained - promised) <= max(_KEPT * promised, gain)
            if there.value > place.value:
                place = there
    except KeyboardInterrupt:
        ending = Ending.INTERRUPTED
    x, slope = place.x, place.slope
    held = np.where(x <= bounds[:, 0], -1.0, np.where(x >= bounds[:, 1], 1.0, 0.0))
    return replace(
        run,
        end=x,
        objective=place.value,
        log_evidence=place.log_evidence,
        gradient=float(np.abs(np.where(held * slope > 0.0, 0.0, slope)).max(initial=0.0)),
        ending=ending,
        evaluations=run.evaluations + objective.evaluations - before,
        seconds=run.seconds + time.perf_counter() - began,
        slope=slope,
        held=held,
        curvature=H,
    )


def _corrected(H: Array, step: Array, here: _Place, there: _Place) -> Array:
    """Return the curvature that explains the slopes at both ends of a step."""
    change = here.slope - there.slope
    if not np.isfinite(there.value) or change @ step <= 0.0:
        return H if there.value > here.value else _SHORTER * H
    return corrected(H, step, change)
