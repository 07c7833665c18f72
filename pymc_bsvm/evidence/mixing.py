"""Anderson's acceleration of fixed point iterations.

D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965); Walker and
Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal. 49 (2011).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from pymc_bsvm._typing import Array

__all__ = ["Mixing"]


class Mixing:
    """The last few iterates of ``x <- g(x)``, of which the next one is a combination.

    Parameters
    ----------
    window : int
        Number of earlier steps that are mixed with the last one.
    """

    def __init__(self, window: int) -> None:
        self._points: deque[Array] = deque(maxlen=window + 1)
        self._steps: deque[Array] = deque(maxlen=window + 1)

    @property
    def size(self) -> int:
        """How many iterates the last one was made of."""
        return len(self._points)

    def forget(self) -> None:
        """Start anew."""
        self._points.clear()
        self._steps.clear()

    def next(
        self, x: Array, step: Array, measure: Callable[[Array], Array], damping: float = 1.0
    ) -> Array:
        """Return the next iterate after x.

        Parameters
        ----------
        x : ndarray of shape (d,)
            The iterate.
        step : ndarray of shape (d,)
            ``g(x) - x``.
        measure : callable
            A linear map to what steps are compared by, of one step or of several in the columns.
        damping : float
            Share of the mixed step that is taken.
        """
        self._points.append(x)
        self._steps.append(step)
        if len(self._points) == 1:
            return x + damping * step
        moves, changes = (np.diff(np.stack(z), axis=0).T for z in (self._points, self._steps))
        shares = np.linalg.lstsq(measure(changes), measure(step), rcond=1e-10)[0]
        return np.asarray(x + damping * step - (moves + damping * changes) @ shares)
