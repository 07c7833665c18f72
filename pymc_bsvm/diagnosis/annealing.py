"""An unbiased estimate of the evidence, and the posterior of the latent values, by annealing.

Particles start from the Gaussian of expectation propagation and follow a path of distributions to
the posterior (annealed importance sampling), moved by elliptical slice sampling. Nothing here
relies on Laplace's method, so that it can tell how far off that is.
"""

from __future__ import annotations

import logging
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from rich.progress import Progress
from scipy.special import logsumexp

from pymc_bsvm._typing import Array
from pymc_bsvm._validation import check_finite, generator_of, names_arguments
from pymc_bsvm.covariance import LowRank
from pymc_bsvm.diagnosis.path import Path, Run, anneal
from pymc_bsvm.diagnosis.propagation import SiteGaussian, propagated
from pymc_bsvm.diagnosis.white_prior import WhitePrior
from pymc_bsvm.evidence.approximation import Problem
from pymc_bsvm.losses import Loss
from pymc_bsvm.solvers.dual import check_kernel

__all__ = ["AnnealedEvidence", "LatentMoments", "anneal_problem", "annealed_evidence"]

_LOGGER = logging.getLogger("pymc_bsvm")

type Base = Literal["EP", "prior"]

_POWERS = {"EP": 2.0, "prior": 4.0}  # of the temperatures: most change is next to the base


class LatentMoments(NamedTuple):
    """Posterior moments of latent values, each of shape (n,), in units of f."""

    mean: Array
    sd: Array
    mean_error: Array
    """Monte Carlo standard error of the mean."""


@dataclass(frozen=True)
class AnnealedEvidence:
    """An unbiased estimate of ``p(y)``, and weighted particles of the latent posterior."""

    log_evidence: float
    """Log of the estimate, in nats."""
    standard_error: float
    """Of the log evidence, in nats: the larger one of the delta method over all particles and of
    the spread of the replicates."""
    replicates: Array = field(repr=False)
    """Log evidence of each replicate, of shape (replicates,), in nats."""
    f: Array = field(repr=False)
    """Latent values of the particles, of shape (particles, n)."""
    weights: Array = field(repr=False)
    """Weights of the particles, of shape (particles,); they sum to one."""
    base: Base
    """What the particles started from."""
    _white: Array = field(repr=False)
    _prior: WhitePrior = field(repr=False)

    @property
    def ess(self) -> float:
        """Effective number of particles, ``1 / sum(weights²)``."""
        return float(1.0 / (self.weights**2).sum())

    @property
    def efficiency(self) -> float:
        """Effective share of the particles."""
        return self.ess / self.weights.size

    @cached_property
    def moments(self) -> LatentMoments:
        """Posterior means and standard deviations of the latent values at the data."""
        mean, variance, error = self._linear(self._prior.root)
        return LatentMoments(self._prior.m + mean, np.sqrt(variance), error)

    def predict(self, cross: ArrayLike, prior: ArrayLike, m: ArrayLike = 0.0) -> LatentMoments:
        """Return posterior means and standard deviations of new latent values.

        Parameters
        ----------
        cross : array_like of shape (n, n_new)
            Prior covariance of the training rows with the new ones.
        prior : array_like of shape (n_new,)
            Prior variances of the new rows.
        m : array_like of shape (n_new,) or float, default 0
            Prior mean of the new rows.

        Returns
        -------
        LatentMoments
            Each of shape (n_new,).

        Notes
        -----
        Given one particle, a new value is Gaussian, (2.19) of [RW06]_ without noise. Its mean
        ``k' K⁻¹ (f - m)`` is linear in the particle's whitened coordinates, which the sampler
        carries along, with coefficients that are bounded even where K is singular. So no system in
        K is solved, and the moments over all particles need only the coordinates' own.
        """
        cross, prior = np.asarray(cross, dtype=float), np.asarray(prior, dtype=float)
        if cross.ndim != 2 or cross.shape[0] != self.f.shape[1]:
            raise ValueError(
                f"cross must have {self.f.shape[1]} rows, but its shape is {cross.shape}. "
                "Pass the prior covariance of all training rows with the new ones."
            )
        rows = self._prior.project(cross)
        mean, variance, error = self._linear(rows)
        left = np.maximum(prior - np.einsum("ij,ij->i", rows, rows), 0.0)
        return LatentMoments(np.asarray(m, dtype=float) + mean, np.sqrt(left + variance), error)

    def draws(self, size: int, random_seed: Any = None) -> Array:
        """Draw latent values from the weighted particles, with replacement.

        Parameters
        ----------
        size : int
            Number of draws.
        random_seed : int or Generator, optional
            Seed.

        Returns
        -------
        ndarray of shape (size, n)
        """
        rng = np.random.default_rng(random_seed)
        return np.asarray(self.f[rng.choice(self.weights.size, size, p=self.weights)])

    def _linear(self, rows: Array) -> tuple[Array, Array, Array]:
        """Return mean, variance and error of the mean of linear functions of the coordinates."""
        mean, covariance, of_mean = self._white_moments
        variance, error = (
            np.maximum(np.einsum("ij,ij->i", rows @ matrix, rows), 0.0)
            for matrix in (covariance, of_mean)
        )
        return rows @ mean, variance, np.sqrt(error)

    @cached_property
    def _white_moments(self) -> tuple[Array, Array, Array]:
        """Mean and covariance of the whitened coordinates, and the covariance of that mean."""
        mean = self.weights @ self._white
        apart = self.weights[:, None] * (self._white - mean)
        of_mean = apart.T @ apart
        bias = 1.0 - 1.0 / self.ess
        covariance = (self._white - mean).T @ apart / (bias if bias > 0.0 else 1.0)
        return mean, covariance, of_mean

    def __str__(self) -> str:
        return (
            f"log evidence {self.log_evidence:.3f} ± {self.standard_error:.3f} nats, "
            f"{self.ess:.0f} effective of {self.weights.size} particles"
        )


