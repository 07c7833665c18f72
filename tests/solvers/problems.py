"""Problems for the solver tests, and the losses once more in plain NumPy.

The certificate is recomputed here from its definition with formulas that share nothing with the
library: a loss is `profile`, a function of the residual or of the margin, with its slope and second
derivative, and `legendre`, its convex conjugate. `test_solution.py` compares them with the
multiple-precision oracle.
"""

from math import fsum
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import log_expit, log_ndtr, xlogy

from pymc_bsvm import losses

REGRESSION = (
    losses.SILF(C=10.0, epsilon=0.1, beta=0.3),
    losses.Huber(C=5.0, epsilon=0.1),
    losses.Gaussian(sigma=0.3),
    losses.EpsilonInsensitive(C=10.0, epsilon=0.1),
    losses.Laplace(C=3.0),
)
CLASSIFICATION = (
    losses.Trigonometric(delta=1.0),
    losses.Logistic(),
    losses.Probit(),
    losses.SoftMarginL1(C=2.0),
    losses.SoftMarginL2(C=2.0),
    losses.SoftMarginLe(C=2.0, epsilon=0.25),
)
ALL = REGRESSION + CLASSIFICATION


def name(value: Any) -> str:
    """Test id of a loss."""
    return type(value).__name__


def rbf(X: np.ndarray, variance: float = 1.0, precision: float = 1.0, constant: float = 0.0):
    """Return ``variance exp(-precision |x - x'|² / 2) + constant``."""
    distance = ((X[:, None] - X[None]) ** 2).sum(-1)
    return variance * np.exp(-0.5 * precision * distance) + constant


