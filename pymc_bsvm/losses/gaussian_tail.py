"""The tail of the normal distribution with full relative precision, in any array language.

Far out, both functions use Mills' ratio ``(1 - Phi(x)) / phi(x) = E[x / (x² + t²)]``, where t is
standard normal, by Gauss' quadrature over t; nearer, they use ``erfc``. The ratio is the integral
of ``exp(-x s - s²/2)`` over positive s, and ``exp(-s²/2) = E[cos(t s)]``. The convergents of
Laplace's continued fraction are the same sums, but these have positive terms apart from each
other, whose derivatives stay short.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["make_erfcx", "make_hazard"]

_SWITCH = 4.0  # beyond it, the quadrature is exact to rounding
_NODES = 36
_FLAT = -39.0  # below it, the normal density underflows


def make_hazard(xp: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return ``x -> (h, h - x)`` with the hazard ``h = phi(x) / (1 - Phi(x))``."""
    mills = _make_mills(xp)
    log_scale = 0.5 * math.log(2 * math.pi)
    root2 = math.sqrt(2.0)

    def hazard(x: Any) -> tuple[Any, Any]:
        far = xp.maximum(x, _SWITCH)
        near = xp.clip(x, _FLAT, _SWITCH)
        near_hazard = 2.0 * xp.exp(-0.5 * near * near - log_scale) / xp.erfc(near / root2)
        ratio, rest = mills(far)
        far_excess = rest / ratio / far
        excess = xp.where(x > _SWITCH, far_excess, near_hazard - x)
        return xp.where(x > _SWITCH, far + far_excess, near_hazard), excess

    return xp.function(hazard)  # type: ignore[no-any-return]


def make_erfcx(xp: Any) -> Callable[[Any], Any]:
    """Return ``x -> exp(x²) erfc(x)`` for nonnegative x."""
    mills = _make_mills(xp)
    root2, scale = math.sqrt(2.0), math.sqrt(2.0 / math.pi)

    def erfcx(x: Any) -> Any:
        far = root2 * xp.maximum(x, _SWITCH / root2)
        ratio, _ = mills(far)
        near = xp.minimum(x, _SWITCH / root2)
        near_erfcx = xp.exp(near * near) * xp.erfc(near)
        return xp.where(x > _SWITCH / root2, scale * ratio / far, near_erfcx)

    return xp.function(erfcx)  # type: ignore[no-any-return]


def _make_mills(xp: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return ``x -> (x R, x² (1 - x R))`` with Mills' ratio R, for large x. Both tend to one."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    positive = nodes > 0.0
    squares = nodes[positive] ** 2
    shares = weights[positive] / weights[positive].sum()
    rule = tuple(zip(squares.tolist(), shares.tolist(), strict=True))

    def mills(x: Any) -> tuple[Any, Any]:
        inverse = 1.0 / x
        u = inverse * inverse  # its underflow is harmless where the square of x overflows
        ratio = rest = 0.0
        for square, share in rule:
            part = share / (1.0 + square * u)
            ratio = ratio + part
            rest = rest + square * part
        return ratio, rest

    return xp.function(mills)  # type: ignore[no-any-return]
