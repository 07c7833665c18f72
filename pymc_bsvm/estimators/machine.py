"""One Bayesian support vector machine: the evidence of a kernel on fixed rows, without a graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm._numba import explained_numba
from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.estimators.hindsight import Hindsight, Sight
from pymc_bsvm.estimators.kernels import Kernel
from pymc_bsvm.estimators.likelihood import Likelihood, noise_in
from pymc_bsvm.estimators.memory import Memory
from pymc_bsvm.estimators.thin import Patience, Thin, thin_covariance
from pymc_bsvm.evidence.approximation import Approximation, Evidence
from pymc_bsvm.evidence.ep import EP
from pymc_bsvm.evidence.flat_posterior import flat, with_width
from pymc_bsvm.evidence.gradient import LowRankSlopes
from pymc_bsvm.evidence.laplace import Laplace
from pymc_bsvm.evidence.noise import LeaveOneOut
from pymc_bsvm.evidence.posterior import Posterior
from pymc_bsvm.evidence.sparse_posterior import SparsePosterior
from pymc_bsvm.losses import Loss
from pymc_bsvm.search import Hyperparameter
from pymc_bsvm.solvers import DualSolveError

__all__ = [
    "LAPLACE",
    "PROPAGATION",
    "Blueprint",
    "Fitted",
    "Machine",
    "MachineEvidence",
    "posterior_of",
]

# A dual whose gap is g nats has latent values within sqrt(2 g) posterior standard deviations of the
# exact ones. Where there is next to no noise, rounding keeps the gap above what a model asks for.
LAPLACE = Laplace(tol=1e-5)
# The square of the residual is in the evidence, and itself in the means, in standard deviations.
PROPAGATION = EP(tol=1e-4)
_BLOCK = 4096  # new rows at a time, so that the memory of predictions does not grow with them


@dataclass(frozen=True)
class Blueprint:
    """A kernel, an offset and a likelihood: a model up to its hyperparameters.

    The covariance is that of (4.3) and (5.13) of [Chu03]_, ``k(x, z) + offset``.
    """

    kernel: Kernel
    likelihood: Likelihood
    offset: float
    """Variance of a constant that is added to the function."""
    d: int
    """Number of columns."""
    approximation: Approximation = LAPLACE
    """How the evidence is approximated."""
    prior: float | None = None
    """Standard deviation of the logarithms about their starts, if there is one."""

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """Those of the likelihood, then those of the kernel."""
        return (*self.likelihood.free, *self.kernel.hyperparameters(self.d))

    def translated(self, other: Blueprint, x: Array) -> Array:
        """Return a point of another model here; columns that it does not tell apart are alike.

        What it does not have is at its start. All points are logarithms.
        """
        names = (h.name for h in other.hyperparameters)
        named: dict[str, float] = dict(zip(names, x.tolist(), strict=True))
        known = np.log([h.start for h in self.hyperparameters])
        for k, h in enumerate(self.hyperparameters):
            known[k] = named.get(h.name, named.get(h.variable, known[k]))
        return np.asarray(np.clip(known, *np.array(self.reach).T))

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of the logarithms."""
        return [(float(np.log(h.low)), float(np.log(h.high))) for h in self.hyperparameters]

    @property
    def reach(self) -> list[tuple[float, float]]:
        """The widest bounds of the logarithms."""
        ends = ((h.least or h.low, h.most or h.high) for h in self.hyperparameters)
        return [(float(np.log(low)), float(np.log(high))) for low, high in ends]

    def log_prior(self, x: Array) -> tuple[float, Array]:
        """Return the log density of logarithms, up to a constant, and its gradient.

        Scales of columns have none: that of a column that does not matter is far from its start.
        """
        if self.prior is None:
            return 0.0, np.zeros_like(x)
        start = np.log([h.start for h in self.hyperparameters])
        common = np.array([h.column is None for h in self.hyperparameters])
        slope = np.where(common, start - x, 0.0) / self.prior**2
        return -0.5 * self.prior**2 * float(slope @ slope), slope

    def split(self, values: Any) -> tuple[Any, Any]:
        """Return the values of the likelihood and of the kernel."""
        count = len(self.likelihood.free)
        return values[:count], values[count:]

    def loss(self, values: Any) -> Loss:
        """Return the loss at values of the hyperparameters."""
        return self.likelihood.loss(self.split(values)[0])

    def matrix(self, values: Array, X: Array, Z: Array | None = None) -> Array:
        """Return the prior covariance of rows."""
        K = self.kernel.matrix(self.split(values)[1], X, Z)
        if self.offset:
            K += self.offset
        return K

    def diagonal_of_new(self, values: Array, X: Array, Z: Array) -> Array:
        """Return the prior variance of new rows Z, beside rows X of the training data."""
        return self.kernel.diagonal_of_new(self.split(values)[1], X, Z) + self.offset


