"""Predictive distributions against the definition, integrated in multiple precision."""

import functools
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pymc_bsvm import losses
from pymc_bsvm._validation import Interval
from pymc_bsvm.evidence.prediction import (
    ClassPredictive,
    RegressionPredictive,
    log_predictive_density,
    predictive,
)
from pymc_bsvm.losses.base import ClassificationLoss, Formulas, RegressionLoss
from pymc_bsvm.losses.convolution import Convolution
from pymc_bsvm.losses.piece import Piece, log_one_minus_exp
from tests import oracle
from tests.oracle import mp
from tests.oracle import predictive as reference

EPS = np.finfo(float).eps

NOISES = [
    ("SILF", (10.0, 0.1, 0.3)),
    ("SILF", (1e4, 1.0, 0.01)),
    ("SILF", (1e-2, 0.1, 1.0)),
    ("SILF", (1e4, 0.5, 1.0)),
    ("Huber", (2.0, 0.5)),
    ("EpsilonInsensitive", (5.0, 0.3)),
    ("EpsilonInsensitive", (700.0, 4.7)),
    ("Laplace", (3.0,)),
    ("Gaussian", (0.7,)),
]
LINKS = [("Trigonometric", (1.0,)), ("Trigonometric", (0.03,)), ("Logistic", ()), ("Probit", ())]
VARIANCES = [0.0, 1e-12, 1e-4, 0.04, 1.0, 1e6]

each_noise = pytest.mark.parametrize(("name", "parameters"), NOISES)
each_link = pytest.mark.parametrize(("name", "parameters"), LINKS)


def build(name, parameters):
    return getattr(losses, name)(*parameters)


@functools.cache
def reference_loss(name, parameters):
    return getattr(oracle, name)(*parameters)


def residuals(loss, variance):
    """Both sides, the pieces, their ends and far out."""
    sd = math.sqrt(loss.variance() + variance)
    ends = [k for k in loss.knots if k > 0]
    return np.array([0.0, -0.31 * sd, *ends, -4.0 * sd, 50.0 * sd])


def assert_same_log(got, expected, where, slack=0.0, near_zero=1.0):
    """Assert 1e-12 in the log, or what a few roundings of the exponent cost.

    A log probability smaller than ``near_zero`` has to be as accurate relative to itself. ``slack``
    is the effect of one rounding of the parameters.
    """
    slack = np.broadcast_to(slack, np.shape(where))
    for g, e, x, s in zip(got, expected, where, slack, strict=True):
        tolerance = (1e-12 + s) * min(1, abs(e) / near_zero) + 16 * EPS * abs(e) + 1e-300
        assert abs(mp.mpf(float(g)) - e) <= tolerance, (x, float(g), mp.nstr(e, 20))


def rounding(loss):
    """Return what one rounding of ``epsilon`` does to the loss."""
    return 2 * EPS * getattr(loss, "C", 0.0) * getattr(loss, "epsilon", 0.0)


# ---- regression: density -----------------------------------------------------------------------


@each_noise
@pytest.mark.parametrize("variance", VARIANCES)
def test_log_density(name, parameters, variance):
    loss, exact = build(name, parameters), reference_loss(name, parameters)
    d = residuals(loss, variance)
    expected = [reference.log_density(exact, x, variance) for x in d]
    got = RegressionPredictive(0.0, variance, loss).logpdf(d)
    assert_same_log(got, expected, d, rounding(loss), near_zero=1e-30)


@each_noise
def test_without_latent_variance_the_target_is_noise(name, parameters):
    loss = build(name, parameters)
    t = 0.3 + np.linspace(-3, 3, 31) * math.sqrt(loss.variance())
    noise = -loss.value(t, 0.3) - loss.log_normalizer()
    assert np.allclose(RegressionPredictive(0.3, 0.0, loss).logpdf(t), noise, rtol=1e-15, atol=0)
    for tiny in (1e-290, 5e-324):
        smooth = RegressionPredictive(0.3, tiny, loss).logpdf(t)
        assert np.allclose(smooth, noise, rtol=1e-13, atol=1e-13)


