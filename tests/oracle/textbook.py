"""Gaussian process classification as [RW06] has it, and integrals that have no approximation.

Nothing here imports the library. Laplace's method is Algorithms 3.1 and 3.2, expectation
propagation Algorithms 3.5 and 3.6 with (3.65) for the evidence, all with dense matrices. Labels are
-1 and +1.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, log_ndtr

_NODES = np.linspace(-12.0, 12.0, 601)  # in standard deviations; the rule converges geometrically
_WEIGHTS = np.exp(-0.5 * _NODES**2) / np.sqrt(2.0 * np.pi) * (_NODES[1] - _NODES[0])


# ---- links --------------------------------------------------------------------------------------


class Link(NamedTuple):
    """Log probability of a label, its slope in the latent value, and minus its curvature."""

    value: np.ndarray
    slope: np.ndarray
    bend: np.ndarray


def logistic(y: Any, f: Any) -> Link:
    """(3.15)."""
    return Link(log_expit(y * f), 0.5 * (y + 1.0) - expit(f), expit(f) * expit(-f))


def probit(y: Any, f: Any) -> Link:
    """(3.16)."""
    ratio = np.exp(-0.5 * f * f - 0.5 * np.log(2.0 * np.pi) - log_ndtr(y * f))
    return Link(log_ndtr(y * f), y * ratio, ratio * (ratio + y * f))


def average(link: Callable[..., Link], mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Probability of +1, (3.25), by the trapezoidal rule."""
    f = mean[:, None] + np.sqrt(variance)[:, None] * _NODES
    return np.exp(link(1.0, f).value) @ _WEIGHTS


class Moments(NamedTuple):
    """Normaliser, mean and variance of a link times a Gaussian."""

    log_z: float
    mean: float
    variance: float


def moments(link: Callable[..., Link], y: float, mean: float, variance: float) -> Moments:
    """Return the moments of (3.57), by the trapezoidal rule."""
    f = mean + np.sqrt(variance) * _NODES
    share = np.exp(link(y, f).value) * _WEIGHTS
    z = share.sum()
    centre = share @ f / z
    return Moments(np.log(z), centre, share @ (f - centre) ** 2 / z)


def probit_moments(y: float, mean: float, variance: float) -> Moments:
    """(3.58), in closed form."""
    scale = np.sqrt(1.0 + variance)
    z = y * mean / scale
    ratio = np.exp(-0.5 * z * z - 0.5 * np.log(2.0 * np.pi) - log_ndtr(z))
    shrinkage = variance**2 * ratio / (1.0 + variance) * (z + ratio)
    return Moments(log_ndtr(z), mean + y * variance * ratio / scale, variance - shrinkage)


# ---- approximations -----------------------------------------------------------------------------


