"""A dual to start from, for whoever knows latent values near those of the solution.

From one problem to its neighbour the latent values hardly change, while duals may change a lot: K
may be nearly singular. One full Newton step from the latent values f0 of the neighbour, with the
curvature ``W = w l''(f0)``, gives the dual

    (I + W K) a = -w l'(f0) + W (f0 - m),

which is that of the solution if no row leaves its zone of a piecewise quadratic loss.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.base import Covariance
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers.newton import Factor
from pymc_bsvm.solvers.weighted import interpreted

__all__ = ["Forecast", "forecast"]


class Forecast(NamedTuple):
    """A dual, and the factor of the step that led to it."""

    a: Array
    factor: Factor


def forecast(
    K: Any, y: Array, w: Array, m: Array, f: Array, loss: Loss, covariance: Covariance
) -> Forecast | None:
    """Return the dual after one Newton step from the latent values f; None if there is no step."""
    words, p = interpreted(type(loss)), loss.parameters
    with np.errstate(all="ignore"):
        W, a = words.curve(y, f, w, p), -words.slope(y, f, w, p)
        a += W * (f - m)
    if not np.isfinite(a).all():
        return None
    free, root = np.flatnonzero(W > 0.0), np.sqrt(W)
    cholesky, definite = covariance.factorize(K, free, root)
    if not definite:
        return None
    scaled = a[free] / root[free]
    a[free] = 0.0
    of_others = np.zeros(a.size)
    covariance.add_product(K, np.flatnonzero(a), a, of_others)
    x = (scaled - root[free] * of_others[free])[None]
    covariance.solve(cholesky, x)
    a[free] = root[free] * x[0]
    return Forecast(a, Factor(free, root, cholesky)) if np.isfinite(a).all() else None