@each_noise
@pytest.mark.parametrize("variance", [0.0, 1e-12, 1e-5, 0.02, 3.0, 1e6])
def test_closed_form_is_the_quadrature(name, parameters, variance):
    loss = build(name, parameters)
    sd = math.sqrt(loss.variance() + variance)
    d = np.concatenate([np.linspace(-6, 6, 101) * sd, np.linspace(-3, 3, 41) * 0.5])
    v = np.full(d.shape, variance)
    closed, numeric = loss.convolution(), Convolution(loss)
    for method in ("log_density", "log_tail"):
        a, b = getattr(closed, method)(d, v), getattr(numeric, method)(d, v)
        assert np.all(np.abs(a - b) <= 2e-12 + 1e-14 * np.abs(a)), method


def test_wide_huber_noise_is_gaussian():
    sigma = 0.4
    epsilon = 60.0 * sigma
    wide = losses.SILF(C=2 * epsilon / sigma**2, epsilon=epsilon, beta=1.0)
    t = np.linspace(-4, 5, 37)
    for variance in (1e-8, 0.3, 20.0):
        a = RegressionPredictive(0.2, variance, wide)
        b = RegressionPredictive(0.2, variance, losses.Gaussian(sigma))
        c = stats.norm(0.2, math.sqrt(variance + sigma**2))
        for got in (a, b):
            assert np.allclose(got.logpdf(t), c.logpdf(t), rtol=1e-12, atol=1e-12)
            assert np.allclose(got.logcdf(t), c.logcdf(t), rtol=1e-12, atol=1e-12)
            assert np.allclose(got.logsf(t), c.logsf(t), rtol=1e-12, atol=1e-12)
        u = np.array([1e-9, 0.02, 0.5, 0.9])
        assert np.allclose(a.quantile(u), b.quantile(u), rtol=1e-10, atol=1e-12)
        assert np.allclose(b.variance, c.var(), rtol=1e-15)


@each_noise
def test_density_is_symmetric_and_log_concave(name, parameters):
    loss = build(name, parameters)
    x = np.linspace(0, 5, 301) * math.sqrt(loss.variance() + 0.01)
    p = RegressionPredictive(0.0, 0.01, loss)
    assert np.array_equal(p.logpdf(x), p.logpdf(-x))
    assert np.array_equal(p.logcdf(x[1:]), p.logsf(-x[1:]))
    slack = 8 * EPS * (1 + np.abs(p.logpdf(x[1:])))
    assert np.all(np.diff(p.logpdf(x)) < slack)
    assert np.all(np.diff(p.logpdf(x), 2) < 4 * slack[:-1])


# ---- regression: distribution function ---------------------------------------------------------


@each_noise
@pytest.mark.parametrize("variance", [0.0, 1e-8, 0.04, 1e4])
def test_both_tails(name, parameters, variance):
    loss, exact = build(name, parameters), reference_loss(name, parameters)
    size = np.abs(residuals(loss, variance)[[1, -3, -1]])
    above = [reference.log_above(exact, x, variance) for x in size]
    below = [mp.log1p(-mp.exp(x)) for x in above]
    p = RegressionPredictive(0.0, variance, loss)
    assert_same_log(p.logsf(size), above, size, rounding(loss))
    assert_same_log(p.logcdf(-size), above, size, rounding(loss))
    assert_same_log(p.logcdf(size), below, size, rounding(loss))
    assert_same_log(p.logsf(-size), below, size, rounding(loss))


