"""An unbiased estimate of the evidence, and the posterior of the latent values, by annealing.

Particles start from the Gaussian of expectation propagation and follow a path of distributions to
the posterior (annealed importance sampling), moved by elliptical slice sampling. Nothing here
relies on Laplace's method, so that it can tell how far off that is.
"""

from __future__ import annotations

import itertools
import logging
import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, singledispatch
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.progress import Progress
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.special import logsumexp

from pymc_bsvm._validation import check_finite
from pymc_bsvm.losses import Loss, Trigonometric
from pymc_bsvm.losses.base import Array
from pymc_bsvm.solvers.dual import check_kernel

__all__ = ["AnnealedEvidence", "LatentMoments", "annealed_evidence"]

type Base = Literal["EP", "prior"]

_LOGGER = logging.getLogger("pymc_bsvm")
_RANK = 1e-14  # eigenvalues below n times this share of the largest are rounding
_INDEFINITE = 1e-8  # share of the largest eigenvalue, above which a negative one is not rounding
_POWERS = {"EP": 2.0, "prior": 4.0}  # of the temperatures: most change is next to the base
_MOST_SHRINKS = 200  # of a slice: 2^-200 of a turn is none at all
_SWEEPS, _DAMPING = 60, 0.5
_SETTLED = 1e-2  # standard deviations by which the last sweep may move the base
_LEAST_SHARE = 1e-9  # of the marginal precision, for a cavity
_NODES = np.linspace(-1.0, 1.0, 129)
_WIDE, _DEEP = 9.0, 40.0  # standard deviations and nats beyond which a density is nothing
_ZOOMS, _DOUBLINGS, _BISECTIONS = 3, 60, 60


# ---- results -----------------------------------------------------------------------------------


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
    _prior: _Prior = field(repr=False)

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


# ---- the estimate ------------------------------------------------------------------------------


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
    >>> from pymc_bsvm.inference.annealing import annealed_evidence
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
    rng = np.random.default_rng(random_seed)
    prior = _Prior.of(K, m)
    start = _propagated(prior, y, loss) if base == "EP" else None
    if start is None:
        base, start = "prior", _Gaussian.of(prior, np.zeros(y.size), np.zeros(y.size))
    steps = np.linspace(0.0, 1.0, temperatures + 1) ** _POWERS[base]
    path = _Path(y, m, loss, start)
    runs = []
    with Progress(disable=not progressbar) as bar:
        task = bar.add_task("Annealing", total=replicates * temperatures)
        for _ in range(replicates):
            runs.append(_anneal(path, steps, particles, rng, lambda: bar.advance(task)))
    log_weights = np.array([run.log_weights for run in runs])
    white = np.concatenate([run.white for run in runs])
    constant = start.log_normalizer - y.size * loss.log_normalizer()
    return AnnealedEvidence(
        *_estimate(log_weights, constant),
        f=m + prior.root_times(start.coordinates(white)),
        weights=np.exp(log_weights - logsumexp(log_weights)).ravel(),
        base=base,
        _white=start.coordinates(white),
        _prior=prior,
    )


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
    check_finite("m", m, "Pass a finite prior mean.")
    check_kernel(np.ascontiguousarray(K))
    return K, y, m


# ---- Gaussians ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Prior:
    """``f = m + root z`` with ``z ~ N(0, I)`` of as many coordinates as K has rank."""

    m: Array
    root: Array
    """Of shape (n, rank)."""
    inverse: Array
    """Transpose of the pseudoinverse of the root, of shape (n, rank)."""

    @classmethod
    def of(cls, K: Array, m: Array) -> _Prior:
        values, vectors = np.linalg.eigh(K)
        if values[0] < -_INDEFINITE * K.shape[0] * values[-1]:
            raise ValueError(
                f"K must be positive semidefinite, but it has the eigenvalue {values[0]:.3g}. "
                "Check the covariance function, or add a jitter to the diagonal of K."
            )
        kept = values > _RANK * K.shape[0] * max(values[-1], 0.0)
        scale, vectors = np.sqrt(values[kept]), vectors[:, kept]
        return cls(m, vectors * scale, vectors / scale)

    def root_times(self, white: Array) -> Array:
        """Return ``f - m`` of particles, of shape (particles, n)."""
        return np.asarray(white @ self.root.T)

    def project(self, cross: Array) -> Array:
        """Return the coefficients, of shape (n_new, rank), of new values' means given z."""
        return np.asarray(cross.T @ self.inverse)


