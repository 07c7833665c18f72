"""The soft insensitive loss becomes Huber's, Vapnik's, Laplace's and Gauss's."""

import numpy as np
import pytest

from pymc_bsvm.losses import SILF, EpsilonInsensitive, Gaussian, Huber, Laplace

R = np.concatenate([np.linspace(-3, 3, 601), [1e-12, -1e-6, 1e4, -1e8]])


@pytest.mark.parametrize(("C", "epsilon"), [(1.0, 0.1), (1e-3, 10.0), (1e6, 1e-6), (7.0, 0.3)])
def test_huber_is_exactly_beta_one(C, epsilon):
    soft, huber = SILF(C, epsilon, 1.0), Huber(C, epsilon)
    for method in ("value", "derivative", "curvature"):
        assert np.array_equal(getattr(soft, method)(R, 0.2), getattr(huber, method)(R, 0.2))
    a = np.linspace(-C, C, 21)
    assert np.array_equal(soft.conjugate(0.3, a), huber.conjugate(0.3, a))
    assert soft.log_normalizer() == huber.log_normalizer()
    assert soft.variance() == huber.variance()
    for method in ("cdf", "log_cdf"):
        assert np.array_equal(getattr(soft, method)(R), getattr(huber, method)(R))


@pytest.mark.parametrize("C", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
def test_epsilon_insensitive_is_the_limit_of_small_beta(C, epsilon):
    beta = 1e-8
    soft, hard = SILF(C, epsilon, beta), EpsilonInsensitive(C, epsilon)
    difference = soft.value(R, 0.0) - hard.value(R, 0.0)
    # the two differ by at most C beta epsilon / 4, at |r| = epsilon, and never below
    assert np.all(difference >= -4e-16 * hard.value(R, 0.0))
    assert np.all(difference <= C * beta * epsilon / 4 + 4e-16 * hard.value(R, 0.0))
    outside = np.abs(np.abs(R) - epsilon) > 2 * beta * epsilon
    assert np.array_equal(soft.derivative(R, 0.0)[outside], hard.derivative(R, 0.0)[outside])
    assert np.all(soft.curvature(R, 0.0)[outside] == 0)
    a = np.linspace(-C, C, 11)
    near = dict(rtol=2e-8, atol=2 * C * beta * epsilon)
    np.testing.assert_allclose(soft.conjugate(0.0, a), hard.conjugate(0.0, a), **near)
    near = dict(rel=4e-8 * max(1.0, C * epsilon))
    assert soft.log_normalizer() == pytest.approx(hard.log_normalizer(), abs=2e-8)
    assert soft.variance() == pytest.approx(hard.variance(), **near)
    u = np.array([1e-9, 0.01, 0.2, 0.5, 0.9])
    np.testing.assert_allclose(soft.quantile(u), hard.quantile(u), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("C", [0.1, 1.0, 1e3])
@pytest.mark.parametrize("beta", [1e-8, 0.3, 1.0])
def test_laplace_is_the_limit_of_small_epsilon(C, beta):
    epsilon = 1e-9 / C
    soft, laplace = SILF(C, epsilon, beta), Laplace(C)
    difference = laplace.value(R, 0.0) - soft.value(R, 0.0)
    slack = 4e-16 * laplace.value(R, 0.0)
    assert np.all((difference >= -slack) & (difference <= C * epsilon + slack))
    assert soft.log_normalizer() == pytest.approx(laplace.log_normalizer(), abs=2e-9)
    assert soft.variance() == pytest.approx(laplace.variance(), rel=4e-9)
    a = np.linspace(-C, C, 11)
    np.testing.assert_allclose(soft.conjugate(0.4, a), laplace.conjugate(0.4, a), atol=2e-9)
    np.testing.assert_allclose(soft.cdf(R / C), laplace.cdf(R / C), rtol=3e-9, atol=1e-300)


@pytest.mark.parametrize("sigma", [0.1, 1.0, 7.0])
def test_gaussian_is_the_limit_of_a_wide_band(sigma):
    epsilon = 1e3 * sigma
    C = 2 * epsilon / sigma**2
    soft, gaussian = SILF(C, epsilon, 1.0), Gaussian(sigma)
    r = R[np.abs(R) < 2 * epsilon]
    np.testing.assert_allclose(soft.value(r, 0.0), gaussian.value(r, 0.0), rtol=2e-15)
    np.testing.assert_allclose(soft.derivative(r, 0.0), gaussian.derivative(r, 0.0), rtol=2e-15)
    np.testing.assert_allclose(soft.curvature(r, 0.0), gaussian.curvature(r, 0.0), rtol=2e-15)
    assert soft.log_normalizer() == pytest.approx(gaussian.log_normalizer(), rel=1e-15, abs=1e-15)
    assert soft.variance() == pytest.approx(sigma**2, rel=2e-15)
    assert gaussian.variance() == pytest.approx(sigma**2, rel=2e-15)
    a = np.linspace(-4, 4, 17) / sigma
    np.testing.assert_allclose(soft.conjugate(0.0, a), gaussian.conjugate(0.0, a), rtol=2e-15)
