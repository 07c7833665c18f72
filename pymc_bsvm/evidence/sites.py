"""The sites of expectation propagation, and where they begin."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import check_finite
from pymc_bsvm.evidence.approximation import Problem
from pymc_bsvm.losses import Loss

__all__ = ["Sites", "sites_from", "starting_sites"]

_ROUGH = 1e-6  # the duality gap of the MAP estimate, relative to its objective


class Sites(NamedTuple):
    """One copy of the site of each row, each of shape (n,)."""

    precision: Array
    """tau, not negative."""
    shift: Array
    """b; the site is ``exp(b g - tau g² / 2)`` with ``g = f - m``."""

    @classmethod
    def nothing(cls, n: int) -> Sites:
        """Return sites that are one everywhere."""
        return cls(np.zeros(n), np.zeros(n))


def sites_from(problem: Problem, start: Array) -> Sites:
    """Return the sites that `EPEvidence.start` stands for."""
    n = problem.y.size
    start = np.asarray(start, dtype=float)
    if start.shape != (2 * n,):
        raise ValueError(
            f"start must have shape ({2 * n},) for {n} rows, but its shape is {start.shape}. "
            "Pass the attribute start of an evidence of as many rows."
        )
    check_finite("start", start, "Leave it out to start from nothing.")
    precision = np.maximum(start[:n], 0.0)
    return Sites(precision, start[n:] - precision * problem.m)


def starting_sites(problem: Problem, engine: Literal["numpy", "numba"]) -> Sites:
    """Return the sites of Laplace's approximation, for a loss with kinks those of a smooth one."""
    loss, y, m = _smooth(problem), problem.y, problem.m
    if loss is None:
        return Sites.nothing(y.size)
    solution = replace(problem, loss=loss).solve(tol=_ROUGH, engine=engine)
    f, weight = solution.f, problem.weights
    W = loss.smooth_curvature(y, f) if loss.ramp_width > 0.0 else loss.curvature(y, f)
    a = np.divide(solution.a, weight, out=np.zeros(y.size), where=weight > 0.0)
    known = np.isfinite(W) & np.isfinite(f) & (weight > 0.0)
    W, f, a = (np.where(known, x, 0.0) for x in (W, f, a))
    return Sites(W, np.where(known, W * (f - m) + a, 0.0))


def _smooth(problem: Problem) -> Loss | None:
    """Return the loss or an envelope that bends over the width of the tilted densities."""
    loss = problem.loss
    if loss.differentiable:
        return loss
    slope = float(np.abs(loss.dual_domain(problem.y)).max())
    if loss.envelope_type is None or not np.isfinite(slope):
        return None
    sd = float(np.sqrt(np.median(problem.K.diagonal())))
    return loss.envelope(max(min(sd, 1.0 / slope), 1e-100) / slope)
