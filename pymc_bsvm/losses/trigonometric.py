"""The trigonometric loss, a Bernoulli likelihood with a sine link."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pymc_bsvm._typing import Parameter
from pymc_bsvm._validation import positive
from pymc_bsvm.losses.base import ClassificationLoss, Formulas
from pymc_bsvm.losses.piece import Outline, Piece
from pymc_bsvm.losses.ramp import make_ramp

__all__ = ["Trigonometric"]

_QUARTER = math.pi / 4
_SMOOTH = 2.77  # cosh²(pi / 4 * 2.77) is 20
_S = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(11))  # 1e-18 is left at pi / 2
_TINY = 1e-300  # keeps the branch that is not chosen finite, and with it symbolic derivatives


def _sine(x: Any) -> Any:
    """Return the sine up to a right angle, as a polynomial, of which compilers make vectors."""
    s = x * x
    upper = _S[5] + s * (_S[6] + s * (_S[7] + s * (_S[8] + s * (_S[9] + s * _S[10]))))
    return x + x * s * (_S[1] + s * (_S[2] + s * (_S[3] + s * (_S[4] + s * upper))))


def _make_slope(xp: Any) -> Callable[..., Any]:
    """Return ``tan(pi (1 - z) / 4)`` as a function of both its distances, ``1 + z, 1 - z``."""

    def slope(behind: Any, ahead: Any) -> Any:
        near_wall = 1.0 / xp.tan(_QUARTER * xp.clip(behind, _TINY, 1.0))
        gentle = xp.tan(_QUARTER * xp.clip(ahead, 0.0, 1.0))
        inside = xp.where(behind < 1.0, near_wall, gentle)
        return xp.where(behind > 0.0, inside, math.inf)

    return xp.function(slope)  # type: ignore[no-any-return]


@dataclass(frozen=True)
class Trigonometric(ClassificationLoss):
    r"""The loss whose class probabilities follow a sine: with ``z = y f / delta``,

    .. math::

        p(y \mid f) = \cos^2\bigl(\tfrac{\pi}{4} (1 - z)\bigr), \quad -1 < z < 1,

    one for ``z >= 1`` and zero for ``z <= -1``. The loss is flat beyond the margin, so that
    solutions are sparse, its normaliser is one, and it is infinite behind a wall at ``z = -1``.

    Parameters
    ----------
    delta : float or array of one by row
        Half width of the link, in units of f; positive. It scales with the kernel amplitude.

    References
    ----------
    [Chu03]_, (5.7)-(5.11) and (5.29); [CKO03]_.
    """  # noqa: D400

    delta: Parameter = 1.0

    domains = MappingProxyType({"delta": positive})
    ramp_width = 0.25

    @property
    def knots(self) -> tuple[Parameter, ...]:
        """The wall and the margin."""
        return -self.delta, self.delta

    @property
    def wall(self) -> Parameter:
        """The margin at which the likelihood becomes zero."""
        return -self.delta

    @property
    def outline(self) -> Outline:
        """A slow factor up to ``delta`` and one beyond.

        The factor grows to ``cosh²(pi r / (4 delta))`` at a distance r from the first piece.
        """
        inside = Piece.flat(-self.delta, self.delta, _SMOOTH * self.delta)
        return Outline((inside, Piece.flat(self.delta, math.inf, math.inf)), ())

    @classmethod
    def likelihood(cls, xp: Any) -> Callable[..., Any]:
        """State the squared sine, and the slope by two sines that are small at its two ends."""
        sine = xp.function(_sine)

        def likelihood(x: Any, delta: Any) -> tuple[Any, Any]:
            behind = sine(_QUARTER * xp.clip((delta + x) / delta, _TINY, 2.0))
            ahead = sine(_QUARTER * xp.clip((delta - x) / delta, 0.0, 2.0))
            return behind * behind, -(0.5 * math.pi) * ahead / (behind * delta)

        return likelihood

    @staticmethod
    def formulas(xp: Any) -> Formulas:
        """State the loss from its two ends: ``behind = 1 + z`` and ``ahead = 1 - z``."""

        def value(y: Any, f: Any, delta: Any) -> Any:  # (5.11)
            behind, ahead = (delta + y * f) / delta, (delta - y * f) / delta
            near_wall = -2.0 * xp.log(xp.sin(_QUARTER * xp.clip(behind, _TINY, 1.0)))
            sine = xp.sin(_QUARTER * xp.clip(ahead, 0.0, 1.0))
            inside = xp.where(behind < 1.0, near_wall, -xp.log1p(-sine * sine))
            return xp.where(behind > 0.0, inside, math.inf)

        slope = _make_slope(xp)

        def derivative(y: Any, f: Any, delta: Any) -> Any:  # (5.9)
            tangent = slope((delta + y * f) / delta, (delta - y * f) / delta)
            return -y * (0.5 * math.pi) * tangent / delta

        def curvature(y: Any, f: Any, delta: Any) -> Any:  # (5.10)
            ahead = (delta - y * f) / delta
            tangent = slope((delta + y * f) / delta, ahead)
            bend = 0.125 * math.pi**2 * (1.0 + tangent * tangent) / delta / delta
            return xp.where(ahead > 0.0, bend, 0.0)

        def conjugate(y: Any, a: Any, delta: Any) -> Any:  # (5.29)
            alpha = xp.maximum(y * a, 0.0) * delta
            t = (2.0 / math.pi) * alpha
            inside = alpha * ((4.0 / math.pi) * xp.arctan(t) - 1.0) - xp.log1p(t * t)
            return xp.where(y * a >= 0.0, inside, math.inf)

        def dual_domain(y: Any, delta: Any) -> tuple[Any, Any]:
            return xp.where(y > 0.0, 0.0, -math.inf), xp.where(y > 0.0, math.inf, 0.0)

        def log_normalizer(delta: Any) -> Any:
            return 0.0 * delta

        return Formulas(value, derivative, curvature, conjugate, dual_domain, log_normalizer)

    @classmethod
    def smoothing(cls, xp: Any) -> Callable[..., Any]:
        """State the curvature continued beyond ``z = 1``, where a ramp takes it to zero."""
        slope, ramp = _make_slope(xp), make_ramp(xp)

        def curvature(y: Any, f: Any, width: Any, delta: Any) -> Any:  # (5.10)
            behind, ahead = (delta + y * f) / delta, (delta - y * f) / delta
            tangent = slope(behind, xp.abs(ahead))
            bend = 0.125 * math.pi**2 * (1.0 + tangent * tangent) / delta / delta
            return bend * ramp(ahead / width)

        return curvature
