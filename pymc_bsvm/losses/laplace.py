"""The absolute loss of Laplace noise."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pymc_bsvm._typing import Parameter
from pymc_bsvm._validation import positive
from pymc_bsvm.losses.epsilon_insensitive import (
    insensitive_envelope,
    insensitive_formulas,
    insensitive_kinks,
    insensitive_noise,
    insensitive_pieces,
    insensitive_stiffness,
)
from pymc_bsvm.losses.piecewise import PiecewiseNoise
from pymc_bsvm.losses.silf import SILF

__all__ = ["Laplace"]


@dataclass(frozen=True)
class Laplace(PiecewiseNoise):
    """The absolute residual, ``C |r|``: the epsilon-insensitive loss without a tube.

    Parameters
    ----------
    C : float or array of one by row
        Slope, in nats per unit of the target (the inverse scale of the noise); positive.

    References
    ----------
    [Chu03]_, (2.24).
    """

    C: Parameter

    differentiable = False
    domains = MappingProxyType({"C": positive})
    units = MappingProxyType({"C": -1})
    formulas = staticmethod(insensitive_formulas)
    noise = staticmethod(insensitive_noise)
    envelope_type = SILF
    envelope_parameters = staticmethod(insensitive_envelope)
    stiffness = staticmethod(insensitive_stiffness)
    kinks = staticmethod(insensitive_kinks)
    pieces = staticmethod(insensitive_pieces)

    @classmethod
    def complete(cls, *parameters: Any) -> tuple[Any, ...]:
        """Append the half width of the tube, which is zero."""
        return (*parameters, 0.0)
