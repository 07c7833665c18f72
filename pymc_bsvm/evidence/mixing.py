"""Anderson's acceleration of fixed point iterations.

D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965); Walker and
Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal. 49 (2011).
"""

from __future__ import annotations

import numpy as np

from pymc_bsvm._typing import Array

__all__ = ["mixed"]

_LEAST_ANGLE = 1e-10  # between a change and the earlier ones, of those that are used


def mixed(points: Array, steps: Array, measured: Array, damping: float) -> Array:
    """Return the iterate of ``x <- g(x)`` after the last of some earlier ones; this compiles.

    Parameters
    ----------
    points : ndarray of shape (k, d)
        The iterates, the last one last.
    steps : ndarray of shape (k, d)
        ``g(x) - x`` of each.
    measured : ndarray of shape (k, d)
        A linear map of the steps to what they are compared by.
    damping : float
        Share of the mixed step that is taken.
    """
    x = points[-1] + damping * steps[-1]
    changes, rest = measured[1:] - measured[:-1], measured[-1].copy()
    moves = points[1:] - points[:-1] + damping * (steps[1:] - steps[:-1])
    for k in range(changes.shape[0]):  # made orthogonal to each other, the moves alongside
        size = np.sqrt((changes[k] * changes[k]).sum())
        for j in range(k):
            share = (changes[j] * changes[k]).sum()
            changes[k] -= share * changes[j]
            moves[k] -= share * moves[j]
        length = np.sqrt((changes[k] * changes[k]).sum())
        if not length > _LEAST_ANGLE * size:  # nothing new, or not a number
            changes[k] *= 0.0
            continue
        changes[k] /= length
        moves[k] /= length
        share = (changes[k] * rest).sum()
        rest -= share * changes[k]
        x -= share * moves[k]
    return np.asarray(x)
