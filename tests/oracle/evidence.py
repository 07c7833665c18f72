"""Laplace's approximation of the evidence with dense n x n matrices, as textbooks print it.

Nothing here imports the library, and no set of support vectors is ever formed: the matrices are all
of size n, the determinant is that of ``I + K W``, and a posterior without one of its observations
is the posterior of the others. Formulas are written once for real and for complex arguments, and
all first derivatives with respect to the latent values and the parameters are complex steps, which
are exact to rounding. A loss is any object whose class is named as in `FORMULAS` and whose
attributes are the parameters, so that the library's losses and those of `tests.oracle` will do.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erf, erfc

_STEP = 1e-40


class Formulas(NamedTuple):
    """A loss as functions of ``(y, f, *parameters)``, all of them fit for complex arguments."""

    parameters: tuple[str, ...]
    value: Callable[..., Any]
    slope: Callable[..., Any]
    """First derivative with respect to f."""
    curvature: Callable[..., Any]
    """Second derivative with respect to f."""
    smooth: Callable[..., Any]
    """``(y, f, width, *parameters)``: the curvature with ramps."""
    log_normaliser: Callable[..., Any]


# ---- the losses -------------------------------------------------------------------------------


def _below(x: Any, y: Any) -> Any:
    return np.real(x) < np.real(y)


def _silf_zone(y: Any, f: Any, epsilon: Any, beta: Any) -> tuple[Any, Any, Any]:
    """Size and sign of the residual, and how far it is above the lower knot."""
    r = y - f
    sign = np.where(_below(r, 0.0), -1.0, 1.0)
    return sign * r, sign, sign * r - (1.0 - beta) * epsilon


def _silf_value(y: Any, f: Any, C: Any, epsilon: Any, beta: Any) -> Any:  # (2.28)
    d, _, t = _silf_zone(y, f, epsilon, beta)
    bent = np.where(_below(d, (1.0 + beta) * epsilon), t**2 / (4.0 * beta * epsilon), d - epsilon)
    return C * np.where(_below(t, 0.0), 0.0, bent)


def _silf_slope(y: Any, f: Any, C: Any, epsilon: Any, beta: Any) -> Any:
    d, sign, t = _silf_zone(y, f, epsilon, beta)
    bent = np.where(_below(d, (1.0 + beta) * epsilon), t / (2.0 * beta * epsilon), 1.0)
    return -C * sign * np.where(_below(t, 0.0), 0.0, bent)


def _silf_curvature(y: Any, f: Any, C: Any, epsilon: Any, beta: Any) -> Any:  # (2.30)
    d, _, t = _silf_zone(y, f, epsilon, beta)
    inside = ~_below(t, 0.0) & _below(d, (1.0 + beta) * epsilon)
    return np.where(inside, C / (2.0 * beta * epsilon), 0.0)


def _silf_smooth(y: Any, f: Any, width: Any, C: Any, epsilon: Any, beta: Any) -> Any:
    """Average the curvature over ``r + t`` with the weight ``3/4 (1 - (t / tau)²) / tau``.

    That is the convolution with the derivative of the ramp. In the signed residual the curvature
    is constant on two bands, the weight is a parabola, and Simpson's rule is exact for parabolas.
    """
    r, tau = y - f, width * beta * epsilon
    lo, hi = (1.0 - beta) * epsilon, (1.0 + beta) * epsilon

    def weight(t: Any) -> Any:
        return 0.75 * (1.0 - ((t - r) / tau) ** 2) / tau

    total = 0.0
    for start, stop in ((-hi, -lo), (lo, hi)):
        left = np.where(_below(start, r - tau), r - tau, start)
        right = np.where(_below(r + tau, stop), r + tau, stop)
        sixth = np.where(_below(left, right), right - left, 0.0) / 6.0
        total = total + sixth * (weight(left) + 4.0 * weight(0.5 * (left + right)) + weight(right))
    return C / (2.0 * beta * epsilon) * total


def _silf_log_normaliser(C: Any, epsilon: Any, beta: Any) -> Any:  # (2.32)
    s = C * beta * epsilon
    return np.log(
        2.0 * (1.0 - beta) * epsilon
        + 2.0 * np.sqrt(np.pi * beta * epsilon / C) * erf(np.sqrt(s))
        + 2.0 / C * np.exp(-s)
    )


def _of_huber(formula: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: formula(*arguments, 1.0)


def _trigonometric_bend(y: Any, f: Any, delta: Any) -> Any:  # (5.10), (5.11) on all of the line
    return np.pi**2 / (8.0 * delta**2) / np.cos(np.pi / 4.0 * (1.0 - y * f / delta)) ** 2


def _trigonometric_value(y: Any, f: Any, delta: Any) -> Any:  # (5.9)
    z = y * f / delta
    inside = -2.0 * np.log(np.cos(np.pi / 4.0 * (1.0 - np.where(_below(z, 1.0), z, 1.0))))
    return np.where(_below(z, 1.0), inside, 0.0)


def _trigonometric_slope(y: Any, f: Any, delta: Any) -> Any:
    z = y * f / delta
    inside = -np.pi / 2.0 * y / delta * np.tan(np.pi / 4.0 * (1.0 - z))
    return np.where(_below(z, 1.0), inside, 0.0)


def _trigonometric_curvature(y: Any, f: Any, delta: Any) -> Any:
    return np.where(_below(y * f / delta, 1.0), _trigonometric_bend(y, f, delta), 0.0)


def _trigonometric_smooth(y: Any, f: Any, width: Any, delta: Any) -> Any:
    """Take the continued curvature to zero over ``[1 - w, 1 + w]`` by the cubic with flat ends."""
    z = y * f / delta
    p = (z - 1.0 + width) / (2.0 * width)  # from 0 to 1
    keep = np.where(_below(p, 0.0), 1.0, np.where(_below(p, 1.0), 1.0 - p * p * (3 - 2 * p), 0.0))
    return np.where(_below(p, 1.0), _trigonometric_bend(y, f, delta), 0.0) * keep


def _logistic_value(y: Any, f: Any) -> Any:
    x = y * f
    small = np.exp(np.where(_below(x, 0.0), x, -x))
    return np.log(1.0 + small) + np.where(_below(x, 0.0), -x, 0.0)


def _logistic_slope(y: Any, f: Any) -> Any:
    return -0.5 * y * (1.0 - np.tanh(0.5 * y * f))


def _logistic_curvature(y: Any, f: Any) -> Any:
    return 0.25 / np.cosh(0.5 * y * f) ** 2


def _probit_mass(y: Any, f: Any) -> Any:
    return 0.5 * erfc(-y * f / np.sqrt(2.0))


def _probit_slope(y: Any, f: Any) -> Any:
    return -y * np.exp(-0.5 * f * f) / np.sqrt(2.0 * np.pi) / _probit_mass(y, f)


def _probit_curvature(y: Any, f: Any) -> Any:
    slope = _probit_slope(y, f)
    return slope * slope - slope * f


def _without_steps(formula: Callable[..., Any]) -> Callable[..., Any]:
    return lambda y, f, width, *parameters: formula(y, f, *parameters)


def _gaussian_curvature(y: Any, f: Any, sigma: Any) -> Any:
    return 1.0 / sigma**2 + 0.0 * f


_SILF = (_silf_value, _silf_slope, _silf_curvature, _silf_smooth, _silf_log_normaliser)

FORMULAS = {
    "SILF": Formulas(("C", "epsilon", "beta"), *_SILF),
    "Huber": Formulas(("C", "epsilon"), *(_of_huber(formula) for formula in _SILF)),
    "Gaussian": Formulas(
        ("sigma",),
        lambda y, f, sigma: 0.5 * ((y - f) / sigma) ** 2,
        lambda y, f, sigma: -(y - f) / sigma**2,
        _gaussian_curvature,
        _without_steps(_gaussian_curvature),
        lambda sigma: np.log(sigma * np.sqrt(2.0 * np.pi)),
    ),
    "Trigonometric": Formulas(
        ("delta",),
        _trigonometric_value,
        _trigonometric_slope,
        _trigonometric_curvature,
        _trigonometric_smooth,
        lambda delta: 0.0 * delta,
    ),
    "Logistic": Formulas(
        (),
        _logistic_value,
        _logistic_slope,
        _logistic_curvature,
        _without_steps(_logistic_curvature),
        lambda: 0.0,
    ),
    "Probit": Formulas(
        (),
        lambda y, f: -np.log(_probit_mass(y, f)),
        _probit_slope,
        _probit_curvature,
        _without_steps(_probit_curvature),
        lambda: 0.0,
    ),
}


class _Bound(NamedTuple):
    """The formulas of a loss with the values of its parameters."""

    formulas: Formulas
    values: tuple[float, ...]


def _bind(loss: Any) -> _Bound:
    formulas = FORMULAS[type(loss).__name__]
    return _Bound(formulas, tuple(float(getattr(loss, p)) for p in formulas.parameters))


def curvature(loss: Any, y: Any, f: Any, smooth_width: float | None = None) -> np.ndarray:
    """Return W: the papers' curvature, or the smooth one if a width is given."""
    formulas, values = _bind(loss)
    y, f = np.asarray(y, dtype=float), np.asarray(f, dtype=float)
    if smooth_width is None:
        return np.asarray(formulas.curvature(y, f, *values))
    return np.asarray(formulas.smooth(y, f, smooth_width, *values))


