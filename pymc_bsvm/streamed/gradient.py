"""The gradient of the evidence on inducing points: two more passes over the rows.

With the features phi, of which phi_Z are those of the kernel, the exact curvature W_e in
``B_e = I + sum_i W_e,i phi_i phi_i'`` and the smooth one in B, the log evidence F changes with the
features by ``sum_i kbar_i'dk(Z, x_i)`` and with L as below,

    c_i    = -W'(f_i) (phi_i'B⁻¹phi_i + tau d_i) / 2
    u      = B_e⁻¹ sum_i c_i phi_i
    rho_i  = a_i + c_i - W_e,i phi_i'u
    kbar_i = L⁻ᵀ (rho_i w + a_i u + W_i (tau I - B⁻¹) phi_i), its part of Z

and with a parameter p of the loss by

    -sum_i (dl_i/dp + dW_i/dp (phi_i'B⁻¹phi_i + tau d_i) / 2 + phi_i'u dl'_i/dp + dlog Z_i/dp).

The sum S of ``L'kbar_i phi_Z,i'`` needs no product of rows: it follows from sums that are there.
Through L it adds ``L⁻ᵀ tril*(L'tril(-L⁻ᵀ S)) L⁻¹``, made symmetric, to the derivative with respect
to ``k(Z, Z)``; tril* is the lower triangle with half of its diagonal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.linalg.blas import dtrsm

from pymc_bsvm._typing import Array
from pymc_bsvm.evidence.gradient import LossSlopes
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.base import smooth_curvature
from pymc_bsvm.losses.tilted import normalizer_slopes
from pymc_bsvm.solvers.weighted import interpreted
from pymc_bsvm.streamed.features import Features, gathered, latent
from pymc_bsvm.streamed.passes import Partial
from pymc_bsvm.streamed.rows import Block

if TYPE_CHECKING:
    from pymc_bsvm.streamed.evidence import InducingEvidence

__all__ = ["InducingGradient", "curvature", "inducing_gradient", "of_points"]


class InducingGradient(NamedTuple):
    """Derivatives of the log evidence; the inducing points are fixed."""

    kernel: Array
    """With respect to the logarithms of the kernel's values, of shape (p,)."""
    parameters: tuple[float, ...]
    """With respect to the fields of the loss, in the order of `Loss.domains`."""


class _Pull(NamedTuple):
    """What turns a block's covariances with the inducing points into their derivatives."""

    of_u: Array
    """Coefficients of u."""
    w: Array
    """``L⁻ᵀ w``, its part of Z."""
    u: Array
    """``L⁻ᵀ u``, its part of Z."""
    matrix: Array
    """``L⁻ᵀ (tau I - B⁻¹) L⁻¹``, its block of Z."""
    offset: Array
    """``-L⁻ᵀ B⁻¹ sqrt(offset)``, its block of Z and the offset."""
    tau: float


def inducing_gradient(evidence: InducingEvidence) -> InducingGradient:
    """Differentiate the log evidence, the way of the mode included.

    Parameters
    ----------
    evidence : InducingEvidence
        From `inducing_evidence`.
    """
    passes, features, loss, mode = (
        evidence.passes,
        evidence.features,
        evidence.loss,
        evidence.mode,
    )
    tau, width, m = evidence.tau, evidence.ramp_width, features.Z.shape[0]
    sums, (c,) = passes.run(
        _of_curvature, features, loss, evidence.cholesky, tau, width, of_rows=(mode.f,)
    )
    half, by_parameter = sums
    u = cho_solve((mode.cholesky, True), evidence.cholesky @ half)
    inner = -cho_solve((evidence.cholesky, True), np.eye(features.size))
    inner[:m, :m] += tau * np.eye(m)
    pull = _Pull(
        of_u=features.coefficients(u),
        w=features.coefficients(mode.w)[:m],
        u=features.coefficients(u)[:m],
        matrix=_unwhitened(features, inner[:m, :m]),
        offset=_backward(features, np.sqrt(features.offset) * inner[:m, m:].sum(axis=1)),
        tau=tau,
    )
    of_rows = (mode.f, c)
    sums, _ = passes.run(_of_features, features, loss, width, pull, of_rows=of_rows)
    of_cross, rho, through_u = sums
    S = np.outer(mode.w[:m], features.whitened(rho)[:m]) + np.outer(u[:m], mode.w[:m])
    S += inner[:m] @ evidence.gram[:, :m]
    kernel = of_cross + of_points(features, S)
    parameters = by_parameter + through_u
    parameters -= evidence.weight * normalizer_slopes(loss, 1)[:, 0]
    return InducingGradient(kernel, tuple(parameters.tolist()))


