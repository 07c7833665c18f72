"""SILF: the random variable, its limits and the scale mixture behind it."""

import itertools
import math

import numpy as np
import pymc as pm
import pytest
from pymc.testing import BaseTestDistributionRandom
from scipy import stats
from scipy.integrate import quad

from pymc_bsvm import SILF, losses
from tests.distributions import reference


@pytest.mark.usefixtures("quick")
class TestRandom(BaseTestDistributionRandom):
    pymc_dist = SILF
    pymc_dist_params = {"mu": 1.0, "C": 2.0, "epsilon": 0.3, "beta": 0.4}  # noqa: RUF012
    expected_rv_op_params = pymc_dist_params
    reference_dist_params = pymc_dist_params
    checks_to_run = [  # noqa: RUF012
        "check_pymc_params_match_rv_op",
        "check_pymc_draws_match_reference",
        "check_rv_size",
    ]

    def reference_dist(self):
        def draw(size, mu, C, epsilon, beta):
            quantile = np.vectorize(reference.silf(C, epsilon, beta).quantile)
            return mu + quantile(self.get_random_state().uniform(size=size))

        return draw

    def test_checks_really_run(self, monkeypatch):
        assert len(self.checks_to_run) == 3
        monkeypatch.setattr(type(self), "expected_rv_op_params", {**self.pymc_dist_params, "mu": 2})
        with pytest.raises(AssertionError, match="not almost equal"):
            self.test_distribution()


@pytest.mark.usefixtures("quick")
class TestDefaultBeta(BaseTestDistributionRandom):
    pymc_dist = SILF
    pymc_dist_params = {"mu": 1.0, "C": 2.0, "epsilon": 0.3}  # noqa: RUF012
    expected_rv_op_params = {**pymc_dist_params, "beta": 0.3}  # noqa: RUF012
    checks_to_run = ["check_pymc_params_match_rv_op"]  # noqa: RUF012


def logp(value, **parameters):
    return pm.logp(SILF.dist(0.0, **parameters), value).eval()


R = np.linspace(-3, 3, 41)


def test_large_tube_with_beta_one_is_gaussian():
    C, epsilon = 400.0, 50.0
    expected = stats.norm.logpdf(R, scale=np.sqrt(2 * epsilon / C))
    np.testing.assert_allclose(logp(R, C=C, epsilon=epsilon, beta=1.0), expected, rtol=1e-12)


def test_small_tube_is_laplace():
    expected = stats.laplace.logpdf(R, scale=0.5)
    np.testing.assert_allclose(logp(R, C=2.0, epsilon=1e-9, beta=0.3), expected, atol=1e-8)


def test_small_beta_is_epsilon_insensitive():
    expected = [reference.insensitive(2.0, 0.7).logpdf(r) for r in R]
    np.testing.assert_allclose(logp(R, C=2.0, epsilon=0.7, beta=1e-9), expected, atol=1e-8)


@pytest.mark.parametrize(
    ("C", "epsilon", "beta"), [(10.0, 0.1, 0.3), (2.0, 0.5, 1.0), (50.0, 1.0, 0.05)]
)
@pytest.mark.parametrize("share", [0.0, 0.4, 0.97, 1.3, 2.0])
def test_density_is_a_mixture_of_gaussians(C, epsilon, beta, share):
    """Over a Rayleigh distributed standard deviation (2.45) and the mean's mixing density."""
    loss = losses.SILF(C, epsilon, beta)
    lo, hi = (1 - beta) * epsilon, (1 + beta) * epsilon
    r = share * hi

    def joint(sigma, t):  # normal density of r around t, times Rayleigh's of sigma
        z = (r - t) / sigma
        return C**2 / math.sqrt(2 * math.pi) * math.exp(-0.5 * (z * z + (C * sigma) ** 2))

    def around(t):  # mixture over the standard deviation alone
        return quad(joint, 0, 12 / C, args=(t,), limit=200)[0]

    knots = sorted({-hi, -lo, 0.0, lo, hi, float(np.clip(r, -hi, hi))})
    t, w = np.polynomial.legendre.leggauss(24)
    density = 0.0
    for a, b in itertools.pairwise(knots):
        nodes = a + (b - a) * (t + 1) / 2
        inner = np.array([around(node) for node in nodes])
        density += (b - a) / 2 * w @ (loss.mixing_density(nodes) * inner)
    expected = np.exp(reference.silf(C, epsilon, beta).logpdf(r))
    assert density == pytest.approx(expected, rel=1e-6)


def test_random_variable_prints_its_name():
    with pm.Model() as model:
        SILF("y", 0.0, C=1.0, epsilon=0.1)
    assert "SILF" in model.str_repr()
    assert r"\operatorname{SILF}" in model.str_repr(formatting="latex")
    assert isinstance(model["y"].owner.op, SILF.rv_type)
