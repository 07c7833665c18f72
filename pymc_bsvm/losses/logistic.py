"""The logistic loss, a baseline of Gaussian process classification."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from pymc_bsvm._typing import Parameter
from pymc_bsvm.losses.base import ClassificationLoss, Formulas
from pymc_bsvm.losses.piece import Outline, Piece

__all__ = ["Logistic"]

_WIDTH = 40.0  # exp(-40) is 4e-18
_TINY = 1e-300  # these two keep the logarithms of the entropy finite
_BELOW_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True)
class Logistic(ClassificationLoss):
    """The negative log of the logistic link, ``log(1 + exp(-y f))``; curved everywhere.

    References
    ----------
    [Chu03]_, (5.2); [RW06]_, (3.30).
    """

    @property
    def knots(self) -> tuple[Parameter, ...]:
        """Where the loss is a line to rounding, where it bends, and where it is zero."""
        return -_WIDTH, 0.0, _WIDTH

    @property
    def outline(self) -> Outline:
        """Lines plus a slow term, ``log(1 + exp(-|z|))``.

        It has poles at odd multiples of i pi; two from the pieces, its factor is below 1.1.
        """
        flat = Piece.flat(0.0, _WIDTH, 2.0), Piece.flat(_WIDTH, math.inf, 2.0)
        rising = (
            Piece(0.0, _WIDTH, 0.0, 1.0, 1.0, _WIDTH, 2.0),
            Piece(_WIDTH, math.inf, _WIDTH, 1.0, 1.0, math.inf, 2.0),
        )
        return Outline(flat, rising)

    @staticmethod
    def formulas(xp: Any) -> Formulas:
        """State the loss of ``z = y f`` through ``exp(-|z|)``, which cannot overflow."""

        def decay(z: Any) -> Any:
            return xp.exp(xp.where(z > 0.0, -z, z))

        decay = xp.function(decay)

        def value(y: Any, f: Any) -> Any:
            z = y * f
            return xp.log1p(decay(z)) + xp.where(z > 0.0, 0.0, -z)

        def derivative(y: Any, f: Any) -> Any:
            z = y * f
            return -y * xp.where(z > 0.0, decay(z), 1.0) / (1.0 + decay(z))

        def curvature(y: Any, f: Any) -> Any:
            e = decay(y * f)
            return e / ((1.0 + e) * (1.0 + e))

        def conjugate(y: Any, a: Any) -> Any:
            alpha = xp.clip(y * a, 0.0, 1.0)
            rest = 1.0 - alpha
            inside = alpha * xp.log(xp.maximum(alpha, _TINY)) + xp.where(
                rest > 0.0, rest * xp.log1p(-xp.minimum(alpha, _BELOW_ONE)), 0.0
            )
            return xp.where((y * a >= 0.0) & (y * a <= 1.0), inside, math.inf)

        def dual_domain(y: Any) -> tuple[Any, Any]:
            return xp.where(y > 0.0, 0.0, -1.0), xp.where(y > 0.0, 1.0, 0.0)

        def log_normalizer() -> Any:
            return 0.0

        return Formulas(value, derivative, curvature, conjugate, dual_domain, log_normalizer)
