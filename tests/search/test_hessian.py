"""The Gaussian near a mode: exact on quadratics, nearest in the sense of KL on other densities."""

import logging

import numpy as np
import pytest
from scipy.optimize import minimize

from pymc_bsvm.search.hessian import nearest_gaussian


def quadratic(mean, precision):
    """Return a log density and its gradient."""

    def density(x):
        step = x - mean
        return 7.0 - 0.5 * step @ precision @ step, -precision @ step

    return density


def names(k):
    return [f"x{i}" for i in range(k)]


def gauss_hermite(k, count=60):
    """Return nodes and weights of a standard normal in k dimensions."""
    node, weight = np.polynomial.hermite_e.hermegauss(count)
    weight = weight / weight.sum()
    nodes = np.stack(np.meshgrid(*[node] * k), axis=-1).reshape(-1, k)
    weights = np.prod(np.stack(np.meshgrid(*[weight] * k), axis=-1).reshape(-1, k), axis=1)
    return nodes, weights


def least_divergence(log_density, start, root):
    """Return mean and covariance of the Gaussian q of the least KL(q || p), by quadrature."""
    k = start.size
    nodes, weights = gauss_hermite(k, 24 if k > 1 else 200)
    lower = np.tril_indices(k)

    def unpack(v):
        L = np.zeros((k, k))
        L[lower] = v[k:]
        return v[:k], L

    def divergence(v):
        mean, L = unpack(v)
        values = np.array([log_density(x) for x in mean + nodes @ L.T])
        return -weights @ values - np.log(np.abs(np.diag(L))).sum()

    found = minimize(
        divergence,
        np.concatenate([start, root[lower]]),
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-10, "maxfev": 5000, "maxiter": 5000},
    )
    mean, L = unpack(found.x)
    return mean, L @ L.T


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_exact_on_a_quadratic(k):
    rng = np.random.default_rng(k)
    mean, A = rng.normal(size=k), rng.normal(size=(k, k))
    covariance = A @ A.T + 0.01 * np.eye(k)
    density = quadratic(mean, np.linalg.inv(covariance))
    found = nearest_gaussian(density, mean + 0.1 * rng.normal(size=k), names(k))
    np.testing.assert_allclose(found.mean, mean, atol=1e-7)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-6, atol=1e-7)
    assert found.names == names(k)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 5.0])
def test_any_width(scale):
    found = nearest_gaussian(quadratic(np.zeros(1), np.eye(1) / scale**2), np.zeros(1), ["x"])
    assert found.covariance[0, 0] == pytest.approx(scale**2, rel=1e-8)


def test_ripples():
    """Curvature at the mode is 80 times that of the hill; the Gaussian is that of the hill."""

    def density(x):
        hill, slope = quadratic(np.zeros(2), np.diag([1.0, 4.0]))(x)
        phase = 20.0 * x
        return hill + 0.2 * np.cos(phase).sum(), slope - 4.0 * np.sin(phase)

    found = nearest_gaussian(density, np.zeros(2), names(2))
    np.testing.assert_allclose(found.mean, 0.0, atol=0.05)
    np.testing.assert_allclose(np.diag(found.covariance), [1.0, 0.25], rtol=0.15)
    assert abs(found.covariance[0, 1]) < 0.05


def log_gamma(x):
    """Return the log density of the log of a gamma variable of shape 4, which is skewed."""
    return 4.0 * x[0] - np.exp(x[0]), np.array([4.0 - np.exp(x[0])])


def test_skewed():
    """The least divergence from log Gamma(4): m + v / 2 = log 4 and v = 1 / 4, by hand."""
    found = nearest_gaussian(log_gamma, np.array([np.log(4.0)]), ["x"])
    assert found.covariance[0, 0] == pytest.approx(0.25, rel=0.08)
    assert found.mean[0] == pytest.approx(np.log(4.0) - 0.125, abs=0.03)


def test_skewed_in_two_dimensions():
    def density(x):
        bend = x[1] - 0.3 * x[0] ** 2
        value = -0.5 * x[0] ** 2 - 2.0 * bend**2
        return value, np.array([-x[0] + 2.4 * bend * x[0], -4.0 * bend])

    found = nearest_gaussian(density, np.zeros(2), names(2))
    mean, covariance = least_divergence(lambda x: density(x)[0], np.zeros(2), np.diag([1.0, 0.5]))
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found.mean, mean, atol=0.1 * spread.max())
    np.testing.assert_allclose(np.diag(found.covariance), np.diag(covariance), rtol=0.15)


def test_outside_the_domain():
    """Points where the density is not finite are left out."""

    def density(x):
        value, gradient = log_gamma(x)
        return (value, gradient) if x[0] < 2.8 else (-np.inf, np.zeros(1))

    found = nearest_gaussian(density, np.array([np.log(4.0)]), ["x"])
    assert found.covariance[0, 0] == pytest.approx(0.25, rel=0.15)


@pytest.mark.parametrize(
    "density",
    [
        lambda x: (-0.5 * x[0] ** 2, np.array([-x[0], 0.0])),
        lambda x: (-0.5 * x[0] ** 2 + 0.1 * x[1] ** 2, np.array([-x[0], 0.2 * x[1]])),
        quadratic(np.zeros(2), np.diag([1.0, 1e-4])),  # a logarithm that may be anything
    ],
    ids=["flat", "valley", "wide"],
)
def test_refused(caplog, density):
    assert nearest_gaussian(density, np.zeros(2), ["round", "odd"]) is None
    [record] = caplog.records
    assert record.name == "pymc_bsvm"
    assert record.levelno == logging.WARNING
    assert "along odd" in record.getMessage()


def test_callback():
    calls = []
    nearest_gaussian(
        quadratic(np.zeros(2), np.eye(2)), np.zeros(2), names(2), lambda: calls.append(1)
    )
    assert 2 <= len(calls) <= 10
