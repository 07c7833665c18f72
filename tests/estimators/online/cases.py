"""On-line Gaussian processes with dense matrices, and averages of likelihoods by quadrature."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import erf, log_ndtr

from pymc_bsvm import losses
from tests.estimators.cases import matern32

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
PANELS, REACH = 60, 12.0  # panels of the quadrature, over so many standard deviations
C, EPSILON, BETA = 6.0, 0.2, 0.4


class Likelihood(NamedTuple):
    """Log probability of a target by latent value, and where its formula changes."""

    log: Callable[[float, np.ndarray], np.ndarray]
    knots: Callable[[float], list[float]]
    loss: losses.Loss
    """The same as the package has it."""


def silf(y: float, f: np.ndarray) -> np.ndarray:
    """Return (2.31) of [Chu03] with the normaliser (2.32)."""
    r, lo, hi, bend = np.abs(y - f), (1 - BETA) * EPSILON, (1 + BETA) * EPSILON, BETA * EPSILON
    loss = np.where(r < lo, 0.0, np.where(r < hi, (r - lo) ** 2 / (4 * bend), r - EPSILON))
    Z = 2 * lo + 2 * np.sqrt(np.pi * bend / C) * erf(np.sqrt(C * bend)) + 2 / C * np.exp(-C * bend)
    return -C * loss - np.log(Z)


def insensitive(y: float, f: np.ndarray) -> np.ndarray:
    """Return the same with a share of zero."""
    return -C * np.maximum(np.abs(y - f) - EPSILON, 0.0) - np.log(2 * EPSILON + 2 / C)


def gaussian(y: float, f: np.ndarray) -> np.ndarray:
    return -0.5 * C * (y - f) ** 2 - 0.5 * np.log(2 * np.pi / C)


def trigonometric(y: float, f: np.ndarray) -> np.ndarray:
    """Return (5.11) of [Chu03] with a scale of one."""
    with np.errstate(divide="ignore"):
        return 2.0 * np.log(np.cos(np.pi / 4.0 * (1.0 - np.clip(y * f, -1.0, 1.0))))


def probit(y: float, f: np.ndarray) -> np.ndarray:
    return np.asarray(log_ndtr(y * f))


def logistic(y: float, f: np.ndarray) -> np.ndarray:
    return -np.logaddexp(0.0, -y * f)


def bends(y: float) -> list[float]:
    ends = ((1 - BETA) * EPSILON, (1 + BETA) * EPSILON)
    return [y - ends[1], y - ends[0], y + ends[0], y + ends[1]]


LIKELIHOODS = {
    "silf": Likelihood(silf, bends, losses.SILF(C, EPSILON, BETA)),
    "epsilon_insensitive": Likelihood(
        insensitive, lambda y: [y - EPSILON, y + EPSILON], losses.EpsilonInsensitive(C, EPSILON)
    ),
    "squared": Likelihood(gaussian, lambda y: [], losses.Gaussian(C**-0.5)),
    "trigonometric": Likelihood(trigonometric, lambda y: [-1.0, 1.0], losses.Trigonometric()),
    "probit": Likelihood(probit, lambda y: [], losses.Probit()),
    "logistic": Likelihood(logistic, lambda y: [], losses.Logistic()),
}


def average(
    likelihood: Likelihood, y: float, mean: float, variance: float
) -> tuple[float, float, float]:
    """Return the log of E[p(y | f)] for ``f ~ N(mean, variance)``, and its two derivatives.

    The second one with its sign; by the moments of the tilted density.
    """
    sd = np.sqrt(variance)
    grid = np.linspace(mean - REACH * sd, mean + REACH * sd, PANELS + 1)
    inside = [k for k in likelihood.knots(y) if grid[0] < k < grid[-1]]
    ends = np.sort(np.concatenate([grid, inside]))
    half = 0.5 * np.diff(ends)
    f = (half[:, None] * NODES + 0.5 * (ends[1:] + ends[:-1])[:, None]).ravel()
    weight = (half[:, None] * WEIGHTS).ravel() / np.sqrt(2 * np.pi * variance)
    density = weight * np.exp(likelihood.log(y, f) - 0.5 * (f - mean) ** 2 / variance)
    Z = density.sum()
    tilted = density @ f / Z
    spread = density @ (f - tilted) ** 2 / Z
    return float(np.log(Z)), (tilted - mean) / variance, (spread / variance - 1.0) / variance


class Dense(NamedTuple):
    """Mean and covariance of all latent values, and the log score of the targets."""

    mean: np.ndarray
    covariance: np.ndarray
    score: float


def dense(K: np.ndarray, y: np.ndarray, likelihood: Likelihood) -> Dense:
    """Return (3.62)-(3.65) of [Chu03], the targets being those of the first latent values."""
    mean, covariance, score = np.zeros(len(K)), K.copy(), 0.0
    for i, target in enumerate(y):
        log_z, w, r = average(likelihood, target, mean[i], covariance[i, i])
        along = covariance[:, i].copy()
        mean, covariance = mean + w * along, covariance + r * np.outer(along, along)
        score += log_z
    return Dense(mean, covariance, score)


def projected(K: np.ndarray, state: Dense, basis: list[int]) -> Dense:
    """Return the process with the same joint Gaussian of some values, given which it is the prior.

    Of all such processes it is the nearest one by the divergence of the given one from it.
    """
    given = np.linalg.solve(K[np.ix_(basis, basis)], K[basis])
    covariance = state.covariance[np.ix_(basis, basis)]
    left = K - K[:, basis] @ given
    return Dense(given.T @ state.mean[basis], given.T @ covariance @ given + left, state.score)


def bounded(
    K: np.ndarray, y: np.ndarray, likelihood: Likelihood, most: int
) -> tuple[Dense, list[int]]:
    """Return the same as `dense` with a projection after each row, and the basis vectors.

    The one goes whose part of the mean, ``alpha_i² / Q_ii``, is least, if they are too many.
    """
    state, basis = Dense(np.zeros(len(K)), K.copy(), 0.0), []
    for i, target in enumerate(y):
        log_z, w, r = average(likelihood, target, state.mean[i], state.covariance[i, i])
        along = state.covariance[:, i]
        mean, covariance = state.mean + w * along, state.covariance + r * np.outer(along, along)
        state = Dense(mean, covariance, state.score + log_z)
        basis.append(i)
        if len(basis) > most:
            Q = np.linalg.inv(K[np.ix_(basis, basis)])
            basis.pop(int(np.argmin((Q @ state.mean[basis]) ** 2 / Q.diagonal())))
        state = projected(K, state, basis)
    return state, basis


class Rows(NamedTuple):
    """Rows along a plane, their targets, labels -1 and +1, and new rows."""

    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    new: np.ndarray

    def targets(self, likelihood: Likelihood) -> np.ndarray:
        return self.y if likelihood.loss.task == "regression" else self.labels


def rows(n: int = 24, seed: int = 0) -> Rows:
    rng = np.random.default_rng(seed)
    X, new = rng.uniform(-2.0, 2.0, (n, 2)), rng.uniform(-2.5, 2.5, (7, 2))
    f = np.sin(1.5 * X[:, 0]) + 0.4 * X[:, 1]
    labels = np.where(f + 0.4 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return Rows(X, f + 0.2 * rng.standard_t(4, size=n), labels, new)


ETA, LS = 1.3, 1.1
KERNEL = {"kernel": "matern32", "hyperparameters": {"eta": ETA, "ls": LS}}


def covariance(X: np.ndarray, Z: np.ndarray, offset: float = 0.0) -> np.ndarray:
    """Return what `KERNEL` says."""
    return matern32(X, Z, ETA, LS) + offset
