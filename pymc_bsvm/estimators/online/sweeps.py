"""Further visits to rows, until no site changes: expectation propagation on the basis vectors."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cho_solve, cholesky

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.online.weights import Weights, cavity_of
from pymc_bsvm.evidence.sites import Sites
from pymc_bsvm.losses import Loss
from pymc_bsvm.streamed.block import Block
from pymc_bsvm.streamed.sites import account_of, matched

__all__ = ["Sweep", "propagated"]


class Sweep(NamedTuple):
    """The weights that the sites of all rows make, and how far they are from a fixed point."""

    weights: Weights
    log_evidence: float
    """That of expectation propagation, by the formula of `pymc_bsvm.streamed.ep`."""
    residual: float
    """As `EPEvidence.residual`."""

    @classmethod
    def of(cls, phi: Array, left: Array, rows: Block, loss: Loss, sites: Sites) -> Self:
        """Look at all rows, with features phi that leave out some of their variances."""
        factor = cholesky(np.eye(phi.shape[1]) + (phi.T * sites.precision) @ phi, lower=True)
        mean = cho_solve((factor, True), phi.T @ sites.shift)
        weights = Weights(mean, cho_solve((factor, True), np.eye(mean.size)))
        look = weights.look(phi, left)
        cavity = cavity_of(look, sites)
        new = matched(loss, rows, cavity)
        residuals, fit, overlap = account_of(look, sites.precision, cavity, new, rows.weight)
        penalty = 0.5 * float(mean @ mean) + float(np.log(factor.diagonal()).sum())
        return cls(weights, fit + overlap - penalty, float(np.abs(residuals).max()))


def propagated(
    phi: Array, left: Array, rows: Block, loss: Loss, sites: Sites, tol: float, max_iter: int
) -> tuple[Sweep, int]:
    """Visit the rows in their order until the residual is at most the tolerance.

    Returns
    -------
    sweep : Sweep
        Where that ended.
    n_iter : int
        Number of sweeps, at most `max_iter`.
    """
    precision, shift = sites.precision.copy(), sites.shift.copy()
    sweep, n_iter = Sweep.of(phi, left, rows, loss, sites), 0
    while sweep.residual > tol and n_iter < max_iter:
        weights = sweep.weights
        for i in range(rows.size):
            at = slice(i, i + 1)
            site = Sites(precision[at], shift[at])
            weights, new = weights.after(phi[at], left[at], rows.part(at), loss, site)
            precision[at], shift[at] = new.precision, new.shift
        n_iter += 1
        sweep = Sweep.of(phi, left, rows, loss, Sites(precision, shift))
    return sweep, n_iter
