"""The likelihoods of the estimators: which parameters of a loss are free, and where they start."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm.estimators.kernels import Hyperparameter
from pymc_bsvm.losses import SILF, Loss, Trigonometric
from pymc_bsvm.losses.base import Array

__all__ = ["Likelihood", "silf_likelihood", "trigonometric_likelihood"]

# C in [0.01, 1000] and ln epsilon in [-5, -0.7] for standardised targets, section 4.4 of [Chu03]_
_C = Hyperparameter("C", 1.0, 0.01, 1000.0)
_EPSILON = Hyperparameter("epsilon", 0.05, math.exp(-5.0), math.exp(-0.7))


@dataclass(frozen=True)
class Likelihood:
    """A loss with some fields free and the others fixed."""

    loss_type: type[Loss]
    free: tuple[Hyperparameter, ...]
    fixed: Mapping[str, float]

    def loss(self, values: Any) -> Loss:
        """Return the loss at values of the free fields; they may be model variables."""
        chosen = {h.name: value for h, value in zip(self.free, values, strict=True)}
        return self.loss_type(**chosen, **self.fixed)

    def slopes(self, values: Array, of_fields: Array) -> Array:
        """Turn derivatives with respect to all fields into those of the logs of the free ones."""
        order = list(self.loss_type.domains)
        return np.array(
            [
                of_fields[order.index(h.name)] * value
                for h, value in zip(self.free, values, strict=True)
            ]
        )


def silf_likelihood(beta: float) -> Likelihood:
    """Return SILF with C and epsilon free."""
    return Likelihood(SILF, (_C, _EPSILON), {"beta": beta})


def trigonometric_likelihood() -> Likelihood:
    """Return the trigonometric likelihood with a margin of one; the amplitude takes its place."""
    return Likelihood(Trigonometric, (), {"delta": 1.0})
