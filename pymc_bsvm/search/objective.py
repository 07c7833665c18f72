"""What can be maximised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pymc_bsvm.losses.base import Array

__all__ = ["Objective", "PortableObjective"]


class Objective(Protocol):
    """A function of a vector, with its gradient, that may remember where it was."""

    evaluations: int
    """Number of evaluations so far."""
    log_evidence: float
    """Log evidence at the last point, in nats."""

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient at a point."""

    def forget(self) -> None:
        """Evaluate the next point without regard to the last one."""


class PortableObjective(Objective, Protocol):
    """An objective that other threads and processes can build for themselves."""

    def recipe(self) -> Callable[[], Objective]:
        """Return a function that makes the same objective without a memory; it can be pickled."""
