"""The support vectors of a model at a point, and what they say about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm.evidence.approximation import Evidence
from pymc_bsvm.losses import RegressionLoss

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SupportVectors"]


@dataclass(frozen=True)
class SupportVectors:
    """The support vectors at a point of the hyperparameters."""

    index: NDArray[np.intp]
    """Rows of the training data, in ascending order."""
    dual: Array
    """Their dual values: the force with which each pulls at the latent function."""
    free: NDArray[np.bool_]
    """Whether the loss is curved at the row; the others are bound: their pull is at its limit."""
    n: int
    """Number of training rows."""
    noise_variance: Parameter | None
    """Variance of the noise, (2.33) of [Chu03]_, in squared units of y; None for labels. It is an
    array of shape (n,) where parameters of the loss vary by row."""
    effective_parameters: float
    """Number of parameters that the data determine."""
    gap: float
    """Duality gap of the MAP estimate, in nats."""

    @classmethod
    def of(cls, evidence: Evidence) -> SupportVectors:
        """Read the support vectors off an evidence."""
        solution, posterior = evidence.solution, evidence.posterior
        index = np.flatnonzero(solution.support)
        loss = posterior.loss
        return cls(
            index=index,
            dual=solution.a[index],
            free=solution.free[index],
            n=solution.a.size,
            noise_variance=loss.variance() if isinstance(loss, RegressionLoss) else None,
            effective_parameters=posterior.effective_parameters,
            gap=solution.gap,
        )

    @property
    def bound(self) -> NDArray[np.bool_]:
        """Whether the row's pull is at its limit."""
        return ~self.free

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row for each support vector: its dual value and its kind."""
        import pandas as pd

        kind = np.where(self.free, "free", "bound")
        return pd.DataFrame(
            {"dual": self.dual, "kind": kind}, index=pd.Index(self.index, name="row")
        )

    def __str__(self) -> str:
        return (
            f"{self.index.size} support vectors of {self.n} rows "
            f"({int(self.free.sum())} free, {int(self.bound.sum())} bound), "
            f"{self.effective_parameters:.1f} effective parameters"
        )
