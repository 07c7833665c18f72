"""The evidence of the epsilon-insensitive loss from its margin support vectors, with its gradient.

The loss has no curvature to put into a determinant. Gao, Gunn, Harris and Brown keep the linear
terms instead: at the MAP estimate the slope of the log posterior jumps in the rows M on an edge of
the tube, and it is zero in all others. The other rows are integrated out under the prior, the rows
of M one by one, as if each were alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import as_parameter, names_arguments, positive
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.covariance.product import exact_product
from pymc_bsvm.evidence.approximation import (
    Approximation,
    Evidence,
    EvidenceCertificate,
    Need,
    Problem,
)
from pymc_bsvm.evidence.gradient import EvidenceGradient, LowRankSlopes
from pymc_bsvm.evidence.margin import Margin
from pymc_bsvm.evidence.mode import ACCEPTED_GAP, certified_mode
from pymc_bsvm.evidence.posterior import Posterior, times
from pymc_bsvm.losses import EpsilonInsensitive, Loss
from pymc_bsvm.losses.parametrized import is_symbolic
from pymc_bsvm.losses.tilted import normalizer_slopes
from pymc_bsvm.solvers import DualSolution

__all__ = ["Gao", "GaoEvidence", "gao_evidence"]

_SHARP = 1e12  # precision of a row on the margin, in units of the prior's: it stands for infinity

TUBE = Need(
    lambda loss: isinstance(loss, EpsilonInsensitive),
    "is not the epsilon-insensitive loss",
    "Use losses.EpsilonInsensitive, or another approximation: Laplace() or EP().",
)


@dataclass(frozen=True)
class Gao(Approximation):
    """The integral over the kinks of the epsilon-insensitive loss at the MAP estimate.

    Parameters
    ----------
    tol : float
        Largest duality gap that is accepted, relative to ``1 + |primal|``.
    max_iter : int
        Largest number of Newton steps.
    engine : {"numpy", "numba"}
        As for `solve_dual`.

    References
    ----------
    [GGHB02]_, (16) and (22).
    """

    name = "gao"
    needs = (TUBE,)

    tol: float = ACCEPTED_GAP
    max_iter: int = 1000
    engine: Literal["numpy", "numba"] = "numpy"

    def __post_init__(self) -> None:
        """Check the settings; those of the solver are its own to check."""
        object.__setattr__(self, "tol", as_parameter("tol", self.tol, positive))

    def approximate(self, problem: Problem, start: Array | None = None) -> GaoEvidence:
        """Return the evidence at the MAP estimate; ``start`` is a dual.

        Raises
        ------
        DualSolveError
            If the MAP estimate is not found to the tolerance.
        ValueError
            If the covariance of the margin support vectors is singular.
        """
        solution = certified_mode(problem, self.tol, self.max_iter, self.engine, a0=start)
        C, _ = _fields(problem)
        margin = Margin.of(problem, solution, C)
        precision = np.zeros(C.size)
        precision[margin.rows] = _SHARP / problem.K.diagonal()[margin.rows]
        posterior = Posterior(problem.K, problem.y, problem.loss, solution.f, solution.a, precision)
        return GaoEvidence(self, problem, posterior, solution, margin)


@dataclass(frozen=True, eq=False, repr=False)
class GaoEvidence(Evidence):
    r"""The evidence (16) of [GGHB02]_ in terms, all in nats.

    Its posterior has the mean of the MAP estimate and the variance (22): rows on the margin are
    known, all others say nothing. Sites of a precision of 10¹² prior ones stand for the former.
    """

    approximation: Gao
    solution: DualSolution = field(repr=False)
    """The MAP estimate with its certificate."""
    margin: Margin = field(repr=False)
    """The support vectors on the edges of the tube."""

    @property
    def terms(self) -> Mapping[str, float]:
        """The signed terms: fit, penalty, the determinant, the kinks and the normaliser."""
        problem, posterior = self.problem, self.posterior
        weight, loss = problem.sample_weight, problem.loss
        lost = times(weight, loss.value(problem.y, posterior.mean))
        log_z = times(weight, np.broadcast_to(loss.log_normalizer(), problem.y.shape))
        return {
            "fit": -float(lost.sum()),
            "penalty": -0.5 * float(posterior.a @ (posterior.mean - problem.m)),
            "log_det": -0.5 * self.margin.log_det,
            "kinks": float(self.margin.log_widths.sum()),
            "log_normalizer": -float(log_z.sum()),
        }

    @property
    def certificate(self) -> EvidenceCertificate:
        """The duality gap of the MAP estimate, in nats."""
        found = self.solution
        return EvidenceCertificate(found.gap, found.n_iter, found.status.value)

    @property
    def start(self) -> Array:
        """The dual."""
        return self.posterior.a

    @cached_property
    def gradient(self) -> EvidenceGradient:
        """Derivatives with respect to the covariance, the prior mean and the loss's parameters.

        Those of the stated value while the sets of support vectors stay. With ``c`` the derivative
        of the kinks' term in ``a_M`` and ``u = K_MM⁻¹ c``, zero elsewhere,
        ``d log p = tr[(aa' - ua' - au' - K_MM⁻¹) dK] / 2 + (a - u)'(dm - dy) + ...``
        """
        margin, a = self.margin, self.posterior.a
        u = np.zeros(a.size)
        u[margin.rows] = margin.solve(margin.slopes)
        fields = zip(self.problem.loss.fields.values(), self._by_row(u), strict=True)
        parameters = tuple(x if np.ndim(value) else float(x.sum()) for value, x in fields)
        K = self.problem.K
        if isinstance(K, LowRank):
            slopes = _low_rank_slopes(K, margin, a, u)
            return EvidenceGradient(np.arange(a.size), slopes, a - u, parameters)
        rows = np.flatnonzero(a)
        place = np.searchsorted(rows, margin.rows)
        a, u = a[rows], u[rows]
        G = 0.5 * np.outer(a, a - u) - 0.5 * np.outer(u, a)
        G[np.ix_(place, place)] -= 0.5 * margin.solve(np.eye(place.size))
        return EvidenceGradient(rows, G, a - u, parameters)

    def _by_row(self, u: Array) -> Array:
        """Return the derivatives with respect to C and epsilon of each row, of shape (2, n).

        A bound row has the dual ``± C``, which moves the margin; the margin is at ``± epsilon``.
        """
        problem, margin, a = self.problem, self.margin, self.posterior.a
        weight, (_, epsilon) = problem.weights, _fields(problem)
        side, bound = np.sign(a), a != 0.0
        bound[margin.rows] = False
        of_C, of_epsilon = -weight * normalizer_slopes(problem.loss, a.size)
        beyond = np.abs(problem.y - self.posterior.mean) - epsilon
        of_C -= np.where(bound, weight * (beyond + side * exact_product(problem.K, u)), 0.0)
        out_of_it = margin.most - np.abs(margin.a)
        of_C[margin.rows] += weight[margin.rows] * (1.0 / margin.most - 1.0 / out_of_it)
        of_epsilon += np.abs(a) - side * u
        return np.stack([of_C, of_epsilon])


@names_arguments
def gao_evidence(
    K: ArrayLike | LowRank,
    y: ArrayLike,
    loss: Loss,
    *,
    m: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    a0: ArrayLike | None = None,
    tol: float = ACCEPTED_GAP,
    max_iter: int = 1000,
    check_input: bool = True,
    engine: Literal["numpy", "numba"] = "numpy",
) -> GaoEvidence:
    r"""Approximate the log evidence of the epsilon-insensitive loss from its kinks.

    .. math::

        \log p(y) \approx -\tfrac12 a'Ka - \sum_i \ell(y_i, f_i) - \sum_i \log Z_i
        - \tfrac12 \log\lvert 2\pi K_{MM}\rvert
        + \sum_{i \in M} \log \frac{C}{\lvert a_i\rvert (C - \lvert a_i\rvert)}

    at the MAP estimate ``f = m + K a``, with M the rows on an edge of the tube. A row that counts w
    times has w C in the place of C.

    Parameters
    ----------
    K : array_like of shape (n, n) or LowRank
        Prior covariance, symmetric and positive definite on the rows of M. Or a `LowRank` one, with
        respect to whose A and d the gradient is.
    y : array_like of shape (n,)
        Targets.
    loss : EpsilonInsensitive
        The loss. Each of its parameters is one number, or a vector of one for each row.
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

    Returns
    -------
    GaoEvidence
        The evidence in its terms, with the MAP estimate, the margin, the posterior and gradient.

    Raises
    ------
    DualSolveError
        If the MAP estimate is not found to the tolerance.
    ValueError
        For other losses, for arguments outside their domain, and where K is singular on M.

    Notes
    -----
    It is never below the log evidence, and in ``benchmarks/gao.md`` 11 to 26 nats above it, where
    expectation propagation is within 0.04. It is not continuous. Where a row enters or leaves M,
    one of ``|a|`` and ``C - |a|`` falls to zero and the evidence rises without bound, and on the
    other side the row's terms are missing. The gradient is exact in between, and does not see the
    steps.

    References
    ----------
    [GGHB02]_, (16).

    Examples
    --------
    >>> import numpy as np
    >>> import pymc_bsvm as bsvm
    >>> x = np.linspace(-3, 3, 50)
    >>> K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    >>> loss = bsvm.losses.EpsilonInsensitive(C=10, epsilon=0.05)
    >>> evidence = bsvm.gao_evidence(K, np.sinc(x), loss)
    >>> round(evidence.log_evidence, 2)
    54.86
    """
    approximation = Gao(tol, max_iter, engine)
    approximation.check(loss)
    if is_symbolic(K, y, m) or loss.symbolic:
        raise TypeError(
            "gao_evidence takes numbers, but a model variable was given. "
            "Use pymc_bsvm.graph.log_evidence(approximations.Gao(), K, y, loss, m=m)."
        )
    problem = Problem.of(K, y, loss, m, sample_weight, check_input)
    return approximation.approximate(problem, None if a0 is None else np.asarray(a0, dtype=float))


def _fields(problem: Problem) -> tuple[Array, Array]:
    """Return C and epsilon of each row."""
    loss = problem.loss
    assert isinstance(loss, EpsilonInsensitive)
    n = problem.y.shape
    return np.broadcast_to(loss.C, n), np.broadcast_to(loss.epsilon, n)


def _low_rank_slopes(K: LowRank, margin: Margin, a: Array, u: Array) -> LowRankSlopes:
    """Return the derivatives with respect to A and d."""
    rows = margin.rows
    of_A = np.outer(a - u, a @ K.A) - np.outer(a, u @ K.A)
    of_A[rows] -= margin.solve(K.A[rows])
    of_d = 0.5 * a * a - a * u
    of_d[rows] -= 0.5 * np.diag(margin.solve(np.eye(rows.size)))
    return LowRankSlopes(of_A, float(of_d.sum()) if isinstance(K.d, float) else of_d)
