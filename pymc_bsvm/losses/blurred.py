"""A loss of one argument and the Gaussian that blurs it, as one energy to integrate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm.losses import numpy_language
from pymc_bsvm.losses.formula import formulas
from pymc_bsvm.losses.quadrature import log_integral

if TYPE_CHECKING:
    from pymc_bsvm.losses.base import Loss, RegressionLoss

__all__ = ["Blurred", "of_argument"]

_LOG_ROOT_2PI = 0.5 * math.log(2.0 * math.pi)


def of_argument(
    loss_type: type[Loss], xp: Any = numpy_language
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a loss and its slope as functions of the residual or margin and the parameters."""
    stated = formulas(loss_type, xp)
    if loss_type.task == "regression":
        return (
            lambda u, *p: stated.value(u, 0.0, *p),
            lambda u, *p: -stated.derivative(u, 0.0, *p),
        )
    return lambda u, *p: stated.value(1.0, u, *p), lambda u, *p: stated.derivative(1.0, u, *p)


class Blurred(NamedTuple):
    """The energy ``l(u) + (u - centre)² / (2 variance)`` as a function of x, u = origin + unit x.

    The parameters of both functions are ``origin, unit, start, rate`` and those of the loss, where
    ``(u - centre) / sd = start + rate x``.
    """

    energy: Callable[..., Any]
    slope: Callable[..., Any]
    parameters: Sequence[Array]

    @classmethod
    def of(cls, loss: Loss, centre: Array, variance: Array) -> Blurred:
        """Return the energies of n rows, in units of the narrower of noise and Gaussian."""
        value, derivative = of_argument(type(loss))
        sd = np.sqrt(variance)
        regression = loss.task == "regression"
        scale = np.sqrt(cast("RegressionLoss", loss).variance()) if regression else math.inf
        wide = sd > scale
        origin, unit = np.where(wide, 0.0, centre), np.where(wide, scale, sd)
        start, rate = np.where(wide, -centre / sd, 0.0), unit / sd

        def energy(x: Array, origin: Array, unit: Array, start: Array, rate: Array, *p: Any) -> Any:
            return value(origin + unit * x, *p) + 0.5 * (start + rate * x) ** 2

        def slope(x: Array, origin: Array, unit: Array, start: Array, rate: Array, *p: Any) -> Any:
            return unit * derivative(origin + unit * x, *p) + rate * (start + rate * x)

        return cls(energy, slope, (origin, unit, start, rate, *loss.by_row(centre.size)))

    def place(self, u: Parameter) -> Array:
        """Return where an argument is, in units of x."""
        origin, unit = self.parameters[:2]
        return np.asarray((u - origin) / unit)

    def log_average(self, knots: Sequence[Parameter]) -> Array:
        """Return ``log E[exp(-l(u))]`` for ``u ~ N(centre, variance)``."""
        with np.errstate(all="ignore"):
            breaks = [self.place(knot) for knot in knots]
            log_mass = log_integral(self.energy, self.slope, self.parameters, breaks)
            return log_mass + np.log(self.parameters[3]) - _LOG_ROOT_2PI
