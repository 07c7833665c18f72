"""EpsilonInsensitive: the random variable, its kink and its variance."""

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
from pymc.testing import BaseTestDistributionRandom

from pymc_bsvm import EpsilonInsensitive
from tests.distributions import reference


@pytest.mark.usefixtures("quick")
class TestRandom(BaseTestDistributionRandom):
    pymc_dist = EpsilonInsensitive
    pymc_dist_params = {"mu": -0.5, "C": 2.0, "epsilon": 0.8}  # noqa: RUF012
    expected_rv_op_params = pymc_dist_params
    reference_dist_params = pymc_dist_params
    checks_to_run = [  # noqa: RUF012
        "check_pymc_params_match_rv_op",
        "check_pymc_draws_match_reference",
        "check_rv_size",
    ]

    def reference_dist(self):
        def draw(size, mu, C, epsilon):
            quantile = np.vectorize(reference.insensitive(C, epsilon).quantile)
            return mu + quantile(self.get_random_state().uniform(size=size))

        return draw

    def test_checks_really_run(self, monkeypatch):
        assert len(self.checks_to_run) == 3
        monkeypatch.setattr(type(self), "expected_rv_op_params", {**self.pymc_dist_params, "C": 3})
        with pytest.raises(AssertionError, match="not almost equal"):
            self.test_distribution()


@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_slope_at_the_kink_is_a_subgradient(side):
    """At |x - mu| = epsilon the log density falls with a slope between 0 and C."""
    C, epsilon = 5.0, 0.75
    x = pt.dscalar("x")
    slope = pytensor.grad(pm.logp(EpsilonInsensitive.dist(0.0, C, epsilon), x), x)
    at_kink, inside, beyond = (slope.eval({x: side * d}) for d in (epsilon, 0.7, 0.8))
    assert inside == 0.0
    assert beyond == -side * C
    assert min(inside, beyond) <= at_kink <= max(inside, beyond)


def test_beta_is_not_a_parameter():
    with pytest.raises(TypeError, match="beta"):
        EpsilonInsensitive.dist(0.0, 1.0, 0.1, beta=0.3)


def test_random_variable_prints_its_name():
    with pm.Model() as model:
        EpsilonInsensitive("y", 0.0, C=1.0, epsilon=0.1)
    assert "EpsilonInsensitive" in model.str_repr()
