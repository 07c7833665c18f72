"""Laplace's approximation: the evidence of a Gaussian process with a sparse loss, in its terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter, names_arguments, positive
from pymc_bsvm.covariance import Factor, LowRank, LowRankFactor
from pymc_bsvm.covariance.conditioned import Conditioned
from pymc_bsvm.covariance.dense_conditioned import DenseConditioned
from pymc_bsvm.covariance.inducing import Inducing
from pymc_bsvm.evidence.approximation import (
    CURVATURE,
    NORMALIZER,
    Approximation,
    Evidence,
    EvidenceCertificate,
    Problem,
)
from pymc_bsvm.evidence.gradient import EvidenceGradient, evidence_gradient
from pymc_bsvm.evidence.mode import ACCEPTED_GAP, TARGET_GAP, certified_mode
from pymc_bsvm.evidence.posterior import Posterior, condition_on, times
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.parametrized import is_symbolic
from pymc_bsvm.solvers import DualSolution
from pymc_bsvm.solvers.dual import check_kernel

if TYPE_CHECKING:
    from pymc_bsvm.graph.laplace import EvidenceTerms

__all__ = [
    "ACCEPTED_GAP",
    "TARGET_GAP",
    "Curvature",
    "Laplace",
    "LaplaceEvidence",
    "laplace_evidence",
]

type Curvature = Literal["smooth", "exact"]


@dataclass(frozen=True)
class Laplace(Approximation):
    """A Gaussian at the mode of the latent values, with the curvature of the loss there.

    Parameters
    ----------
    curvature : {"smooth", "exact"}
        Whether the curvature in the determinant has ramps or steps; see `laplace_evidence`.
    ramp_width : float, optional
        Half width of the ramps, in the loss's own units; by default the loss's `ramp_width`.
    tol : float
        Largest duality gap that is accepted, relative to ``1 + |primal|``.
    max_iter : int
        Largest number of Newton steps.
    engine : {"numpy", "numba"}
        As for `solve_dual`.

    Notes
    -----
    `tol`, `max_iter` and `engine` are for numbers. The expression in the graph of a model is always
    compiled, and its solver keeps to the defaults of the other two.

    References
    ----------
    [Chu03]_, (4.38) and (5.35); [RW06]_, (3.32).
    """

    name = "laplace"
    needs = (NORMALIZER, CURVATURE)

    curvature: Curvature = "smooth"
    ramp_width: float | None = None
    tol: float = ACCEPTED_GAP
    max_iter: int = 1000
    engine: Literal["numpy", "numba"] = "numpy"

    def __post_init__(self) -> None:
        """Check the settings; those of the solver are its own to check."""
        if self.curvature not in ("smooth", "exact"):
            raise ValueError(
                f"curvature must be 'smooth' or 'exact', but it is {self.curvature!r}. "
                "Choose one of the two."
            )
        object.__setattr__(self, "tol", as_parameter("tol", self.tol, positive))
        if self.ramp_width is not None:
            width = as_parameter("ramp_width", self.ramp_width, positive)
            object.__setattr__(self, "ramp_width", width)

    def check(self, loss: Loss) -> None:
        """Raise unless the loss has what the approximation needs, and ramps if a width is given."""
        super().check(loss)
        if self.ramp_width is not None and (self.curvature == "exact" or loss.ramp_width == 0.0):
            what = "curvature='exact'" if self.curvature == "exact" else type(loss).__name__
            raise ValueError(
                f"{what} has no ramps, but ramp_width is {self.ramp_width:g}. Leave out ramp_width."
            )

    def width(self, loss: Loss | type[Loss]) -> float:
        """Return the half width of the ramps of a loss; zero for steps."""
        if self.curvature == "exact" or loss.ramp_width == 0.0:
            return 0.0
        return loss.ramp_width if self.ramp_width is None else self.ramp_width

    def approximate(self, problem: Problem, start: Array | None = None) -> LaplaceEvidence:
        """Return the evidence at the MAP estimate; ``start`` are latent values.

        Raises
        ------
        DualSolveError
            If the MAP estimate is not found to the tolerance.
        """
        return self._from(problem, None, start)

    def _from(self, problem: Problem, a0: Array | None, f0: Array | None) -> LaplaceEvidence:
        """Return the evidence with a start for the solver: a dual, latent values or nothing."""
        settings = self.tol, self.max_iter, self.engine
        solution = certified_mode(problem, *settings, a0=a0, f0=f0)
        K, y, loss, weight = problem.K, problem.y, problem.loss, problem.sample_weight
        W = times(weight, loss.curvature(y, solution.f))
        posterior = Posterior(K, y, loss, solution.f, solution.a, W, solution.factor)
        width = self.width(loss)
        if width > 0.0:
            smooth = times(weight, loss.smooth_curvature(y, solution.f, width))
            curved = condition_on(K, smooth, solution.factor)
        else:
            curved = posterior.conditioned
        return LaplaceEvidence(self, problem, posterior, solution, curved)

    def variants(self) -> tuple[Laplace, ...]:
        """Return the exact curvature and the smooth one, with the same other settings."""
        if self.curvature == "smooth":
            return (replace(self, curvature="exact", ramp_width=None), self)
        return (self, replace(self, curvature="smooth"))

    def __str__(self) -> str:
        return f"{self.name} ({self.curvature})"


@dataclass(frozen=True, eq=False, repr=False)
class LaplaceEvidence(Evidence):
    """The Laplace approximation of ``log p(y)`` in terms, all in nats.

    Its posterior is the Gaussian at the MAP estimate, with the curvature of the loss without ramps.
    """

    approximation: Laplace
    solution: DualSolution = field(repr=False)
    """The MAP estimate with its certificate."""
    conditioned: Conditioned | DenseConditioned = field(repr=False)
    """The prior covariance conditioned on the curvature in the determinant."""

    @property
    def curvature(self) -> Curvature:
        """Whether the curvature W in the determinant has ramps or steps."""
        return self.approximation.curvature

    @property
    def ramp_width(self) -> float:
        """Half width of the ramps; zero for steps."""
        return self.approximation.width(self.problem.loss)

    @property
    def label(self) -> str:
        """The approximation; a loss without ramps has one evidence only."""
        smooth = self.problem.loss.ramp_width > 0.0
        return str(self.approximation) if smooth else self.approximation.name

    @cached_property
    def fit(self) -> float:
        """Loss of the observations at the MAP estimate, ``sum_i l(y_i, f_i)``."""
        problem = self.problem
        loss = problem.loss.value(problem.y, self.solution.f)
        return float(times(problem.sample_weight, loss).sum())

    @cached_property
    def penalty(self) -> float:
        """``a'Ka / 2``."""
        return 0.5 * float(self.solution.a @ (self.solution.f - self.problem.m))

    @property
    def log_det(self) -> float:
        """``log |I + W½ K W½|``; half of it enters the evidence."""
        return self.conditioned.log_det

    @property
    def factor(self) -> Factor | LowRankFactor:
        """The factor of the determinant's matrix on the rows with a positive curvature."""
        return self.conditioned.factor

    @cached_property
    def trace(self) -> float:
        """``sum_i W_i d_i`` for the variances d that inducing points leave out, as charged for."""
        K = self.conditioned.K
        if not (isinstance(K, Inducing) and isinstance(self.conditioned, Conditioned)):
            return 0.0
        return K.charge * float(self.conditioned.curvature @ K.left_out)

    @cached_property
    def log_normalizer(self) -> float:
        """Log normaliser of the likelihood of all observations, ``sum_i log Z_i``."""
        problem = self.problem
        log_z = np.broadcast_to(problem.loss.log_normalizer(), problem.y.shape)
        return float(times(problem.sample_weight, log_z).sum())

    @property
    def terms(self) -> Mapping[str, float]:
        """The signed terms of (4.38) and (5.35) of [Chu03]_."""
        return {
            "fit": -self.fit,
            "penalty": -self.penalty,
            "log_det": -0.5 * self.log_det,
            "log_normalizer": -self.log_normalizer,
            **({"trace": -0.5 * self.trace} if isinstance(self.problem.K, Inducing) else {}),
        }

    @property
    def statistics(self) -> Mapping[str, float]:
        """The terms as the papers write them, for the negative log evidence."""
        return {
            "fit": self.fit,
            "penalty": self.penalty,
            "log_det": self.log_det,
            "log_normalizer": self.log_normalizer,
            **({"trace": self.trace} if isinstance(self.problem.K, Inducing) else {}),
        }

    @property
    def certificate(self) -> EvidenceCertificate:
        """The duality gap of the MAP estimate, in nats."""
        found = self.solution
        return EvidenceCertificate(found.gap, found.n_iter, found.status.value)

    @cached_property
    def gradient(self) -> EvidenceGradient:
        """Derivatives with respect to the covariance, the prior mean and the loss's parameters."""
        return evidence_gradient(self)

    @property
    def start(self) -> Array:
        """The latent values."""
        return self.solution.f


