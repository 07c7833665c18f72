"""Factors of covariances whose rank is low to rounding."""

import numpy as np
import pytest

from pymc_bsvm.covariance.pivoted import pivoted
from tests.solvers.problems import rbf


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_it_is_the_covariance_to_rounding(scale):
    rng = np.random.default_rng(1)
    K = scale * rbf(rng.normal(size=(80, 2)), 1.0, 0.1, 3.0)
    thin = pivoted(K, 0.9)
    assert thin.A.shape[1] < 60
    assert thin.d == 0.0
    np.testing.assert_allclose(thin.dense(), K, atol=80 * 1e-15 * 4.0 * scale)


def test_the_rank_is_found():
    A = np.random.default_rng(2).normal(size=(30, 4))
    assert pivoted(A @ A.T, 0.5).A.shape == (30, 4)
    assert pivoted(A @ A.T, 0.1) is None
    assert pivoted(np.eye(5), 0.9) is None
    assert pivoted(np.zeros((5, 5)), 1.0) is None


def test_the_covariance_is_left_as_it_is():
    A = np.random.default_rng(3).normal(size=(20, 2))
    K = A @ A.T
    before = K.copy()
    pivoted(K, 1.0)
    np.testing.assert_array_equal(K, before)
