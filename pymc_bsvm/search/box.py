"""Steps to the highest point of a parabola within a box."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import lsq_linear

from pymc_bsvm._typing import Array

__all__ = ["promise", "step_in_box"]


def step_in_box(H: Array, slope: Array, x: Array, bounds: Array, longest: float) -> Array:
    """Return the step of the highest ``slope'step - step'H step / 2`` inside the box.

    Parameters
    ----------
    H : ndarray of shape (k, k)
        Curvature, positive definite.
    slope, x : ndarray of shape (k,)
        Where the parabola is anchored.
    bounds : ndarray of shape (k, 2)
        The box.
    longest : float
        Largest element of the step.
    """
    low, high = np.clip((bounds - x[:, None]).T, -longest, longest)
    L = np.linalg.cholesky(H)
    aim = solve_triangular(L, slope, lower=True)
    step = lsq_linear(L.T, aim, (low, high), method="bvls").x
    return np.asarray(np.clip(x + step, *bounds.T) - x)


def promise(H: Array, slope: Array, step: Array) -> float:
    """Return what the parabola gains by a step."""
    return float(slope @ step - 0.5 * step @ H @ step)