@dataclass(frozen=True)
class _Gaussian:
    """The prior of ``g = f - m`` times the sites ``exp(shift g - precision g² / 2)``, normalised.

    It is that of ``g = mean + root e`` with ``e ~ N(0, I)``.
    """

    precision: Array
    shift: Array
    mean: Array
    root: Array
    log_normalizer: float
    """Log of the prior expectation of the sites."""
    _lower: Array
    _place: Array

    @classmethod
    def of(cls, prior: _Prior, precision: Array, shift: Array) -> _Gaussian:
        """Return the Gaussian with these sites, whose precisions must not be negative."""
        inner = prior.root.T @ (precision[:, None] * prior.root)
        inner[np.diag_indices_from(inner)] += 1.0
        lower = cholesky(inner, lower=True)
        root = solve_triangular(lower, prior.root.T, lower=True).T
        mean = root @ (root.T @ shift)
        place = solve_triangular(lower, root.T @ shift, lower=True, trans="T")
        log_normalizer = 0.5 * float(shift @ mean) - float(np.log(np.diag(lower)).sum())
        return cls(precision, shift, mean, root, log_normalizer, lower, place)

    @property
    def variance(self) -> Array:
        return np.asarray(np.einsum("ij,ij->i", self.root, self.root))

    def log_sites(self, g: Array) -> Array:
        """Return the log of the product of the sites, one value for each row of g."""
        return np.asarray(g @ self.shift - 0.5 * (g * g) @ self.precision)

    def coordinates(self, e: Array) -> Array:
        """Return the prior's whitened coordinates of particles, of shape (particles, rank)."""
        return np.asarray(self._place + solve_triangular(self._lower, e.T, lower=True, trans="T").T)


# ---- expectation propagation -------------------------------------------------------------------


def _propagated(prior: _Prior, y: Array, loss: Loss) -> _Gaussian | None:
    """Return the Gaussian of expectation propagation, section 3.6 of [RW06]_; None if it fails.

    All sites are updated at once, with damping. The sweeps need not converge: the base decides
    about the efficiency of the sampler alone.
    """
    known = np.einsum("ij,ij->i", prior.root, prior.root) > 0.0
    precision, shift = np.zeros(y.size), np.zeros(y.size)
    try:
        with np.errstate(all="ignore"):
            base = _Gaussian.of(prior, precision, shift)
            for _ in range(_SWEEPS):
                new_precision, new_shift = _sites(base, known, y, prior.m, loss)
                precision = precision + _DAMPING * (new_precision - precision)
                shift = shift + _DAMPING * (new_shift - shift)
                before, base = base, _Gaussian.of(prior, precision, shift)
                if _near(base, before, known):
                    break
    except (LinAlgError, ValueError):  # not finite
        _LOGGER.warning(
            "annealed_evidence: expectation propagation failed; the particles start from the "
            "prior. Look at the effective number of particles, and raise temperatures."
        )
        return None
    return base


def _near(one: _Gaussian, other: _Gaussian, rows: NDArray[np.bool_]) -> bool:
    """Return whether two Gaussians are the same for the purpose of sampling."""
    sd, before = np.sqrt(one.variance[rows]), np.sqrt(other.variance[rows])
    moved = np.abs(one.mean - other.mean)[rows] / sd
    return bool(max(moved.max(initial=0.0), np.abs(sd / before - 1.0).max(initial=0.0)) < _SETTLED)


def _sites(
    base: _Gaussian, rows: NDArray[np.bool_], y: Array, m: Array, loss: Loss
) -> tuple[Array, Array]:
    """Return the sites that match the moments of each row's likelihood times its cavity."""
    variance = base.variance[rows]
    left = np.maximum(1.0 / variance - base.precision[rows], _LEAST_SHARE / variance)
    centre = (base.mean[rows] / variance - base.shift[rows]) / left
    mean, variance = _tilted_moments(loss, y[rows], m[rows] + centre, 1.0 / left)
    precision, shift = np.zeros(y.size), np.zeros(y.size)
    matched = np.maximum(1.0 / variance - left, 0.0)
    precision[rows] = matched
    shift[rows] = (left + matched) * (mean - m[rows]) - left * centre
    return precision, shift


