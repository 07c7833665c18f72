"""The tail of the normal distribution with full relative precision, in any array language.

Far out, both functions use the continued fraction of Mills' ratio,
``(1 - Phi(x)) / phi(x) = 1 / (x + 1 / (x + 2 / (x + 3 / ...)))``; nearer, they use ``erfc``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ["make_erfcx", "make_hazard"]

_SWITCH = 4.0  # beyond it, 36 terms of the fraction are exact to rounding
_TERMS = 36
_FLAT = -39.0  # below it, the normal density underflows


def make_hazard(xp: Any) -> Callable[[Any], tuple[Any, Any]]:
    """Return ``x -> (h, h - x)`` with the hazard ``h = phi(x) / (1 - Phi(x))``."""
    fraction = _make_fraction(xp)
    log_scale = 0.5 * math.log(2 * math.pi)
    root2 = math.sqrt(2.0)

    def hazard(x: Any) -> tuple[Any, Any]:
        far = xp.maximum(x, _SWITCH)
        near = xp.clip(x, _FLAT, _SWITCH)
        near_hazard = 2.0 * xp.exp(-0.5 * near * near - log_scale) / xp.erfc(near / root2)
        excess = xp.where(x > _SWITCH, fraction(far), near_hazard - x)
        return xp.where(x > _SWITCH, far + fraction(far), near_hazard), excess

    return xp.function(hazard)  # type: ignore[no-any-return]


def make_erfcx(xp: Any) -> Callable[[Any], Any]:
    """Return ``x -> exp(x²) erfc(x)`` for nonnegative x."""
    fraction = _make_fraction(xp)
    root2, scale = math.sqrt(2.0), math.sqrt(2.0 / math.pi)

    def erfcx(x: Any) -> Any:
        far = root2 * xp.maximum(x, _SWITCH / root2)
        near = xp.minimum(x, _SWITCH / root2)
        near_erfcx = xp.exp(near * near) * xp.erfc(near)
        return xp.where(x > _SWITCH / root2, scale / (far + fraction(far)), near_erfcx)

    return xp.function(erfcx)  # type: ignore[no-any-return]


def _make_fraction(xp: Any) -> Callable[[Any], Any]:
    """Return ``x -> 1 / (x + 2 / (x + 3 / ...))``, the hazard less x, for large x."""
    numerators = tuple(float(k) for k in range(_TERMS, 1, -1))

    def fraction(x: Any) -> Any:
        denominator = x
        for k in numerators:
            denominator = x + k / denominator
        return 1.0 / denominator

    return xp.function(fraction)  # type: ignore[no-any-return]
