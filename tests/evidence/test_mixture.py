"""Mixtures of predictive distributions against a mixture on a fine grid."""

import numpy as np
import pytest

from pymc_bsvm.evidence.mixture import RegressionMixture
from pymc_bsvm.evidence.prediction import RegressionPredictive
from pymc_bsvm.losses import SILF
from pymc_bsvm.losses.convolution import Convolution, PiecewiseConvolution

MEANS = np.array([[0.0, 3.0], [0.8, 3.1], [-1.5, 2.5]])
VARIANCES = np.array([[0.3, 0.01], [0.1, 0.5], [0.6, 0.02]])
PARAMETERS = ((4.0, 0.2, 0.3), (8.0, 0.5, 1.0), (2.0, 0.1, 0.5))
T = np.linspace(-30.0, 30.0, 120_001)


def silf(r: np.ndarray, C: float, epsilon: float, beta: float) -> np.ndarray:
    """Return the loss, (2.28) of the thesis."""
    r = np.abs(r)
    low, high = (1.0 - beta) * epsilon, (1.0 + beta) * epsilon
    bend = np.where(r < high, (r - low) ** 2 / (4.0 * beta * epsilon), r - epsilon)
    return C * np.where(r < low, 0.0, bend)


def brute_density(row: int) -> np.ndarray:
    """Return the density of the mixture on `T`, by convolution on the grid."""
    total = np.zeros_like(T)
    for k, parameters in enumerate(PARAMETERS):
        noise = np.exp(-silf(T, *parameters))
        noise /= np.trapezoid(noise, T)
        normal = np.exp(-0.5 * (T - MEANS[k, row]) ** 2 / VARIANCES[k, row])
        normal /= np.trapezoid(normal, T)
        size = 2 * T.size
        spectrum = np.fft.rfft(noise, size) * np.fft.rfft(normal, size)
        full = np.fft.irfft(spectrum, size) * (T[1] - T[0])
        start = T.size // 2
        total += full[start : start + T.size] / len(PARAMETERS)
    return total


@pytest.fixture(scope="module")
def mixture() -> RegressionMixture:
    return RegressionMixture(
        [
            RegressionPredictive(m, v, SILF(*p))
            for m, v, p in zip(MEANS, VARIANCES, PARAMETERS, strict=True)
        ]
    )


@pytest.fixture(scope="module")
def densities() -> np.ndarray:
    return np.array([brute_density(row) for row in range(2)])


def test_mean_and_variance(mixture, densities):
    mean = np.trapezoid(densities * T, T, axis=1)
    variance = np.trapezoid(densities * (T - mean[:, None]) ** 2, T, axis=1)
    np.testing.assert_allclose(mixture.mean, mean, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(mixture.variance, variance, rtol=1e-5)


@pytest.mark.parametrize("t", [-4.0, -0.5, 0.0, 0.7, 3.0, 9.0])
def test_density(mixture, densities, t):
    at = np.searchsorted(T, t)
    np.testing.assert_allclose(np.exp(mixture.logpdf(T[at])), densities[:, at], rtol=1e-5)


@pytest.mark.parametrize("t", [-4.0, -0.5, 0.0, 0.7, 3.0, 5.0])
def test_cdf(mixture, densities, t):
    at = np.searchsorted(T, t)
    below = np.trapezoid(densities[:, : at + 1], T[: at + 1], axis=1)
    np.testing.assert_allclose(mixture.cdf(T[at]), below, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("u", [1e-6, 0.05, 0.5, 0.9, 1.0 - 1e-6])
def test_quantile(mixture, densities, u):
    cumulative = np.cumsum(densities, axis=1) * (T[1] - T[0])
    expected = [np.interp(u, row, T) for row in cumulative]
    np.testing.assert_allclose(mixture.quantile(u), expected, atol=2e-3)
    np.testing.assert_allclose(mixture.cdf(mixture.quantile(u)), u, rtol=1e-9)


def test_many_quantiles_in_one_call(mixture):
    u = np.array([0.01, 0.3, 0.5, 0.95, 1.0])
    each = [mixture.quantile(share) for share in u]
    np.testing.assert_allclose(mixture.quantile(u[:, None]), each, rtol=1e-12)


def test_both_tails_of_the_quantile(mixture):
    u = np.array([1e-200, 1e-12])
    np.testing.assert_allclose(mixture.logcdf(mixture.quantile(u)), np.log(u), rtol=1e-12)
    np.testing.assert_allclose(
        mixture.logsf(mixture.quantile(1.0 - u[1])), np.log(1e-12), rtol=3e-6
    )


def test_shares_of_the_parts(mixture):
    shares = np.array([0.7, 0.1, 0.2])
    uneven = RegressionMixture(mixture.parts, shares)
    t = uneven.quantile(0.2)
    below = sum(s * part.cdf(t) for s, part in zip(shares, mixture.parts, strict=True))
    np.testing.assert_allclose(below, 0.2, rtol=1e-12)


def test_ends_of_the_quantile(mixture):
    np.testing.assert_array_equal(mixture.quantile(0.0), [-np.inf, -np.inf])
    np.testing.assert_array_equal(mixture.quantile(1.0), [np.inf, np.inf])


def test_log_density_far_out(mixture):
    """Where all densities underflow, the part with the widest tail is what is left."""
    part = RegressionPredictive(MEANS[2], VARIANCES[2], SILF(*PARAMETERS[2]))
    far = mixture.logpdf(1000.0)
    assert (far < -1900.0).all()
    np.testing.assert_allclose(far, part.logpdf(1000.0) - np.log(3.0), rtol=1e-12)


def test_one_part_is_itself():
    part = RegressionPredictive(MEANS[0], VARIANCES[0], SILF(*PARAMETERS[0]))
    one = RegressionMixture([part])
    for name in ("mean", "variance"):
        np.testing.assert_array_equal(getattr(one, name), getattr(part, name))
    for name, x in (("logpdf", 0.4), ("cdf", 0.4), ("quantile", 0.3)):
        np.testing.assert_allclose(getattr(one, name)(x), getattr(part, name)(x), rtol=1e-14)


def test_equal_parts_are_one():
    part = RegressionPredictive(MEANS[0], VARIANCES[0], SILF(*PARAMETERS[0]))
    many = RegressionMixture([part] * 7)
    np.testing.assert_allclose(many.variance, part.variance, rtol=1e-14)
    np.testing.assert_allclose(many.quantile(0.2), part.quantile(0.2), rtol=1e-12)


def test_quantiles_of_rows_take_few_values_of_the_parts(monkeypatch):
    """Each row needs some of each part, in closed form."""
    values, integrals = [], []
    closed_form, quadrature = PiecewiseConvolution.log_tail_and_density, Convolution.log_tail

    def closed(self, d, variance):
        values.append(d.size)
        return closed_form(self, d, variance)

    def integrated(self, d, variance):
        integrals.append(d.size)
        return quadrature(self, d, variance)

    monkeypatch.setattr(PiecewiseConvolution, "log_tail_and_density", closed)
    monkeypatch.setattr(Convolution, "log_tail", integrated)
    rng = np.random.default_rng(3)
    n, noise = 2000, SILF(10.0, 0.1, 0.3)
    variances = rng.uniform(0.002, 0.02, (5, n))
    means = rng.normal(size=n) + 0.05 * rng.normal(size=(5, n))
    parts = [RegressionPredictive(m, v, noise) for m, v in zip(means, variances, strict=True)]
    RegressionMixture(parts).quantile([[0.05], [0.95]])
    assert sum(values) < 5 * (2 * n * 4.0 + 300)
    assert not integrals
