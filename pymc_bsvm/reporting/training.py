"""The training data of a process and their part in the solution, for plots."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray
from pymc import Model

from pymc_bsvm._typing import Array
from pymc_bsvm.gp.data import known_value
from pymc_bsvm.gp.place import Point
from pymc_bsvm.gp.process import MarginalProcess
from pymc_bsvm.losses import Loss

__all__ = ["Training", "axes_or_new", "check_column"]


@dataclass(frozen=True)
class Training:
    """Inputs, targets and support vectors at a point."""

    X: Array
    y: Array
    """Targets; labels are -1 and +1."""
    free: NDArray[np.bool_]
    bound: NDArray[np.bool_]
    loss: Loss

    @classmethod
    def of(cls, gp: MarginalProcess, point: Point, model: Model | None) -> Training:
        """Read the training data off a process."""
        if not isinstance(gp, MarginalProcess):
            raise TypeError(
                f"gp must be a process of pymc_bsvm.gp, but it is of type {type(gp).__name__}. "
                "Pass the process first, then the point or the fit."
            )
        X = known_value(gp.X)
        if X is None:
            raise ValueError(
                "The inputs of this process are an expression without a value. "
                "Pass arrays or pm.Data to marginal_likelihood for plots."
            )
        evidence = gp.evidence(point, model=model)
        solution, problem = evidence.solution, evidence.problem
        return cls(X, problem.y, solution.free, solution.bound, problem.loss)


def axes_or_new(ax: Axes | None) -> Axes:
    """Return the axes that were passed, or new ones."""
    if ax is not None:
        return ax
    _, new = plt.subplots(layout="constrained")
    return new


def check_column(name: str, column: Any, X: NDArray[np.float64]) -> None:
    """Raise unless the inputs have this column."""
    if not isinstance(column, numbers.Integral) or not 0 <= int(column) < X.shape[1]:
        raise ValueError(
            f"{name} is {column!r}, but X has {X.shape[1]} columns. "
            f"Pass a number from 0 to {X.shape[1] - 1}."
        )
