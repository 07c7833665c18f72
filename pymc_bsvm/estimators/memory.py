"""Where evaluations of one climb ended, for the next ones to start from."""

from __future__ import annotations

import numpy as np

from pymc_bsvm._typing import Array

__all__ = ["Memory"]

_FAR = 0.4  # of two logarithms; a start from so far saves no steps
_MOST = 64  # points; a climb moves on


class Memory:
    """The last points of a climb, and where the approximation ended there.

    Each climb has one of its own, so that its results do not depend on the climbs before it.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._points: Array | None = None
        self._ends: list[Array] = []
        self._held = False

    def add(self, x: Array, end: Array) -> None:
        """Remember where the evaluation at x ended."""
        if self._held:
            return
        points = x[None] if self._points is None else np.vstack([self._points, x])
        self._points, self._ends = points[-self._most :].copy(), [*self._ends, end][-self._most :]

    def hold(self) -> None:
        """Remember nothing more."""
        self._held = True

    def nearest(self, x: Array) -> Array | None:
        """Return where the evaluation at the nearest point ended, None if all are far away."""
        if self._points is None:
            return None
        distances = np.abs(self._points - x).max(axis=1)[::-1]
        k = int(distances.argmin())  # of equals, the last
        return self._ends[-1 - k] if distances[k] <= _FAR else None
