"""The likelihoods of the estimators: which parameters of a loss are free, and where they start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pymc_bsvm._validation import Interval, as_parameter
from pymc_bsvm.estimators.kernels import Hyperparameter
from pymc_bsvm.losses import SILF, Loss, Trigonometric
from pymc_bsvm.losses.base import Array, Parameter

__all__ = ["Likelihood", "betas_of", "noise_in", "silf_likelihood", "trigonometric_likelihood"]

# Starts and bounds for standardised targets from section 4.4 of [Chu03]_, but for the upper bound
# of epsilon, exp(-0.7) there: noise that is most of the variance wants a wider tube.
_C = Hyperparameter("C", 1.0, 0.01, 1000.0, unit=(0, -1))
_BETA = Interval(0.0, 1.0, includes_high=True)
_EPSILON = Hyperparameter("epsilon", 0.05, math.exp(-5.0), 2.0, unit=(0, 1))


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

    def slopes(self, values: Array, of_fields: Sequence[Parameter]) -> Array:
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


def betas_of(beta: Any, n: int) -> tuple[float, ...]:
    """Return the shares of the tube over which SILF may bend, for n rows; [Chu03]_ for "auto"."""
    if not isinstance(beta, str):
        return (as_parameter("beta", beta, _BETA),)
    if beta not in ("auto", "evidence"):
        raise ValueError(
            f"beta must be 'auto', 'evidence' or a number in (0, 1], but it is {beta!r}. "
            "Pass, for example, 0.3."
        )
    by_size = 0.3 if n < 2000 else 0.1 if n <= 4000 else 0.05
    return (by_size,) if beta == "auto" else (by_size, 1.0)


def noise_in(unit: float, loss: Loss) -> SILF:
    """Return SILF of standardised targets in the units of the targets."""
    assert isinstance(loss, SILF)
    return SILF(loss.C / unit, loss.epsilon * unit, loss.beta)
