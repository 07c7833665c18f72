"""The sequential search: add, re-estimate or delete a basis function while the evidence rises."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array

__all__ = ["Choosing", "Chosen", "choose", "indefinite"]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The chosen columns, and the Gaussian posterior of their weights."""

    places: NDArray[np.intp]
    """Where they are among all columns."""
    alpha: Array = field(repr=False)
    """Prior precisions of their weights."""
    mean: Array = field(repr=False)
    covariance: Array = field(repr=False)
    variance: float
    """That of the noise; NaN where there is none."""
    path: Array = field(repr=False)
    """Log evidences, in nats, round by round."""
    converged: bool


class Choosing(Protocol):
    """A model whose columns are being chosen."""

    @property
    def log_evidence(self) -> float:
        """What is climbed, in nats."""

    def renew(self, still: bool) -> float:
        """Take the posterior and the noise afresh; return what the noise gained.

        If not everything else stands still, the noise may be left for later; the gain is infinite.
        """

    def candidate(self) -> tuple[float, int]:
        """Return what the best of all other columns gains, in nats, and its place."""

    def settle(self, least: float) -> float:
        """Re-estimate and delete chosen columns while that gains more; return the gain."""

    def add(self, place: int) -> None:
        """Add the best column at its best precision.

        One that turns out to gain nothing is no candidate until another step is taken.
        """

    def chosen(self, path: Array, converged: bool) -> Chosen:
        """Return what was chosen."""


def choose(model: Choosing, tol: float, max_iter: int) -> Chosen:
    """Choose columns until nothing gains more than ``tol`` nats.

    In each round the columns at hand are re-estimated or deleted as long as that gains more than
    the best addition does; if nothing of it does, the best column is added.

    References
    ----------
    [PRML]_, section 7.2.2; [TF03]_, section 4.
    """
    path: list[float] = []
    converged = moved = False
    while not converged and len(path) < max_iter:
        of_noise = model.renew(still=bool(path) and not moved)
        path.append(model.log_evidence)
        gain, place = model.candidate()
        settled = model.settle(max(gain, tol)) > 0.0
        if not settled and gain > tol:
            model.add(place)
        moved = settled or gain > tol
        converged = not moved and of_noise <= tol
    model.renew(still=True)
    path.append(model.log_evidence)
    return model.chosen(np.array(path), converged)


def indefinite(size: int) -> np.linalg.LinAlgError:
    """Return the error of weights without a posterior."""
    return np.linalg.LinAlgError(
        f"The precision of {size} weights is not positive definite. "
        "Check the kernel, and whether rows are nearly equal."
    )
