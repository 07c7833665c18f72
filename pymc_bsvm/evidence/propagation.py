"""Expectation propagation: sites that give every row the moments of its tilted density.

The sites are carried over to neighbouring problems, never the dual: it does not determine them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum, unique
from typing import Literal, NamedTuple

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.covariance.pivoted import pivoted
from pymc_bsvm.evidence.approximation import Problem
from pymc_bsvm.evidence.iteration import LOW, MANY, make_propagate
from pymc_bsvm.evidence.mixing import mixed
from pymc_bsvm.evidence.sites import Sites, starting_sites
from pymc_bsvm.evidence.sweep import Sweep
from pymc_bsvm.losses import numpy_language

__all__ = ["Propagated", "PropagationStatus", "propagate", "propagated"]


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


STATUSES = tuple(PropagationStatus)
"""In the order of the numbers of `pymc_bsvm.evidence.iteration`."""


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

    Where these leave a row no proper cavity, as they may for weights below one, the sweeps start
    from sites that say nothing.

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
    found = None if sites is None else _in_two_ranks(problem, sites, tol, max_iter)
    if found is not None and found.status is PropagationStatus.CONVERGED:
        return found
    n_iter = 0 if found is None else found.n_iter
    found = _in_two_ranks(problem, starting_sites(problem, engine), tol, max_iter)
    n_iter += found.n_iter
    if found.sweep is None:
        found = _in_two_ranks(problem, Sites.nothing(problem.y.size), tol, max_iter)
        n_iter += found.n_iter
    return found._replace(n_iter=n_iter)


def _in_two_ranks(problem: Problem, sites: Sites, tol: float, max_iter: int) -> Propagated:
    """Propagate, with a covariance of low rank first where K has one: there sweeps are cheap."""
    K, before = problem.K, 0
    if not isinstance(K, LowRank) and K.shape[0] >= MANY:
        thin = pivoted(K, LOW)
        if thin is not None:
            found = propagate(replace(problem, K=thin), sites, tol, max_iter)
            before = found.n_iter
            if found.sweep is not None and found.status is PropagationStatus.CONVERGED:
                sites = found.sweep.sites
    found = propagate(problem, sites, tol, max_iter)
    return found._replace(n_iter=before + found.n_iter)


def propagate(problem: Problem, sites: Sites, tol: float, max_iter: int) -> Propagated:
    """Iterate ``sites <- matched sites`` by Anderson mixing; a step too far is taken back."""
    sweep, n_iter, status = _propagate(problem, sites, tol, max_iter)
    return Propagated(sweep if isinstance(sweep, Sweep) else None, n_iter, STATUSES[status])


class _Improper:
    """What there is to say of sites that are no approximation."""

    error = math.inf


def _look(problem: Problem, sites: Sites) -> Sweep | _Improper:
    """Return the sweep of these sites."""
    try:
        with np.errstate(all="ignore"):
            sweep = Sweep.of(problem, sites)
            return sweep if math.isfinite(sweep.error) else _Improper()
    except ValueError:
        return _Improper()


def _follow(sweep: Sweep, points: Array, steps: Array, damping: float) -> Sites:
    """Return the mixed sites, on the rows where their precision is negative the plain step."""
    n = sweep.sites.precision.size
    new = mixed(points, steps, sweep.in_units(steps), damping)
    plain = points[-1] + damping * steps[-1]
    proper = new[:n] >= 0.0
    return Sites(np.where(proper, new[:n], plain[:n]), np.where(proper, new[n:], plain[n:]))


def _keep(points: Array, steps: Array, kept: int, sites: Sites, matched: Sites) -> int:
    """Put a sweep behind the kept ones, in place of the first where they are many."""
    if kept == points.shape[0]:
        kept -= 1
        points[:kept], steps[:kept] = points[1:], steps[1:]
    points[kept] = np.concatenate(sites)
    steps[kept] = np.concatenate(matched) - points[kept]
    return kept + 1


_propagate = make_propagate(_look, _follow, _keep, numpy_language.function)
