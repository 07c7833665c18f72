"""The L2 soft margin, the squared hinge."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pymc_bsvm._typing import Parameter
from pymc_bsvm._validation import positive
from pymc_bsvm.losses.base import ClassificationLoss, Formulas

__all__ = ["SoftMarginL2"]


@dataclass(frozen=True)
class SoftMarginL2(ClassificationLoss):
    """The squared hinge, ``C max(1 - y f, 0)² / 2``; no likelihood.

    Parameters
    ----------
    C : float or array of one by row
        Curvature, in nats per squared unit of f; positive.

    References
    ----------
    [Chu03]_, (B.3) with ``rho = 2``.
    """

    C: Parameter

    domains = MappingProxyType({"C": positive})

    @staticmethod
    def formulas(xp: Any) -> Formulas:
        """State the squared hinge."""

        def value(y: Any, f: Any, C: Any) -> Any:
            lack = xp.maximum(1.0 - y * f, 0.0)
            return 0.5 * C * lack * lack

        def derivative(y: Any, f: Any, C: Any) -> Any:
            return -C * y * xp.maximum(1.0 - y * f, 0.0)

        def curvature(y: Any, f: Any, C: Any) -> Any:
            return xp.where(y * f < 1.0, C, 0.0)

        def conjugate(y: Any, a: Any, C: Any) -> Any:
            return xp.where(y * a >= 0.0, 0.5 * a * (a / C) - y * a, math.inf)

        def dual_domain(y: Any, C: Any) -> tuple[Any, Any]:
            return xp.where(y > 0.0, 0.0, -math.inf), xp.where(y > 0.0, math.inf, 0.0)

        return Formulas(value, derivative, curvature, conjugate, dual_domain, None)

    @staticmethod
    def envelope_parameters(h: Any, C: Any) -> tuple[Any, ...]:
        """Return the parameter of the Moreau envelope, which is less curved."""
        return (C / (1.0 + h * C),)

    @staticmethod
    def stiffness(C: Any) -> Any:
        """Return the curvature within the margin."""
        return C


SoftMarginL2.envelope_type = SoftMarginL2
