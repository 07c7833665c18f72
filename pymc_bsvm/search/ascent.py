"""One ascent from one start, and an honest account of how it ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, unique
from typing import Any

import numpy as np
from scipy.optimize import minimize

from pymc_bsvm.losses.base import Array
from pymc_bsvm.search.curvature import corrected, first_curvature
from pymc_bsvm.search.objective import Objective

__all__ = ["Ending", "Restart", "ascend"]

_RETRIES = 4  # times that a line search which broke off is begun again from where it stopped
_HISTORY = 20
_FIRST_STEP = 0.3  # length, in a box


@unique
class Ending(Enum):
    """How an ascent ended, as a sentence for the user."""

    CONVERGED = "The gradient is below gtol."
    STALLED = (
        "No step along the gradient raises the objective any more, but the gradient is above gtol. "
        "With curvature='exact' this is a jump of the evidence; use curvature='smooth'."
    )
    MAX_ITER = "The largest number of iterations was reached. Raise maxiter."
    FAILED = (
        "The objective is not finite at the start. "
        "Choose another start; gp.evidence at that point says what is wrong."
    )
    BEATEN = "What it may still gain does not make it the best; the run was ended."
    INTERRUPTED = "The run was interrupted; this is the best point so far."


@dataclass(frozen=True)
class Restart:
    """One start and what became of it."""

    label: str
    """Where the start comes from."""
    start: Array
    """Start on the unconstrained space, of shape (k,)."""
    end: Array
    """Best point found, of shape (k,)."""
    objective: float
    """Log posterior (or log evidence, without the prior) at the end, in nats."""
    log_evidence: float
    """Log evidence at the end, in nats."""
    gradient: float
    """Largest element of the gradient at the end that does not point out of the bounds, in nats per
    unit."""
    ending: Ending
    evaluations: int
    seconds: float
    slope: Array
    """Gradient at the end, of shape (k,), in nats per unit."""
    held: Array
    """Ends of the box at which the point is, of shape (k,): -1 the lower, 1 the upper, 0 none."""
    curvature: Array | None = None
    """Minus the second derivatives at the end, as the steps tell of them, of shape (k, k)."""


def ascend(
    objective: Objective,
    start: Array,
    label: str = "start",
    *,
    gtol: float = 1e-2,
    maxiter: int = 500,
    bounds: Sequence[tuple[float, float]] | None = None,
    gain: float = 0.0,
    callback: Callable[[float], object] | None = None,
) -> Restart:
    """Maximise by L-BFGS-B; a line search that breaks off is begun again.

    Parameters
    ----------
    objective : Objective
        What to maximise.
    start : ndarray of shape (k,)
        Start on the unconstrained space.
    label : str
        Where the start comes from.
    gtol : float
        Largest element of the gradient that counts as converged, in nats per unit.
    maxiter : int
        Largest number of iterations in all.
    bounds : sequence of (low, high), optional
        Box in which the point stays; the start must be inside.
    gain : float
        Gain of one iteration, in nats, below which it counts as converged, whatever the gradient.
    callback : callable, optional
        Called with the best objective at every evaluation.

    Returns
    -------
    Restart
        The best point that was evaluated, also after an interruption by the keyboard.
    """
    began, before = time.perf_counter(), objective.evaluations
    objective.forget()
    descent = _Descent(objective, start, bounds, callback)
    ending = Ending.STALLED
    try:
        ending = _descend(descent, gtol, maxiter, gain)
    except KeyboardInterrupt:
        ending = Ending.INTERRUPTED
    return Restart(
        label=label,
        start=start,
        end=descent.x,
        objective=descent.best,
        log_evidence=descent.log_evidence,
        gradient=descent.steepest() if np.isfinite(descent.best) else np.inf,
        ending=ending,
        evaluations=objective.evaluations - before,
        seconds=time.perf_counter() - began,
        slope=descent.gradient if np.isfinite(descent.best) else np.zeros_like(start),
        held=descent.held(),
        curvature=descent.curvature,
    )


class _Descent:
    """The negative objective for a minimiser, which remembers the best point."""

    def __init__(
        self,
        objective: Objective,
        start: Array,
        bounds: Sequence[tuple[float, float]] | None,
        callback: Callable[[float], object] | None,
    ) -> None:
        self._objective, self._callback, self.bounds = objective, callback, bounds
        box: Any = (-np.inf, np.inf) if bounds is None else np.array(bounds).T
        self._low, self._high = box
        self.x, self.gradient = start, np.full(start.size, np.inf)
        self.best, self.log_evidence = -np.inf, -np.inf
        self.curvature: Array | None = None
        self.begun = False
        """Whether the best point is the start, and the minimiser has not seen it."""
        self.scale = 1.0
        """What value and gradient are divided by."""

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the scaled negative value and its gradient."""
        if self.begun and (x == self.x).all():
            self.begun = False
            return -self.best / self.scale, -self.gradient / self.scale
        value, gradient = self._objective(x)
        if np.isfinite(value) and np.isfinite(self.best):
            self._bend(x - self.x, self.gradient - gradient)
        if value > self.best:
            self.x, self.gradient = x.copy(), gradient
            self.best, self.log_evidence = value, self._objective.log_evidence
        if self._callback is not None:
            self._callback(self.best)
        if not np.isfinite(value):  # a wall for the line search: far below what it came from
            return (10.0 * abs(self.best) + 1e6) / self.scale, np.zeros_like(x)
        return -value / self.scale, -gradient / self.scale

    def _bend(self, step: Array, change: Array) -> None:
        """Learn the curvature from a step away from the best point; none where it is hollow."""
        if change @ step > 0.0:
            known = self.curvature
            known = first_curvature(step, change) if known is None else known
            self.curvature = corrected(known, step, change)

    def steepest(self) -> float:
        """Return the largest element of the gradient along which there is a way to go."""
        g = self.gradient
        return float(np.abs(np.where(g > 0.0, self.x < self._high, self.x > self._low) * g).max())

    def held(self) -> Array:
        """Return at which ends of the box the best point is."""
        return np.asarray(1.0 * (self.x >= self._high) - 1.0 * (self.x <= self._low))


def _descend(descent: _Descent, gtol: float, maxiter: int, gain: float) -> Ending:
    """Minimise, beginning again where a line search breaks off."""
    descent(descent.x)
    if not np.isfinite(descent.best):
        return Ending.FAILED
    if descent.bounds is not None:  # in a box, L-BFGS-B begins with a step along the whole gradient
        descent.scale = max(float(np.linalg.norm(descent.gradient)) / _FIRST_STEP, 1.0)
    iterations, descent.begun = 0, True
    for _ in range(_RETRIES):
        value, x = descent.best, descent.x
        result = minimize(
            descent,
            x,
            jac=True,
            bounds=descent.bounds,
            method="L-BFGS-B",
            options={
                "gtol": 0.1 * gtol / descent.scale,
                "ftol": max(gain / max(abs(value), descent.scale), 1e-12),
                "maxcor": _HISTORY,
                "maxiter": maxiter - iterations,
                "maxls": 40,
            },
        )
        iterations += int(result.nit)
        settled = gain > 0.0 and result.status == 0  # by the gain or the gradient
        if descent.steepest() <= gtol or settled:
            return Ending.CONVERGED
        if iterations >= maxiter:
            return Ending.MAX_ITER
        if descent.best - value <= 1e-8 * (1.0 + abs(value)):
            break
    return Ending.STALLED
