"""Where evaluations of one climb ended, for the next ones to start from."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from pymc_bsvm._typing import Array

__all__ = ["Memory"]

_FAR = 0.4  # of two logarithms; a start from so far saves no steps
_MOST = 64  # points; a climb moves on
_AROUND = 12  # points that tell how ends change
_SAME = 1e-12  # a spread of logarithms that tells nothing
_NEAR, _RIDGE = 0.1, 0.01  # of a mean squared distance, and of the weights: shrinks the slopes


class Memory:
    """The last points of a climb, and where the approximation ended there.

    Each climb has one of its own, so that its results do not depend on the climbs before it.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._points: Array | None = None
        self._ends: list[Array] = []
        self._held = False
        self._smooth: Array | None = None
        self._spread: Array | float = 1.0

    def add(self, x: Array, end: Array) -> None:
        """Remember where the evaluation at x ended."""
        if self._held:
            return
        points = x[None] if self._points is None else np.vstack([self._points, x])
        self._points, self._ends = points[-self._most :].copy(), [*self._ends, end][-self._most :]

    def hold(self, smooth: bool = False) -> None:
        """Remember nothing more.

        Parameters
        ----------
        smooth : bool
            Whether ends change smoothly with the point, so that those around a point tell its own.
        """
        self._held = True
        if smooth and len(self._ends) > _AROUND:
            assert self._points is not None
            self._smooth = np.array(self._ends)
            spread = self._points.std(axis=0)
            self._spread = np.where(spread > _SAME, spread, 1.0)

    def nearest(self, x: Array) -> Array | None:
        """Return where the evaluation at the nearest point ended, None if all are far away.

        Where ends are smooth it is what the points around say of the end at x.
        """
        if self._points is None:
            return None
        distances = np.abs(self._points - x).max(axis=1)[::-1]
        k = int(distances.argmin())  # of equals, the last
        if distances[k] > _FAR:
            return None
        return self._ends[-1 - k] if self._smooth is None else self._predicted(x)

    def _predicted(self, x: Array) -> Array:
        """Return the end at x of a plane through the ends around it."""
        assert self._points is not None
        assert self._smooth is not None
        z = (self._points - x) / self._spread
        squares = np.einsum("ij,ij->i", z, z)
        around = np.argpartition(squares, _AROUND)[:_AROUND]
        near = squares[around]
        weights = 1.0 / (near + _NEAR * near.mean() + np.finfo(float).tiny)
        terms = np.ones((_AROUND, x.size + 1))
        terms[:, 1:] = z[around]
        weighted = weights[:, None] * terms
        normal, level = terms.T @ weighted, np.zeros(x.size + 1)
        np.einsum("ii->i", normal)[1:] += _RIDGE * weights.mean()
        level[0] = 1.0
        shares = weighted @ dposv(normal, level)[1]
        return np.asarray(shares @ self._smooth[around])
