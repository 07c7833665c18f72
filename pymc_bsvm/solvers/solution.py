"""What a solve returns: the dual, its certificate and how the solve ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, unique
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import Factor, LowRankFactor

__all__ = [
    "DualSolution",
    "DualSolveError",
    "DualSolveWarning",
    "Progress",
    "Status",
    "failure_of",
]


@unique
class Status(Enum):
    """How a solve ended, as a sentence for the user."""

    CONVERGED = "The duality gap is below the tolerance."
    MAX_ITER = (
        "The largest number of Newton steps was reached before the duality gap fell below the "
        "tolerance. Raise max_iter or tol, or start from the dual of a neighbouring problem."
    )
    STALLED = (
        "Rounding errors keep the duality gap above the tolerance. "
        "Raise tol, or make the problem less extreme: a smaller C, a larger beta or epsilon."
    )
    INDEFINITE = (
        "K is not positive semidefinite beyond rounding. "
        "Check the covariance function, or add a jitter to the diagonal of K."
    )
    INFEASIBLE = (
        "The loss is infinite at the prior mean, which is behind its wall or out of all scale. "
        "Use a prior mean with y m > -delta, such as zero, or rescale the targets."
    )
    UNBOUNDED = (
        "The objective decreases for ever along the offset. "
        "Provide both classes, or drop the offset with bias=False."
    )


@dataclass(frozen=True)
class Progress:
    """One Newton step, as told to a callback."""

    n_iter: int
    gap: float
    """Gap before the step, in nats, of the latent values with the dual put inside its domain; what
    is returned has its gap computed from scratch."""
    n_free: int
    step: float
    """Step length found by the line search; one is a full Newton step."""


@dataclass(frozen=True)
class DualSolution:
    """The MAP estimate in its dual form, with a certificate of optimality.

    The latent values are ``f = m + K a + offset``.
    """

    a: Array
    """Signed dual ``-w dl/df``, of shape (n,); zero off the support vectors."""
    f: Array
    """Latent values, of shape (n,)."""
    offset: float
    """The offset b; zero unless it was asked for."""
    support: NDArray[np.bool_]
    free: NDArray[np.bool_]
    """Support vectors where the loss is curved, or whose dual is strictly inside its domain."""
    bound: NDArray[np.bool_]
    """Support vectors whose dual is at an end of its domain."""
    primal: float
    """``sum w l(y, f) + a'Ka / 2``, in nats."""
    dual: float
    """``a'Ka / 2 + m'a + sum w l*(-a / w)``, in nats."""
    gap: float
    """``primal + dual``, summed row by row; bounds the distance to the optimum, in nats."""
    rounding: float
    """Bound, in nats, of how far the gap of the dual in exact arithmetic may be above `gap`."""
    n_iter: int
    """Number of Newton steps, each with one factorisation; those in low rank do not count. Of a
    loss with kinks, steps that solve for the rows between two levels count as well."""
    restarted: bool
    """Whether the start, a given one or one in low rank, failed, so that the solution was sought
    from zero."""
    status: Status
    factor: Factor | LowRankFactor = field(repr=False)
    """That of the last Newton step; it may be of no rows, as where steps on duals suffice."""

    @property
    def converged(self) -> bool:
        """Whether the gap is below the tolerance."""
        return self.status is Status.CONVERGED


class DualSolveError(RuntimeError):
    """A solve that did not reach its tolerance; `solution` holds what it found."""

    def __init__(self, message: str, solution: DualSolution) -> None:
        super().__init__(message)
        self.solution = solution

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle both arguments; by default an exception is called with its message alone."""
        return type(self), (*self.args, self.solution), self.__dict__


def failure_of(solution: DualSolution) -> DualSolveError:
    """Return the error that says how a solve ended."""
    message = f"The duality gap is {solution.gap:.3g} nats. {solution.status.value}"
    return DualSolveError(message, solution)


class DualSolveWarning(UserWarning):
    """A solve did not reach its tolerance, and the caller asked only to be warned."""