def curvature(loss: Loss, block: Block, f: Array, width: float) -> Array:
    """Return the curvature in the determinant, of the rows as often as they count."""
    _, y, weight = block
    with np.errstate(all="ignore"):
        if width == 0.0:
            W: Array = interpreted(type(loss)).curve(y, f, weight, loss.parameters)
            return W
        smooth = smooth_curvature(type(loss))(y, f, width, *loss.parameters)
        return np.where(weight > 0.0, weight * smooth, 0.0)


def _of_curvature(
    block: Block,
    of_rows: tuple[Array, ...],
    features: Features,
    loss: Loss,
    cholesky: Array,
    tau: float,
    width: float,
) -> Partial:
    """Sum ``c_i L_B⁻¹ phi_i`` with the factor of B, and the explicit slopes of the loss."""
    (f,) = of_rows
    counted = block.weight > 0.0
    slopes = LossSlopes.of(loss, block.y, f, width)
    weight = np.where(counted, block.weight, 0.0)
    value, curved = (np.where(counted, weight * x, 0.0) for x in (slopes.value, slopes.curvature))
    bent = curved.any(axis=0)
    X, curved = block.X[bent], curved[:, bent]
    m = features.Z.shape[0]
    half = features.whiten(features.cross(X))
    spread = tau * (features.diagonal(X) - np.einsum("ij,ij->i", half, half))
    half = dtrsm(1.0, cholesky[:m, :m], half.T, lower=1, overwrite_b=1).T
    spread += np.einsum("ij,ij->i", half, half)
    last = np.zeros((X.shape[0], features.size - m))
    if features.offset > 0.0:
        last[:, 0] = (np.sqrt(features.offset) - half @ cholesky[m, :m]) / cholesky[m, m]
        spread += last[:, 0] ** 2
    of_det = 0.5 * curved * spread
    total = -np.append(half.T @ of_det[0], last.T @ of_det[0])
    c = np.zeros(f.shape)
    c[bent] = -of_det[0]
    return Partial((total, -value.sum(axis=1) - of_det[1:].sum(axis=1)), (c,))


def _of_features(
    block: Block,
    of_rows: tuple[Array, ...],
    features: Features,
    loss: Loss,
    width: float,
    pull: _Pull,
) -> Partial:
    """Contract the derivatives with respect to a block's covariances; sum ``rho_i phi_i``."""
    f, c = of_rows
    functions, p = interpreted(type(loss)), loss.parameters
    with np.errstate(all="ignore"):
        a = -functions.slope(block.y, f, block.weight, p)
        exact = functions.curve(block.y, f, block.weight, p)
    W = curvature(loss, block, f, width)
    support = (a != 0.0) | (c != 0.0) | (W > 0.0) | (exact > 0.0)
    X, y, weight = (x[support] for x in block)
    f, c, a, exact, W = (x[support] for x in (f, c, a, exact, W))
    K = features.cross(X)
    along = latent(K, pull.of_u)
    rho = a + c - exact * along
    bar = np.multiply.outer(rho, pull.w)
    bar += np.multiply.outer(a, pull.u)
    curved = W > 0.0
    bar[curved] += W[curved, None] * (K[curved] @ pull.matrix + pull.offset)
    kernel, values = features.kernel, features.values
    of_cross = kernel.cross_slopes(values, X, features.Z, bar)
    of_cross = of_cross + kernel.diagonal_slopes(values, X, -0.5 * pull.tau * W)
    slopes = LossSlopes.of(loss, y, f, width).derivative
    return Partial((of_cross, gathered(K, rho), -slopes @ (weight * along)))


def of_points(features: Features, S: Array) -> Array:
    """Return the slopes through the covariance of the inducing points.

    S is the sum of ``L'kbar_i phi_Z,i'``, of shape (m, m).
    """
    L, m = features.cholesky, features.Z.shape[0]
    of_factor = -np.tril(_backward(features, S))
    lower = np.tril(L.T @ of_factor)
    lower[np.diag_indices(m)] *= 0.5
    of_K = _unwhitened(features, 0.5 * (lower + lower.T))
    jitter = np.full(m, features.jitter * np.trace(of_K) / m)
    slopes = features.kernel.slopes(features.values, features.Z, of_K)
    return slopes + features.kernel.diagonal_slopes(features.values, features.Z, jitter)


def _backward(features: Features, x: Array) -> Array:
    """Return ``L⁻ᵀ x``."""
    solved: Array = solve_triangular(features.cholesky, x, lower=True, trans="T")
    return solved


def _unwhitened(features: Features, A: Array) -> Array:
    """Return ``L⁻ᵀ A L⁻¹`` of a symmetric matrix."""
    full = _backward(features, _backward(features, A).T)
    return 0.5 * (full + full.T)
