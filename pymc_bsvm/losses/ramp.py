"""A step widened to a ramp, for curvatures that would otherwise jump."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["make_ramp"]


def make_ramp(xp: Any) -> Callable[[Any], Any]:
    """Return ``t -> 0`` below -1, 1 above +1, and between them the cubic with flat ends."""

    def ramp(t: Any) -> Any:
        u = xp.clip(t, -1.0, 1.0)
        return 0.5 + u * (0.75 - 0.25 * u * u)

    return xp.function(ramp)  # type: ignore[no-any-return]
