"""Data and objectives for the tests, written from appendices B and H of [Chu03]."""

import numpy as np


def rows(n=60, seed=0):
    """Return inputs, targets, labels and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] + 0.2 * rng.normal(size=n)
    labels = np.where(y + 0.5 * rng.normal(size=n) > 0.2, "yes", "no")
    return X, y, labels, rng.uniform(0.5, 2.0, size=n)


def rbf(X, Z, gamma):
    return np.exp(-gamma * np.square(X[:, None] - Z).sum(axis=-1))


def dual_of(model, n, k=None):
    """Return the duals of all rows, of machine k."""
    a = np.zeros(n)
    a[model.support_] = model.dual_coef_ if k is None else model.dual_coef_[k]
    return a


def soft_insensitive(r, epsilon, beta):
    """(B.19)."""
    r, lo, hi = np.abs(r), (1.0 - beta) * epsilon, (1.0 + beta) * epsilon
    bend = (r - lo) ** 2 / (4.0 * beta * epsilon)
    return np.where(r > hi, r - epsilon, np.where(r >= lo, bend, 0.0))


def rounded_hinge(z, epsilon):
    """(B.4)."""
    u = 1.0 - z
    return np.where(u > 2.0 * epsilon, u - epsilon, np.where(u > 0.0, u * u / 4.0 / epsilon, 0.0))


def log_secant(z):
    """(H.2)."""
    xi = np.maximum(1.0 - z, 0.0)
    return -2.0 * np.log(np.cos(np.pi / 4.0 * xi))


REGRESSION = {
    "epsilon_insensitive": lambda r: np.maximum(np.abs(r) - 0.1, 0.0),
    "silf": lambda r: soft_insensitive(r, 0.1, 0.3),
    "huber": lambda r: soft_insensitive(r, 0.1, 1.0),
    "laplace": np.abs,
    "squared": lambda r: 0.5 * r * r,
}
CLASSIFICATION = {
    "hinge": lambda z: np.maximum(1.0 - z, 0.0),
    "squared_hinge": lambda z: 0.5 * np.maximum(1.0 - z, 0.0) ** 2,
    "soft_le": lambda z: rounded_hinge(z, 0.1),
    "trigonometric": log_secant,
    "logistic": lambda z: np.log1p(np.exp(-z)),
}


def dual_of_regression(loss, K, y, a, C):
    """(B.30), whose minimum is minus that of (B.1); for the squared loss, ``a² / 2C`` more."""
    epsilon, beta = {
        "epsilon_insensitive": (0.1, 0.0),
        "silf": (0.1, 0.3),
        "huber": (0.1, 1.0),
        "laplace": (0.0, 0.0),
        "squared": (0.0, 0.0),
    }[loss]
    bend = a * a / (2.0 * C) if loss == "squared" else beta * epsilon / C * a * a
    flat = (1.0 - beta) * epsilon * np.abs(a)
    return 0.5 * a @ K @ a - a @ y + (flat + bend).sum()


def dual_of_classification(loss, K, a, C):
    """(B.16) and (H.4), whose minima are minus those of (B.1) and (H.1)."""
    alpha = np.abs(a)
    share = alpha / C
    t = 2.0 * share / np.pi
    entropy = share * np.log(np.maximum(share, 1e-300))
    entropy += (1.0 - share) * np.log(np.maximum(1.0 - share, 1e-300))
    conjugate = {
        "hinge": -alpha,
        "squared_hinge": -alpha + 0.5 * alpha * share,
        "soft_le": -alpha + 0.1 * alpha * share,
        "trigonometric": C * (-share + 2.0 * share * np.arctan(t) * 2.0 / np.pi - np.log1p(t * t)),
        "logistic": C * entropy,
    }[loss]
    return 0.5 * a @ K @ a + conjugate.sum()
