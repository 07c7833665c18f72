r"""The evidence of expectation propagation on inducing points, summed over blocks of rows.

With the sites and cavities of `pymc_bsvm.streamed.propagation`, the averaged likelihoods ``Z_i``
and the posterior ``w ~ N(mu, B⁻¹)``,

.. math::

    \log Z = \sum_i w_i \Bigl[\log Z_i + \frac{v_i a_i^2}{2}
    + \tfrac12 \log(1 + \tau_i v_i)\Bigr] - \tfrac12 |\mu|^2 - \tfrac12 \log|B|,
    \qquad a_i = b_i - \tau_i f_i.

That is the evidence of expectation propagation for the covariance ``phi_i'phi_j + d_i delta_ij``,
which has the variances of the full process: (24) of [QR05]_. It is stationary in the sites, so
that its derivatives are the explicit ones. With ``s_i = w_i (nu_i - alpha_i²)``, minus twice the
derivative in the variance of a cavity, those with respect to the covariances are

    kbar_i = L⁻ᵀ (w_i a_i mu + (s_i I - w_i tau_i B⁻¹) phi_i), its part of Z,

for ``k(Z, x_i)``, and ``-s_i / 2`` for ``k(x_i, x_i)``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.propagation import PropagationStatus
from pymc_bsvm.losses import Loss
from pymc_bsvm.streamed.block import Block
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.gradient import InducingGradient, of_points
from pymc_bsvm.streamed.newton import check_shared
from pymc_bsvm.streamed.passes import Partial, Passes
from pymc_bsvm.streamed.posterior import InducingPosterior
from pymc_bsvm.streamed.propagation import Sweep, first_sites, propagate, summed
from pymc_bsvm.streamed.sites import Cavity, Sites, in_parts, matched

__all__ = ["PropagatedEvidence", "PropagationError", "propagated_evidence"]


@dataclass(frozen=True, eq=False)
class PropagatedEvidence:
    """The evidence in its terms, all in nats."""

    passes: Passes = field(repr=False)
    features: Features
    loss: Loss
    sweep: Sweep = field(repr=False)
    """The last pass over all rows."""
    n_iter: int
    """Number of sweeps."""
    status: PropagationStatus

    @property
    def terms(self) -> Mapping[str, float]:
        """The signed terms by name; their sum is the log evidence."""
        w, factor = self.posterior.w, self.posterior.cholesky
        return {
            "fit": self.sweep.fit,
            "penalty": -0.5 * float(w @ w),
            "overlap": self.sweep.overlap,
            "log_det": -float(np.log(factor.diagonal()).sum()),
        }

    @cached_property
    def log_evidence(self) -> float:
        """The sum of the terms."""
        return float(sum(self.terms.values()))

    @property
    def residual(self) -> float:
        """The largest difference of moments over all rows, in units of the marginals."""
        return self.sweep.error

    @property
    def posterior(self) -> InducingPosterior:
        """The posterior that the sites make."""
        return self.sweep.posterior

    @property
    def log_predictive(self) -> Array:
        """Log density of each observation given all others, of shape (n,), in nats."""
        return self.sweep.log_predictive

    @property
    def start(self) -> Sites:
        """What the evidence of neighbouring hyperparameters may start from."""
        return self.sweep.sites

    @property
    def gap(self) -> float:
        """Not a number: there is no MAP estimate."""
        return math.nan

    def duals(self) -> tuple[Array, Array]:
        """Return the expected duals of rows, and the precisions of their sites, of shape (n,)."""
        sites = self.sweep.sites
        of_rows = sites.precision, sites.shift
        dual, precision = self.passes.run(_duals, self.posterior, of_rows=of_rows).of_rows
        return dual, precision

    @cached_property
    def gradient(self) -> InducingGradient:
        """Derivatives with respect to the kernel's hyperparameters and the loss's parameters."""
        sites = self.sweep.sites
        of_rows = sites.precision, sites.shift
        sums = self.passes.run(_slopes, self.posterior, self.loss, of_rows=of_rows).sums
        of_rows_of_kernel, S, parameters = sums
        kernel = of_rows_of_kernel + of_points(self.features, S)
        return InducingGradient(kernel, tuple(parameters.tolist()))


class PropagationError(RuntimeError):
    """Expectation propagation that did not reach its tolerance; `evidence` is what it found."""

    def __init__(self, message: str, evidence: PropagatedEvidence | None = None) -> None:
        super().__init__(message)
        self.evidence = evidence

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle both arguments; by default an exception is called with its message alone."""
        return type(self), (*self.args, self.evidence), self.__dict__


