"""What the slopes at both ends of a step say of the curvature between them."""

from __future__ import annotations

import numpy as np

from pymc_bsvm._typing import Array

__all__ = ["corrected", "first_curvature"]


def first_curvature(step: Array, change: Array) -> Array:
    """Return the multiple of the identity that a first step tells of, (6.20) of [NW06]_.

    Parameters
    ----------
    step : ndarray of shape (k,)
        From one point to another.
    change : ndarray of shape (k,)
        By which the slope falls along it; ``change @ step`` is positive.
    """
    scale = float(change @ change) / float(change @ step)
    return np.asarray(scale * np.eye(step.size))


def corrected(H: Array, step: Array, change: Array) -> Array:
    """Return the curvature next to H that explains a change of the slope: BFGS, (6.19) of [NW06]_.

    Parameters
    ----------
    H : ndarray of shape (k, k)
        Minus the second derivatives, positive definite. So is the result.
    step, change
        As for `first_curvature`.
    """
    bend = H @ step
    seen = np.outer(change, change) / (change @ step)
    return np.asarray(H + seen - np.outer(bend, bend) / (step @ bend))
