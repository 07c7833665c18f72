"""What an approximation of the evidence is, and what it says about one model.

The evidence ``p(y) = ∫ p(y | f) N(f; m, K) df`` of a sparse likelihood has no closed form. An
`Approximation` puts a Gaussian in the place of the posterior of the latent values and a number in
that of the evidence. Models, fits, plots and estimators ask nothing else of it, so that a new one
is a subclass of `Approximation` with an `Evidence` of its own.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.evidence.gradient import EvidenceGradient
from pymc_bsvm.evidence.posterior import Cavity, Posterior
from pymc_bsvm.evidence.prediction import log_predictive_density
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers import DualSolution
from pymc_bsvm.solvers.dual import as_problem, solve_problem
from pymc_bsvm.solvers.solution import failure_of

__all__ = [
    "CURVATURE",
    "NORMALIZER",
    "Approximation",
    "Evidence",
    "EvidenceCertificate",
    "Need",
    "Problem",
    "approximation_of",
]


class Need(NamedTuple):
    """What an approximation needs of a loss, in words from which its errors are made."""

    met: Callable[[Loss], bool]
    lack: str
    """What is wrong with a loss that does not meet it, as in "Hinge has no curvature"."""
    remedy: str


def _is_normalized(loss: Loss) -> bool:
    return loss.normalized


def _is_differentiable(loss: Loss) -> bool:
    return loss.differentiable


NORMALIZER = Need(
    _is_normalized,
    "is not a negative log likelihood: its normaliser depends on f",
    "Use Trigonometric, Logistic or Probit where probabilities are needed.",
)
CURVATURE = Need(
    _is_differentiable,
    "has no curvature",
    "Use SILF with beta > 0, which rounds the kinks, or expectation propagation: EP().",
)


@dataclass(frozen=True, eq=False)
class Problem:
    """A model with numbers: what an evidence is of."""

    K: Array | LowRank = field(repr=False)
    """Prior covariance, of shape (n, n), or one of low rank."""
    y: Array = field(repr=False)
    """Targets; labels are -1 and +1."""
    loss: Loss
    m: Array = field(repr=False)
    """Prior mean, of shape (n,)."""
    sample_weight: Array | None = field(default=None, repr=False)
    """Number of times that each row counts; once if it is None."""

    @classmethod
    def of(
        cls,
        K: ArrayLike | LowRank,
        y: ArrayLike,
        loss: Loss,
        m: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Check the arguments, which are those of `solve_dual`."""
        K, y, m, w = as_problem(K, y, loss, m, sample_weight, check_input)
        return cls(K, y, loss, m, None if sample_weight is None else w)

    @property
    def weights(self) -> Array:
        """How often each row counts, of shape (n,)."""
        return np.ones(self.y.size) if self.sample_weight is None else self.sample_weight

    def solve(
        self,
        a0: Array | None = None,
        f0: Array | None = None,
        tol: float = 1e-9,
        max_iter: int = 1000,
        engine: str = "numpy",
    ) -> DualSolution:
        """Return the MAP estimate, with whatever gap; see `solve_dual` for the settings."""
        given = self.K, self.y, self.loss, self.m, self.sample_weight
        return solve_problem(*given, a0, f0, tol, max_iter, engine)


class EvidenceCertificate(NamedTuple):
    """How well the equations of an approximation are solved."""

    residual: float
    """What is left of them: the duality gap in nats, where there is one."""
    n_iter: int
    status: str
    """How it ended, in a sentence."""


@dataclass(frozen=True, eq=False)
class Evidence(ABC):
    """What an approximation says about a model; all terms are in nats."""

    approximation: Approximation
    problem: Problem = field(repr=False)
    posterior: Posterior = field(repr=False)
    """The Gaussian in the place of the posterior of the latent values."""

    @property
    @abstractmethod
    def terms(self) -> Mapping[str, float]:
        """The signed terms by name; their sum is the log evidence."""

    @property
    @abstractmethod
    def certificate(self) -> EvidenceCertificate:
        """How well the equations of the approximation are solved."""

    @property
    @abstractmethod
    def gradient(self) -> EvidenceGradient:
        """Derivatives with respect to the covariance, the prior mean and the loss's parameters."""

    @property
    def start(self) -> Array:
        """What a neighbouring problem may start from, a vector; empty if that does not help."""
        return np.zeros(0)

    @property
    def label(self) -> str:
        """What tells this evidence from those of other approximations."""
        return str(self.approximation)

    @property
    def statistics(self) -> Mapping[str, float]:
        """What a report lists beside the log evidence."""
        return self.terms

    @cached_property
    def log_evidence(self) -> float:
        """The sum of the terms."""
        return float(sum(self.terms.values()))

    @cached_property
    def cavity(self) -> Cavity:
        """The latent values without their own observation; one of them, where a row counts more."""
        return self.posterior.cavity_beside(self.problem.sample_weight)

    @cached_property
    def log_predictive(self) -> Array:
        """Log density of each observation given all others, of shape (n,), in nats."""
        problem, cavity = self.problem, self.cavity
        return log_predictive_density(problem.loss, problem.y, cavity.mean, cavity.variance)

    @cached_property
    def solution(self) -> DualSolution:
        """The MAP estimate with its support vectors, whatever the approximation."""
        solution = self.problem.solve(self.posterior.a)
        if not solution.converged:
            raise failure_of(solution)
        return solution

    def __repr__(self) -> str:
        terms = ", ".join(f"{name}={value:.6g}" for name, value in self.statistics.items())
        return (
            f"{type(self).__name__}(log_evidence={self.log_evidence:.6g}, {terms}, "
            f"residual={self.certificate.residual:.2g}, {self.label!r})"
        )


