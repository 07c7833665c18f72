"""What a search for the mode returns, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, unique
from typing import Any

from pymc_bsvm._typing import Array

__all__ = ["Ending", "Mode", "ModeError"]


@unique
class Ending(Enum):
    """How a search for the mode ended, as a sentence for the user."""

    CONVERGED = "The duality gap is below the tolerance."
    MAX_ITER = (
        "The largest number of Newton steps was reached before the duality gap fell below the "
        "tolerance. Raise max_iter or tol, or start from the mode of a neighbouring problem."
    )
    STALLED = (
        "Rounding errors keep the duality gap above the tolerance. "
        "Raise tol or the jitter, or make the problem less extreme: a smaller amplitude or C."
    )
    INDEFINITE = (
        "The matrix of the Newton step is not positive definite, or not finite. "
        "Raise the jitter, or make the problem less extreme: a smaller amplitude or C."
    )
    INFEASIBLE = (
        "The loss of a row is not finite at the prior mean of zero. "
        "Check the targets, or rescale them."
    )


@dataclass(frozen=True, eq=False)
class Mode:
    """The most probable weights w of the features, with a certificate.

    With the dual ``a = -dl/df`` the duality gap is ``|w - sum_i a_i phi_i|² / 2``.
    """

    w: Array = field(repr=False)
    """Weights of the features, of shape (r,)."""
    f: Array = field(repr=False)
    """Latent values of the rows, of shape (n,)."""
    loss: float
    """``sum_i l(y_i, f_i)``, in nats."""
    gap: float
    """Bounds the distance to the least ``sum_i l + |w|² / 2``, in nats."""
    n_iter: int
    """Number of Newton steps."""
    ending: Ending
    cholesky: Array = field(repr=False)
    """Lower factor of ``B = I + sum_i W_i phi_i phi_i'``, with the curvature W at the mode."""

    @property
    def penalty(self) -> float:
        """``|w|² / 2``, in nats."""
        return 0.5 * float(self.w @ self.w)


class ModeError(RuntimeError):
    """A search for the mode that did not reach its tolerance; `mode` holds what it found."""

    def __init__(self, message: str, mode: Mode | None = None) -> None:
        super().__init__(message)
        self.mode = mode

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle both arguments; by default an exception is called with its message alone."""
        return type(self), (*self.args, self.mode), self.__dict__
