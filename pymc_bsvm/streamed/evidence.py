r"""Laplace's evidence on inducing points, summed over blocks of rows.

With the features phi of `pymc_bsvm.streamed.features`, the mode of their weights w and the smooth
curvature W of the losses there,

.. math::

    \log p(y) \approx -\sum_i \ell(y_i, f_i) - \tfrac12 w'w - \tfrac12 \log|B|
    - \tfrac\tau2 \sum_i W_i d_i - \sum_i \log Z_i, \qquad B = I + \sum_i W_i \phi_i \phi_i'.

With ``tau = 0`` it is Laplace's evidence of a process whose covariance is ``phi'phi``; with
inducing points at all rows that is the covariance of the full process. The variances d that the
features leave out are a loss at ``tau = 1``, which keeps inducing points from being too few: for
Gaussian noise this is the lower bound (9) of [Tit09]_.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cholesky

from pymc_bsvm._typing import Array
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers.weighted import interpreted
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.gradient import InducingGradient, curvature, inducing_gradient
from pymc_bsvm.streamed.mode import Ending, Mode, ModeError
from pymc_bsvm.streamed.newton import TOLERANCE, find_mode
from pymc_bsvm.streamed.passes import Partial, Passes
from pymc_bsvm.streamed.posterior import InducingPosterior
from pymc_bsvm.streamed.rows import Block

__all__ = ["InducingEvidence", "evidence_at", "inducing_evidence"]


@dataclass(frozen=True, eq=False)
class InducingEvidence:
    """The evidence in its terms, all in nats."""

    passes: Passes = field(repr=False)
    features: Features
    loss: Loss
    mode: Mode
    tau: float
    """Share of the variances left out by the features that is a loss."""
    ramp_width: float
    """Half width of the ramps of the curvature; zero for steps."""
    gram: Array = field(repr=False)
    """``sum_i W_i phi_i phi_i'``, of shape (r, r)."""
    cholesky: Array = field(repr=False)
    """Lower factor of ``B``."""
    left_out: float
    """``sum_i W_i d_i``."""
    weight: float
    """Number of rows, each as often as it counts."""

    @property
    def terms(self) -> Mapping[str, float]:
        """The signed terms by name; their sum is the log evidence."""
        return {
            "fit": -self.mode.loss,
            "penalty": -self.mode.penalty,
            "log_det": -float(np.log(self.cholesky.diagonal()).sum()),
            "left_out": -0.5 * self.tau * self.left_out,
            "log_normalizer": -self.weight * float(self.loss.log_normalizer()),
        }

    @cached_property
    def log_evidence(self) -> float:
        """The sum of the terms."""
        return float(sum(self.terms.values()))

    @cached_property
    def gradient(self) -> InducingGradient:
        """Derivatives with respect to the kernel's hyperparameters and the loss's parameters."""
        return inducing_gradient(self)

    @property
    def posterior(self) -> InducingPosterior:
        """The posterior at the mode, with the curvature of the loss without ramps."""
        return InducingPosterior(self.features, self.mode.w, self.mode.cholesky)

    @property
    def start(self) -> Array:
        """What the evidence of neighbouring hyperparameters may start from: latent values."""
        return self.mode.f

    @property
    def gap(self) -> float:
        """The duality gap of the mode, in nats."""
        return self.mode.gap

    @property
    def residual(self) -> float:
        """What is left of the equations: the duality gap."""
        return self.mode.gap

    def duals(self) -> tuple[Array, Array]:
        """Return the duals of rows, and the curvatures of their losses, of shape (n,)."""
        dual, W = self.passes.run(_duals, self.loss, of_rows=(self.mode.f,)).of_rows
        return dual, W


def inducing_evidence(
    passes: Passes,
    features: Features,
    loss: Loss,
    *,
    tau: float = 1.0,
    start: Array | None = None,
    around: Array | None = None,
    ramp_width: float | None = None,
    tol: float = TOLERANCE,
) -> InducingEvidence:
    """Approximate the log evidence of rows, given inducing points.

    Parameters
    ----------
    passes : Passes
        Over the rows.
    features : Features
        The prior.
    loss : Loss
        A differentiable, normalised loss with parameters that all rows share.
    tau : float
        Share of the variances left out by the features that is a loss.
    start, around
        Weights or latent values to start from, as for `find_mode`.
    ramp_width : float, optional
        Half width of the ramps of the curvature in the determinant; zero for steps. By default
        the loss's own.
    tol : float
        Largest duality gap of the mode, in nats.

    Raises
    ------
    ModeError
        If the mode is not found to the tolerance.
    ValueError
        For losses without an evidence.
    """
    loss.log_normalizer()  # what has none raises
    mode = find_mode(passes, features, loss, start, around=around, tol=tol)
    return evidence_at(passes, features, loss, mode, tau=tau, ramp_width=ramp_width)


def evidence_at(
    passes: Passes,
    features: Features,
    loss: Loss,
    mode: Mode,
    *,
    tau: float = 1.0,
    ramp_width: float | None = None,
) -> InducingEvidence:
    """Return what `inducing_evidence` does, at a mode that is known."""
    passes.stage = "Curvature"
    width = loss.ramp_width if ramp_width is None else ramp_width
    gram, variances, weight = passes.run(_bend, features, loss, width, of_rows=(mode.f,)).sums
    m = features.Z.shape[0]
    left_out = float(variances - gram.diagonal()[:m].sum())
    try:
        factor = cholesky(gram + np.eye(features.size), lower=True)
    except (LinAlgError, ValueError):
        raise ModeError(Ending.INDEFINITE.value, mode) from None
    return InducingEvidence(
        passes, features, loss, mode, tau, width, gram, factor, left_out, float(weight)
    )


def _duals(block: Block, of_rows: tuple[Array, ...], loss: Loss) -> Partial:
    """Return the duals of rows, and the curvature of their losses."""
    (f,) = of_rows
    functions, parameters = interpreted(type(loss)), loss.parameters
    a = -functions.slope(block.y, f, block.weight, parameters)
    return Partial((), (a, functions.curve(block.y, f, block.weight, parameters)))


def _bend(
    block: Block, of_rows: tuple[Array, ...], features: Features, loss: Loss, width: float
) -> Partial:
    """Sum the curvature of a block over features and prior variances."""
    (f,) = of_rows
    with np.errstate(all="ignore"):
        W = curvature(loss, block, f, width)
    curved = W > 0.0
    W, X = W[curved], block.X[curved]
    gram = features.gram(features.cross(X), W)
    return Partial((gram, W @ features.diagonal(X), block.weight.sum()))