@names_arguments
def annealed_evidence(
    K: ArrayLike,
    y: ArrayLike,
    loss: Loss,
    m: ArrayLike | None = None,
    *,
    particles: int = 500,
    temperatures: int = 100,
    replicates: int = 4,
    base: Base = "EP",
    random_seed: Any = None,
    progressbar: bool = True,
) -> AnnealedEvidence:
    r"""Estimate the evidence ``p(y) = E[p(y | f)]`` over ``f ~ N(m, K)`` without bias.

    Annealed importance sampling. The particles start from the Gaussian ``N(f; m, K) prod_i s_i``
    with the sites of expectation propagation (EP), and follow

    .. math::

        N(f; m, K) \prod_i s_i(f_i)^{1-t} \, p(y_i \mid f_i)^t, \qquad t = 0, \dots, 1,

    with one elliptical slice move of every particle at every temperature t.

    Parameters
    ----------
    K : array_like of shape (n, n)
        Prior covariance, symmetric and positive semidefinite; it may be singular.
    y : array_like of shape (n,)
        Targets: real numbers for a regression loss, -1 and +1 for a classification loss.
    loss : Loss
        A normalised loss of `pymc_bsvm.losses`; it need not be differentiable.
    m : array_like of shape (n,) or float, optional
        Prior mean. Zero by default.
    particles : int, default 500
        Number of particles of each replicate.
    temperatures : int, default 100
        Number of steps from the base to the posterior. More of them help where the effective number
        of particles is small.
    replicates : int, default 4
        Number of independent repetitions, at least 2, whose spread is part of the standard error.
    base : {"EP", "prior"}
        What the particles start from. From the prior they need many more temperatures. It is the
        fallback where expectation propagation fails, with a warning in the log.
    random_seed : int or Generator, optional
        Seed.
    progressbar : bool, default True
        Show the progress.

    Returns
    -------
    AnnealedEvidence
        The log of the estimate with its standard error, and weighted particles.

    Raises
    ------
    ValueError
        For arguments outside their domain, with the value seen and the remedy.

    Notes
    -----
    The estimate of p(y) has no bias; its logarithm is low by half of the squared standard error.

    The trigonometric likelihood is zero behind a wall, where a Gaussian has mass. On the path the
    loss goes on linearly from a point that moves out to the wall, so that particles can walk back
    from behind it.

    An interruption by the keyboard keeps the replicates that were finished, if there are two.

    The temperatures are ``(k / temperatures)²`` from EP, and to the fourth power from the prior.

    References
    ----------
    [Chu03]_, (4.4) and (5.15); [RW06]_, sections 3.6 and 3.7.2. R. M. Neal, Annealed importance
    sampling, Statistics and Computing 11 (2001). I. Murray, R. P. Adams and D. J. C. MacKay,
    Elliptical slice sampling, AISTATS (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from pymc_bsvm import losses
    >>> from pymc_bsvm.diagnosis.annealing import annealed_evidence
    >>> x = np.linspace(-3, 3, 50)
    >>> K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    >>> loss = losses.SILF(C=10, epsilon=0.05)
    >>> estimate = annealed_evidence(K, np.sinc(x), loss, random_seed=1, progressbar=False)
    >>> estimate.standard_error < 0.05
    True
    """
    K, y, m = _arguments(K, y, loss, m)
    for name, value, least in (
        ("particles", particles, 2),
        ("temperatures", temperatures, 1),
        ("replicates", replicates, 2),
    ):
        if not isinstance(value, numbers.Integral) or value < least:
            raise ValueError(
                f"{name} must be an integer >= {least}, but it is {value!r}. Pass {least} or more."
            )
    if base not in ("EP", "prior"):
        raise ValueError(
            f"base must be 'EP' or 'prior', but it is {base!r}. Choose one of the two."
        )
    rng = generator_of(random_seed)
    prior = WhitePrior.of(K, m)
    start = propagated(prior, y, loss) if base == "EP" else None
    if start is None:
        base, start = "prior", SiteGaussian.of(prior, np.zeros(y.size), np.zeros(y.size))
    steps = np.linspace(0.0, 1.0, temperatures + 1) ** _POWERS[base]
    path = Path(y, m, loss, start)
    with Progress(disable=not progressbar) as bar:
        task = bar.add_task("Annealing", total=replicates * temperatures)
        runs = _replicates(
            replicates, lambda: anneal(path, steps, particles, rng, lambda: bar.advance(task))
        )
    log_weights = np.array([run.log_weights for run in runs])
    white = np.concatenate([run.white for run in runs])
    constant = start.log_normalizer - np.broadcast_to(loss.log_normalizer(), y.shape).sum()
    return AnnealedEvidence(
        *_estimate(log_weights, constant),
        f=m + prior.root_times(start.coordinates(white)),
        weights=np.exp(log_weights - logsumexp(log_weights)).ravel(),
        base=base,
        _white=start.coordinates(white),
        _prior=prior,
    )


