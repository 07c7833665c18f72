"""The L1 soft margin, or hinge, the loss of the classical support vector classifier."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pymc_bsvm._typing import Parameter
from pymc_bsvm._validation import positive
from pymc_bsvm.losses.base import ClassificationLoss, Formulas
from pymc_bsvm.losses.soft_margin_le import SoftMarginLe

__all__ = ["SoftMarginL1"]


@dataclass(frozen=True)
class SoftMarginL1(ClassificationLoss):
    """The hinge, ``C max(1 - y f, 0)``: piecewise linear, and no likelihood.

    Parameters
    ----------
    C : float or array of one by row
        Slope, in nats per unit of f; positive.

    References
    ----------
    [Chu03]_, (B.3) with ``rho = 1``.
    """

    C: Parameter

    differentiable = False
    domains = MappingProxyType({"C": positive})

    @staticmethod
    def formulas(xp: Any) -> Formulas:
        """State the hinge."""

        def value(y: Any, f: Any, C: Any) -> Any:
            return C * xp.maximum(1.0 - y * f, 0.0)

        def derivative(y: Any, f: Any, C: Any) -> Any:
            return xp.where(y * f < 1.0, -C * y, 0.0)

        def curvature(y: Any, f: Any, C: Any) -> Any:
            return 0.0 * (y * f)

        def conjugate(y: Any, a: Any, C: Any) -> Any:  # (B.16) with epsilon = 0
            return xp.where((y * a >= 0.0) & (y * a <= C), -y * a, math.inf)

        def dual_domain(y: Any, C: Any) -> tuple[Any, Any]:
            return xp.where(y > 0.0, 0.0, -C), xp.where(y > 0.0, C, 0.0)

        return Formulas(value, derivative, curvature, conjugate, dual_domain, None)

    envelope_type = SoftMarginLe

    @staticmethod
    def envelope_parameters(h: Any, C: Any) -> tuple[Any, Any]:
        """Return the parameters of the Moreau envelope, a hinge that bends over h C."""
        return C, 0.5 * h * C

    @staticmethod
    def stiffness(C: Any) -> Any:
        """Return infinity, the curvature of the kink."""
        return math.inf

    @staticmethod
    def kinks(y: Any, C: Any) -> tuple[Any]:
        """Return the value of f at which the margin is one."""
        return (y,)