@each_noise
@pytest.mark.parametrize("variance", [1e-3, 0.5])
def test_density_is_the_slope_of_the_distribution_function(name, parameters, variance):
    loss = build(name, parameters)
    p = RegressionPredictive(0.0, variance, loss)
    sd = float(np.sqrt(p.variance))
    t = np.linspace(-3.1, 0.4, 23) * sd
    h = 1e-3 * math.sqrt(variance)
    coarse, fine = ((p.cdf(t + k * h) - p.cdf(t - k * h)) / (2 * k * h) for k in (2, 1))
    slope = (4 * fine - coarse) / 3
    assert np.allclose(slope, p.pdf(t), rtol=2e-8, atol=2e-11 / h)


@each_noise
@pytest.mark.parametrize("variance", [0.0, 1e-10, 0.3, 1e5])
def test_quantile_inverts_the_distribution_function(name, parameters, variance):
    p = RegressionPredictive(0.0, variance, build(name, parameters))
    u = np.array([1e-300, 1e-12, 0.03, 0.3, 0.5, 0.77, 1 - 1e-9, 1 - 2.0**-53])
    t = p.quantile(u)
    assert np.all(np.diff(t) > 0)
    assert t[4] == 0
    lower = u < 0.5
    assert np.allclose(p.logcdf(t)[lower], np.log(u[lower]), rtol=2e-15, atol=1e-11)
    assert np.allclose(p.logsf(t)[~lower], np.log1p(-u[~lower]), rtol=2e-15, atol=1e-11)


def test_quantile_at_and_beyond_the_ends():
    p = RegressionPredictive([0.0, 5.0], 0.1, losses.SILF(10.0, 0.1))
    t = p.quantile([[0.0], [1.0], [-0.1], [1.1], [np.nan], [0.5]])
    assert np.array_equal(t[0], [-np.inf, -np.inf])
    assert np.array_equal(t[1], [np.inf, np.inf])
    assert np.isnan(t[2:5]).all()
    assert np.allclose(t[5], [0.0, 5.0], atol=1e-13)


def test_infinite_targets_and_nan():
    p = RegressionPredictive(1.0, 0.1, losses.SILF(10.0, 0.1))
    t = np.array([-np.inf, np.inf, np.nan])
    assert np.array_equal(p.pdf(t), [0, 0, np.nan], equal_nan=True)
    assert np.array_equal(p.cdf(t), [0, 1, np.nan], equal_nan=True)
    assert np.array_equal(p.logsf(t), [0, -np.inf, np.nan], equal_nan=True)


