"""Data, and relevance vector machines with dense matrices as textbooks print them."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, log_expit
from scipy.stats import multivariate_normal

from pymc_bsvm.estimators import kernels
from pymc_bsvm.estimators.relevance.dictionary import Dictionary
from tests.estimators.cases import rbf


def wave(n: int = 60, seed: int = 0, sigma: float = 0.2) -> tuple[np.ndarray, np.ndarray]:
    """Return rows along a line and noisy targets."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(-3.0, 3.0, (n, 1)), axis=0)
    return X, np.sin(2.0 * X[:, 0]) + 0.5 + sigma * rng.normal(size=n)


def signs(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in the plane and labels -1 and +1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.where(X[:, 0] ** 2 + X[:, 1] + 0.7 * rng.normal(size=n) > 0.7, 1.0, -1.0)


def columns(X: np.ndarray, ls: float, new: np.ndarray | None = None) -> np.ndarray:
    """Return all basis functions at rows, the constant last."""
    new = X if new is None else new
    return np.column_stack([rbf(new, X, 1.0, ls), np.ones(len(new))])


def dictionary(X: np.ndarray, ls: float, **settings) -> Dictionary:
    return Dictionary(kernels.RBF(), np.array([1.0, ls]), X, bias=True, **settings)


def log_evidence(Phi: np.ndarray, alpha: np.ndarray, variance: float, t: np.ndarray) -> float:
    """Return (7.85) of [PRML] with the matrix (7.86)."""
    C = variance * np.eye(t.size) + (Phi / alpha) @ Phi.T
    return float(multivariate_normal.logpdf(t, np.zeros(t.size), C))


def qualities(Phi, places, alpha, variance, t) -> tuple[np.ndarray, np.ndarray]:
    """Return s and q of all columns, each with its own part left out of C: (7.98) and (7.99)."""
    s, q = np.empty(Phi.shape[1]), np.empty(Phi.shape[1])
    for i in range(Phi.shape[1]):
        others = places != i
        rest = Phi[:, places[others]]
        C = variance * np.eye(t.size) + (rest / alpha[others]) @ rest.T
        s[i] = Phi[:, i] @ np.linalg.solve(C, Phi[:, i])
        q[i] = Phi[:, i] @ np.linalg.solve(C, t)
    return s, q


class Laplace(NamedTuple):
    """Most probable weights, their covariance and the evidence about them."""

    weights: np.ndarray
    covariance: np.ndarray
    log_evidence: float


def laplace(Phi: np.ndarray, alpha: np.ndarray, t: np.ndarray) -> Laplace:
    """Return (7.112)-(7.114) of [PRML], by plain Newton steps from zero."""
    A, w, one = np.diag(alpha), np.zeros(alpha.size), 0.5 * (1.0 + t)
    for _ in range(200):
        y = expit(Phi @ w)
        H = Phi.T @ (Phi * (y * (1.0 - y))[:, None]) + A
        step = np.linalg.solve(H, Phi.T @ (one - y) - alpha * w)
        w = w + step / max(1.0, np.abs(Phi @ step).max() / 2.0)
    log_prior = 0.5 * np.log(alpha).sum() - 0.5 * w @ A @ w
    value = log_expit(t * (Phi @ w)).sum() + log_prior - 0.5 * np.linalg.slogdet(H)[1]
    return Laplace(w, np.linalg.inv(H), float(value))
