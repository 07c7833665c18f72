"""Newton's method on the weights of a few features: latent values for a covariance of low rank.

With ``K = A'A`` and ``f = m + A'z + b`` the primal is ``sum_i w_i l(y_i, f_i) + z'z / 2``, with the
gradient ``g = z + A w l'(f)`` and the curvature ``I + A W A'``, ``W = w l''(f)``. The gap of the
dual ``a = -w l'(f)`` has no terms but those of the prior, which are

    z'z / 2 + a'Ka / 2 - a'A'z = g'g / 2,

so that the gradient alone says how near the minimum is. A step reads the features three times.
Steps on the dual read them much more often, for a dual and a certificate that a start needs not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv

from pymc_bsvm._typing import Array
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.numpy_language import function
from pymc_bsvm.solvers.line_search import make_zero
from pymc_bsvm.solvers.weighted import interpreted

__all__ = ["solve_features"]

_COARSE = 3  # times fewer features are enough for the first steps, ...
_ROUGH = 0.1  # ... which end with such a gap, in nats
_ACCEPT = 0.1  # of the derivative at the start of a step; what is below counts as zero
_FEW = 0.7  # of the rows; a product with so many of them begins with a copy of these alone


def solve_features(
    A: Array,
    y: Array,
    w: Array,
    m: Array,
    loss: Loss,
    offset: bool,
    tol: float,
    most: int,
    callback: Callable[..., Any] | None,
) -> Array | None:
    """Return the latent values at the minimum; None where it is not found.

    Parameters
    ----------
    A : ndarray of shape (k, n)
        Features, the most important ones first.
    y, w, m, loss, offset
        The problem, as the solver has it.
    tol : float
        Largest ``g'g / 2``, relative to ``1 + z'z / 2``; with an offset, g has its derivative, too.
    most : int
        Largest number of steps.
    callback : callable or None
        Called with the step, the gap before it, the number of free rows and the step's length.
    """
    words, p = interpreted(type(loss)), loss.parameters
    prior = np.ones(len(A) + offset)
    if offset:
        A = np.concatenate([np.ones((1, y.size)), A])
        prior[0] = 0.0

    def slope(t: float, down: float, f: Array, df: Array, start: float, bend: float) -> float:
        """Return the derivative along a step, inf behind a wall."""
        total = float(words.slope(y, f + t * df, w, p) @ df) + start + t * bend
        if not math.isfinite(total):
            return math.inf
        return total if abs(total) > -_ACCEPT * down else 0.0

    line_search: Any = make_zero(slope, function)  # type: ignore[no-untyped-call]
    z, f, steps = np.zeros(len(A)), m, 0
    for k, enough in ((len(A) // _COARSE, max(tol, _ROUGH)), (len(A), tol)):
        some, own, weights = A[:k], prior[:k], z[:k]
        while True:
            gradient = own * weights + some @ words.slope(y, f, w, p)
            gap = 0.5 * float(gradient @ gradient)
            if gap <= enough * (1.0 + 0.5 * float(z @ z)):
                break
            W = words.curve(y, f, w, p)
            free = np.flatnonzero(W)
            V, root = some, np.sqrt(W)
            if free.size < _FEW * y.size:
                V, root = some.take(free, axis=1), root[free]
            V = V * root
            step, failed = dposv(V @ V.T + np.diag(own), -gradient)[1:]
            down = float(gradient @ step)
            if failed or steps == most or not down < 0.0:
                return None
            df, pull = step @ some, own * step
            t = line_search(down, down, f, df, float(pull @ weights), float(pull @ step))
            if callback is not None:
                callback(steps, gap, free.size, t)
            if not math.isfinite(t):
                return None
            weights += t * step
            f, steps = f + t * df, steps + 1
    return f
