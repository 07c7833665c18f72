"""The evidence on inducing points as something to climb."""

from types import SimpleNamespace

import numpy as np
import pytest

from pymc_bsvm import losses
from pymc_bsvm.search import ascend
from pymc_bsvm.streamed.objective import InducingObjective
from tests.streamed.problems import VALUES, Gaussian, problem

SD = 0.8


class SilfModel:
    """C and epsilon of SILF, then the hyperparameters of a kernel, with a normal prior."""

    kernel, offset = Gaussian(), 0.7
    likelihood = SimpleNamespace(slopes=lambda values, fields: values * np.array(fields[:2]))

    def split(self, values):
        return values[:2], values[2:]

    def loss(self, values):
        return losses.SILF(values[0], values[1], 0.5)

    def log_prior(self, x):
        return -0.5 * x @ x / SD**2, -x / SD**2


START = np.log([5.0, 0.3, *VALUES])


def objective(**settings):
    passes, features = problem(losses.SILF(C=1.0, epsilon=0.1), n=150)
    return InducingObjective(SilfModel(), passes, features.Z, **settings)


def test_value_and_gradient_include_the_prior():
    function = objective(tol=1e-16)
    value, gradient = function(START)
    evidence = function.evidence(np.exp(START))
    assert value == pytest.approx(evidence.log_evidence - 0.5 * START @ START / SD**2)
    assert function.log_evidence == pytest.approx(evidence.log_evidence)
    assert function.evaluations == 1
    steps = 1e-5 * np.eye(5)
    expected = [(function(START + e)[0] - function(START - e)[0]) / 2e-5 for e in steps]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-5)


def test_an_evaluation_near_the_last_one_takes_fewer_passes():
    function = objective()
    function(START)
    before = function.passes.count
    near = function(START + 1e-3)
    warm = function.passes.count - before
    function.forget()
    cold = function(START + 1e-3)
    assert warm < function.passes.count - before - warm
    assert near[0] == pytest.approx(cold[0], abs=1e-4)


def test_a_search_climbs_it():
    function = objective()
    first = function(START)[0]
    found = ascend(function, START, maxiter=60)
    assert found.gradient < 1e-2
    assert found.objective > first + 1.0


def test_where_there_is_no_mode_the_value_is_minus_infinity():
    function = objective(jitter=0.0)
    function.Z = np.vstack([function.Z, function.Z])
    value, gradient = function(START)
    assert value == function.log_evidence == -np.inf
    assert not gradient.any()
