"""A covariance of low rank and a curvature, against inverses and differences of the matrix."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pymc_bsvm import LowRank
from pymc_bsvm.covariance.conditioned import condition
from pymc_bsvm.covariance.dense_conditioned import condition_dense
from tests.covariance.cases import DIAGONALS, SHAPES, covariances, curvature, low_rank

cases = pytest.mark.parametrize(("n", "m"), SHAPES[:-1])
diagonals = pytest.mark.parametrize("diagonal", DIAGONALS)


def reduced(K, W):
    """Return R from its definition."""
    root = np.sqrt(W)
    B = np.eye(W.size) + root[:, None] * K * root
    return root[:, None] * np.linalg.solve(B, np.diag(root))


@cases
@diagonals
@pytest.mark.parametrize("seed", [0, 1])
def test_against_the_matrix(n, m, diagonal, seed):
    K, W = low_rank(n, m, diagonal), curvature(n, seed)
    dense, R = K.dense(), reduced(K.dense(), W)
    given = condition(K, W)
    B = np.eye(n) + np.sqrt(W)[:, None] * dense * np.sqrt(W)
    assert given.log_det == pytest.approx(np.linalg.slogdet(B)[1], rel=1e-12, abs=1e-13)
    np.testing.assert_allclose(
        given.variance, np.diag(dense - dense @ R @ dense), rtol=0, atol=1e-12 * dense.max()
    )
    np.testing.assert_allclose(
        given.inverse_diagonal, np.diag(np.linalg.inv(B))[W > 0.0], rtol=1e-10, atol=1e-12
    )
    x = np.random.default_rng(2).normal(size=(n, 2))
    np.testing.assert_allclose(given.reduce(x), R @ x, rtol=0, atol=1e-11)
    np.testing.assert_allclose(given.reduce(x[:, 0]), R @ x[:, 0], rtol=0, atol=1e-11)
    for conditioned in (given, condition_dense(dense, W)):
        left = np.linalg.solve(np.eye(n) + W[:, None] * dense, x[:, 0])
        np.testing.assert_allclose(conditioned.shrink(x[:, 0]), left, rtol=0, atol=1e-10)


@cases
@diagonals
def test_pull_back(n, m, diagonal):
    K, W = low_rank(n, m, diagonal), curvature(n)
    a, u = np.random.default_rng(3).normal(size=(2, n))
    G = (
        0.5 * np.outer(a, a)
        - 0.35 * (np.outer(a, u) + np.outer(u, a))
        - 0.5 * reduced(K.dense(), W)
    )
    of_A, of_d = condition(K, W).pull_back([(0.5, a, a), (-0.7, a, u)], -0.5)
    size = np.abs(G).max() * np.abs(K.A).max()
    np.testing.assert_allclose(of_A, 2.0 * G @ K.A, rtol=0, atol=1e-12 * n * size)
    expected = np.trace(G) if isinstance(K.d, float) else np.diag(G)
    np.testing.assert_allclose(of_d, expected, rtol=1e-11, atol=1e-11)


def test_pull_back_is_the_derivative():
    K, W = low_rank(12, 3, "number"), curvature(12)
    a = np.random.default_rng(3).normal(size=12)

    def value(A, d):
        moved = LowRank(A, d)
        return 0.5 * a @ moved.dense() @ a - 0.5 * condition(moved, W).log_det

    of_A, of_d = condition(K, W).pull_back([(0.5, a, a)], -0.5)
    h = 1e-5
    for i, k in ((0, 0), (5, 1), (11, 2)):
        step = np.zeros((12, 3))
        step[i, k] = h
        slope = (value(K.A + step, K.d) - value(K.A - step, K.d)) / (2.0 * h)
        assert of_A[i, k] == pytest.approx(slope, rel=1e-7, abs=1e-7)
    slope = (value(K.A, K.d + h) - value(K.A, K.d - h)) / (2.0 * h)
    assert of_d == pytest.approx(slope, rel=1e-7)


@given(K=covariances(), seed=st.integers(0, 99), size=st.sampled_from([0.0, 1e-6, 1.0, 1e6]))
@settings(max_examples=60, deadline=None)
def test_variances_are_between_zero_and_the_prior(K, seed, size):
    W = size * curvature(K.shape[0], seed)
    given = condition(K, W)
    assert (given.variance >= 0.0).all()
    assert (given.variance <= K.diagonal() * (1.0 + 1e-9)).all()
    # what an observation of precision W leaves of a variance is 1 / W at most
    assert (given.variance * W <= 1.0 + 1e-9).all()
    assert given.log_det >= -1e-12
    if size == 0.0:
        np.testing.assert_array_equal(given.reduce(np.ones(K.shape[0])), 0.0)


def test_variances_do_not_cancel():
    """A million observations of one number: its variance is 1e-6, to all digits."""
    K = LowRank(np.full((1000, 1), 1e3))
    variance = condition(K, np.full(1000, 1e3)).variance
    np.testing.assert_allclose(variance, 1.0 / (1e6 + 1e-6), rtol=1e-14)


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (
            np.ones(4),
            r"curvature must have shape \(5,\) to match K, but its shape is \(4,\)\. Pass",
        ),
        (-np.ones(5), r"curvature must satisfy 0 <= curvature, but element 0 is -1\.0\. Pass"),
        (np.full(5, 1e300), r"curvatures up to 1e\+300 and variances up to .*\. Scale the"),
    ],
)
def test_curvatures_outside_the_domain(W, message):
    K = LowRank(np.full((5, 2), 1e20))
    with pytest.raises(ValueError, match=message):
        condition(K, W)
