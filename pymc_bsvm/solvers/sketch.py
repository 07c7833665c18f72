"""Latent values to start from: those of the same problem with a covariance of low rank.

A smooth covariance is known at all rows, but for little, once it is known at some of them. With the
features of these rows a Newton step costs ``n m²`` instead of the cube of the number of free rows,
so that all steps but one, or two, are taken there. What that solution is worth is for the dense
solver to say, which starts from it and certifies its own. A jitter beside the features is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.pivoted import pivoted_by_rows
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers.features import solve_features
from pymc_bsvm.solvers.weighted import interpreted

__all__ = ["highest_rank", "sketch"]

_FEWEST = 400  # free rows; the steps of fewer are no work
_SHARE = 64.0  # what a dense step costs, at least, in units of n m²
_FREE = 0.25  # of the rows, which a loss may leave free that bends at few of them at first
_HIDDEN = 1e-5  # nats of the determinant, by all that is left out
_NEAR = 1e4  # times as much, as variances of the rows alone, such as a jitter
_ROUNDING = 1e-13  # of the largest variance: what is left of it is rounding
_PRECISE = 1e-9  # relative gap that is enough for a start
_STEPS = 50  # after which the start is given up


def highest_rank(n: int, free: int) -> int:
    """Return the rank up to which a covariance of low rank helps, zero where none does.

    The work with ``n m²`` numbers is then a small part of that with the cube of the free rows, even
    if it is in vain.
    """
    return int(np.sqrt(float(free) ** 3 / (_SHARE * n))) if free >= _FEWEST else 0


@np.errstate(all="ignore")
def sketch(
    K: Array,
    y: Array,
    w: Array,
    m: Array,
    loss: Loss,
    offset: bool,
    tol: float,
    max_iter: int,
    callback: Callable[..., Any] | None,
) -> Array | None:
    """Return latent values near those of the solution; None where they cost too much.

    The free rows of all steps are not known. Those where the loss bends at the prior mean, or at
    the targets, stand for them. Where it bends alike at both, one dense step is all there is to do.
    """
    n, curve, p = y.size, interpreted(type(loss)).curve, loss.parameters
    before, after = curve(y, m, w, p), curve(y, y, w, p)
    bent = (int(np.count_nonzero(W > 0.0)) for W in (before, after))
    free = max(int(_FREE * n), *bent)
    rank, steepest = highest_rank(n, free), float(max(before.max(), after.max()))
    if rank == 0 or max_iter == 0 or np.array_equal(before, after):
        return None
    variances = K.diagonal()
    enough = max(2.0 * _HIDDEN / (n * steepest), _ROUNDING * float(variances.max()))
    found = pivoted_by_rows(K.__getitem__, variances, rank, enough, falling=True)
    if not found.left.max() <= _NEAR * enough:
        return None
    tol, steps = max(tol, _PRECISE), min(max_iter, _STEPS)
    return solve_features(found.factor, y, w, m, loss, offset, tol, steps, callback)
