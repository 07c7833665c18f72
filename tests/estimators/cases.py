"""Data, kernels in plain NumPy and comparisons for the tests of the estimators.

The formulas are those of the papers and of textbooks; nothing here imports the estimators.
"""

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import pytest

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from tests.oracle import evidence as oracle

# A search may end on a ripple of the evidence. What most tests assert holds at any end.
ANY_END = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# ---- data ---------------------------------------------------------------------------------------


class Data(NamedTuple):
    """Inputs in units of their own, targets and labels, and new inputs."""

    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    new: np.ndarray


def plane(n: int = 40, seed: int = 0) -> Data:
    """Return rows in the plane, whose columns have different units."""
    rng = np.random.default_rng(seed)
    units, centre = np.array([3.0, 0.1]), np.array([20.0, -1.0])
    x, new = rng.uniform(-2.0, 2.0, (n, 2)), rng.uniform(-2.5, 2.5, (9, 2))
    f = np.sin(1.5 * x[:, 0]) + 0.3 * x[:, 1]
    y = 50.0 + 4.0 * (f + 0.15 * rng.standard_t(3, size=n))
    labels = np.where(f + 0.4 * rng.normal(size=n) > 0.0, "yes", "no")
    return Data(centre + units * x, y, labels, centre + units * new)


def line(n: int = 30, seed: int = 4) -> Data:
    """Return rows along a line, with an outlier."""
    rng = np.random.default_rng(seed)
    x = np.linspace(-3.0, 3.0, n)
    y = np.sin(x) + 0.15 * rng.normal(size=n)
    y[n // 3] += 1.5
    labels = (np.sin(x) + 0.3 * rng.normal(size=n) > 0.0).astype(int)
    return Data(x[:, None], y, labels, np.linspace(-4.0, 4.0, 9)[:, None])


def three_classes(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows around three centres and names of the classes."""
    rng = np.random.default_rng(seed)
    which = rng.integers(3, size=n)
    which[:3] = 0, 1, 2
    centres = np.array([[0.0, 2.0], [-1.7, -1.0], [1.7, -1.0]])
    return centres[which] + rng.normal(size=(n, 2)), np.array(["ash", "elm", "oak"])[which]


# ---- probabilities ------------------------------------------------------------------------------


def alone(p: np.ndarray) -> np.ndarray:
    """Return P(k and no other) of independent Bernoullis by counting all their outcomes."""
    result = np.zeros(p.shape)
    for outcome in itertools.product((False, True), repeat=p.shape[-1]):
        if sum(outcome) == 1:
            happens = np.array(outcome)
            result[..., outcome.index(True)] = np.where(happens, p, 1.0 - p).prod(axis=-1)
    return result


def only_one(p: np.ndarray) -> np.ndarray:
    """Return P(k | just one) of independent Bernoullis."""
    each = alone(p)
    return each / each.sum(axis=-1, keepdims=True)


# ---- kernels ------------------------------------------------------------------------------------


def squares(X: np.ndarray, Z: np.ndarray, ls: Any = 1.0) -> np.ndarray:
    """Return the squared scaled differences, of shape (n, m, d)."""
    return ((X[:, None] - Z[None]) / ls) ** 2


def rbf(X: np.ndarray, Z: np.ndarray, eta: float, ls: Any) -> np.ndarray:
    return eta**2 * np.exp(-0.5 * squares(X, Z, ls).sum(-1))


def matern32(X: np.ndarray, Z: np.ndarray, eta: float, ls: Any) -> np.ndarray:
    r = np.sqrt(3.0 * squares(X, Z, ls).sum(-1))
    return eta**2 * (1.0 + r) * np.exp(-r)


def matern52(X: np.ndarray, Z: np.ndarray, eta: float, ls: Any) -> np.ndarray:
    r = np.sqrt(5.0 * squares(X, Z, ls).sum(-1))
    return eta**2 * (1.0 + r + r**2 / 3.0) * np.exp(-r)


def linear(X: np.ndarray, Z: np.ndarray, ls: Any) -> np.ndarray:
    """Return ``sum_k x_k z_k / ls_k²``."""
    return (X / ls) @ (Z / ls).T


def cubic(X: np.ndarray, Z: np.ndarray, eta: float, ls: Any) -> np.ndarray:
    return eta**2 * (1.0 + linear(X, Z, ls)) ** 3


def periodic(X: np.ndarray, Z: np.ndarray, eta: float, period: Any, ls: Any) -> np.ndarray:
    sines = np.sin(np.pi * np.sqrt(squares(X, Z, period)))
    return eta**2 * np.exp(-0.5 * (sines**2 / np.asarray(ls) ** 2).sum(-1))


# ---- the same numbers with dense matrices -------------------------------------------------------


def moments(
    K: np.ndarray, y: np.ndarray, loss: losses.Loss, cross: np.ndarray, prior: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of new latent values; cross has shape (n, n_new)."""
    s = bsvm.laplace_evidence(K, y, loss).solution
    return oracle.predict(K, y, loss, s.a, s.f, cross, prior)


def probability(mean: np.ndarray, variance: np.ndarray, delta: float = 1.0) -> np.ndarray:
    """Integrate the trigonometric probability of +1 over Gaussian latent values."""
    t = np.linspace(-9.0, 9.0, 20_001)
    f = mean[:, None] + np.sqrt(variance)[:, None] * t
    z = np.clip(f / delta, -1.0, 1.0)
    link = np.cos(np.pi / 4.0 * (1.0 - z)) ** 2
    return np.trapezoid(np.exp(-0.5 * t**2) / np.sqrt(2.0 * np.pi) * link, t, axis=1)


# ---- errors -------------------------------------------------------------------------------------


@contextmanager
def refused(error: type[Exception], *words: str) -> Iterator[None]:
    """Expect an error of exactly two sentences that contains the given words."""
    with pytest.raises(error) as caught:
        yield
    message = str(caught.value)
    assert len(re.findall(r"\.(?=\s|$)", message)) == 2, message
    assert message.endswith("."), message
    for word in words:
        assert word in message, message
