"""One Bayesian support vector machine on inducing points: its evidence as sums over blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._typing import Array
from pymc_bsvm.estimators.hindsight import Hindsight
from pymc_bsvm.estimators.likelihood import noise_in
from pymc_bsvm.estimators.machine import Blueprint, Fitted
from pymc_bsvm.estimators.warning import warn
from pymc_bsvm.evidence.ep import EP
from pymc_bsvm.evidence.noise import LeaveOneOut
from pymc_bsvm.evidence.posterior import Cavity
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers.weighted import interpreted
from pymc_bsvm.streamed.ep import PropagatedEvidence, PropagationError, propagated_evidence
from pymc_bsvm.streamed.evidence import InducingEvidence, evidence_at, inducing_evidence
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.inducing import greedy
from pymc_bsvm.streamed.mode import ModeInterrupt
from pymc_bsvm.streamed.objective import InducingObjective
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.posterior import InducingPosterior
from pymc_bsvm.streamed.rows import Block
from pymc_bsvm.streamed.sites import cavity_beside

__all__ = ["InducedEvidence", "InducedMachine", "points_of", "tolerance"]

_BLOCK = 4096  # new rows at a time, so that the memory of predictions does not grow with them
# Of the prior variance. At 1e-6 what it adds costs more than twice as many points bring; at 1e-8
# rounding may keep the certificate above its bound.
_JITTER = 1e-7
_TOL, _FEWEST = 1e-9, 1000.0  # gap of the mode, in nats for each row of at least so many
_CANDIDATES = 20  # rows for each inducing point that is chosen among them


class _Evaluated(NamedTuple):
    """The evidence at some hyperparameters."""

    values: Array
    evidence: InducingEvidence | PropagatedEvidence


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
        super().__init__(blueprint, passes, Z, jitter=_JITTER, tol=tolerance(rows))
        self.blueprint, self.rows, self.some, self.begin = blueprint, rows, some, begin
        self._last: _Evaluated | None = None
        self._best: _Evaluated | None = None

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.passes.rows.n

    @property
    def posterior(self) -> InducingPosterior | None:
        """The last posterior."""
        return self.begin if self._last is None else self._last.evidence.posterior

    def forget(self) -> None:
        """Start the next evaluation from the function that was given, if there is one."""
        super().forget()
        self._last = self._best = None

    def of(self, blueprint: Blueprint) -> Self:
        """Return the evidence of another model on the same rows and points."""
        if blueprint is self.blueprint:
            return self
        return type(self)(blueprint, self.passes, self.Z, self.rows, self.some)

    def recipe(self) -> Callable[[], InducedEvidence]:
        """Return a function that makes the same function without a memory."""
        arguments = self.blueprint, self.passes, self.Z, self.rows, self.some, self.begin
        return partial(InducedEvidence, *arguments)

    def evidence(self, values: Array, start: Any = None) -> InducingEvidence | PropagatedEvidence:
        """Return the evidence at these hyperparameters, from the start of one nearby."""
        for known in (self._last, self._best):
            if known is not None and (values == known.values).all():
                return known.evidence
        features, loss = self.features(values), self.blueprint.loss(values)
        evidence = self._approximated(features, loss, start)
        self._last = _Evaluated(values, evidence)
        best = self._best
        if best is None or evidence.log_evidence > best.evidence.log_evidence:
            self._best = self._last
        return evidence

    def _approximated(
        self, features: Features, loss: Loss, start: Any
    ) -> InducingEvidence | PropagatedEvidence:
        """Return the evidence by the model's approximation."""
        approximation, begin = self.blueprint.approximation, self.begin if start is None else None
        if isinstance(approximation, EP):
            return propagated_evidence(
                self.passes,
                features,
                loss,
                start=start,
                begin=begin,
                tol=approximation.tol,
                max_iter=approximation.max_iter,
            )
        weights = None if begin is None else begin.weights_on(features)
        return inducing_evidence(
            self.passes, features, loss, start=weights, around=start, tol=self.tol
        )

    def machine(self, values: Array) -> InducedMachine:
        """Return the machine at values of the hyperparameters, interrupted or not."""
        try:
            evidence = self.evidence(values, self._start)
        except PropagationError as error:
            if error.evidence is None:
                raise
            warn(str(error))
            evidence = error.evidence
        except ModeInterrupt as stop:
            warn(str(stop))
            features, loss = self.features(values), self.blueprint.loss(values)
            evidence = evidence_at(self.passes, features, loss, stop.mode, tau=self.tau)
        dual, curvature = evidence.duals()
        support = np.flatnonzero(dual)
        return InducedMachine(
            blueprint=self.blueprint,
            values=values,
            log_evidence=evidence.log_evidence,
            support=support,
            dual=dual[support],
            free=curvature[support] > 0.0,
            gap=evidence.gap,
            residual=evidence.residual,
            posterior=evidence.posterior,
        )

    def hindsight(self, members: Sequence[Any]) -> Hindsight:
        """Return what machines of a regression say of a random share of the rows."""
        f = members[0].posterior.mean(self.some.X)
        return Hindsight(self.left_out(members), noise_in(1.0, members[0].loss), f)

    def left_out(self, members: Sequence[Any]) -> LeaveOneOut:
        """Return what machines say of each of these rows without its own target."""
        cavities = [machine.without_own(*self.some) for machine in members]
        return LeaveOneOut(self.some.y, cavities, self.some.weight)


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

    def without_own(self, X: Array, y: Array, weight: Array) -> Cavity:
        """Return the latent values of rows of the fit without their own observation.

        What the inducing points do not say of a row is no part of what the row said, and stays.
        """
        look = self.posterior.look(X)
        f, known, left = look[:3]
        if isinstance(self.blueprint.approximation, EP):
            cavity, settled = cavity_beside(self.loss, Block(X, y, weight), look)
            _warn_of_unsettled(settled)
            return Cavity(cavity.mean, cavity.variance)
        functions, parameters = interpreted(type(self.loss)), self.loss.parameters
        share = 1.0 / np.maximum(weight, 1.0)
        a = -share * functions.slope(y, f, weight, parameters)
        precision = share * functions.curve(y, f, weight, parameters)
        known = known / np.maximum(1.0 - precision * known, np.finfo(float).eps)
        return Cavity(f - known * a, known + left)


