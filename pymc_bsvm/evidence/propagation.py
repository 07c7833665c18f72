"""Expectation propagation: sites that give every row the moments of its tilted density."""

from __future__ import annotations

from enum import Enum, unique
from typing import Literal, NamedTuple

import numpy as np

from pymc_bsvm.evidence.approximation import Problem
from pymc_bsvm.evidence.mixing import Mixing
from pymc_bsvm.evidence.site_start import starting_sites
from pymc_bsvm.evidence.sweep import Sites, Sweep

__all__ = ["Propagated", "PropagationStatus", "propagate", "propagated"]

_WINDOW = 4  # earlier steps that are mixed with the last one
_FAR, _NEAR = 1.0, 0.5  # errors above which steps are not mixed, and below which they may not grow
_WORSE, _GROWTH = 2.0, 1.3  # what growth of the error halves the steps, and how they recover
_LEAST_DAMPING, _LEAST_FAR = 1e-3, 0.1


@unique
class PropagationStatus(Enum):
    """How expectation propagation ended, as a sentence for the user."""

    CONVERGED = "The moments of all rows match to the tolerance."
    MAX_ITER = (
        "The largest number of sweeps was reached before the moments of all rows matched. "
        "Raise max_iter or tol, or start from the sites of a neighbouring problem."
    )
    STALLED = (
        "No step brings the moments of the rows closer to each other. "
        "Raise tol, or make the problem less extreme: a smaller C or variance, a larger epsilon."
    )
    IMPROPER = (
        "There is no proper Gaussian without a row's own observation. "
        "Use weights of at least one, or zero, and a positive semidefinite K."
    )


class Propagated(NamedTuple):
    """Where expectation propagation ended."""

    sweep: Sweep | None
    """The best one; None if there was no proper one."""
    n_iter: int
    status: PropagationStatus


def propagated(
    problem: Problem,
    sites: Sites | None,
    tol: float,
    max_iter: int,
    engine: Literal["numpy", "numba"],
) -> Propagated:
    """Propagate from the given sites, then from those of Laplace's approximation.

    Parameters
    ----------
    problem : Problem
        The model.
    sites : Sites or None
        Where to start, if that is known.
    tol : float
        Largest error that is accepted; see `Sweep.error`.
    max_iter : int
        Largest number of sweeps from a start.
    engine : {"numpy", "numba"}
        As for `solve_dual`.
    """
    found = None if sites is None else propagate(problem, sites, tol, max_iter)
    if found is not None and found.status is PropagationStatus.CONVERGED:
        return found
    again = propagate(problem, starting_sites(problem, engine), tol, max_iter)
    return again if found is None else again._replace(n_iter=found.n_iter + again.n_iter)


def propagate(problem: Problem, sites: Sites, tol: float, max_iter: int) -> Propagated:
    """Iterate ``sites <- matched sites`` by Anderson mixing; a step too far is taken back."""
    sweep = _look(problem, sites)
    if sweep is None:
        return Propagated(None, 1, PropagationStatus.IMPROPER)
    best, mixing, damping, n_iter = sweep, Mixing(_WINDOW), 1.0, 1
    while best.error > tol and n_iter < max_iter and damping > _LEAST_DAMPING:
        following = _look(problem, _next(sweep, mixing, damping))
        n_iter += 1
        if following is None or following.error > _WORSE * sweep.error:
            mixing.forget()
            damping *= 0.5
            if following is None or sweep.error < _NEAR:
                continue  # from the sweep before, less far
            damping = max(damping, _LEAST_FAR)
        else:
            damping = min(1.0, _GROWTH * damping)
        sweep = following
        best = min(best, sweep, key=lambda s: s.error)
    if best.error <= tol:
        return Propagated(best, n_iter, PropagationStatus.CONVERGED)
    ended = PropagationStatus.MAX_ITER if n_iter >= max_iter else PropagationStatus.STALLED
    return Propagated(best, n_iter, ended)


def _look(problem: Problem, sites: Sites) -> Sweep | None:
    """Return the sweep of these sites, None where they are no approximation."""
    try:
        sweep = Sweep.of(problem, sites)
    except ValueError:
        return None
    return sweep if np.isfinite(sweep.error) else None


def _next(sweep: Sweep, mixing: Mixing, damping: float) -> Sites:
    """Return the sites to look at after a sweep."""
    old, new = np.concatenate(sweep.sites), np.concatenate(sweep.matched)
    if sweep.error > _FAR:
        mixing.forget()
    mixed = mixing.next(old, new - old, sweep.in_units, damping)
    precision, shift = np.split(mixed, 2)
    plain = np.split(old + damping * (new - old), 2)
    proper = precision >= 0.0
    return Sites(np.where(proper, precision, plain[0]), np.where(proper, shift, plain[1]))