def propagated_evidence(
    passes: Passes,
    features: Features,
    loss: Loss,
    *,
    start: Sites | None = None,
    begin: InducingPosterior | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> PropagatedEvidence:
    """Approximate the log evidence of rows, given inducing points.

    Parameters
    ----------
    passes : Passes
        Over the rows.
    features : Features
        The prior.
    loss : Loss
        A normalised loss with parameters that all rows share.
    start : Sites, optional
        `PropagatedEvidence.start` of neighbouring hyperparameters. Where it fails, the sweeps begin
        once more from nothing.
    begin : InducingPosterior, optional
        A posterior that is near, such as that of fewer rows.
    tol : float
        Largest residual that is accepted.
    max_iter : int
        Largest number of sweeps from a start.

    Raises
    ------
    PropagationError
        If the residual stays above the tolerance.
    ModeError
        If there is no mode to start from.
    ValueError
        For losses without an evidence, or with parameters by row.
    """
    check_shared(loss)
    loss.log_normalizer()  # what has none raises
    settings: Any = {"tol": tol, "max_iter": max_iter}
    before = 0
    if start is not None:
        sites = summed(passes, features, start.precision, start.shift)
        found = propagate(passes, features, loss, sites, **settings)
    if start is None or found.status is not PropagationStatus.CONVERGED:
        before = 0 if start is None else found.n_iter
        sites = first_sites(passes, features, loss, begin)
        found = propagate(passes, features, loss, sites, **settings)
    sweep, n_iter, status = found
    if sweep is None:
        raise PropagationError(status.value)
    evidence = PropagatedEvidence(passes, features, loss, sweep, before + n_iter, status)
    if status is not PropagationStatus.CONVERGED:
        raise PropagationError(f"The residual is {evidence.residual:.3g}. {status.value}", evidence)
    return evidence


def _duals(block: Block, of_rows: tuple[Array, ...], posterior: InducingPosterior) -> Partial:
    """Return the duals and the precisions of all copies of rows."""
    precision, shift = of_rows
    dual = shift - precision * posterior.mean(block.X)
    return Partial((), (block.weight * dual, block.weight * precision))


def _slopes(
    block: Block, of_rows: tuple[Array, ...], posterior: InducingPosterior, loss: Loss
) -> Partial:
    """Contract the derivatives of a block's rows."""
    X, y, weight = block
    precision, shift = of_rows
    features = posterior.features
    look = posterior.look(X)
    cavity = Cavity.of(look, precision, shift)
    new = matched(loss, block, cavity)
    m = look.phi.shape[1]
    s = weight * (new.nu - new.alpha**2)
    bar = solve_triangular(posterior.cholesky, look.half, lower=True, trans="T")[:m].T
    bar *= -(weight * precision)[:, None]
    bar += np.multiply.outer(weight * cavity.dual, posterior.w[:m])
    bar += s[:, None] * look.phi
    S = bar.T @ look.phi
    of_cross = solve_triangular(features.cholesky, bar.T, lower=True, trans="T").T
    kernel, values = features.kernel, features.values
    of_kernel = kernel.cross_slopes(values, X, features.Z, of_cross)
    of_kernel = of_kernel + kernel.diagonal_slopes(values, X, -0.5 * s)
    by_row: list[Array] = []
    if loss.fields:
        with np.errstate(all="ignore"):
            by_row = in_parts(loss.tilted_slopes, y, cavity.mean, cavity.variance)
    sums = np.array([weight @ np.where(weight > 0.0, each, 0.0) for each in by_row])
    return Partial((of_kernel, S, sums))
