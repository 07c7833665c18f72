"""Hyperparameters with priors, and what is to be said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pymc as pm

from pymc_bsvm._pickling import ByCloudpickle

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Prior", "Priors", "Task"]

Task = Literal["regression", "classification"]


class Prior(NamedTuple):
    """What was chosen for one hyperparameter, or for one column of it."""

    name: str
    distribution: str
    low: float
    """The 5 % quantile."""
    median: float
    high: float
    """The 95 % quantile."""
    reason: str


@dataclass(frozen=True, eq=False)
class Priors(ByCloudpickle):
    """Hyperparameters with priors in the units of the data; ``print`` says what was chosen.

    Attributes
    ----------
    task : {"regression", "classification"}
        What the targets ask for.
    eta : TensorVariable
        Amplitude: the standard deviation of the function.
    ls : TensorVariable
        Length-scale, or one for each column that varies.
    C, epsilon : TensorVariable or None
        Slope and half width of the tube of SILF; None in classification.
    beta : float
        Share of the tube over which SILF bends.
    delta : float
        Half width of the trigonometric link.
    centre : float
        Median of the targets, for `mean`; zero in classification.
    input_dim : int
        Number of columns.
    active_dims : tuple of int
        The columns that vary, which are those that `ls` is for.
    chosen : tuple of Prior
        One entry for each scalar.
    data : tuple of str
        What was seen of the data, and what to look at.
    """

    task: Task
    eta: Any
    ls: Any
    C: Any
    epsilon: Any
    beta: float
    delta: float
    centre: float
    input_dim: int
    active_dims: tuple[int, ...]
    chosen: tuple[Prior, ...]
    data: tuple[str, ...]

    def covariance(self, function: Any = pm.gp.cov.ExpQuad) -> Any:
        """Return ``eta²`` times a stationary covariance function of PyMC on the varying columns."""
        kernel = function(self.input_dim, ls=self.ls, active_dims=list(self.active_dims))
        return self.eta**2 * kernel

    def mean(self) -> Any:
        """Return the mean function: the median of the targets, zero in classification."""
        return pm.gp.mean.Constant(self.centre) if self.centre else pm.gp.mean.Zero()

    def likelihood(self) -> dict[str, Any]:
        """Return the arguments of `marginal_likelihood` that state the loss."""
        if self.task == "classification":
            return {"delta": self.delta}
        return {"C": self.C, "epsilon": self.epsilon, "beta": self.beta}

    def table(self) -> pd.DataFrame:
        """Return the choices as a table, one row for each scalar."""
        import pandas as pd

        return pd.DataFrame(self.chosen, columns=[*Prior._fields]).set_index("name")

    def __repr__(self) -> str:
        cells = [["", "prior", "5 %", "median", "95 %", "from"]]
        for p in self.chosen:
            numbers = [f"{x:.3g}" for x in (p.low, p.median, p.high)]
            cells.append([p.name, p.distribution, *numbers, p.reason])
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        rows = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in cells
        ]
        lines = [f"Priors for {self.task}", *self.data, *rows]
        return "\n".join(line.rstrip() for line in lines)