# ---- the evidence -----------------------------------------------------------------------------


class Terms(NamedTuple):
    """The terms of the evidence, in nats."""

    fit: float
    penalty: float
    log_det: float
    log_normaliser: float

    @property
    def log_evidence(self) -> float:
        """(4.38), (5.35)."""
        return -(self.fit + self.penalty + 0.5 * self.log_det + self.log_normaliser)


def evidence(K: Any, y: Any, loss: Any, a: Any, f: Any, smooth_width: float | None = None) -> Terms:
    """Evaluate the terms at the MAP estimate ``f = m + K a``."""
    formulas, values = _bind(loss)
    K, y, a, f = (np.asarray(x, dtype=float) for x in (K, y, a, f))
    W = curvature(loss, y, f, smooth_width)
    sign, log_det = np.linalg.slogdet(np.eye(y.size) + K * W)
    assert sign > 0.0
    return Terms(
        float(formulas.value(y, f, *values).sum()),
        float(0.5 * a @ K @ a),
        float(log_det),
        float(y.size * formulas.log_normaliser(*values)),
    )


def gradient(
    K: Any, y: Any, loss: Any, a: Any, f: Any, smooth_width: float | None = None
) -> dict[str, Any]:
    """Differentiate the LOG evidence (not its negative) at the MAP estimate ``f = m + K a``.

    Returns ``K``: the symmetric matrix G with ``d log p = sum_ij G_ij dK_ij`` for symmetric dK;
    ``m``: the derivative with respect to the prior mean; ``parameters``: those with respect to the
    parameters of the loss (not to their logs). The way in which the MAP estimate follows the
    hyperparameters is included; the steps of an exact curvature are not.

    The negative log evidence is ``F(K, m, q, f) = sum l + (f - m)'K⁻¹(f - m) / 2 + log|I + KW| / 2
    + n log Z``, and f solves ``f = m - K l'(f, q)``. Hence ``(I + K l'') df = dm + dK a - K l'_q
    dq``, where l'' is the exact curvature whatever W is in the determinant.
    """
    formulas, values = _bind(loss)
    K, y, a, f = (np.asarray(x, dtype=float) for x in (K, y, a, f))
    identity = np.eye(y.size)

    def weights(f: Any, *values: Any) -> Any:
        if smooth_width is None:
            return formulas.curvature(y, f, *values)
        return formulas.smooth(y, f, smooth_width, *values)

    W = weights(f, *values)
    inverse = np.linalg.inv(identity + K * W)
    V = np.einsum("ij,ji->i", inverse, K)  # the diagonal of (K⁻¹ + W)⁻¹
    R = W[:, None] * inverse  # (K + W⁻¹)⁻¹ where W has an inverse
    R = 0.5 * (R + R.T)
    through_f = 0.5 * V * weights(f + 1j * _STEP, *values).imag / _STEP
    exact = formulas.curvature(y, f, *values)
    u = np.linalg.solve(identity + exact[:, None] * K, through_f)

    of_parameters = {}
    for k, name in enumerate(formulas.parameters):
        moved = list(map(complex, values))
        moved[k] += 1j * _STEP
        of_value = formulas.value(y, f, *moved).imag.sum() / _STEP
        of_slope = formulas.slope(y, f, *moved).imag / _STEP
        of_weights = weights(f + 0j, *moved).imag / _STEP
        of_normaliser = y.size * np.imag(formulas.log_normaliser(*moved)) / _STEP
        explicit = of_value + 0.5 * V @ of_weights + of_normaliser
        of_parameters[name] = -float(explicit - (K @ u) @ of_slope)
    of_K = -0.5 * np.outer(a, a) + 0.5 * R + 0.5 * (np.outer(u, a) + np.outer(a, u))
    return {"K": -of_K, "m": a - u, "parameters": of_parameters}


