"""Latent values in coordinates where Gaussian sites make them standard normal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pytensor.tensor as pt
from pymc import Model, SymbolicRandomVariable
from pytensor.tensor.linalg import cholesky, solve, solve_triangular

from pymc_bsvm._pymc import (
    _logprob,
    _support_point,
    fgraph_from_model,
    model_from_fgraph,
    model_observed_rv,
    normalize_rng_param,
    toposort_replace,
)
from pymc_bsvm._pytensor.interpretable import Interpretable
from pymc_bsvm.evidence.ep import EP
from pymc_bsvm.gp.evaluator import Evaluators
from pymc_bsvm.inference.bend import Bend
from pymc_bsvm.inference.fit import fit_evidence
from pymc_bsvm.inference.objective import marginals_of
from pymc_bsvm.inference.result import EvidenceFit
from pymc_bsvm.ops.whiten import Whiten

__all__ = ["Around", "Rotation", "WhiteRV", "maps", "point_around", "whitened"]

type Around = Literal["ep"] | EvidenceFit | Mapping[str, Any]
"""Where the sites are found: at the mode by expectation propagation, at a fit, or at a point."""


def point_around(model: Model, around: Around) -> Mapping[str, Any]:
    """Return the point of the hyperparameters that ``around`` stands for."""
    if isinstance(around, EvidenceFit):
        return around.point
    if isinstance(around, Mapping):
        return around
    if around != "ep":
        raise ValueError(
            f"around must be 'ep', a fit or a point, but it is {around!r}. "
            "Pass a result of fit_evidence, or leave it out."
        )
    return fit_evidence(_by_propagation(model), progressbar=False).point


def _by_propagation(model: Model) -> Model:
    """Return the model with its evidences by expectation propagation."""
    if all(isinstance(marginal.approximation, EP) for marginal in marginals_of(model)):
        return model
    fgraph, memo = fgraph_from_model(model)
    replacements = []
    for marginal in marginals_of(model):
        node = memo[marginal.rv].owner
        rv, value = node.inputs[:2]
        op, (rng, size, *inputs) = rv.owner.op, rv.owner.inputs
        specification = replace(op.specification, approximation=EP(), evaluators=Evaluators())
        other = type(op).rv_op(*inputs, specification=specification, size=size, rng=rng)
        observed = model_observed_rv(other, value, node.op.name, *node.op.dims)
        replacements.append((node.outputs[0], observed))
    toposort_replace(fgraph, replacements)
    return model_from_fgraph(fgraph, mutate_fgraph=True)


@dataclass(frozen=True)
class Rotation:
    r"""Coordinates z in which a Gaussian process times Gaussian sites is standard normal.

    With the prior ``f = m + L w``, w standard normal, ``K = LL'``, and sites of precisions T and
    shifts b,

    .. math::

        w = L'a + \bigl(I - L' T^{1/2} R^{-\top} (I + R)^{-1} T^{1/2} L\bigr) z, \qquad
        RR' = I + T^{1/2} K T^{1/2}, \qquad
        a = c - T^{1/2} (RR')^{-1} T^{1/2} K c, \quad c = b - T m.

    The matrix in front of z is a root of the posterior covariance of w; its determinant is one over
    that of R. It needs no factorisation but those of K and of ``RR'``.
    """

    factor: Any
    """Cholesky factor L of the prior covariance, of shape (n, n)."""
    root: Any
    """Roots of the precisions of the sites, of shape (n,)."""
    conditioned: Any
    """Cholesky factor R, of shape (n, n)."""
    dual: Any
    """Dual a of the mean, of shape (n,)."""

    @classmethod
    def of(cls, mean: Any, K: Any, factor: Any, root: Any, shift: Any) -> Rotation:
        """Return the rotation of a prior for sites, by the roots of their precisions."""
        c = shift - root**2 * mean
        R = cholesky(pt.eye(K.shape[0]) + root[:, None] * K * root)
        half = solve_triangular(R, root * (K @ c), lower=True)
        dual = c - root * solve_triangular(R.T, half, lower=False)
        return cls(factor, pt.as_tensor(root), R, dual)

    def __call__(self, z: Any) -> Any:
        """Return w, for one z of shape (n,)."""
        pulled = self._pulled(self.root * (self.factor @ z))
        return z + self.factor.T @ (self.dual - self.root * pulled)

    def _pulled(self, x: Any) -> Any:
        R = self.conditioned
        half = solve_triangular(R + pt.eye(R.shape[0]), x, lower=True)
        return solve_triangular(R.T, half, lower=False)

    def of_rows(self, rows: Any) -> Any:
        """Return the derivatives of some latent values for z, of shape (k, n)."""
        L, R = self.factor[rows], self.conditioned
        M = self.root[:, None] * self.factor
        half = solve_triangular(R, M @ L.T, lower=True)
        pulled = solve_triangular((R + pt.eye(R.shape[0])).T, half, lower=False)
        return L - pulled.T @ M

    def back(self, w: Any) -> Any:
        """Return z."""
        M = self.root[:, None] * self.factor
        scale = pt.eye(M.shape[0]) - M.T @ self._pulled(M)
        return solve(scale, w - self.factor.T @ self.dual)

    def log_density(self, z: Any) -> Any:
        """Return the log density of z."""
        w = self(z)
        constant = 0.5 * w.shape[0] * np.log(2.0 * np.pi)
        return -0.5 * (w**2).sum() - pt.log(pt.diagonal(self.conditioned)).sum() - constant


class WhiteRV(Interpretable, SymbolicRandomVariable):
    """The prior of coordinates u whose posterior is near a standard normal.

    The inputs are covariance and mean of the prior, roots of the precisions and shifts of the sites
    and, for a likelihood with a wall, the labels, the walls and the numbers of rows near it. Draws
    go back by the maps of `maps`; `whitened` has the same maps in one Op.
    """

    name = "white"
    _print_name = ("White", "\\operatorname{White}")

    def dist_params(self, node: Any) -> tuple[Any, ...]:
        """Return what a printed model shows: one matrix stands for the whole rotation."""
        return (node.inputs[1],)

    @classmethod
    def rv_op(cls, *inputs: Any, rng: Any = None) -> Any:
        """Build the random variable."""
        given = [pt.as_tensor(x) for x in inputs]
        tensors = [x.type() for x in given]
        rng, (rotation, bend) = normalize_rng_param(rng), maps(*tensors)
        n = rotation.root.shape[0]
        next_rng, w = pt.random.normal(size=(n,), rng=rng, return_next_rng=True)
        z = rotation.back(w)
        u = z if bend is None else bend.back(z)
        op = cls(
            inputs=[rng, *tensors],
            outputs=[next_rng, u],
            extended_signature=_ROTATED if bend is None else _BENT,
        )
        return op(rng, *given)


_ROTATED = "[rng],(n,n),(n),(n),(n)->[rng],(n)"
_BENT = "[rng],(n,n),(n),(n),(n),(k),(k),(k)->[rng],(n)"


def maps(K: Any, mean: Any, root: Any, shift: Any, *wall: Any) -> tuple[Rotation, Bend | None]:
    """Return the maps from u to z and from z to w, for the inputs of `WhiteRV`."""
    factor = cholesky(K)
    rotation = Rotation.of(mean, K, factor, root, shift)
    if not wall:
        return rotation, None
    labels, edges, rows = wall
    there = mean + factor @ rotation(pt.zeros(mean.shape))
    slopes = labels[:, None] * rotation.of_rows(rows)
    return rotation, Bend(labels * there[rows] - edges, slopes)


def whitened(u: Any, K: Any, mean: Any, root: Any, shift: Any, *wall: Any) -> tuple[Any, Any]:
    """Return the latent values at u, and the log density of u, for the inputs of `WhiteRV`."""
    none = np.zeros(0), np.zeros(0), np.zeros(0, dtype="int64")
    f, value, *_ = Whiten()(K, mean, root, shift, u, *(wall or none))
    return f, value


@_logprob.register(WhiteRV)
def _log_density(op: WhiteRV, values: Any, rng: Any, *inputs: Any, **_: Any) -> Any:
    (value,) = values
    return whitened(value, *inputs)[1]


@_support_point.register(WhiteRV)
def _mode(op: WhiteRV, rv: Any, rng: Any, *inputs: Any) -> Any:
    return pt.zeros(inputs[1].shape)
