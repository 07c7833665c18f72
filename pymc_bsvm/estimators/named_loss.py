"""Losses of regression by the names that machines with given parameters have for them."""

from __future__ import annotations

from typing import Any

from pymc_bsvm.losses import SILF, EpsilonInsensitive, Gaussian, Huber, Laplace
from pymc_bsvm.losses.base import RegressionLoss

__all__ = ["REGRESSION_LOSSES", "regression_loss"]

REGRESSION_LOSSES = ("epsilon_insensitive", "silf", "huber", "laplace", "squared")


def regression_loss(name: str, C: Any, epsilon: Any, beta: Any) -> RegressionLoss:
    """Return the loss of a name with its parameters; C may be one for each row."""
    match name:
        case "silf":
            return SILF(C, epsilon, beta)
        case "huber":
            return Huber(C, epsilon)
        case "squared":
            return Gaussian(C**-0.5)
        case "laplace":
            return Laplace(C)
        case _:
            return EpsilonInsensitive(C, epsilon)
