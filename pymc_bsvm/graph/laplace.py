"""The Laplace evidence as an expression of a PyTensor graph, with an exact gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytensor.tensor as pt
from pytensor.gradient import disconnected_grad

from pymc_bsvm import losses, symbolic
from pymc_bsvm.evidence.laplace import ACCEPTED_GAP, TARGET_GAP
from pymc_bsvm.losses import Loss
from pymc_bsvm.ops import DualSolve, ImplicitDual, LogDet, SupportRows

__all__ = [
    "EvidenceTerms",
    "MapEstimate",
    "by_row",
    "evidence_terms",
    "map_dual",
    "map_estimate",
]


class EvidenceTerms(NamedTuple):
    """The symbolic terms of an evidence, in nats; see `pymc_bsvm.evidence.laplace`."""

    log_evidence: Any
    fit: Any
    penalty: Any
    log_det: Any
    log_normalizer: Any
    estimate: MapEstimate


class MapEstimate(NamedTuple):
    """The symbolic MAP estimate; NaN if the solver failed."""

    a: Any
    """Dual, of shape (n,)."""
    f: Any
    """Latent values, of shape (n,)."""
    status: Any
    """Zero if converged; see `pymc_bsvm.ops.DualSolve`."""
    factor: list[Any]
    """Rows, root curvature and Cholesky factor of the solver's last step."""


def map_estimate(K: Any, y: Any, m: Any, loss: Loss) -> MapEstimate:
    """Solve for the MAP estimate as a constant of the graph."""
    solve = DualSolve(type(loss), tol=TARGET_GAP, accept=ACCEPTED_GAP)
    parameters = by_row(loss.parameters, y)
    arguments = map(disconnected_grad, (K, y, m, parameters))
    a, status, f, *factor = solve(*arguments)
    return MapEstimate(a, f, status, factor)


def map_dual(K: Any, y: Any, m: Any, loss: Loss) -> Any:
    """Return the dual of the MAP estimate as a differentiable function of all rows."""
    a, _, _, factor = map_estimate(K, y, m, loss)
    return ImplicitDual(type(loss))(K, y, m, by_row(loss.parameters, y), a, *factor)


def evidence_terms(
    K: Any,
    y: Any,
    loss: Loss,
    *,
    m: Any = None,
    ramp_width: float = 0.0,
    minor: Callable[[Any], Any] | None = None,
) -> EvidenceTerms:
    """Return the Laplace evidence of a model as an expression.

    All derivatives go through the support vectors: through ``minor(rows)``, the prior covariance of
    the support vectors with each other.

    Parameters
    ----------
    K : tensor_like of shape (n, n)
        Prior covariance.
    y : tensor_like of shape (n,)
        Targets: real numbers for a regression loss, -1 and +1 for a classification loss.
    loss : Loss
        The loss; its parameters may be variables, scalars or vectors of one element for each row.
    m : tensor_like, optional
        Prior mean, of shape (n,) or a scalar. Zero by default.
    ramp_width : float
        Half width of the ramps in the determinant's curvature; zero for steps.
    minor : callable, optional
        ``minor(rows)`` builds ``K[rows][:, rows]`` where that is cheaper to differentiate than
        through all of K, such as from the rows of the inputs.

    Returns
    -------
    EvidenceTerms
        The evidence and its terms.
    """
    K, y = (pt.as_tensor_variable(x).astype("float64") for x in (K, y))
    m = pt.zeros_like(y) if m is None else pt.zeros_like(y) + m
    minor = minor or (lambda rows: K[rows[:, None], rows])
    stated = losses.formulas(type(loss), symbolic)
    p = [pt.as_tensor_variable(x) for x in loss.parameters]

    def curvature(y: Any, f: Any, p: Any) -> Any:
        if ramp_width > 0.0:
            return losses.smooth_curvature(type(loss), symbolic)(y, f, ramp_width, *p)
        return stated.curvature(y, f, *p)

    estimate = map_estimate(K, y, m, loss)
    index, *factor = estimate.factor
    rows, curved, place = SupportRows()(estimate.a, curvature(y, estimate.f, p), index)
    y_rows, m_rows, K_rows = y[rows], m[rows], minor(rows)
    p_rows = [x[rows] if x.type.ndim else x for x in p]
    dual = ImplicitDual(type(loss))(
        K_rows, y_rows, m_rows, by_row(p_rows, y_rows), estimate.a[rows], place, *factor
    )
    deviation = K_rows @ dual
    f_rows = m_rows + deviation
    fit = stated.value(y, estimate.f[rows].set(f_rows), *p).sum()
    penalty = 0.5 * (dual @ deviation)
    W = curvature(y_rows, f_rows, p_rows)[curved]
    log_det, _ = LogDet()(K_rows[curved[:, None], curved], W)
    log_z = pt.as_tensor_variable(stated.log_normalizer(*p))  # type: ignore[misc]
    log_normalizer = log_z.sum() if log_z.type.ndim else y.shape[0] * log_z
    return EvidenceTerms(
        log_evidence=-(fit + penalty + 0.5 * log_det + log_normalizer),
        fit=fit,
        penalty=penalty,
        log_det=log_det,
        log_normalizer=log_normalizer,
        estimate=estimate,
    )


def by_row(parameters: Sequence[Any], y: Any) -> Any:
    """Return parameters of a loss's formulas, scalars and vectors, as a matrix of shape (k, n)."""
    if not parameters:
        return pt.zeros((0, y.shape[0]))
    tensors = [pt.as_tensor_variable(x).astype("float64") for x in parameters]
    return pt.stack([x if x.type.ndim else x + pt.zeros_like(y) for x in tensors])
