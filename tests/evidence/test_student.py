"""Student's noise plus a Gaussian, against SciPy and against quadrature over the noise."""

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.evidence.student import StudentNoise

NUS = (0.5, 1.0, 2.5, 4.0, 30.0, 300.0)
SCALE, VARIANCE = 0.3, 0.04


def density_by_quadrature(nu, d):
    """Return log of the integral of t(r) N(d - r) over the noise r, in 30 digits."""
    with mp.workdps(30):
        s, v, nu, d = (mp.mpf(str(x)) for x in (SCALE, VARIANCE, nu, d))
        constant = mp.gamma((nu + 1) / 2) / mp.gamma(nu / 2) / mp.sqrt(mp.pi * nu) / s
        constant /= mp.sqrt(2 * mp.pi * v)

        def integrand(r):
            return mp.exp(-((d - r) ** 2) / (2 * v)) * (1 + (r / s) ** 2 / nu) ** (-(nu + 1) / 2)

        ends = [d - 9, *(d + mp.mpf(k) / 4 for k in range(-20, 21)), d + 9]
        return float(mp.log(constant * mp.quad(integrand, sorted({*ends, mp.mpf(0)}))))


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("d", [0.0, 0.1, -1.0, 5.0])
def test_density_is_that_of_the_sum(nu, d):
    noise = StudentNoise(nu, SCALE).convolution()
    got = noise.log_density(np.array([d]), np.array([VARIANCE]))
    assert got[0] == pytest.approx(density_by_quadrature(nu, d), rel=1e-12, abs=1e-11)


@pytest.mark.parametrize("nu", NUS)
def test_without_a_gaussian_it_is_student(nu):
    d = np.array([0.0, 0.1, 1.0, -5.0, 300.0])
    noise, alone = StudentNoise(nu, SCALE).convolution(), stats.t(nu, scale=SCALE)
    np.testing.assert_allclose(noise.log_density(d, np.zeros(5)), alone.logpdf(d), atol=2e-12)
    tail = np.exp(noise.log_tail(d, np.zeros(5)))
    np.testing.assert_allclose(tail, alone.sf(np.abs(d)), rtol=2e-12, atol=1e-300)


@pytest.mark.parametrize("nu", NUS)
def test_the_tail_is_the_integral_of_the_density(nu):
    noise, d, h = StudentNoise(nu, SCALE).convolution(), np.array([-2.0, -0.1, 0.3, 4.0]), 1e-4
    variance = np.full(4, VARIANCE)
    slope = noise.log_tail(d + h, variance), noise.log_tail(d - h, variance)
    difference = (np.exp(slope[1]) - np.exp(slope[0])) / (2.0 * h) * np.sign(d)
    np.testing.assert_allclose(difference, np.exp(noise.log_density(d, variance)), rtol=2e-6)


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("variance", [0.0, VARIANCE, 1e6])
def test_quantiles_turn_the_distribution_function_round(nu, variance):
    u = np.array([1e-9, 0.05, 0.5, 0.7, 1.0 - 1e-6])
    noise = StudentNoise(nu, SCALE).convolution()
    d = noise.quantile(u, np.full(5, variance))
    tail = np.exp(noise.log_tail(d, np.full(5, variance)))
    np.testing.assert_allclose(tail, np.minimum(u, 1.0 - u), rtol=1e-9)
    np.testing.assert_allclose(noise.quantile(1.0 - u[2:], np.full(3, variance)), -d[2:], atol=1e-9)
    assert (np.diff(d) > 0.0).all()


def test_a_predictive_distribution_takes_the_noise():
    noise = StudentNoise(5.0, SCALE)
    distribution = RegressionPredictive(np.array([1.0, 2.0]), np.array([VARIANCE, 0.0]), noise)
    np.testing.assert_allclose(distribution.mean, [1.0, 2.0])
    np.testing.assert_allclose(distribution.variance, [VARIANCE + 0.15, 0.15])
    assert distribution.cdf(1.0)[0] == pytest.approx(0.5)
    draws = distribution.draws(200_000, 0)
    np.testing.assert_allclose(np.mean(draws <= distribution.quantile(0.9), axis=0), 0.9, atol=3e-3)


def test_units_and_variance():
    noise = StudentNoise(4.0, 0.5)
    assert noise.scaled(10.0) == StudentNoise(4.0, 5.0)
    assert noise.variance() == pytest.approx(0.5)
    assert StudentNoise(2.0, 0.5).variance() == np.inf
    assert StudentNoise(2.5, 0.5, stand_in=0.7).variance() == pytest.approx(0.49)
    assert StudentNoise(2.0, 0.5, stand_in=0.7).scaled(10.0).variance() == pytest.approx(49.0)
    assert StudentNoise(4.0, 0.5, stand_in=0.7).variance() == pytest.approx(0.5)


@pytest.mark.parametrize(("nu", "scale"), [(0.0, 1.0), (-1.0, 1.0), (3.0, 0.0), (np.nan, 1.0)])
def test_parameters_outside_their_domain_are_refused(nu, scale):
    with pytest.raises(ValueError, match=r"must satisfy 0 < \w+, but it is"):
        StudentNoise(nu, scale)


def test_many_rows_are_treated_in_blocks():
    d = np.linspace(-3.0, 3.0, 10_000)
    noise = StudentNoise(3.0, SCALE).convolution()
    got = noise.log_density(d, np.full(d.size, VARIANCE))
    one = noise.log_density(d[7000:7001], np.array([VARIANCE]))
    assert got.shape == d.shape
    assert got[7000] == pytest.approx(one[0], abs=1e-12)