@each_noise
def test_draws_follow_the_distribution(name, parameters):
    loss = build(name, parameters)
    mean, variance = np.array([-1.0, 2.0]), np.array([[0.5 * loss.variance()], [0.0]])
    p = RegressionPredictive(mean, variance, loss)
    draws = p.draws(400, random_seed=20030701)
    assert draws.shape == (400, 2, 2)
    uniform = p.cdf(draws)
    assert stats.kstest(uniform.ravel(), "uniform").pvalue > 1e-3
    assert stats.kstest(uniform[:, 0, 0], "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(uniform[:, 0, 0], uniform[:, 0, 1])[0, 1]) < 0.2


def test_shapes_of_draws():
    p = RegressionPredictive(np.zeros(3), 1.0, losses.SILF(10.0, 0.1))
    assert p.draws().shape == (3,)
    assert p.draws((2, 5), random_seed=1).shape == (2, 5, 3)
    assert np.array_equal(p.draws(4, 1), p.draws(4, np.random.default_rng(1)))
    assert RegressionPredictive(0.0, 1.0, losses.Gaussian(1.0)).draws().shape == ()


# ---- classification ----------------------------------------------------------------------------


@each_link
@pytest.mark.parametrize("variance", VARIANCES)
def test_class_probability(name, parameters, variance):
    loss, exact = build(name, parameters), reference_loss(name, parameters)
    delta, sd = getattr(loss, "delta", 1.0), math.sqrt(variance)
    mean = np.array([-0.999 * delta, -0.4 * delta - sd, -1e-5, -(delta + 9 * sd)])
    expected = [reference.log_probability(exact, m, variance) for m in mean]
    p = ClassPredictive(mean, variance, loss)
    if variance == 0 and name == "Trigonometric":  # behind the wall
        assert p.log_probability(1)[-1] == -np.inf
        assert p.log_probability(-1)[-1] == 0.0
        mean, expected = mean[:-1], expected[:-1]
        p = ClassPredictive(mean, variance, loss)
    complement = [mp.log1p(-mp.exp(e)) for e in expected]
    steepness = np.maximum(np.abs(mean) - 0.999 * delta, 0) / max(variance, 1e-300)
    slack = 2 * EPS * np.abs(mean) * steepness  # of one rounding of the mean
    assert_same_log(p.log_probability(1), expected, mean, slack)
    assert_same_log(p.log_probability(-1), complement, mean, slack)
    mirrored = ClassPredictive(-mean, variance, loss)
    assert np.array_equal(mirrored.log_probability(-1), p.log_probability(1))


@each_link
@pytest.mark.parametrize("variance", VARIANCES)
def test_class_probabilities_are_a_distribution(name, parameters, variance):
    loss = build(name, parameters)
    unit = getattr(loss, "delta", 1.0) + math.sqrt(variance)
    mean = np.linspace(-5, 5, 41) * unit
    p = ClassPredictive(mean, variance, loss)
    assert np.allclose(p.probability(1) + p.probability(-1), 1.0, rtol=0, atol=4 * EPS)
    assert np.all(np.diff(p.log_probability(1)[:21][np.isfinite(p.log_probability(1)[:21])]) > 0)
    assert np.all(np.diff(p.probability()) >= 0)
    assert ClassPredictive(0.0, variance, loss).probability() == 0.5
    assert p.probability()[40] > 0.99


@each_link
def test_at_the_boundary_both_labels_have_one_half(name, parameters):
    """Not half less what the quadrature has lost."""
    variance = np.concatenate([VARIANCES, np.logspace(-8.0, 8.0, 60)])
    distribution = ClassPredictive(0.0, variance, build(name, parameters))
    for label in (-1, 1):
        np.testing.assert_array_equal(distribution.log_probability(label), -math.log(2.0))


def test_logarithms_of_complements():
    x = np.array([-1e-300, -1e-20, -1e-9, -0.3, -0.99, -1.0, -1.01, -5.0, -40.0, -700.0, -800.0])
    near, far = x[x > -1.0], x[x <= -1.0]
    exact = [float(mp.log(-mp.expm1(t))) for t in map(mp.mpf, near)]
    exact += [float(mp.log1p(-mp.exp(t))) for t in map(mp.mpf, far)]
    np.testing.assert_allclose(log_one_minus_exp(x), exact, rtol=4 * EPS, atol=1e-320)
    np.testing.assert_array_equal(
        log_one_minus_exp(np.array([0.0, 1e-3, -np.inf])), [-np.inf, -np.inf, 0.0]
    )


@each_link
def test_uncertainty_draws_probabilities_to_one_half(name, parameters):
    p = ClassPredictive(1.3, np.geomspace(1e-3, 1e6, 40), build(name, parameters))
    assert np.all(np.diff(p.log_probability(-1)) > 0)  # the remark under (5.42)
    assert p.probability(-1)[-1] > 0.499


def test_sine_average_of_a_narrow_gaussian():
    """Within the sine it is ``(1 + exp(-w² v / 2) sin(w m)) / 2`` with ``w = pi / 2 delta``."""
    mean, variance, delta = np.array([-0.3, 0.2, 0.7]), 2e-4, 1.5
    w = math.pi / (2 * delta)
    expected = 0.5 * (1 + np.exp(-0.5 * w * w * variance) * np.sin(w * mean))
    p = ClassPredictive(mean, variance, losses.Trigonometric(delta))
    assert np.allclose(p.probability(1), expected, rtol=1e-13, atol=0)


# ---- losses that the module has never seen -----------------------------------------------------


@dataclass(frozen=True)
class TiltedSech(RegressionLoss):
    """The skew noise of density ``exp(tilt x) sech(x) cos(pi tilt / 2) / pi``; no closed form."""

    tilt: float

    domains = MappingProxyType({"tilt": Interval(-1.0, 1.0)})

    @staticmethod
    def formulas(xp: Any) -> Formulas:
        def value(y, f, tilt):
            x = xp.abs(y - f)
            return x + xp.log1p(xp.exp(-2.0 * x)) - math.log(2.0) - tilt * (y - f)

        def derivative(y, f, tilt):
            e = xp.exp(-2.0 * xp.abs(y - f))
            return tilt - xp.sign(y - f) * (1.0 - e) / (1.0 + e)

        def log_normalizer(tilt):
            return -xp.log(xp.sin(0.5 * math.pi * (1.0 - tilt)) / math.pi)

        def missing(*_):
            raise NotImplementedError

        return Formulas(value, derivative, missing, missing, missing, log_normalizer)

    def variance(self):
        return (math.pi / 2 / math.cos(math.pi / 2 * self.tilt)) ** 2


@dataclass(frozen=True)
class Step(ClassificationLoss):
    """A link that rises in a straight line between -1 and 1."""

    @staticmethod
    def formulas(xp: Any) -> Formulas:
        def value(y, f):
            share = xp.clip(0.5 * (1.0 + y * f), 0.0, 1.0)
            return -xp.log(share)

        def derivative(y, f):
            z = y * f
            inside = -y / (1.0 + xp.where(z > -1.0, z, -1.0))
            return xp.where(z < 1.0, xp.where(z > -1.0, inside, -y * math.inf), 0.0)

        def missing(*_):
            raise NotImplementedError

        return Formulas(value, derivative, missing, missing, missing, lambda: 0.0)


def tilted_energy(r, tilt):
    return mp.log(mp.cosh(r)) - tilt * r + mp.log(mp.pi / mp.cos(mp.pi / 2 * tilt))


@pytest.mark.parametrize("variance", [0.0, 1e-9, 0.3, 1e4])
def test_unknown_noise(variance):
    loss, tilt = TiltedSech(0.3), mp.mpf(0.3)
    p = RegressionPredictive(0.0, variance, loss)
    d = np.array([-8.0, -0.4, 0.0, 2.5])
    v, turns = mp.mpf(variance), [mp.mpf(k) for k in (-8, -4, -2, -1, 0, 1, 2, 4, 8)]
    density, below = [], []
    for x in map(mp.mpf, d):
        if variance == 0:
            density.append(-tilted_energy(x, tilt))
            ends = [x - k for k in (120, 60, 30, 15, 8, 4, 2, 1, 0)]
            below.append(mp.log(mp.quad(lambda r: mp.exp(-tilted_energy(r, tilt)), ends)))
            continue
        s = mp.sqrt(v)
        inner = reference.log_integral(
            lambda r, x=x: tilted_energy(r, tilt) + (r - x) ** 2 / (2 * v), [*turns, x], [1, s]
        )
        density.append(inner - mp.log(2 * mp.pi * v) / 2)
        steps = [x + k * s for k in (-12, -8, -4, -2, 0, 2, 4, 8, 12)]
        below.append(
            reference.log_integral(
                lambda r, x=x, s=s: (
                    tilted_energy(r, tilt) - mp.log(mp.erfc((r - x) / (s * mp.sqrt(2))) / 2)
                ),
                [*turns, *steps],
                [1, s],
            )
        )
    assert_same_log(p.logpdf(d), density, d, near_zero=1e-30)
    assert_same_log(p.logcdf(d), below, d)
    assert_same_log(p.logsf(d), [mp.log1p(-mp.exp(b)) for b in below], d)
    u = np.array([0.01, 0.5, 0.6])
    assert np.allclose(p.cdf(p.quantile(u)), u, rtol=1e-11, atol=0)
    uniform = p.cdf(p.draws(300, random_seed=5))
    assert stats.kstest(uniform, "uniform").pvalue > 1e-3


@pytest.mark.parametrize("variance", [0.02, 0.3, 20.0])
def test_piece_with_a_general_parabola(variance):
    left, right, value, slopes = -0.5, 1.2, 0.3, (-0.4, 1.1)
    kappa = (slopes[1] - slopes[0]) / (right - left)
    end = value + 0.5 * (slopes[0] + slopes[1]) * (right - left)
    piece = Piece(left, right, value, *slopes, end)
    d = np.array([-0.9, -0.5, 0.1, 1.0, 2.0])

    def energy(r, x):
        u = r - left
        return value + slopes[0] * u + kappa * u**2 / 2 + (r - x) ** 2 / (2 * mp.mpf(variance))

    panels = mp.linspace(mp.mpf(left), mp.mpf(right), 60)
    with mp.workdps(30):
        mass = [mp.quad(lambda r, x=x: mp.exp(-energy(r, mp.mpf(x))), panels) for x in d]
    scale = mp.log(2 * mp.pi * mp.mpf(variance)) / 2
    got = piece.log_integral(d, np.full(d.shape, variance))
    assert_same_log(got, [mp.log(m) - scale for m in mass], d, near_zero=1e-30)


@pytest.mark.parametrize("variance", [0.0, 1e-9, 0.04, 1.0, 1e5])
def test_unknown_link(variance):
    mean = np.array([-0.9, -0.1, 0.0, 0.3, 4.0])
    p = ClassPredictive(mean, variance, Step()).probability(1)
    if variance == 0:
        expected = np.clip(0.5 * (1 + mean), 0, 1)
    else:  # the integral of Phi((f - x) / s) over x in [-1, 1]
        s = math.sqrt(variance)
        a, b = (mean + 1) / s, (mean - 1) / s
        area = [x * stats.norm.cdf(x) + stats.norm.pdf(x) for x in (a, b)]
        expected = 0.5 * s * (area[0] - area[1])
    assert np.allclose(p, expected, rtol=1e-11, atol=1e-12)


def test_quadrature_of_known_links():
    margin = np.linspace(-30, 0, 61)
    for variance in (1e-8, 0.5, 1e6):
        v = np.full(margin.shape, variance)
        by_quadrature = ClassificationLoss.log_average(losses.Probit(), margin, v)
        closed = losses.Probit().log_average(margin, v)
        assert np.allclose(by_quadrature, closed, rtol=1e-13, atol=1e-12)


# ---- entries and errors ------------------------------------------------------------------------


def test_predictive_chooses_by_the_loss():
    silf, sine = losses.SILF(10.0, 0.1), losses.Trigonometric()
    assert isinstance(predictive(silf, 0.0, 1.0), RegressionPredictive)
    assert isinstance(predictive(sine, 0.0, 1.0), ClassPredictive)
    mean, variance = np.array([0.2, -0.4]), np.array([[0.1], [2.0]])
    got = log_predictive_density(silf, 0.3, mean, variance)
    assert np.array_equal(got, RegressionPredictive(mean, variance, silf).logpdf(0.3))
    labels = np.array([-1, 1])
    got = log_predictive_density(sine, labels, mean, variance)
    assert np.array_equal(got, ClassPredictive(mean, variance, sine).log_probability(labels))
    assert got.shape == (2, 2)
    assert log_predictive_density(silf, np.ones(0), np.ones(0), 1.0).shape == (0,)
    assert log_predictive_density(sine, np.ones(0), np.ones(0), 1.0).shape == (0,)


def test_mean_and_variance_of_targets():
    loss = losses.SILF(10.0, 0.1)
    p = RegressionPredictive([1.0, 2.0], 0.5, loss)
    assert np.array_equal(p.mean, [1.0, 2.0])
    assert np.array_equal(p.latent_variance, [0.5, 0.5])
    assert np.allclose(p.variance, 0.5 + loss.variance(), rtol=1e-15)
    t = np.linspace(-14, 17, 20001)[:, None]
    mass = p.pdf(t) * (t[1] - t[0])
    assert np.allclose(mass.sum(0), 1, rtol=1e-12)
    assert np.allclose(((t - p.mean) ** 2 * mass).sum(0), p.variance, rtol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ((0.0, -1.0), "latent_variance must satisfy"),
        ((0.0, [1.0, np.nan]), "latent_variance must satisfy"),
        ((np.nan, 1.0), "latent_mean must be finite"),
        ((np.inf, 1.0), "latent_mean must be finite"),
        ((np.zeros(3), np.ones(2)), "do not fit together"),
    ],
)
@pytest.mark.parametrize("loss", [losses.SILF(10.0, 0.1), losses.Logistic()])
def test_bad_latent_values_are_refused(loss, arguments, match):
    with pytest.raises(ValueError, match=match):
        predictive(loss, *arguments)


