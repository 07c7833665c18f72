"""Huber's loss, the member of the SILF family with no flat part."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pymc_bsvm._typing import Parameter
from pymc_bsvm._validation import positive
from pymc_bsvm.losses.piecewise import PiecewiseNoise
from pymc_bsvm.losses.silf import (
    SILF,
    SILF_RAMP_WIDTH,
    silf_envelope,
    silf_formulas,
    silf_noise,
    silf_pieces,
    silf_smoothing,
    silf_stiffness,
)

__all__ = ["Huber"]


@dataclass(frozen=True)
class Huber(PiecewiseNoise):
    """Quadratic near zero, linear beyond: ``C r² / (4 epsilon)``, then ``C (|r| - epsilon)``.

    It is SILF with ``beta = 1``; the pieces meet at ``|r| = 2 epsilon``.

    Parameters
    ----------
    C : float or array of one by row
        Slope of the linear part, in nats per unit of the target; positive.
    epsilon : float or array of one by row
        Half of the residual at which the loss turns linear; positive.

    References
    ----------
    [Chu03]_, (2.26).
    """

    C: Parameter
    epsilon: Parameter

    domains = MappingProxyType({"C": positive, "epsilon": positive})
    units = MappingProxyType({"C": -1, "epsilon": 1})
    ramp_width = SILF_RAMP_WIDTH
    formulas = staticmethod(silf_formulas)
    smoothing = staticmethod(silf_smoothing)
    noise = staticmethod(silf_noise)
    envelope_type = SILF
    envelope_parameters = staticmethod(silf_envelope)
    stiffness = staticmethod(silf_stiffness)
    pieces = staticmethod(silf_pieces)

    @classmethod
    def complete(cls, *parameters: Any) -> tuple[Any, ...]:
        """Append SILF's beta, which is one."""
        return (*parameters, 1.0)