def _tilted_moments(loss: Loss, y: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    """Return mean and variance of densities ``p(y_i | f) N(f; mean_i, variance_i)``.

    A grid around the mode is narrowed to where the density is, and then summed.
    """
    top, sd = _tilted_modes(loss, y, mean, variance), np.sqrt(variance)
    left, right = top - _WIDE * sd, top + _WIDE * sd
    rows = np.arange(y.size)
    for zoom in range(_ZOOMS):
        half = 0.5 * (right - left)
        grid = (left + half)[:, None] + half[:, None] * _NODES
        log_density = -0.5 * ((grid - mean[:, None]) / sd[:, None]) ** 2
        log_density -= loss.value(y[:, None], grid)
        share = np.exp(log_density - log_density.max(axis=1, keepdims=True))
        if zoom < _ZOOMS - 1:
            inside = share > math.exp(-_DEEP)
            first, last = inside.argmax(axis=1), inside[:, ::-1].argmax(axis=1)
            left = grid[rows, np.maximum(first - 1, 0)]
            right = grid[rows, np.minimum(_NODES.size - last, _NODES.size - 1)]
    share /= share.sum(axis=1, keepdims=True)
    centre = (share * grid).sum(axis=1)
    return centre, (share * (grid - centre[:, None]) ** 2).sum(axis=1)


def _tilted_modes(loss: Loss, y: Array, mean: Array, variance: Array) -> Array:
    """Return the modes of these densities by bisection of their slopes."""

    def uphill(f: Array) -> NDArray[np.bool_]:
        return np.asarray((f - mean) / variance + loss.derivative(y, f) < 0.0)

    side = np.where(uphill(mean), 1.0, -1.0)
    reach = np.sqrt(variance)
    for _ in range(_DOUBLINGS):
        short = uphill(mean + side * reach) == (side > 0.0)
        if not short.any():
            break
        reach = np.where(short, 2.0 * reach, reach)
    near, far = np.zeros(y.size), reach
    for _ in range(_BISECTIONS):
        middle = 0.5 * (near + far)
        short = uphill(mean + side * middle) == (side > 0.0)
        near, far = np.where(short, middle, near), np.where(short, far, middle)
    return np.asarray(mean + side * near)


# ---- annealing ---------------------------------------------------------------------------------


@singledispatch
def _wall(loss: Loss) -> float:
    """Return the margin at which the likelihood becomes zero; -inf for most losses."""
    return -math.inf


@_wall.register
def _(loss: Trigonometric) -> float:
    return -loss.delta


@dataclass(frozen=True)
class _Path:
    """Log densities with respect to the base, from zero at t = 0 to the posterior at t = 1."""

    y: Array
    m: Array
    loss: Loss
    base: _Gaussian

    def __call__(self, g: Array, t: float) -> Array:
        """Return the log densities of particles ``g = f - m``, of shape (particles,)."""
        return -t * (self._energy(self.m + g, t) + self.base.log_sites(g))

    def _energy(self, f: Array, t: float) -> Array:
        """Return the losses; short of the posterior they go on linearly before a wall."""
        wall = _wall(self.loss)
        if t == 1.0 or wall == -math.inf:
            return np.asarray(self.loss.value(self.y, f).sum(axis=1))
        margin, floor = self.y * f, t * wall
        slope = float(self.loss.derivative(1.0, floor))
        value = self.loss.value(1.0, np.maximum(margin, floor))
        return np.asarray((value + slope * np.minimum(margin - floor, 0.0)).sum(axis=1))


class _Run(NamedTuple):
    """The end of one annealing."""

    log_weights: Array
    white: Array
    """Coordinates of the particles with respect to the base, of shape (particles, rank)."""


class _Particles(NamedTuple):
    """Particles ``g = base.mean + base.root e``, and their log densities on the path."""

    e: Array
    g: Array
    log_density: Array


def _anneal(
    path: _Path,
    temperatures: Array,
    particles: int,
    rng: np.random.Generator,
    tick: Callable[[], object],
) -> _Run:
    """Return particles and log weights whose exponentials have the mean ``E_base[posterior]``."""
    base = path.base
    e = rng.standard_normal((particles, base.root.shape[1]))
    state = _Particles(e, base.mean + e @ base.root.T, np.zeros(particles))
    log_weights = np.zeros(particles)
    for _, t in itertools.pairwise(temperatures):
        raised = path(state.g, t)
        log_weights += raised - state.log_density
        state = _slice_move(state._replace(log_density=raised), path, t, rng)
        tick()
    return _Run(log_weights, state.e)


def _slice_move(state: _Particles, path: _Path, t: float, rng: np.random.Generator) -> _Particles:
    """Move every particle once by elliptical slice sampling, which leaves the density at t."""
    base, count = path.base, len(state.e)
    other = rng.standard_normal(state.e.shape)
    centred, across = state.g - base.mean, other @ base.root.T
    level = state.log_density - rng.exponential(size=count)
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    low, high = angle - 2.0 * np.pi, angle.copy()
    g, log_density, turned = state.g.copy(), state.log_density.copy(), np.zeros(count)
    moving = np.arange(count)
    for _ in range(_MOST_SHRINKS):
        turn = angle[moving, None]
        proposal = base.mean + centred[moving] * np.cos(turn) + across[moving] * np.sin(turn)
        value = path(proposal, t)
        accepted = value >= level[moving]
        done = moving[accepted]
        g[done], log_density[done], turned[done] = proposal[accepted], value[accepted], angle[done]
        moving = moving[~accepted]
        if not moving.size:
            break
        below = angle[moving] < 0.0
        low[moving[below]] = angle[moving[below]]
        high[moving[~below]] = angle[moving[~below]]
        angle[moving] = rng.uniform(low[moving], high[moving])
    e = state.e * np.cos(turned)[:, None] + other * np.sin(turned)[:, None]
    return _Particles(e, g, log_density)