@pytest.mark.parametrize(
    "loss", [losses.SoftMarginL1(1.0), losses.SoftMarginL2(1.0), losses.SoftMarginLe(1.0, 0.1)]
)
def test_soft_margins_are_refused(loss):
    for refused in (predictive, lambda loss, m, v: log_predictive_density(loss, 1, m, v)):
        with pytest.raises(ValueError, match="not a negative log likelihood") as caught:
            refused(loss, 0.0, 1.0)
        assert str(caught.value).count(". ") == 1


def test_wrong_losses_labels_and_targets_are_refused():
    silf, sine = losses.SILF(10.0, 0.1), losses.Trigonometric()
    with pytest.raises(ValueError, match="is a loss of classification"):
        RegressionPredictive(0.0, 1.0, sine)
    with pytest.raises(ValueError, match="is a loss of regression"):
        ClassPredictive(0.0, 1.0, silf)
    with pytest.raises(TypeError, match="loss must be a loss object"):
        predictive("SILF", 0.0, 1.0)
    with pytest.raises(ValueError, match="labels -1 and 1 only"):
        ClassPredictive(0.0, 1.0, sine).probability([0, 1])
    with pytest.raises(ValueError, match="must be finite"):
        log_predictive_density(silf, [0.0, np.nan], 0.0, 1.0)


