"""A loss that the library has never seen, used everywhere the library uses losses.

Noise that bends at zero with curvatures of its own on both sides and has tails of its own on both
sides: an asymmetric relative of Huber's, with four parameters. No file of the library knows it.
"""

import itertools
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytest
from scipy import stats
from scipy.integrate import quad

import pymc_bsvm as bsvm
from pymc_bsvm import losses
from pymc_bsvm._validation import positive
from pymc_bsvm.distributions import likelihood, noise_distribution
from pymc_bsvm.estimators import BayesianSVR
from pymc_bsvm.losses.gaussian_tail import make_erfcx
from tests.estimators.cases import ANY_END

# ---- the loss -----------------------------------------------------------------------------------


def _make_side(xp):
    """Return functions of one side: of the slope C of its line and the curvature k of its bend.

    The loss is ``k d² / 2`` to ``d = C / k`` and a line beyond; ``moments`` are the integrals of
    ``d^j exp(-l(d))`` over ``d > 0``, and ``log_tail`` is that of j = 0 beyond d.
    """
    erfcx = make_erfcx(xp)

    def value(d, C, k):
        t = xp.minimum(d, C / k)
        return 0.5 * k * t * t + C * (d - t)

    def moments(C, k):
        edge = C / k
        last = xp.exp(-0.5 * C * edge)
        area = xp.sqrt(0.5 * math.pi / k) * xp.erf(C / xp.sqrt(2.0 * k))
        first = (1.0 - last) / k + last * (edge + 1.0 / C) / C
        second = (area - edge * last) / k + last * (edge * (edge + 2.0 / C) + 2.0 / (C * C)) / C
        return area + last / C, first, second

    def log_tail(d, C, k):
        edge = C / k
        x, end = xp.minimum(d, edge) * xp.sqrt(0.5 * k), C / xp.sqrt(2.0 * k)
        bend = xp.sqrt(0.5 * math.pi / k) * (erfcx(x) - xp.exp(x * x - end * end) * erfcx(end))
        return xp.log(bend + xp.exp(x * x - end * end) / C) - x * x - C * (d - xp.minimum(d, edge))

    return value, moments, log_tail


@dataclass(frozen=True)
class Skewed(losses.NoiseLoss):
    """Quadratic near zero and linear beyond, with other numbers above and below."""

    below: Any
    above: Any
    bend_below: Any
    bend_above: Any

    domains = MappingProxyType(
        dict.fromkeys(("below", "above", "bend_below", "bend_above"), positive)
    )
    units = MappingProxyType({"below": -1, "above": -1, "bend_below": -2, "bend_above": -2})

    @property
    def knots(self):
        return -self.below / self.bend_below, 0.0, self.above / self.bend_above

    @staticmethod
    def formulas(xp):
        value_of, moments, _ = _make_side(xp)
        value_of, moments = xp.function(value_of), xp.function(moments)

        def value(y, f, A, B, g, h):
            r = y - f
            up = value_of(xp.maximum(r, 0.0), B, h)
            return up + value_of(xp.maximum(-r, 0.0), A, g)

        def derivative(y, f, A, B, g, h):
            r = y - f
            return -xp.clip(xp.where(r > 0.0, h * r, g * r), -A, B)

        def curvature(y, f, A, B, g, h):
            r = y - f
            bent = xp.where(r > 0.0, h, g)
            return xp.where((r > -A / g) & (r < B / h), bent, 0.0)

        def conjugate(y, a, A, B, g, h):
            inside = 0.5 * a * (a / xp.where(a > 0.0, h, g)) - a * y
            return xp.where((a >= -A) & (a <= B), inside, math.inf)

        def dual_domain(y, A, B, g, h):
            return -A, B

        def log_normalizer(A, B, g, h):
            return xp.log(moments(A, g)[0] + moments(B, h)[0])

        return losses.Formulas(value, derivative, curvature, conjugate, dual_domain, log_normalizer)

    @staticmethod
    def noise(xp):
        _, moments, log_tail = _make_side(xp)

        def masses(A, B, g, h):
            return moments(A, g), moments(B, h)

        def mean(A, B, g, h):
            low, high = masses(A, B, g, h)
            return (high[1] - low[1]) / (high[0] + low[0])

        def variance(A, B, g, h):
            low, high = masses(A, B, g, h)
            return (high[2] + low[2]) / (high[0] + low[0]) - mean(A, B, g, h) ** 2

        def log_cdf(r, A, B, g, h):
            low, high = masses(A, B, g, h)
            log_total = xp.log(high[0] + low[0])
            rare = log_tail(xp.maximum(-r, 0.0), A, g) - log_total
            above = log_tail(xp.maximum(r, 0.0), B, h) - log_total
            return xp.where(r > 0.0, xp.log1p(-xp.exp(xp.minimum(above, -1e-300))), rare)

        def log_sf(r, A, B, g, h):
            return log_cdf(-r, B, A, h, g)

        def side(mass, C, k):  # the residual beyond which there is so much mass of one side
            last = xp.exp(-0.5 * C * C / k)
            scale = xp.sqrt(0.5 * math.pi / k)
            share = (mass - last / C) / scale + xp.erfc(C / xp.sqrt(2.0 * k))
            bent = xp.erfcinv(xp.clip(share, 1e-300, 1.0)) * xp.sqrt(2.0 / k)
            return xp.where(mass * C > last, bent, 0.5 * C / k - xp.log(mass * C) / C)

        def quantile(u, A, B, g, h):
            low, high = masses(A, B, g, h)
            total = low[0] + high[0]
            under = -side(xp.minimum(u * total, low[0]), A, g)
            return xp.where(
                u * total < low[0], under, side(xp.minimum((1.0 - u) * total, high[0]), B, h)
            )

        return losses.NoiseFormulas(variance, log_cdf, quantile, mean, log_sf)


