"""Where evaluations of one climb ended, for the next ones to start from."""

from __future__ import annotations

from collections import deque

import numpy as np

from pymc_bsvm._typing import Array

__all__ = ["Memory"]

_FAR = 0.4  # of two logarithms; a start from so far saves no steps
_MOST = 64  # points; a climb moves on


class Memory:
    """The last points of a climb, and where the approximation ended there.

    Each climb has one of its own, so that its results do not depend on the climbs before it.
    """

    def __init__(self) -> None:
        self._ends: deque[tuple[Array, Array]] = deque(maxlen=_MOST)

    def add(self, x: Array, end: Array) -> None:
        """Remember where the evaluation at x ended."""
        self._ends.append((x.copy(), end))

    def nearest(self, x: Array) -> Array | None:
        """Return where the evaluation at the nearest point ended, None if all are far away."""
        best, start = _FAR, None
        for known, end in self._ends:
            distance = float(np.abs(known - x).max())
            if distance <= best:  # of equals, the last
                best, start = distance, end
        return start
