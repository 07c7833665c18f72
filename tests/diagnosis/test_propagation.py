"""Expectation propagation with Gaussian noise, where it is exact."""

import numpy as np

from pymc_bsvm.diagnosis.propagation import propagated
from pymc_bsvm.diagnosis.white_prior import WhitePrior
from tests.diagnosis.test_annealing import regression


def test_expectation_propagation_finds_the_likelihood_of_gaussian_noise():
    K, y, m, loss, mean, V = regression()
    base = propagated(WhitePrior.of(K, np.full(y.size, m)), y, loss)
    np.testing.assert_allclose(base.precision, 25.0, rtol=0.05)
    np.testing.assert_allclose(m + base.mean, mean, rtol=0, atol=0.05 * np.sqrt(np.diag(V).min()))
