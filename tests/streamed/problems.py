"""A covariance function of the protocol, and rows with losses for it."""

import numpy as np

from pymc_bsvm import losses
from pymc_bsvm.streamed.features import Features
from pymc_bsvm.streamed.passes import Passes
from pymc_bsvm.streamed.rows import ArrayRows

VALUES = np.array([1.3, 0.7, 1.1])  # the amplitude and the length-scales of two columns


class Gaussian:
    """``eta² exp(-|(x - z) / ls|² / 2)``, written with one difference for each pair."""

    def matrix(self, values, X, Z=None):
        difference = (X[:, None] - (X if Z is None else Z)[None]) / values[1:]
        return values[0] ** 2 * np.exp(-0.5 * (difference**2).sum(axis=-1))

    def diagonal(self, values, X):
        return np.full(X.shape[0], values[0] ** 2)

    def slopes(self, values, X, weights):
        return self.cross_slopes(values, X, X, weights)

    def cross_slopes(self, values, X, Z, weights):
        A = weights * self.matrix(values, X, Z)
        squares = ((X[:, None] - Z[None]) / values[1:]) ** 2
        return np.append(2.0 * A.sum(), np.einsum("ij,ijk->k", A, squares))

    def diagonal_slopes(self, values, X, weights):
        return np.append(2.0 * values[0] ** 2 * weights.sum(), np.zeros(X.shape[1]))


LOSSES = (
    losses.SILF(C=6.0, epsilon=0.2, beta=0.4),
    losses.Huber(C=4.0, epsilon=0.3),
    losses.Gaussian(sigma=0.4),
    losses.Trigonometric(delta=1.3),
    losses.Logistic(),
    losses.Probit(),
)


def rows(loss, n=60, seed=0):
    """Return inputs, targets and weights for a loss."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, 2))
    signal = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1]
    if loss.task == "regression":
        y = signal + 0.3 * rng.standard_t(3, size=n)
    else:
        y = np.where(signal + 0.7 * rng.normal(size=n) > 0.0, 1.0, -1.0)
    return X, y, rng.uniform(0.5, 2.5, size=n)


def problem(loss, n=60, m=12, seed=0, offset=0.7, values=VALUES, weighted=True, size=8192):
    """Return passes over rows, and features with inducing points among them."""
    X, y, weight = rows(loss, n, seed)
    features = Features.at(Gaussian(), values, X[:m] + 0.01, offset, jitter=1e-6)
    return Passes(ArrayRows(X, y, weight if weighted else None, size)), features
