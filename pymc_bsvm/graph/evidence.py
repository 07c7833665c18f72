"""The log evidence and the posterior of any approximation in a graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

import pytensor.tensor as pt

from pymc_bsvm import losses, symbolic
from pymc_bsvm.evidence.approximation import Approximation
from pymc_bsvm.evidence.ep import EP
from pymc_bsvm.evidence.laplace import Laplace
from pymc_bsvm.graph.integrate import Integrated, integrated
from pymc_bsvm.graph.laplace import evidence_terms, map_dual
from pymc_bsvm.graph.propagate import Propagated, compiles
from pymc_bsvm.losses import Loss

__all__ = ["Sites", "log_evidence", "sites"]

type Minor = Callable[[Any], Any]


class Sites(NamedTuple):
    """The posterior ``N(m + K a, (K⁻¹ + S)⁻¹)`` of the latent values, in symbols."""

    a: Any
    """Dual of the mean, of shape (n,)."""
    precision: Any
    """Precisions S, of shape (n,)."""


@singledispatch
def log_evidence(
    approximation: Approximation,
    K: Any,
    y: Any,
    loss: Loss,
    *,
    m: Any = None,
    minor: Minor | None = None,
) -> Any:
    """Return the log evidence of a model as an expression.

    By default an Op calls the approximation with numbers and hands its gradient on: exact first
    derivatives, no second ones. Register another expression for a type of approximation that has
    one.

    Parameters
    ----------
    approximation : Approximation
        The approximation.
    K : tensor_like of shape (n, n)
        Prior covariance.
    y : tensor_like of shape (n,)
        Targets: real numbers for a regression loss, -1 and +1 for a classification loss.
    loss : Loss
        The loss; its parameters may be variables, scalars or vectors of one element for each row.
    m : tensor_like, optional
        Prior mean, of shape (n,) or a scalar. Zero by default.
    minor : callable, optional
        ``minor(rows)`` builds ``K[rows][:, rows]`` where that is cheaper to differentiate than
        through all of K, such as from the rows of the inputs.

    Returns
    -------
    TensorVariable
        A scalar, in nats; NaN where the approximation fails.
    """
    return integrated(approximation, K, y, loss, m).value(minor)


@log_evidence.register
def _(
    approximation: Laplace,
    K: Any,
    y: Any,
    loss: Loss,
    *,
    m: Any = None,
    minor: Minor | None = None,
) -> Any:
    width = approximation.width(loss)
    return evidence_terms(K, y, loss, m=m, ramp_width=width, minor=minor).log_evidence


@log_evidence.register
def _(
    approximation: EP,
    K: Any,
    y: Any,
    loss: Loss,
    *,
    m: Any = None,
    minor: Minor | None = None,
) -> Any:
    if compiles(approximation, type(loss)):
        return Propagated(approximation, K, y, loss, m).value
    return integrated(approximation, K, y, loss, m).value(minor)


@singledispatch
def sites(approximation: Approximation, K: Any, y: Any, loss: Loss, *, m: Any = None) -> Sites:
    """Return the posterior of the latent values as expressions.

    Parameters
    ----------
    approximation, K, y, loss, m
        As for `log_evidence`.

    Returns
    -------
    Sites
        Constants of the graph, unless another expression is registered for the approximation.
    """
    found = integrated(approximation, K, y, loss, m)
    return Sites(found.a, found.precision)


@sites.register
def _(approximation: Laplace, K: Any, y: Any, loss: Loss, *, m: Any = None) -> Sites:
    K, y = (pt.as_tensor_variable(x).astype("float64") for x in (K, y))
    m = pt.zeros_like(y) if m is None else pt.zeros_like(y) + m
    a = map_dual(K, y, m, loss)
    p = [pt.as_tensor_variable(x) for x in loss.parameters]
    W = losses.formulas(type(loss), symbolic).curvature(y, m + K @ a, *p)
    return Sites(a, W)


@sites.register
def _(approximation: EP, K: Any, y: Any, loss: Loss, *, m: Any = None) -> Sites:
    found: Propagated | Integrated
    if compiles(approximation, type(loss)):
        found = Propagated(approximation, K, y, loss, m)
    else:
        found = integrated(approximation, K, y, loss, m)
    return Sites(found.a, found.precision)