def thesis_gradient_of_silf(
    K: Any, y: Any, loss: Any, a: Any, f: Any, kernel: dict[str, Any]
) -> dict[str, float]:
    """Evaluate (4.39)-(4.41): the NEGATIVE log evidence, with respect to log C, log epsilon, ...

    ``kernel`` holds the derivatives of K with respect to the logs of its hyperparameters.
    """
    C, epsilon, beta = loss.C, loss.epsilon, loss.beta
    r = np.asarray(y) - f
    lo, hi = (1 - beta) * epsilon, (1 + beta) * epsilon
    M = np.flatnonzero((np.abs(r) > lo) & (np.abs(r) < hi))
    beyond = np.abs(r) >= hi
    K_M = K[np.ix_(M, M)]
    inverse = np.linalg.inv(2 * beta * epsilon / C * np.eye(M.size) + K_M)
    Z = np.exp(_silf_log_normaliser(C, epsilon, beta))
    bell = np.sqrt(beta * epsilon * np.pi / C) * erf(np.sqrt(C * beta * epsilon))
    trace = np.trace(inverse @ K_M)
    rise = ((r[M] ** 2 - lo**2) / (4 * beta * epsilon)).sum()
    tails = 2 / C * np.exp(-C * beta * epsilon)
    of_C = _silf_value(y, f, C, epsilon, beta).sum() + trace / 2 - r.size / Z * (bell + tails)
    of_epsilon = -C * (rise + epsilon * beyond.sum()) - trace / 2 + r.size / Z * (bell + 2 * lo)
    result = {"C": float(of_C), "epsilon": float(of_epsilon)}
    for name, D in kernel.items():
        result[name] = float(0.5 * np.trace(inverse @ D[np.ix_(M, M)]) - 0.5 * a @ D @ a)
    return result


