"""Noise of which a share is wider, against SciPy's normal distribution and against quadrature."""

import pickle

import numpy as np
import pytest
from scipy import stats

from pymc_bsvm.evidence import ContaminatedNoise, RegressionPredictive
from pymc_bsvm.losses import SILF, Gaussian, Logistic
from tests.losses.test_new_loss import Skewed

SHARE, FACTOR, VARIANCE = 0.1, 6.0, 0.04
CORES = (Gaussian(0.3), SILF(10.0, 0.2, 0.3), Skewed(20.0, 40.0, 500.0, 900.0))
by_core = pytest.mark.parametrize("core", CORES, ids=lambda core: type(core).__name__)


def seen(core, variance=VARIANCE):
    noise = ContaminatedNoise(core, SHARE, FACTOR)
    return RegressionPredictive(np.zeros(1), np.array([variance]), noise)


def integral(function, high=40.0):
    """Return the integral from -40 by Gauss' rule on panels that are narrow around zero."""
    cuts = np.unique(np.concatenate([np.linspace(-40.0, 40.0, 81), np.linspace(-2.0, 2.0, 401)]))
    cuts = np.append(cuts[cuts < high], high)
    x, weights = np.polynomial.legendre.leggauss(12)
    half = 0.5 * np.diff(cuts)[:, None]
    t = 0.5 * (cuts[1:] + cuts[:-1])[:, None] + half * x
    return float((half * weights * function(t.ravel()).reshape(t.shape)).sum())


@pytest.mark.parametrize("variance", [0.0, VARIANCE])
def test_gaussian_cores_are_two_normal_distributions(variance):
    t = np.array([-30.0, -2.0, -0.1, 0.0, 0.7, 4.0])
    p = seen(Gaussian(0.3), variance)
    core, wide = (stats.norm(scale=np.sqrt(variance + s**2)) for s in (0.3, 1.8))
    density = (1.0 - SHARE) * core.pdf(t) + SHARE * wide.pdf(t)
    below = (1.0 - SHARE) * core.cdf(t) + SHARE * wide.cdf(t)
    np.testing.assert_allclose(p.pdf(t), density, rtol=1e-12)
    np.testing.assert_allclose(p.cdf(t), below, rtol=1e-12)
    np.testing.assert_allclose(np.exp(p.logsf(-t)), below, rtol=1e-12)


@by_core
@pytest.mark.parametrize("variance", [1e-4, VARIANCE])
def test_density_and_moments_are_integrals(core, variance):
    p = seen(core, variance)
    assert integral(p.pdf) == pytest.approx(1.0, abs=1e-9)
    mean = integral(lambda t: t * p.pdf(t))
    assert p.mean[0] == pytest.approx(mean, abs=1e-9)
    second = integral(lambda t: (t - mean) ** 2 * p.pdf(t))
    assert p.variance[0] == pytest.approx(second, rel=1e-8)


@by_core
@pytest.mark.parametrize("t", [-3.0, -0.2, 0.0, 0.5, 6.0])
def test_the_distribution_function_is_the_integral_of_the_density(core, t):
    p = seen(core)
    below = integral(p.pdf, t)
    assert p.cdf(t)[0] == pytest.approx(below, rel=1e-8, abs=1e-11)
    assert np.exp(p.logsf(t))[0] == pytest.approx(1.0 - below, abs=1e-9)


@by_core
@pytest.mark.parametrize("variance", [0.0, VARIANCE, 1e6])
def test_quantiles_turn_the_distribution_function_round(core, variance):
    u = np.array([1e-12, 1e-4, 0.02, 0.05, 0.3, 0.5, 0.8, 0.95, 1.0 - 1e-9])
    p = seen(core, variance)
    t = p.quantile(u)
    lower = u <= 0.5
    np.testing.assert_allclose(p.logcdf(t)[lower], np.log(u[lower]), atol=1e-11)
    np.testing.assert_allclose(p.logsf(t)[~lower], np.log1p(-u[~lower]), atol=1e-11)
    assert (np.diff(t) > 0.0).all()


@by_core
def test_draws_have_the_distribution(core):
    """By the test of Kolmogorov and Smirnov: 10,000 shares are less than 0.016 off."""
    p = seen(core)
    draws = np.sort(p.draws(10_000, 1)[:, 0])
    distance = np.abs(p.cdf(draws) - (np.arange(10_000) + 0.5) / 10_000).max()
    assert distance < stats.kstwobign.ppf(0.99) / 100.0


def test_each_row_may_have_its_own_core():
    sigma = np.array([0.1, 0.5, 2.0])
    mean, variance = np.zeros(3), np.full(3, VARIANCE)
    all_rows = RegressionPredictive(
        mean, variance, ContaminatedNoise(Gaussian(sigma), SHARE, FACTOR)
    )
    u = np.array([[0.05], [0.95]])
    for k in range(3):
        one = seen(Gaussian(sigma[k]))
        assert all_rows.logpdf(0.4)[k] == pytest.approx(one.logpdf(0.4)[0], rel=1e-12)
        np.testing.assert_allclose(
            all_rows.quantile(u)[:, k], one.quantile(u[:, 0]), rtol=1e-11, atol=1e-12
        )
    assert all_rows.draws(5, 0).shape == (5, 3)


def test_units_and_copies():
    noise = ContaminatedNoise(SILF(10.0, 0.2, 0.3), SHARE, FACTOR)
    assert noise.scaled(10.0) == ContaminatedNoise(SILF(1.0, 2.0, 0.3), SHARE, FACTOR)
    assert noise.wide.epsilon == pytest.approx(1.2)
    assert noise.scaled(10.0).variance() == pytest.approx(100.0 * noise.variance(), rel=1e-12)
    assert pickle.loads(pickle.dumps(noise)) == noise


@pytest.mark.parametrize(
    ("share", "factor"), [(0.0, 3.0), (1.0, 3.0), (np.nan, 3.0), (0.1, 1.0), (0.1, np.inf)]
)
def test_parameters_outside_their_domain_are_refused(share, factor):
    with pytest.raises(ValueError, match=r"(share|factor)( < 1)?, but it is"):
        ContaminatedNoise(Gaussian(0.3), share, factor)


def test_other_cores_are_refused():
    for core in (0.3, Logistic()):
        with pytest.raises(TypeError, match=r"core must be a loss of regression, but it is .*Pass"):
            ContaminatedNoise(core, SHARE, FACTOR)
