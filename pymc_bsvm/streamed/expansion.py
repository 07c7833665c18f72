"""Where the loss of a row is expanded for a step: at its latent value, or in front of a wall.

A full Newton step takes some of very many rows behind the wall of a loss, and shortening the step
for them would hold up all others. A row may be expanded elsewhere: near its wall at the point z of
the loss whose dual ``-l'(z)`` lies on the line of slope 1 / h through the row's latent value f and
the dual a that the last expansion predicts there,

    z = f - h (a + l'(z)),

which is where the row would go if all others held still and h were its posterior variance. At the
mode the two are the same, ``z = f``. An expansion in front of it, where the loss is less steep, is
mended by a few steps; behind it, the distance from the wall only doubles with each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers.weighted import interpreted

__all__ = ["expansion_points"]

_STIFFER = 2.0  # times the last curvature: up to there a row is expanded at its latent value
_CAUTION = 30.0  # times the typical variance is h: too far from a wall costs less than too near
_BISECTIONS = 60


def expansion_points(
    loss: Loss, y: Array, weight: Array, f: Array, last: Array | None, variance: float
) -> Array:
    """Return where the loss of each row is expanded next.

    Parameters
    ----------
    loss : Loss
        A loss that is finite at zero.
    y, weight, f : ndarray of shape (b,)
        Targets, how often they count, and the latent values, which may be behind the wall.
    last : ndarray of shape (b,), optional
        Where they were expanded last.
    variance : float
        Typical posterior variance of a latent value.
    """
    functions, p = interpreted(type(loss)), loss.parameters
    h = _CAUTION * variance
    with np.errstate(all="ignore"):
        W = functions.curve(y, f, weight, p)
        before = functions.curve(y, np.zeros(f.shape) if last is None else last, weight, p)
        stiff = np.maximum(_STIFFER * before, 1.0 / h)
        off = ~((W <= stiff) & np.isfinite(functions.loss(y, f, weight, p)))
        if not off.any():
            return f
        y, weight, centre = y[off], weight[off], f[off]
        if last is not None:
            z = last[off]
            slope, bend = functions.slope(y, z, weight, p), functions.curve(y, z, weight, p)
            centre = centre + h * (slope + bend * (centre - z))
        points = f.copy()
        points[off] = _between(lambda z: z - centre + h * functions.slope(y, z, weight, p), centre)
    return points


def _between(rising: Callable[[Array], Array], end: Array) -> Array:
    """Return where a function of vectors is zero between zero and the end; else, zero."""
    near, far = np.zeros(end.shape), end
    beyond = np.sign(rising(near))
    far = np.where(beyond == np.sign(rising(far)), near, far)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (near + far)
        same = np.sign(rising(middle)) == beyond
        near, far = np.where(same, middle, near), np.where(same, far, middle)
    return near