def thesis_gradient_of_trigonometric(
    K: Any, a: Any, f: Any, y: Any, kernel: dict[str, Any]
) -> dict[str, float]:
    """Evaluate (5.36), with its minus before the implicit term and not the plus of (E.16).

    The scale delta is one. It is the NEGATIVE log evidence, as in `thesis_gradient_of_silf`.
    """
    M = np.flatnonzero(y * f < 1.0)
    inverse_bend = 1.0 / _trigonometric_bend(y[M], f[M], 1.0)
    v, K_M = a[M], K[np.ix_(M, M)]
    inverse = np.linalg.inv(np.diag(inverse_bend) + K_M)
    share = np.diag(inverse @ K_M)
    result = {}
    for name, D in kernel.items():
        D_M = D[np.ix_(M, M)]
        explicit = 0.5 * np.trace(inverse @ D_M) - 0.5 * v @ D_M @ v
        implicit = 0.5 * (v * share) @ (inverse_bend * (inverse @ D_M @ v))
        result[name] = float(explicit - implicit)
    return result


# ---- the posterior ----------------------------------------------------------------------------


def posterior_covariance(K: Any, y: Any, loss: Any, f: Any) -> np.ndarray:
    """Return ``(K⁻¹ + W)⁻¹`` with the exact curvature; K has to be well conditioned."""
    K = np.asarray(K, dtype=float)
    return np.linalg.inv(np.linalg.inv(K) + np.diag(curvature(loss, y, f)))


class Gaussians(NamedTuple):
    """Means and variances, one of each for every row."""

    mean: np.ndarray
    variance: np.ndarray


def predict(
    K: Any, y: Any, loss: Any, a: Any, f: Any, cross: Any, prior: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean (less the prior's) and covariance of new latent values, (4.46) and (5.41)."""
    W = curvature(loss, y, f)
    K, cross = np.asarray(K, dtype=float), np.asarray(cross, dtype=float)
    known = np.linalg.solve(np.eye(W.size) + W[:, None] * K, W[:, None] * cross)
    return cross.T @ a, np.asarray(prior, dtype=float) - cross.T @ known


def leave_one_out(K: Any, y: Any, loss: Any, a: Any, f: Any) -> Gaussians:
    """Delete one observation at a time from the posterior of the others.

    The observation of row j is the Gaussian ``exp(a_j (f_j - c_j) - W_j (f_j - c_j)² / 2)`` around
    its MAP estimate c_j. For each row the posterior of a model with the n - 1 others is solved.
    """
    K, y, a, f = (np.asarray(x, dtype=float) for x in (K, y, a, f))
    m, n = f - K @ a, y.size
    mean, variance = np.empty(n), np.empty(n)
    for i in range(n):
        W, pull = curvature(loss, y, f), a.copy()
        W[i] = pull[i] = 0.0
        system = np.eye(n) + K * W
        mean[i] = m[i] + np.linalg.solve(system, K @ (pull + W * (f - m)))[i]
        variance[i] = np.linalg.solve(system, K)[i, i]
    return Gaussians(mean, variance)


def gaussian_leave_one_out(K: Any, y: Any, sigma: float, m: Any = 0.0) -> Gaussians:
    """Evaluate (5.12) of Rasmussen and Williams (2006): noisy targets given the n - 1 others."""
    inverse = np.linalg.inv(np.asarray(K, dtype=float) + sigma**2 * np.eye(len(K)))
    variance = 1.0 / np.diag(inverse)
    return Gaussians(y - (inverse @ (y - m)) * variance, variance)


def log_normal(x: Any, mean: Any, variance: Any) -> np.ndarray:
    """Log density of a normal distribution; with the above, (5.10) of Rasmussen and Williams."""
    return np.asarray(-0.5 * np.log(2.0 * np.pi * variance) - 0.5 * (x - mean) ** 2 / variance)
