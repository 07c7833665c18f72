"""Laplace's evidence on inducing points as an expression, whose cost grows linearly with the rows.

With features A, ``f = m + A w`` and a standard normal w,

    log p = -sum l(y_i, f_i) - w'w / 2 - log|I + A'W A| / 2 - tau sum W_i d_i / 2 - sum log Z_i

at the mode of w. W is the curvature, and d are the variances that the inducing points leave out.
With ``tau = 0`` that is Laplace's method for the deterministic training conditional; ``tau = 1`` is
under Gaussian noise the bound of Titsias (2009).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytensor.tensor as pt

from pymc_bsvm import losses, symbolic
from pymc_bsvm.evidence.laplace import ACCEPTED_GAP, TARGET_GAP
from pymc_bsvm.graph.laplace import by_row
from pymc_bsvm.losses import Loss
from pymc_bsvm.ops import InducingMode, LogDet
from pymc_bsvm.ops.inducing_mode import gram

__all__ = ["InducingTerms", "InducingValues", "inducing_terms", "inducing_values"]


class InducingTerms(NamedTuple):
    """The symbolic terms of an evidence on inducing points, in nats."""

    log_evidence: Any
    fit: Any
    penalty: Any
    log_det: Any
    trace: Any
    log_normalizer: Any


class InducingValues(NamedTuple):
    """The posterior ``N(w, B⁻¹)`` of the whitened inducing values, in symbols."""

    mean: Any
    """w, of shape (m,); NaN if the solver failed."""
    precision: Any
    """``B = I + A'W A``, of shape (m, m)."""


def inducing_terms(
    A: Any, left_out: Any, y: Any, loss: Loss, *, m: Any, ramp_width: float, charge: float
) -> InducingTerms:
    """Return the Laplace evidence of a model on inducing points as an expression.

    Parameters
    ----------
    A : tensor_like of shape (n, m)
        Features ``K_nz L⁻ᵀ``, where ``K_zz = L L'``.
    left_out : tensor_like of shape (n,)
        Variances d that the features do not explain.
    y : tensor_like of shape (n,)
        Targets: real numbers for a regression loss, -1 and +1 for a classification loss.
    loss : Loss
        The loss; its parameters may be variables, scalars or vectors of one element for each row.
    m : tensor_like of shape (n,)
        Prior mean.
    ramp_width : float
        Half width of the ramps in the curvature of the determinant and the trace; zero for steps.
    charge : float
        Factor tau of the trace.

    Returns
    -------
    InducingTerms
        The evidence and its terms, which differentiate; NaN where the solver fails.
    """
    stated = losses.formulas(type(loss), symbolic)
    p = [pt.as_tensor_variable(x) for x in loss.parameters]
    w = _mode(A, y, m, loss)
    f = m + A @ w
    fit, penalty = stated.value(y, f, *p).sum(), 0.5 * (w @ w)
    if ramp_width > 0.0:
        W = losses.smooth_curvature(type(loss), symbolic)(y, f, ramp_width, *p)
    else:
        W = stated.curvature(y, f, *p)
    log_det, _ = LogDet()(gram(A, W), pt.ones_like(w))
    trace = charge * (W * left_out).sum()
    log_z = pt.as_tensor_variable(stated.log_normalizer(*p))  # type: ignore[misc]
    log_normalizer = log_z.sum() if log_z.type.ndim else y.shape[0] * log_z
    return InducingTerms(
        log_evidence=-(fit + penalty + 0.5 * log_det + 0.5 * trace + log_normalizer),
        fit=fit,
        penalty=penalty,
        log_det=log_det,
        trace=trace,
        log_normalizer=log_normalizer,
    )


def inducing_values(A: Any, y: Any, loss: Loss, *, m: Any) -> InducingValues:
    """Return the posterior of the whitened inducing values; the arguments are those above."""
    w = _mode(A, y, m, loss)
    p = [pt.as_tensor_variable(x) for x in loss.parameters]
    W = losses.formulas(type(loss), symbolic).curvature(y, m + A @ w, *p)
    return InducingValues(w, pt.eye(w.shape[0]) + gram(A, W))


def _mode(A: Any, y: Any, m: Any, loss: Loss) -> Any:
    op = InducingMode(type(loss), tol=TARGET_GAP, accept=ACCEPTED_GAP)
    w, _ = op(A, y, m, by_row(loss.parameters, y))
    return w
