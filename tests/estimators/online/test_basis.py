"""The features of few rows, and what one row more or less makes of them."""

import numpy as np
import pytest

from pymc_bsvm.estimators.kernels import Matern32
from pymc_bsvm.estimators.online.basis import Basis
from pymc_bsvm.estimators.online.weights import Weights
from tests.estimators.online import cases

OFFSET = 0.7


def basis_of(X):
    """Return the basis of all rows, one by one."""
    basis = Basis.nothing(Matern32(), np.array([cases.ETA, cases.LS]), OFFSET, X.shape[1])
    for x in X:
        phi, left = basis.features(x[None])
        basis = basis.with_row(x[None], phi[0], float(left[0]))
    return basis


@pytest.fixture(scope="module")
def data():
    return cases.rows(9)


@pytest.fixture(scope="module")
def basis(data):
    return basis_of(data.X)


@pytest.fixture(scope="module")
def weights():
    """Return some Gaussian of the weights."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(10, 14))
    return Weights(rng.normal(size=10), root @ root.T / 14.0)


def test_inner_products_of_features_are_covariances(data, basis):
    phi, left = basis.features(data.X)
    np.testing.assert_allclose(
        phi @ phi.T, cases.covariance(data.X, data.X, OFFSET), rtol=1e-12, atol=1e-13
    )
    np.testing.assert_allclose(left, 0.0, atol=1e-13)
    assert (left >= 0.0).all()


def test_what_is_left_out_is_the_variance_given_the_basis_vectors(data, basis):
    phi, left = basis.features(data.new)
    K, cross = (cases.covariance(data.X, Z) for Z in (data.X, data.new))
    carried = np.einsum("ij,ij->j", cross, np.linalg.solve(K, cross))
    np.testing.assert_allclose(left, cases.ETA**2 - carried, rtol=1e-11)
    np.testing.assert_allclose((phi[:, 1:] ** 2).sum(axis=1), carried, rtol=1e-11)
    Q = basis.whitening.T @ basis.whitening
    np.testing.assert_allclose(Q, np.linalg.inv(K), rtol=1e-10, atol=1e-11)


def test_without_any_row_there_is_the_constant(data):
    phi, left = basis_of(data.X[:0]).features(data.new)
    np.testing.assert_array_equal(phi, np.full((7, 1), np.sqrt(OFFSET)))
    np.testing.assert_allclose(left, cases.ETA**2, rtol=1e-15)


# ---- one row less -------------------------------------------------------------------------------


def values(data, basis, weights):
    """Return mean and covariance of the values at the basis vectors and of the constant."""
    phi, _ = basis.features(data.X)
    phi = np.vstack([phi, np.eye(len(weights.mean))[:1]])
    return phi @ weights.mean, phi @ weights.covariance @ phi.T


def divergence(mean, covariance, other_mean, other):
    """Return KL(N(mean, covariance) || N(other_mean, other))."""
    inverse, off = np.linalg.inv(other), mean - other_mean
    log_det = np.linalg.slogdet(other)[1] - np.linalg.slogdet(covariance)[1]
    return 0.5 * (np.trace(inverse @ covariance) + off @ inverse @ off - len(mean) + log_det)


def extended(data, i, mean, covariance):
    """Return the joint Gaussian of all values by the prior of value i given the others.

    The others are those of the kept basis vectors and the constant, in the order of `values`.
    """
    rest = np.delete(np.arange(10), i)
    K = np.zeros((10, 10))
    K[:9, :9] = cases.covariance(data.X, data.X, OFFSET)
    K[:9, 9] = K[9, :9] = np.sqrt(OFFSET)
    K[9, 9] = 1.0
    given = np.linalg.solve(K[np.ix_(rest, rest)], K[rest, i])
    map_ = np.zeros((10, 9))
    map_[rest, np.arange(9)] = 1.0
    map_[i] = given
    whole = map_ @ covariance @ map_.T
    whole[i, i] += K[i, i] - K[i, rest] @ given
    return map_ @ mean, whole


@pytest.mark.parametrize("i", [0, 4, 8])
def test_a_removed_vector_leaves_the_nearest_process(data, basis, weights, i):
    """The least divergence from the process before, of all processes without the vector."""
    mean, covariance = values(data, basis, weights)
    rest = np.delete(np.arange(10), i)
    expected = extended(data, i, mean[rest], covariance[np.ix_(rest, rest)])
    mirror = basis.mirror(i)
    smaller, after = basis.without(i, mirror), weights.without_last(mirror)
    np.testing.assert_array_equal(smaller.Z, np.delete(data.X, i, axis=0))
    phi, left = smaller.features(data.X)
    phi, left = np.vstack([phi, np.eye(9)[:1]]), np.append(left, 0.0)
    got = phi @ after.covariance @ phi.T + np.diag(left)
    np.testing.assert_allclose(phi @ after.mean, expected[0], rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(got, expected[1], rtol=1e-10, atol=1e-11)
    least = divergence(mean, covariance, *expected)
    rng = np.random.default_rng(i)
    for _ in range(20):
        step, root = 0.03 * rng.normal(size=9), np.eye(9) + 0.03 * rng.normal(size=(9, 9))
        other = root @ covariance[np.ix_(rest, rest)] @ root.T
        assert divergence(mean, covariance, *extended(data, i, mean[rest] + step, other)) > least


@pytest.mark.parametrize("i", [1, 8])
def test_a_removed_vector_in_the_parameters_of_the_paper(data, basis, weights, i):
    """The coefficients alpha of the mean and C of the covariance, and Q, of [CO02]."""
    alpha, C, Q = (
        weights.mean[1:] @ basis.whitening,
        basis.whitening.T @ (weights.covariance[1:, 1:] - np.eye(9)) @ basis.whitening,
        np.linalg.inv(cases.covariance(data.X, data.X)),
    )
    rest = np.arange(9) != i
    Qi, Ci, q, c = Q[rest, i], C[rest, i], Q[i, i], C[i, i]
    mirror = basis.mirror(i)
    smaller, after = basis.without(i, mirror), weights.without_last(mirror)
    M, V = smaller.whitening, after.covariance[1:, 1:] - np.eye(8)
    cross = np.outer(Qi, Ci)
    new = C[np.ix_(rest, rest)] + c * np.outer(Qi, Qi) / q**2 - (cross + cross.T) / q
    tight = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(after.mean[1:] @ M, alpha[rest] - alpha[i] * Qi / q, **tight)
    np.testing.assert_allclose(M.T @ V @ M, new, **tight)
    np.testing.assert_allclose(M.T @ M, Q[np.ix_(rest, rest)] - np.outer(Qi, Qi) / q, **tight)


def test_scores_are_twice_the_divergence_of_the_means(data, basis, weights):
    mean, covariance = values(data, basis, weights)
    expected = []
    for i in range(9):
        rest = np.delete(np.arange(10), i)
        other, wide = extended(data, i, mean[rest], covariance[np.ix_(rest, rest)])
        off = mean - other
        expected.append(off @ np.linalg.solve(wide, off))
    np.testing.assert_allclose(basis.scores(weights.mean), expected, rtol=1e-9)


def test_digits_survive_many_changes():
    """Rows come and go, 3000 times."""
    rng = np.random.default_rng(0)
    basis, weights = basis_of(rng.uniform(-2.0, 2.0, (15, 2))), Weights.of_prior(16)
    for x in rng.uniform(-2.0, 2.0, (3000, 1, 2)):
        phi, left = basis.features(x)
        basis, weights = basis.with_row(x, phi[0], float(left[0])), weights.with_one_more()
        i = int(rng.integers(16))
        mirror = basis.mirror(i)
        basis, weights = basis.without(i, mirror), weights.without_last(mirror)
    K = cases.covariance(basis.Z, basis.Z)
    M = basis.whitening
    np.testing.assert_allclose(M @ K @ M.T, np.eye(15), atol=1e-8)
    np.testing.assert_allclose(weights.covariance, np.eye(16), atol=1e-9)