# ---- parameters by row -------------------------------------------------------------------------


def rows_of(name, parameters):
    """Return a loss with parameters by row, and the losses of its 6 rows."""
    factors = np.array([1.0, 0.5, 0.9, 0.2, 0.7, 0.35])
    fields = dict(zip(build(name, parameters).domains, parameters, strict=True))
    loss = getattr(losses, name)(**{k: x * factors for k, x in fields.items()})
    own = [getattr(losses, name)(**{k: x * c for k, x in fields.items()}) for c in factors]
    return loss, own


@each_noise
@pytest.mark.parametrize("shape", [(6,), (3, 6)])
def test_noise_by_row(name, parameters, shape):
    loss, own = rows_of(name, parameters)
    scale = math.sqrt(own[0].variance())
    rng = np.random.default_rng(1)
    mean = scale * rng.normal(size=shape)
    variance = scale**2 * rng.choice([0.0, 1e-4, 0.3, 20.0], size=shape)
    t, u = mean + 2.0 * scale * rng.normal(size=shape), rng.uniform(size=shape)
    t[..., 0], u[..., 1] = np.inf, 1.0
    p = RegressionPredictive(mean, variance, loss)
    places = list(np.ndindex(shape))
    each = [RegressionPredictive(mean[i], variance[i], own[i[-1]]) for i in places]
    np.testing.assert_allclose(p.variance.ravel(), [float(q.variance) for q in each], rtol=1e-13)
    for word, x in (("logpdf", t), ("logcdf", t), ("logsf", t), ("quantile", u)):
        wanted = [float(getattr(q, word)(x[i])) for q, i in zip(each, places, strict=True)]
        got = getattr(p, word)(x).ravel()
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-11 * scale, err_msg=word)
    t[..., 0] = mean[..., 0]
    np.testing.assert_array_equal(log_predictive_density(loss, t, mean, variance), p.logpdf(t))


