"""One Gaussian process that learns from one row at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.online.basis import Basis
from pymc_bsvm.estimators.online.sweeps import propagated
from pymc_bsvm.estimators.online.weights import Weights
from pymc_bsvm.evidence.sites import Sites
from pymc_bsvm.losses import Loss
from pymc_bsvm.streamed.block import Block
from pymc_bsvm.streamed.sites import Matched

__all__ = ["OnlineMachine"]

_NO_SITE = Sites.nothing(1)


@dataclass(frozen=True, eq=False)
class OnlineMachine:
    """The posterior process after some rows.

    A row of which the basis vectors leave out more than a share of its prior variance becomes a
    basis vector. One of which all others leave out less than that goes, and where there are too
    many, the one whose absence changes the mean least.
    The others keep the joint Gaussian of their values, and the process is that of the prior given
    these. Of all processes on these basis vectors it is the one that the process before has the
    least Kullback-Leibler divergence from.
    """

    loss: Loss
    max_basis: float
    """Largest number of basis vectors; it may be infinite."""
    novelty: float
    """Share of its prior variance that a basis vector has beside all others, at least."""
    basis: Basis
    weights: Weights = field(default_factory=lambda: Weights.of_prior(1), repr=False)
    log_evidence: float = 0.0
    """Of all rows, in nats."""
    sequential_log_evidence: float = 0.0
    """Sum over the rows of the log probability of each after those before it."""
    residual: float = math.nan
    """Of the sites; not a number after one pass."""
    n_iter: int = 0
    """Number of passes over the rows of the last call."""

    def learned(self, rows: Block) -> tuple[Self, Sites]:
        """Visit each row once, in order; return the process after that, and the rows' sites."""
        basis, weights, score = self.basis, self.weights, 0.0
        sites = Sites.nothing(rows.size)
        for i in range(rows.size):
            basis, weights, new = self._visit(basis, weights, rows.part(slice(i, i + 1)))
            sites.precision[i], sites.shift[i] = new.precision[0], new.shift[0]
            score += float(new.log_z[0])
        after = replace(
            self,
            basis=basis,
            weights=weights,
            log_evidence=self.log_evidence + score,
            sequential_log_evidence=self.sequential_log_evidence + score,
            residual=math.nan,
            n_iter=1,
        )
        return after, sites

    def swept(self, rows: Block, sites: Sites, tol: float, max_iter: int) -> Self:
        """Return the process with sites that match, for all rows it knows, on the same basis."""
        phi, left = self.basis.features(rows.X)
        sweep, n_iter = propagated(phi, left, rows, self.loss, sites, tol, max_iter)
        return replace(self, **sweep._asdict(), n_iter=self.n_iter + n_iter)

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return the means and variances of the latent values of rows."""
        mean, known, left = self.weights.look(*self.basis.features(X))
        return mean, known + left

    @property
    def dual(self) -> Array:
        """Coefficients of the covariances with the basis vectors in the mean, of shape (m,)."""
        return np.asarray(self.weights.mean[1:] @ self.basis.whitening)

    @property
    def intercept(self) -> float:
        """The constant in the mean."""
        return math.sqrt(self.basis.offset) * float(self.weights.mean[0])

    def _visit(self, basis: Basis, weights: Weights, row: Block) -> tuple[Basis, Weights, Matched]:
        """Learn from one row, which may become a basis vector in the place of another one."""
        phi, left = basis.features(row.X)
        own = float(left[0])
        added = own > self.novelty * (own + float(phi[0, 1:] @ phi[0, 1:]))
        if added:
            basis, weights = basis.with_row(row.X, phi[0], own), weights.with_one_more()
            phi, left = np.append(phi, [[math.sqrt(own)]], axis=1), np.zeros(1)
        weights, new = weights.after(phi, left, row, self.loss, _NO_SITE)
        while added and (i := self._superfluous(basis, weights)) is not None:
            mirror = basis.mirror(i)
            basis, weights = basis.without(i, mirror), weights.without_last(mirror)
        return basis, weights, new

    def _superfluous(self, basis: Basis, weights: Weights) -> int | None:
        """Return the place of a basis vector to remove, if there is one."""
        shares = basis.shares()
        if shares.min() < self.novelty:
            return int(np.argmin(shares))
        if basis.size > self.max_basis:
            return int(np.argmin(basis.scores(weights.mean)))
        return None
