"""The posterior density of the hyperparameters of a machine, by its own evaluations."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.machine import MachineEvidence

if TYPE_CHECKING:
    from pymc_bsvm.inference import Hessian

__all__ = ["SPREAD", "LogDensity"]

SPREAD = 1.5  # of the logarithms of hyperparameters, a priori
_REACH = 20.0  # spreads from a start; what a trajectory that diverges does not have to survive


class LogDensity:
    """The log posterior density of the logarithms of hyperparameters, and its gradient.

    That is the log evidence with log-normal priors around the starts, as in `sampling.model_of`.
    Where the approximation fails, and twenty standard deviations of the prior away from a start,
    it is -inf.

    Parameters
    ----------
    objective : MachineEvidence
        The evidence; a prior that the search had is left out.
    """

    def __init__(self, objective: MachineEvidence) -> None:
        blueprint = replace(objective.blueprint, prior=None)
        self._evidence = objective.of(blueprint)
        self.names = [h.name for h in blueprint.hyperparameters]
        self._starts = np.log([h.start for h in blueprint.hyperparameters])
        self._constant = -len(self.names) * np.log(SPREAD * np.sqrt(2.0 * np.pi))
        self.evaluations = 0

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the log density and its gradient."""
        away = (x - self._starts) / SPREAD
        value, slope = -np.inf, np.zeros_like(x)
        if (np.abs(away) <= _REACH).all():
            self.evaluations += 1
            value, slope = self._evidence(x)
        if not np.isfinite(value):
            return -np.inf, np.zeros_like(x)
        return value - 0.5 * float(away @ away) + self._constant, slope - away / SPREAD

    def gaussian(self, x: Array) -> Hessian | None:
        """Return the Gaussian nearest to the density near a mode, None if there is none.

        Later evaluations start from where those for it ended. They depend on their point alone, so
        that draws are the same in one process and in several.
        """
        from pymc_bsvm.inference.hessian import nearest_gaussian

        self(x)
        found = nearest_gaussian(self, x, self.names, refuse=lambda name: None)
        self._evidence.hold()
        return found
