"""One Bayesian support vector machine: the evidence of a kernel on fixed rows, without a graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pymc_bsvm.estimators.kernels import Hyperparameter, Kernel
from pymc_bsvm.estimators.likelihood import Likelihood
from pymc_bsvm.evidence.laplace import LaplaceEvidence, laplace_evidence
from pymc_bsvm.evidence.sparse_posterior import SparsePosterior
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.base import Array
from pymc_bsvm.solvers import DualSolveError

__all__ = ["Machine", "Objective", "Specification"]

# The ramps of the search, in units of those of the evidence that is reported: at a few hundred rows
# the narrower ones leave ripples on which a search ends several nats too low.
_WIDER = 2.0
_BLOCK = 4096  # new rows at a time, so that the memory of predictions does not grow with them


@dataclass(frozen=True)
class Specification:
    """A kernel, an offset and a likelihood: a model up to its hyperparameters.

    The covariance is that of (4.3) and (5.13) of [Chu03]_, ``k(x, z) + offset``.
    """

    kernel: Kernel
    likelihood: Likelihood
    offset: float
    """Variance of a constant that is added to the function."""
    d: int
    """Number of columns."""

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """Those of the likelihood, then those of the kernel."""
        return (*self.likelihood.free, *self.kernel.hyperparameters(self.d))

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of the logarithms."""
        return [(float(np.log(h.low)), float(np.log(h.high))) for h in self.hyperparameters]

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


class Objective:
    """The log evidence and its gradient in the logarithms of the hyperparameters.

    The evidence has wider ramps than the default. Each evaluation starts the dual from that of the
    one before. Where the solver fails the value is -inf.
    """

    def __init__(
        self, specification: Specification, X: Array, y: Array, sample_weight: Array | None
    ) -> None:
        self.specification = specification
        self.X, self.y, self.sample_weight = X, y, sample_weight
        self.evaluations = 0
        self.log_evidence = -np.inf
        self._a: Array | None = None

    def forget(self) -> None:
        """Start the next dual from zero."""
        self._a = None

    def copy(self) -> Objective:
        """Return the same function without a memory, for another thread."""
        return Objective(self.specification, self.X, self.y, self.sample_weight)

    def evidence(
        self,
        values: Array,
        a0: Array | None = None,
        ramp_width: float | None = None,
        K: Array | None = None,
    ) -> LaplaceEvidence:
        """Return the evidence at these hyperparameters, with the default ramps or others."""
        evidence = laplace_evidence(
            self.specification.matrix(values, self.X) if K is None else K,
            self.y,
            self.specification.loss(values),
            sample_weight=self.sample_weight,
            a0=a0,
            ramp_width=ramp_width,
            check_input=False,
        )
        assert isinstance(evidence, LaplaceEvidence)
        return evidence

    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient at logarithms of the hyperparameters."""
        values = np.exp(x)
        self.evaluations += 1
        K = self.specification.matrix(values, self.X)  # what a kernel refuses is not hidden
        try:
            width = _WIDER * self.specification.likelihood.loss_type.ramp_width or None
            evidence = self.evidence(values, self._a, width, K)
        except (DualSolveError, ValueError):
            self.log_evidence, self._a = -np.inf, None
            return -np.inf, np.zeros_like(x)
        self._a = evidence.solution.a
        gradient = evidence.gradient
        of_loss, of_kernel = self.specification.split(values)
        kernel = self.specification.kernel
        slope = np.concatenate(
            [
                self.specification.likelihood.slopes(of_loss, gradient.parameters),
                kernel.slopes(of_kernel, kernel.take(self.X, gradient.rows), gradient.K),
            ]
        )
        self.log_evidence = evidence.log_evidence
        if not (np.isfinite(self.log_evidence) and np.isfinite(slope).all()):
            return -np.inf, np.zeros_like(x)
        return self.log_evidence, slope


@dataclass(frozen=True)
class Machine:
    """A model with its hyperparameters and its support vectors."""

    specification: Specification
    values: Array
    """Hyperparameters, in the units of the machine."""
    log_evidence: float
    X: Array = field(repr=False)
    """Support vectors, of shape (s, d)."""
    rows: NDArray[np.intp] = field(repr=False)
    """Their rows in the training data."""
    free: NDArray[np.bool_] = field(repr=False)
    """Which of them are free, of shape (s,)."""
    posterior: SparsePosterior = field(repr=False)
    gap: float
    """Duality gap of the MAP estimate, in nats."""

    @classmethod
    def at(cls, objective: Objective, values: Array) -> Machine:
        """Return the machine at values of the hyperparameters."""
        evidence = objective.evidence(values)
        posterior = evidence.posterior
        return cls(
            objective.specification,
            values,
            evidence.log_evidence,
            objective.specification.kernel.take(objective.X, posterior.rows),
            posterior.rows,
            evidence.solution.free[posterior.rows],
            posterior.sparse,
            evidence.solution.gap,
        )

    @property
    def loss(self) -> Loss:
        """The loss."""
        return self.specification.loss(self.values)

    @property
    def named(self) -> Mapping[str, float]:
        """Hyperparameters by name."""
        names = (h.name for h in self.specification.hyperparameters)
        return dict(zip(names, map(float, self.values), strict=True))

    def relevance(self) -> Array | None:
        """Return how strongly the function varies with each column in the units of the machine.

        It is None if the kernel does not tell columns apart.
        """
        of_kernel = self.specification.split(self.values)[1]
        return self.specification.kernel.relevance(of_kernel, self.specification.d)

    def moments(self, X: Array) -> tuple[Array, Array]:
        """Return means and variances of the latent values of new rows."""
        mean, variance = np.empty(X.shape[0]), np.empty(X.shape[0])
        for start in range(0, X.shape[0], _BLOCK):
            block = slice(start, start + _BLOCK)
            cross = self._cross(X[block])
            mean[block] = self.posterior.mean(cross)
            prior = self.specification.diagonal_of_new(self.values, self.X, X[block])
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
        prior = self.specification.matrix(self.values, X)
        return self.posterior.mean(cross), self.posterior.covariance(cross, prior)

    def _cross(self, X: Array) -> Array:
        new = self.specification.kernel.against(X, self.rows)
        return self.specification.matrix(self.values, self.X, new)
