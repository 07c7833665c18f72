"""The L_e soft margin, a hinge with a rounded corner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pymc_bsvm._typing import Parameter
from pymc_bsvm._validation import positive
from pymc_bsvm.losses.base import ClassificationLoss, Formulas

__all__ = ["SoftMarginLe"]


@dataclass(frozen=True)
class SoftMarginLe(ClassificationLoss):
    """A hinge that bends over ``1 - 2 epsilon <= y f <= 1``, where it is quadratic.

    With ``u = 1 - y f`` the loss is ``C u² / (4 epsilon)`` up to ``u = 2 epsilon`` and
    ``C (u - epsilon)`` beyond: the L1 soft margin as ``epsilon -> 0``, the L2 soft margin for large
    epsilon and ``C / (2 epsilon)`` held fixed. It is no likelihood.

    Parameters
    ----------
    C : float or array of one by row
        Slope of the linear part, in nats per unit of f; positive.
    epsilon : float or array of one by row
        Half width of the bend, in units of f; positive.

    References
    ----------
    [Chu03]_, (B.4) and (B.16).
    """

    C: Parameter
    epsilon: Parameter

    domains = MappingProxyType({"C": positive, "epsilon": positive})

    @staticmethod
    def formulas(xp: Any) -> Formulas:
        """State the rounded hinge."""

        def value(y: Any, f: Any, C: Any, epsilon: Any) -> Any:
            u, width = 1.0 - y * f, 2.0 * epsilon
            risen = xp.maximum(u, 0.0)
            t = xp.minimum(risen, width)
            return C * (0.5 * t * (t / width) + (risen - t))

        def derivative(y: Any, f: Any, C: Any, epsilon: Any) -> Any:
            return -C * y * (xp.clip(1.0 - y * f, 0.0, 2.0 * epsilon) / (2.0 * epsilon))

        def curvature(y: Any, f: Any, C: Any, epsilon: Any) -> Any:
            u, width = 1.0 - y * f, 2.0 * epsilon
            return xp.where((u > 0.0) & (u < width), C / width, 0.0)

        def conjugate(y: Any, a: Any, C: Any, epsilon: Any) -> Any:
            inside = epsilon * a * (a / C) - y * a
            return xp.where((y * a >= 0.0) & (y * a <= C), inside, math.inf)

        def dual_domain(y: Any, C: Any, epsilon: Any) -> tuple[Any, Any]:
            return xp.where(y > 0.0, 0.0, -C), xp.where(y > 0.0, C, 0.0)

        return Formulas(value, derivative, curvature, conjugate, dual_domain, None)

    @staticmethod
    def envelope_parameters(h: Any, C: Any, epsilon: Any) -> tuple[Any, Any]:
        """Return the parameters of the Moreau envelope, which bends over h C more."""
        return C, epsilon + 0.5 * h * C

    @staticmethod
    def stiffness(C: Any, epsilon: Any) -> Any:
        """Return the curvature of the bend."""
        return C / (2.0 * epsilon)


SoftMarginLe.envelope_type = SoftMarginLe
