"""The gradient of the Laplace evidence in NumPy, for those who need no graph.

With the smooth or the exact curvature W in the determinant, the exact curvature W_e in the MAP
equation and ``f = m + K a``, the log evidence changes by

    d log p = sum_ij G_ij dK_ij + g'dm + h'dp,   G = aa'/2 - R/2 - (ua' + au')/2,   g = a - u,

where ``R = W½ (I + W½ K W½)⁻¹ W½``, ``u = (I + W_e K)⁻¹ c``, and c is half the derivative of the
determinant with respect to f: ``c_i = V_ii W'(f_i) / 2`` with ``V = (K⁻¹ + W)⁻¹``. That is
(4.41) of [Chu03]_ for steps without ramps, where c is zero, and (5.36) for the trigonometric loss.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm.covariance.conditioned import Conditioned
from pymc_bsvm.covariance.inducing import Inducing
from pymc_bsvm.covariance.interpreted import add_product
from pymc_bsvm.losses import jet_language as jets
from pymc_bsvm.losses.base import Loss, formulas, smooth_curvature
from pymc_bsvm.losses.tilted import normalizer_slopes
from pymc_bsvm.solvers.interpreted import log_det_gradient_among, of_covariance, solve_free

if TYPE_CHECKING:
    from pymc_bsvm.evidence.laplace import LaplaceEvidence

__all__ = ["EvidenceGradient", "LossSlopes", "LowRankSlopes", "evidence_gradient"]


class LowRankSlopes(NamedTuple):
    """Derivatives with respect to ``K = A A' + diag(d)``, of all rows."""

    A: Array
    """``2 G A``, of shape (n, m)."""
    d: Array | float
    """The diagonal of G, of shape (n,); its sum if d is one number. For inducing points the
    derivatives with respect to the variances that they leave out."""


class EvidenceGradient(NamedTuple):
    """Derivatives of the log evidence, in nats per unit."""

    rows: NDArray[np.intp]
    """Rows on which the evidence depends, of shape (s,)."""
    K: Array | LowRankSlopes
    """Symmetric matrix G of shape (s, s): ``d log p = sum_ij G_ij dK[rows_i, rows_j]``; for a
    `LowRank` covariance, the derivatives with respect to its A and d."""
    m: Array
    """Derivatives with respect to the prior mean of these rows, of shape (s,)."""
    parameters: tuple[Parameter, ...]
    """Derivatives with respect to the fields of the loss, in the order of `Loss.domains`: a number
    for a field that all rows share, an array of one for each row, of shape (n,), for a vector."""


def evidence_gradient(evidence: LaplaceEvidence) -> EvidenceGradient:
    """Differentiate the log evidence, the way of the MAP estimate included.

    Parameters
    ----------
    evidence : LaplaceEvidence
        From `laplace_evidence` with numbers.

    Returns
    -------
    EvidenceGradient
        Exact to rounding; the jumps of an exact curvature have no derivative.
    """
    if isinstance(evidence.conditioned, Conditioned):
        return _low_rank_gradient(evidence, evidence.conditioned)
    problem, solution = evidence.problem, evidence.solution
    K, loss, weight = np.asarray(problem.K), problem.loss, problem.sample_weight
    y, f, a = problem.y, solution.f, solution.a
    curved, root = evidence.factor.index, evidence.factor.root_curvature
    counted = a != 0.0
    counted[curved] = True
    rows = np.flatnonzero(counted)
    place = np.searchsorted(rows, curved)
    R, V = log_det_gradient_among(
        K, curved, root * root, np.ascontiguousarray(evidence.factor.cholesky)
    )
    if weight is None:
        weight = np.ones(y.size)
    here = loss.take(rows)
    slopes = LossSlopes.of(here, y[rows], f[rows], evidence.ramp_width)
    weights = weight[rows]
    of_det = 0.5 * V * (weights * slopes.curvature)[:, place]
    c = np.zeros(y.size)
    c[curved] = of_det[0]
    by_row = -weight * normalizer_slopes(loss, y.size)
    by_row[:, rows] -= weights * slopes.value
    by_row[:, curved] -= of_det[1:]
    u = np.zeros(y.size)
    if c.any():
        W = weights * here.curvature(y[rows], f[rows])
        h = np.full(y.size, np.inf)
        h[rows] = np.where(W > 0.0, 1.0 / np.where(W > 0.0, W, 1.0), np.inf)
        known = solution.factor
        u = c - solve_free(K, h, _product(K, c), known.index, known.root_curvature, known.cholesky)
        by_row[:, rows] += _product(K, u)[rows] * weights * slopes.derivative
    a, u = a[rows], u[rows]
    G = of_covariance(a, u, R, place)
    fields = zip(loss.fields.values(), by_row, strict=True)
    parameters = tuple(slope if np.ndim(field) else float(slope.sum()) for field, slope in fields)
    return EvidenceGradient(rows, G, a - u, parameters)


