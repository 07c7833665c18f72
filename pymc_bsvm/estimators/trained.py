"""What the training of one machine leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pymc_bsvm.estimators.machine import Machine, Objective
from pymc_bsvm.evidence.restart import Ending, Restart

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Trained", "table_of"]


@dataclass(frozen=True)
class Trained:
    """The best machine, the runs of the search, and the draws of the hyperparameters."""

    objective: Objective = field(repr=False)
    machine: Machine
    runs: list[Restart]
    """All runs, the best first."""
    draws: list[Machine] = field(repr=False)
    """Machines at draws of the hyperparameters; empty unless there were any."""
    tree: Any = field(repr=False)
    """The draws themselves, or None."""

    @property
    def members(self) -> list[Machine]:
        """The machines that predictions are averaged over."""
        return self.draws or [self.machine]

    @property
    def converged(self) -> bool:
        """Whether the best run ended before the largest number of iterations."""
        return self.runs[0].ending is Ending.CONVERGED


def table_of(trained: Trained) -> pd.DataFrame:
    """Return one row for each start, the best first."""
    import pandas as pd

    names = [h.name for h in trained.objective.specification.hyperparameters]
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
            }
            for run in trained.runs
        ]
    )