def sinc(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs and noisy targets of the sinc curve."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-10.0, 10.0, n)
    y = np.sinc(x / np.pi) + rng.laplace(scale=0.1, size=n)
    return x[:, None] / 5.0, y


def two_classes(n: int, seed: int = 0, noise: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """Two overlapping classes in the plane."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = np.where(X[:, 0] + np.sin(2.0 * X[:, 1]) + noise * rng.normal(size=n) > 0.0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return X, y


def problem(loss: losses.Loss, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a covariance and targets that suit the loss."""
    if loss.task == "regression":
        X, y = sinc(n, seed)
        return rbf(X, 1.0, 5.0, 0.5), y
    X, y = two_classes(n, seed)
    return rbf(X, 2.0, 1.0, 1.0), y


# ---- the losses as functions of the residual or of the margin ---------------------------------


class Profile(NamedTuple):
    """A loss, its slope and its second derivative."""

    value: np.ndarray
    slope: np.ndarray
    second: np.ndarray


def _bend(u: np.ndarray, C: float, width: float) -> Profile:
    """Zero below 0, quadratic up to ``width``, linear with slope C beyond."""
    inside = (u >= 0.0) & (u < width)
    value = np.where(u <= 0.0, 0.0, np.where(inside, C * u**2 / (2.0 * width), C * (u - width / 2)))
    slope = np.where(u <= 0.0, 0.0, np.where(inside, C * u / width, C))
    return Profile(value, slope, np.where(inside, C / width, 0.0))


def profile(loss: losses.Loss, x: np.ndarray) -> Profile:
    """Evaluate the loss at the residual or margin x."""
    x = np.asarray(x, dtype=float)
    zero = np.zeros_like(x)
    match loss:
        case losses.SILF(C, epsilon, beta):
            value, slope, second = _bend(
                np.abs(x) - (1.0 - beta) * epsilon, C, 2.0 * beta * epsilon
            )
            return Profile(value, np.sign(x) * slope, second)
        case losses.Huber(C, epsilon):
            return profile(losses.SILF(C, epsilon, 1.0), x)
        case losses.EpsilonInsensitive(C, epsilon):
            far = np.abs(x) > epsilon
            return Profile(
                np.where(far, C * (np.abs(x) - epsilon), 0.0), C * np.sign(x) * far, zero
            )
        case losses.Laplace(C):
            return Profile(C * np.abs(x), C * np.sign(x), zero)
        case losses.Gaussian(sigma):
            return Profile(0.5 * x**2 / sigma**2, x / sigma**2, zero + sigma**-2)
        case losses.SoftMarginL1(C):
            return Profile(C * np.maximum(1.0 - x, 0.0), -C * (x < 1.0), zero)
        case losses.SoftMarginL2(C):
            lack = np.maximum(1.0 - x, 0.0)
            return Profile(0.5 * C * lack**2, -C * lack, C * (x < 1.0))
        case losses.SoftMarginLe(C, epsilon):
            value, slope, second = _bend(1.0 - x, C, 2.0 * epsilon)
            return Profile(value, -slope, second)
        case losses.Trigonometric(delta):
            z = np.clip(x / delta, -1.0, 1.0)
            with np.errstate(divide="ignore"):
                value = -2.0 * np.log(np.sin(np.pi / 4 * (1.0 + z)))
                slope = -np.pi / (2 * delta) / np.tan(np.pi / 4 * (1.0 + z))
                second = np.pi**2 / (8 * delta**2) / np.sin(np.pi / 4 * (1.0 + z)) ** 2
            flat = x >= delta
            return Profile(*(np.where(flat, 0.0, part) for part in (value, slope, second)))
        case losses.Logistic():
            p = np.exp(log_expit(-x))
            return Profile(-log_expit(x), -p, p * (1.0 - p))
        case losses.Probit():
            h = np.exp(-0.5 * x**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(x))
            return Profile(-log_ndtr(x), -h, h * (h + x))
    raise AssertionError(loss)


def _probit_legendre(u: float) -> float:
    """``sup_x (-u x - l(x))`` from the root of the slope; second-order exact in the root."""
    if u <= 0.0:
        return 0.0 if u == 0.0 else np.inf
    probit = losses.Probit()
    high = 40.0 if u < 1e-300 else np.sqrt(2.0 * max(-np.log(u), 1.0)) + 2.0
    x = brentq(lambda x: np.log(-profile(probit, x).slope) - np.log(u), -u - 3.0, high, xtol=1e-14)
    return float(-u * x - profile(probit, x).value)


def legendre(loss: losses.Loss, y: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Return ``sup_f (-a f - l(y, f))`` for a inside its domain."""
    y, a = np.asarray(y, dtype=float), np.asarray(a, dtype=float)
    u = y * a
    match loss:
        case losses.SILF(C, epsilon, beta):
            return (1 - beta) * epsilon * np.abs(a) + beta * epsilon * a * (a / C) - u
        case losses.Huber(C, epsilon):
            return epsilon * a * (a / C) - u
        case losses.EpsilonInsensitive(_, epsilon):
            return epsilon * np.abs(a) - u
        case losses.Laplace() | losses.SoftMarginL1():
            return -u
        case losses.Gaussian(sigma):
            return 0.5 * (sigma * a) ** 2 - u
        case losses.SoftMarginL2(C):
            return 0.5 * u * (u / C) - u
        case losses.SoftMarginLe(C, epsilon):
            return epsilon * u * (u / C) - u
        case losses.Trigonometric(delta):
            v = delta * u
            return -v + 4 / np.pi * v * np.arctan(2 * v / np.pi) - np.log1p((2 * v / np.pi) ** 2)
        case losses.Logistic():
            return xlogy(u, u) + xlogy(1.0 - u, 1.0 - u)
        case losses.Probit():
            return np.array([_probit_legendre(v) for v in u.ravel()]).reshape(u.shape)
    raise AssertionError(loss)


class Certificate(NamedTuple):
    """The values of a dual, computed from the definitions."""

    f: np.ndarray
    primal: float
    dual: float
    gap: float


def certify(loss, K, y, a, offset=0.0, m=0.0, w=None) -> Certificate:
    """Evaluate ``a`` and the offset: latent values, primal, dual and duality gap."""
    y = np.asarray(y, dtype=float)
    w = np.ones(y.size) if w is None else np.asarray(w, dtype=float)
    m = np.broadcast_to(np.asarray(m, dtype=float), y.shape)
    on = w > 0.0
    assert (a[~on] == 0.0).all(), "a row of weight zero has a dual"
    lower, upper = loss.dual_domain(y[on])
    row = a[on] / w[on]
    slack = 1e-14 * np.abs(row)
    assert (row >= lower - slack).all(), "a dual is outside its domain"
    assert (row <= upper + slack).all(), "a dual is outside its domain"
    row = np.clip(row, lower, upper)
    f = m + K @ a + offset
    x = (y - f if loss.task == "regression" else y * f)[on]
    values, conjugates = w[on] * profile(loss, x).value, w[on] * legendre(loss, y[on], row)
    half = 0.5 * float(a @ (K @ a))
    primal = fsum(values) + half
    dual = half + fsum(m * a) + fsum(conjugates)
    gap = fsum([*values, *conjugates, *(a * f)[on], -offset * fsum(a)])
    return Certificate(f, primal, dual, gap)


class Reference(NamedTuple):
    """A primal solution found by a generic optimiser."""

    f: np.ndarray
    offset: float
    primal: float
    gradient: float
    """Norm of the gradient; without an offset it bounds the distance to the solution in z."""
    scale: float
    """Largest row norm of the root L of K, which turns that distance into one in f."""


def optimise(loss, K, y, m=0.0, w=None, bias=False) -> Reference:
    """Minimise ``sum w l(y, m + L z + b) + z'z / 2`` over z and b by a trust-region method."""
    y = np.asarray(y, dtype=float)
    n = y.size
    w = np.ones(n) if w is None else np.asarray(w, dtype=float)
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-14 * max(values.max(), 0.0)
    L = vectors[:, keep] * np.sqrt(values[keep])
    rank = L.shape[1]
    design = np.column_stack([L, np.ones(n)]) if bias else L
    ridge = np.append(np.ones(rank), 0.0) if bias else np.ones(rank)
    sign = -np.ones(n) if loss.task == "regression" else y  # of the derivative of x in f

    def at(z):
        f = m + design @ z
        return f, profile(loss, y - f if loss.task == "regression" else y * f)

    def objective(z):
        return fsum(w * at(z)[1].value) + 0.5 * z @ (ridge * z)

    def gradient(z):
        return design.T @ (w * sign * at(z)[1].slope) + ridge * z

    def hessian(z):
        return (design.T * (w * at(z)[1].second)) @ design + np.diag(ridge + 1e-12 * (1.0 - ridge))

    with np.errstate(all="ignore"):
        found = minimize(
            objective,
            np.zeros(design.shape[1]),
            jac=gradient,
            hess=hessian,
            method="trust-exact",
            options={"gtol": 1e-11, "maxiter": 2000},
        )
        z = found.x
        for _ in range(20):  # below the rounding of the objective: Newton steps on the gradient
            g = gradient(z)
            trial = z - np.linalg.solve(hessian(z), g)
            if not np.linalg.norm(gradient(trial)) < 0.9 * np.linalg.norm(g):
                break
            z = trial
    scale = float(np.sqrt((L**2).sum(axis=1).max()))
    offset = float(z[-1]) if bias else 0.0
    return Reference(at(z)[0], offset, objective(z), float(np.linalg.norm(gradient(z))), scale)


def by_row(loss: losses.Loss, n: int, seed: int = 0) -> losses.Loss:
    """Return the loss with parameters of its own for each row, up to 2.5 times smaller."""
    rng = np.random.default_rng(seed)
    return type(loss)(**{k: x * rng.uniform(0.4, 1.0, n) for k, x in loss.fields.items()})


def repeated(loss: losses.Loss, times: np.ndarray) -> losses.Loss:
    """Return a loss with parameters by row for a longer list of rows."""
    return type(loss)(**{k: np.repeat(x, times) for k, x in loss.fields.items()})
