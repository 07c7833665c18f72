"""Factors of covariances whose rank is low to rounding."""

import numpy as np
import pytest

from pymc_bsvm.covariance.dense_conditioned import condition_dense
from pymc_bsvm.covariance.pivoted import pivoted, pivoted_by_rows
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


def test_rows_alone_leave_what_is_known():
    """What is left is the variance given the function at the chosen rows: Schur's complement."""
    x = np.random.default_rng(1).uniform(-2.0, 2.0, 80)
    K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    factor, rows, left = pivoted_by_rows(lambda k: K[k], np.ones(80), 40, 1e-6)
    cross = K[:, rows]
    rest = 1.0 - np.einsum("ij,ji->i", cross, np.linalg.solve(K[np.ix_(rows, rows)], cross.T))
    np.testing.assert_allclose(left, rest, atol=1e-9)
    np.testing.assert_allclose(np.diag(K - factor.T @ factor), left, atol=1e-12)
    assert left.max() <= 1e-6
    assert len(rows) == len(set(rows)) < 20
    np.testing.assert_array_equal(np.triu(factor[:, rows], 0), factor[:, rows])


def test_no_more_rows_than_allowed():
    found = pivoted_by_rows(lambda k: np.eye(6)[k], np.ones(6), 4, 1e-6)
    assert found.factor.shape == (4, 6)
    assert found.left.sum() == 2.0


@pytest.mark.parametrize("falling", [False, True])
def test_a_variance_that_falls_late_but_fast(falling):
    """Rows further apart than the function is wide leave each other as they were."""
    x = np.linspace(0.0, 20.0, 400)
    K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    found = pivoted_by_rows(lambda k: K[k], np.ones(400), 60, 1e-9, falling=falling)
    assert found.left.max() <= 1e-9
    assert 20 < found.rows.size < 60


@pytest.mark.parametrize(
    ("rest", "fewest", "most"), [(0.1, 8, 40), (1e-6, 8, 40)], ids=["noise", "jitter"]
)
def test_it_ends_where_noise_is_left(rest, fewest, most):
    x = np.linspace(0.0, 3.0, 400)
    K = np.exp(-0.5 * (x[:, None] - x) ** 2) + rest * np.eye(400)
    all_of_them = pivoted_by_rows(lambda k: K[k], np.diag(K), 60, 1e-9)
    assert all_of_them.rows.size == 60
    found = pivoted_by_rows(lambda k: K[k], np.diag(K), 60, 1e-9, falling=True)
    assert fewest <= found.rows.size <= most
    np.testing.assert_array_equal(found.rows, all_of_them.rows[: found.rows.size])
    assert rest <= found.left.max() < 2.0 * rest


def test_a_known_factor_is_taken_if_it_is_that_of_the_curvature():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(7, 7))
    K, W = A @ A.T, np.array([0.0, 1.0, 2.0, 0.0, 0.5, 1.0, 3.0])
    known = condition_dense(K, W).factor
    assert condition_dense(K, W, known).factor is known
    other = condition_dense(K, 2.0 * W, known)
    assert other.factor is not known
    expected = np.linalg.slogdet(np.eye(7) + 2.0 * W[:, None] * K)[1]
    assert other.log_det == pytest.approx(expected, rel=1e-12)
    assert condition_dense(K, np.ones(7), known).factor is not known
