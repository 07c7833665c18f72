"""Anderson's acceleration of fixed point iterations.

D. G. Anderson, Iterative procedures for nonlinear integral equations, J. ACM 12 (1965); Walker and
Ni, Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal. 49 (2011).
"""

from __future__ import annotations

import numba
import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.woodbury import dot

__all__ = ["mix", "mixed"]

_LEAST_ANGLE = 1e-10  # between a change and the earlier ones, of those that are used


def mixed(points: Array, steps: Array, measured: Array, damping: float) -> Array:
    """Return the iterate of ``x <- g(x)`` after the last of some earlier ones.

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


@numba.njit(cache=True, fastmath=False, nogil=True, error_model="numpy")
def mix(points, steps, measured, damping):  # type: ignore[no-untyped-def]
    """Return what `mixed` does, in compiled loops."""
    last, d = points.shape[0] - 1, points.shape[1]
    changes, moves = np.empty((last, d)), np.empty((last, d))
    x, rest = np.empty(d), measured[last].copy()
    for i in range(d):
        x[i] = points[last, i] + damping * steps[last, i]
        for k in range(last):
            changes[k, i] = measured[k + 1, i] - measured[k, i]
            step = steps[k + 1, i] - steps[k, i]
            moves[k, i] = points[k + 1, i] - points[k, i] + damping * step
    for k in range(last):
        size = np.sqrt(dot(changes[k], changes[k]))
        for j in range(k):
            share = dot(changes[j], changes[k])
            for i in range(d):
                changes[k, i] -= share * changes[j, i]
                moves[k, i] -= share * moves[j, i]
        length = np.sqrt(dot(changes[k], changes[k]))
        if not length > _LEAST_ANGLE * size:
            changes[k, :] = 0.0
            continue
        share = dot(changes[k], rest) / length
        for i in range(d):
            changes[k, i] /= length
            moves[k, i] /= length
            rest[i] -= share * changes[k, i]
            x[i] -= share * moves[k, i]
    return x
