"""Roots of increasing functions, all at once, by Newton's method between brackets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array

__all__ = ["roots_of_increasing"]

_MOST_STEPS = 200

type Increasing = Callable[[Array, NDArray[np.intp]], tuple[Array, Array]]
"""``(x, rows)``: values and slopes of the functions of some rows."""


def roots_of_increasing(
    function: Increasing, start: Array, accuracy: Array, ends: tuple[Array, Array] | None = None
) -> Array:
    """Return the roots of n increasing functions.

    What was evaluated brackets the roots. Steps are Newton's, corrected by the curvature that the
    slopes of two of them show. A step that leaves the bracket becomes a bisection, or halves x
    while the bracket has no end.

    Parameters
    ----------
    function : callable
        ``(x, rows)``: values and slopes for arguments of shape (m,) of the functions ``rows``.
    start : ndarray of shape (n,)
        Where the search starts.
    accuracy : ndarray of shape (n,)
        Size of a value that counts as zero.
    ends : tuple of ndarray of shape (n,), optional
        Brackets; unbounded by default.

    Returns
    -------
    ndarray of shape (n,)
    """
    x = np.array(start, dtype=float)
    unbounded = np.full(x.shape, -np.inf), np.full(x.shape, np.inf)
    low, high = (np.array(end) for end in ends or unbounded)
    last, last_slope = np.full((2, *x.shape), np.nan)
    rows = np.arange(x.size)
    for _ in range(_MOST_STEPS):
        now = x[rows]
        value, slope = function(now, rows)
        low[rows] = np.where(value < 0.0, now, low[rows])
        high[rows] = np.where(value > 0.0, now, high[rows])
        with np.errstate(all="ignore"):
            bend = (slope - last_slope[rows]) / (now - last[rows])  # NaN at first
            following = now - _step(value, slope, bend)
            middle = 0.5 * (low[rows] + high[rows])
        last[rows], last_slope[rows] = now, slope
        inside = (low[rows] < following) & (following < high[rows])  # never NaN
        fallback = np.where(np.isfinite(middle), middle, 0.5 * now)
        following = np.where(inside & np.isfinite(following), following, fallback)
        moving = (np.abs(value) > accuracy[rows]) & (following != now)
        x[rows] = np.where(moving, following, now)
        rows = rows[moving]
        if not rows.size:
            break
    return x


def _step(value: Array, slope: Array, bend: Array) -> Array:
    """Return Newton's steps, corrected for curvature where that changes them by less than half."""
    newton = value / slope
    correction = 0.5 * bend / slope * newton**2
    return newton + np.where(np.abs(correction) < 0.5 * np.abs(newton), correction, 0.0)