class Approximation(ABC):
    """A way to approximate the evidence: an immutable, hashable object of a few settings.

    A subclass states its ``name``, what it needs of a loss, and `approximate`. By default its
    graph in PyTensor models calls that, with exact first derivatives; see
    `pymc_bsvm.graph.evidence.log_evidence`.
    """

    name: ClassVar[str]
    """What ``approximation=`` takes in the place of an instance."""
    needs: ClassVar[tuple[Need, ...]] = (NORMALIZER,)
    """What it needs of a loss."""

    @abstractmethod
    def approximate(self, problem: Problem, start: Array | None = None) -> Evidence:
        """Return the evidence of a problem whose arguments and loss have been checked.

        Parameters
        ----------
        problem : Problem
            The model.
        start : ndarray, optional
            `Evidence.start` of a neighbouring problem.
        """

    def evidence(
        self,
        K: ArrayLike | LowRank,
        y: ArrayLike,
        loss: Loss,
        *,
        m: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        start: Array | None = None,
        check_input: bool = True,
    ) -> Evidence:
        """Return the evidence of a model.

        Parameters
        ----------
        K, y, loss, m, sample_weight, check_input
            As for `pymc_bsvm.laplace_evidence`.
        start : ndarray, optional
            `Evidence.start` of a neighbouring problem.

        Returns
        -------
        Evidence
        """
        self.check(loss)
        return self.approximate(Problem.of(K, y, loss, m, sample_weight, check_input), start)

    def check(self, loss: Loss) -> None:
        """Raise unless the loss has what the approximation needs."""
        if not isinstance(loss, Loss):
            raise TypeError(
                f"loss must be a loss of pymc_bsvm.losses, but it is {loss!r}. "
                "Pass, for example, losses.SILF(C=10, epsilon=0.1)."
            )
        for need in self.needs:
            if not need.met(loss):
                raise ValueError(
                    f"{type(loss).__name__} {need.lack}, so that its {self.name} evidence is not "
                    f"defined. {need.remedy}"
                )

    def variants(self) -> tuple[Approximation, ...]:
        """Return what a plot or a verdict sets side by side, this approximation among them."""
        return (self,)

    def __str__(self) -> str:
        return self.name


def approximation_of(
    approximation: str | Approximation | None, curvature: str | None = None
) -> Approximation:
    """Return an approximation from its name or itself.

    Parameters
    ----------
    approximation : str, Approximation or None
        None is Laplace's.
    curvature : str, optional
        Shorthand for that of Laplace's approximation; refused with any other.

    Raises
    ------
    ValueError
        For unknown names, or for a curvature beside another approximation.
    """
    chosen: Approximation
    if isinstance(approximation, Approximation):
        chosen = approximation
    else:
        named = {cls.name: cls for cls in _subclasses(Approximation)}
        name = "laplace" if approximation is None else approximation
        if not isinstance(name, str) or name not in named:
            raise ValueError(
                f"approximation must be one of {', '.join(map(repr, sorted(named)))}, but it is "
                f"{name!r}. Pass one of these names, or an object of pymc_bsvm.approximations."
            )
        shorthand = name == "laplace" and curvature is not None
        chosen = named[name](curvature=curvature) if shorthand else named[name]()
        curvature = None if shorthand else curvature
    if curvature is not None:
        raise ValueError(
            f"curvature is {curvature!r}, but it belongs to Laplace's approximation given by name. "
            f"Leave out curvature, or set it on the instance: Laplace(curvature={curvature!r})."
        )
    return chosen


def _subclasses(cls: Any) -> list[Any]:
    """Return the concrete subclasses that have a name, however deep."""
    found: list[Any] = []
    for child in cls.__subclasses__():
        named = "name" in child.__dict__ and not getattr(child, "__abstractmethods__", None)
        found += ([child] if named else []) + _subclasses(child)
    return found