LOSS = Skewed(2.0, 8.0, 10.0, 40.0)
R = np.linspace(-3.0, 1.0, 41)


@pytest.fixture(autouse=True)
def _without_the_compiler():
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        yield


@pytest.fixture
def rows():
    rng = np.random.default_rng(8)
    X = np.sort(rng.uniform(-3.0, 3.0, 30))[:, None]
    return X, np.sin(X[:, 0]) + LOSS.draw(rng, (30,))


def gram(X, Z=None):
    Z = X if Z is None else Z
    return np.exp(-0.5 * (X - Z.T) ** 2)


# ---- identities ---------------------------------------------------------------------------------


def integral(function):
    ends = [-math.inf, -0.2, 0.0, 0.2, math.inf]
    return sum(quad(function, a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(ends))


def test_density():
    log_z = LOSS.log_normalizer()

    def density(r):
        return np.exp(-LOSS.value(r, 0.0) - log_z)

    assert integral(density) == pytest.approx(1.0, abs=1e-10)
    mean = integral(lambda r: r * density(r))
    assert LOSS.mean() == pytest.approx(mean, abs=1e-10)
    assert mean < -0.1
    assert LOSS.variance() == pytest.approx(integral(lambda r: (r - mean) ** 2 * density(r)))
    np.testing.assert_allclose(np.exp(LOSS.log_cdf(R)) + np.exp(LOSS.log_sf(R)), 1.0, rtol=1e-12)
    u = np.array([1e-9, 0.01, 0.3, 0.8, 0.9, 0.999])
    np.testing.assert_allclose(LOSS.cdf(LOSS.quantile(u)), u, rtol=1e-10)
    assert LOSS.cdf(0.1) - LOSS.cdf(-0.4) == pytest.approx(quad(density, -0.4, 0.1, points=[0])[0])


def test_derivatives_and_gap():
    h = 1e-6
    slope = (LOSS.value(0.0, R + h) - LOSS.value(0.0, R - h)) / (2 * h)
    np.testing.assert_allclose(LOSS.derivative(0.0, R), slope, atol=1e-5)
    a = -LOSS.derivative(0.3, R)
    np.testing.assert_allclose(LOSS.gap(0.3, R, a), 0.0, atol=1e-14)
    assert np.all(LOSS.gap(0.3, R, 0.5 * a) >= 0.0)
    np.testing.assert_allclose(LOSS.scaled(3.0).value(3.0 * R, 0.0), LOSS.value(R, 0.0))


# ---- NumPy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_dual(rows, engine):
    X, y = rows
    solution = bsvm.solve_dual(gram(X), y, LOSS, engine=engine)
    assert solution.gap < 1e-9
    np.testing.assert_allclose(solution.a, -LOSS.derivative(y, solution.f), atol=1e-6)


def test_evidence_and_its_gradient(rows):
    X, y = rows
    evidence = bsvm.laplace_evidence(gram(X), y, LOSS, curvature="exact")
    W = LOSS.curvature(y, evidence.solution.f)
    log_det = np.linalg.slogdet(np.eye(30) + gram(X) * W)[1]
    quadratic = evidence.solution.a @ gram(X) @ evidence.solution.a
    expected = -0.5 * (quadratic + log_det) - LOSS.value(y, evidence.solution.f).sum()
    assert evidence.log_evidence == pytest.approx(expected - 30 * LOSS.log_normalizer(), abs=1e-8)
    for k, (name, value) in enumerate(LOSS.fields.items()):
        step = 1e-5
        up, down = (
            bsvm.laplace_evidence(gram(X), y, Skewed(**{**LOSS.fields, name: v}), curvature="exact")
            for v in (value + step, value - step)
        )
        slope = (up.log_evidence - down.log_evidence) / (2 * step)
        assert evidence.gradient.parameters[k] == pytest.approx(slope, rel=1e-4, abs=1e-5), name


def test_predictions():
    p = bsvm.evidence.predictive(LOSS, 0.3, 0.2)
    assert p.mean == pytest.approx(0.3 + LOSS.mean())
    draws = p.draws(40_000, random_seed=2)
    assert draws.mean() == pytest.approx(float(p.mean), abs=4 * math.sqrt(float(p.variance) / 4e4))
    assert stats.kstest(p.cdf(draws[:500]), "uniform").pvalue > 1e-3
    t = np.linspace(-12.0, 5.0, 20_001)
    assert np.trapezoid(p.pdf(t), t) == pytest.approx(1.0, abs=1e-9)


def test_averages():
    y, mean, variance = np.array([-4.0, 0.1, 1.0]), 0.2, np.array([1e-3, 0.3, 20.0])
    got = LOSS.tilted(y, mean, variance)
    for k in range(3):
        sd = math.sqrt(variance[k])

        def tilted(f, k=k, sd=sd):
            return np.exp(-LOSS.value(y[k], f)) * stats.norm.pdf(f, mean, sd)

        ends = sorted([mean - 12 * sd, mean, mean + 12 * sd, *(y[k] - r for r in LOSS.knots)])
        ends = [min(max(e, mean - 12 * sd), mean + 12 * sd) for e in ends]
        pairs = list(itertools.pairwise(ends))
        z, first, second = (
            sum(quad(lambda f, j=j: (f - mean) ** j * tilted(f), *e, epsabs=0.0)[0] for e in pairs)
            for j in range(3)
        )
        assert got.log_z[k] == pytest.approx(math.log(z) - LOSS.log_normalizer(), abs=1e-8)
        assert variance[k] * got.alpha[k] == pytest.approx(first / z, rel=1e-7)
        spread = second / z - (first / z) ** 2
        assert variance[k] * got.nu[k] == pytest.approx(1 - spread / variance[k], abs=1e-7)


# ---- PyMC ---------------------------------------------------------------------------------------


def test_distribution():
    kind = noise_distribution(Skewed)
    assert noise_distribution(Skewed) is kind
    assert kind.__name__ == "Skewed"
    x = kind.dist(0.5, *LOSS.fields.values())
    expected = -LOSS.value(R, 0.5) - LOSS.log_normalizer()
    np.testing.assert_allclose(pm.logp(x, R).eval(), expected, rtol=1e-12)
    np.testing.assert_allclose(pm.logcdf(x, R).eval(), LOSS.log_cdf(R - 0.5), rtol=1e-12)
    np.testing.assert_allclose(pm.logccdf(x, R).eval(), LOSS.log_sf(R - 0.5), rtol=1e-12)
    np.testing.assert_allclose(pm.icdf(x, 0.2).eval(), 0.5 + LOSS.quantile(0.2), rtol=1e-12)
    draws = pm.draw(x, 2000, random_seed=1)
    assert stats.kstest(LOSS.cdf(draws - 0.5), "uniform").pvalue > 1e-3
    with pm.Model() as model:
        kind("y", mu=pm.Normal("mu"), **LOSS.fields, observed=[0.1, -0.2])
    assert np.isfinite(model.compile_logp()({"mu": np.array(0.3)}))


def test_model_of_the_evidence_and_of_all_latent_values(rows):
    X, y = rows
    with pm.Model() as model:
        above = pm.LogNormal("above", 2.0, 0.5)
        gp = bsvm.gp.Laplace(cov_func=pm.gp.cov.ExpQuad(1, ls=1.0))
        loss = Skewed(2.0, above, 10.0, 40.0)
        gp.marginal_likelihood("y", X=X, y=y, loss=loss)
    point = {"above": 8.0}
    expected = bsvm.laplace_evidence(gram(X), y, LOSS)
    logp = model.compile_logp(vars=[model["y"]])
    assert logp({"above_log__": np.log(8.0)}) == pytest.approx(expected.log_evidence, abs=1e-5)
    assert gp.evidence(point, model=model).log_evidence == pytest.approx(expected.log_evidence)
    new = np.array([[0.1], [2.0]])
    predictive = gp.predictive(new, point, model=model)
    mean, variance = gp.predict(new, point, diag=True, model=model)
    np.testing.assert_allclose(predictive.mean, mean + LOSS.mean())
    noisy = gp.predict(new, point, diag=True, pred_noise=True, model=model)
    np.testing.assert_allclose(noisy, (predictive.mean, variance + LOSS.variance()))
    latent = bsvm.inference.latent_model(model)
    at = {"above_log__": np.log(8.0), "f_y_rotated_": np.linspace(-1.0, 1.0, 30)}
    value = latent.compile_logp(vars=[latent["y"]])(at)
    f = latent["f_y"].eval({latent["f_y_rotated_"]: at["f_y_rotated_"]})
    per_row = -LOSS.value(y, f) - LOSS.log_normalizer()
    assert value == pytest.approx(per_row.sum(), rel=1e-9)
    assert isinstance(likelihood(LOSS, np.zeros(2)).owner.op, noise_distribution(Skewed).rv_type)


# ---- estimators ---------------------------------------------------------------------------------


@ANY_END
def test_estimator(rows):
    X, y = rows
    model = BayesianSVR(loss=LOSS, tol=1.0).fit(X, 10.0 * y)
    assert isinstance(model.loss_, Skewed)
    assert model.loss_.mean() < 0.0
    mean = model.predict(X, return_std=True)[0]
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-12)
    draws = model.sample_y(X[:1], 4000, random_state=0)
    assert draws.mean() == pytest.approx(mean[0], abs=5.0 * draws.std() / math.sqrt(4000))