@each_noise
def test_quadrature_with_noise_by_row(name, parameters):
    loss, own = rows_of(name, parameters)
    scale = math.sqrt(own[0].variance())
    d, v = scale * np.array([0.0, -2.0, 0.1, 0.4, 1.0, 3.0]), np.full(6, 0.3 * scale**2)
    for method in ("log_density", "log_tail"):
        got = getattr(Convolution(loss), method)(d, v)
        wanted = [getattr(Convolution(one), method)(d[[i]], v[[i]])[0] for i, one in enumerate(own)]
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-12)


def test_draws_with_noise_by_row():
    loss, own = rows_of("SILF", (10.0, 0.1, 0.3))
    p = RegressionPredictive(np.arange(6.0), 0.02, loss)
    draws = p.draws(20_000, random_seed=4)
    assert draws.shape == (20_000, 6)
    wanted = np.array([0.02 + one.variance() for one in own])
    # the standard error of a variance is sqrt((kurtosis - 1) / n) of it, 0.016 for Laplace tails
    np.testing.assert_allclose(draws.var(axis=0), wanted, rtol=0.07)
    for k, share in enumerate((p.cdf(draws) < 0.1).mean(axis=0)):
        assert share == pytest.approx(0.1, abs=4.0 * math.sqrt(0.09 / 20_000)), k


