"""What a process is conditioned on."""

from __future__ import annotations

from typing import Any, NamedTuple

from pymc_bsvm._pymc import Base
from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.losses import Loss

__all__ = ["Given"]


class Given(NamedTuple):
    """What a process is conditioned on."""

    X: Any
    y: Any
    loss: Loss
    process: Base
    """The process that the data are of; the one that predicts may be a component of it."""
    jitter: float
    approximation: Approximation
    Xu: Any = None
    """Inducing points, if there are any."""
