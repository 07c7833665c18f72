"""The arcsine kernel against the network that it is the limit of."""

import numpy as np
import pytest
from scipy.special import erf

from pymc_bsvm.estimators.kernels import Arcsine


def network(x, z, eta, bias, ls):
    """Return the covariance of ``eta erf(w·x + b)`` with w and b normal, by Gauss-Hermite."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    b, w = (each.ravel() for each in np.meshgrid(bias * nodes, nodes / ls))
    both = np.outer(weights, weights).ravel() / (2.0 * np.pi)
    return eta**2 * np.sum(both * erf(b + w * x) * erf(b + w * z))


@pytest.mark.parametrize(("bias", "ls"), [(1.0, 1.0), (0.3, 2.0), (1.5, 0.8)])
def test_covariance_of_hidden_units(bias, ls):
    x = np.array([-1.5, -0.2, 0.0, 0.7, 2.0])
    K = Arcsine().matrix(np.array([1.3, bias, ls]), x[:, None])
    expected = [[network(a, b, 1.3, bias, ls) for a in x] for b in x]
    np.testing.assert_allclose(K, expected, atol=2e-3)  # of the nodes: erf is steep
    assert np.abs(K - expected).mean() < 5e-4


def test_steep_units_know_the_signs_alone():
    """Of ``w·x + b`` with b next to nothing: the covariance is one or minus one."""
    K = Arcsine().matrix(np.array([1.0, 1e-2, 1e-6]), np.array([[1.0], [2.0], [-1.0]]))
    np.testing.assert_allclose(K, [[1, 1, -1], [1, 1, -1], [-1, -1, 1]], atol=1e-5)


def test_names():
    names = [h.name for h in Arcsine(ard=True).hyperparameters(2)]
    assert names == ["eta", "bias", "ls[0]", "ls[1]"]