@names_arguments
def laplace_evidence(
    K: ArrayLike | LowRank,
    y: ArrayLike,
    loss: Loss,
    curvature: Curvature = "smooth",
    *,
    m: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    a0: ArrayLike | None = None,
    tol: float = ACCEPTED_GAP,
    max_iter: int = 1000,
    ramp_width: float | None = None,
    check_input: bool = True,
    engine: Literal["numpy", "numba"] = "numpy",
) -> LaplaceEvidence | EvidenceTerms:
    r"""Approximate the log evidence of a model, ``log p(y) = log ∫ p(y | f) N(f; m, K) df``.

    .. math::

        -\log p(y) \approx \sum_i \ell(y_i, f_i) + \tfrac12 a'Ka
        + \tfrac12 \log\bigl|I + W^{1/2} K W^{1/2}\bigr| + \sum_i \log Z_i

    at the MAP estimate ``f = m + K a``. The determinant runs over the free support vectors only.

    Parameters
    ----------
    K : array_like of shape (n, n) or LowRank
        Prior covariance, symmetric and positive semidefinite; it may be singular. Or a `LowRank`
        one, with respect to whose A and d the gradient is.
    y : array_like of shape (n,)
        Targets: real numbers for a regression loss, -1 and +1 for a classification loss.
    loss : Loss
        A differentiable, normalised loss of `pymc_bsvm.losses`. Each of its parameters is one
        number, or a vector of one for each row.
    curvature : {"smooth", "exact"}
        The curvature W of sparse losses is a step function of f, so that the exact evidence jumps
        (by tenths of nats) as hyperparameters change, and its gradient does not see the jumps.
        "smooth" widens the steps to ramps in the determinant; the MAP estimate is the same.
    m : array_like of shape (n,) or float, optional
        Prior mean. Zero by default.
    sample_weight : array_like of shape (n,), optional
        Number of times that each row counts, not negative; it need not be whole.
    a0 : array_like of shape (n,), optional
        Dual to start from, such as that of neighbouring hyperparameters.
    tol : float, default 1e-9
        Largest duality gap that is accepted, relative to ``1 + |primal|``. The solver aims at
        1e-12 in any case.
    max_iter, check_input, engine
        As for `solve_dual`.
    ramp_width : float, optional
        Half width of the ramps, in units of ``beta epsilon`` for SILF and Huber's loss and of
        ``delta`` for the trigonometric loss. By default the loss's `ramp_width`.

    Returns
    -------
    LaplaceEvidence
        The evidence in its terms, with the MAP estimate and the posterior. If K or y is a variable
        of a PyTensor graph, or if a parameter of the loss is one, the terms are expressions that
        differentiate: a `pymc_bsvm.evidence.expression.EvidenceTerms`.

    Raises
    ------
    DualSolveError
        If the MAP estimate is not found to the tolerance.
    ValueError
        For losses without an evidence, and for arguments outside their domain.

    See Also
    --------
    pymc_bsvm.gp.Laplace : the same evidence inside a PyMC model.

    References
    ----------
    [Chu03]_, (4.38) and (5.35); [RW06]_, (3.32).

    Examples
    --------
    >>> import numpy as np
    >>> import pymc_bsvm as bsvm
    >>> x = np.linspace(-3, 3, 50)
    >>> K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    >>> evidence = bsvm.laplace_evidence(K, np.sinc(x), bsvm.losses.SILF(C=10, epsilon=0.05))
    >>> round(evidence.log_evidence, 2)
    36.77
    """
    if is_symbolic(K, y, m) or (isinstance(loss, Loss) and loss.symbolic):
        if sample_weight is not None:
            raise ValueError(
                "An evidence in a graph takes no sample_weight, but one was given. "
                "Repeat the rows instead."
            )
        if a0 is not None or max_iter != 1000 or engine != "numpy" or tol != ACCEPTED_GAP:
            raise ValueError(
                "An evidence in a graph has no use for a0, tol, max_iter and engine. "
                "Leave them at their defaults."
            )
        return _in_graph(K, y, loss, m, Laplace(curvature, ramp_width), check_input)
    approximation = Laplace(curvature, ramp_width, tol, max_iter, engine)
    approximation.check(loss)
    problem = Problem.of(K, y, loss, m, sample_weight, check_input)
    return approximation._from(problem, None if a0 is None else np.asarray(a0, dtype=float), None)


def _in_graph(
    K: Any, y: Any, loss: Loss, m: Any, approximation: Laplace, check_input: bool
) -> EvidenceTerms:
    """Return the evidence as an expression."""
    from pymc_bsvm.graph.laplace import evidence_terms  # PyTensor only where it is needed

    approximation.check(loss)
    if check_input and not is_symbolic(K):
        check_kernel(np.asarray(K, dtype=float))
    if not is_symbolic(y):
        loss.check_targets(y)
        loss.check_rows(np.size(y))
    return evidence_terms(K, y, loss, m=m, ramp_width=approximation.width(loss))
