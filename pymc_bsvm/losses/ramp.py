"""A step widened to a ramp, for curvatures that would otherwise jump."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pymc_bsvm.losses import jet_language, numpy_language

__all__ = ["make_ramp"]


def make_ramp(xp: Any) -> Callable[[Any], Any]:
    """Return ``t -> 0`` below -1, 1 above +1, and between them the cubic with flat ends."""

    def ramp(t: Any) -> Any:
        u = xp.clip(t, -1.0, 1.0)
        return 0.5 + u * (0.75 - 0.25 * u * u)

    def slope(t: Any) -> Any:
        u = xp.clip(t, -1.0, 1.0)
        return 0.75 - 0.75 * u * u

    if xp is jet_language:  # one step of the chain rule in the place of one for each operation
        return jet_language.unary(make_ramp(numpy_language), slope)
    return xp.function(ramp)  # type: ignore[no-any-return]