class MachineEvidence:
    """The log evidence, and a prior if there is one, in the logarithms of the hyperparameters.

    Each evaluation starts from where that of the nearest point ended since the last `forget`, a
    `machine` from nothing. Where the approximation fails the value is -inf, and `failure` says why
    it is so now.
    """

    def __init__(
        self, blueprint: Blueprint, X: Array, y: Array, sample_weight: Array | None
    ) -> None:
        self.blueprint = blueprint
        self.X, self.y, self.sample_weight = X, y, sample_weight
        self.evaluations, self.log_evidence = 0, -np.inf
        self.failure: Exception | None = None
        self._sight: Sight | None = None
        self.forget()

    def forget(self, **memory: int) -> None:
        """Start the next evaluation from nothing, and remember what `Memory` is told to."""
        self._memory, self._patience = Memory(**memory), Patience()

    def hold(self) -> None:
        """Start from where evaluations so far ended, so that their order no longer matters."""
        self._memory.hold(smooth=isinstance(self.blueprint.approximation, Laplace))
        self._patience.hold()

    def of(self, blueprint: Blueprint) -> Self:
        """Return the evidence of another model on the same rows."""
        if blueprint is self.blueprint:
            return self
        return type(self)(blueprint, self.X, self.y, self.sample_weight)

    def some(self, size: int, rng: np.random.Generator) -> MachineEvidence:
        """Return the evidence of random rows."""
        n = self.y.size
        rows = np.sort(rng.choice(n, size, replace=False)) if size < n else np.arange(n)
        X = self.blueprint.kernel.take(self.X, rows)
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return MachineEvidence(self.blueprint, X, self.y[rows], weight)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.y.size

    @property
    def rows(self) -> float:
        """Number of rows, each as often as it counts."""
        return float(self.y.size if self.sample_weight is None else self.sample_weight.sum())

    def recipe(self) -> Callable[[], MachineEvidence]:
        """Return a function that makes the same function without a memory."""
        return partial(MachineEvidence, self.blueprint, self.X, self.y, self.sample_weight)

    def evidence(self, values: Array) -> Evidence:
        """Return the evidence at these hyperparameters."""
        near = self._in_low_rank(values)
        return self._evaluated(values, near.start if near else None)

    def _evaluated(self, values: Array, start: Any, K: Array | LowRank | None = None) -> Evidence:
        K = self.blueprint.matrix(values, self.X) if K is None else K
        loss, weight = self.blueprint.loss(values), self.sample_weight
        return self.blueprint.approximation.evidence(
            K, self.y, loss, sample_weight=weight, start=start, check_input=False
        )

    def machine(self, values: Array) -> Machine:
        """Return the machine at values of the hyperparameters."""
        near = self._in_low_rank(values)
        evidence = self._evaluated(values, near.start if near else None)
        self._sight = self._seen(values, near or evidence)
        return Machine.of(self, values, evidence)

    def hindsight(self, members: Sequence[Fitted]) -> Hindsight:
        """Return what machines of a regression say of the rows."""
        f = self._sight_at(members[0].values).mean
        return Hindsight(self.left_out(members), noise_in(1.0, members[0].loss), f)

    def left_out(self, members: Sequence[Fitted]) -> LeaveOneOut:
        """Return what machines say of each row without its own target."""
        cavities = [self._sight_at(each.values).cavity for each in members]
        return LeaveOneOut(self.y, cavities, self.sample_weight)

    def _sight_at(self, values: Array) -> Sight:
        """Return what `_seen` returns, without an evaluation if the last sight was there."""
        if self._sight is None or not np.array_equal(self._sight.values, values):
            self._sight = self._seen(values, self._in_low_rank(values) or self.evidence(values))
        return self._sight

    def _seen(self, values: Array, evidence: Evidence) -> Sight:
        """Return the latent values with and without the row's own target."""
        found = posterior_of(evidence)
        return Sight(values, found.mean, found.cavity_beside(self.sample_weight))

    @explained_numba()
    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient at logarithms of the hyperparameters."""
        self.evaluations += 1
        evidence = self._at(x)
        if evidence is None:
            self.log_evidence = -np.inf
            return -np.inf, np.zeros_like(x)
        gradient, self.log_evidence = evidence.gradient, evidence.log_evidence
        K = evidence.problem.K
        thin = K if isinstance(K, Thin) else None
        del evidence, K  # with all that is as large, before the slopes take as much
        of_loss, of_kernel = self.blueprint.split(np.exp(x))
        kernel = self.blueprint.kernel
        if thin is not None and isinstance(gradient.K, LowRankSlopes):
            of_kernel = thin.slopes(self.X, gradient.K.A)
        else:
            X = kernel.take(self.X, gradient.rows)
            of_kernel = kernel.slopes(of_kernel, X, np.asarray(gradient.K))
        of_loss = self.blueprint.likelihood.slopes(of_loss, gradient.parameters)
        slope = np.concatenate([of_loss, of_kernel])
        if not (np.isfinite(self.log_evidence) and np.isfinite(slope).all()):
            return -np.inf, np.zeros_like(x)
        log_prior, slope_of_prior = self.blueprint.log_prior(x)
        return self.log_evidence + log_prior, slope + slope_of_prior

    def value(self, x: Array) -> float:
        """Return the value alone."""
        evidence = self._at(x)
        value = -np.inf if evidence is None else evidence.log_evidence
        return value + self.blueprint.log_prior(x)[0] if np.isfinite(value) else -np.inf

    def _at(self, x: Array) -> Evidence | None:
        """Return the evidence at logarithms of the hyperparameters, None where it fails."""
        values = np.exp(x)
        thin = self._patience.look(self.blueprint, values, self.X, self.sample_weight)
        K = self.blueprint.matrix(values, self.X) if thin is None else thin  # may refuse
        try:
            evidence = self._evaluated(values, self._memory.nearest(x), K)
        except (DualSolveError, ValueError) as failure:
            self.failure = failure.with_traceback(None)  # whose frames hold kernel matrices
            return None
        if np.isfinite(evidence.log_evidence) and np.isfinite(evidence.start).all():
            self._memory.add(x, evidence.start)
        self.failure = None
        return evidence

    def _in_low_rank(self, values: Array) -> Evidence | None:
        """Return the evidence for a covariance of low rank, which says nearly the same."""
        thin = thin_covariance(self.blueprint, values, self.X, self.sample_weight)
        try:
            return None if thin is None else self._evaluated(values, None, thin)
        except (DualSolveError, ValueError):
            return None


def posterior_of(evidence: Evidence) -> Posterior:
    """Return the posterior; where no row bends at the mode, with the width of `with_width`."""
    posterior = evidence.posterior
    if not flat(posterior):
        return posterior
    return with_width(posterior, evidence.problem.sample_weight)


@dataclass(frozen=True)
class Fitted(ABC):
    """A model with its hyperparameters and its support vectors, whatever its posterior is."""

    blueprint: Blueprint
    values: Array
    """Hyperparameters, in the units of the machine."""
    log_evidence: float
    support: NDArray[np.intp] = field(repr=False)
    """Rows of the support vectors of the MAP estimate."""
    dual: Array = field(repr=False)
    """Their duals."""
    free: NDArray[np.bool_] = field(repr=False)
    """Which of them are free."""
    gap: float
    """Duality gap of the MAP estimate, in nats."""
    residual: float
    """What is left of the equations of the approximation."""

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self.blueprint.loss(self.values)

    @property
    def named(self) -> Mapping[str, float]:
        """Hyperparameters by name."""
        names = (h.name for h in self.blueprint.hyperparameters)
        return dict(zip(names, map(float, self.values), strict=True))

    def relevance(self) -> Array | None:
        """Return how strongly the function varies with each column in the units of the machine.

        It is None if the kernel does not tell columns apart.
        """
        of_kernel = self.blueprint.split(self.values)[1]
        return self.blueprint.kernel.relevance(of_kernel, self.blueprint.d)

    @abstractmethod
    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return means and variances of the latent values of new rows."""

    @abstractmethod
    def mean(self, X: Array) -> Array:
        """Return the means alone."""

    @abstractmethod
    def joint(self, X: Array) -> tuple[Array, Array]:
        """Return mean and covariance of the latent values of new rows."""