@dataclass
class Classifier:
    """A Gaussian in the place of the posterior of the latent values."""

    log_evidence: float
    mean: np.ndarray
    variance: np.ndarray
    dual: np.ndarray
    """``K^-1`` times the mean."""
    reduced: np.ndarray
    """``(K + W^-1)^-1`` with the precisions W of the sites."""

    def predict(self, cross: np.ndarray, prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of new latent values, (3.21), (3.24), (3.60) and (3.61)."""
        explained = np.einsum("ij,ij->j", cross, self.reduced @ cross)
        return cross.T @ self.dual, prior - explained


def laplace(K: np.ndarray, y: np.ndarray, link: Callable[..., Link]) -> Classifier:
    """Algorithm 3.1: Newton's method from zero, until the mode stands still."""
    n = y.size
    f, step = np.zeros(n), np.inf
    for _ in range(100):
        _, slope, W = link(y, f)
        root = np.sqrt(W)
        B = np.eye(n) + root[:, None] * K * root
        b = W * f + slope
        a = b - root * np.linalg.solve(B, root * (K @ b))
        f, before = K @ a, f
        step, before_that = np.abs(f - before).max(), step
        if step < 1e-8 and step >= 0.5 * before_that:
            break  # what is left is rounding
    assert step < 1e-11 * (1.0 + np.abs(f).max())
    value, slope, W = link(y, f)
    root = np.sqrt(W)
    L = np.linalg.cholesky(np.eye(n) + root[:, None] * K * root)
    half = np.linalg.solve(L, np.diag(root))
    reduced = half.T @ half
    log_evidence = -0.5 * slope @ f + value.sum() - np.log(np.diag(L)).sum()
    return Classifier(log_evidence, f, np.diag(K - K @ reduced @ K), slope, reduced)


def propagate(K: np.ndarray, y: np.ndarray, tilted: Callable[..., Moments]) -> Classifier:
    """Algorithm 3.5: one site after the other, until none of them moves."""
    n = y.size
    tau, nu, change = np.zeros(n), np.zeros(n), np.inf
    log_z, cavity, spread = np.zeros(n), np.zeros(n), np.ones(n)
    for _ in range(200):
        before = np.concatenate([tau, nu])
        Sigma = np.linalg.inv(np.eye(n) + K * tau) @ K
        mu = Sigma @ nu
        for i in range(n):
            left = 1.0 / Sigma[i, i] - tau[i]
            spread[i], cavity[i] = 1.0 / left, (mu[i] / Sigma[i, i] - nu[i]) / left
            log_z[i], m, v = tilted(y[i], cavity[i], spread[i])
            old = tau[i]
            tau[i], nu[i] = 1.0 / v - left, m / v - cavity[i] * left
            row = Sigma[:, i].copy()
            Sigma -= (tau[i] - old) / (1.0 + (tau[i] - old) * row[i]) * np.outer(row, row)
            mu = Sigma @ nu
        change = np.abs(np.concatenate([tau, nu]) - before).max()
        if change < 1e-13:
            break
    assert change < 1e-11
    centre, noise = nu / tau, 1.0 / tau
    reduced = np.linalg.inv(K + np.diag(noise))
    dual = reduced @ centre
    width = spread + noise
    log_evidence = 0.5 * np.linalg.slogdet(reduced)[1] - 0.5 * centre @ dual
    log_evidence += (log_z + 0.5 * np.log(width) + 0.5 * (cavity - centre) ** 2 / width).sum()
    return Classifier(log_evidence, K @ dual, np.diag(K - K @ reduced @ K), dual, reduced)


# ---- without an approximation -------------------------------------------------------------------


class Integral(NamedTuple):
    """The evidence, and means and variances of the latent values."""

    log_evidence: float
    mean: np.ndarray
    variance: np.ndarray


def integrate(K: np.ndarray, y: np.ndarray, link: Callable[..., Link], step: float) -> Integral:
    """Integrate over few rows by the trapezoidal rule in ``e ~ N(0, I)``, ``f = L e``."""
    z = np.arange(-8.0, 8.0 + 0.5 * step, step)
    e = np.stack(np.meshgrid(*[z] * y.size, indexing="ij")).reshape(y.size, -1)
    f = np.linalg.cholesky(K) @ e
    log_share = link(y[:, None], f).value.sum(axis=0) - 0.5 * (e * e).sum(axis=0)
    share = np.exp(log_share) * (step / np.sqrt(2.0 * np.pi)) ** y.size
    total = share.sum()
    mean = f @ share / total
    return Integral(np.log(total), mean, (f - mean[:, None]) ** 2 @ share / total)


def orthant(K: np.ndarray, y: np.ndarray) -> float:
    """Evidence of two or three labels under the probit link and a prior mean of zero.

    The labels are the signs of correlated normal variables, whose probability Sheppard has in
    closed form: ``1/4 + asin(r) / 2 pi``, and ``1/8 + sum asin(r_ij) / 4 pi``.
    """
    C = y[:, None] * (K + np.eye(y.size)) * y
    sd = np.sqrt(np.diag(C))
    angles = [np.arcsin(C[i, j] / (sd[i] * sd[j])) for i, j in combinations(range(y.size), 2)]
    return {2: 0.25, 3: 0.125}[y.size] + sum(angles) / (np.pi * {2: 2.0, 3: 4.0}[y.size])
