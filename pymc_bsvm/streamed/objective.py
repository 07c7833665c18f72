"""The evidence on inducing points as a function of hyperparameters, for searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from pymc_bsvm._numba import explained_numba
from pymc_bsvm._typing import Array, Parameter
from pymc_bsvm.losses import Loss
from pymc_bsvm.streamed.ep import PropagatedEvidence, PropagationError
from pymc_bsvm.streamed.evidence import InducingEvidence, inducing_evidence
from pymc_bsvm.streamed.features import CovarianceFunction, Features
from pymc_bsvm.streamed.mode import ModeError
from pymc_bsvm.streamed.newton import TOLERANCE
from pymc_bsvm.streamed.passes import Passes

__all__ = ["InducingObjective", "Model"]


class _Likelihood(Protocol):
    def slopes(self, values: Array, parameters: Sequence[Parameter]) -> Array:
        """Return derivatives in logarithms of the values from those in the loss's fields."""


class Model(Protocol):
    """A kernel, an offset and a likelihood: a model up to its hyperparameters."""

    @property
    def kernel(self) -> CovarianceFunction:
        """The covariance function."""

    @property
    def likelihood(self) -> _Likelihood:
        """What turns derivatives in the loss's fields to those in its hyperparameters."""

    @property
    def offset(self) -> float:
        """Variance of a constant that is added to the function."""

    def split(self, values: Any) -> tuple[Any, Any]:
        """Return the values of the likelihood and of the kernel."""

    def loss(self, values: Any) -> Loss:
        """Return the loss at values of the hyperparameters."""

    def log_prior(self, x: Array) -> tuple[float, Array]:
        """Return the log density of logarithms of values, and its gradient."""


class InducingObjective:
    """The log evidence, and a prior if there is one, in the logarithms of the hyperparameters.

    It is a `pymc_bsvm.search.Objective`. Each evaluation starts from where the one before ended.
    Where the approximation fails the value is -inf, and `failure` says why it is so now.

    Parameters
    ----------
    model : Model
        What has the hyperparameters.
    passes : Passes
        Over the rows.
    Z : ndarray of shape (m, d)
        Inducing points.
    tau, jitter, tol
        As for `inducing_evidence` and `Features.at`.
    """

    def __init__(
        self,
        model: Model,
        passes: Passes,
        Z: Array,
        *,
        tau: float = 1.0,
        jitter: float = 1e-6,
        tol: float = TOLERANCE,
    ) -> None:
        self.model, self.passes, self.Z = model, passes, Z
        self.tau, self.jitter, self.tol = tau, jitter, tol
        self.evaluations = 0
        self.log_evidence = -np.inf
        self.failure: Exception | None = None
        self._start: Any = None

    def forget(self) -> None:
        """Start the next evaluation from nothing."""
        self._start = None

    def features(self, values: Array) -> Features:
        """Return the prior at these hyperparameters."""
        of_kernel = self.model.split(values)[1]
        return Features.at(self.model.kernel, of_kernel, self.Z, self.model.offset, self.jitter)

    def evidence(self, values: Array, start: Any = None) -> InducingEvidence | PropagatedEvidence:
        """Return the evidence at these hyperparameters, from the start of one nearby."""
        features, loss = self.features(values), self.model.loss(values)
        return inducing_evidence(
            self.passes, features, loss, tau=self.tau, around=start, tol=self.tol
        )

    @explained_numba()
    def __call__(self, x: Array) -> tuple[float, Array]:
        """Return the value and the gradient at logarithms of the hyperparameters."""
        values = np.exp(x)
        self.evaluations += 1
        try:
            evidence = self.evidence(values, self._start)
        except (ModeError, PropagationError, ValueError) as failure:
            self.log_evidence, self._start = -np.inf, None
            self.failure = failure.with_traceback(None)  # whose frames hold the features
            return -np.inf, np.zeros_like(x)
        self._start, self.failure, gradient = evidence.start, None, evidence.gradient
        of_loss = self.model.likelihood.slopes(self.model.split(values)[0], gradient.parameters)
        slope = np.concatenate([of_loss, gradient.kernel])
        self.log_evidence = evidence.log_evidence
        if not (np.isfinite(self.log_evidence) and np.isfinite(slope).all()):
            return -np.inf, np.zeros_like(x)
        log_prior, slope_of_prior = self.model.log_prior(x)
        return self.log_evidence + log_prior, slope + slope_of_prior