def _warn_of_unsettled(settled: NDArray[np.bool_]) -> None:
    """Warn if rows are not known without their own targets."""
    if not settled.all():
        warn(
            f"For {np.count_nonzero(~settled)} of {settled.size} rows it did not settle what all "
            "others say of them, from which the noise is learned. Use weights of at least one, or "
            "approximation='laplace'.",
        )


def points_of(
    blueprint: Blueprint, values: Array, X: Array, count: int, rng: np.random.Generator
) -> tuple[Array, int]:
    """Choose inducing points among random rows of X, in the units of the kernel.

    Returns
    -------
    Z : ndarray of shape (m, d)
        ``count`` points, or all rows that differ if there are fewer.
    known : int
        How many of them, the first, say all there is to say at these hyperparameters. At others,
        such as shorter length-scales, the further ones say more.
    """
    size = min(len(X), _CANDIDATES * count)
    candidates = np.unique(X[rng.choice(len(X), size, replace=False)], axis=0)
    of_kernel = blueprint.split(values)[1]
    kernel = blueprint.kernel
    chosen = greedy(
        lambda A, B: kernel.matrix(of_kernel, A, B),
        kernel.diagonal(of_kernel, candidates),
        candidates,
        count,
    )
    order = np.random.default_rng(count).permutation(len(candidates))
    others = order[~np.isin(order, chosen)][: count - chosen.size]
    return candidates[np.concatenate([chosen, others])], chosen.size


def tolerance(rows: float) -> float:
    """Return the largest duality gap of a mode, in nats."""
    return _TOL * max(rows, _FEWEST)
