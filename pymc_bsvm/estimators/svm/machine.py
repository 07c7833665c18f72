"""One support vector machine: its dual, its offset and its certificate."""

from __future__ import annotations

from typing import NamedTuple

from pymc_bsvm._typing import Array
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers import DualSolution, Status, solve_dual

__all__ = ["Machine", "solve_machine"]

_FAILED = (Status.INDEFINITE, Status.INFEASIBLE, Status.UNBOUNDED)


class Machine(NamedTuple):
    """The dual of one machine, for all of its rows."""

    a: Array
    f: Array
    """Latent values, ``K a`` and the offset."""
    offset: float
    objective: float
    """``sum w l(y, f) + a'Ka / 2``, (B.1)."""
    gap: float
    """How far the objective may be above its minimum."""
    steps: int

    def certified(self, tol: float) -> bool:
        """Return whether the gap is below its tolerance, relative to the objective."""
        return self.gap <= tol * abs(self.objective)

    def scaled(self, unit: float) -> Machine:
        """Return the machine of ``unit f``."""
        a, f, offset, objective, gap, steps = self
        square = unit * unit
        return Machine(unit * a, unit * f, unit * offset, square * objective, square * gap, steps)


def solve_machine(
    K: Array,
    y: Array,
    loss: Loss,
    *,
    weight: Array | None = None,
    start: Array | None = None,
    bias: bool = True,
    tol: float,
    max_iter: int,
) -> Machine:
    """Minimise (B.1), with ``sum(a) = 0`` for the offset, to a gap relative to the objective.

    Raises
    ------
    ValueError
        If the problem has no solution.
    """

    def solve(start: Array | None, tol: float) -> DualSolution:
        solution = solve_dual(
            *(K, y, loss, start),
            tol=tol,
            sample_weight=weight,
            bias=bias,
            max_iter=max_iter,
            on_failure="ignore",
        )
        if solution.status in _FAILED:
            raise ValueError(solution.status.value)
        return solution

    solution = solve(start, tol)
    steps, size = solution.n_iter, abs(solution.primal)
    if solution.converged and solution.gap > tol * size > 0.0:  # relative to 1 + size until here
        solution = solve(solution.a, tol * size / (1.0 + size))
        steps += solution.n_iter
    a, f, offset = solution.a, solution.f, solution.offset
    return Machine(a, f, offset, solution.primal, max(solution.gap, 0.0), max(steps, 1))
