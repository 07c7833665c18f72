"""The MAP estimate that an approximation is built around, with its certificate."""

from __future__ import annotations

from typing import Literal

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.approximation import Problem
from pymc_bsvm.solvers import DualSolution
from pymc_bsvm.solvers.certificate import certified
from pymc_bsvm.solvers.solution import failure_of

__all__ = ["ACCEPTED_GAP", "TARGET_GAP", "certified_mode"]

# Duality gaps relative to 1 + |primal|. An error of the dual enters the gap at second order, but
# the determinant at first: the solver aims at more than what has to be certified.
ACCEPTED_GAP, TARGET_GAP = 1e-9, 1e-12


def certified_mode(
    problem: Problem,
    tol: float,
    max_iter: int,
    engine: Literal["numpy", "numba"],
    *,
    a0: Array | None = None,
    f0: Array | None = None,
) -> DualSolution:
    """Return the MAP estimate, from a dual, from latent values or from nothing.

    Raises
    ------
    DualSolveError
        If it is not found to the tolerance.
    """
    solution = problem.solve(a0, f0, min(tol, TARGET_GAP), max_iter, engine)
    if not certified(solution, tol):
        raise failure_of(solution)
    return solution
