"""One Bayesian support vector machine on inducing points: its evidence as sums over blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import solve_triangular

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.hindsight import Hindsight
from pymc_bsvm.estimators.likelihood import noise_in
from pymc_bsvm.estimators.machine import Blueprint, Fitted
from pymc_bsvm.evidence.posterior import Cavity
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers.weighted import interpreted
from pymc_bsvm.streamed.evidence import InducingEvidence, inducing_evidence
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.inducing import greedy
from pymc_bsvm.streamed.objective import InducingObjective
from pymc_bsvm.streamed.passes import Partial, Passes
from pymc_bsvm.streamed.posterior import InducingPosterior
from pymc_bsvm.streamed.rows import Block

__all__ = ["InducedEvidence", "InducedMachine", "points_of"]

_BLOCK = 4096  # new rows at a time, so that the memory of predictions does not grow with them
# Of the prior variance. At 1e-6 what it adds costs more than twice as many points bring; at 1e-8
# rounding may keep the certificate above its bound.
_JITTER = 1e-7
_TOL, _FEWEST = 1e-9, 1000.0  # gap of the mode, in nats for each row of at least so many
_CANDIDATES = 20  # rows for each inducing point that is chosen among them


class _Evaluated(NamedTuple):
    """The evidence at the last hyperparameters."""

    values: Array
    evidence: InducingEvidence


class InducedEvidence(InducingObjective):
    """The log evidence of a machine on inducing points, in the logarithms of its hyperparameters.

    Parameters
    ----------
    blueprint : Blueprint
        The model.
    passes : Passes
        Over the rows, in the machine's units.
    Z : ndarray of shape (m, d)
        Inducing points.
    rows : float
        Number of rows, each as often as it counts.
    some : Block
        A random share of the rows, which tells of the noise.
    begin : InducingPosterior, optional
        A function from which the first evaluation starts, such as fewer rows make.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        passes: Passes,
        Z: Array,
        rows: float,
        some: Block,
        begin: InducingPosterior | None = None,
    ) -> None:
        tol = _TOL * max(rows, _FEWEST)
        super().__init__(blueprint, passes, Z, jitter=_JITTER, tol=tol)
        self.blueprint, self.rows, self.some, self.begin = blueprint, rows, some, begin
        self._last: _Evaluated | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.passes.rows.n

    @property
    def posterior(self) -> InducingPosterior | None:
        """The last posterior."""
        return self.begin if self._last is None else self._last.evidence.posterior

    def of(self, blueprint: Blueprint) -> Self:
        """Return the evidence of another model on the same rows and points."""
        if blueprint is self.blueprint:
            return self
        return type(self)(blueprint, self.passes, self.Z, self.rows, self.some)

    def recipe(self) -> Callable[[], InducedEvidence]:
        """Return a function that makes the same function without a memory."""
        arguments = self.blueprint, self.passes, self.Z, self.rows, self.some, self.begin
        return partial(InducedEvidence, *arguments)

    def evidence(self, values: Array, around: Array | None = None) -> InducingEvidence:
        """Return the evidence at these hyperparameters, from latent values nearby."""
        last = self._last
        if last is not None and (values == last.values).all():
            return last.evidence
        features, loss = self.features(values), self.blueprint.loss(values)
        start = None
        if around is None and self.begin is not None:
            start = _weights(features, self.begin)
        evidence = inducing_evidence(
            self.passes, features, loss, start=start, around=around, tol=self.tol
        )
        self._last = _Evaluated(values, evidence)
        return evidence

    def machine(self, values: Array) -> InducedMachine:
        """Return the machine at values of the hyperparameters."""
        evidence = self.evidence(values)
        mode = evidence.mode
        dual, curvature = self.passes.run(_duals, evidence.loss, of_rows=(mode.f,)).of_rows
        support = np.flatnonzero(dual)
        return InducedMachine(
            blueprint=self.blueprint,
            values=values,
            log_evidence=evidence.log_evidence,
            support=support,
            dual=dual[support],
            free=curvature[support] > 0.0,
            gap=mode.gap,
            residual=mode.gap,
            posterior=evidence.posterior,
        )

    def hindsight(self, members: Sequence[Any]) -> Hindsight:
        """Return what machines of a regression say of a random share of the rows."""
        X, y, weight = self.some
        seen = [machine.without_own(X, y, weight) for machine in members]
        loss = noise_in(1.0, members[0].loss)
        return Hindsight(y, loss, seen[0][0], [cavity for _, cavity in seen], weight)