@dataclass(frozen=True)
class Machine(Fitted):
    """A model with its support vectors as what predictions need."""

    X: Array = field(repr=False)
    """Inputs that predictions need, of shape (s, d): for Laplace's method the support vectors."""
    rows: NDArray[np.intp] = field(repr=False)
    """Their rows in the training data."""
    posterior: SparsePosterior = field(repr=False)

    @classmethod
    def at(cls, objective: MachineEvidence, values: Array) -> Machine:
        """Return the machine at values of the hyperparameters."""
        return cls.of(objective, values, objective.evidence(values))

    @classmethod
    def of(cls, objective: MachineEvidence, values: Array, evidence: Evidence) -> Machine:
        """Return the machine with this evidence."""
        posterior, solution = posterior_of(evidence), evidence.solution
        support = np.flatnonzero(solution.support)
        return cls(
            blueprint=objective.blueprint,
            values=values,
            log_evidence=evidence.log_evidence,
            X=objective.blueprint.kernel.take(objective.X, posterior.rows),
            rows=posterior.rows,
            posterior=posterior.sparse,
            support=support,
            dual=solution.a[support],
            free=solution.free[support],
            gap=solution.gap,
            residual=evidence.certificate.residual,
        )

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return means and variances of the latent values of new rows."""
        mean, variance = np.empty(X.shape[0]), np.empty(X.shape[0])
        for start in range(0, X.shape[0], _BLOCK):
            block = slice(start, start + _BLOCK)
            cross = self._cross(X[block])
            mean[block] = self.posterior.mean(cross)
            prior = self.blueprint.diagonal_of_new(self.values, self.X, X[block])
            variance[block] = self.posterior.variance(cross, prior)
        return mean, variance

    def mean(self, X: Array) -> Array:
        """Return the means alone."""
        blocks = range(0, X.shape[0], _BLOCK)
        parts = [self.posterior.mean(self._cross(X[k : k + _BLOCK])) for k in blocks]
        return np.concatenate(parts) if parts else np.zeros(0)

    def joint(self, X: Array) -> tuple[Array, Array]:
        """Return mean and covariance of the latent values of new rows."""
        cross = self._cross(X)
        prior = self.blueprint.matrix(self.values, X)
        return self.posterior.mean(cross), self.posterior.covariance(cross, prior)

    def _cross(self, X: Array) -> Array:
        new = self.blueprint.kernel.against(X, self.rows)
        return self.blueprint.matrix(self.values, self.X, new)
