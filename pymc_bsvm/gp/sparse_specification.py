"""What a model on inducing points is made of, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytensor.tensor as pt
from pytensor.tensor.linalg import cholesky, solve_triangular

from pymc_bsvm import losses, symbolic
from pymc_bsvm._typing import Array
from pymc_bsvm.covariance.inducing import Inducing
from pymc_bsvm.evidence.laplace import Laplace
from pymc_bsvm.gp.marginal import Specification, signed
from pymc_bsvm.gp.prior import NOT_POINTWISE, PairCheck, probe
from pymc_bsvm.gp.sparse_prior import SparsePrior
from pymc_bsvm.graph.inducing import inducing_terms, inducing_values
from pymc_bsvm.losses import Loss

__all__ = ["SparseSpecification"]

_ROUNDING = 1e-5  # relative to the largest feature; far inputs lose digits in their distance


@dataclass(frozen=True)
class SparseSpecification(Specification):
    """A model whose latent values are known from whitened values at the inducing points."""

    prior: SparsePrior
    approximation: Laplace
    charge: float = field(kw_only=True)
    """Share of the variances left out that the evidence is charged for: 1 for VFE, 0 for DTC."""

    of_rows = False

    def moments(self, X: Any, parameters: Any) -> tuple[Any, ...]:
        """Return mean and features of the rows of X, and the variances left out."""
        return self.prior.training(X, parameters)

    def checked_moments(self, X: Any, parameters: Any) -> tuple[Any, ...]:
        """Return the moments, which raise if those of two rows depend on other rows."""
        mean, A, left_out = self.moments(X, parameters)
        same = []
        for i, j in probe(X.shape[0]):
            m, alone, _ = self.moments(pt.stack([X[i], X[j]]), parameters)
            of_A = abs(alone - pt.stack([A[i], A[j]])).max() > _ROUNDING * abs(A).max()
            of_mean = abs(m - pt.stack([mean[i], mean[j]])).max() > _ROUNDING * abs(mean).max()
            same.append(~(of_A | of_mean))
        return mean, _CHECK(A, *same), left_out

    def covariance(self, *moments: Array) -> Inducing:
        """Return the covariance of the training rows from the moments beside their mean."""
        A, left_out = moments
        return Inducing(A, left_out, self.charge)

    def log_evidence(self, y: Any, X: Any, variables: Any) -> Any:
        """Return the log evidence of targets y (labels are 0 and 1)."""
        loss, parameters = self.split(X, variables)
        mean, A, left_out = self.checked_moments(X, parameters)
        width = self.approximation.width(loss)
        terms = inducing_terms(
            A, left_out, signed(y, loss), loss, m=mean, ramp_width=width, charge=self.charge
        )
        return terms.log_evidence

    def draw(self, X: Any, parameters: Any, rng: Any, batch: Any) -> Any:
        """Return the next generator, and latent values of the rows of X from the prior.

        Those of VFE have the prior's variances; what the inducing points leave out is independent.
        """
        mean, A, left_out = self.moments(X, parameters)
        n, m = A.shape
        batch = () if batch is None else tuple(batch)
        rng, w = pt.random.normal(size=(*batch, m), rng=rng, return_next_rng=True)
        f = mean + w @ A.T
        if not self.charge:
            return rng, f
        rng, rest = pt.random.normal(size=(*batch, n), rng=rng, return_next_rng=True)
        return rng, f + pt.sqrt(pt.maximum(left_out, 0.0)) * rest

    def conditional(self, y: Any, X: Any, X_new: Any, loss: Loss) -> tuple[Any, Any]:
        """Return mean and covariance of the latent values at new rows, given targets y."""
        parameters = self.prior.parameters
        mean, A, _ = self.moments(X, parameters)
        w, precision = inducing_values(A, signed(y, loss), loss, m=mean)
        new_mean, cross, new_K, _ = self.prior.new(X, X_new, parameters)
        half = solve_triangular(cholesky(precision), cross, lower=True)
        return new_mean + cross.T @ w, new_K - cross.T @ cross + half.T @ half

    def whitened(self, X: Any, parameters: Any, jitter: float) -> tuple[Any, Any]:
        """Return mean and features of the rows of X; the jitter is that of the prior."""
        mean, A, _ = self.moments(X, parameters)
        return mean, A

    def whitened_cross(self, factor: Any, cross: Any) -> Any:
        """Return the prior covariance of w with new latent values."""
        return cross

    def potential(self, y: Any, f: Any, X: Any, parameters: Any, loss: Loss) -> Any:
        """Return ``-sum_i W_i d_i / 2``, which the evidence of VFE is charged; else None."""
        if not self.charge:
            return None
        _, _, left_out = self.moments(X, parameters)
        width, p = self.approximation.width(loss), loss.parameters
        if width > 0.0:
            W = losses.smooth_curvature(type(loss), symbolic)(signed(y, loss), f, width, *p)
        else:
            W = losses.formulas(type(loss), symbolic).curvature(signed(y, loss), f, *p)
        return -0.5 * self.charge * (W * left_out).sum()


_CHECK = PairCheck(ValueError, NOT_POINTWISE)