@dataclass(frozen=True)
class InducedMachine(Fitted):
    """A model with the posterior of the function at its inducing points."""

    posterior: InducingPosterior = field(repr=False)

    @property
    def points(self) -> Array:
        """The inducing points, of shape (m, d), in the units of the machine."""
        return self.posterior.features.Z

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return means and variances of the latent values of new rows."""
        mean, variance = np.empty(X.shape[0]), np.empty(X.shape[0])
        for start in range(0, X.shape[0], _BLOCK):
            block = slice(start, start + _BLOCK)
            mean[block], variance[block] = self.posterior.moments(X[block])
        return mean, variance

    def mean(self, X: Array) -> Array:
        """Return the means alone."""
        blocks = range(0, X.shape[0], _BLOCK)
        parts = [self.posterior.mean(X[k : k + _BLOCK]) for k in blocks]
        return np.concatenate(parts) if parts else np.zeros(0)

    def joint(self, X: Array) -> tuple[Array, Array]:
        """Return mean and covariance of the latent values of new rows."""
        return self.posterior.joint(X)

    def without_own(self, X: Array, y: Array, weight: Array) -> tuple[Array, Cavity]:
        """Return the latent values of rows of the fit, and those without their own observation.

        What the inducing points do not say of a row is no part of what the row said, and stays.
        """
        f, variance = self.moments(X)
        features = self.posterior.features
        phi = features.whiten(features.cross(X))
        left = np.maximum(features.diagonal(X) - np.einsum("ij,ij->i", phi, phi), 0.0)
        known = np.maximum(variance - left, 0.0)
        functions, parameters = interpreted(type(self.loss)), self.loss.parameters
        share = 1.0 / np.maximum(weight, 1.0)
        a = -share * functions.slope(y, f, weight, parameters)
        precision = share * functions.curve(y, f, weight, parameters)
        known = known / np.maximum(1.0 - precision * known, np.finfo(float).eps)
        return f, Cavity(f - known * a, known + left)


def points_of(
    blueprint: Blueprint, values: Array, X: Array, count: int, rng: np.random.Generator
) -> tuple[Array, int]:
    """Choose inducing points among random rows of X, in the units of the kernel.

    Returns
    -------
    Z : ndarray of shape (m, d)
        ``count`` points, or all rows if there are fewer.
    known : int
        How many of them, the first, say all there is to say at these hyperparameters. At others,
        such as shorter length-scales, the further ones say more.
    """
    size = min(len(X), _CANDIDATES * count)
    candidates = X[rng.choice(len(X), size, replace=False)]
    of_kernel = blueprint.split(values)[1]
    kernel = blueprint.kernel
    chosen = greedy(
        lambda A, B: kernel.matrix(of_kernel, A, B),
        kernel.diagonal(of_kernel, candidates),
        candidates,
        count,
    )
    others = np.setdiff1d(np.arange(size), chosen)[: count - chosen.size]
    return candidates[np.concatenate([chosen, others])], chosen.size


def _weights(features: Features, posterior: InducingPosterior) -> Array:
    """Return the weights of the function that has a posterior's means at the inducing points."""
    of_offset = posterior.w[len(posterior.features.Z) :]
    values = posterior.mean(features.Z) - np.sqrt(features.offset) * of_offset.sum()
    of_kernel = solve_triangular(features.cholesky, values, lower=True)
    return np.concatenate([of_kernel, of_offset])


def _duals(block: Block, of_rows: tuple[Array, ...], loss: Loss) -> Partial:
    """Return the duals of rows, and the curvature of their losses."""
    (f,) = of_rows
    functions, parameters = interpreted(type(loss)), loss.parameters
    a = -functions.slope(block.y, f, block.weight, parameters)
    return Partial((), (a, functions.curve(block.y, f, block.weight, parameters)))
