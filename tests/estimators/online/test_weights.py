"""The Gaussian of the weights after visits to rows."""

import numpy as np
import pytest

from pymc_bsvm.estimators.online.weights import Weights
from pymc_bsvm.evidence.sites import Sites
from pymc_bsvm.losses import Gaussian
from pymc_bsvm.streamed.block import Block
from tests.estimators.cases import refused

SIGMA = 0.4
PHI = np.random.default_rng(0).normal(size=(5, 3))
LEFT = np.array([0.0, 0.5, 0.1, 0.0, 2.0])
Y = np.array([0.3, -1.0, 2.0, 0.0, 5.0])


def visited(weights, i, site):
    """Return the weights after a visit to row i, and its new site."""
    row = Block(np.zeros((1, 1)), Y[[i]], np.ones(1))
    weights, new = weights.after(PHI[[i]], LEFT[[i]], row, Gaussian(SIGMA), site)
    return weights, Sites(new.precision, new.shift)


def of_rows(rows):
    """Return mean and covariance for rows with a rest of their own beside the noise."""
    precision = 1.0 / (SIGMA**2 + LEFT[rows])
    covariance = np.linalg.inv(np.eye(3) + (PHI[rows].T * precision) @ PHI[rows])
    return covariance @ PHI[rows].T @ (precision * Y[rows]), covariance


def test_visits_add_up_to_all_rows():
    weights = Weights.of_prior(3)
    for i in range(5):
        weights, site = visited(weights, i, Sites.nothing(1))
        assert site.precision[0] == pytest.approx(1.0 / (SIGMA**2 + LEFT[i]), rel=1e-12)
        mean, covariance = of_rows(np.arange(i + 1))
        np.testing.assert_allclose(weights.mean, mean, rtol=1e-11)
        np.testing.assert_allclose(weights.covariance, covariance, atol=1e-14)
        np.testing.assert_array_equal(weights.covariance, weights.covariance.T)


def test_a_second_visit_to_gaussian_noise_changes_nothing():
    weights = Weights.of_prior(3)
    for i in range(5):
        weights, site = visited(weights, i, Sites.nothing(1))
    again, _ = visited(weights, 4, site)
    np.testing.assert_allclose(again.mean, weights.mean, rtol=1e-11)
    np.testing.assert_allclose(again.covariance, weights.covariance, atol=1e-13)


def test_a_visit_with_another_site_takes_that_out():
    """Row 2 with a site that is wrong, which the weights contain."""
    wrong = Sites(np.array([0.7]), np.array([-2.0]))
    mean, covariance = of_rows(np.arange(2))
    precision = np.linalg.inv(covariance) + 0.7 * np.outer(PHI[2], PHI[2])
    pull = np.linalg.solve(covariance, mean) - 2.0 * PHI[2]
    start = Weights(np.linalg.solve(precision, pull), np.linalg.inv(precision))
    weights, _ = visited(start, 2, wrong)
    expected = of_rows(np.arange(3))
    np.testing.assert_allclose(weights.mean, expected[0], rtol=1e-10)
    np.testing.assert_allclose(weights.covariance, expected[1], atol=1e-12)


def test_a_new_weight_is_free():
    mean, covariance = of_rows(np.arange(4))
    weights = Weights(mean, covariance).with_one_more()
    np.testing.assert_array_equal(weights.mean, [*mean, 0.0])
    np.testing.assert_array_equal(weights.covariance[:3, :3], covariance)
    np.testing.assert_array_equal(weights.covariance[3], [0.0, 0.0, 0.0, 1.0])


def test_a_site_that_hides_all_others_is_refused():
    """In the prior the row has the variance |phi|², of which a site can leave nothing."""
    site = Sites(np.array([1.0 / (PHI[1] @ PHI[1])]), np.zeros(1))
    with refused(ValueError, f"precision {site.precision[0]:.3g}", "n_sweeps=1"):
        visited(Weights.of_prior(3), 1, Sites(site.precision * (1.0 + 1e-9), site.shift))