def _replicates(count: int, anneal_once: Callable[[], Run]) -> list[Run]:
    """Return the repetitions; an interruption by the keyboard keeps two or more."""
    runs: list[Run] = []
    try:
        for _ in range(count):
            runs.append(anneal_once())
    except KeyboardInterrupt:
        if len(runs) < 2:  # no standard error
            raise
        _LOGGER.warning(
            "annealed_evidence: interrupted after %d of %d replicates, which are kept.",
            len(runs),
            count,
        )
    return runs


def anneal_problem(problem: Problem, **settings: Any) -> AnnealedEvidence:
    """Estimate the evidence of a problem."""
    if isinstance(problem.K, LowRank):
        raise ValueError(
            "The model is on inducing points, for which there is no unbiased estimate of the "
            "evidence. Sample bsvm.latent_model and set it beside this one by compare_posteriors."
        )
    return annealed_evidence(problem.K, problem.y, problem.loss, problem.m, **settings)


def _estimate(log_weights: Array, constant: float) -> tuple[float, float, Array]:
    """Return the log of the mean weight with its error, and that of each replicate."""
    replicates = len(log_weights)
    top = log_weights.max()
    if not np.isfinite(top):
        raise ValueError(
            "The likelihood is zero at every particle, so that there is nothing to average. "
            "Raise temperatures or particles, and check the scale of K against that of the loss."
        )
    weights = np.exp(log_weights - top)
    means = weights.mean(axis=1)
    mean = means.mean()
    by_particles = weights.std(ddof=1) / math.sqrt(weights.size)
    by_replicates = means.std(ddof=1) / math.sqrt(replicates)
    with np.errstate(divide="ignore"):
        of_replicates = top + np.log(means) + constant
    error = max(by_particles, by_replicates) / mean
    return float(top + math.log(mean) + constant), float(error), of_replicates


def _arguments(
    K: ArrayLike, y: ArrayLike, loss: Loss, m: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """Return K, y and the prior mean as arrays, or raise."""
    if not isinstance(loss, Loss) or loss.symbolic:
        raise TypeError(
            f"loss must be a loss of pymc_bsvm.losses with numbers in it, but it is {loss!r}. "
            "Pass, for example, losses.SILF(C=10, epsilon=0.1)."
        )
    loss.log_normalizer()  # raises, with the remedy
    K, y = np.asarray(K, dtype=float), np.asarray(y, dtype=float)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.shape[0] == 0:
        raise ValueError(
            f"K must be a square matrix, but its shape is {K.shape}. "
            "Pass the covariance of the training inputs with themselves."
        )
    m = np.asarray(0.0 if m is None else m, dtype=float)
    m = np.full(K.shape[0], m) if m.ndim == 0 else m
    for name, value in (("y", y), ("m", m)):
        if value.shape != K.shape[:1]:
            raise ValueError(
                f"{name} must have shape ({K.shape[0]},) to match K, but its shape is "
                f"{value.shape}. Pass one number for each row of K."
            )
    loss.check_targets(y)
    loss.check_rows(y.size)
    check_finite("m", m, "Pass a finite prior mean.")
    check_kernel(np.ascontiguousarray(K))
    return K, y, m
