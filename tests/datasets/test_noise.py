"""Draws against exact moments and distribution functions; every bound is 5 standard errors."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from pymc_bsvm.datasets import noise

N = 200_000


def silf_density(C, epsilon, beta):
    """Unnormalised density (2.31) and its four knots, from the loss (2.28)."""
    inner, outer = (1 - beta) * epsilon, (1 + beta) * epsilon

    def density(delta):
        r = abs(delta)
        if r < inner:
            loss = 0.0
        elif r <= outer:
            loss = (r - inner) ** 2 / (4 * beta * epsilon)
        else:
            loss = r - epsilon
        return np.exp(-C * loss)

    return density, [0.0, inner, outer, outer + 40 / C]


def silf_integral(f, C, epsilon, beta):
    """Integral of f times the unnormalised density over the positive half line."""
    density, knots = silf_density(C, epsilon, beta)
    return sum(
        quad(lambda d: f(d) * density(d), low, high, epsabs=1e-14)[0]
        for low, high in pairwise(knots)
    )


def silf_moment(order, *parameters):
    return silf_integral(lambda d: d**order, *parameters) / silf_integral(
        lambda d: 1.0, *parameters
    )


def assert_moments(draws, variance, fourth):
    assert abs(draws.mean()) < 5 * np.sqrt(variance / len(draws))
    error = np.sqrt((fourth - variance**2) / len(draws))
    assert abs(np.mean(draws**2) - variance) < 5 * error


def assert_distribution(draws, cdf):
    for point in np.quantile(draws, [0.01, 0.2, 0.5, 0.7, 0.99]).round(2):
        p = cdf(point)
        assert abs(np.mean(draws <= point) - p) < 5 * np.sqrt(p * (1 - p) / len(draws))


@pytest.mark.parametrize("parameters", [(10.0, 0.1, 0.3), (2.0, 0.5, 1.0), (50.0, 0.2, 0.05)])
def test_silf_moments_by_quadrature(parameters):
    C, epsilon, beta = parameters
    draws = noise.silf(N, C=C, epsilon=epsilon, beta=beta, random_state=1)
    assert draws.shape == (N,)
    assert_moments(draws, silf_moment(2, *parameters), silf_moment(4, *parameters))


def test_silf_variance_of_the_thesis():
    assert silf_moment(2, 10.0, 0.1, 0.3) == pytest.approx(0.026785, abs=5e-7)


def test_silf_distribution_function():
    density, (_, inner, outer, _) = silf_density(10.0, 0.1, 0.3)
    total = 2 * silf_integral(lambda d: 1.0, 10.0, 0.1, 0.3)

    def cdf(point):
        half = quad(density, 0, abs(point), points=[inner, outer], epsabs=1e-12)[0]
        return 0.5 + np.sign(point) * half / total

    assert_distribution(noise.silf(N, random_state=2), cdf)


@pytest.mark.parametrize(
    "parameters", [{"C": -1.0}, {"C": 0.0}, {"epsilon": -0.1}, {"beta": 0.0}, {"beta": 1.1}]
)
def test_silf_refuses_parameters(parameters, refuses):
    (name,) = parameters
    with refuses(ValueError, name):
        noise.silf(5, **parameters)


@pytest.mark.parametrize("sigma", [0.2, 3.0])
def test_gaussian(sigma):
    draws = noise.gaussian(N, sigma=sigma, random_state=3)
    assert_moments(draws, sigma**2, 3 * sigma**4)
    assert_distribution(draws, stats.norm(scale=sigma).cdf)


def test_gaussian_default_variance():
    draws = noise.gaussian(N, random_state=4)
    assert_moments(draws, 0.04, 3 * 0.04**2)


def test_student_default_distribution():
    draws = noise.student(N, random_state=5)
    assert_distribution(draws, stats.t(4, scale=0.1).cdf)


def test_student_moments():
    df, scale = 10.0, 0.3
    variance = scale**2 * df / (df - 2)
    draws = noise.student(N, df=df, scale=scale, random_state=6)
    assert_moments(draws, variance, 3 * variance**2 * (df - 2) / (df - 4))


def test_zero_scale_is_no_noise():
    np.testing.assert_array_equal(noise.gaussian(4, sigma=0.0), np.zeros(4))
    np.testing.assert_array_equal(noise.student(4, scale=0.0), np.zeros(4))


@pytest.mark.parametrize("draw", [noise.silf, noise.gaussian, noise.student])
def test_seed(draw):
    np.testing.assert_array_equal(draw(9, random_state=7), draw(9, random_state=7))
    assert not np.any(draw(9, random_state=7) == draw(9, random_state=8))


@pytest.mark.parametrize("draw", [noise.silf, noise.gaussian, noise.student])
def test_bad_count_and_seed(draw, refuses):
    with refuses(ValueError, "n = 0 "):
        draw(0)
    with refuses(ValueError, "random_state = -1 "):
        draw(3, random_state=-1)


def test_bad_scales(refuses):
    with refuses(ValueError, "sigma must satisfy 0 <= sigma, but it is -1.0."):
        noise.gaussian(3, sigma=-1.0)
    with refuses(ValueError, "scale must satisfy 0 <= scale, but it is -1.0."):
        noise.student(3, scale=-1.0)
    with refuses(ValueError, "df = 0 "):
        noise.student(3, df=0)
    with refuses(ValueError, "df must satisfy 0 <= df, but it is -2.0."):
        noise.student(3, df=-2.0)


@pytest.mark.parametrize(
    ("share", "count"), [(0.0, 0), (0.1, 1), (0.26, 3), (0.5, 5), (0.96, 10), (1.0, 10)]
)
def test_replace_count(share, count):
    before = np.zeros(10)
    after = noise.replace(before, share, random_state=9)
    assert np.count_nonzero(after) == count
    assert np.count_nonzero(before) == 0


def test_replace_draws_outliers_of_the_scale():
    after = noise.replace(np.zeros(N), 1.0, scale=3.0, random_state=10)
    assert_moments(after, 9.0, 3 * 81.0)


def test_replace_reaches_every_row():
    rng = np.random.default_rng(11)
    hits = sum(noise.replace(np.zeros(5), 0.2, random_state=rng) != 0 for _ in range(2000))
    assert np.all(np.abs(hits - 400) < 5 * np.sqrt(2000 * 0.2 * 0.8))


def test_replace_refuses(refuses):
    with refuses(ValueError, "share must satisfy 0 <= share <= 1, but it is 1.5."):
        noise.replace(np.zeros(3), 1.5)
    with refuses(ValueError, "scale must satisfy 0 <= scale, but it is -1.0."):
        noise.replace(np.zeros(3), 0.5, scale=-1.0)