@each_link
def test_link_by_row(name, parameters):
    loss, own = rows_of(name, parameters)
    delta = parameters[0] if parameters else 1.0
    mean = delta * np.array([[-2.0, -0.4, 0.0, 0.1, 0.9, 3.0], [1.0, 0.2, -0.2, 0.0, -0.1, 0.5]])
    variance = delta**2 * np.array([0.0, 0.1, 1.0, 0.02, 0.5, 2.0])
    for y in (-1, 1):
        got = ClassPredictive(mean, variance, loss).log_probability(y)
        wanted = [
            [
                float(ClassPredictive(m, v, one).log_probability(y))
                for m, v, one in zip(row, variance, own, strict=True)
            ]
            for row in mean
        ]
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-12)


def test_gaussian_noise_by_row_is_normal():
    sigma = np.array([0.1, 0.7, 2.0])
    p = RegressionPredictive([0.0, 1.0, 2.0], [0.3, 0.0, 1.0], losses.Gaussian(sigma))
    q = stats.norm([0.0, 1.0, 2.0], np.sqrt(np.array([0.3, 0.0, 1.0]) + sigma**2))
    t = np.array([[0.5, 0.9, -3.0], [0.0, 1.0, 2.0]])
    np.testing.assert_allclose(p.logpdf(t), q.logpdf(t), rtol=1e-12)
    np.testing.assert_allclose(p.cdf(t), q.cdf(t), rtol=1e-12)
    u = np.array([0.05, 0.5, 0.95])
    np.testing.assert_allclose(p.quantile(u[:, None]), q.ppf(u[:, None]), rtol=1e-10, atol=1e-12)


def test_one_parameter_for_each_predicted_row():
    loss = losses.Gaussian(np.ones(3))
    assert RegressionPredictive(0.0, 1.0, loss).shape == (3,)
    assert RegressionPredictive(np.zeros((4, 1)), 1.0, loss).shape == (4, 3)
    for wrong in (np.zeros(4), np.zeros((3, 2))):
        with pytest.raises(ValueError, match=r"Gaussian are for 3 rows, but .* Pass arguments"):
            predictive(loss, wrong, 1.0)
    with pytest.raises(ValueError, match="are for 1 rows"):
        predictive(losses.Gaussian(np.ones(1)), np.zeros(4), 1.0)
