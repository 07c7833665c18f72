"""The probit loss, a baseline of Gaussian process classification."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from pymc_bsvm._typing import Array
from pymc_bsvm.losses.base import ClassificationLoss, Formulas, formulas
from pymc_bsvm.losses.gaussian_tail import make_hazard
from pymc_bsvm.losses.tilted import Tilted

__all__ = ["Probit"]

_NEWTON_STEPS = 12


@dataclass(frozen=True)
class Probit(ClassificationLoss):
    """The negative log of the probit link, ``-log Phi(y f)``; curved everywhere.

    References
    ----------
    [Chu03]_, (5.3); [RW06]_, (3.15)-(3.16).
    """

    def log_average(self, margin: Array, variance: Array) -> Array:
        """Return the log of the averaged link, a link again: (3.82) of [RW06]_."""
        return np.asarray(log_ndtr(margin / np.sqrt(1.0 + variance)))

    @staticmethod
    def blurring(xp: Any) -> Callable[..., Tilted]:
        """State the average and its derivatives, (3.82)-(3.84) of [RW06]_."""
        stated = formulas(Probit, xp)
        value, derivative, curvature = stated.value, stated.derivative, stated.curvature

        def blurred(centre: Any, variance: Any) -> Tilted:
            scale = xp.sqrt(1.0 + variance)
            z = centre / scale
            slope, bend = -derivative(1.0, z) / scale, curvature(1.0, z) / scale / scale
            return Tilted(-value(1.0, z), slope, bend, variance * (1.0 - variance * bend))

        return blurred

    @staticmethod
    def formulas(xp: Any) -> Formulas:
        """State the loss of ``x = -y f`` through the hazard ``phi(x) / (1 - Phi(x))``."""
        hazard = make_hazard(xp)
        log_scale, root2 = 0.5 * math.log(2.0 * math.pi), math.sqrt(2.0)

        def log_survival(x: Any) -> Any:
            rate, _ = hazard(xp.maximum(x, 0.0))
            far = -0.5 * x * x - log_scale - xp.log(rate)
            near = xp.log1p(-0.5 * xp.erfc(-xp.minimum(x, 0.0) / root2))
            return xp.where(x > 0.0, far, near)

        log_survival = xp.function(log_survival)

        def value(y: Any, f: Any) -> Any:
            return -log_survival(-y * f)

        def derivative(y: Any, f: Any) -> Any:
            rate, _ = hazard(-y * f)
            return -y * rate

        def curvature(y: Any, f: Any) -> Any:
            rate, excess = hazard(-y * f)
            return rate * excess

        def conjugate(y: Any, a: Any) -> Any:
            # max_z [log Phi(z) - alpha z]. The log of the hazard is concave, so that Newton's
            # method on log hazard(-z) = log alpha descends to the root from any upper bound;
            # Birnbaum's bound on Mills' ratio and phi(z) > alpha / 2 for z > 0 give two. The
            # maximum is flat, which squares what error is left in z.
            alpha = xp.maximum(y * a, 1e-300)
            z = 1.0 / alpha - alpha
            z = xp.minimum(z, xp.sqrt(xp.maximum(-2.0 * xp.log(1.25 * alpha), 0.0)))
            for _ in range(_NEWTON_STEPS):
                rate, excess = hazard(-z)
                z = z + xp.log(rate / alpha) / excess
            inside = log_survival(-z) - alpha * z
            return xp.where(y * a > 0.0, inside, xp.where(y * a < 0.0, math.inf, 0.0))

        def dual_domain(y: Any) -> tuple[Any, Any]:
            return xp.where(y > 0.0, 0.0, -math.inf), xp.where(y > 0.0, math.inf, 0.0)

        def log_normalizer() -> Any:
            return 0.0

        return Formulas(value, derivative, curvature, conjugate, dual_domain, log_normalizer)
