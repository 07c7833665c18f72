"""The Laplace evidence of a Gaussian process with a sparse loss, taken apart into its terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from pymc_bsvm._validation import as_parameter, positive
from pymc_bsvm.evidence.gradient import EvidenceGradient, evidence_gradient
from pymc_bsvm.evidence.posterior import LaplacePosterior, factor_of, times
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers import DualSolution, DualSolveError, Factor, solve_dual
from pymc_bsvm.solvers.certificate import certified
from pymc_bsvm.solvers.dual import check_kernel

if TYPE_CHECKING:
    from pymc_bsvm.evidence.expression import EvidenceTerms

__all__ = [
    "ACCEPTED_GAP",
    "TARGET_GAP",
    "Curvature",
    "LaplaceEvidence",
    "check_loss",
    "laplace_evidence",
    "width_of",
]

type Curvature = Literal["smooth", "exact"]

# Duality gaps relative to 1 + |primal|. An error of the dual enters the gap at second order, but
# the determinant at first: the solver aims at more than what has to be certified.
ACCEPTED_GAP, TARGET_GAP = 1e-9, 1e-12


@dataclass(frozen=True)
class LaplaceEvidence:
    """The Laplace approximation of ``log p(y)`` in terms, all in nats."""

    fit: float
    """Loss of the observations at the MAP estimate, ``sum_i l(y_i, f_i)``."""
    penalty: float
    """``a'Ka / 2``."""
    log_det: float
    """``log |I + W½ K W½|``; half of it enters the evidence."""
    log_normalizer: float
    """Log normaliser of the likelihood of all observations, ``sum_i log Z_i``."""
    curvature: Curvature
    """Whether the curvature W in the determinant has ramps or steps."""
    ramp_width: float = field(repr=False)
    """Half width of the ramps; zero for steps."""
    solution: DualSolution
    """The MAP estimate with its certificate."""
    factor: Factor = field(repr=False)
    """The factor of the determinant's matrix on the rows with a positive curvature."""
    posterior: LaplacePosterior = field(repr=False)
    """The Gaussian in the place of the posterior of the latent values."""

    @cached_property
    def log_evidence(self) -> float:
        """``-(fit + penalty + log_det / 2 + log_normalizer)``, (4.38) and (5.35) of [Chu03]_."""
        return -(self.fit + self.penalty + 0.5 * self.log_det + self.log_normalizer)

    @cached_property
    def gradient(self) -> EvidenceGradient:
        """Derivatives with respect to the covariance, the prior mean and the loss's parameters."""
        return evidence_gradient(self)


def laplace_evidence(
    K: ArrayLike,
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
    K : array_like of shape (n, n)
        Prior covariance, symmetric and positive semidefinite; it may be singular.
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
    36.92
    """
    check_loss(loss, curvature)
    width = width_of(loss, curvature, ramp_width)
    if loss.symbolic or any(hasattr(x, "owner") for x in (K, y, m)):
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
        return _in_graph(K, y, loss, m, width, check_input)
    tol = as_parameter("tol", tol, positive)
    solution = solve_dual(
        K,
        y,
        loss,
        a0,
        min(tol, TARGET_GAP),
        m=m,
        sample_weight=sample_weight,
        max_iter=max_iter,
        on_failure="ignore",
        check_input=check_input,
        engine=engine,
    )
    if not certified(solution, tol):
        raise DualSolveError(
            f"The duality gap is {solution.gap:.3g} nats. {solution.status.value}", solution
        )
    return _of_numbers(K, y, loss, m, sample_weight, curvature, width, solution)


def _in_graph(
    K: Any, y: Any, loss: Loss, m: Any, ramp_width: float, check_input: bool
) -> EvidenceTerms:
    """Return the evidence as an expression."""
    from pymc_bsvm.evidence.expression import evidence_terms  # PyTensor only where it is needed

    if check_input and not hasattr(K, "owner"):
        check_kernel(np.asarray(K, dtype=float))
    if not hasattr(y, "owner"):
        loss.check_targets(y)
        loss.check_rows(np.size(y))
    return evidence_terms(K, y, loss, m=m, ramp_width=ramp_width)


def _of_numbers(
    K: ArrayLike,
    y: ArrayLike,
    loss: Loss,
    m: ArrayLike | None,
    sample_weight: ArrayLike | None,
    curvature: Curvature,
    ramp_width: float,
    solution: DualSolution,
) -> LaplaceEvidence:
    """Return the evidence at a MAP estimate."""
    K, y = np.ascontiguousarray(K, dtype=float), np.asarray(y, dtype=float)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
    posterior = LaplacePosterior(K, y, loss, solution, weight)
    if ramp_width > 0.0:
        factor = factor_of(K, times(weight, loss.smooth_curvature(y, solution.f, ramp_width)))
    else:
        factor = posterior.factor
    deviation = solution.f - (0.0 if m is None else np.asarray(m, dtype=float))
    return LaplaceEvidence(
        fit=float(times(weight, loss.value(y, solution.f)).sum()),
        penalty=0.5 * float(solution.a @ deviation),
        log_det=2.0 * float(np.log(np.diag(factor.cholesky)).sum()),
        log_normalizer=float(times(weight, np.broadcast_to(loss.log_normalizer(), y.shape)).sum()),
        curvature=curvature,
        ramp_width=ramp_width,
        solution=solution,
        factor=factor,
        posterior=posterior,
    )


def check_loss(loss: Loss, curvature: Curvature) -> None:
    """Raise unless the loss has a Laplace evidence with this curvature."""
    if not isinstance(loss, Loss):
        raise TypeError(
            f"loss must be a loss of pymc_bsvm.losses, but it is {loss!r}. "
            "Pass, for example, losses.SILF(C=10, epsilon=0.1)."
        )
    if curvature not in ("smooth", "exact"):
        raise ValueError(
            f"curvature must be 'smooth' or 'exact', but it is {curvature!r}. "
            "Choose one of the two."
        )
    if not loss.normalized:
        loss.log_normalizer()  # raises, with the remedy
    if not loss.differentiable:
        raise ValueError(
            f"{type(loss).__name__} has no curvature, so that its Laplace evidence is not defined. "
            "Use SILF with beta > 0, which rounds the kinks: 0.3, or less for many rows."
        )


def width_of(loss: Loss, curvature: Curvature, ramp_width: float | None) -> float:
    """Return the half width of the ramps; zero for none."""
    if ramp_width is not None:
        ramp_width = as_parameter("ramp_width", ramp_width, positive)
        if curvature == "exact" or loss.ramp_width == 0.0:
            what = "curvature='exact'" if curvature == "exact" else type(loss).__name__
            raise ValueError(
                f"{what} has no ramps, but ramp_width is {ramp_width:g}. Leave out ramp_width."
            )
    if curvature == "exact" or loss.ramp_width == 0.0:
        return 0.0
    return loss.ramp_width if ramp_width is None else ramp_width
