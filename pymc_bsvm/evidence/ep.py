"""Expectation propagation as an approximation of the evidence, with its gradient."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter, names_arguments, positive
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.covariance.conditioned import Conditioned
from pymc_bsvm.evidence.approximation import (
    NORMALIZER,
    Approximation,
    Evidence,
    EvidenceCertificate,
    Problem,
)
from pymc_bsvm.evidence.gradient import EvidenceGradient, LowRankSlopes
from pymc_bsvm.evidence.posterior import Posterior, times
from pymc_bsvm.evidence.propagation import PropagationStatus, propagated
from pymc_bsvm.evidence.sites import sites_from
from pymc_bsvm.evidence.sweep import Sweep
from pymc_bsvm.losses import Loss
from pymc_bsvm.losses.parametrized import is_symbolic
from pymc_bsvm.solvers import DualSolution, DualSolveError

__all__ = ["EP", "EPError", "EPEvidence", "EPWarning", "ep_evidence"]

type OnFailure = Literal["raise", "warn", "ignore"]


@dataclass(frozen=True)
class EP(Approximation):
    """Expectation propagation: a Gaussian whose rows have the moments of their tilted densities.

    Parameters
    ----------
    tol : float
        Largest residual that is accepted; see `EPEvidence.residual`.
    max_iter : int
        Largest number of sweeps, each with one factorisation, from a start.
    on_failure : {"raise", "warn", "ignore"}
        What to do if the residual stays above the tolerance.
    engine : {"numpy", "numba"}
        As for `solve_dual`, which finds where a search from nothing begins.

    References
    ----------
    [RW06]_, section 3.6.
    """

    name = "ep"
    needs = (NORMALIZER,)

    tol: float = 1e-6
    max_iter: int = 200
    on_failure: OnFailure = "raise"
    engine: Literal["numpy", "numba"] = "numpy"

    def __post_init__(self) -> None:
        """Check the settings."""
        object.__setattr__(self, "tol", as_parameter("tol", self.tol, positive))
        if self.on_failure not in ("raise", "warn", "ignore"):
            raise ValueError(
                "on_failure must be 'raise', 'warn' or 'ignore', but it is "
                f"{self.on_failure!r}. Choose one of the three."
            )
        if not (isinstance(self.max_iter, int) and self.max_iter > 0):
            raise ValueError(
                f"max_iter must be a positive whole number, but it is {self.max_iter!r}. "
                "Pass the largest number of sweeps, such as 200."
            )

    def approximate(self, problem: Problem, start: Array | None = None) -> EPEvidence:
        """Return the evidence at the fixed point; ``start`` is that of a neighbouring problem.

        Raises
        ------
        EPError
            If the fixed point is not found to the tolerance.
        """
        sites = None if start is None else sites_from(problem, start)
        sweep, n_iter, status = propagated(problem, sites, self.tol, self.max_iter, self.engine)
        if sweep is None:
            raise EPError(status.value, problem.solve())
        posterior = Posterior(
            problem.K, problem.y, problem.loss, sweep.mean, sweep.a, sweep.precision
        )
        evidence = EPEvidence(self, problem, posterior, sweep, n_iter, status)
        if not evidence.converged:
            _report(evidence, self.on_failure)
        return evidence


@dataclass(frozen=True, eq=False, repr=False)
class EPEvidence(Evidence):
    r"""The evidence of expectation propagation in terms, all in nats.

    With the cavities ``N(c_i, v_i)``, of the averaged likelihoods ``Z_i``, and ``w_i`` equal sites
    of precision ``tau_i`` for a row that counts ``w_i`` times,

    .. math::

        \log Z = \sum_i w_i \Bigl[\log Z_i + \frac{v_i a_i^2}{2 w_i^2}
        + \tfrac12 \log(1 + \tau_i v_i)\Bigr] - \tfrac12 a'Ka
        - \tfrac12 \log\bigl|I + T^{1/2} K T^{1/2}\bigr|, \qquad T_i = w_i \tau_i.
    """

    approximation: EP
    sweep: Sweep = field(repr=False)
    """The last look at all rows."""
    n_iter: int
    """Number of sweeps, those from a start that failed included."""
    status: PropagationStatus

    @property
    def terms(self) -> Mapping[str, float]:
        """The signed terms: fit, penalty, what the sites overlap, and the determinant."""
        return self.sweep.terms

    @property
    def residual(self) -> float:
        """The largest difference of moments over all rows, in units of the marginals."""
        return self.sweep.error

    @property
    def converged(self) -> bool:
        """Whether the residual is below the tolerance."""
        return self.status is PropagationStatus.CONVERGED

    @property
    def certificate(self) -> EvidenceCertificate:
        """The residual of the fixed point."""
        return EvidenceCertificate(self.residual, self.n_iter, self.status.value)

    @property
    def mean(self) -> Array:
        """Mean of the latent values, of shape (n,)."""
        return self.posterior.mean

    @property
    def variance(self) -> Array:
        """Variance of the latent values, of shape (n,), in squared units of f."""
        return self.sweep.variance

    @property
    def log_predictive(self) -> Array:
        """Log density of each observation given all others, of shape (n,), in nats."""
        return self.sweep.tilted.log_z

    @property
    def start(self) -> Array:
        """Precisions and shifts of the sites of ``f``, one after the other."""
        precision, shift = self.sweep.sites
        return np.concatenate([precision, shift + precision * self.problem.m])

    @cached_property
    def gradient(self) -> EvidenceGradient:
        """Derivatives with respect to the covariance, the prior mean and the loss's parameters.

        The evidence is stationary in the sites, so that the explicit ones suffice:
        ``d log Z = tr[(aa' - R) dK] / 2 + a'dm + sum_i w_i (d log Z_i / dp) dp``.
        """
        problem, sweep, a = self.problem, self.sweep, self.sweep.a
        n, loss = a.size, problem.loss
        of_K: Array | LowRankSlopes
        if isinstance(sweep.conditioned, Conditioned):
            of_K = LowRankSlopes(*sweep.conditioned.pull_back([(0.5, a, a)], share=-0.5))
        else:
            of_K = 0.5 * (np.outer(a, a) - sweep.conditioned.reduce(np.eye(n)))
        by_row = loss.tilted_slopes(problem.y, sweep.cavity.mean, sweep.cavity.variance)
        fields = zip(loss.fields.values(), by_row, strict=True)
        counted = ((value, times(problem.sample_weight, slope)) for value, slope in fields)
        parameters = tuple(x if np.ndim(value) else float(x.sum()) for value, x in counted)
        return EvidenceGradient(np.arange(n), of_K, a, parameters)


class EPError(DualSolveError):
    """Expectation propagation that did not reach its tolerance.

    `evidence` holds what it found, if anything, and `solution` the MAP estimate of the same model.
    """

    def __init__(
        self, message: str, solution: DualSolution, evidence: EPEvidence | None = None
    ) -> None:
        super().__init__(message, solution)
        self.evidence = evidence

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle all arguments."""
        return type(self), (*self.args, self.solution, self.evidence), self.__dict__


class EPWarning(UserWarning):
    """Expectation propagation did not reach its tolerance, and the caller asked for a warning."""


def _report(evidence: EPEvidence, on_failure: OnFailure) -> None:
    """Say that the tolerance was not reached."""
    if on_failure == "ignore":
        return
    message = f"The residual is {evidence.residual:.3g}. {evidence.status.value}"
    if on_failure == "warn":
        warnings.warn(message, EPWarning, stacklevel=5)
        return
    raise EPError(message, evidence.problem.solve(), evidence)


@names_arguments
def ep_evidence(
    K: ArrayLike | LowRank,
    y: ArrayLike,
    loss: Loss,
    *,
    m: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    start: ArrayLike | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    on_failure: OnFailure = "raise",
    check_input: bool = True,
    engine: Literal["numpy", "numba"] = "numpy",
) -> EPEvidence:
    r"""Approximate the log evidence of a model by expectation propagation.

    Each row's likelihood is replaced by a Gaussian site such that the marginal of its latent value
    has the moments of the *tilted density*, the likelihood times the Gaussian of all other rows.
    It takes losses with kinks, and sees what is behind a wall or a flat zone, where Laplace's
    method looks at the mode alone. It takes a factorisation for each of some ten sweeps.

    Parameters
    ----------
    K : array_like of shape (n, n) or LowRank
        Prior covariance, symmetric and positive semidefinite; it may be singular. Or a `LowRank`
        one, with respect to whose A and d the gradient is.
    y : array_like of shape (n,)
        Targets: real numbers for a regression loss, -1 and +1 for a classification loss.
    loss : Loss
        A normalised loss of `pymc_bsvm.losses`, with kinks or without. Each of its parameters is
        one number, or a vector of one for each row.
    m : array_like of shape (n,) or float, optional
        Prior mean. Zero by default.
    sample_weight : array_like of shape (n,), optional
        Number of times that each row counts: a weight of two is a row that stands twice.
    start : array_like of shape (2 n,), optional
        `EPEvidence.start` of a neighbouring problem. Where it fails, the sweeps begin once more
        from nothing, which is from Laplace's approximation.
    tol : float, default 1e-6
        Largest residual: the difference of the precisions in units of the marginal ones, and of
        the duals in units of one over a standard deviation. The error of the evidence is of second
        order in it, that of the gradient of the first.
    max_iter : int, default 200
        Largest number of sweeps from a start.
    on_failure : {"raise", "warn", "ignore"}
        What to do if the residual stays above the tolerance. The status tells in any case.
    check_input, engine
        As for `solve_dual`.

    Returns
    -------
    EPEvidence
        The evidence in its terms, with the posterior, the leave-one-out densities, the gradient
        and the residual.

    Raises
    ------
    EPError
        If the tolerance is not reached and `on_failure` is "raise".
    ValueError
        For losses without an evidence, and for arguments outside their domain.

    References
    ----------
    [RW06]_, section 3.6.

    Examples
    --------
    >>> import numpy as np
    >>> import pymc_bsvm as bsvm
    >>> x = np.linspace(-3, 3, 50)
    >>> K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    >>> evidence = bsvm.ep_evidence(K, np.sinc(x), bsvm.losses.SILF(C=10, epsilon=0.05))
    >>> round(evidence.log_evidence, 2)
    37.26
    """
    approximation = EP(tol, max_iter, on_failure, engine)
    approximation.check(loss)
    if is_symbolic(K, y, m) or loss.symbolic:
        raise TypeError(
            "ep_evidence takes numbers, but a model variable was given. "
            "Use pymc_bsvm.graph.log_evidence(approximations.EP(), K, y, loss, m=m)."
        )
    problem = Problem.of(K, y, loss, m, sample_weight, check_input)
    return approximation.approximate(problem, None if start is None else np.asarray(start))
