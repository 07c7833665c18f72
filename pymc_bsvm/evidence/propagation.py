"""Expectation propagation: sites that give every row the moments of its tilted density.

A sweep matches all sites at once. Earlier steps are mixed into the next one (Anderson); a step
after which the moments are further apart is taken back. The sites are carried over to neighbouring
problems, never the dual: it does not determine them.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, unique
from typing import Literal, NamedTuple

import numpy as np

from pymc_bsvm.covariance import LowRank
from pymc_bsvm.covariance.pivoted import pivoted
from pymc_bsvm.evidence.approximation import Problem
from pymc_bsvm.evidence.mixing import Mixing
from pymc_bsvm.evidence.sites import Sites, starting_sites
from pymc_bsvm.evidence.sweep import Sweep

__all__ = ["Propagated", "PropagationStatus", "propagate", "propagated"]

_WINDOW = 4  # earlier steps that are mixed with the last one
_FAR, _NEAR = 1.0, 0.5  # errors above which steps are not mixed, and below which they may not grow
_WORSE, _GROWTH = 2.0, 1.3  # what growth of the error halves the steps, and how they recover
_LEAST_DAMPING, _LEAST_FAR = 1e-3, 0.1
_MANY, _LOW = 150, 0.4  # rows, and share of the rank, from which sweeps of low rank are cheaper
_SHORTEST_REST = 2  # steps that are not mixed after a mixture that was taken back


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
    if not isinstance(K, LowRank) and K.shape[0] >= _MANY:
        thin = pivoted(K, _LOW)
        if thin is not None:
            found = propagate(replace(problem, K=thin), sites, tol, max_iter)
            before = found.n_iter
            if found.sweep is not None and found.status is PropagationStatus.CONVERGED:
                sites = found.sweep.sites
    found = propagate(problem, sites, tol, max_iter)
    return found._replace(n_iter=before + found.n_iter)


def propagate(problem: Problem, sites: Sites, tol: float, max_iter: int) -> Propagated:
    """Iterate ``sites <- matched sites`` by Anderson mixing; a step too far is taken back."""
    sweep = _look(problem, sites)
    if sweep is None:
        return Propagated(None, 1, PropagationStatus.IMPROPER)
    best, pace, n_iter = sweep, _Pace(), 1
    following: Sweep | None = sweep
    while best.error > tol and n_iter < max_iter and pace.damping > _LEAST_DAMPING:
        following = _look(problem, pace.next(sweep))
        sweep = pace.after(sweep, following)
        best = min(best, sweep, key=lambda s: s.error)
        n_iter += 1
    if best.error <= tol:
        status = PropagationStatus.CONVERGED
    elif n_iter >= max_iter:
        status = PropagationStatus.MAX_ITER
    elif following is None:
        status = PropagationStatus.IMPROPER
    else:
        status = PropagationStatus.STALLED
    return Propagated(best, n_iter, status)


class _Pace:
    """How far the next step goes, and whether earlier ones are mixed into it."""

    def __init__(self) -> None:
        self.damping = 1.0
        self._mixing = Mixing(_WINDOW)
        self._rest, self._plain = _SHORTEST_REST, 0  # how long a rest is, what is left of it

    def next(self, sweep: Sweep) -> Sites:
        """Return the sites to look at after a sweep."""
        if sweep.error > _FAR or self._plain > 0:
            self._mixing.forget()
        old, new = np.concatenate(sweep.sites), np.concatenate(sweep.matched)
        mixed = self._mixing.next(old, new - old, sweep.in_units, self.damping)
        precision, shift = np.split(mixed, 2)
        plain = np.split(old + self.damping * (new - old), 2)
        proper = precision >= 0.0
        return Sites(np.where(proper, precision, plain[0]), np.where(proper, shift, plain[1]))

    def after(self, sweep: Sweep, following: Sweep | None) -> Sweep:
        """Return the sweep to go on from, and remember how the step went."""
        mixed, self._plain = self._mixing.size > 1, max(self._plain - 1, 0)
        if following is not None and following.error <= _WORSE * sweep.error:
            self.damping = min(1.0, _GROWTH * self.damping)
            return following
        self._mixing.forget()
        if mixed:  # the mixture is to blame, not the length
            self._plain, self._rest = self._rest, 2 * self._rest
        else:
            self.damping *= 0.5
        if following is None or sweep.error < _NEAR:
            return sweep
        self.damping = max(self.damping, _LEAST_FAR)
        return following


def _look(problem: Problem, sites: Sites) -> Sweep | None:
    """Return the sweep of these sites, None where they are no approximation."""
    try:
        with np.errstate(all="ignore"):
            sweep = Sweep.of(problem, sites)
            return sweep if np.isfinite(sweep.error) else None
    except ValueError:
        return None
