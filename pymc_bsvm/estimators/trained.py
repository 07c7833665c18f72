"""What the training of one machine leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.induced import InducedEvidence, InducedMachine
from pymc_bsvm.estimators.machine import Fitted, MachineEvidence
from pymc_bsvm.estimators.sampling import model_of
from pymc_bsvm.estimators.search import Rival
from pymc_bsvm.search import Ascents, Ending, Hyperparameter, Restart

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Trained", "bounds_at", "choices_of", "table_of"]


@dataclass(frozen=True)
class Trained:
    """The best machine, the runs of the search, and the draws of the hyperparameters."""

    objective: MachineEvidence | InducedEvidence | None = field(repr=False)
    """The evidence of all training rows; None once they are left behind."""
    machine: Fitted
    found: Ascents
    """All runs of the search."""
    rivals: list[Rival]
    """The models among which the evidence chose."""
    draws: Sequence[Fitted] = field(repr=False)
    """Machines at draws of the hyperparameters; empty unless there were any."""
    tree: Any = field(repr=False)
    """The draws themselves, or None."""

    @property
    def members(self) -> Sequence[Fitted]:
        """The machines that predictions are averaged over."""
        return self.draws or [self.machine]

    @property
    def at_bound(self) -> dict[str, str]:
        """The hyperparameters that ended at a bound of the search, and at which."""
        return bounds_at(self.machine.blueprint.hyperparameters, self.found.best)

    @property
    def converged(self) -> bool:
        """Whether the best run ended before the largest number of iterations."""
        return self.found.best.ending is Ending.CONVERGED

    def without_rows(self) -> Trained:
        """Return what predictions need of it, which is all but the training rows."""
        return replace(self, objective=None)

    def to_pymc(self) -> tuple[Any, Any]:
        """Return the PyMC model of the machine, and the process whose evidence it has."""
        if self.objective is None:
            raise ValueError(
                "A copy of an estimator holds the rows that predictions need, not those of the "
                "fit, which its PyMC model has as data. Call to_pymc before copying, or fit again."
            )
        if isinstance(self.objective, InducedEvidence):
            raise ValueError(
                f"The PyMC model of a fit holds the kernel matrix of its {self.objective.n} rows, "
                "which inducing points do without. Fit some of the rows with inducing=None."
            )
        return model_of(self.objective)


def choices_of(trained: Trained) -> pd.DataFrame:
    """Return one row for each model that was tried, in the order of the trials."""
    import pandas as pd

    machine = trained.machine
    last = len(machine.points) if isinstance(machine, InducedMachine) else None
    with_points = any(rival.points for rival in trained.rivals)
    return pd.DataFrame(
        [
            {
                "kernel": repr(rival.blueprint.kernel),
                "loss": rival.blueprint.likelihood.loss_type.__name__,
                **rival.blueprint.likelihood.fixed,
                "hyperparameters": len(rival.blueprint.hyperparameters),
                "log_evidence": rival.log_evidence,
                "rows": rival.rows,
                **({"points": rival.points} if with_points else {}),
                "chosen": rival.blueprint is machine.blueprint and rival.points in (None, last),
            }
            for rival in trained.rivals
        ]
    )


def bounds_at(
    hyperparameters: Sequence[Hyperparameter], run: Restart, chosen: Array | None = None
) -> dict[str, str]:
    """Return the names of those at a bound at the end of a climb, with "lower" or "upper"."""
    held = run.held if chosen is None else np.where(chosen, run.held, 0.0)
    return {
        h.name: "lower" if end < 0.0 else "upper"
        for h, end in zip(hyperparameters, held, strict=True)
        if end != 0.0
    }


def table_of(trained: Trained) -> pd.DataFrame:
    """Return one row for each start, the best first."""
    import pandas as pd

    hyperparameters = trained.machine.blueprint.hyperparameters
    names = [h.name for h in hyperparameters]
    return pd.DataFrame(
        [
            {
                "label": run.label,
                "objective": run.objective,
                "ending": run.ending.name.lower(),
                "gradient": run.gradient,
                "evaluations": run.evaluations,
                "seconds": run.seconds,
                **dict(zip(names, np.exp(run.end), strict=True)),
                "at_bound": ", ".join(bounds_at(hyperparameters, run)),
            }
            for run in trained.found.runs
        ]
    )
