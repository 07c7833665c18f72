"""A dual to start from, for whoever knows latent values near those of the solution.

From one problem to its neighbour the latent values hardly change, while duals may change a lot: K
may be nearly singular. One full Newton step from the latent values f0 of the neighbour, with the
curvature ``W = w l''(f0)``, gives the dual

    (I + W K) a = -w l'(f0) + W (f0 - m - b),

which is that of the solution if no row leaves its zone of a piecewise quadratic loss. The offset b
is zero unless it is asked for; then it follows from ``sum(a) = 0``.
"""

from typing import Any, NamedTuple

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.base import Covariance
from pymc_bsvm.covariance.interpreted import in_numpy
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers.newton import Factor
from pymc_bsvm.solvers.weighted import interpreted

__all__ = ["Forecast", "forecast", "forecast_inside"]

_STEPS = 5  # with one factor, at most
_AHEAD = 3  # steps before the solver's own, at most
_PRECISE = 1e-13  # relative; what is left of the optimality condition


class Forecast(NamedTuple):
    """A dual and an offset, and the factor of the last of the steps that led to them."""

    a: Array
    b: float
    factor: Factor
    steps: int = 1


@np.errstate(all="ignore")
def forecast(
    K: Any,
    y: Array,
    w: Array,
    m: Array,
    f: Array,
    loss: Loss,
    covariance: Covariance,
    offset: bool = False,
    counted: bool = True,
    polished: bool = False,
) -> Forecast | None:
    """Return the dual after one Newton step from the latent values f; None if there is no step.

    Parameters
    ----------
    K, y, w, m, loss, covariance, offset, counted
        The problem, as the solver has it; unless rows are counted, all weights are one.
    f : ndarray of shape (n,)
        Latent values.
    polished : bool, default False
        Whether steps with the same factor follow while each halves what is left of the optimality
        condition. With an offset there are none.
    """
    words, p, covariance = interpreted(type(loss), counted), loss.parameters, in_numpy(covariance)
    W = words.curve(y, f, w, p)
    free, root = np.flatnonzero(W > 0.0), np.sqrt(W)
    if not np.isfinite(W * (f - m)).all() or (offset and free.size == 0):
        return None
    cholesky, definite = covariance.factorize(K, free, root)
    if not definite:
        return None
    factor = Factor(free, root, cholesky)

    def step(f: Array) -> tuple[Array, float]:
        """Return the dual and the offset after a step from f with the curvature W."""
        a = W * (f - m) - words.slope(y, f, w, p)
        known, scale = a[free] / root[free], root[free]
        a[free] = 0.0
        of_others = np.zeros(a.size)
        covariance.add_product(K, np.flatnonzero(a), a, of_others)
        x = np.stack([known - scale * of_others[free], scale][: 1 + offset])
        covariance.solve(cholesky, x)
        of_free, b = scale * x[0], 0.0
        if offset:
            of_offset = scale * x[1]
            b = float((a.sum() + of_free.sum()) / of_offset.sum())
            of_free -= b * of_offset
        a[free] = of_free
        return a, b

    a, b = step(f)
    if not np.isfinite(a).all():
        return None
    best, before = a, np.inf
    for k in range(_STEPS if polished and not offset else 0):
        f = covariance.latent(K, m, a, 0.0)
        left = float(np.abs(words.slope(y, f, w, p) + a).max())
        if not left < 0.5 * before:
            break
        best, before = a, left
        if left <= _PRECISE * np.abs(a).max() or k == _STEPS - 1:
            break
        a, _ = step(f)
    return Forecast(best, b, factor)


@np.errstate(all="ignore")
def forecast_inside(
    K: Any,
    y: Array,
    w: Array,
    m: Array,
    f: Array,
    loss: Loss,
    covariance: Covariance,
    offset: bool = False,
    counted: bool = True,
) -> Forecast | None:
    """Return what `forecast` does, after further steps from duals that have left their domain.

    They do where a row changes zones. The solver puts them inside, which moves the latent values
    far away if K is nearly singular; there another step is better.
    """
    words, p = interpreted(type(loss), counted), loss.parameters
    latent = in_numpy(covariance).latent

    def primal(a: Array, f: Array) -> float:
        return float(words.loss(y, f, w, p).sum() + 0.5 * (a * (f - m)).sum())

    found = forecast(K, y, w, m, f, loss, covariance, offset, counted)
    while found is not None and found.steps < _AHEAD and not offset:
        inside = words.project(y, found.a, w, p)
        if (inside == found.a).all():
            break
        f = latent(K, m, found.a, 0.0)
        if not primal(found.a, f) < primal(inside, latent(K, m, inside, 0.0)):
            break
        further = forecast(K, y, w, m, f, loss, covariance, offset, counted)
        if further is None:
            break
        found = further._replace(steps=found.steps + 1)
    return found
