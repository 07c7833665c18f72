"""The prior that inducing points carry."""

import pickle

import numpy as np
import pytest

from pymc_bsvm.streamed.features import Features, gathered, latent
from tests.streamed.problems import VALUES, Gaussian

RNG = np.random.default_rng(2)
X, Z = RNG.uniform(-2.0, 2.0, size=(30, 2)), RNG.uniform(-2.0, 2.0, size=(8, 2))


def full(features):
    """Return the features of X with the one of the offset."""
    phi = np.linalg.solve(features.cholesky, Gaussian().matrix(VALUES, Z, X)).T
    if not features.offset:
        return phi
    return np.column_stack([phi, np.full(30, np.sqrt(features.offset))])


@pytest.mark.parametrize("offset", [0.0, 2.0])
def test_products_are_those_with_the_matrix_of_all_features(offset):
    features = Features.at(Gaussian(), VALUES, Z, offset)
    phi, K = full(features), features.cross(X)
    w, a, W = RNG.normal(size=features.size), RNG.normal(size=30), RNG.uniform(size=30)
    assert phi.shape == (30, features.size)
    np.testing.assert_allclose(latent(K, features.coefficients(w)), phi @ w, rtol=1e-9)
    np.testing.assert_allclose(features.whitened(gathered(K, a)), phi.T @ a, rtol=1e-9)
    np.testing.assert_allclose(features.gram(K.copy(), W), (phi.T * W) @ phi, rtol=1e-9)
    np.testing.assert_allclose(features.whiten(K), phi[:, :8], rtol=1e-9)


def test_inner_products_at_the_points_are_the_covariance_with_the_jitter():
    features = Features.at(Gaussian(), VALUES, Z, jitter=1e-3)
    K = Gaussian().matrix(VALUES, Z)
    expected = K @ np.linalg.solve(K + 1e-3 * VALUES[0] ** 2 * np.eye(8), K)
    phi = features.whiten(features.cross(Z))
    np.testing.assert_allclose(phi @ phi.T, expected, rtol=1e-9)


def test_equal_points_without_a_jitter_are_refused():
    twice = np.vstack([Z, Z])
    with pytest.raises(ValueError, match="16 inducing points is not positive definite"):
        Features.at(Gaussian(), VALUES, twice, jitter=0.0)
    assert Features.at(Gaussian(), VALUES, twice).size == 16


def test_a_prior_survives_pickling():
    features = pickle.loads(pickle.dumps(Features.at(Gaussian(), VALUES, Z, 2.0)))
    np.testing.assert_array_equal(features.cross(X), Gaussian().matrix(VALUES, X, Z))