def _product(K: Array, x: Array) -> Array:
    """Return ``K x`` from the rows of K that count."""
    out = np.zeros(x.size)
    add_product(K, np.flatnonzero(x), x, out)
    return out


def _low_rank_gradient(evidence: LaplaceEvidence, curved: Conditioned) -> EvidenceGradient:
    """Differentiate for a covariance of low rank, with no matrix of n by n numbers."""
    problem, a, f = evidence.problem, evidence.solution.a, evidence.solution.f
    y, loss = problem.y, problem.loss
    weights = np.ones(y.size) if problem.sample_weight is None else problem.sample_weight
    slopes = LossSlopes.of(loss, y, f, evidence.ramp_width)
    index = curved.factor.index
    charged = curved.K.charge * curved.K.left_out if isinstance(curved.K, Inducing) else 0.0
    spread = (curved.variance + charged)[index]
    of_det = 0.5 * (weights * slopes.curvature)[:, index] * spread
    c = np.zeros(y.size)
    c[index] = of_det[0]
    by_row = -weights * (normalizer_slopes(loss, y.size) + slopes.value)
    by_row[:, index] -= of_det[1:]
    u, products = np.zeros(y.size), [(0.5, a, a)]
    if c.any():
        K, posterior = curved.K, evidence.posterior.conditioned
        assert isinstance(posterior, Conditioned)
        u = c - posterior.reduce(K.times(c))
        by_row += K.times(u) * weights * slopes.derivative
        products.append((-1.0, u, a))
    fields = zip(loss.fields.values(), by_row, strict=True)
    parameters = tuple(slope if np.ndim(field) else float(slope.sum()) for field, slope in fields)
    of_K = LowRankSlopes(*curved.pull_back(products, share=-0.5))
    if isinstance(curved.K, Inducing):
        of_K = of_K._replace(d=-0.5 * curved.K.charge * curved.curvature)
    return EvidenceGradient(np.arange(y.size), of_K, a - u, parameters)


class LossSlopes(NamedTuple):
    """Derivatives of a loss's formulas with respect to f and the fields, row by row."""

    value: Array
    """Of the loss, for each field, of shape (k, n)."""
    derivative: Array
    """Of its derivative, for each field."""
    curvature: Array
    """Of the determinant's curvature, first for f, then for each field."""

    @classmethod
    def of(cls, loss: Loss, y: Array, f: Array, ramp_width: float) -> LossSlopes:
        """Differentiate the formulas; the determinant's curvature has ramps of that half width."""
        latent, *symbols = jets.variables([f, *loss.fields.values()])
        parameters = loss.complete(*symbols)
        stated = formulas(type(loss), jets)
        with np.errstate(all="ignore"):
            if ramp_width > 0.0:
                W = smooth_curvature(type(loss), jets)(y, latent, ramp_width, *parameters)
            else:
                W = stated.curvature(y, latent, *parameters)
            value, derivative = (g(y, f, *parameters) for g in (stated.value, stated.derivative))
        count = 1 + len(symbols)
        value, derivative, W = (_rows(x, count, y.size) for x in (value, derivative, W))
        return cls(value[1:], derivative[1:], W)


def _rows(x: Any, count: int, n: int) -> Array:
    """Return the derivatives of x with respect to so many variables for each of n rows."""
    rows = np.zeros((count, n))
    for row, slope in zip(rows, jets.slopes(x, count), strict=True):
        row += slope
    return rows
